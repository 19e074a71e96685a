public import WidgetModel

/// The settings of a drawing in cells: the theme, the states of the widget, and the abilities of
/// the output.
public struct CellLook: Sendable {
  public var theme: Theme
  public var appearance: Theme.Appearance
  /// Whether colours distinguish parts. Without colours, brackets, lines and attributes do.
  public var usesColor: Bool
  /// Whether the theme's background and text colour are drawn everywhere. Default: the terminal's.
  public var paintsBackground = false
  /// Whether nodes with `privacy` are hidden: their text becomes `▒`, as wide as it was.
  public var isPrivate = false
  /// Whether the widget's data may be old: all is dim, with `↻` in the upper right corner.
  public var isStale = false
  /// Whether the widget takes no events: all nodes look disabled.
  public var isDisabled = false
  /// The id of the node that has the focus: of a form, its button has it.
  public var focusedID: String?
  /// The id of the scrolling node that has the focus: its scroll marks show it.
  public var scrolledID: String?
  /// The id of the node that is being pressed.
  public var pressedID: String?
  /// The id of the node that the pointer is over.
  public var hoveredID: String?
  /// The number of a spinner's picture. The next picture has the next number.
  public var spinnerTick = 0
  /// Finds the picture of an image node, which is drawn with half blocks. Nil if there is none.
  public var image: @Sendable (Node) -> PixelImage?
  /// The reason why an image node has no picture, shown in its box. Nil if there is no problem.
  public var imageProblem: @Sendable (Node) -> String? = { _ in nil }

  public init(
    theme: Theme = .standard, appearance: Theme.Appearance = .dark, usesColor: Bool = true,
    image: @escaping @Sendable (Node) -> PixelImage? = { _ in nil }
  ) {
    self.theme = theme
    self.appearance = appearance
    self.usesColor = usesColor
    self.image = image
  }

  /// The pictures of a spinner, which turns.
  static let spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

  var spinnerFrame: String {
    let count = CellLook.spinner.count
    return CellLook.spinner[(spinnerTick % count + count) % count]
  }

  // MARK: Colours

  /// The colour that a node's property names: `#rrggbb`, `#rrggbbaa` or a token. Nil for none.
  func color(_ value: Value?) -> ThemeColor? {
    guard usesColor, case .string(let text)? = value else { return nil }
    return theme.color(named: text, appearance)
  }

  /// A token's colour. If the theme lacks it, the standard colour.
  func token(_ name: String) -> ThemeColor? {
    guard usesColor else { return nil }
    return theme.token(name, appearance)
  }

  /// The background colour of the theme. Nil if the theme keeps the standard one: the terminal's
  /// background then stays.
  public var ownBackground: CellColor? { own("color.background") }

  /// The text colour of the theme. Nil if the theme keeps the standard one: the terminal's text colour
  /// then stays.
  var ownText: CellColor? { own("color.text") }

  /// A token's colour, if it is not the standard theme's.
  private func own(_ token: String) -> CellColor? {
    guard usesColor, let color = theme.color(token, appearance),
      color != Theme.standard.color(token, appearance)
    else { return nil }
    return opaque(color, over: nil)
  }

  /// A colour over another one; over the theme's background if that is not known.
  func opaque(_ color: ThemeColor?, over background: CellColor?) -> CellColor? {
    guard let color, color.alpha > 0 else { return nil }
    guard color.alpha < 255 else { return .rgb(color.red, color.green, color.blue) }
    let base: (UInt8, UInt8, UInt8)
    if let background {
      base = background.components
    } else {
      let plain = token("color.background") ?? ThemeColor(red: 0, green: 0, blue: 0)
      base = (plain.red, plain.green, plain.blue)
    }
    let share = Int(color.alpha)
    func mix(_ over: UInt8, _ under: UInt8) -> UInt8 {
      let sum = Int(over) * share + Int(under) * (255 - share)
      return UInt8((sum + 127) / 255)
    }
    return .rgb(mix(color.red, base.0), mix(color.green, base.1), mix(color.blue, base.2))
  }

  /// A readable text colour for a background: the theme's if its contrast is high enough, else
  /// black or white.
  func readable(on background: CellColor) -> CellColor {
    let light = { (color: CellColor) in
      let (r, g, b) = color.components
      return Oklab(r, g, b).lightness
    }
    let under = light(background)
    if let text = opaque(token("color.text"), over: background), abs(light(text) - under) > 0.35 {
      return text
    }
    return under > 0.6 ? .rgb(0, 0, 0) : .rgb(255, 255, 255)
  }

  // MARK: Fonts

  /// The attributes of a font that a cell can show: large and bold is bold, small and light is dim.
  func attributes(ofFont value: Value?) -> CellAttributes {
    guard case .string(let text)? = value, let token = ThemeToken(text, of: .font),
      let font = theme.font(token.name) ?? Theme.standard.font(token.name)
    else { return [] }
    var attributes: CellAttributes = []
    if font.weight == .bold || font.size >= 18 {
      attributes.insert(.bold)
    } else if font.weight == .light || font.size < 14 {
      attributes.formUnion(quiet)
    }
    if font.isItalic { attributes.insert(.italic) }
    return attributes
  }

  /// The attributes of secondary text: dim, except with high contrast.
  var quiet: CellAttributes { appearance == .highContrast ? [] : .dim }
}
