import WidgetModel

/// An outcome in a widget's status.
struct ToldOutcome: Hashable, Sendable {
  let sequence: UInt64
  let time: Duration
  /// The times of the events with this number that are this event, not one of another epoch.
  let eventTimes: ClosedRange<Timestamp>
  /// The size of the outcome in the status, in bytes.
  let bytes: Int
  /// The last change of the widget in which the event's steps set data; 0 for none.
  let change: UInt64

  init(
    _ sequence: UInt64, _ value: Value?, at time: Duration, eventTimes: ClosedRange<Timestamp>,
    change: UInt64 = 0
  ) {
    self.change = change
    self.eventTimes = eventTimes
    self.sequence = sequence
    self.time = time
    bytes = "\(sequence)".utf8.count + (value?.costBytes ?? 0)
  }
}

/// The outcomes in the widgets' statuses, in the order in which they were written.
struct ToldOutcomes: Sendable {
  private var outcomes: [WidgetID: [ToldOutcome]] = [:]

  subscript(id: WidgetID) -> [ToldOutcome] { outcomes[id] ?? [] }

  mutating func append(_ id: WidgetID, _ outcome: ToldOutcome) {
    outcomes[id, default: []].append(outcome)
  }

  /// Takes over the outcomes that a former host or version has written.
  mutating func inherit(_ id: WidgetID, _ inherited: [ToldOutcome]) {
    outcomes[id] = inherited.isEmpty ? nil : inherited
  }

  /// Forgets the oldest outcomes of a widget.
  mutating func removeFirst(_ id: WidgetID, _ count: Int) {
    inherit(id, Array(self[id].dropFirst(count)))
  }

  mutating func remove(_ id: WidgetID) { outcomes[id] = nil }
}
