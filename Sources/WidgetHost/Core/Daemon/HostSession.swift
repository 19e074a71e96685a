import WidgetModel

/// The host's session as the provider of `widgetd-host` and `bundle`. Bundles run only while it is
/// open, because a daemon has one host.
struct HostSession: Sendable {
  private(set) var session: SessionID?
  /// The number of times that the session has ended since it was last open.
  private(set) var attempts = 0
  private var retryAt: Duration?
  /// The call that waits until the daemon has the host's kinds.
  private var ready: CallID?
  private(set) var hasBeenOpen = false
  /// Whether another host had the session at the last attempt.
  private(set) var isTaken = false
  /// Whether the session is open, so no other host shows the state of bundles.
  private(set) var isHolding = false
  /// Whether the host has also taken over or removed the widgets of an earlier host.
  private(set) var isServing = false
  /// Whether another host has taken this host's session, so that the bundles wait.
  private(set) var isOusted = false
  /// Kinds and widgets of the host that somebody removed.
  private var restoration = Restoration()
  private var restoreAt: Duration?

  mutating func connect(_ session: SessionID) { self.session = session }

  /// The daemon has opened the session. `call` waits until it has the kinds.
  mutating func opened(waitingFor call: CallID) {
    hasBeenOpen = true
    isTaken = false
    attempts = 0
    ready = call
  }

  /// The call that waits for the kinds is answered.
  mutating func readyAnswered() { ready = nil }

  /// The daemon has the kinds.
  mutating func hold() {
    isHolding = true
    isOusted = false
  }

  /// The bundles may run.
  mutating func serve() { isServing = true }

  /// Another host may get the session before this one.
  ///
  /// - Returns: the call to cancel.
  mutating func loseHold() -> CallID? {
    isHolding = false
    isServing = false
    defer { ready = nil }
    return ready
  }

  /// The session is being closed, or has ended.
  ///
  /// - Returns: the session.
  @discardableResult
  mutating func leave() -> SessionID? {
    defer { session = nil }
    return session
  }

  /// The daemon has ended the session.
  ///
  /// - Parameter isTaken: because another host has it.
  mutating func ended(isTaken: Bool) {
    attempts += 1
    self.isTaken = isTaken
    if isTaken, hasBeenOpen { isOusted = true }
  }

  mutating func retry(at deadline: Duration) { retryAt = deadline }

  // MARK: Restoring

  /// Somebody has removed kinds or widgets of the host. They are declared again after a wait.
  mutating func lost(
    _ ids: Set<WidgetID>, kinds: Set<KindName>, at uptime: Duration, _ limits: HostLimits
  ) {
    guard !ids.isEmpty || !kinds.isEmpty else { return }
    restoration.lost(ids, kinds: kinds, at: uptime, limits)
    if restoreAt == nil { restoreAt = uptime + restoration.wait(limits) }
  }

  // MARK: Time

  var nextDeadline: Duration? { [retryAt, restoreAt].compactMap(\.self).min() }

  /// - Returns: whether to connect again now.
  mutating func takeRetry(at uptime: Duration) -> Bool {
    guard let retryAt, retryAt <= uptime else { return false }
    self.retryAt = nil
    return true
  }

  /// - Returns: the widgets and kinds to declare again now; nil if there are none.
  mutating func takeRestoration(
    at uptime: Duration
  ) -> (ids: [WidgetID], kinds: [KindName])? {
    guard let restoreAt, restoreAt <= uptime else { return nil }
    self.restoreAt = nil
    return restoration.begin(at: uptime)
  }
}
