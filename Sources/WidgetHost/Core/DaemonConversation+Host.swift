import WidgetClient
import WidgetModel

// The host's own session, and the widgets that show the state of the host and its bundles.
extension DaemonConversation {
  /// The host's session as the provider of `widgetd-host` and `bundle`. Bundles run only while it
  /// is open, because a daemon has one host.
  struct HostSession: Sendable {
    var session: SessionID?
    /// The number of times that another host had the session since it was last open.
    var attempts = 0
    var retryAt: Duration?
    /// The call that waits until the daemon has the host's kinds.
    var ready: CallID?
    var hasBeenOpen = false
    /// Whether another host had the session at the last attempt.
    var isTaken = false
    /// Whether the session is open, so no other host shows the state of bundles.
    var isHolding = false
    /// Whether the host has also taken over or removed the widgets of an earlier host.
    var isServing = false
    /// Whether another host has taken this host's session, so that the bundles wait.
    var isOusted = false
    /// Kinds and widgets of the host that somebody removed.
    var restoration = Restoration()
    var restoreAt: Duration?
  }

  /// Declares the host's widgets to the daemon.
  struct StandingWork: Sendable {
    enum Phase: Hashable, Sendable {
      case idle
      /// Reads which bundles an earlier host ran, before its widgets are removed.
      case listing
      case looking
      /// The version that is being declared.
      case declaring(UInt64)
    }

    var phase = Phase.idle
    var call: CallID?
    /// The widgets of the host and its bundles.
    var specs: [WidgetSpec] = []
    /// The folders of this host.
    var knownFolders: Set<String> = []
    /// The state of bundles in folders of other hosts.
    var elsewhere: [WidgetSpec] = []
    /// The last declaration.
    var sent: [WidgetSpec] = []
    /// Counts the changes of `specs`, and every other reason to declare them.
    var version: UInt64 = 0
    /// The version that the daemon has taken, or refused.
    var declared: UInt64 = 0
    /// The version of the declaration with which the bundles may run.
    var admission: UInt64?
    var isDaemonKnown = false
    /// The widgets of bundles that the daemon has.
    var known: [Widget] = []
    var attempts = 0
    var retryAt: Duration?
    var refusal: String?

    /// The widgets of bundles in folders of other hosts, except bundles that this host runs by now.
    func others(than specs: [WidgetSpec]) -> [WidgetSpec] {
      let ids = Set(specs.map(\.id))
      return elsewhere.filter { !ids.contains($0.id) }
    }

    /// The widgets of bundles that are still being removed, so that the next host removes them.
    ///
    /// - Parameter heirs: by the id of such a widget, the bundle that takes over, if there is one.
    func kept(_ heirs: [WidgetID: String?], beside specs: [WidgetSpec]) -> [WidgetSpec] {
      let known = Set(specs.map(\.id))
      return sent.compactMap { spec -> WidgetSpec? in
        guard let id = spec.id, let heir = heirs[id], !known.contains(id) else { return nil }
        var spec = spec
        spec.data["state"] = .string(HostState.Standing.State.stopped.rawValue)
        if let heir {
          spec.data["heir"] = .string(heir)
          spec.data["problem"] = .string("the bundle \(heir) takes over its kinds and widgets")
        }
        return spec
      }
    }

    var all: [WidgetSpec] { specs + others(than: specs) }
  }

  // MARK: The session

  /// Whether another host had the daemon at the last attempt.
  var isTaken: Bool { host.isTaken }

  /// Begins the conversation.
  mutating func start() {
    guard host.session == nil, !isStopped else { return }
    connectHost()
  }

  mutating func connectHost() {
    let kinds = [HostState.kind, HostWidget.kind].compactMap(\.self)
    host.session = open(
      SessionRequest(
        provider: HostState.provider, kinds: kinds, takesOver: false, includesAudience: false),
      for: .host)
  }

