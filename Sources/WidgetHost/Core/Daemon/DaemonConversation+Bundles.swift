import WidgetBundle
import WidgetClient
import WidgetModel

// The conversations of bundles with the daemon.
extension DaemonConversation {
  // MARK: The life of a link

  mutating func open(_ generation: UInt64, _ bundle: Bundle, isInstalled: Bool) {
    withdrawals.revoke(bundle.id)
    suspendHolds(for: bundle)
    links.add(generation, BundleLink(bundle, isInstalled: isInstalled))
    holds.outdateErrors()
  }

  mutating func close(_ generation: UInt64) {
    giveBack(generation)
    // The daemon has named these values once, and does not name them to the next version. The next
    // version, or the removal of the bundle, decides which widgets stay.
    if let link = links[generation],
      let results = links.change(generation, { $0.takeMisfits() }), !results.isEmpty
    {
      reportMisfits(results, of: link.bundle, before: nil)
    }
    (toldWaiting[generation], toldEnding[generation], endings[generation]) = (nil, nil, nil)
    guard let link = links.remove(generation) else { return }
    holds.outdateErrors()
    if case .flushing(let calls) = link.connection { for id in calls { cancel(id) } }
    cancelWork(link)
    cancel(link.calling?.id)
    cancelRest(.connection(generation))
    cancelRest(.work(generation))
    if let session = link.session {
      exchange.leave(session)
      ending.retire(session, of: link.bundle.id)
    }
  }

  private mutating func cancelWork(_ link: BundleLink) {
    cancel(link.ready)
    cancel(link.work.call)
    if let watch = link.watch { exchange.endWatch(watch) }
  }

  /// Cancels the declarations and watches under way, because the session begins again or is over.
  private mutating func cancelWork(_ generation: UInt64) {
    giveBack(generation)
    guard let link = links[generation] else { return }
    cancelWork(link)
    cancelRest(.work(generation))
  }

  /// Closes the sessions of bundles that were removed, or that the daemon refuses.
  mutating func closeRetired(at now: HostTime) {
    let retired = ending.retiredBundles
    guard !retired.isEmpty else { return }
    // A refused version does not take over, so its widgets have no provider.
    let known = Set(links.all.filter { $0.connection != .resting }.map(\.bundle.id))
    for id in retired where !known.contains(id) { closeRetired(id, at: now) }
  }

  mutating func closeRetired(_ id: String, at now: HostTime) {
    for session in ending.takeRetired(of: id) { close(session, of: id, at: now) }
  }

  /// Closes the sessions of all bundles until the host has its session again. Otherwise they could
  /// register kinds that the next host has removed.
  mutating func suspend(at now: HostTime) {
    for generation in links.generations {
      guard let link = links[generation] else { continue }
      switch link.connection {
      case .none, .resting: continue
      case .flushing(let calls): for id in calls { cancel(id) }
      case .open(let session):
        cancelWork(generation)
        links.change(generation) { $0.forgetWork() }
        close(session, of: link.bundle.id, at: now)
      }
      links.change(generation) { $0.suspend() }
    }
    for id in ending.retiredBundles { closeRetired(id, at: now) }
  }

  // MARK: The session

  /// Begins the next work of a bundle's conversation.
  mutating func proceed(_ generation: UInt64, at now: HostTime) {
    connect(generation)
    declareEndings(generation, at: now)
    proceedWork(generation, at: now)
    makeCalls(generation)
  }

  private mutating func connect(_ generation: UInt64) {
    guard let link = links[generation], link.canConnect, host.isServing,
      !withdrawals.contains(link.bundle.id), !ending.isClosing(link.bundle.id),
      !withdrawals.isInheriting(link.bundle.id)
    else { return }
    // Make the bundle's widget (`bundle/ID`) first. If the folder is removed while no host runs,
    // the next host knows from that widget what to remove.
    let version = standing.version
    guard let needed = links.change(generation, { $0.needed(standing: version) }),
      standing.declared >= needed
    else { return }
    let calls = ending.retired(of: link.bundle.id).map { call(.flush($0), for: .flush(generation)) }
    links.change(generation) { $0.flush(calls) }
    if calls.isEmpty { openSession(generation) }
  }

