/// The nodes of one content, each at an index that it keeps for as long as it is there.
///
/// Holds the same nodes as `Content.applying` makes, but applies a change in O(changed nodes): a
/// client that shows a content keeps what it knows of a node in arrays beside this table.
///
/// The tree of `children` is always a tree, whatever was sent: a node that is the child of several
/// has the first of them, in the tree's order, as its parent; children that are missing, and those
/// that would close a circle, are left out. While a content has such faults, each change costs
/// O(all nodes). Nothing here is recursive, so a content may be as deep as it likes.
public struct NodeTable: Sendable {
  /// A node with its place in the tree.
  public struct Entry: Sendable {
    public fileprivate(set) var node: Node
    /// Nil for the root.
    public fileprivate(set) var parent: Int?
    /// Each is here, and has this entry as its parent.
    public fileprivate(set) var children: [Int]
  }

  /// What a change did.
  public struct Changes: Hashable, Sendable {
    /// Forget what you know of any index: the tree was made afresh.
    public var replacesAll = false
    /// The indices at which something else is now than before: another node, or other properties or
    /// children of the same one. Every index that is in use if `replacesAll`.
    public var changed: [Int] = []
    /// The indices that are no longer in use.
    public var removed: [Int] = []

    public init(replacesAll: Bool = false, changed: [Int] = [], removed: [Int] = []) {
      self.replacesAll = replacesAll
      self.changed = changed
      self.removed = removed
    }
  }

  private var entries: [Entry?] = []
  private var free: [Int] = []
  private var indices: [String: Int] = [:]
  /// What the content calls its root; the node with this id may be missing.
  public private(set) var rootID = ""
  /// Whether each child is there, has one parent, and hangs on the root.
  private var isWellFormed = true

  /// A table without content.
  public init() {}

  /// The nodes that the tree of a content reaches.
  public init(_ content: Content?) {
    apply(ContentChange(replacingBy: content))
  }

  /// How many nodes there are.
  public var count: Int { indices.count }
  /// All indices are below this; not all of them are in use.
  public var indexEnd: Int { entries.count }
  /// The node at the top; nil if there is none.
  public var root: Int? { indices[rootID] }

  /// Where the node with an id is.
  public func index(of id: String) -> Int? { indices[id] }

  /// What is at an index; nil if it is not in use.
  public subscript(index: Int) -> Entry? {
    entries.indices.contains(index) ? entries[index] : nil
  }

  /// The parent of the node at an index; nil for the root.
  public func parent(of index: Int) -> Int? {
    entries.indices.contains(index) ? entries[index]?.parent : nil
  }

  /// The content; nil if there is none. O(nodes).
  public var content: Content? {
    guard !rootID.isEmpty else { return nil }
    var nodes: [Node] = []
    nodes.reserveCapacity(count)
    var waiting = root.map { [$0] } ?? []
    while let index = waiting.popLast() {
      guard let entry = entries[index] else { continue }
      nodes.append(entry.node)
      waiting.append(contentsOf: entry.children.reversed())
    }
    return Content(rootID: rootID, nodes: nodes)
  }

  // MARK: - Changes

  /// Applies a change. O(nodes in the change and nodes that go with it) if the content is, and stays,
  /// well-formed and keeps its root; O(all nodes) otherwise.
  @discardableResult
  public mutating func apply(_ change: ContentChange) -> Changes {
    let keepsRoot = change.rootID.isEmpty || change.rootID == rootID
    guard !change.replaces, keepsRoot, isWellFormed, root != nil else { return replace(change) }
    var update = Update()
    for node in change.setNodes { update.nodes[node.id] = node }
    let gone = change.removedIDs.filter { update.nodes[$0] == nil && indices[$0] != nil }
    // All that can make it faulty is looked for before anything changes.
    guard plan(&update, in: change.setNodes, gone: Set(gone)) else { return replace(change) }
    return commit(update)
  }

  /// What a change comes to.
  private struct Update {
    /// The last of each id counts.
    var nodes: [String: Node] = [:]
    /// Those that differ from what is here, each once, in the order in which they came.
    var different: [String] = []
    /// The parent that a node gets.
    var newParents: [String: String] = [:]
    /// Children that a node no longer has.
    var orphans: [String] = []
  }