  mutating func heard(_ news: SessionNews, _ session: SessionID, at now: HostTime) {
    guard stopping == nil else { return }
    switch news {
    case .opened:
      outputs.append(.release)
      if host.hasBeenOpen { outputs.append(.note("the daemon is back")) }
      loseHold()
      host.hasBeenOpen = true
      host.isTaken = false
      host.attempts = 0
      host.ready = call(.ready(session), for: .hostReady)
    case .lost(let words), .refused(let words):
      // Another host may get the session before this one.
      loseHold()
      outputs.append(.release)
      report(
        host.hasBeenOpen
          ? "lost the daemon; reconnecting: \(words)" : "waiting for the daemon: \(words)")
    // The data of the host's widgets is always fresh, so the answer is an empty patch.
    case .asked(let id, let isRefresh):
      if isRefresh {
        retry(id.rawValue.hasPrefix("bundle/") ? String(id.rawValue.dropFirst(7)) : nil)
      }
      call(.answer(session, id, WidgetPatch()))
    // The session asks for no snapshots.
    case .snapshot: break
    case .event(let event):
      outputs.append(.event(event))
      outputs.append(.effect(.acknowledge(session, event)))
    case .missed(let last): call(.acknowledgeMissed(session, last))
    case .removed(let ids):
      // The host itself removes the widgets of removed bundles: restore only those that it
      // declares.
      let declared = Set(standing.all.compactMap(\.id))
      restoreHost(declared.intersection(ids), at: now)
    case .kindsRemoved(let names): restoreHost(kinds: Set(names), at: now)
    case .bundles(let request): outputs.append(.effect(.manage(session, request)))
    case .audience: break
    }
  }

  private mutating func loseHold() {
    refusals.forget()
    host.isHolding = false
    host.isServing = false
    standing.admission = nil
    cancel(host.ready)
    host.ready = nil
    // Another host may change the data that this host was about to read or to declare.
    cancel(standing.call)
    standing.call = nil
    standing.phase = .idle
  }

  mutating func hostReady(_ result: Result<DaemonAnswer, Failure>, at now: HostTime) {
    host.ready = nil
    // The session reports the reason of its end, or opens again.
    guard case .success = result else { return }
    host.isHolding = true
    host.isOusted = false
    // Another host may have served the daemon meanwhile.
    standing.isDaemonKnown = false
    standing.version += 1
    standing.admission = standing.version
    standing.retryAt = nil
  }

  mutating func hostEnded(_ session: SessionID, _ failure: Failure?, at now: HostTime) {
    guard host.session == session else { return }
    close(session, of: "", at: now)
    host.session = nil
    loseHold()
    guard stopping == nil else { return }
    host.attempts += 1
    host.isTaken = failure?.isProvidedAlready ?? false
    if let failure {
      if failure.isProvidedAlready, host.attempts == 1 {
        outputs.append(
          .reportNow(
            "another widgetd-host runs for this daemon; waiting a few seconds for it to end; stop it "
              + "if it is not wanted"))
      }
      if failure.isProvidedAlready, host.hasBeenOpen {
        host.isOusted = true
        suspend(at: now)
      }
      guard failure.isProvidedAlready, host.attempts < limits.takenAttemptsMax else {
        if failure.isProvidedAlready { outputs.append(.discard) }
        outputs.append(
          .refused(
            failure.isProvidedAlready
              ? Failure(
                failure.code,
                "another widgetd-host runs for this daemon; stop it, or put the bundles into its"
                  + " folders (`widgetctl ls --kind bundle` shows what it runs)") : failure))
        return
      }
    }
    host.retryAt = now.uptime + limits.daemonWait(host.attempts)
  }

  // MARK: The widgets

  /// The widgets of the host and its bundles have changed.
  mutating func setStanding(_ specs: [WidgetSpec]) {
    standing.specs = specs
    standing.version += 1
    // The daemon may take the changed declaration, so retry at once.
    if standing.refusal != nil { standing.retryAt = nil }
  }

  mutating func proceedStanding(at now: HostTime) {
    guard host.isHolding, standing.phase == .idle, standing.retryAt == nil else { return }
    if standing.version > standing.declared || standing.refusal != nil {
      if !standing.isDaemonKnown, let kind = KindName("bundle") {
        standing.phase = .listing
        standing.call = call(.widgets([kind]), for: .standing)
        return
      }
      // The widget of a removed bundle stays until the bundle's kinds and widgets are removed. So
      // the next host knows what to remove if this one is killed.
      guard !isWithdrawing else { return }
      standing.phase = .declaring(standing.version)
      // So does the widget of a bundle whose widgets go to another one, or whose removal the daemon
      // has refused.
      standing.sent = standing.all + standing.kept(leavingBundles, beside: standing.all)
      standing.call = call(.declare(standing.sent, set: HostState.provider), for: .standing)
      return
    }
    admit()
  }

  /// The widgets of bundles that are still being removed, each with the bundle that takes over.
  var leavingBundles: [WidgetID: String?] {
    var heirs: [WidgetID: String?] = [:]
    for (id, withdrawal) in withdrawals {
      if let widget = WidgetID(HostState.provider(of: id)) {
        heirs.updateValue(withdrawal.heir, forKey: widget)
      }
    }
    return heirs
  }

