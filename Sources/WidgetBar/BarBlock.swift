public import WidgetModel

/// What a status bar shows of one widget: a line of text in parts, and what bars can say beside it.
public struct BarBlock: Hashable, Sendable {
  /// Whose it is; nil if it tells of something else, such as a lost connection.
  public var widget: WidgetID?
  /// The text, in parts of one look and one place to press. Joined without a separator.
  public var parts: [BarPart]
  /// The text where there is little room; nil if it is the same.
  public var shortText: String?
  /// What it shows, in words, for a pointer that rests on it: lines.
  public var tooltip: String
  /// The colour of all parts that have no other.
  public var color: ThemeColor?
  public var background: ThemeColor?
  /// How full its first gauge is, in percent; nil if it has none, or the gauge has no value.
  public var percentage: Int?
  /// The name of its first icon; empty for none.
  public var icon: String
  /// Whether it asks for attention.
  public var isUrgent: Bool
  /// Names that a style sheet can choose by: the kind, `stale`, `failed`, `disabled`, `urgent`, then
  /// those of its nodes.
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
}

/// A piece of a block's text with one look. The text is on one line and holds no control characters.
public struct BarPart: Hashable, Sendable {
  public var text: String
  public var color: ThemeColor?
  public var background: ThemeColor?
  public var isBold: Bool
  public var isItalic: Bool
  public var isUnderlined: Bool
  public var isStruckThrough: Bool
  /// The node that a press on the text is about; empty if no node takes one.
  public var node: String
  /// The buttons whose clicks on the text are events: see `BarClick`.
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

  /// Whether another part differs in nothing but its text.
  func looksLike(_ other: BarPart) -> Bool {
    var same = other
    same.text = text
    return same == self
  }
}
