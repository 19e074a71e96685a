import WidgetModel

/// The reasons for which the bundle waits for a time.
enum TimerKey: Hashable, Sendable {
  case source(WidgetID, Int)
  case trigger(WidgetID, Int)
  case throttle(ThrottleKey)
  case delay(UInt64)
  /// Retry a change of this widget.
  case release(WidgetID)
  /// No event was dropped for some time, so the mark can go.
  case dropped(WidgetID)
  /// The delay of a stub is over.
  case stub(RequestID)
  /// The oldest outcome has stayed for `outcomeHeldFor`.
  case outcomes(WidgetID)
  /// A source has failed for so long that its widget is stale.
  case stale(WidgetID, Int)
  /// A program or connection that began after a failure has given no result for so long that it
  /// counts as working.
  case quiet(WidgetID, Int)
  /// The bundle may compute again, so the conditions of the widget's sources are checked.
  case look(WidgetID)

  /// The widget whose removal cancels the timer.
  fileprivate var widgetID: WidgetID? {
    switch self {
    case .source(let id, _), .trigger(let id, _), .release(let id), .stale(let id, _),
      .dropped(let id), .outcomes(let id), .quiet(let id, _), .look(let id):
      id
    case .throttle(let key): key.widgetID
    case .delay, .stub: nil
    }
  }

  /// A second key for the order, so that the same input always gives the same output.
  fileprivate var order: String { "\(self)" }
}

/// The timers of a bundle, at most one for each reason. Times are uptimes.
struct Timers: Sendable {
  private var deadlines: [TimerKey: Duration] = [:]

  /// The earliest deadline.
  var next: Duration? { deadlines.values.min() }

  subscript(key: TimerKey) -> Duration? { deadlines[key] }

  /// Sets a timer, instead of the former one for the same reason.
  mutating func set(_ key: TimerKey, at deadline: Duration) { deadlines[key] = deadline }

  /// - Returns: whether the timer was set.
  @discardableResult
  mutating func cancel(_ key: TimerKey) -> Bool { deadlines.removeValue(forKey: key) != nil }

  mutating func cancelAll(of id: WidgetID) {
    deadlines = deadlines.filter { $0.key.widgetID != id }
  }

  mutating func cancelAll() { deadlines = [:] }

  /// The timers whose time has come, in order. Each ends with `end`.
  func due(at now: Duration) -> [TimerKey] {
    deadlines.filter { $0.value <= now }
      .sorted { ($0.value, $0.key.order) < ($1.value, $1.key.order) }.map(\.key)
  }

  /// Ends a timer whose time has come.
  ///
  /// - Returns: false if a timer that ended before has cancelled this one, or set it to a later
  ///   time.
  mutating func end(_ key: TimerKey, at now: Duration) -> Bool {
    guard let deadline = deadlines[key], deadline <= now else { return false }
    deadlines[key] = nil
    return true
  }
}