  mutating func flushed(_ id: CallID, _ generation: UInt64) {
    if links.change(generation, { $0.flushed(id) }) == true { openSession(generation) }
  }

  private mutating func openSession(_ generation: UInt64) {
    guard let bundle = links[generation]?.bundle else { return }
    let session = exchange.open(
      SessionRequest(
        provider: HostState.provider(of: bundle.id), kinds: bundle.kinds.map(\.kind),
        takesOver: !ending.retired(of: bundle.id).isEmpty,
        includesAudience: bundle.kinds.contains { $0.sources.contains(where: \.isWhileWatched) }),
      for: .bundle(generation))
    links.change(generation) { $0.open(session) }
  }

  mutating func heard(
    _ news: SessionNews, _ generation: UInt64, _ session: SessionID, at now: HostTime
  ) {
    guard let bundle = links[generation]?.bundle else { return }
    switch news {
    case .opened(let epoch, let tellsAudience):
      tell(.opened(epoch: epoch, tellsAudience: tellsAudience), generation)
      cancelWork(generation)
      let ready = call(.ready(session), for: .ready(generation))
      links.change(generation) { $0.opened(waitingFor: ready) }
    case .lost: break
    case .refused(let words):
      links.change(generation) { $0.refused() }
      if links[generation]?.watch == nil { stopServing(generation) }
      let failure = Failure.limit(words)
      rests.refused(bundle.id, for: failure, trying: Set(bundle.kindsOfWidgets.keys))
      declared(generation, failure)
    case .event(let event): tell(.event(event), generation)
    case .missed(let first, let last):
      if first > 0, first <= last { put(.dropped(first...last, generation: generation)) }
      call(.acknowledgeMissed(session, last))
    case .asked(let id, let isRefresh): tell(.asked(id, isRefresh: isRefresh), generation)
    case .snapshot(let question):
      put(.preview(question, generation: generation, session))
    // The watch reports the existing widgets, so this only ends data requests.
    case .removed(let ids): for id in ids { tell(.unasked(id), generation) }
    case .audience(let attached, let detached):
      tell(.audience(attached: attached, detached: detached), generation)
    case .kindsRemoved(let names):
      restore(
        kinds: Set(bundle.kinds.map(\.kind.name)).intersection(names), generation, at: now)
    case .bundles: break
    }
  }

  mutating func tell(_ input: BundleInput, _ generation: UInt64) {
    put(.tell(input, generation: generation))
  }

  private mutating func declared(_ generation: UInt64, _ refusal: Failure?) {
    put(
      .declared(
        generation: generation, refusal: refusal?.message, isLimit: refusal?.isLimit ?? false))
  }

  mutating func ended(
    _ session: SessionID, _ failure: Failure?, _ generation: UInt64, at now: HostTime
  ) {
    guard let link = links[generation], link.session == session else { return }
    cancelWork(generation)
    close(session, of: link.bundle.id, at: now)
    let attempts = link.attempts + 1
    links.change(generation) { $0.ended() }
    // The daemon may not have noticed yet that a former host has ended.
    guard let failure, !failure.isProvidedAlready || attempts >= limits.takenAttemptsMax else {
      let deadline = now.uptime + limits.daemonWait(attempts)
      links.change(generation) { $0.connect(at: deadline) }
      return
    }
    // The daemon may refuse the bundle because of others' kinds or widgets, and others may remove
    // them.
    links.change(generation) { $0.restConnection() }
    stopServing(generation)
    rests.refused(link.bundle.id, for: failure, trying: Set(link.bundle.kindsOfWidgets.keys))
    let end = now.uptime + limits.refusalRetryInterval
    rest(.connection(generation), link.bundle, until: end)
    resumeHolds(of: link.bundle, at: now)
    declared(generation, failure)
  }

