import WidgetClient
import WidgetModel

// The host's own session, and the widgets that show the state of the host and its bundles.
extension DaemonConversation {
  // MARK: The session

  /// Whether another host had the daemon at the last attempt.
  var isTaken: Bool { host.isTaken }

  /// Begins the conversation.
  mutating func start() {
    guard host.session == nil, !isStopped else { return }
    connectHost()
  }

  private mutating func connectHost() {
    let kinds = [HostState.kind, HostWidget.kind].compactMap(\.self)
    host.connect(
      exchange.open(
        SessionRequest(
          provider: HostState.provider, kinds: kinds, takesOver: false, includesAudience: false),
        for: .host))
  }

  mutating func heard(_ news: SessionNews, _ session: SessionID, at now: HostTime) {
    guard !isStopped else { return }
    switch news {
    case .opened:
      put(.release)
      if host.hasBeenOpen { put(.note("the daemon is back")) }
      loseHold()
      host.opened(waitingFor: call(.ready(session), for: .hostReady))
    case .lost(let words), .refused(let words):
      put(.release)
      report(
        host.hasBeenOpen
          ? "lost the daemon; reconnecting: \(words)" : "waiting for the daemon: \(words)")
      // Another host may get the session before this one.
      loseHold()
    // The data of the host's widgets is always fresh, so the answer is an empty patch.
    case .asked(let id, let isRefresh):
      if isRefresh {
        retry(id.rawValue.hasPrefix("bundle/") ? String(id.rawValue.dropFirst(7)) : nil)
      }
      call(.answer(session, id, WidgetPatch()))
    // The session asks for no snapshots.
    case .snapshot: break
    case .event(let event):
      put(.event(event))
      put(.effect(.acknowledge(session, event)))
    case .missed(_, let last): call(.acknowledgeMissed(session, last))
    case .removed(let ids):
      // The host itself removes the widgets of removed bundles: restore only those that it
      // declares.
      let declared = Set(standing.all.compactMap(\.id))
      host.lost(declared.intersection(ids), kinds: [], at: now.uptime, limits)
    case .kindsRemoved(let names): host.lost([], kinds: Set(names), at: now.uptime, limits)
    case .bundles(let request): put(.effect(.manage(session, request)))
    case .audience: break
    }
  }

  private mutating func loseHold() {
    if host.isHolding { put(.attendance(isAway: true)) }
    refusals.forget()
    cancel(host.loseHold())
    cancel(standing.suspend())
  }

  mutating func hostReady(_ result: Result<DaemonAnswer, Failure>, at now: HostTime) {
    host.readyAnswered()
    // The session reports the reason of its end, or opens again.
    guard case .success = result else { return }
    host.hold()
    put(.attendance(isAway: false))
    prolongHolds(at: now)
    holds.forgetErrors()
    heldChanges.retry()
    cancel(marks.lookAgain())
    standing.begin()
  }

  mutating func hostEnded(_ session: SessionID, _ failure: Failure?, at now: HostTime) {
    guard host.session == session else { return }
    close(session, of: "", at: now)
    host.leave()
    loseHold()
    guard !isStopped else { return }
    let isTaken = failure?.isProvidedAlready ?? false
    host.ended(isTaken: isTaken)
    if let failure {
      if isTaken, host.attempts == 1 {
        put(
          .reportNow(
            "another widgetd-host runs for this daemon; waiting a few seconds for it to end; stop it "
              + "if it is not wanted"))
      }
      if isTaken, host.isOusted { suspend(at: now) }
      guard isTaken, host.attempts < limits.takenAttemptsMax else {
        if isTaken { put(.discard) }
        put(
          .refused(
            isTaken
              ? Failure(
                failure.code,
                "another widgetd-host runs for this daemon; stop it, or put the bundles into its"
                  + " folders (`widgetctl ls --kind bundle` shows what it runs)") : failure))
        return
      }
    }
    host.retry(at: now.uptime + limits.daemonWait(host.attempts))
  }

  /// Time has passed.
  mutating func tickHost(at now: HostTime) {
    if host.takeRetry(at: now.uptime) { connectHost() }
    if let missing = host.takeRestoration(at: now.uptime) {
      restoreHost(missing.ids, kinds: missing.kinds)
    }
    standing.tick(at: now.uptime)
  }

  /// Declares removed kinds and widgets of the host again.
  private mutating func restoreHost(_ ids: [WidgetID], kinds: [KindName]) {
    report(
      "restoring removed kinds and widgets: "
        + (kinds.map { "kind \($0)" } + ids.map(\.rawValue)).joined(separator: ", "))
    if !kinds.isEmpty, let session = host.session { call(.declareKinds(session), for: .hostKinds) }
    if !ids.isEmpty { standing.declareAgain() }
  }

  // MARK: The widgets

  /// The widgets of the host and its bundles have changed.
  mutating func setStanding(_ specs: [WidgetSpec]) { standing.set(specs) }

  /// The host has looked for folders of bundles.
  mutating func setFolders(_ paths: [String]) { standing.set(folders: Set(paths)) }

  mutating func proceedStanding() {
    guard host.isHolding else { return }
    switch standing.step {
    case nil: break
    case .admit: admit()
    case .list:
      let kinds = [HostState.kind, HostWidget.kind].compactMap { $0?.name }
      standing.list(with: call(.widgets(kinds), for: .standing))
    case .declare:
      // The widget of a removed bundle stays until the bundle's kinds and widgets are removed. So
      // the next host knows what to remove if this one is killed.
      guard !withdrawals.isRemoving else { return }
      // So does the widget of a bundle whose widgets go to another one, or whose removal the daemon
      // has refused.
      let specs = standing.declaration(keeping: withdrawals.heirs)
      standing.declare(specs, with: call(.declare(specs, set: HostState.provider), for: .standing))
    }
  }

  private mutating func admit() {
    if standing.takeAdmission() { host.serve() }
  }

  mutating func standingAnswered(_ result: Result<DaemonAnswer, Failure>, at now: HostTime) {
    switch standing.answered(result, at: now.uptime, limits) {
    case .nothing: break
    case .declared:
      if withdrawals.confirm(showing: standing.sentBundles) { put(.removalsConfirmed) }
    case .look(let bundles): standing.look(with: call(.folders(bundles), for: .standing))
    case .remembered(let bundles, let reports):
      for text in reports { report(text) }
      for known in bundles { declarations.remember(known) }
      put(.remembered(bundles, removals: standing.formerMarks))
    case .refused(let text):
      if let text { report(text) }
      admit()
    case .inspect(let ids):
      standing.inspect(with: call(.standing(kinds: [], widgets: ids), for: .standing))
    case .blocked(let reports): for text in reports { report(text) }
    }
  }
}
