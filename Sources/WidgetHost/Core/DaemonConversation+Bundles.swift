import WidgetBundle
import WidgetClient
import WidgetModel

// The conversations of bundles with the daemon.
extension DaemonConversation {
  /// A bundle's conversation: first a session that registers the kinds, then the widgets, then the
  /// watch. Calls of the bundle's steps are made one after the other, in any phase.
  struct Link: Sendable {
    enum SessionPhase: Hashable, Sendable {
      /// Waits for the host's session, the bundle's own widget, or a deadline.
      case none
      /// The former version's acknowledgements are sent, so that its events do not come again.
      case flushing(Set<CallID>)
      case open(SessionID)
      /// The daemon has refused the kinds.
      case resting
    }

    enum Work: Hashable, Sendable {
      case none
      case kinds(CallID)
      case listing(CallID)
      case owning(CallID)
      /// Asks for the kinds and owners of the widgets, because one of them has another kind.
      case inspecting(CallID, refusal: Failure)
      /// Removes the bundle's widgets whose kind the file has changed.
      case clearing(CallID)
      /// The daemon has refused the kinds or widgets.
      case resting

      var isClearing: Bool { if case .clearing = self { true } else { false } }
    }

    let bundle: Bundle
    var connection = SessionPhase.none
    var attempts = 0
    var connectAt: Duration?
    /// The version of the host's widgets that has the bundle's widget.
    var standing: UInt64?
    /// The call that waits until the daemon has the kinds.
    var ready: CallID?
    var isRegistered = false

    var work = Work.none
    var workAttempts = 0
    var workAt: Duration?
    var owesKinds = false
    var owesWidgets = false

    /// The fields that the file declares for the first time, and that have other values so far.
    var takenFields: [HostState.TakenField] = []
    /// Whether widgets of former kinds were removed, so that a second refusal for kinds is shown.
    var isCleared = false

    var watch: WatchID?
    var watchAt: Duration?
    var watchFailure: Failure?
    /// Declared kinds and widgets that somebody removed.
    var restoration = Restoration()
    var restoreAt: Duration?

    /// Calls that are to be made one after the other.
    var calls: [Effect] = []
    var calling: (id: CallID, effect: Effect)?

    init(_ bundle: Bundle) { self.bundle = bundle }

    var session: SessionID? {
      if case .open(let session) = connection { session } else { nil }
    }

    /// The bundle needs the widgets of its kinds. Widgets of other kinds are watched to restore
    /// them.
    var kinds: [KindName] {
      Set(bundle.kinds.map(\.kind.name) + bundle.widgets.map(\.kind)).sorted {
        $0.rawValue < $1.rawValue
      }
    }
  }

  // MARK: The life of a link

  mutating func open(_ generation: UInt64, _ bundle: Bundle) {
    forgetWithdrawal(of: bundle.id)
    marks[bundle.id].map { cancel($0.call) }
    marks[bundle.id] = nil
    links[generation] = Link(bundle)
  }

  mutating func close(_ generation: UInt64) {
    guard let link = links.removeValue(forKey: generation) else { return }
    if case .flushing(let calls) = link.connection { for id in calls { cancel(id) } }
    cancelWork(link)
    cancel(link.calling?.id)
    cancelRest(.connection(generation))
    cancelRest(.work(generation))
    if let session = link.session {
      sessions[session] = nil
      retiring[link.bundle.id, default: []].append(session)
    }
  }

  private mutating func cancelWork(_ link: Link) {
    cancel(link.ready)
    switch link.work {
    case .kinds(let id), .listing(let id), .owning(let id), .inspecting(let id, _),
      .clearing(let id):
      cancel(id)
    case .none, .resting: break
    }
    if let watch = link.watch {
      watches[watch] = nil
      outputs.append(.effect(.endWatch(watch)))
    }
  }

  /// Forgets the declarations and watches under way, because the session begins again or is over.
  private mutating func endWork(_ generation: UInt64) {
    guard var link = links[generation] else { return }
    cancelWork(link)
    cancelRest(.work(generation))
    link.ready = nil
    link.isRegistered = false
    link.work = .none
    link.workAttempts = 0
    link.workAt = nil
    link.owesKinds = false
    link.owesWidgets = false
    link.watch = nil
    link.watchAt = nil
    link.restoration.settle()
    link.restoreAt = nil
    links[generation] = link
  }

