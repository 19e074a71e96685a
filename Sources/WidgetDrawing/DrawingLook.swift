public import WidgetModel

/// The settings of a drawing: theme, appearance, states and images.
public struct DrawingLook: Sendable {
  public var theme: Theme
  public var appearance: Theme.Appearance
  /// Whether nodes with `privacy` show a bar in place of their text.
  public var isPrivate = false
  /// Whether the widget's data may be old. The drawing is then dim, with a mark in the upper right corner.
  public var isStale = false
  /// Whether the widget takes no events: all nodes look disabled.
  public var isDisabled = false
  /// Finds the picture of an image node. Nil if there is none.
  public var image: @Sendable (Node) -> DrawingImage?
  /// The reason why an image node has no picture, shown in its box. Nil if there is no problem.
  public var imageProblem: @Sendable (Node) -> String? = { _ in nil }

  public init(
    theme: Theme = .standard, appearance: Theme.Appearance = .dark,
    image: @escaping @Sendable (Node) -> DrawingImage? = { _ in nil }
  ) {
    (self.theme, self.appearance, self.image) = (theme, appearance, image)
  }

  /// The opacity of stale content.
  static let staleOpacity = 0.55
  /// The opacity of disabled pictures.
  static let disabledOpacity = 0.45

  /// Parses a property's colour: `#rrggbb`, `#rrggbbaa` or a token. Nil if the value is none of these.
  func color(_ value: Value?) -> ThemeColor? {
    guard case .string(let text)? = value else { return nil }
    return theme.color(named: text, appearance)
  }

  /// A token's colour. Grey if the theme lacks the token.
  func token(_ name: String) -> ThemeColor {
    theme.token(name, appearance) ?? ThemeColor(red: 128, green: 128, blue: 128)
  }

  /// A length in points. The value is a number or a token.
  func points(_ value: Value?) -> Double {
    if case .string(let text)? = value {
      return ThemeToken(text, of: .offset).flatMap { theme.offset($0.name) } ?? 0
    }
    return min(max(value?.number ?? 0, 0), PropertyType.lengthMax)
  }

  /// The font that a node's property names. The layout uses the same font.
  func font(_ value: Value?) -> ThemeFont {
    var font: ThemeFont?
    if case .string(let token)? = value { font = theme.font(token) ?? theme.font("font." + token) }
    return font ?? theme.font("font.default") ?? ThemeFont(size: 16)
  }

  /// Blends a colour over an opaque one.
  static func mix(_ color: ThemeColor, over base: ThemeColor) -> ThemeColor {
    let share = Int(color.alpha)
    func mix(_ over: UInt8, _ under: UInt8) -> UInt8 {
      UInt8((Int(over) * share + Int(under) * (255 - share) + 127) / 255)
    }
    return ThemeColor(
      red: mix(color.red, base.red), green: mix(color.green, base.green),
      blue: mix(color.blue, base.blue))
  }

  /// A readable text colour for a background: the theme's if its contrast is high enough, else black or white.
  func readable(on background: ThemeColor) -> ThemeColor {
    let text = token("color.text")
    if Self.contrast(text, background) >= 4.5 { return text }
    let (black, white) = (
      ThemeColor(red: 0, green: 0, blue: 0), ThemeColor(red: 255, green: 255, blue: 255)
    )
    // White looks better on strong colours, so a contrast of 4 is enough.
    if Self.contrast(white, background) >= 4 { return white }
    return Self.contrast(black, background) >= Self.contrast(white, background) ? black : white
  }

  /// The contrast of two colours, 1 to 21, as in WCAG 2. The gamma curve is simplified to a square.
  static func contrast(_ one: ThemeColor, _ other: ThemeColor) -> Double {
    func light(_ color: ThemeColor) -> Double {
      func part(_ channel: UInt8) -> Double {
        let share = Double(channel) / 255
        return share * share
      }
      return 0.2126 * part(color.red) + 0.7152 * part(color.green) + 0.0722 * part(color.blue)
    }
    let (a, b) = (light(one), light(other))
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)
  }
}

extension ThemeColor {
  /// The colour with its alpha multiplied by a share from 0 to 1.
  func faded(_ share: Double) -> ThemeColor {
    var color = self
    color.alpha = UInt8(Double(alpha) * min(max(share, 0), 1))
    return color
  }
}
