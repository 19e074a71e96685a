import WidgetModel

/// An outcome in a widget's status.
struct ToldOutcome: Hashable, Sendable {
  let sequence: UInt64
  let time: Duration
  fileprivate(set) var origin: Origin
  /// The size of the outcome in the status, in bytes.
  let bytes: Int
  /// The last change of the widget in which the event's steps set data; 0 for none.
  let change: UInt64

  /// Which event with the number the outcome belongs to. In another epoch, the numbers begin again.
  enum Origin: Hashable, Sendable {
    /// The event of this time, which this version has handled.
    case event(at: Timestamp)
    /// An event that a former host or version has handled. The daemon accepted the event before
    /// this revision, in which the widget already had the outcome. Revisions do not follow the
    /// clock.
    case accepted(before: Revision)
  }

  init(
    _ sequence: UInt64, _ value: Value?, at time: Duration, of origin: Origin, change: UInt64 = 0
  ) {
    self.change = change
    self.origin = origin
    self.sequence = sequence
    self.time = time
    bytes = "\(sequence)".utf8.count + (value?.costBytes ?? 0)
  }

  /// Whether this is the outcome of the event, not of one with the same number in another epoch.
  func isOutcome(of event: Event) -> Bool {
    guard sequence == event.sequence else { return false }
    return switch origin {
    case .event(let time): event.time == time
    case .accepted(let revision): event.revision < revision
    }
  }
}

/// The outcomes in the widgets' statuses, in the order in which they were written.
struct ToldOutcomes: Sendable {
  private var outcomes: [WidgetID: [ToldOutcome]] = [:]
  private var epoch: UInt64?

  subscript(id: WidgetID) -> [ToldOutcome] { outcomes[id] ?? [] }

  mutating func append(_ id: WidgetID, _ outcome: ToldOutcome) {
    outcomes[id, default: []].append(outcome)
  }

  /// A session is open. Revisions compare only within an epoch, so in another epoch no event
  /// belongs to an outcome of a former host or version.
  mutating func begin(epoch: UInt64) {
    defer { self.epoch = epoch }
    guard let known = self.epoch, known != epoch else { return }
    for (id, told) in outcomes {
      outcomes[id] = told.map { outcome in
        guard case .accepted = outcome.origin else { return outcome }
        var outcome = outcome
        outcome.origin = .accepted(before: 0)
        return outcome
      }
    }
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
