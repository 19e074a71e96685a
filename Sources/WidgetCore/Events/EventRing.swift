import DequeModule
public import WidgetModel

/// The latest events, bounded in number and bytes, for late readers.
///
/// Invariants: sequence numbers in the ring are consecutive and end at `lastSequence`.
struct EventRing {
  struct Entry {
    let event: Event
    /// The properties for selectors, as of the event's acceptance.
    let kind: KindName
    let family: Family
    let labels: Labels
    let costBytes: Int
  }

  private(set) var entries: Deque<Entry> = []
  private(set) var bytes = 0
  /// The last event's sequence number, kept or not.
  private(set) var lastSequence: UInt64

  init(lastSequence: UInt64) { self.lastSequence = lastSequence }

  mutating func append(_ event: Event, kind: KindName, family: Family, labels: Labels) {
    let cost = 64 + event.payload.costBytes + labels.costBytes
    lastSequence = event.sequence
    entries.append(
      Entry(event: event, kind: kind, family: family, labels: labels, costBytes: cost))
    bytes += cost
  }

  /// Removes the last event, because its command is undone.
  mutating func undoAppend() {
    guard let entry = entries.popLast() else { return }
    bytes -= entry.costBytes
    lastSequence = entry.event.sequence - 1
  }

  mutating func trim(countMax: Int, bytesMax: Int) {
    while entries.count > countMax || bytes > bytesMax, let entry = entries.popFirst() {
      bytes -= entry.costBytes
    }
  }

  /// The sequence number before the oldest event that is kept.
  var sequenceBeforeOldest: UInt64 { lastSequence - UInt64(entries.count) }

  /// At most `limit` selected events after a sequence number. O(events looked at).
  func page(
    after cursor: UInt64, limit: Int, while mayLook: () -> Bool = { true },
    where isSelected: (Entry) -> Bool
  ) -> EventPage {
    var page = EventPage(cursor: min(cursor, lastSequence))
    if page.cursor < sequenceBeforeOldest {
      page.gap = (page.cursor + 1)...sequenceBeforeOldest
      page.cursor = sequenceBeforeOldest
    }
    var index = Int(page.cursor - sequenceBeforeOldest)
    while index < entries.count, page.events.count < limit, mayLook() {
      if isSelected(entries[index]) { page.events.append(entries[index].event) }
      page.cursor = entries[index].event.sequence
      index += 1
    }
    return page
  }
}

/// A range of the stream of events.
public struct EventPage: Hashable, Sendable {
  /// The range of sequence numbers that are no longer kept. All events come after it.
  public var gap: ClosedRange<UInt64>?
  /// In order of sequence.
  public var events: [Event] = []
  /// The last sequence number that was examined.
  public var cursor: UInt64

  init(cursor: UInt64) { self.cursor = cursor }
}