  mutating func ready(
    _ result: Result<DaemonAnswer, Failure>, _ generation: UInt64, at now: HostTime
  ) {
    links.change(generation) { $0.readyAnswered() }
    // The session reports the reason of its end, or opens again.
    guard case .success(let answer) = result, let link = links[generation] else { return }
    if case .kinds(let results) = answer { noteMisfits(results, generation) }
    links.change(generation) { $0.registered() }
    askForKinds(of: link.bundle)
    // The new version's kinds are registered, so the session of the former version can close.
    closeRetired(link.bundle.id, at: now)
  }

  // MARK: Kinds and widgets

  private mutating func proceedWork(_ generation: UInt64, at now: HostTime) {
    // The widgets of a bundle that is being removed are no conflict.
    let wait = limits.turnWaitMax
    let waitsForTurn =
      waitsForEarlier(generation)
      && links.change(generation) { $0.waitsForTurn(at: now.uptime, atMost: wait) } == true
    let waitsForKinds = links[generation].map { withdrawals.isInheriting($0.bundle.id) } ?? false
    let declarationsWait = withdrawals.isRemoving || waitsForKinds || waitsForTurn
    let step = links.change(generation) { $0.nextStep(declarationsWait: declarationsWait) }
    guard let step = step ?? nil, let link = links[generation] else { return }
    switch step {
    case .declareKinds(let session):
      let id = call(.declareKinds(session), for: .work(generation))
      links.change(generation) { $0.begin(.kinds(id)) }
    case .declareWidgets:
      let inherited = withdrawals.inherited(by: link.bundle.id)
      links.change(generation) { $0.declare(inheriting: inherited) }
      guard let kinds = askedKinds(link.bundle) else { return own([], generation) }
      let id = call(.widgets(kinds), for: .work(generation))
      links.change(generation) { $0.begin(.listing(id)) }
    case .watch: watch(generation)
    }
  }

  /// Whether an earlier bundle, by id, is about to declare its widgets for the first time.
  ///
  /// New widgets come last, so the order of bundles is the order of their first declarations. It
  /// must not depend on which session the daemon opens first. Bundles that wait after a failure do
  /// not delay others.
  private func waitsForEarlier(_ generation: UInt64) -> Bool {
    guard let link = links[generation], !link.hasDeclared else { return false }
    return links.all.contains { other in
      other.bundle.id < link.bundle.id && other.isAboutToDeclare
        && (other.session != nil || standing.retryAt == nil)
        && !withdrawals.contains(other.bundle.id) && !ending.isClosing(other.bundle.id)
    }
  }

  mutating func own(_ known: [Widget], _ generation: UInt64) {
    guard let link = links[generation] else { return }
    let (bundle, claims) = (link.bundle, claims(of: link))
    let id = call(
      .own(claims.specs(beside: known), set: HostState.provider(of: bundle.id)),
      for: .work(generation))
    let taken = claims.taken(from: known, before: declarations.fields(of: bundle.id))
    links.change(generation) { $0.own(id, taking: taken) }
  }

  mutating func workAnswered(
    _ result: Result<DaemonAnswer, Failure>, _ generation: UInt64, at now: HostTime
  ) {
    guard let link = links[generation] else { return }
    let work = links.change(generation) { $0.endWork() } ?? .none
    switch result {
    case .success(.standing(let standing)):
      guard case .inspecting(_, let refusal) = work else { return }
      clear(standing, refusal, generation, at: now)
    case .success(let answer) where work.isClearing:
      reportLosses(answer, of: generation)
      links.change(generation) { $0.cleared() }
    case .success(.widgets(let known)):
      reportMisfits(among: known, generation)
      if let conflict = conflict(with: known, generation) {
        if let link = links[generation], waitsForOwner(link) {
          let deadline = now.uptime + limits.daemonWait(link.ownerWaits + 1)
          links.change(generation) { $0.waitForOwner(at: deadline) }
          return
        }
        refused(Failure("ALREADY_EXISTS", conflict), isKinds: false, generation, at: now)
      } else {
        foresee(known, generation)
      }
    case .success(let answer):
      if case .counting(_, let specs) = work { return clear(specs, losing: answer, generation) }
      guard !continues(work, answer, generation, at: now) else { return }
      declared(answer, generation)
    case .failure(let failure) where failure.isKindMismatch && !link.isCleared:
      let call = call(
        .standing(kinds: [], widgets: link.bundle.widgets.compactMap(\.id)),
        for: .work(generation))
      links.change(generation) { $0.begin(.inspecting(call, refusal: failure)) }
    case .failure(let failure):
      giveBack(generation)
      guard failure.isTransient || failure.code == "CANCELLED" else {
        return refused(failure, isKinds: work.isKinds, generation, at: now)
      }
      let deadline = now.uptime + limits.daemonWait(link.workAttempts + 1)
      links.change(generation) { $0.retryWork(isKinds: work.isKinds, at: deadline) }
    }
  }