  private mutating func admit() {
    guard let admission = standing.admission, standing.declared >= admission else { return }
    standing.admission = nil
    host.isServing = true
  }

  mutating func standingAnswered(_ result: Result<DaemonAnswer, Failure>, at now: HostTime) {
    let phase = standing.phase
    standing.phase = .idle
    standing.call = nil
    switch result {
    case .success(let answer):
      standing.attempts = 0
      switch (phase, answer) {
      case (.listing, .widgets(let widgets)): listed(widgets)
      case (.looking, .absences(let absences)): looked(finding: absences)
      case (.declaring(let version), _):
        standing.declared = version
        standing.refusal = nil
      default: break
      }
    case .failure(let failure):
      guard !failure.isTransient, failure.code != "CANCELLED" else {
        standing.attempts += 1
        standing.retryAt = now.uptime + limits.daemonWait(standing.attempts)
        return
      }
      // The bundles do not need these widgets, so they run without them.
      if failure.message != standing.refusal { report(failure.message) }
      standing.refusal = failure.message
      standing.declared = standing.version
      standing.retryAt = now.uptime + limits.refusalRetryInterval
      admit()
    }
  }

  private mutating func listed(_ widgets: [Widget]) {
    standing.known = widgets.filter { $0.applySet == HostState.provider }
    let bundles = standing.known.compactMap(\.bundle).filter {
      !standing.knownFolders.contains($0.path)
    }
    guard !bundles.isEmpty else { return looked(finding: [:]) }
    standing.phase = .looking
    standing.call = call(.folders(bundles), for: .standing)
  }

  private mutating func looked(finding absences: [String: HostState.Absence]) {
    let told = Set(standing.elsewhere.map(\.id))
    standing.isDaemonKnown = true
    standing.elsewhere = []
    var known: [HostState.Remembered] = []
    for widget in standing.known {
      // A bundle that never ran has no kinds and widgets. If its folder still has a mistake, this
      // host shows it by itself.
      guard var bundle = widget.bundle, bundle.loaded != nil else { continue }
      if !standing.sent.contains(where: { $0.id == widget.id }) {
        standing.sent.append(
          WidgetSpec(id: widget.id, kind: widget.kind, family: .small, data: widget.data))
      }
      let isOwn = standing.knownFolders.contains(bundle.path)
      bundle.absence = isOwn ? nil : absences[bundle.path]
      guard !isOwn, bundle.absence == nil else {
        known.append(bundle)
        continue
      }
      // A bundle whose folder still exists belongs to another host, or to this host with other
      // settings.
      let words = "\(bundle.path) is not in a folder of this host"
      if !told.contains(widget.id) {
        report("bundle \(bundle.id) in \(words); its widgets stay and are stale")
      }
      var data = widget.data
      data["state"] = .string(HostState.Standing.State.stopped.rawValue)
      data["problem"] = .string(words)
      standing.elsewhere.append(
        WidgetSpec(id: widget.id, kind: widget.kind, family: .small, data: data))
    }
    standing.known = []
    outputs.append(.remembered(known))
  }

  // MARK: Restoring

  /// Declares removed kinds and widgets of the host again, after a wait.
  private mutating func restoreHost(
    _ ids: Set<WidgetID> = [], kinds: Set<KindName> = [], at now: HostTime
  ) {
    guard !ids.isEmpty || !kinds.isEmpty else { return }
    host.restoration.lost(ids, kinds: kinds, at: now.uptime, limits)
    guard host.restoreAt == nil else { return }
    host.restoreAt = now.uptime + host.restoration.wait(limits)
  }

  mutating func restoreHost(at now: HostTime) {
    let (ids, kinds) = host.restoration.begin(at: now.uptime)
    report(
      "restoring removed kinds and widgets: "
        + (kinds.map { "kind \($0)" } + ids.map(\.rawValue)).joined(separator: ", "))
    if !kinds.isEmpty, let session = host.session { call(.declareKinds(session), for: .hostKinds) }
    if !ids.isEmpty { standing.version += 1 }
  }
}

extension Widget {
  /// The bundle that a widget of kind `bundle` shows.
  fileprivate var bundle: HostState.Remembered? {
    guard case .string(let id)? = data["id"], case .string(let path)? = data["path"] else {
      return nil
    }
    let loaded: Timestamp? = if case .timestamp(let time)? = data["loaded"] { time } else { nil }
    return HostState.Remembered(id: id, path: path, loaded: loaded)
  }
}
