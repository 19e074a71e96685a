/// The nodes of one content. Each node keeps its index while it exists.
///
/// A client keeps its state of the nodes in arrays beside this table. A change touches only the
/// nodes that it names, and looking up an id costs O(1). A copy shares the unchanged parts, so
/// keeping an old table costs little.
///
/// The tree of `children` is always a tree, for any input. If a node is the child of several nodes,
/// the first of them in the tree's order is its parent. Missing children, and children that would
/// close a cycle, are left out. While a content has such faults, each change costs O(all nodes).
/// Nothing here is recursive, so a content may have any depth.
public struct NodeTable: Sendable {
  /// The deepest level of nodes that clients lay out and read. The root's depth is 0. Deeper nodes are
  /// left out.
  public static let drawnDepthMax = 64

  /// A node with its place in the tree.
  public struct Entry: Sendable {
    public fileprivate(set) var node: Node
    /// Nil for the root.
    public fileprivate(set) var parent: Int?
    /// Each child exists, and has this entry as its parent.
    public fileprivate(set) var children: [Int]
  }

  /// The result of a change.
  public struct Changes: Hashable, Sendable {
    /// Discard all state by index, because the tree was made again.
    public var replacesAll = false
    /// The indices with another node than before, or with other properties or children of the same
    /// node. All used indices if `replacesAll`.
    public var changed: [Int] = []
    /// The indices that are free now.
    public var removed: [Int] = []
    /// The same by ids, for callers without indices. It is exact even if `replacesAll`.
    public var ids = ContentDifference()

    public init(
      replacesAll: Bool = false, changed: [Int] = [], removed: [Int] = [],
      ids: ContentDifference = ContentDifference()
    ) {
      self.replacesAll = replacesAll
      self.changed = changed
      self.removed = removed
      self.ids = ids
    }
  }

  private var entries = PagedArray<Entry?>()
  private var free: [Int] = []
  private var indices: [String: Int] = [:]
  /// The id of the root in the content; the node with this id may be missing.
  public private(set) var rootID = ""
  /// Whether each child exists, has one parent, and is reachable from the root.
  private var isWellFormed = true

  /// A table without content.
  public init() {}

  /// The nodes that the tree of a content reaches. O(1) for a content that is a table.
  public init(_ content: Content?) { self = content?.table ?? NodeTable() }

  /// The nodes that the tree of a content reaches.
  init(replacing content: Content) { _ = rebuild(ContentChange(replacingBy: content)) }

  /// The number of nodes.
  public var count: Int { indices.count }
  /// The end of all indices; some indices below it may be free.
  public var indexEnd: Int { entries.count }
  /// The index of the node at the top; nil if there is none.
  public var root: Int? { indices[rootID] }

  /// The index of the node with an id.
  public func index(of id: String) -> Int? { indices[id] }

  /// The entry at an index; nil if the index is free.
  public subscript(index: Int) -> Entry? {
    entries.indices.contains(index) ? entries[index] : nil
  }

  /// The parent of the node at an index; nil for the root.
  public func parent(of index: Int) -> Int? {
    entries.indices.contains(index) ? entries[index]?.parent : nil
  }

  /// The content; nil if there is none.
  public var content: Content? { Content(self) }

  /// All nodes in tree order, each before its children. O(nodes).
  public var nodes: [Node] {
    var nodes: [Node] = []
    nodes.reserveCapacity(count)
    var waiting = root.map { [$0] } ?? []
    while let index = waiting.popLast() {
      guard let entry = entries[index] else { continue }
      nodes.append(entry.node)
      waiting.append(contentsOf: entry.children.reversed())
    }
    return nodes
  }

  // MARK: - Changes