  /// The daemon has taken the bundle's kinds or widgets.
  private mutating func declared(_ answer: DaemonAnswer, _ generation: UInt64) {
    guard let bundle = links[generation]?.bundle else { return }
    guard case .results(let results) = answer else {
      if case .kinds(let results) = answer { noteMisfits(results, generation) }
      // The next watch has all kinds.
      if links[generation]?.lostKinds.isEmpty == false { endWatch(generation) }
      links.change(generation) { $0.kindsDeclared() }
      return
    }
    reportLosses(answer, of: generation)
    let kept = BundleClaims.kept(results)
    let isHolding = links[generation].map { !holds.widgets(of: claims(of: $0)).isEmpty } ?? false
    let (edits, news) = declarations.declared(bundle, keeping: kept, isHolding: isHolding)
    for field in news { put(.kept(field, bundle: bundle.id)) }
    put(.edits(edits, generation: generation))
    for field in links.change(generation, { $0.owned() }) ?? []
    where !kept.contains(where: { $0.widget == field.widget && $0.field.path == field.path }) {
      report(field.message(by: bundle.id))
      put(.loss(field.message(by: ""), bundle: bundle.id))
    }
    unmarks.serve(Set(bundle.kinds.map(\.kind.name)))
    takenOver(generation)
    offerHolds(generation)
    declared(generation, nil)
    retryOutdatedRefusals()
  }

  /// Reports the values of others that are gone with removed widgets.
  mutating func reportLosses(_ answer: DaemonAnswer, of bundle: String) {
    guard case .results(let results) = answer else { return }
    for field in BundleClaims.lost(results) { put(.kept(field, bundle: bundle)) }
  }

  /// The same for a bundle that runs. An earlier answer may have been lost.
  private mutating func reportLosses(_ answer: DaemonAnswer, of generation: UInt64) {
    guard let bundle = links[generation]?.bundle.id else { return }
    reportLosses(answer, of: bundle)
    var told: [BundleClaims.KeptField] = []
    if case .results(let results) = answer { told = BundleClaims.lost(results) }
    for field in links.change(generation, { $0.takeLosses() }) ?? []
    where !told.contains(where: { $0.widget == field.widget && $0.field.path == field.field.path })
    {
      put(.kept(field, bundle: bundle))
    }
  }

  /// Reports values of widgets that do not fit the bundle's kinds any more. The daemon names them
  /// only when a kind has changed, so each is reported once.
  ///
  /// If an earlier host declared the bundle, the widgets that go are not known yet. Then the report
  /// follows the question about the known widgets.
  private mutating func noteMisfits(_ results: [KindResult], _ generation: UInt64) {
    guard let bundle = links[generation]?.bundle else { return }
    guard declarations.kinds(of: bundle.id) == nil else {
      let before = declarations.fields(of: bundle.id).keys
      return reportMisfits(results, of: bundle, before: Set(before))
    }
    links.change(generation) { $0.keep(misfits: results) }
  }

  private mutating func reportMisfits(among known: [Widget], _ generation: UInt64) {
    guard let link = links[generation],
      let results = links.change(generation, { $0.takeMisfits() }), !results.isEmpty
    else { return }
    let claims = claims(of: link)
    let before = Set(known.filter { claims.isOwn($0) }.map(\.id))
    reportMisfits(results, of: link.bundle, before: before)
  }

  private mutating func reportMisfits(
    _ results: [KindResult], of bundle: Bundle, before: Set<WidgetID>?
  ) {
    let most = limits.failuresShownMax
    for line in BundleClaims(of: bundle).misfits(results, before: before, countMax: most) {
      report("bundle \(bundle.id): \(line.text)")
      if line.isLost { put(.loss(line.text, bundle: bundle.id)) }
    }
  }

