public import WidgetModel

@testable import WidgetLayout

/// A node with its children, for tests. Ids are given out in order where there is none.
struct Tree {
  var type: NodeType?
  var id: String
  var properties: ValueMap
  var children: [Tree]

  init(
    _ type: NodeType?, _ properties: ValueMap, id: String = "", _ children: [Tree] = []
  ) {
    (self.type, self.id, self.properties, self.children) = (type, id, properties, children)
  }

  init(_ type: NodeType?, _ children: [Tree] = []) { self.init(type, [:], children) }

  static func label(_ text: String, _ properties: ValueMap = [:], id: String = "") -> Tree {
    var properties = properties
    properties["text"] = .string(text)
    return Tree(.label, properties, id: id)
  }

  static func button(_ text: String, _ properties: ValueMap = [:], id: String = "") -> Tree {
    var properties = properties
    properties["text"] = .string(text)
    return Tree(.button, properties, id: id)
  }

  static func row(_ properties: ValueMap, id: String = "", _ children: Tree...) -> Tree {
    var properties = properties
    properties["axis"] = "horizontal"
    return Tree(.stack, properties, id: id, children)
  }

  static func row(_ children: Tree...) -> Tree {
    Tree(.stack, ["axis": "horizontal"], children)
  }

  static func column(_ properties: ValueMap, id: String = "", _ children: Tree...) -> Tree {
    Tree(.stack, properties, id: id, children)
  }

  static func column(_ children: Tree...) -> Tree { Tree(.stack, children) }

  var content: Content {
    var nodes: [Node] = []
    let root = flatten(into: &nodes)
    return Content(rootID: root, nodes: nodes)
  }

  private func flatten(into nodes: inout [Node]) -> String {
    let position = nodes.count
    let id = id.isEmpty ? "n\(position)" : id
    nodes.append(Node(id: id, type: type, properties: properties))
    for child in children { nodes[position].childIDs.append(child.flatten(into: &nodes)) }
    return id
  }

  func layout(
    _ width: Int, height: Int? = nil, scroll: [String: Int] = [:],
    metrics: LayoutMetrics = .cells(dateText: { $0.text("format") })
  ) -> LayoutResult {
    var engine = LayoutEngine(metrics: metrics)
    return engine.layout(NodeTable(content), width: width, height: height, scroll: scroll)
  }

  /// What it looks like in cells.
  func drawn(_ width: Int, height: Int? = nil, scroll: [String: Int] = [:]) -> [String] {
    Canvas(layout(width, height: height, scroll: scroll)).lines
  }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int64) { self = .int(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(arrayLiteral elements: Value...) { self = .list(elements) }
  public init(dictionaryLiteral elements: (String, Value)...) {
    self = .map(ValueMap(elements.map { ValueMap.Entry(key: $0.0, value: $0.1) }))
  }
}
