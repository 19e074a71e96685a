import WidgetModel

/// The changes of widgets that wait for their removal, and the changes that end such a wait.
///
/// Each change sets all errors of its widget, and calls can overtake each other. So each widget has
/// at most one change under way, and the last change counts. A change that fails for now is
/// retried.
struct HeldChanges: Sendable {
  /// A change of a widget.
  struct Change: Sendable {
    let patch: WidgetPatch
    /// Whether the change says that the widget waits. It is void when the wait is over.
    let isWaiting: Bool

    /// The change with the present errors of others. A change that says that the widget waits gets
    /// them when it is made.
    fileprivate func keeping(_ rest: [WidgetError]) -> Change {
      guard !isWaiting, let error = patch.error else { return self }
      let own = error?.all.filter { $0.reason == BundleInstance.invalid } ?? []
      var changed = patch
      changed.error = .some(
        WidgetError(joining: Array((own + rest).prefix(BundleInstance.errorsMax))))
      return Change(patch: changed, isWaiting: false)
    }
  }

  private struct State: Sendable {
    /// The change to make next; nil if there is none.
    var next: Change?
    /// The change that has no answer.
    var sent: Change?
    var attempts = 0
    var retryAt: Duration?
  }

  private var states: [WidgetID: State] = [:]
  /// The widgets whose next change can be made now.
  private var ready: Set<WidgetID> = []

  mutating func set(_ change: Change, of id: WidgetID) {
    states[id, default: State()].next = change
    makeReady(id)
  }

  /// The daemon has told a widget. If the end of its wait fails and is retried, the retry keeps the
  /// errors that the widget has now, such as those of its sources and actions.
  mutating func hear(_ widget: Widget) {
    guard let state = states[widget.id] else { return }
    let rest = Holds.rest(of: widget)
    states[widget.id]?.next = state.next?.keeping(rest)
    states[widget.id]?.sent = state.sent?.keeping(rest)
  }

  private mutating func makeReady(_ id: WidgetID) {
    guard let state = states[id], state.next != nil, state.sent == nil, state.retryAt == nil else {
      return
    }
    ready.insert(id)
  }

  /// - Parameter holds: the widgets that wait.
  /// - Returns: the changes to make now, in order.
  mutating func takeReady(_ holds: Holds) -> [(id: WidgetID, patch: WidgetPatch)] {
    var changes: [(id: WidgetID, patch: WidgetPatch)] = []
    for id in ready.sorted(by: WidgetID.inOrder) {
      guard let change = states[id]?.next else { continue }
      guard !change.isWaiting || holds.saysWaiting(id) else {
        states[id] = nil
        continue
      }
      states[id]?.next = nil
      states[id]?.sent = change
      changes.append((id, change.isWaiting ? holds.present(change.patch, of: id) : change.patch))
    }
    ready = []
    return changes
  }

  /// - Returns: whether the daemon has refused the change for good.
  mutating func answered(
    _ result: Result<DaemonAnswer, Failure>, _ id: WidgetID, at uptime: Duration,
    _ limits: HostLimits
  ) -> Bool {
    guard var state = states[id], let sent = state.sent else { return false }
    state.sent = nil
    var isRefused = false
    switch result {
    case .failure(let failure) where failure.isTransient || failure.code == "CANCELLED":
      state.next = state.next ?? sent
      state.attempts += 1
      state.retryAt = uptime + limits.daemonWait(state.attempts)
    case .failure:
      isRefused = true
      state.attempts = 0
    case .success: state.attempts = 0
    }
    states[id] = state.next == nil ? nil : state
    makeReady(id)
    return isRefused
  }

  /// The daemon is back, so the changes that have failed can be made now.
  mutating func retry() {
    for id in states.keys {
      states[id]?.retryAt = nil
      makeReady(id)
    }
  }

  /// Whether a change that ends a wait is to be made, or has no answer. O(changes).
  var isEnding: Bool {
    states.values.contains { $0.next?.isWaiting == false || $0.sent?.isWaiting == false }
  }

  // MARK: Time

  var nextDeadline: Duration? { states.values.compactMap(\.retryAt).min() }

  mutating func tick(at uptime: Duration) {
    for (id, state) in states {
      guard let retryAt = state.retryAt, retryAt <= uptime else { continue }
      states[id]?.retryAt = nil
      makeReady(id)
    }
  }
}
