import WidgetBundle
import WidgetModel

/// The duties to the daemon: events to acknowledge, and data requests to answer.
struct Duties: Sendable {
  private struct OpenEvent: Sendable {
    let event: Event
    /// The change of its widget that has to be settled first; nil as long as the event is worked on.
    var change: UInt64?
  }

  private var epoch: UInt64 = 0
  /// In the order in which they came. As many as the daemon sends without an acknowledgement.
  private var events: [OpenEvent] = []
  var asked: Set<WidgetID> = []

  /// Everything that was asked before is asked again. Events that are open come again too, unless they
  /// are of another epoch: then they do not matter any more.
  mutating func begin(epoch: UInt64) {
    asked = []
    guard epoch != self.epoch else { return }
    self.epoch = epoch
    events = []
  }

  /// - Returns: whether the event is new.
  mutating func open(_ event: Event) -> Bool {
    guard !events.contains(where: { $0.event.sequence == event.sequence }) else { return false }
    events.append(OpenEvent(event: event))
    return true
  }

  /// How many events are not acknowledged.
  var eventCount: Int { events.count }

  /// With more than that, an event that only waits its turn need not come again: the daemon sends 64 and
  /// then no more, and those that are about something else are not to wait for a slow action.
  static let eventsHeldMax = 32

  /// The last event, if any, that is dealt with together with all before it.
  ///
  /// - Parameters:
  ///   - isWorkedOn: whether something is yet to be done about the event.
  ///   - widgets: those that there are.
  mutating func dealtWith(
    isWorkedOn: (Event) -> Bool, _ widgets: [WidgetID: WidgetState]
  ) -> Event? {
    for index in events.indices where events[index].change == nil {
      let event = events[index].event
      guard !isWorkedOn(event) else { continue }
      events[index].change = widgets[event.widgetID]?.newestChange ?? 0
    }
    var last: Event?
    while let first = events.first, let change = first.change,
      widgets[first.event.widgetID]?.settledCount ?? .max >= change
    {
      last = first.event
      events.removeFirst()
    }
    return last
  }
}

extension BundleInstance {
  /// Acknowledges events: when all that follows from them has ended, or has begun what should not be
  /// done twice, and the changes that were made of their widgets are stored.
  mutating func acknowledgeEvents() {
    guard duties.eventCount > 0 else { return }
    let open = workedOn()
    if let last = duties.dealtWith(isWorkedOn: { open.contains($0.sequence) }, widgets) {
      effects.append(.acknowledge(.unanswered(generation), last))
    }
  }

  /// The events that must come again if the host is interrupted now.
  func workedOn() -> Set<UInt64> {
    var open: Set<UInt64> = []
    if duties.eventCount <= Duties.eventsHeldMax {
      open = Set(runs.values.filter { !$0.hasActed }.compactMap(\.event?.sequence))
      for queue in queues.values { open.formUnion(queue.compactMap(\.event?.sequence)) }
      open.formUnion(throttled.values.map(\.sequence))
    }
    for case .event(let event) in purposes.values { open.insert(event.sequence) }
    // Acknowledge no event before its outcome is written, so no later event is acknowledged either.
    for (sequence, outcome) in outcomes where outcome.hasEnded { open.insert(sequence) }
    return open
  }

  mutating func asked(about id: WidgetID, isRefresh: Bool) {
    // The host reads the sources of an open data request already.
    guard duties.asked.insert(id).inserted, isRefresh, let facts = facts(of: id) else { return }
    for index in facts.kind.sources.indices { read(id, index, isAsked: true) }
  }

  /// Answers for widgets that were asked about, once nothing is being read for them.
  mutating func answerQuestions() {
    for id in duties.asked.sorted(by: WidgetID.inOrder) {
      guard let state = widgets[id], !isReading(id) else { continue }
      duties.asked.remove(id)
      // An answer clears what it does not say.
      let patch = WidgetPatch(
        isStale: isStale(id) ? true : nil, error: state.view.error.map { .some($0) })
      effects.append(.answer(.unanswered(generation), id, patch))
    }
  }

  /// Whether a source is being read that has an end.
  private func isReading(_ id: WidgetID) -> Bool {
    guard let sources = widgets[id]?.sources else { return false }
    return sources.contains { source in
      guard let request = source.request else { return source.isQueued }
      if case .source = purposes[request] { return true }
      return false
    }
  }
}
