import DequeModule
public import WidgetModel

/// The place of a reader in the removals of widgets.
public struct RemovalCursor: Equatable, Sendable {
  /// All removals up to this revision are behind the reader.
  public private(set) var revision: Revision
  /// So many removals of the next revision are behind the reader, too. Removals of one revision are
  /// forgotten only together.
  fileprivate private(set) var skipped = 0

  public init(_ revision: Revision) { self.revision = revision }

  /// Moves on, beyond the next removal.
  fileprivate mutating func pass(_ removal: Revision) {
    if removal - 1 > revision { self = RemovalCursor(removal - 1) }
    skipped += 1
  }
}

/// Removals of widgets, for readers.
extension WidgetStore {
  /// The next removed widgets that a reader held, or may have got since its transfer started. An id
  /// that is selected again is left out, because the widget comes as added. Ends early at
  /// `countMax` removals, and at the cost of one part of a scan.
  ///
  /// - Parameters:
  ///   - place: The place of the reader in the removals.
  ///   - end: The revision of the last removals.
  ///   - held: The reader's revision before the transfer; 0 for none.
  ///   - start: The revision at the start of the transfer.
  /// - Returns: The removals, and the place after them: `end` if there are no more.
  /// - Throws: `revisionCompacted` if the next removals are forgotten.
  public func removals(
    from place: RemovalCursor, through end: Revision, readerHeldUpTo held: Revision,
    transferStartedAt start: Revision, atMost countMax: Int,
    selecting selector: Selector = Selector()
  ) throws(StoreError) -> (changes: [WidgetChange], next: RemovalCursor) {
    try checkCursor(place.revision)
    var search = RemovalSearch(self, selector, held: held, start: start)
    var (changes, next) = ([WidgetChange](), place)
    var budget = max(1, limits.scanCostMax)
    var index = removalCount(upTo: place.revision) + place.skipped
    while index < tombstones.count, tombstones[index].revision <= end {
      if budget <= 0 || changes.count >= countMax { return (changes, next) }
      let removal = tombstones[index]
      budget -= 1
      if let change = search.change(removal, in: self, spending: &budget) { changes.append(change) }
      next.pass(removal.revision)
      index += 1
    }
    return (changes, RemovalCursor(max(end, place.revision)))
  }

  /// Whether there are more than `limit` removals of widgets after a cursor. O(removals since).
  public func hasRemovals(since cursor: Revision, moreThan limit: Int) -> Bool {
    let index = removalCount(upTo: cursor)
    guard tombstones.count - index > limit else { return false }
    var seen = 0
    for index in index..<tombstones.count {
      if case .widget = tombstones[index].what { seen += 1 }
      if seen > limit { return true }
    }
    return false
  }

  /// The number of kept removals of widgets and keys.
  public var removalCount: Int { tombstones.count - forgottenCount }

  /// Whether removals of widgets or keys after a cursor are so many that later ones could soon push
  /// them out.
  public func mayForgetRemovals(since cursor: Revision) -> Bool {
    tombstones.count - removalCount(upTo: cursor) > limits.tombstonesMax / 4
  }

  /// All removals after a cursor, for a reader without a transfer, or at its end. If an id was
  /// removed several times, the last removal counts.
  func removals(
    since cursor: Revision, selecting selector: Selector, readerHeldUpTo held: Revision,
    transferStartedAt start: Revision = .max
  ) -> [WidgetChange] {
    var search = RemovalSearch(self, selector, held: held, start: start)
    var changes: [WidgetChange] = []
    var budget = Int.max
    for removal in tombstones.reversed() {
      guard removal.revision > cursor else { break }
      if let change = search.change(removal, in: self, spending: &budget) { changes.append(change) }
    }
    return changes.reversed()
  }

  /// The number of kept removals up to a revision. O(log of all).
  private func removalCount(upTo revision: Revision) -> Int {
    var range = 0..<tombstones.count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if tombstones[middle].revision <= revision {
        range = (middle + 1)..<range.upperBound
      } else {
        range = range.lowerBound..<middle
      }
    }
    return range.lowerBound
  }
}

/// The end of removals.
extension WidgetStore {
  /// A group frees this many forgotten removals, and as many as it has added. So it frees no
  /// thousands that others have added, and the number of forgotten removals does not grow.
  static let removalsFreedMax = 512

  /// Whether forgotten removals wait for the ends of further groups, which free them.
  public var hasForgottenRemovals: Bool { forgottenCount > 0 }

  /// Forgets the oldest removals, and all removals of their revisions.
  mutating func compact(upTo retained: Revision) {
    var left = removalCount
    while left > 0, case let next = tombstones[tombstones.count - left].revision, next <= retained,
      left > limits.tombstonesLeft || next == compactRevision
    {
      compactRevision = next
      left -= 1
    }
    forgottenCount = tombstones.count - left
  }

  /// Frees forgotten removals, and the keys that they removed.
  mutating func freeRemovals(added: Int) {
    let count = min(forgottenCount, WidgetStore.removalsFreedMax + max(0, added))
    for _ in 0..<count {
      let removal = tombstones.removeFirst()
      guard case .key(let key, let part, let slot, let created) = removal.what else { continue }
      records.purge(key, of: part, in: slot, createdAt: created, removedAt: removal.revision)
    }
    forgottenCount -= count
  }
}

/// Finds the removals that a reader needs.
private struct RemovalSearch {
  let selection: Selection
  // A selector can have many ids.
  let ids: Set<WidgetID>
  let kinds: Set<KindName>
  let held: Revision
  let start: Revision
  /// An id that was removed several times costs one test.
  var seen: Set<WidgetID> = []

  init(_ store: borrowing WidgetStore, _ selector: Selector, held: Revision, start: Revision) {
    selection = store.selection(selector)
    (ids, kinds) = (selector.idSet, Set(selector.kinds))
    (self.held, self.start) = (held, start)
  }

  /// The change for the reader; nil if the reader never held the widget, or the id is selected
  /// again.
  mutating func change(
    _ removal: WidgetStore.Removal, in store: borrowing WidgetStore, spending budget: inout Int
  ) -> WidgetChange? {
    guard case .widget(let tombstone) = removal.what,
      tombstone.createdRevision <= held || removal.revision > start,
      tombstone.mayHaveBeenSelected(by: ids, kinds), seen.insert(tombstone.id).inserted
    else { return nil }
    if let slot = store.slot(of: tombstone.id), let record = store.records[slot],
      selection.picks(record, spending: &budget)
    {
      return nil
    }
    return .removed(tombstone.id, tombstone.transition)
  }
}
