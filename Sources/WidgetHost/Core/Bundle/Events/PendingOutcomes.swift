import WidgetBundle
import WidgetModel

/// An event without an outcome yet.
struct PendingOutcome: Sendable {
  let widgetID: WidgetID
  /// The time of the event.
  let time: Timestamp
  /// The first failure of the runs that the event started.
  fileprivate(set) var failure: ActionStatus?
  /// The message of the last action that succeeded.
  fileprivate(set) var message = ""
  /// Whether the status lists the event as pending.
  fileprivate(set) var isListed = false
  /// The last change of the widget in which the event's steps set data; 0 for none.
  fileprivate(set) var change: UInt64 = 0
  /// Whether all runs have ended, but the status has no room for the outcome yet.
  fileprivate(set) var hasEnded = false
}

/// A reading whose end belongs to the outcome of an event.
struct AwaitedReading: Hashable, Sendable {
  let sequence: UInt64
  let widgetID: WidgetID
  let source: Int
  /// The uptime at which the step asked for it.
  let asked: Duration
}

/// The events whose sender waits and that have no outcome yet, by their numbers.
///
/// A call for an event whose sender does not wait changes nothing.
struct PendingOutcomes: Sendable {
  private var outcomes: [UInt64: PendingOutcome] = [:]
  /// Readings that steps of such events have asked for.
  private(set) var readings: [AwaitedReading] = []

  var isEmpty: Bool { outcomes.isEmpty }

  func isAwaited(_ sequence: UInt64) -> Bool { outcomes[sequence] != nil }

  /// All events, in the order of their numbers.
  var all: [(sequence: UInt64, outcome: PendingOutcome)] {
    outcomes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The events whose runs have all ended.
  var ended: [UInt64] { outcomes.filter { $0.value.hasEnded }.map(\.key) }

  mutating func begin(_ event: Event) {
    outcomes[event.sequence] = PendingOutcome(widgetID: event.widgetID, time: event.time)
  }

  mutating func end(_ sequence: UInt64) { outcomes[sequence] = nil }

  /// A run of the event has failed. The first failure counts, and before it the first cancellation.
  mutating func failed(_ sequence: UInt64, _ failure: ActionStatus) {
    guard let outcome = outcomes[sequence],
      outcome.failure.map({ $0.state == .cancelled && failure.state != .cancelled }) ?? true
    else { return }
    outcomes[sequence]?.failure = failure
  }

  mutating func set(_ sequence: UInt64, message: String) { outcomes[sequence]?.message = message }

  mutating func set(_ sequence: UInt64, change: UInt64) { outcomes[sequence]?.change = change }

  /// All runs of the event have ended.
  mutating func runsEnded(_ sequence: UInt64) { outcomes[sequence]?.hasEnded = true }

  /// The status lists the event as pending.
  mutating func listed(_ sequence: UInt64) { outcomes[sequence]?.isListed = true }

  // MARK: Readings

  /// Lets the outcome wait for a reading, unless it waits for `max` readings.
  mutating func wait(for reading: AwaitedReading, max: Int) {
    guard !readings.contains(reading), readings.count < max else { return }
    readings.append(reading)
  }

  mutating func end(_ over: [AwaitedReading]) { readings.removeAll { over.contains($0) } }
}
