/// How large text is, in the units of a layout.
///
/// Widths add up: the width of a text is that of its grapheme clusters together, within what rounding
/// takes away.
public protocol TextMeasure: Sendable {
  /// The width of a text without line breaks.
  func width(of text: Substring, font: TextFont) -> Int
  /// From one line to the next. At least 1.
  func lineHeight(of font: TextFont) -> Int
}

/// Text in a terminal: a column for each narrow character, and one row for a line, whatever the font.
public struct CellTextMeasure: TextMeasure {
  public init() {}
  public func width(of text: Substring, font: TextFont) -> Int { TextColumns.width(of: text) }
  public func lineHeight(of font: TextFont) -> Int { 1 }
}

/// What text is set in.
public struct TextFont: Hashable, Sendable {
  public var sizePoints: Double
  public var isBold: Bool
  public var isItalic: Bool
  public var isMonospace: Bool

  public init(
    sizePoints: Double = 16, isBold: Bool = false, isItalic: Bool = false, isMonospace: Bool = false
  ) {
    self.sizePoints = sizePoints
    self.isBold = isBold
    self.isItalic = isItalic
    self.isMonospace = isMonospace
  }
}
