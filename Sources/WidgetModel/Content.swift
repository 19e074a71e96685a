/// The content of a widget: its kind's template for its family, with all bindings evaluated.
///
/// Derived from the widget's state, and the same for every reader.
///
/// A content that was made from a list of nodes keeps the list. `makeTable` and `apply` turn it
/// into a `NodeTable`, as a `WidgetMirror` does with each new content. Then looking up a node costs
/// O(1), a change O(changed nodes), and `nodes` O(nodes). A content that was made from a
/// `DataTable` makes its nodes for each read.
public struct Content: Sendable {
  private enum Form: Sendable {
    case list(rootID: String, nodes: [Node])
    case table(NodeTable)
    case data(DataTable)
  }
  private var form: Form

  public init(rootID: String, nodes: [Node]) { form = .list(rootID: rootID, nodes: nodes) }

  public init(_ table: DataTable) { form = .data(table) }

  /// The content of a table; nil if the table has none.
  public init?(_ table: NodeTable) {
    guard !table.rootID.isEmpty else { return nil }
    form = .table(table)
  }

  /// The id of the node at the top. The node may be missing.
  public var rootID: String {
    switch form {
    case .list(let rootID, _): rootID
    case .table(let table): table.rootID
    case .data: DataTable.rootID
    }
  }

  /// Each node before its children. Every child is in the list, and has exactly one parent.
  ///
  /// - Complexity: O(1) for a list, O(nodes) for other forms. Setting it makes a list.
  public var nodes: [Node] {
    get {
      switch form {
      case .list(_, let nodes): nodes
      case .table(let table): table.nodes
      case .data(let table): table.nodes
      }
    }
    set { form = .list(rootID: rootID, nodes: newValue) }
  }

  /// The node with this id; nil if it is missing.
  ///
  /// - Complexity: O(1) for a table, O(nodes) for other forms.
  public subscript(id: String) -> Node? {
    switch form {
    case .list, .data: nodes.first { $0.id == id }
    case .table(let table): table.index(of: id).flatMap { table[$0]?.node }
    }
  }

  /// The nodes with their places in the tree.
  ///
  /// - Complexity: O(1) for a table, O(nodes) for other forms.
  public var table: NodeTable {
    switch form {
    case .list, .data: NodeTable(replacing: self)
    case .table(let table): table
    }
  }

  /// The rows that it was made from; nil for other forms.
  public var dataTable: DataTable? { if case .data(let table) = form { table } else { nil } }

  /// Makes it a table. Nodes that the tree does not reach are dropped. O(nodes) for other forms.
  public mutating func makeTable() { form = .table(table) }

  /// Applies a change, and returns the changed nodes. `replaces` adds or removes the content.
  ///
  /// The tree stays a tree for any change: see `NodeTable`. A table without another copy is changed
  /// in place; otherwise the change copies a small part of it.
  ///
  /// - Complexity: that of `NodeTable.apply`.
  @discardableResult
  public static func apply(
    _ change: ContentChange, to content: inout Content?
  ) -> ContentDifference {
    var table = content?.table ?? NodeTable()
    // Now `table` is the only owner of its parts.
    content = nil
    let ids = table.apply(change).ids
    content = Content(table)
    return ids
  }

  /// The content after a change; nil if there is none.
  public static func applying(_ change: ContentChange, to content: Content?) -> Content? {
    var result = content
    apply(change, to: &result)
    return result
  }
}

extension Content: Hashable {
  public static func == (a: Content, b: Content) -> Bool {
    a.rootID == b.rootID && a.nodes == b.nodes
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(rootID)
    hasher.combine(nodes)
  }
}

/// A part of a widget's content.
public struct Node: Hashable, Sendable, Identifiable {
  /// Unique in its widget. In a row: the template's id, `/`, and the row's key.
  public var id: String
  /// The type; nil for a type of a later version.
  public var type: NodeType?
  /// Missing properties have their default.
  public var properties: ValueMap
  public var childIDs: [String]
  /// The problem of one of its bindings, for the kind's author; empty for none.
  public var problem: String
  /// The start of the oldest part of the problem. Nil if there is none, or if it is not known.
  public var problemSince: Timestamp?
  /// The events that it takes, if it is visible and enabled: those of its type first.
  public var events: [String]

  public init(
    id: String, type: NodeType?, properties: ValueMap = [:], childIDs: [String] = [],
    problem: String = "", problemSince: Timestamp? = nil, events: [String] = []
  ) {
    self.id = id
    self.type = type
    self.properties = properties
    self.childIDs = childIDs
    self.problem = problem
    self.problemSince = problemSince
    self.events = events
  }
}

/// The change of a widget's content.
public struct ContentChange: Hashable, Sendable {
  /// All nodes are new: forget the old ones first.
  public var replaces: Bool
  /// The node at the top, if it changed. Empty together with `replaces`: the content is removed.
  public var rootID: String
  /// Nodes to add or to replace as a whole.
  public var setNodes: [Node]
  /// Nodes to remove, if they exist.
  public var removedIDs: [String]

  public init(
    replaces: Bool = false, rootID: String = "", setNodes: [Node] = [], removedIDs: [String] = []
  ) {
    self.replaces = replaces
    self.rootID = rootID
    self.setNodes = setNodes
    self.removedIDs = removedIDs
  }

  /// A change that replaces the whole content, or removes it.
  public init(replacingBy content: Content?) {
    self.init(replaces: true, rootID: content?.rootID ?? "", setNodes: content?.nodes ?? [])
  }
}
