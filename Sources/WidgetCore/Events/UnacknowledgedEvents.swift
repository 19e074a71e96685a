import DequeModule
import WidgetModel

/// The events that providers have not acknowledged. Only these events are stored.
///
/// The ring of events is for live readers, and a restart empties it. A provider that is away must
/// still get the events of its widgets, so these are kept until it acknowledges them. They are kept
/// by kind, because a provider has kinds. The limits count all kinds, and the oldest events go
/// first. `Queue.lost` records lost events, so that only the provider gets a gap.
///
/// Invariants: a queue's entries are in order of sequence; `count` and `bytes` are the sums over
/// all queues; there is no queue without entries and losses; `order` has the place of each entry,
/// in order of sequence.
struct UnacknowledgedEvents {
  struct Entry {
    let event: Event
    let costBytes: Int
  }

  struct Queue {
    var entries: Deque<Entry> = []
    /// The range of the numbers of forgotten events.
    var lost: ClosedRange<UInt64>?

    var isEmpty: Bool { entries.isEmpty && lost == nil }

    /// The place of the first entry after a sequence number. O(log entries).
    func index(after sequence: UInt64) -> Int {
      var (low, high) = (0, entries.count)
      while low < high {
        let middle = (low + high) / 2
        if entries[middle].event.sequence > sequence { high = middle } else { low = middle + 1 }
      }
      return low
    }
  }

  /// The removed part of a queue, for undoing.
  struct Removed {
    let entries: [Entry]
    let lost: ClosedRange<UInt64>?
  }

  /// The place of an event.
  struct Place {
    let sequence: UInt64
    let kind: KindName
  }

  private(set) var queues: [KindName: Queue] = [:]
  /// The places of the events of all kinds. The places of removed events stay until `trim`, so that
  /// `undoRemove` finds them.
  private(set) var order: Deque<Place> = []
  private(set) var count = 0
  private(set) var bytes = 0
  /// The size of the events that were added since the last group.
  private(set) var pendingBytes = 0
  /// The number of these events.
  private(set) var pendingCount = 0

  /// The added events are stored.
  mutating func groupEnded() { (pendingBytes, pendingCount) = (0, 0) }

  mutating func append(_ event: Event, of kind: KindName) {
    let entry = Entry(event: event, costBytes: 64 + event.payload.costBytes)
    queues[kind, default: Queue()].entries.append(entry)
    order.append(Place(sequence: event.sequence, kind: kind))
    count += 1
    bytes += entry.costBytes
    pendingBytes += entry.costBytes
    pendingCount += 1
  }

  /// Takes the last event of all back. `kind` is its kind.
  mutating func undoAppend(of kind: KindName) {
    guard let entry = queues[kind]?.entries.popLast() else { return }
    order.removeLast()
    discount(entry)
    pendingBytes -= entry.costBytes
    pendingCount -= 1
    dropIfEmpty(kind)
  }

  /// Removes the events of a kind, and the record of losses, up to a sequence number. Returns nil
  /// if there are none.
  mutating func remove(of kind: KindName, through sequence: UInt64) -> Removed? {
    guard let queue = queues[kind] else { return nil }
    let end = queue.index(after: sequence)
    let forgetsLoss = queue.lost.map { $0.lowerBound <= sequence } ?? false
    guard end > 0 || forgetsLoss else { return nil }
    let removed = Removed(entries: Array(queue.entries.prefix(end)), lost: queue.lost)
    queues[kind]?.entries.removeFirst(end)
    for entry in removed.entries { discount(entry) }
    if forgetsLoss, let lost = queue.lost {
      queues[kind]?.lost =
        lost.upperBound > sequence ? (sequence + 1)...lost.upperBound : nil
    }
    dropIfEmpty(kind)
    return removed
  }

