import WidgetBundle
import WidgetModel

// The waits after refusals (`Rests`), and the remains of removed bundles (`Withdrawals`, `Marks`).
extension DaemonConversation {
  // MARK: Waits after refusals

  /// Begins the wait after a refusal, which is known.
  mutating func rest(_ holder: Rests.Holder, _ bundle: Bundle, until end: Duration?) {
    cancelRest(holder)
    holds.outdateErrors()
    rests.begin(
      holder, bundle, leaving: leaving(wantedBy: bundle),
      isDropped: isRivalDropped(of: bundle.id), until: end)
    look(holder)
  }

  private mutating func look(_ holder: Rests.Holder) {
    guard let question = rests.question(of: holder) else { return }
    rests.asked(holder, with: call(question, for: .look(holder)))
  }

  mutating func looked(
    _ result: Result<DaemonAnswer, Failure>, _ holder: Rests.Holder, at now: HostTime
  ) {
    var circumstances: Circumstances?
    if case .success(.standing(let known)) = result { circumstances = known }
    let hasChanged = rests.answered(
      holder, circumstances, lookAgainAt: now.uptime + limits.refusalLookInterval)
    if let circumstances, rests.contains(holder) { tellOwners(circumstances, holder) }
    if hasChanged { endRest(holder) }
  }

  /// Tells which other bundles have what a refused bundle declares.
  private mutating func tellOwners(_ circumstances: Circumstances, _ holder: Rests.Holder) {
    let refused: String?
    switch holder {
    case .connection(let generation), .work(let generation):
      refused = links[generation]?.bundle.id
    case .version: return
    }
    guard let refused else { return }
    let prefix = HostState.provider(of: "")
    let owners = circumstances.kinds.map(\.provider) + circumstances.widgets.map(\.applySet)
    let others = Set(
      owners.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    )
    .subtracting([refused])
    if !others.isEmpty { put(.blocked(id: refused, by: others)) }
  }

  @discardableResult
  mutating func cancelRest(_ holder: Rests.Holder) -> Bool {
    let (wasWaiting, call) = rests.end(holder)
    if wasWaiting { holds.outdateErrors() }
    cancel(call)
    return wasWaiting
  }

  /// Ends a wait: retries.
  mutating func endRest(_ holder: Rests.Holder) {
    guard cancelRest(holder) else { return }
    switch holder {
    case .connection(let generation): links.change(generation) { $0.endConnectionRest() }
    case .work(let generation): links.change(generation) { $0.endWorkRest() }
    case .version(let id): put(.retry(id: id))
    }
  }

  /// Retries bundles that the daemon has refused: one, or all if `id` is nil.
  mutating func retry(_ id: String?) {
    for holder in rests.holders where id == nil || bundle(of: holder) == id { endRest(holder) }
  }

  /// The bundle that waits.
  func bundle(of holder: Rests.Holder) -> String? {
    switch holder {
    case .connection(let generation), .work(let generation): links[generation]?.bundle.id
    case .version(let id): id
    }
  }

  /// The daemon has refused a version, and the former version runs. nil: do not retry any more.
  mutating func refusedVersion(_ id: String, _ bundle: Bundle?) {
    cancelRest(.version(id))
    if let bundle { rest(.version(id), bundle, until: nil) }
  }

  mutating func tickRests(at now: HostTime) {
    for (holder, isOver) in rests.due(at: now.uptime) {
      if isOver { endRest(holder) } else { look(holder) }
    }
  }

  // MARK: Removed bundles

  /// Removes the widgets and kinds of a bundle.
  ///
  /// - Parameters:
  ///   - heir: the bundle that takes over what it declares, too. It also takes over from the bundles
  ///     whose heir was this one.
  ///   - note: the line for the log, when the widgets and kinds are gone.
  mutating func withdraw(
    _ id: String, heir: String? = nil, note: HostState.RemovalNote? = nil
  ) {
    let left = withdrawals.inherited(by: id).union([id])
    guard let taken = withdrawals.begin(id, heir: heir, note: note) else { return }
    if let heir {
      for former in taken { links.inherit(former, by: heir) }
    } else {
      holds.forget(Set(left.map(HostState.provider(of:))))
    }
    marks.forget(HostState.provider(of: id))
    declarations.forget(id, hasHeir: heir != nil)
    rests.forget(id)
  }

