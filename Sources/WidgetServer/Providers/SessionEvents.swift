import NIOCore
import WidgetCore
import WidgetModel

/// The progress of one session in the events of its widgets.
///
/// Events are not queued for a session. They are read from the store's ring when there is room for
/// them. Sent events and gaps take room until the provider acknowledges them.
///
/// Invariant: `unacknowledged` is in order of sequence numbers, and ends at or before `cursor`.
struct SessionEvents {
  /// The session has looked at everything up to this event.
  private(set) var cursor: UInt64 = 0
  /// The provider has handled all events up to this one.
  private var acknowledged: UInt64 = 0
  private var unacknowledged = CircularBuffer<Sent>()
  /// The events up to this one were sent before the result of a change that had no room on the disk.
  private var sentBeforeRefusal: UInt64?
  /// What such changes would have set, and later changes have not.
  private var missing = ChangeParts()

  /// An event that was sent, or a gap.
  private struct Sent {
    let first: UInt64
    let last: UInt64
    /// nil for a gap.
    let widgetID: WidgetID?
  }

  /// Events up to this one may be acknowledged.
  var sentThrough: UInt64 { max(acknowledged, cursor) }

  /// The event after which another session of this provider begins.
  var resumePoint: UInt64 { unacknowledged.first.map { $0.first - 1 } ?? sentThrough }

  /// Begins after an event. Nothing has been sent yet.
  mutating func begin(after sequence: UInt64) {
    acknowledged = sequence
    cursor = sequence
  }

  /// Moves the beginning back to `limit`, because the group of the events after it was rolled back.
  mutating func begin(atMost limit: UInt64) { begin(after: min(acknowledged, limit)) }

  /// Skips events of other providers up to a sequence number.
  mutating func skip(to sequence: UInt64) { cursor = max(cursor, sequence) }

  /// The number of events that can be sent now.
  func room(of capacity: Int) -> Int { max(0, capacity - unacknowledged.count) }

  /// The gap takes room like an event. Events after it are read again.
  mutating func sent(_ gap: ClosedRange<UInt64>) {
    cursor = gap.upperBound
    unacknowledged.append(Sent(first: gap.lowerBound, last: gap.upperBound, widgetID: nil))
  }

  mutating func sent(_ page: EventPage) {
    cursor = page.cursor
    for event in page.events {
      unacknowledged.append(
        Sent(first: event.sequence, last: event.sequence, widgetID: event.widgetID))
    }
  }

  /// Whether changes had no room on the disk, and later changes have not set all parts of them.
  var lacksChanges: Bool { sentBeforeRefusal != nil }

  /// Changes of the session had no room on the disk, and their results are sent now.
  mutating func changesWereRefused(_ parts: ChangeParts) {
    sentBeforeRefusal = sentThrough
    missing.formUnion(parts)
  }

  /// Changes of the session were stored.
  mutating func changesWereStored(_ parts: ChangeParts) {
    guard lacksChanges, !parts.isEmpty else { return }
    missing.subtract(parts)
    if missing.isEmpty { sentBeforeRefusal = nil }
  }

  /// Whether the store may forget the events up to this one. If the provider has not read yet that a
  /// change was refused, it may acknowledge the event of this change. It has read the result if it
  /// acknowledges an event that was sent after the result.
  ///
  /// - Parameter parts: What changes of this turn set.
  func mayForget(through sequence: UInt64, storing parts: ChangeParts = ChangeParts()) -> Bool {
    guard let sentBeforeRefusal else { return true }
    return sequence > sentBeforeRefusal || missing.isCovered(by: parts)
  }

  /// The widget of an event that was sent and not acknowledged.
  func widget(ofEvent sequence: UInt64) -> WidgetID? {
    unacknowledged.first { $0.last == sequence }?.widgetID
  }

  mutating func acknowledge(through sequence: UInt64) {
    while let first = unacknowledged.first, first.last <= sequence { unacknowledged.removeFirst() }
    acknowledged = max(acknowledged, sequence)
    if let last = sentBeforeRefusal, sequence > last {
      (sentBeforeRefusal, missing) = (nil, ChangeParts())
    }
  }
}
