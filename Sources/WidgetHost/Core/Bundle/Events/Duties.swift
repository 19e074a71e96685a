import WidgetBundle
import WidgetModel

/// The duties to the daemon: events to acknowledge, and data requests to answer.
struct Duties: Sendable {
  private struct OpenEvent: Sendable {
    let event: Event
    /// The change of the event's widget that must be settled first; nil while steps of the event
    /// run.
    var change: UInt64?
  }

  /// Whether a session was open before.
  private var wasOpened = false
  private var epoch: UInt64 = 0
  /// The events that are not acknowledged, in order. The daemon limits their number.
  private var events: [OpenEvent] = []
  /// The widgets whose data the daemon has requested.
  private var asked: Set<WidgetID> = []

  /// Begins a session. The daemon sends all data requests again. It also sends open events again,
  /// unless the epoch is another one; then the open events do not count any more.
  ///
  /// - Returns: whether it is the first session.
  mutating func begin(epoch: UInt64) -> Bool {
    defer { wasOpened = true }
    asked = []
    if epoch != self.epoch { events = [] }
    self.epoch = epoch
    return !wasOpened
  }

  /// The widgets whose data the daemon has requested, in order.
  var questions: [WidgetID] { asked.sorted(by: WidgetID.inOrder) }

  /// - Returns: whether the data request is new.
  mutating func ask(about id: WidgetID) -> Bool { asked.insert(id).inserted }

  mutating func forgetQuestion(about id: WidgetID) { asked.remove(id) }

  /// - Returns: whether the event is new.
  mutating func open(_ event: Event) -> Bool {
    guard !events.contains(where: { $0.event.sequence == event.sequence }) else { return false }
    events.append(OpenEvent(event: event))
    return true
  }

  /// The number of unacknowledged events.
  var eventCount: Int { events.count }

  /// With more open events than this, events whose steps only wait are acknowledged. The daemon
  /// sends at most 64 events without an acknowledgement, and other events must not wait for a slow
  /// action.
  static let eventsHeldMax = 32

  /// The last event that can be acknowledged together with all before it; nil if there is none.
  ///
  /// - Parameters:
  ///   - isWorkedOn: whether steps of the event still run or wait.
  ///   - widgets: the existing widgets.
  mutating func dealtWith(
    isWorkedOn: (Event) -> Bool, _ widgets: WidgetTable
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
  /// Acknowledges an event when the changes of its widget are stored and its runs have ended. A run
  /// that has begun something that must not happen twice counts as ended.
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
      open = queues.events.union(runs.repeatableEvents)
    }
    open.formUnion(requests.fetchingEvents)
    // Acknowledge no event before its outcome is written, so no later event is acknowledged either.
    open.formUnion(outcomes.ended)
    return open
  }

  mutating func asked(about id: WidgetID, isRefresh: Bool) {
    // The host reads the sources of an open data request already.
    guard duties.ask(about: id), isRefresh, let facts = facts(of: id) else { return }
    for index in facts.kind.sources.indices {
      read(id, index, isAsked: true, isDemanded: true)
    }
  }

  /// Answers for widgets that were asked about, once nothing is being read for them.
  mutating func answerQuestions() {
    for id in duties.questions {
      // An answer would make a widget fresh that waits for its removal.
      guard let state = widgets[id], !waiting.contains(id), !isReading(id) else { continue }
      duties.forgetQuestion(about: id)
      // An answer clears the fields that it leaves out.
      let patch = WidgetPatch(
        isStale: isStale(id) ? true : nil, error: state.view.error.map { .some($0) })
      // An answer also ends the staleness that others have set.
      standing.set(id, wasStale: false)
      effects.append(.answer(.unanswered(generation), id, patch))
    }
  }

  /// Whether a reading is under way that will end.
  private func isReading(_ id: WidgetID) -> Bool {
    sources[id].contains { source in
      guard let request = source.request else { return source.isQueued }
      if case .source = requests[request] { return true }
      return false
    }
  }
}
