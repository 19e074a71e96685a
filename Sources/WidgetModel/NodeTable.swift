/// The nodes of one content, each at an index that it keeps for as long as it is there.
///
/// A client that shows a content keeps what it knows of a node in arrays beside this table. A change
/// touches the nodes that it names alone, and looking up an id costs O(1). A copy shares what neither
/// side changes, so keeping an old table costs little.
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
    /// The same by ids, for those who keep no indices. It is exact even if `replacesAll`.
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
  /// What the content calls its root; the node with this id may be missing.
  public private(set) var rootID = ""
  /// Whether each child is there, has one parent, and hangs on the root.
  private var isWellFormed = true

  /// A table without content.
  public init() {}

  /// The nodes that the tree of a content reaches. O(1) for a content that is a table already.
  public init(_ content: Content?) { self = content?.table ?? NodeTable() }

  /// The nodes that the tree of a content reaches.
  init(replacing content: Content) { _ = rebuild(ContentChange(replacingBy: content)) }

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

  /// The content; nil if there is none.
  public var content: Content? { Content(self) }

  /// All nodes in the order of the tree, each before its children. O(nodes).
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

  /// Applies a change. Removals come before what is set; of a node that is set twice the last one counts.
  ///
  /// - Complexity: O(nodes in the change, their children, and nodes that go with them) if the content
  ///   is, and stays, well-formed and keeps its root; O(all nodes) otherwise.
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

  /// Which of the children that a node has now, and that were there before, have another place.
  private func movedIDs(_ children: [Int], from before: [Int]) -> [String] {
    let old = Set(before)
    let now = Set(children)
    var moved = children.filter { !old.contains($0) }
    let stayed = children.filter { old.contains($0) }
    moved += zip(stayed, before.filter { now.contains($0) }).filter { $0 != $1 }.map(\.0)
    return moved.compactMap { entries[$0]?.node.id }
  }

  /// What is other than in another table. O(nodes of both).
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
      // Those that both have as children, in either order.
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

  /// Makes the tree afresh.
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

  /// Takes nodes as the daemon sends them, each before its children. False if there is a fault in
  /// them; the table is then to be made in another way.
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
  }
}
