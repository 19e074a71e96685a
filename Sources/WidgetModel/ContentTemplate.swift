/// What widgets of a kind show: a tree of nodes with bindings, for some families or for all.
public struct ContentTemplate: Hashable, Sendable {
  /// The families it is for; empty for all that no other template names.
  public var families: [Family]
  public var root: NodeTemplate

  public init(families: [Family] = [], root: NodeTemplate) {
    self.families = families
    self.root = root
  }

  var costBytes: Int { 32 + families.count + root.costBytes }
}

/// One node of a template, and all below it.
public struct NodeTemplate: Hashable, Sendable {
  /// How many nodes may be inside one another in a template.
  public static let depthMax = 16
  /// How many nodes with rows may be inside one another.
  public static let rowDepthMax = 4

  /// Unique among the template's nodes: 1 to 64 letters, digits, `_` and `-`.
  public var id: String
  public var type: NodeType
  /// What its properties are. Which there are, and of which type, depends on the node's type.
  public var properties: [String: Binding]
  /// An expression that must be true for the node to be there, with all below it; empty for always.
  public var condition: String
  /// Makes one such node for each element of a list; nil for exactly one.
  public var rows: RowTemplate?
  public var children: [NodeTemplate]
  /// The events that it takes, beside those that reducers name for it; nil for its type's
  /// `defaultEvents`.
  public var events: [String]?

  public init(
    id: String, type: NodeType, properties: [String: Binding] = [:], condition: String = "",
    rows: RowTemplate? = nil, children: [NodeTemplate] = [], events: [String]? = nil
  ) {
    self.id = id
    self.type = type
    self.properties = properties
    self.condition = condition
    self.rows = rows
    self.children = children
    self.events = events
  }

  var costBytes: Int {
    properties.reduce(64) { $0 + 32 + $1.key.utf8.count + $1.value.costBytes }
      + id.utf8.count + condition.utf8.count + (rows?.costBytes ?? 0)
      + children.reduce(0) { $0 + $1.costBytes }
      + (events?.reduce(16) { $0 + 16 + $1.utf8.count } ?? 0)
  }
}

/// Where a property's value comes from.
public struct Binding: Hashable, Sendable {
  /// The expression that gives it; empty if it is always `value`.
  public var expression: String
  /// Without an expression, the value. With one, what stands in for it while the expression fails or
  /// gives null; nil leaves the property out then.
  public var value: Value?

  /// What an expression gives, or a placeholder.
  public init(_ expression: String, placeholder: Value? = nil) {
    self.expression = expression
    value = placeholder
  }

  /// Always the same.
  public init(value: Value) {
    expression = ""
    self.value = value
  }

  var costBytes: Int { 16 + expression.utf8.count + (value?.costBytes ?? 0) }
}

/// Which rows a repeated node makes.
public struct RowTemplate: Hashable, Sendable {
  /// An expression that gives a list: one row for each element.
  public var list: String
  /// What expressions below call the element; `NAMEIndex` is its place in the list, from 0.
  public var name: String
  /// An expression, unique for each row, that tells a row from the others when the list changes; empty
  /// for its place.
  public var key: String

  public init(list: String, name: String = "item", key: String = "") {
    self.list = list
    self.name = name
    self.key = key
  }

  var costBytes: Int { 48 + list.utf8.count + name.utf8.count + key.utf8.count }
}
