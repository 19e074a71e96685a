/// Which nodes of a content changed, by their ids: what a renderer has to draw again.
///
/// Compares two states, not what was sent: a node that came and went in between, or that was sent
/// without a change, is in no set. A node is in `inserted` or `removed` alone, or in `changed`, in
/// `moved`, or in both.
public struct ContentDifference: Hashable, Sendable {
  /// Nodes that stayed and have another type, properties, children, problem or events. A node whose
  /// children came, went or changed their order is here; one whose child changed is not.
  public var changed: Set<String> = []
  /// Nodes that are new, with all that are below them.
  public var inserted: Set<String> = []
  /// Nodes that are gone, with all that were below them.
  public var removed: Set<String> = []
  /// Nodes that stayed and have another parent, or another place among those children of their parent
  /// that stayed. Those below them moved with them, and are not here.
  public var moved: Set<String> = []
  /// Another node is at the top, or the content came or went.
  public var isRootChanged = false

  /// No difference, if nothing is given.
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
