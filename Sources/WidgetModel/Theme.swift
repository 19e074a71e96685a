/// The colours, lengths and fonts of tokens.
public struct Theme: Hashable, Sendable {
  /// The value of each token, by its full name.
  public var values: [String: ThemeValue]

  public init(values: [String: ThemeValue]) { self.values = values }

  /// The appearance for which colours are chosen.
  public enum Appearance: UInt8, Hashable, Sendable, CaseIterable {
    case light = 1
    case dark
    case highContrast

    /// The written form: `light`, `dark`, `high-contrast`.
    public var name: String {
      switch self {
      case .light: "light"
      case .dark: "dark"
      case .highContrast: "high-contrast"
      }
    }
  }

  /// A token's colour; nil if the theme has no such token.
  public func color(_ token: String, _ appearance: Appearance) -> ThemeColor? {
    if case .color(let colors)? = values[token] { colors[appearance] } else { nil }
  }

  /// A token's length in points; nil if the theme has no such token.
  public func offset(_ token: String) -> Double? {
    if case .offset(let points)? = values[token] { points } else { nil }
  }

  /// A token's font; nil if the theme has no such token.
  public func font(_ token: String) -> ThemeFont? {
    if case .font(let font)? = values[token] { font } else { nil }
  }

  /// This theme with its values replaced by those of another.
  public func overridden(by other: [String: ThemeValue]) -> Theme {
    Theme(values: values.merging(other) { $1 })
  }
}

/// The value of a token.
public enum ThemeValue: Hashable, Sendable {
  case color(ThemeColors)
  /// In points, 0 or more.
  case offset(Double)
  case font(ThemeFont)

  public var group: ThemeToken.Group {
    switch self {
    case .color: .color
    case .offset: .offset
    case .font: .font
    }
  }
}

/// One colour for each appearance.
public struct ThemeColors: Hashable, Sendable {
  public var light: ThemeColor
  public var dark: ThemeColor
  public var highContrast: ThemeColor

  public init(light: ThemeColor, dark: ThemeColor, highContrast: ThemeColor) {
    (self.light, self.dark, self.highContrast) = (light, dark, highContrast)
  }

  /// The same in every appearance.
  public init(_ color: ThemeColor) { self.init(light: color, dark: color, highContrast: color) }

  public subscript(appearance: Theme.Appearance) -> ThemeColor {
    switch appearance {
    case .light: light
    case .dark: dark
    case .highContrast: highContrast
    }
  }
}

/// The look of text.
public struct ThemeFont: Hashable, Sendable {
  /// In points.
  public var size: Double
  public var weight: Weight
  public var isItalic: Bool
  public var isMonospaced: Bool

  public enum Weight: UInt8, Hashable, Sendable, CaseIterable {
    case regular = 1
    case bold
    case light

    /// The written form.
    public var name: String { "\(self)" }
  }

  /// The allowed sizes of a font, in points.
  public static let sizes = 4.0...200.0

  public init(
    size: Double, weight: Weight = .regular, isItalic: Bool = false, isMonospaced: Bool = false
  ) {
    (self.size, self.weight, self.isItalic, self.isMonospaced) = (
      size, weight, isItalic, isMonospaced
    )
  }
}

extension Theme {
  /// The initial theme of a daemon, on which other themes are based.
  public static let standard = Theme(
    values: standardColors.mapValues { .color($0) }
      .merging(standardOffsets.mapValues { .offset($0) }) { $1 }
      .merging(standardFonts.mapValues { .font($0) }) { $1 })

  private static func colors(_ light: UInt32, _ dark: UInt32, _ contrast: UInt32) -> ThemeColors {
    ThemeColors(
      light: .init(rgb: light), dark: .init(rgb: dark), highContrast: .init(rgb: contrast))
  }

  private static let standardColors: [String: ThemeColors] = [
    "color.text": colors(0x1C1E21, 0xE4E6EA, 0xFFFFFF),
    "color.secondary": colors(0x5F6673, 0x9AA2B1, 0xE0E0E0),
    "color.disabled": colors(0x9AA0AA, 0x676E7B, 0xA8A8A8),
    "color.background": colors(0xFFFFFF, 0x16181D, 0x000000),
    "color.surface": colors(0xF2F4F7, 0x21252C, 0x000000),
    "color.separator": colors(0xD5D9E0, 0x3A404B, 0xFFFFFF),
    "color.primary": colors(0x2B5FD9, 0x7AA2F7, 0x66B2FF),
    "color.tint": colors(0x1F7A6C, 0x5CC8B5, 0x00FFD0),
    "color.accent": colors(0x8A3FA0, 0xC792EA, 0xFF9CFF),
    "color.link": colors(0x1D63C4, 0x89B4FA, 0x80C0FF),
    "color.success": colors(0x1F7A35, 0x7FCB8B, 0x40FF60),
    "color.warning": colors(0x966100, 0xE5B567, 0xFFD800),
    "color.error": colors(0xC22F2F, 0xF07A7A, 0xFF7070),
    "color.selected": colors(0xD9E4FB, 0x2F3F62, 0x0050C0),
    "color.focus": colors(0x2B5FD9, 0x7AA2F7, 0xFFFF00),
  ]

  /// `basic` and its multiples.
  private static let standardOffsets: [String: Double] = [
    "offset.none": 0, "offset.basic": 4, "offset.basic2": 8, "offset.basic3": 12,
    "offset.basic4": 16, "offset.basic5": 20, "offset.basic6": 24, "offset.basic7": 28,
    "offset.basic8": 32,
  ]

  private static let standardFonts: [String: ThemeFont] = [
    "font.default": ThemeFont(size: 16), "font.body": ThemeFont(size: 16),
    "font.header": ThemeFont(size: 26, weight: .bold), "font.title": ThemeFont(size: 22),
    "font.headline": ThemeFont(size: 18, weight: .bold), "font.caption": ThemeFont(size: 12),
    "font.monospace": ThemeFont(size: 16, isMonospaced: true),
  ]
}

extension ThemeColor {
  /// Opaque, from `0xRRGGBB`.
  fileprivate init(rgb: UInt32) {
    self.init(
      red: UInt8(rgb >> 16 & 0xFF), green: UInt8(rgb >> 8 & 0xFF), blue: UInt8(rgb & 0xFF))
  }
}
