import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Sessions of providers: opening, frames in, ending.
///
/// A frame is carried out as it is read, like a call, and takes part in the turn's group. Its result
/// is sent when the group is durable.
final class Providers {
  let bundleCalls: BundleCalls
  let snapshots: Snapshots
  private let budgets: BudgetKeeper
  private let context: ServiceContext
  let audience: ProviderAudience
  private let delivery: ProviderDelivery
  private(set) var table = ProviderTable()
  private var lost = LostProviders()

  init(_ context: ServiceContext, audience: ProviderAudience, budgets: BudgetKeeper) {
    self.context = context
    self.budgets = budgets
    self.audience = audience
    delivery = ProviderDelivery(context, audience: audience)
    bundleCalls = BundleCalls(context)
    snapshots = Snapshots(context)
  }

  /// Begins a conversation. Nobody has said anything yet.
  func converse(
    _ method: Method, sink: any StreamSink, peer: Peer, level: AccessPolicy.Level
  ) throws(RPCStatus) -> any ServedStream {
    guard level >= method.requiredLevel else {
      throw .permissionDenied(method.fullName, peer.uid)
    }
    guard method == .provide else { throw .wrongShape(method) }
    guard context.phase == .serving else { throw .shuttingDown }
    try context.openStream(of: peer)
    let session = ServedSession(
      id: context.streamAccounts.takeID(), peer: peer, sink: sink, providers: self)
    table.add(session)
    watchLease(of: session)
    return session
  }

  /// A user's session.
  func session(_ id: UInt64, of peer: Peer) -> ServedSession? {
    table.all.first { $0.id == id && $0.peer.uid == peer.uid }
  }

  // MARK: - Frames in

  /// Carries out a frame of a provider.
  func receive(_ message: ByteBuffer, _ session: ServedSession) {
    guard !session.isOver, session.ending == nil else { return }
    context.turn.open()
    session.lastHeardAt = .now()
    context.counters.providerFrames += 1
    takePart(session)
    do throws(RPCStatus) {
      let frame = try message.withUnsafeReadableBytes { bytes in
        Result { () throws(RPCStatus) in try context.decode(ProvideRequest.self, bytes) }
      }.get()
      switch frame {
      case .open(let open): try self.open(open, session)
      case .keepAlive where session.provider != nil: session.owesKeepAlive = true
      default:
        guard let provider = session.provider else {
          throw .invalidField("frame", "The first frame must be open.")
        }
        perform(frame, session, provider, .first)
        context.turn.remember(callOf: session.peer) {
          self.perform(frame, session, provider, $0)
        }
      }
    } catch {
      context.note(.provide, error, of: session.peer)
      end(session, error)
    }
  }

  private func open(_ open: ProvideOpen, _ session: ServedSession) throws(RPCStatus) {
    guard session.provider == nil else {
      throw .invalidField("frame", "The session is open already.")
    }
    if let lease = open.lease {
      guard ServedSession.leaseRange.contains(lease) else {
        throw .invalidField("open.lease", "Use 1 to 300 s.")
      }
      session.lease = lease
    }
    let name = open.provider
    if let other = table.byName[name] {
      guard open.takeOver, other.peer.uid == session.peer.uid else {
        throw .providerActive(
          name, uid: other.peer.uid, pid: other.peer.pid,
          canTakeOver: other.peer.uid == session.peer.uid)
      }
      table.name(session, name)
      end(other, .providerReplaced(name))
    } else {
      guard table.count(of: session.peer.uid) < context.limits.providersPerUIDMax else {
        throw .quotaExceeded("providers_per_uid_max", context.limits.providersPerUIDMax)
      }
      table.name(session, name)
    }
    lost.comeBack(name)
    session.provider = name
    session.managesBundles = open.managesBundles
    session.answersSnapshots = open.answersSnapshots
    if open.includeAudience {
      session.audience = Audience()
      audience.join(session, name)
    }
    let last = context.store.lastEventSequence
    let own =
      open.epoch == context.store.epoch ? open.acknowledgedSequence.map(context.eventCursor) : nil
    let known = [own, table.resumePoint(of: name)].compactMap { $0 }.max() ?? last
    session.acknowledged = min(known, last)
    session.eventCursor = session.acknowledged
    if let own { acknowledge(own, by: session, name) }
    session.outputs.append(.opened)
    watchLease(of: session)
  }

  /// Carries out a frame that gets a result; again, if the turn's group was taken back.
  private func perform(
    _ frame: ProvideRequest, _ session: ServedSession, _ provider: String, _ attempt: Attempt
  ) {
    let id = frame.id
    do throws(RPCStatus) {
      let result = try outcome(of: frame, session, provider, attempt)
      if id != 0 { session.outputs.append(.result(result)) }
    } catch {
      context.note(.provide, error, of: session.peer)
      session.outputs.append(
        .result(ProvideResult(id: id, error: error, revision: context.store.revision)))
    }
  }

