import WidgetModel

/// The changes of nodes, in order of revisions, for readers that have missed some.
///
/// It is bounded: readers from before `start` get all nodes.
struct NodeLog {
  /// Changes at and before this revision are not in the log.
  private(set) var start: Revision
  private var changes: [Change] = []

  /// The maximum number of changes. Most late readers have missed fewer.
  private static let countMax = 512

  struct Change {
    let revision: Revision
    let slot: Int32
  }

  /// An empty log, for readers that hold nothing from before a revision.
  init(at revision: Revision) { start = revision }

  /// The revision of the last change, or an earlier one that makes no difference to readers.
  var lastChange: Revision { changes.last?.revision ?? start }

  mutating func append(_ slot: Int32, at revision: Revision) {
    changes.append(Change(revision: revision, slot: slot))
  }

  /// Makes readers from before a revision get all nodes.
  mutating func restart(at revision: Revision) {
    start = revision
    changes.removeAll()
  }

  /// Continues the log of other slots, with the slots here.
  mutating func `continue`(_ other: NodeLog, slot: (Int32) -> Int32) {
    start = other.start
    for change in other.changes {
      changes.append(Change(revision: change.revision, slot: slot(change.slot)))
    }
  }

  /// The slots that changed at a revision.
  func slots(at revision: Revision) -> Set<Int32> {
    Set(changes.lazy.filter { $0.revision == revision }.map(\.slot))
  }

  /// Visits the changes after a cursor, the newest first.
  func forEachReversed(since cursor: Revision, _ body: (Change) -> Void) {
    for change in changes.reversed() {
      guard change.revision > cursor else { break }
      body(change)
    }
  }

  /// Forgets the older half of the changes, if there are too many. A revision's changes stay or go
  /// together.
  ///
  /// - Returns: The forgotten changes.
  mutating func trim() -> [Change] {
    guard changes.count > NodeLog.countMax else { return [] }
    var count = changes.count - NodeLog.countMax / 2
    while count < changes.count, changes[count].revision == changes[count - 1].revision {
      count += 1
    }
    start = changes[count - 1].revision
    let forgotten = Array(changes[..<count])
    changes.removeFirst(count)
    return forgotten
  }

  // MARK: - For tests

  var isInOrder: Bool {
    zip(changes, changes.dropFirst()).allSatisfy { $0.revision <= $1.revision }
  }

  /// The revision of the last change of a slot; nil for none.
  func lastRevision(of slot: Int32) -> Revision? { changes.last { $0.slot == slot }?.revision }

  func has(_ slot: Int32, at revision: Revision) -> Bool {
    changes.contains { $0.slot == slot && $0.revision == revision }
  }
}