  /// Applies a change. Removals come first. If a node is set twice, the last one counts.
  ///
  /// - Complexity: O(nodes in the change, their children, and nodes that go with them) if the
  ///   content is, and stays, well-formed and keeps its root; O(all nodes) otherwise.
  @discardableResult
  public mutating func apply(_ change: ContentChange) -> Changes {
    let keepsRoot = change.rootID.isEmpty || change.rootID == rootID
    guard !change.replaces, keepsRoot, isWellFormed, root != nil else { return replace(change) }
    var update = Update()
    for node in change.setNodes { update.nodes[node.id] = node }
    let gone = change.removedIDs.filter { update.nodes[$0] == nil && indices[$0] != nil }
    // All possible faults are checked before anything changes.
    guard plan(&update, in: change.setNodes, gone: Set(gone)) else { return replace(change) }
    return commit(update)
  }

  /// The plan of a change.
  private struct Update {
    /// The last node for each id.
    var nodes: [String: Node] = [:]
    /// Nodes that differ from the table, each once, in the order of the change.
    var different: [String] = []
    /// The new parent of a node.
    var newParents: [String: String] = [:]
    /// Children that a node has lost.
    var orphans: [String] = []
  }

  /// Fills in the update. Returns false if the tree would not be well-formed, or if only a look at
  /// all nodes can tell.
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
        // The child is twice in the list, or is missing.
        guard now.insert(child).inserted, child != rootID,
          update.nodes[child] != nil || (indices[child] != nil && !gone.contains(child))
        else { return false }
        guard !before.contains(child) else { continue }
        guard update.newParents.updateValue(node.id, forKey: child) == nil else { return false }
      }
      update.orphans += before.filter { !now.contains($0) }
    }
    // The parent of a removed or moved node must drop it.
    let orphans = Set(update.orphans)
    guard !gone.contains(rootID) else { return false }
    for id in gone where !orphans.contains(id) && !willGo(id, orphans, update) { return false }
    for child in update.newParents.keys {
      if indices[child] != nil, !orphans.contains(child), !willGo(child, orphans, update) {
        return false
      }
    }
    // All changed nodes must be reachable from the root: the path upwards must end there, and not
    // in a cycle.
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

  /// The unchanged parent of a node.
  private func oldParent(of id: String, _ orphans: Set<String>) -> String? {
    guard !orphans.contains(id), let parent = indices[id].flatMap({ entries[$0]?.parent }) else {
      return nil
    }
    return entries[parent]?.node.id
  }

  /// Whether a node is removed with a node above it, because that node gets no other parent.
  private func willGo(_ id: String, _ orphans: Set<String>, _ update: Update) -> Bool {
    var current = indices[id].flatMap { entries[$0] }?.parent
    while let index = current, let entry = entries[index] {
      // If a node above moves or changes, the table is made again from all nodes, which is simpler.
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
    // Nodes without a parent are removed, with all nodes below them that no other node takes.
    var waiting = update.orphans.filter { update.newParents[$0] == nil }.compactMap { indices[$0] }
    while let index = waiting.popLast() {
      guard let entry = entries[index] else { continue }
      indices[entry.node.id] = nil
      entries[index] = nil
      changes.removed.append(index)
      changes.ids.removed.insert(entry.node.id)
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
        changes.ids.changed.insert(id)
      } else {
        changes.changed.append(insert(node))
        changes.ids.inserted.insert(id)
      }
    }
    for id in update.different {
      guard let index = indices[id], let entry = entries[index] else { continue }
      let children = entry.node.childIDs.compactMap { indices[$0] }
      guard children != entry.children else { continue }
      let stayed = children.filter { child in
        entries[child].map { !changes.ids.inserted.contains($0.node.id) } ?? false
      }
      changes.ids.moved.formUnion(movedIDs(stayed, from: entry.children))
      entries[index]?.children = children
      for child in children { entries[child]?.parent = index }
    }
    // The indices are freed last, so that an index is not in both lists.
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

  /// The existing children of a node that have another place now.
  private func movedIDs(_ children: [Int], from before: [Int]) -> [String] {
    let old = Set(before)
    let now = Set(children)
    var moved = children.filter { !old.contains($0) }
    let stayed = children.filter { old.contains($0) }
    moved += zip(stayed, before.filter { now.contains($0) }).filter { $0 != $1 }.map(\.0)
    return moved.compactMap { entries[$0]?.node.id }
  }

  /// The difference from another table. O(nodes of both).
  func difference(from old: NodeTable) -> ContentDifference {
    var result = ContentDifference()
    result.isRootChanged = rootID != old.rootID
    for case let entry? in entries.indices.lazy.map({ entries[$0] }) {
      guard let before = old.indices[entry.node.id].flatMap({ old.entries[$0] }) else {
        result.inserted.insert(entry.node.id)
        continue
      }
      if entry.node != before.node { result.changed.insert(entry.node.id) }
      if id(at: entry.parent) != old.id(at: before.parent) { result.moved.insert(entry.node.id) }
      // The children that both have, in either order.
      let (now, then) = (childIDs(of: entry), old.childIDs(of: before))
      guard now != then else { continue }
      let (inNow, inThen) = (Set(now), Set(then))
      let pairs = zip(now.filter(inThen.contains), then.filter(inNow.contains))
      for (child, other) in pairs where child != other { result.moved.insert(child) }
    }
    for id in old.indices.keys where indices[id] == nil { result.removed.insert(id) }
    return result
  }

  private func id(at index: Int?) -> String? { index.flatMap { entries[$0]?.node.id } }

  private func childIDs(of entry: Entry) -> [String] {
    entry.children.compactMap { entries[$0]?.node.id }
  }

  /// Makes the tree again.
  private mutating func replace(_ change: ContentChange) -> Changes {
    let old = self
    var changes = rebuild(change)
    changes.ids = difference(from: old)
    return changes
  }

  private mutating func rebuild(_ change: ContentChange) -> Changes {
    var changes = Changes(replacesAll: true)
    let old = self
    let before = indices.values.sorted()
    if change.replaces || !change.rootID.isEmpty { rootID = change.rootID }
    if !change.replaces || !fill(change.setNodes) { walk(change, from: old) }
    changes.changed = Array(0..<entries.count)
    changes.removed = before.filter { $0 >= entries.count }
    return changes
  }

  /// Takes nodes in the daemon's order, each before its children. Returns false if they have a
  /// fault; the caller must then make the table in another way.
  private mutating func fill(_ nodes: [Node]) -> Bool {
    (entries, free, indices, isWellFormed) = (PagedArray(), [], [:], true)
    guard !rootID.isEmpty, nodes.first?.id == rootID else { return false }
    indices.reserveCapacity(nodes.count)
    for (index, node) in nodes.enumerated() {
      guard indices.updateValue(index, forKey: node.id) == nil else { return false }
      entries.append(Entry(node: node, parent: nil, children: []))
    }
    var reachedCount = 1
    for (index, node) in nodes.enumerated() where !node.childIDs.isEmpty {
      var children: [Int] = []
      children.reserveCapacity(node.childIDs.count)
      for id in node.childIDs {
        guard let child = indices[id], child > index, entries[child]?.parent == nil else {
          return false
        }
        entries[child]?.parent = index
        children.append(child)
        reachedCount += 1
      }
      entries[index]?.children = children
    }
    return reachedCount == nodes.count
  }

  /// Makes the tree by walking down from the root.
  private mutating func walk(_ change: ContentChange, from old: NodeTable) {
    var table: [String: Node] = [:]
    if !change.replaces {
      for case let entry? in old.entries.indices.lazy.map({ old.entries[$0] }) {
        table[entry.node.id] = entry.node
      }
    }
    for id in change.removedIDs { table[id] = nil }
    for node in change.setNodes { table[node.id] = node }
    (entries, free, indices, isWellFormed) = (PagedArray(), [], [:], true)

    if rootID.isEmpty { table = [:] }
    // Each node is removed from `table` once, so cycles end, too. A parent is known before its
    // children.
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
  }
}