  /// Closes the sessions of bundles that were removed, or that the daemon refuses.
  mutating func closeRetired(at now: HostTime) {
    guard !retiring.isEmpty else { return }
    // A refused version does not take over, so its widgets have no provider.
    let known = Set(links.values.filter { $0.connection != .resting }.map(\.bundle.id))
    for id in retiring.keys.sorted() where !known.contains(id) { closeRetired(id, at: now) }
  }

  private mutating func closeRetired(_ id: String, at now: HostTime) {
    for session in retiring.removeValue(forKey: id) ?? [] { close(session, of: id, at: now) }
  }

  /// Whether a session of the bundle, which no other session takes over, is being closed.
  func isClosing(_ id: String) -> Bool { closings.values.contains { $0.bundle == id } }

  /// Closes the sessions of all bundles until the host has its session again. Otherwise they could
  /// register kinds that the next host has removed.
  mutating func suspend(at now: HostTime) {
    for generation in links.keys.sorted() {
      guard let link = links[generation] else { continue }
      switch link.connection {
      case .none, .resting: continue
      case .flushing(let calls): for id in calls { cancel(id) }
      case .open(let session):
        endWork(generation)
        close(session, of: link.bundle.id, at: now)
      }
      links[generation]?.connection = .none
      links[generation]?.standing = nil
    }
    for id in retiring.keys.sorted() { closeRetired(id, at: now) }
  }

  // MARK: The session

  /// Begins the next work of a bundle's conversation.
  mutating func proceed(_ generation: UInt64, at now: HostTime) {
    connect(generation)
    proceedWork(generation)
    makeCalls(generation)
  }

  private mutating func connect(_ generation: UInt64) {
    guard let link = links[generation], link.connection == .none, link.connectAt == nil,
      host.isServing, withdrawals[link.bundle.id] == nil, !isClosing(link.bundle.id)
    else { return }
    // Make the bundle's widget (`bundle/ID`) first. If the folder is removed while no host runs,
    // the next host knows from that widget what to remove.
    let needed = link.standing ?? standing.version
    links[generation]?.standing = needed
    guard standing.declared >= needed else { return }
    let retired = retiring[link.bundle.id] ?? []
    let calls = retired.map { call(.flush($0), for: .flush(generation)) }
    links[generation]?.connection = .flushing(Set(calls))
    if calls.isEmpty { openSession(generation) }
  }

  mutating func flushed(_ id: CallID, _ generation: UInt64) {
    guard case .flushing(var calls) = links[generation]?.connection else { return }
    calls.remove(id)
    links[generation]?.connection = .flushing(calls)
    if calls.isEmpty { openSession(generation) }
  }

  private mutating func openSession(_ generation: UInt64) {
    guard let bundle = links[generation]?.bundle else { return }
    let session = open(
      SessionRequest(
        provider: HostState.provider(of: bundle.id), kinds: bundle.kinds.map(\.kind),
        takesOver: retiring[bundle.id] != nil,
        includesAudience: bundle.kinds.contains { $0.sources.contains(where: \.isWhileWatched) }),
      for: .bundle(generation))
    links[generation]?.connection = .open(session)
  }

  mutating func heard(
    _ news: SessionNews, _ generation: UInt64, _ session: SessionID, at now: HostTime
  ) {
    guard let bundle = links[generation]?.bundle else { return }
    switch news {
    case .opened(let epoch, let tellsAudience):
      tell(.opened(epoch: epoch, tellsAudience: tellsAudience), generation)
      endWork(generation)
      links[generation]?.attempts = 0
      let ready = call(.ready(session), for: .ready(generation))
      links[generation]?.ready = ready
    case .lost: break
    case .refused(let words): declared(generation, words)
    case .event(let event): tell(.event(event), generation)
    case .missed(let last):
      report("bundle \(bundle.id): events may be lost: the daemon does not have them any more")
      call(.acknowledgeMissed(session, last))
    case .asked(let id, let isRefresh): tell(.asked(id, isRefresh: isRefresh), generation)
    // The watch reports widgets that exist, so this reports only the end of data requests.
    case .removed(let ids): for id in ids { tell(.unasked(id), generation) }
    case .audience(let attached, let detached):
      tell(.audience(attached: attached, detached: detached), generation)
    case .kindsRemoved(let names):
      restore(
        kinds: Set(bundle.kinds.map(\.kind.name)).intersection(names), generation, at: now)
    case .bundles: break
    }
  }

