/// The content of widgets of a kind: a tree of nodes with bindings, for some families or for all.
public struct ContentTemplate: Hashable, Sendable {
  /// The families of the template; empty for all families without another template.
  public var families: [Family]
  public var root: NodeTemplate

  public init(families: [Family] = [], root: NodeTemplate) {
    self.families = families
    self.root = root
  }

  var costBytes: Int { 32 + families.count + root.costBytes }
}

/// One node of a template, and all nodes below it.
public struct NodeTemplate: Hashable, Sendable {
  /// The maximum depth of nested nodes in a template.
  public static let depthMax = 16
  /// The maximum number of nodes in a template: the default of `content_nodes_max`.
  public static let nodesMax = 2_000
  /// The maximum depth of nested nodes with rows.
  public static let rowDepthMax = 4

  /// Unique among the template's nodes: 1 to 64 letters, digits, `_` and `-`.
  public var id: String
  public var type: NodeType
  /// The values of its properties. The node's type decides which properties exist, and their types.
  public var properties: [String: Binding]
  /// An expression that must be true to show the node and all nodes below it; empty for always.
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

/// The source of a property's value.
public struct Binding: Hashable, Sendable {
  /// The expression for the value; empty if it is always `value`.
  public var expression: String
  /// Without an expression, the value. With one, the placeholder while the expression fails or
  /// gives null; nil leaves the property out then.
  public var value: Value?

  /// The result of an expression, or a placeholder.
  public init(_ expression: String, placeholder: Value? = nil) {
    self.expression = expression
    value = placeholder
  }

  /// A constant value.
  public init(value: Value) {
    expression = ""
    self.value = value
  }

  var costBytes: Int { 16 + expression.utf8.count + (value?.costBytes ?? 0) }
}

/// The rows of a repeated node.
public struct RowTemplate: Hashable, Sendable {
  /// An expression for a list: one row for each element.
  public var list: String
  /// The element's name for expressions below; `NAMEIndex` is its place in the list, from 0.
  public var name: String
  /// An expression, unique for each row, that identifies a row when the list changes; empty for its
  /// place.
  public var key: String

  public init(list: String, name: String = "item", key: String = "") {
    self.list = list
    self.name = name
    self.key = key
  }

  var costBytes: Int { 48 + list.utf8.count + name.utf8.count + key.utf8.count }
}
