public import WidgetModel

/// A node with its children, as `RandomTree` makes them.
struct Tree {
  var type: NodeType?
  var id = ""
  var properties: ValueMap
  var children: [Tree] = []

  init(_ type: NodeType?, _ properties: ValueMap) {
    (self.type, self.properties) = (type, properties)
  }

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
}

// What `Gallery` has not.
extension Value: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  public init(arrayLiteral elements: Value...) { self = .list(elements) }
  public init(dictionaryLiteral elements: (String, Value)...) {
    self = .map(ValueMap(elements.map { ValueMap.Entry(key: $0.0, value: $0.1) }))
  }
}