  private mutating func tell(_ input: BundleInput, _ generation: UInt64) {
    outputs.append(.tell(input, generation: generation))
  }

  private mutating func declared(_ generation: UInt64, _ refusal: String?) {
    outputs.append(.declared(generation: generation, refusal: refusal))
  }

  mutating func ended(
    _ session: SessionID, _ failure: Failure?, _ generation: UInt64, at now: HostTime
  ) {
    guard let link = links[generation], link.session == session else { return }
    endWork(generation)
    close(session, of: link.bundle.id, at: now)
    links[generation]?.connection = .none
    links[generation]?.attempts += 1
    // The daemon may not know yet that a former host has ended.
    guard let failure, !failure.isProvidedAlready || link.attempts + 1 >= limits.takenAttemptsMax
    else {
      links[generation]?.connectAt = now.uptime + limits.daemonWait(link.attempts + 1)
      return
    }
    // The daemon may refuse the bundle because of others' kinds or widgets, and others may remove
    // them.
    links[generation]?.connection = .resting
    rest(.connection(generation), link.bundle, until: now.uptime + limits.refusalRetryInterval)
    declared(generation, failure.message)
  }

  mutating func ready(
    _ result: Result<DaemonAnswer, Failure>, _ generation: UInt64, at now: HostTime
  ) {
    links[generation]?.ready = nil
    // The session says why it ended, or opens again.
    guard case .success = result, let link = links[generation] else { return }
    links[generation]?.isRegistered = true
    links[generation]?.owesWidgets = true
    // The new version's kinds are registered, so the session of the former version can close.
    closeRetired(link.bundle.id, at: now)
  }

  // MARK: Kinds and widgets

  private mutating func proceedWork(_ generation: UInt64) {
    guard let link = links[generation], link.isRegistered, link.work == .none, link.workAt == nil,
      let session = link.session
    else { return }
    if link.owesKinds {
      links[generation]?.owesKinds = false
      let id = call(.declareKinds(session), for: .work(generation))
      links[generation]?.work = .kinds(id)
    } else if link.owesWidgets {
      // Widgets of a bundle that is being removed are no conflict, so wait for the removal.
      guard !isWithdrawing else { return }
      links[generation]?.owesWidgets = false
      guard !link.bundle.widgets.isEmpty else { return own([], generation) }
      let kinds = Set(link.bundle.widgets.map(\.kind)).sorted { $0.rawValue < $1.rawValue }
      let id = call(.widgets(kinds), for: .work(generation))
      links[generation]?.work = .listing(id)
    } else if link.watch == nil, link.watchAt == nil, !link.kinds.isEmpty {
      let id = WatchID(number: nextNumber())
      watches[id] = generation
      links[generation]?.watch = id
      outputs.append(.effect(.watch(id, link.kinds)))
    }
  }

  private mutating func own(_ known: [Widget], _ generation: UInt64) {
    guard let bundle = links[generation]?.bundle else { return }
    let id = call(
      .own(HostState.specs(of: bundle, beside: known), set: HostState.provider(of: bundle.id)),
      for: .work(generation))
    links[generation]?.work = .owning(id)
    links[generation]?.takenFields = HostState.taken(
      by: bundle, from: known, before: declaredFields[bundle.id] ?? [:])
  }

