import WidgetBundle
import WidgetModel

/// The part of a widget that has failed.
enum FailureKey: Hashable, Sendable {
  case source(Int)
  /// An action, by its name.
  case action(String)
  /// A form that has refused its values, by its action and its node.
  case form(action: String, node: String)
  /// Steps without a name, by their trigger.
  case trigger(Int)
  /// Work was dropped because too much happened.
  case dropped
  /// The schedule, or the timeline. The daemon computes it, and clients mark the widget.
  case timeline
  /// An expression of the content. The daemon evaluates it, and clients mark the widget.
  case content
  /// A reducer, by the message of its error. The daemon runs it and marks the widget.
  case reducer(String)
  /// The daemon refuses changes of the widget for now. Clients mark all widgets of such a daemon.
  case changes
}

extension FailureKey {
  /// Whether clients mark the widget without an error of the host.
  var isMarkedByClients: Bool {
    switch self {
    case .timeline, .content, .reducer, .changes: true
    case .source, .action, .form, .trigger, .dropped: false
    }
  }

  /// Whether it is the refusal of a form.
  var isForm: Bool { if case .form = self { true } else { false } }
}

/// Something that has failed, and has not succeeded since.
struct StandingFailure: Hashable, Sendable {
  var status: ActionStatus
  /// The sources and actions whose status can show the failure.
  var names: Set<String>
  /// Whether the bundle handles the failure.
  var isCaught: Bool
  /// Whether a client has cleared the error of the widget. The failure no longer counts until it
  /// happens again.
  var isCleared = false
  /// The uptime at which it began. It is negative for a failure that is older than the host.
  var begun = Duration.zero
  var since: Timestamp { status.since ?? .epoch }
}

/// The failures of a bundle's widgets, and the marks that show them on the widgets.
///
/// A call for a widget that was removed changes nothing.
struct StandingFailures: Sendable {
  private struct State: Sendable {
    var failures: [FailureKey: StandingFailure] = [:]
    var working: Set<FailureKey> = []
    var mark: WidgetError?
    var isMarkRefused = false
    var isMarkedStale = false
    var isStaleByProblem = false
    var wasStale = false
  }

  private var states: [WidgetID: State] = [:]
  /// The failures of the former version in this process, by their status. Only they have the uptime
  /// at which they began.
  private var former: [WidgetID: [String: StandingFailure]] = [:]
  /// Changes whenever failures have changed.
  private(set) var version: UInt64 = 0

  /// The sources, actions and steps of a widget that have failed and not succeeded since.
  subscript(id: WidgetID) -> [FailureKey: StandingFailure] { states[id]?.failures ?? [:] }

  subscript(id: WidgetID, key: FailureKey) -> StandingFailure? { states[id]?.failures[key] }

  mutating func add(_ id: WidgetID) { states[id] = State() }

  mutating func remove(_ id: WidgetID) {
    if states.removeValue(forKey: id)?.failures.isEmpty == false { version += 1 }
  }

  mutating func set(_ id: WidgetID, _ key: FailureKey, _ failure: StandingFailure) {
    guard states[id] != nil else { return }
    states[id]?.failures[key] = failure
    version += 1
  }

  /// A client has cleared the error that showed this failure.
  mutating func clear(_ id: WidgetID, _ key: FailureKey) {
    guard states[id]?.failures[key]?.isCleared == false else { return }
    states[id]?.failures[key]?.isCleared = true
    version += 1
  }

  /// - Returns: whether there was such a failure.
  mutating func forget(_ id: WidgetID, _ key: FailureKey) -> Bool {
    guard states[id]?.failures.removeValue(forKey: key) != nil else { return false }
    version += 1
    return true
  }

  /// Notes that a part works. Its failure stays until `forget`.
  ///
  /// - Returns: whether it is the first success since this version was loaded.
  mutating func works(_ id: WidgetID, _ key: FailureKey) -> Bool {
    states[id]?.working.insert(key).inserted ?? true
  }

  // MARK: The former version

  mutating func set(former: [WidgetID: [String: StandingFailure]]) { self.former = former }

  /// Forgets the failures of the former version of a widget.
  mutating func takeFormer(_ id: WidgetID) -> [String: StandingFailure] {
    former.removeValue(forKey: id) ?? [:]
  }

  // MARK: Marks

  /// The error that the bundle set on the widget last.
  func mark(of id: WidgetID) -> WidgetError? { states[id]?.mark }

  mutating func set(_ id: WidgetID, mark: WidgetError?) {
    states[id]?.mark = mark
    states[id]?.isMarkRefused = false
  }

  /// Whether the daemon has refused the mark for good. Then the bundle waits for news of the widget
  /// before it sets the mark again.
  func isMarkRefused(_ id: WidgetID) -> Bool { states[id]?.isMarkRefused ?? false }

  mutating func set(_ id: WidgetID, isMarkRefused: Bool) {
    states[id]?.isMarkRefused = isMarkRefused
  }

  /// Whether the bundle has marked the widget as stale.
  func isMarkedStale(_ id: WidgetID) -> Bool { states[id]?.isMarkedStale ?? false }

  mutating func set(_ id: WidgetID, isMarkedStale: Bool) {
    states[id]?.isMarkedStale = isMarkedStale
  }

  /// Whether `Marks`, or an earlier host, has made the widget stale because of a problem of a bundle.
  func isStaleByProblem(_ id: WidgetID) -> Bool { states[id]?.isStaleByProblem ?? false }

  mutating func set(_ id: WidgetID, isStaleByProblem: Bool) {
    states[id]?.isStaleByProblem = isStaleByProblem
  }

  /// Whether somebody else had made the widget stale before the folder of a bundle went missing.
  /// Then the return of the folder does not make it fresh.
  func wasStale(_ id: WidgetID) -> Bool { states[id]?.wasStale ?? false }

  mutating func set(_ id: WidgetID, wasStale: Bool) { states[id]?.wasStale = wasStale }
}
