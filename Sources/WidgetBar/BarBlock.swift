public import WidgetModel

/// One widget in a status bar: a line of text in parts, a tooltip and properties for styling.
public struct BarBlock: Hashable, Sendable {
  /// The widget. Nil for a notice, such as a lost connection.
  public var widget: WidgetID?
  /// The text. Each part has one style and one node for clicks. Parts join without a separator.
  public var parts: [BarPart]
  /// The text for a bar with little room. Nil if it equals `text`.
  public var shortText: String?
  /// The tooltip: lines of text.
  public var tooltip: String
  /// The default colour of the parts.
  public var color: ThemeColor?
  public var background: ThemeColor?
  /// The value of its first gauge, or the `percentage` of its first label that has one. Nil if there is
  /// neither.
  public var percentage: Int?
  /// The name of its first icon. Empty if it has no icon.
  public var icon: String
  /// Whether it asks for attention.
  public var isUrgent: Bool
  /// Class names for style sheets: the kind, `stale`, `failed`, `disabled`, `urgent`, then those of
  /// its nodes.
  public var classes: [String]

  public init(
    widget: WidgetID?, parts: [BarPart] = [], shortText: String? = nil, tooltip: String = "",
    color: ThemeColor? = nil, background: ThemeColor? = nil, percentage: Int? = nil,
    icon: String = "", isUrgent: Bool = false, classes: [String] = []
  ) {
    self.widget = widget
    self.parts = parts
    self.shortText = shortText
    self.tooltip = tooltip
    self.color = color
    self.background = background
    self.percentage = percentage
    self.icon = icon
    self.isUrgent = isUrgent
    self.classes = classes
  }

  /// The text of all parts.
  public var text: String { parts.map(\.text).joined() }

  /// Whether a bar has something to show: a text or an icon.
  var isShown: Bool { !text.isEmpty || !icon.isEmpty }
}

/// A run of a block's text with one style. The text is one line without control characters.
public struct BarPart: Hashable, Sendable {
  public var text: String
  public var color: ThemeColor?
  public var background: ThemeColor?
  public var isBold: Bool
  public var isItalic: Bool
  public var isUnderlined: Bool
  public var isStruckThrough: Bool
  /// The node that a click on the text goes to. Empty if no node takes clicks.
  public var node: String
  /// The buttons whose clicks on the text cause events; see `BarClick`.
  public var buttons: [Int] = []

  public init(
    _ text: String, color: ThemeColor? = nil, background: ThemeColor? = nil, isBold: Bool = false,
    isItalic: Bool = false, isUnderlined: Bool = false, isStruckThrough: Bool = false,
    node: String = ""
  ) {
    self.text = text
    self.color = color
    self.background = background
    self.isBold = isBold
    self.isItalic = isItalic
    self.isUnderlined = isUnderlined
    self.isStruckThrough = isStruckThrough
    self.node = node
  }

  /// Whether another part is equal except for its text.
  func looksLike(_ other: BarPart) -> Bool {
    var same = other
    same.text = text
    return same == self
  }
}
