/// What a widget shows: its kind's template for its family, with all bindings evaluated.
///
/// Derived from the widget's state, and the same for everyone who reads it.
public struct Content: Hashable, Sendable {
  public var rootID: String
  /// Each node before its children. Every child is in the table, and is the child of one node.
  public var nodes: [Node]

  public init(rootID: String, nodes: [Node]) {
    self.rootID = rootID
    self.nodes = nodes
  }
}

/// A part of what a widget shows.
public struct Node: Hashable, Sendable, Identifiable {
  /// Unique in its widget. In a row: the template's id, `/`, and the row's key.
  public var id: String
  /// What it is; nil for something that a later version knows.
  public var type: NodeType?
  /// What is not here has its default.
  public var properties: ValueMap
  public var childIDs: [String]
  /// What is wrong with one of its bindings, for the kind's author; empty for nothing.
  public var problem: String
  /// The events that it takes, if it is visible and enabled: those of its type first.
  public var events: [String]

  public init(
    id: String, type: NodeType?, properties: ValueMap = [:], childIDs: [String] = [],
    problem: String = "", events: [String] = []
  ) {
    self.id = id
    self.type = type
    self.properties = properties
    self.childIDs = childIDs
    self.problem = problem
    self.events = events
  }
}

/// What of a widget's content changed.
public struct ContentChange: Hashable, Sendable {
  /// All nodes are new: forget the old ones first.
  public var replaces: Bool
  /// The node at the top, if that changed. Empty together with `replaces`: there is no content now.
  public var rootID: String
  /// Nodes to add, or to replace as a whole.
  public var setNodes: [Node]
  /// Nodes to remove, if they are there.
  public var removedIDs: [String]

  public init(
    replaces: Bool = false, rootID: String = "", setNodes: [Node] = [], removedIDs: [String] = []
  ) {
    self.replaces = replaces
    self.rootID = rootID
    self.setNodes = setNodes
    self.removedIDs = removedIDs
  }

  /// The change to a whole new content, or to none.
  public init(replacingBy content: Content?) {
    self.init(replaces: true, rootID: content?.rootID ?? "", setNodes: content?.nodes ?? [])
  }
}

extension Content {
  /// The content after a change; nil if there is none then. Nodes come in the order of the tree
  /// again; those that the tree does not reach are dropped. O(nodes).
  public static func applying(_ change: ContentChange, to content: Content?) -> Content? {
    let rootID = change.rootID.isEmpty && !change.replaces ? content?.rootID ?? "" : change.rootID
    guard !rootID.isEmpty else { return nil }
    var table: [String: Node] = [:]
    if !change.replaces, let content { for node in content.nodes { table[node.id] = node } }
    for id in change.removedIDs { table[id] = nil }
    for node in change.setNodes { table[node.id] = node }
    return Content(rootID: rootID, table: table)
  }

  /// The nodes that the tree reaches, in its order. Each is taken out once, so that a table of
  /// circles ends too.
  private init(rootID: String, table: [String: Node]) {
    self.init(rootID: rootID, nodes: [])
    var rest = table
    var waiting = [rootID]
    while let id = waiting.popLast() {
      guard let node = rest.removeValue(forKey: id) else { continue }
      nodes.append(node)
      waiting.append(contentsOf: node.childIDs.reversed())
    }
  }

  /// One node.
  public subscript(id: String) -> Node? { nodes.first { $0.id == id } }
}