  mutating func undoRemove(of kind: KindName, _ removed: Removed) {
    var queue = queues[kind] ?? Queue()
    queue.entries.prepend(contentsOf: removed.entries)
    queue.lost = removed.lost
    queues[kind] = queue
    count += removed.entries.count
    bytes += removed.entries.reduce(0) { $0 + $1.costBytes }
  }

  /// Takes over the record of losses when a store is opened.
  mutating func note(lost: ClosedRange<UInt64>, of kind: KindName) {
    queues[kind, default: Queue()].lost = lost
  }

  /// Forgets the oldest events beyond the limits. Returns the kinds that lost some. `undoRemove` and
  /// `undoAppend` cannot go back further than to here. O(events forgotten or removed), amortised.
  mutating func trim(countMax: Int, bytesMax: Int) -> Set<KindName> {
    var kinds: Set<KindName> = []
    while count > countMax || bytes > bytesMax, let place = order.popFirst() {
      let (kind, sequence) = (place.kind, place.sequence)
      guard holds(place), let entry = queues[kind]?.entries.popFirst() else { continue }
      discount(entry)
      let first = queues[kind]?.lost?.lowerBound ?? sequence
      queues[kind]?.lost = first...sequence
      kinds.insert(kind)
    }
    // At least half of the places are of removed events, so each removal pays for two places.
    if order.count > 2 * count { order = order.filter { holds($0) } }
    return kinds
  }

  /// Whether the event of a place is still there. Events are removed from the beginning of a queue.
  private func holds(_ place: Place) -> Bool {
    guard let first = queues[place.kind]?.entries.first else { return false }
    return first.event.sequence <= place.sequence
  }

  // MARK: - Reading

  /// An event that is kept. O(log events of the kind).
  func event(_ sequence: UInt64, of kind: KindName) -> Event? {
    guard sequence > 0, let queue = queues[kind] else { return nil }
    let index = queue.index(after: sequence - 1)
    guard index < queue.entries.count, queue.entries[index].event.sequence == sequence else {
      return nil
    }
    return queue.entries[index].event
  }

  /// Events of some kinds in a range of sequence numbers, in order. O(kinds + limit × log limit).
  func events(
    after sequence: UInt64, through end: UInt64, limit: Int, of kinds: Set<KindName>
  ) -> [Event] {
    var events: [Event] = []
    for kind in kinds {
      guard let queue = queues[kind] else { continue }
      let entries = queue.entries[queue.index(after: sequence)...]
      events += entries.prefix(limit).lazy.map(\.event).prefix { $0.sequence <= end }
    }
    return Array(events.sorted { $0.sequence < $1.sequence }.prefix(limit))
  }

  /// The lost events of some kinds in a range of sequence numbers, from the first to the last.
  func lost(
    after sequence: UInt64, through end: UInt64, of kinds: Set<KindName>
  ) -> ClosedRange<UInt64>? {
    var all: ClosedRange<UInt64>?
    for kind in kinds {
      guard let lost = queues[kind]?.lost, lost.upperBound > sequence, lost.lowerBound <= end
      else { continue }
      let first = max(lost.lowerBound, sequence + 1)
      let last = min(lost.upperBound, end)
      all = min(first, all?.lowerBound ?? first)...max(last, all?.upperBound ?? 0)
    }
    return all
  }

  /// The first number for a provider of these kinds: an event, or a loss.
  func first(of kinds: Set<KindName>) -> UInt64? {
    var first: UInt64?
    for kind in kinds {
      guard let queue = queues[kind] else { continue }
      for number in [queue.entries.first?.event.sequence, queue.lost?.lowerBound] {
        if let number { first = min(number, first ?? number) }
      }
    }
    return first
  }

  // MARK: - Bookkeeping

  private mutating func discount(_ entry: Entry) {
    count -= 1
    bytes -= entry.costBytes
  }

  private mutating func dropIfEmpty(_ kind: KindName) {
    if queues[kind]?.isEmpty == true { queues[kind] = nil }
  }
}