  private func outcome(
    of frame: ProvideRequest, _ session: ServedSession, _ provider: String, _ attempt: Attempt
  ) throws(RPCStatus) -> ProvideResult {
    var result = ProvideResult(id: frame.id)
    // The frame makes widgets fresh. Before that, the end of the former session makes them stale,
    // even if the provider is back at once.
    if lost.isLost(provider), attempt.isFirst { makeStale([provider]) }
    switch frame {
    case .kinds(let declared):
      try checkChanges(attempt)
      let declaration = KindDeclaration(
        provider: provider, kinds: declared.kinds, prunes: declared.prune, isAttended: true)
      let commit = try context.apply(.applyKinds(declaration), by: session.peer)
      guard case .kindsApplied(let kinds) = commit.outcome else { throw .lost }
      result.kinds = kinds
      session.effects.append(.gaveUp(kinds.filter { $0.action == .deleted }.map(\.name)))
    case .update(let update):
      try checkChanges(attempt)
      guard update.updates.count <= context.limits.providerUpdatesMax else {
        throw .quotaExceeded("provider_updates_max", context.limits.providerUpdatesMax)
      }
      _ = try context.apply(.provide(update.updates, by: provider), by: session.peer)
      session.effects.append(.heard(update.updates.map(\.id)))
    case .acknowledge(let acknowledge):
      try self.acknowledge(acknowledge, session, provider, attempt)
    case .answer(let answer):
      try checkChanges(attempt)
      guard !session.answeredNow.contains(answer.dataRequestID),
        let id = session.askedWidgets[answer.dataRequestID], context.store.revision(of: id) != nil
      else { throw .noDataRequest(answer.dataRequestID) }
      try provide(id, answer.patch, answer.transition, session, provider)
      session.answeredNow.insert(answer.dataRequestID)
      session.effects.append(.heard([id]))
    case .bundleAnswer(let answer): try bundleCalls.answer(answer, of: session)
    case .snapshot(let answer): snapshots.answer(answer, of: session)
    case .open, .keepAlive: break
    }
    result.revision = context.store.revision
    return result
  }

  private func acknowledge(
    _ acknowledge: ProvideAcknowledge, _ session: ServedSession, _ provider: String,
    _ attempt: Attempt
  ) throws(RPCStatus) {
    guard acknowledge.sequence <= max(session.acknowledged, session.eventCursor) else {
      throw .invalidField(
        "acknowledge.sequence", "Event \(acknowledge.sequence) was not sent on this session.")
    }
    if let error = acknowledge.error {
      try checkChanges(attempt)
      let sent = session.unacknowledged.first { $0.last == acknowledge.sequence }
      guard let id = sent?.widgetID else {
        throw .invalidField(
          "acknowledge.error",
          "Only an event that was sent on this session, and is not acknowledged, can have failed.")
      }
      // If the widget is removed, or its kind was given up, nobody is told.
      if let kind = context.store.kind(of: id), context.store.provider(of: kind) == provider {
        try provide(id, WidgetPatch(error: .some(error)), nil, session, provider)
      }
    }
    self.acknowledge(acknowledge.sequence, by: session, provider)
    session.effects.append(.acknowledged(acknowledge.sequence))
  }

  /// Lets the store forget events that are dealt with. While the store takes no changes they come again
  /// after a restart.
  private func acknowledge(
    _ sequence: UInt64, by session: ServedSession, _ provider: String
  ) {
    let caller = Caller(uid: session.peer.uid, pid: session.peer.pid, client: provider)
    _ = try? context.store.apply(
      .acknowledge(provider: provider, through: sequence), by: caller, at: context.turn.now)
  }

  /// Changes one widget for a frame that does not name it.
  private func provide(
    _ id: WidgetID, _ patch: WidgetPatch, _ transition: Transition?, _ session: ServedSession,
    _ provider: String
  ) throws(RPCStatus) {
    let update = ProvidedUpdate(id, patch, transition: transition)
    do throws(StoreError) {
      let caller = Caller(uid: session.peer.uid, pid: session.peer.pid, client: provider)
      try context.commit(.provide([update], by: provider), by: caller)
    } catch .inUpdate(_, _, let error) {
      var status = RPCStatus(error)
      status.errorInfo?.metadata["widget_id"] = id.rawValue
      throw status
    } catch {
      throw RPCStatus(error)
    }
  }

  /// Whether changes can be made.
  private func checkChanges(_ attempt: Attempt) throws(RPCStatus) {
    if context.phase == .draining { throw .shuttingDown }
    try attempt.checkChanges()
  }

  // MARK: - The end of a turn