  mutating func workAnswered(
    _ result: Result<DaemonAnswer, Failure>, _ generation: UInt64, at now: HostTime
  ) {
    guard let link = links[generation] else { return }
    let isKinds = if case .kinds = link.work { true } else { false }
    links[generation]?.work = .none
    switch result {
    case .success(.standing(let standing)):
      guard case .inspecting(_, let refusal) = link.work else { return }
      clear(standing, refusal, generation, at: now)
    case .success where link.work.isClearing:
      links[generation]?.isCleared = true
      links[generation]?.owesWidgets = true
    case .success(.widgets(let known)):
      if let conflict = HostState.conflict(of: link.bundle, with: known) {
        refused(Failure("ALREADY_EXISTS", conflict), isKinds: false, generation, at: now)
      } else {
        own(known, generation)
      }
    case .success(.results(let results)):
      links[generation]?.workAttempts = 0
      let kept = HostState.kept(results)
      // A bundle is declared again after each edit and reconnect: report each field once.
      for field in kept where toldKept[link.bundle.id]?.contains(field) != true {
        outputs.append(.kept(field, bundle: link.bundle.id))
      }
      toldKept[link.bundle.id] = Set(kept)
      for field in link.takenFields
      where !kept.contains(where: { $0.widget == field.widget && $0.field.path == field.path }) {
        report(field.message(by: link.bundle.id))
      }
      links[generation]?.takenFields = []
      links[generation]?.isCleared = false
      declaredFields[link.bundle.id] = HostState.fields(of: link.bundle)
      declared(generation, nil)
    case .success: links[generation]?.workAttempts = 0
    case .failure(let failure) where failure.isKindMismatch && !link.isCleared:
      let call = call(
        .standing(kinds: [], widgets: link.bundle.widgets.compactMap(\.id)),
        for: .work(generation))
      links[generation]?.work = .inspecting(call, refusal: failure)
    case .failure(let failure):
      guard failure.isTransient || failure.code == "CANCELLED" else {
        return refused(failure, isKinds: isKinds, generation, at: now)
      }
      owe(isKinds: isKinds, generation)
      links[generation]?.workAttempts += 1
      links[generation]?.workAt = now.uptime + limits.daemonWait(link.workAttempts + 1)
    }
  }

  /// Removes the bundle's widgets whose kind the file has changed. A widget keeps its kind for life,
  /// so a new widget takes the place of each.
  private mutating func clear(
    _ standing: Circumstances, _ refusal: Failure, _ generation: UInt64, at now: HostTime
  ) {
    guard let bundle = links[generation]?.bundle else { return }
    let set = HostState.provider(of: bundle.id)
    let known = standing.widgets.map { Widget(id: $0.id, kind: $0.kind, applySet: $0.applySet) }
    var former: [WidgetID: Widget] = [:]
    for widget in known where bundle.widgets.contains(where: { $0.isOfOtherKind(than: widget) }) {
      former[widget.id] = widget
    }
    guard former.values.allSatisfy({ $0.applySet == set }) else {
      return refused(refusal, isKinds: false, generation, at: now)
    }
    for spec in bundle.widgets {
      guard let id = spec.id, let widget = former[id] else { continue }
      report(
        "bundle \(bundle.id): widget \(id): the file changes its kind from \(widget.kind) to"
          + " \(spec.kind); a new widget with the data of the file replaces it")
    }
    let specs = HostState.specs(of: bundle, beside: known).filter { spec in
      spec.id.map { former[$0] == nil } ?? true
    }
    let id = call(.own(specs, set: set), for: .work(generation))
    links[generation]?.work = .clearing(id)
  }

  private mutating func owe(isKinds: Bool, _ generation: UInt64) {
    if isKinds { links[generation]?.owesKinds = true }
    // Widgets follow their kinds, because the daemon may have removed both.
    links[generation]?.owesWidgets = true
  }

  private mutating func refused(
    _ failure: Failure, isKinds: Bool, _ generation: UInt64, at now: HostTime
  ) {
    guard let bundle = links[generation]?.bundle else { return }
    owe(isKinds: isKinds, generation)
    links[generation]?.workAttempts = 0
    links[generation]?.work = .resting
    rest(.work(generation), bundle, until: now.uptime + limits.refusalRetryInterval)
    declared(generation, failure.message)
  }

  // MARK: The watch

  mutating func heard(_ news: DaemonNews, _ generation: UInt64, at now: HostTime) {
    guard let bundle = links[generation]?.bundle else { return }
    let declared = Set(bundle.widgets.compactMap(\.id))
    switch news {
    case .snapshot(let widgets):
      tell(.snapshot(widgets), generation)
      restore(declared.subtracting(widgets.map(\.id)), generation, at: now)
    case .widget(let widget):
      tell(.widget(widget), generation)
      // Somebody removed the bundle's widget and made one with the same id. To declare it again
      // gives a refusal that names the owner.
      if widget.applySet != HostState.provider(of: bundle.id) {
        restore(declared.intersection([widget.id]), generation, at: now)
      }
    case .removed(let id):
      tell(.removed(id), generation)
      restore(declared.intersection([id]), generation, at: now)
    }
  }

