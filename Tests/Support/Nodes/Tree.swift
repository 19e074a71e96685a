package import WidgetModel

/// A node with its children, for tests. Nodes without an id get one, in order.
package struct Tree {
  package var type: NodeType?
  package var id: String
  package var properties: ValueMap
  package var children: [Tree]

  package init(
    _ type: NodeType?, _ properties: ValueMap, id: String = "", _ children: [Tree] = []
  ) {
    (self.type, self.id, self.properties, self.children) = (type, id, properties, children)
  }

  package init(_ type: NodeType?, _ children: [Tree] = []) { self.init(type, [:], children) }

  package static func label(_ text: String, _ properties: ValueMap = [:], id: String = "") -> Tree {
    var properties = properties
    properties["text"] = .string(text)
    return Tree(.label, properties, id: id)
  }

  package static func button(_ text: String, _ properties: ValueMap = [:], id: String = "") -> Tree
  {
    var properties = properties
    properties["text"] = .string(text)
    return Tree(.button, properties, id: id)
  }

  package static func row(_ properties: ValueMap, id: String = "", _ children: Tree...) -> Tree {
    var properties = properties
    properties["axis"] = "horizontal"
    return Tree(.stack, properties, id: id, children)
  }

  package static func row(_ children: Tree...) -> Tree {
    Tree(.stack, ["axis": "horizontal"], children)
  }

  package static func column(_ properties: ValueMap, id: String = "", _ children: Tree...) -> Tree {
    Tree(.stack, properties, id: id, children)
  }

  package static func column(_ children: Tree...) -> Tree { Tree(.stack, children) }

  package var content: Content {
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
