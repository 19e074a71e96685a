/// A colour of a cell. No colour (nil) is the terminal's default.
public enum CellColor: Hashable, Sendable {
  /// A colour of the terminal's palette: 0 to 7 dark, 8 to 15 bright, the rest as xterm has them.
  case palette(UInt8)
  /// Red, green and blue, each 0 to 255.
  case rgb(UInt8, UInt8, UInt8)
}

/// The attributes of a cell's text, without its colours.
public struct CellAttributes: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let bold = CellAttributes(rawValue: 1)
  public static let dim = CellAttributes(rawValue: 2)
  public static let italic = CellAttributes(rawValue: 4)
  public static let underline = CellAttributes(rawValue: 8)
  public static let strikethrough = CellAttributes(rawValue: 16)
  /// Foreground and background exchanged.
  public static let reverse = CellAttributes(rawValue: 32)
}

/// The look of a cell.
public struct CellStyle: Hashable, Sendable {
  public var foreground: CellColor?
  public var background: CellColor?
  public var attributes: CellAttributes

  public init(
    foreground: CellColor? = nil, background: CellColor? = nil, attributes: CellAttributes = []
  ) {
    self.foreground = foreground
    self.background = background
    self.attributes = attributes
  }

  /// The terminal's default.
  public static let plain = CellStyle()

  /// Whether a blank of this style can be seen.
  var showsOnBlank: Bool {
    background != nil || !attributes.isDisjoint(with: CellStyle.seenOnBlank)
  }

  /// Attributes that are visible on a blank.
  static let seenOnBlank: CellAttributes = [.underline, .strikethrough, .reverse]
}