  /// Sends the results of a session's frames at the end of the turn, after the turn's answers.
  private func takePart(_ session: ServedSession) {
    guard !session.takesPart else { return }
    session.takesPart = true
    context.turn.open()
    context.turn.join(session)
    context.turn.whenDurable { self.endTurn(of: session) }
  }

  private func endTurn(of session: ServedSession) {
    session.takesPart = false
    for output in session.outputs where !session.isOver {
      switch output {
      case .opened: start(session)
      case .result(let result): session.send(.result(result))
      }
    }
    for effect in session.effects {
      switch effect {
      case .acknowledged(let sequence): session.acknowledge(sequence)
      case .heard(let ids): for id in ids { session.heard(of: id) }
      case .gaveUp(let names): session.kinds.subtract(names)
      }
    }
    session.outputs.removeAll()
    session.effects.removeAll()
    session.answeredNow.removeAll()
    // The last acknowledgement is durable only now.
    if session.ending != nil || session.isOver, let provider = session.provider {
      table.remember(provider, at: session.resumePoint)
    }
    if let ending = session.ending { finish(session, ending.status) }
  }

  /// Starts a session: from now on the provider gets events.
  private func start(_ session: ServedSession) {
    guard let provider = session.provider else { return }
    // Events whose group was rolled back since have never happened.
    session.acknowledged = min(
      session.acknowledged, context.store.lastEventSequence,
      context.store.sequenceBeforeUnacknowledged(of: provider) ?? .max)
    session.eventCursor = session.acknowledged
    session.isStarted = true
    session.revisionCursor = context.store.revision
    session.kinds = context.store.kindNames(of: provider)
    for id in context.store.widgetIDs(of: session.kinds) {
      session.ask(about: id, .providerReturned)
    }
    session.syncWhenAsked()
    session.send(
      .opened(
        ProvideOpened(
          sessionID: session.id, epoch: context.store.epoch, revision: context.store.revision,
          lease: session.lease, firstSequence: session.eventCursor + 1,
          includesAudience: session.audience != nil)))
    audience.begin(session)
  }

  // MARK: - Leases

  private func watchLease(of session: ServedSession) {
    watchLease(of: session, until: session.leaseEnd)
  }

  private func watchLease(of session: ServedSession, until instant: NIODeadline) {
    session.leaseTimer?.cancel()
    guard !session.isOver, session.ending == nil else { return }
    session.leaseTimer = context.schedule(at: instant) {
      self.expire(session, at: .now())
    }
  }

  /// Gives the providers of the process before some time to come back.
  func awaitReturns() {
    lost.await(context.store.attendingProviders)
    lookAtAbsent(at: context.startedAt)
  }

  /// Checks all leases, and the absent providers.
  func expire(at instant: NIODeadline) {
    for session in table.all { expire(session, at: instant) }
    lookAtAbsent(at: instant)
  }

  private func expire(_ session: ServedSession, at instant: NIODeadline) {
    switch session.leaseWatch.look(at: instant, end: session.leaseEnd) {
    case .lookAgain(let next): watchLease(of: session, until: next)
    case .isOver:
      context.note(.provide, .leaseExpired(session.lease), of: session.peer)
      end(session, .leaseExpired(session.lease))
    }
  }

  /// Looks whether absent providers have had their time to come back.
  func lookAtAbsent(at instant: NIODeadline) {
    switch lost.lookAtAbsent(at: instant, start: context.startedAt) {
    case .lookAgain(let next): context.schedule(at: next) { self.lookAtAbsent(at: .now()) }
    case .isOver: context.turn.open()
    case nil: break
    }
  }

  // MARK: - Lost providers

  /// Makes the widgets of providers that are gone stale, as a part of the turn under way.
  ///
  /// A provider that is back is asked for fresh data. Until it answers, its widgets are stale.
  func markAbandoned() {
    guard context.phase == .serving else { return }
    commitStale(lost.takeAll(at: .now()))
  }

  /// Makes the widgets of some of the providers that are gone stale now.
  private func makeStale(_ names: Set<String>) {
    guard context.phase == .serving else { return }
    commitStale(lost.take(names))
  }

  private func commitStale(_ names: Set<String>) {
    guard !names.isEmpty else { return }
    _ = try? context.commit(
      .abandon(providers: names), by: Caller(uid: 0, pid: 0, client: ""))
  }

  /// Whether widgets are to be made stale, and the store did not take it.
  var waitsForRetry: Bool { lost.waitsForRetry }
  /// The providers whose widgets are not stale yet.
  var lostProviders: Set<String> { lost.abandoned }

  /// Retries now the changes that the store did not take.
  func retryNow() {
    lost.retryNow()
    resume()
  }

  func groupEnded() { lost.groupEnded() }

  /// The turn's group was taken back.
  func groupFailed() {
    context.kindsMayHaveChanged()
    guard lost.groupFailed(at: .now()) else { return }
    context.schedule(in: LostProviders.retryPause + .milliseconds(1)) { self.resume() }
  }