  /// Fills in the update. False if the tree would not be well-formed, or if that takes all of it to see.
  private func plan(_ update: inout Update, in setNodes: [Node], gone: Set<String>) -> Bool {
    var seen: Set<String> = []
    for id in setNodes.map(\.id) where seen.insert(id).inserted {
      guard let node = update.nodes[id] else { continue }
      let old = indices[node.id].flatMap { entries[$0] }
      if let old, old.node == node { continue }
      update.different.append(node.id)
      if let old, old.node.childIDs == node.childIDs { continue }
      let before = Set(old?.node.childIDs ?? [])
      var now: Set<String> = []
      for child in node.childIDs {
        // Twice in one list, or missing.
        guard now.insert(child).inserted, child != rootID,
          update.nodes[child] != nil || (indices[child] != nil && !gone.contains(child))
        else { return false }
        guard !before.contains(child) else { continue }
        guard update.newParents.updateValue(node.id, forKey: child) == nil else { return false }
      }
      update.orphans += before.filter { !now.contains($0) }
    }
    // A node that is removed must be left out by its parent, and so must one that moves.
    let orphans = Set(update.orphans)
    guard !gone.contains(rootID) else { return false }
    for id in gone where !orphans.contains(id) && !willGo(id, orphans, update) { return false }
    for child in update.newParents.keys {
      if indices[child] != nil, !orphans.contains(child), !willGo(child, orphans, update) {
        return false
      }
    }
    // Whatever changes hangs on the root: going up from it ends there, and not in a circle.
    var good: Set<String> = [rootID]
    for id in update.different {
      var path: [String] = []
      var onPath: Set<String> = []
      var current = id
      while !good.contains(current) {
        guard onPath.insert(current).inserted,
          let parent = update.newParents[current] ?? oldParent(of: current, orphans)
        else { return false }
        path.append(current)
        current = parent
      }
      good.formUnion(path)
    }
    return true
  }

  /// The parent that a node keeps.
  private func oldParent(of id: String, _ orphans: Set<String>) -> String? {
    guard !orphans.contains(id), let parent = indices[id].flatMap({ entries[$0]?.parent }) else {
      return nil
    }
    return entries[parent]?.node.id
  }

  /// Whether a node goes with one above it that no other node takes.
  private func willGo(_ id: String, _ orphans: Set<String>, _ update: Update) -> Bool {
    var current = indices[id].flatMap { entries[$0] }?.parent
    while let index = current, let entry = entries[index] {
      // Below a node that moves or changes it is simpler to look at everything.
      guard update.newParents[entry.node.id] == nil, update.nodes[entry.node.id] == nil else {
        return false
      }
      if orphans.contains(entry.node.id) { return true }
      current = entry.parent
    }
    return false
  }

  private mutating func commit(_ update: Update) -> Changes {
    var changes = Changes()
    // Nodes that no parent has any more go, with all below them that no other node takes.
    var waiting = update.orphans.filter { update.newParents[$0] == nil }.compactMap { indices[$0] }
    while let index = waiting.popLast() {
      guard let entry = entries[index] else { continue }
      indices[entry.node.id] = nil
      entries[index] = nil
      changes.removed.append(index)
      waiting += entry.children.filter { child in
        guard let id = entries[child]?.node.id else { return false }
        return update.newParents[id] == nil
      }
    }
    for id in update.different {
      guard let node = update.nodes[id] else { continue }
      if let index = indices[id] {
        entries[index]?.node = node
        changes.changed.append(index)
      } else {
        changes.changed.append(insert(node))
      }
    }
    for id in update.different {
      guard let index = indices[id], let entry = entries[index] else { continue }
      let children = entry.node.childIDs.compactMap { indices[$0] }
      guard children != entry.children else { continue }
      entries[index]?.children = children
      for child in children { entries[child]?.parent = index }
    }
    // Not before now, so that an index is not in both lists.
    free += changes.removed
    return changes
  }

  private mutating func insert(_ node: Node) -> Int {
    let index: Int
    if let last = free.popLast() {
      index = last
      entries[index] = Entry(node: node, parent: nil, children: [])
    } else {
      index = entries.count
      entries.append(Entry(node: node, parent: nil, children: []))
    }
    indices[node.id] = index
    return index
  }

  /// Makes the tree afresh.
  private mutating func replace(_ change: ContentChange) -> Changes {
    var changes = Changes(replacesAll: true)
    var table: [String: Node] = [:]
    if !change.replaces {
      for case let entry? in entries { table[entry.node.id] = entry.node }
    }
    for id in change.removedIDs { table[id] = nil }
    for node in change.setNodes { table[node.id] = node }
    let before = indices.values.sorted()
    if change.replaces || !change.rootID.isEmpty { rootID = change.rootID }
    (entries, free, indices, isWellFormed) = ([], [], [:], true)

    if rootID.isEmpty { table = [:] }
    // Each is taken out once, so that circles end too. A parent is known before its children.
    var waiting: [(id: String, parent: Int?)] = [(rootID, nil)]
    while let (id, parent) = waiting.popLast() {
      guard let node = table.removeValue(forKey: id) else {
        if !rootID.isEmpty { isWellFormed = false }
        continue
      }
      let index = insert(node)
      entries[index]?.parent = parent
      if let parent { entries[parent]?.children.append(index) }
      for child in node.childIDs.reversed() { waiting.append((child, index)) }
    }
    changes.changed = Array(0..<entries.count)
    changes.removed = before.filter { $0 >= entries.count }
    return changes
  }
}
