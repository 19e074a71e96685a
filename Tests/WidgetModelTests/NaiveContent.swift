import WidgetModel

/// A content after changes, computed from the whole content each time.
enum NaiveContent {
  static func applying(_ change: ContentChange, to content: Content?) -> Content? {
    let rootID = change.rootID.isEmpty && !change.replaces ? content?.rootID ?? "" : change.rootID
    guard !rootID.isEmpty else { return nil }
    var table: [String: Node] = [:]
    if !change.replaces { for node in content?.nodes ?? [] { table[node.id] = node } }
    for id in change.removedIDs { table[id] = nil }
    for node in change.setNodes { table[node.id] = node }
    let tree = Tree(rootID: rootID, table)
    return Content(rootID: rootID, nodes: tree.order.compactMap { table[$0] })
  }

  static func difference(from old: Content?, to new: Content?) -> ContentDifference {
    let (before, after) = (Tree(old), Tree(new))
    let (gone, here) = (Set(before.order), Set(after.order))
    var result = ContentDifference(
      inserted: here.subtracting(gone), removed: gone.subtracting(here),
      isRootChanged: old?.rootID != new?.rootID)
    for id in here.intersection(gone) {
      if before.table[id] != after.table[id] { result.changed.insert(id) }
      let parent = after.parents[id]
      guard parent == before.parents[id] else {
        result.moved.insert(id)
        continue
      }
      guard let parent else { continue }
      // The place of a child among the parent's children, before and now.
      let now = after.children[parent, default: []]
      let then = before.children[parent, default: []]
      let place = now.filter(then.contains).firstIndex(of: id)
      if place != then.filter(now.contains).firstIndex(of: id) { result.moved.insert(id) }
    }
    return result
  }

  /// The parent of a node is the first node that has it as a child, in the order of the tree.
  private struct Tree {
    var table: [String: Node] = [:]
    var order: [String] = []
    var parents: [String: String] = [:]
    var children: [String: [String]] = [:]

    init(_ content: Content?) {
      let nodes = content?.nodes ?? []
      self.init(
        rootID: content?.rootID ?? "",
        Dictionary(nodes.map { ($0.id, $0) }, uniquingKeysWith: { $1 }))
    }

    init(rootID: String, _ table: [String: Node]) {
      self.table = table
      visit(rootID, below: nil)
    }

    private mutating func visit(_ id: String, below parent: String?) {
      guard let node = table[id], !order.contains(id) else { return }
      order.append(id)
      if let parent {
        parents[id] = parent
        children[parent, default: []].append(id)
      }
      for child in node.childIDs { visit(child, below: id) }
    }
  }
}