  // MARK: - Frames out

  /// Whether a session could be given more.
  var hasMore: Bool { delivery.hasMore }

  /// Serves all sessions. Call when the turn's group is durable.
  func serve(at instant: NIODeadline = .now()) { delivery.serve(table.byName.values, at: instant) }

  /// Lets the sessions be served at the end of this turn.
  func resume() { context.turn.open() }

  func send(_ frame: ProvideResponse, to session: ServedSession) {
    guard let message = context.encode(frame) else { return finish(session, .frameTooLarge) }
    session.sink.send(message)
    context.counters.frames += 1
  }

  /// Queues requests for fresh data of widgets. Counts the widgets without a provider.
  func refresh(
    _ request: RefreshWidgetsRequest, at instant: NIODeadline = .now()
  ) throws(RPCStatus) -> RefreshWidgetsResponse {
    if case .selector(let selector) = request.target { try context.checkTerms(selector) }
    var response = RefreshWidgetsResponse()
    var allowed: [KindName: Bool] = [:]
    do throws(StoreError) {
      try context.store.forEachWidget(in: request.target) { id, kind in
        guard let name = context.store.provider(of: kind), let session = table.byName[name] else {
          response.unprovidedCount += 1
          return
        }
        // One call of each kind, whatever the number of widgets.
        let isAllowed = allowed[kind] ?? budgets.take(kind)
        allowed[kind] = isAllowed
        guard isAllowed else {
          response.limitedCount += 1
          return
        }
        response.askedCount += 1
        // A session that is being opened is asked about everything anyway.
        if session.isStarted { session.refresh(id, at: instant) }
      }
    } catch {
      throw RPCStatus(error)
    }
    response.budgets = allowed.keys.sorted { $0.rawValue.precedesByBytes($1.rawValue) }
      .map(budgets.budget)
    if response.askedCount == 0, let exhausted = response.budgets.first {
      throw .refreshBudgetExhausted(exhausted, at: context.turn.now)
    }
    return response
  }

  /// The remaining refreshes of a kind's widgets.
  func budget(of kind: KindName) -> RefreshBudget { budgets.budget(of: kind) }

  /// Asks providers for new timelines. An absent provider is asked about everything when it is
  /// back.
  func askForTimelines(_ ids: [WidgetID], at instant: NIODeadline = .now()) {
    for id in ids {
      guard let kind = context.store.kind(of: id), let name = context.store.provider(of: kind),
        let session = table.byName[name], session.isStarted
      else { continue }
      session.refresh(id, .timeline, at: instant)
    }
  }

  // MARK: - Ending

  /// Ends a session at the end of the turn, after the results of its frames; nil means success.
  func end(_ session: ServedSession, _ status: RPCStatus?) {
    guard !session.isOver, session.ending == nil else { return }
    session.ending = .init(status: status)
    release(session)
    takePart(session)
  }

  /// Ends a session now.
  func finish(_ session: ServedSession, _ status: RPCStatus?) {
    guard !session.isOver else { return }
    forget(session)
    session.sink.finish(status)
  }

  /// Forgets a session whose provider is gone.
  func forget(_ session: ServedSession) {
    guard !session.isOver else { return }
    session.isOver = true
    release(session)
    bundleCalls.endAll(of: session)
    snapshots.endAll(of: session)
    session.leaseTimer?.cancel()
    session.deadlineTimer?.cancel()
    table.remove(session)
    context.streamAccounts.close(of: session.peer.uid)
  }

  /// The provider has no session any more, unless it has another one by now.
  private func release(_ session: ServedSession) {
    guard let name = session.provider else { return }
    audience.leave(session, name)
    guard table.release(session), context.phase == .serving else { return }
    lost.lose(name)
    context.turn.open()
  }

  /// Ends sessions: the providers find the next process.
  func endAll(where isMeant: (ServedSession) -> Bool = { _ in true }) {
    for session in table.all where isMeant(session) { finish(session, .shuttingDown) }
  }

  func cancelTimers() { audience.cancelTimer() }
}

extension ProvideRequest {
  /// The provider's number for the frame.
  fileprivate var id: UInt64 {
    switch self {
    case .kinds(let frame): frame.id
    case .update(let frame): frame.id
    case .acknowledge(let frame): frame.id
    case .answer(let frame): frame.id
    case .bundleAnswer(let frame): frame.id
    case .snapshot(let frame): frame.id
    case .open, .keepAlive: 0
    }
  }
}

extension ProvideAnswer {
  /// The change to the widget.
  fileprivate var patch: WidgetPatch {
    switch outcome {
    case .error(let error): return WidgetPatch(error: .some(error))
    case .patch(var patch):
      if patch.error == nil { patch.error = .some(nil) }
      return patch
    }
  }
}