  /// Removes the bundle's widgets whose kind the file has changed. A widget keeps its kind for life,
  /// so a new widget takes the place of each.
  private mutating func clear(
    _ standing: Circumstances, _ refusal: Failure, _ generation: UInt64, at now: HostTime
  ) {
    guard let link = links[generation] else { return }
    let bundle = link.bundle
    let set = HostState.provider(of: bundle.id)
    let known = standing.widgets.map { Widget(id: $0.id, kind: $0.kind, applySet: $0.applySet) }
    var former: [WidgetID: Widget] = [:]
    for widget in known where bundle.widgets.contains(where: { $0.isOfOtherKind(than: widget) }) {
      former[widget.id] = widget
    }
    guard former.values.allSatisfy({ $0.applySet == set }) else {
      let others = known.filter { former[$0.id] != nil }.sorted { WidgetID.inOrder($0.id, $1.id) }
      let claims = claims(of: link)
      let rival = rival(of: claims, among: others, generation)
      let failure = rival.map { Failure(refusal.code, words(of: claims, on: $0)) } ?? refusal
      return refused(failure, isKinds: false, generation, at: now)
    }
    for spec in bundle.widgets {
      guard let id = spec.id, let widget = former[id] else { continue }
      report(
        "bundle \(bundle.id): widget \(id): the file changes its kind from \(widget.kind) to"
          + " \(spec.kind); a new widget with the data of the file replaces it")
    }
    let specs = claims(of: link).specs(beside: known).filter { spec in
      spec.id.map { former[$0] == nil } ?? true
    }
    let id = call(.foresee(specs, set: set), for: .work(generation))
    links.change(generation) { $0.begin(.counting(id, specs: specs)) }
  }

  /// Removes the widgets that are not among the specs.
  ///
  /// - Parameter answer: the values that go with the widgets.
  private mutating func clear(
    _ specs: [WidgetSpec], losing answer: DaemonAnswer, _ generation: UInt64
  ) {
    guard let bundle = links[generation]?.bundle.id else { return }
    let id = call(.own(specs, set: HostState.provider(of: bundle)), for: .work(generation))
    links.change(generation) { link in
      if case .results(let results) = answer { link.expect(BundleClaims.lost(results)) }
      link.begin(.clearing(id))
    }
  }

  private mutating func refused(
    _ failure: Failure, isKinds: Bool, _ generation: UInt64, at now: HostTime
  ) {
    giveBack(generation)
    guard let link = links[generation] else { return }
    let bundle = link.bundle
    links.change(generation) { $0.restWork(isKinds: isKinds) }
    // Without a watch, the instance would change widgets that it does not see. If the watch has
    // just ended, it begins again.
    if isKinds {
      serveRest(generation, after: link.lostKinds)
    } else if links[generation]?.isServing != true {
      stopServing(generation)
    }
    rests.refused(
      bundle.id, for: failure,
      trying: isKinds ? Set(bundle.kindsOfWidgets.keys) : link.tried,
      rival: isKinds ? nil : link.rival)
    let end = now.uptime + limits.refusalRetryInterval
    rest(.work(generation), bundle, until: end)
    resumeHolds(of: bundle, at: now)
    declared(generation, failure)
  }

  // MARK: Time

  /// Passes the time to a bundle's conversation.
  mutating func tick(_ generation: UInt64, at now: HostTime) {
    let missing = links.change(generation) { $0.tick(at: now.uptime) }
    guard let missing = missing ?? nil, let link = links[generation],
      !missing.kinds.isEmpty || !missing.ids.isEmpty
    else { return }
    report(
      "bundle \(link.bundle.id): restoring removed kinds and widgets: "
        + (missing.kinds.map { "kind \($0)" } + missing.ids.map(\.rawValue))
        .joined(separator: ", "))
  }
}

extension WidgetSpec {
  fileprivate func isOfOtherKind(than widget: Widget) -> Bool {
    id == widget.id && kind != widget.kind
  }
}
