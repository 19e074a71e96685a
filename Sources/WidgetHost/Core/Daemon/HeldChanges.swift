import WidgetModel

/// The changes of widgets that wait for their removal, and the changes that end such a wait.
///
/// Each change sets all errors of its widget, and calls can overtake each other. So the widget is
/// read before each change, and the daemon makes the change only if the widget has not changed
/// since. Each widget has at most one call under way, and the last change counts. If a change fails
/// with a passing error, it is retried.
struct HeldChanges: Sendable {
  /// A change of a widget.
  struct Change: Sendable {
    let patch: WidgetPatch
    /// Whether the change says that the widget waits. It is void when the wait is over.
    let isWaiting: Bool

    /// The change with the present errors of others.
    fileprivate func keeping(_ rest: [WidgetError]) -> WidgetPatch {
      guard let error = patch.error else { return patch }
      let own = error?.all.filter { $0.reason == BundleInstance.invalid } ?? []
      var changed = patch
      changed.error = .some(
        WidgetError(joining: Array((own + rest).prefix(BundleInstance.errorsMax))))
      return changed
    }
  }

  private struct State: Sendable {
    /// The change to make next; nil if there is none.
    var next: Change?
    /// Whether the widget is being read for the next change.
    var isReading = false
    /// The change that has no answer.
    var sent: Change?
    var attempts = 0
    /// The changes in a row before which the widget has changed.
    var outdatedAttempts = 0
    var retryAt: Duration?
  }

  private var states: [WidgetID: State] = [:]
  /// The widgets that can be read now for their next change.
  private var ready: Set<WidgetID> = []

  mutating func set(_ change: Change, of id: WidgetID) {
    states[id, default: State()].next = change
    makeReady(id)
  }

  private mutating func makeReady(_ id: WidgetID) {
    guard let state = states[id], state.next != nil, !state.isReading, state.sent == nil,
      state.retryAt == nil
    else { return }
    ready.insert(id)
  }

  /// - Parameter holds: the widgets that wait.
  /// - Returns: the widgets to read now, in order.
  mutating func takeReady(_ holds: Holds) -> [WidgetID] {
    var ids: [WidgetID] = []
    for id in ready.sorted(by: WidgetID.inOrder) {
      guard let change = states[id]?.next else { continue }
      guard !change.isWaiting || holds.saysWaiting(id) else {
        states[id] = nil
        continue
      }
      states[id]?.isReading = true
      ids.append(id)
    }
    ready = []
    return ids
  }

  /// A widget is read.
  ///
  /// - Parameter canChange: whether the host may change widgets now. If not, the widget is read
  ///   again.
  /// - Returns: the change to make now; nil if there is none.
  mutating func read(
    _ listed: ListedWidget, _ holds: Holds, canChange: Bool
  ) -> (patch: WidgetPatch, etag: String)? {
    let id = listed.widget.id
    guard let change = states[id]?.next, states[id]?.isReading == true else { return nil }
    states[id]?.isReading = false
    guard !change.isWaiting || holds.saysWaiting(id) else {
      states[id] = nil
      return nil
    }
    guard canChange else {
      makeReady(id)
      return nil
    }
    states[id]?.next = nil
    states[id]?.sent = change
    return (change.keeping(Holds.rest(of: listed.widget)), listed.etag)
  }

  /// The daemon has answered a change, or has not read a widget.
  ///
  /// - Returns: whether the daemon has refused the change for good.
  mutating func answered(
    _ result: Result<DaemonAnswer, Failure>, _ id: WidgetID, at uptime: Duration,
    _ limits: HostLimits
  ) -> Bool {
    guard var state = states[id], state.isReading || state.sent != nil else { return false }
    let pending = state.next ?? state.sent
    let wasReading = state.isReading
    (state.isReading, state.sent) = (false, nil)
    var isRefused = false
    switch result {
    case .failure(let failure) where failure.isETagMismatch:
      state.next = pending
      state.outdatedAttempts += 1
      state.retryAt = uptime + limits.outdatedWait(state.outdatedAttempts)
    case .failure(let failure) where failure.isTransient || failure.code == "CANCELLED":
      state.next = pending
      state.attempts += 1
      state.retryAt = uptime + limits.daemonWait(state.attempts)
    case .failure(let failure) where wasReading && failure.code != "NOT_FOUND":
      // The daemon has not refused the change.
      state.attempts += 1
      state.retryAt = uptime + limits.daemonWait(state.attempts)
    case .failure:
      isRefused = true
      (state.attempts, state.outdatedAttempts) = (0, 0)
      // Nobody can change a widget that is gone.
      if wasReading { state.next = nil }
    case .success:
      (state.attempts, state.outdatedAttempts) = (0, 0)
      if wasReading { state.next = nil }
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