  mutating func watchEnded(_ failure: Failure, _ generation: UInt64, at now: HostTime) {
    guard let link = links[generation] else { return }
    if failure != link.watchFailure { report("bundle \(link.bundle.id): \(failure.message)") }
    links[generation]?.watchFailure = failure
    links[generation]?.watch = nil
    links[generation]?.watchAt = now.uptime + limits.watchWait
  }

  /// Declares removed widgets and kinds of a bundle again, after a wait.
  private mutating func restore(
    _ ids: Set<WidgetID> = [], kinds: Set<KindName> = [], _ generation: UInt64, at now: HostTime
  ) {
    guard !ids.isEmpty || !kinds.isEmpty, var link = links[generation] else { return }
    link.restoration.lost(ids, kinds: kinds, at: now.uptime, limits)
    if link.restoreAt == nil { link.restoreAt = now.uptime + link.restoration.wait(limits) }
    links[generation] = link
  }

  mutating func restore(_ generation: UInt64, at now: HostTime) {
    guard var link = links[generation] else { return }
    link.restoreAt = nil
    let (ids, kinds) = link.restoration.begin(at: now.uptime)
    report(
      "bundle \(link.bundle.id): restoring removed kinds and widgets: "
        + (kinds.map { "kind \($0)" } + ids.map(\.rawValue)).joined(separator: ", "))
    if !kinds.isEmpty { link.owesKinds = true }
    link.owesWidgets = true
    links[generation] = link
  }

  // MARK: Calls of the bundle's steps

  /// Makes a call of a bundle, after its earlier calls.
  mutating func add(_ call: Effect, _ generation: UInt64) {
    links[generation]?.calls.append(call)
  }

  mutating func acknowledge(_ event: Event, _ generation: UInt64) {
    guard let session = links[generation]?.session else { return }
    outputs.append(.effect(.acknowledge(session, event)))
  }

  private mutating func makeCalls(_ generation: UInt64) {
    guard !host.isOusted else { return }
    while let link = links[generation], link.calling == nil, let next = link.calls.first {
      links[generation]?.calls.removeFirst()
      let call: DaemonCall
      switch next {
      case .patch(_, let id, let patch):
        call = .update(id, patch, provider: HostState.provider(of: link.bundle.id))
      case .presence(_, let action, let ids): call = .presence(ids, action)
      case .send(_, let id, let name, let payload, let force):
        call = .send(id, name: name, payload: payload, force: force)
      case .fetchWidget(_, let id): call = .widget(id)
      case .answer(_, let id, let patch):
        guard let session = link.session else { continue }
        call = .answer(session, id, patch)
      case .acknowledge, .lead, .unlead, .readFile, .readFolder, .watchFile, .run, .web, .connect,
        .tellSocket,
        .bus, .cancel, .trace, .report, .note:
        continue
      }
      let id = self.call(call, for: .bundle(generation))
      links[generation]?.calling = (id, next)
    }
  }

  mutating func bundleAnswered(
    _ result: Result<DaemonAnswer, Failure>, _ generation: UInt64
  ) {
    guard let effect = links[generation]?.calling?.effect else { return }
    links[generation]?.calling = nil
    let request: RequestID
    switch effect {
    case .patch(let id, _, _), .presence(let id, _, _), .send(let id, _, _, _, _),
      .fetchWidget(let id, _):
      request = id
    default: return
    }
    switch result {
    case .failure(let failure): tell(.failed(request, failure), generation)
    case .success(.revision(let revision)): tell(.sent(request, revision), generation)
    case .success(.sequence(let sequence)):
      tell(.emitted(request, sequence: sequence), generation)
    case .success(.widget(let widget)): tell(.fetched(request, widget), generation)
    case .success: tell(.sent(request, 0), generation)
    }
  }
}

extension WidgetSpec {
  fileprivate func isOfOtherKind(than widget: Widget) -> Bool {
    id == widget.id && kind != widget.kind
  }
}
