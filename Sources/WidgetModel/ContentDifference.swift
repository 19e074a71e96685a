/// The changed nodes of a content, by their ids: the nodes that a renderer must draw again.
///
/// Compares two states, not the sent changes. A node that came and went in between, or was sent
/// without a change, is in no set. A node is only in `inserted`, only in `removed`, or in
/// `changed`, `moved` or both.
public struct ContentDifference: Hashable, Sendable {
  /// Existing nodes with another type, properties, children, problem or events. Includes a node if
  /// its children were added, removed or reordered, but not if only a child changed.
  public var changed: Set<String> = []
  /// New nodes, with all nodes below them.
  public var inserted: Set<String> = []
  /// Removed nodes, with all nodes that were below them.
  public var removed: Set<String> = []
  /// Existing nodes with another parent, or another place among the existing children of their
  /// parent. Nodes below them moved with them, and are not here.
  public var moved: Set<String> = []
  /// Another node is at the top, or the content was added or removed.
  public var isRootChanged = false

  /// Without arguments, no difference.
  public init(
    changed: Set<String> = [], inserted: Set<String> = [], removed: Set<String> = [],
    moved: Set<String> = [], isRootChanged: Bool = false
  ) {
    self.changed = changed
    self.inserted = inserted
    self.removed = removed
    self.moved = moved
    self.isRootChanged = isRootChanged
  }

  /// The difference of two contents; nil is no content. O(nodes).
  public init(from old: Content?, to new: Content?) {
    self = (new?.table ?? NodeTable()).difference(from: old?.table ?? NodeTable())
  }

  /// Nothing changed.
  public var isEmpty: Bool {
    changed.isEmpty && inserted.isEmpty && removed.isEmpty && moved.isEmpty && !isRootChanged
  }
}