  mutating func proceedWithdrawals() {
    // Another host may run the bundle, unless this host has the session.
    guard host.isHolding else { return }
    // The removal waits, because a session that is not closed yet could register the kinds again.
    for id in withdrawals.idle where !ending.has(id) && !waitsForHeir(id) {
      guard let next = withdrawals.nextCall(of: id) else { continue }
      withdrawals.called(id, with: call(next, for: .withdrawal(id)))
    }
  }

  /// Whether the heir of a bundle must declare its widgets before the rest is removed.
  private func waitsForHeir(_ id: String) -> Bool {
    guard let heir = withdrawals.heir(of: id), links.contains(heir) else { return false }
    return withdrawals.waitsForHeir(id, isHolding: holds.has(HostState.provider(of: id)))
  }

  mutating func withdrawalAnswered(
    _ result: Result<DaemonAnswer, Failure>, _ id: String, at now: HostTime
  ) {
    guard withdrawals.contains(id) else { return }
    if case .success(let answer) = result {
      let bundle = withdrawals.heir(of: id) ?? id
      let losses = withdrawals.losses(of: id, after: answer)
      for field in losses { put(.kept(field, bundle: bundle)) }
      withdrawals.tell(losses, of: id)
    }
    let note = withdrawals.note(of: id)
    switch withdrawals.answered(result, id, at: now.uptime, limits) {
    case .nothing: break
    case .refused(let message): report(message)
    case .removed(let showsBundle):
      if let note { put(.note(note.text(countMax: limits.othersShownMax))) }
      declarations.forget(id)
      // The widget of the former bundle goes, too.
      if showsBundle { standing.declareAgain() }
    }
  }

  // MARK: Marks

  /// Shows the problems of bundles on the widgets that no instance serves.
  mutating func showTroubles(_ troubles: [String: BundleTrouble]) {
    cancel(marks.set(troubles))
    holds.outdateErrors()
    for id in withdrawals.ids { marks.forget(HostState.provider(of: id)) }
  }

  /// The kinds whose widgets instances serve, now or soon. They show the problems of bundles.
  var servedKinds: Set<KindName> {
    Set(links.all.flatMap(\.servedKinds))
  }

  /// Ends the errors of a bundle that is removed, or has another id.
  mutating func unmark(_ errors: HostState.LeftErrors) {
    cancel(unmarks.begin(errors))
    // The list of the marks has the errors that end now.
    cancel(marks.lookAgain())
  }

  mutating func proceedMarks() {
    guard host.isHolding else { return }
    if let (id, next) = unmarks.nextCall(beside: holds.ids) {
      unmarks.called(id, with: call(next, for: .unmark(id)))
    }
    guard !marks.isIdle else { return }
    let (served, held) = (servedKinds, holds.ids)
    cancel(marks.follow(served: served, watched: watchedKinds, beside: held))
    // All of them set all errors of a widget, so the marks wait.
    guard unmarks.isIdle, !heldChanges.isEnding,
      let next = marks.nextCall(served: served, beside: held)
    else { return }
    marks.called(with: call(next, for: .mark))
  }

  mutating func unmarkAnswered(
    _ result: Result<DaemonAnswer, Failure>, _ id: String, at now: HostTime
  ) {
    if let text = unmarks.answered(result, id, at: now.uptime, limits) { report(text) }
    if case .success(.standing(_)) = result { marks.drop(unmarks.kinds(of: id)) }
  }

  mutating func markAnswered(_ result: Result<DaemonAnswer, Failure>, at now: HostTime) {
    let served = servedKinds
    let text = marks.answered(
      result, served: served, beside: holds.ids, at: now.uptime, limits)
    if let text { report(text) }
    // Widgets that wait show only the problems of bundles that still have their kinds.
    if case .success(.standing(_)) = result { holds.outdateErrors() }
  }
}
