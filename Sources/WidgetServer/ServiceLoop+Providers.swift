import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Sessions of providers: opening, frames in, ending.
///
/// A frame is carried out as it is read, like a call, and takes part in the turn's group. Its result
/// is sent when the group is durable.
extension ServiceLoop {
  /// Begins a conversation. Nobody has said anything yet.
  func converse(
    _ method: Method, sink: any StreamSink, peer: Peer, level: AccessPolicy.Level
  ) throws(RPCStatus) -> any ServedStream {
    guard level >= method.requiredLevel else {
      throw .permissionDenied(method.fullName, peer.uid)
    }
    guard method == .provide else { throw .wrongShape(method) }
    guard !isHandingOver else { throw .shuttingDown }
    try countStream(of: peer)
    lastSubscriptionID += 1
    let session = ProviderSession(id: lastSubscriptionID, peer: peer, sink: sink, service: self)
    providers.sessions[ObjectIdentifier(session)] = session
    watchLease(of: session)
    return session
  }

  // MARK: - Frames in

  /// Carries out a frame of a provider.
  func receive(_ message: ByteBuffer, _ session: ProviderSession) {
    guard !session.isOver, session.ending == nil else { return }
    openTurn()
    session.lastHeardAt = .now()
    counters.providerFrames += 1
    takePart(session)
    do throws(RPCStatus) {
      let frame = try message.withUnsafeReadableBytes { bytes in
        Result { () throws(RPCStatus) in try decode(ProvideRequest.self, bytes) }
      }.get()
      switch frame {
      case .open(let open): try self.open(open, session)
      case .keepAlive where session.provider != nil: session.owesKeepAlive = true
      default:
        guard let provider = session.provider else {
          throw .invalidField("frame", "The first frame must be open.")
        }
        perform(frame, session, provider)
        guard remembersCalls, storageFailure == nil else { return }
        remember(session.peer) { self.perform(frame, session, provider) }
      }
    } catch {
      note(.provide, error, of: session.peer)
      end(session, error)
    }
  }

  private func open(_ open: ProvideOpen, _ session: ProviderSession) throws(RPCStatus) {
    guard session.provider == nil else {
      throw .invalidField("frame", "The session is open already.")
    }
    if let lease = open.lease {
      guard ProviderSession.leaseRange.contains(lease) else {
        throw .invalidField("open.lease", "Use 1 to 300 s.")
      }
      session.lease = lease
    }
    let name = open.provider
    if let other = providers.byName[name] {
      guard open.takeOver, other.peer.uid == session.peer.uid else {
        throw .providerActive(
          name, uid: other.peer.uid, pid: other.peer.pid,
          canTakeOver: other.peer.uid == session.peer.uid)
      }
      providers.remember(name, at: other.resumePoint)
      providers.byName[name] = session
      end(other, .providerReplaced(name))
    } else {
      let count = providers.byName.values.lazy.filter { $0.peer.uid == session.peer.uid }.count
      guard count < limits.providersPerUIDMax else {
        throw .quotaExceeded("providers_per_uid_max", limits.providersPerUIDMax)
      }
      providers.byName[name] = session
    }
    providers.absent.remove(name)
    session.provider = name
    session.managesBundles = open.managesBundles
    if open.includeAudience { session.audience = Audience() }
    let last = store.lastEventSequence
    let own = open.epoch == store.epoch ? open.acknowledgedSequence.map(eventCursor) : nil
    let known = [own, providers.resumePoints[name]].compactMap { $0 }.max() ?? last
    session.acknowledged = min(known, last)
    session.eventCursor = session.acknowledged
    if let own { acknowledge(own, by: session, name) }
    session.outputs.append(.opened)
    watchLease(of: session)
  }

  /// Carries out a frame that gets a result; again, if the turn's group was taken back.
  private func perform(_ frame: ProvideRequest, _ session: ProviderSession, _ provider: String) {
    let id = frame.id
    do throws(RPCStatus) {
      let result = try outcome(of: frame, session, provider)
      if id != 0 { session.outputs.append(.result(result)) }
    } catch {
      note(.provide, error, of: session.peer)
      session.outputs.append(
        .result(ProvideResult(id: id, error: error, revision: store.revision)))
    }
  }

  private func outcome(
    of frame: ProvideRequest, _ session: ProviderSession, _ provider: String
  ) throws(RPCStatus) -> ProvideResult {
    var result = ProvideResult(id: frame.id)
    // What it says makes fresh. That its session before has ended comes first, however quickly it is back.
    if providers.abandoned.contains(provider), storageFailure == nil { markAbandoned([provider]) }
    switch frame {
    case .kinds(let declared):
      try checkChanges()
      let declaration = KindDeclaration(
        provider: provider, kinds: declared.kinds, prunes: declared.prune, isAttended: true)
      let commit = try apply(.applyKinds(declaration), by: session.peer)
      guard case .kindsApplied(let kinds) = commit.outcome else { throw .lost }
      result.kinds = kinds
      session.effects.append(.gaveUp(kinds.filter { $0.action == .deleted }.map(\.name)))
    case .update(let update):
      try checkChanges()
      guard update.updates.count <= limits.providerUpdatesMax else {
        throw .quotaExceeded("provider_updates_max", limits.providerUpdatesMax)
      }
      _ = try apply(.provide(update.updates, by: provider), by: session.peer)
      session.effects.append(.heard(update.updates.map(\.id)))
    case .acknowledge(let acknowledge):
      try self.acknowledge(acknowledge, session, provider)
    case .answer(let answer):
      try checkChanges()
      guard !session.answeredNow.contains(answer.dataRequestID),
        let id = session.askedWidgets[answer.dataRequestID], store.revision(of: id) != nil
      else { throw .noDataRequest(answer.dataRequestID) }
      try provide(id, answer.patch, answer.transition, session, provider)
      session.answeredNow.insert(answer.dataRequestID)
      session.effects.append(.heard([id]))
    case .bundleAnswer(let answer): try self.answer(answer, of: session)
    case .open, .keepAlive: break
    }
    result.revision = store.revision
    return result
  }

  private func acknowledge(
    _ acknowledge: ProvideAcknowledge, _ session: ProviderSession, _ provider: String
  ) throws(RPCStatus) {
    guard acknowledge.sequence <= max(session.acknowledged, session.eventCursor) else {
      throw .invalidField(
        "acknowledge.sequence", "Event \(acknowledge.sequence) was not sent on this session.")
    }
    if let error = acknowledge.error {
      try checkChanges()
      let sent = session.unacknowledged.first { $0.last == acknowledge.sequence }
      guard let id = sent?.widgetID else {
        throw .invalidField(
          "acknowledge.error",
          "Only an event that was sent on this session, and is not acknowledged, can have failed.")
      }
      // Its widget may be gone, or of a kind that was given up: then nobody is to be told.
      if let kind = store.kind(of: id), store.provider(of: kind) == provider {
        try provide(id, WidgetPatch(error: .some(error)), nil, session, provider)
      }
    }
    self.acknowledge(acknowledge.sequence, by: session, provider)
    session.effects.append(.acknowledged(acknowledge.sequence))
  }

  /// Lets the store forget events that are dealt with. While the store takes no changes they come again
  /// after a restart.
  private func acknowledge(
    _ sequence: UInt64, by session: ProviderSession, _ provider: String
  ) {
    let caller = Caller(uid: session.peer.uid, pid: session.peer.pid, client: provider)
    _ = try? store.apply(
      .acknowledge(provider: provider, through: sequence), by: caller, at: now)
  }

  /// Changes one widget for a frame that does not name it.
  private func provide(
    _ id: WidgetID, _ patch: WidgetPatch, _ transition: Transition?, _ session: ProviderSession,
    _ provider: String
  ) throws(RPCStatus) {
    let update = ProvidedUpdate(id, patch, transition: transition)
    do throws(StoreError) {
      let caller = Caller(uid: session.peer.uid, pid: session.peer.pid, client: provider)
      let commit = try store.apply(.provide([update], by: provider), by: caller, at: now)
      if commit.isChange { counters.commits += 1 }
    } catch .inUpdate(_, _, let error) {
      var status = RPCStatus(error)
      status.errorInfo?.metadata["widget_id"] = id.rawValue
      throw status
    } catch {
      throw RPCStatus(error)
    }
  }

  /// Whether changes can be made.
  private func checkChanges() throws(RPCStatus) {
    if isDraining { throw .shuttingDown }
    if let storageFailure { throw .storageFailed(storageFailure) }
  }

  // MARK: - The end of a turn

  /// Lets what comes of a session's frames be told at the end of the turn, behind the turn's answers.
  private func takePart(_ session: ProviderSession) {
    guard !session.takesPart else { return }
    session.takesPart = true
    openTurn()
    touch(session)
    openings.append { self.endTurn(of: session) }
  }

  private func endTurn(of session: ProviderSession) {
    session.takesPart = false
    for output in session.outputs where !session.isOver {
      switch output {
      case .opened: start(session)
      case .result(let result): send(.result(result), to: session)
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
    // What was acknowledged last is durable only now.
    if session.ending != nil || session.isOver, let provider = session.provider {
      providers.remember(provider, at: session.resumePoint)
    }
    if let ending = session.ending { finish(session, ending.status) }
  }

  /// From here on the provider is told what happens.
  private func start(_ session: ProviderSession) {
    guard let provider = session.provider else { return }
    // What was taken back since has never happened.
    session.acknowledged = min(
      session.acknowledged, store.lastEventSequence,
      store.sequenceBeforeUnacknowledged(of: provider) ?? .max)
    session.eventCursor = session.acknowledged
    session.isStarted = true
    session.revisionCursor = store.revision
    session.kinds = store.kindNames(of: provider)
    for id in store.widgetIDs(of: session.kinds) { session.ask(about: id, .providerReturned) }
    session.syncWhenAsked()
    send(
      .opened(
        ProvideOpened(
          sessionID: session.id, epoch: store.epoch, revision: store.revision,
          lease: session.lease, firstSequence: session.eventCursor + 1,
          includesAudience: session.audience != nil)), to: session)
    beginAudience(of: session)
  }

  // MARK: - Leases

  private func watchLease(of session: ProviderSession) {
    watchLease(of: session, until: session.leaseEnd)
  }

  private func watchLease(of session: ProviderSession, until instant: NIODeadline) {
    session.leaseTimer?.cancel()
    guard !session.isOver, session.ending == nil else { return }
    session.leaseTimer = eventLoop.assumeIsolated().scheduleTask(deadline: instant) {
      self.expire(session, at: .now())
    }
  }

  /// Gives a provider of the process before some time to come back.
  func awaitProviders() {
    providers.absent = store.attendingProviders
    if !providers.absent.isEmpty { awaitProviders(until: startedAt + ProviderTable.returnTime) }
  }

  private func awaitProviders(until instant: NIODeadline) {
    eventLoop.assumeIsolated().scheduleTask(deadline: instant) {
      self.expireAbsentProviders(at: .now())
    }
  }

  /// Looks at all leases, and at who has not come back.
  func expireProviders(at instant: NIODeadline) {
    for session in Array(providers.sessions.values) { expire(session, at: instant) }
    expireAbsentProviders(at: instant)
  }

  private func expire(_ session: ProviderSession, at instant: NIODeadline) {
    switch session.leaseWatch.look(at: instant, end: session.leaseEnd) {
    case .lookAgain(let next): watchLease(of: session, until: next)
    case .isOver:
      note(.provide, .leaseExpired(session.lease), of: session.peer)
      end(session, .leaseExpired(session.lease))
    }
  }

  func expireAbsentProviders(at instant: NIODeadline) {
    guard !providers.absent.isEmpty else { return }
    switch providers.absenceWatch.look(at: instant, end: startedAt + ProviderTable.returnTime) {
    case .lookAgain(let next): awaitProviders(until: next)
    case .isOver:
      providers.abandoned.formUnion(providers.absent)
      providers.absent.removeAll()
      openTurn()
    }
  }

  /// Makes the widgets of providers that are gone stale, as a part of the turn under way.
  func markAbandoned() {
    if let retryAt = providers.retryAt, NIODeadline.now() < retryAt { return }
    providers.retryAt = nil
    // A provider that is back is asked for fresh data. Until it answers, its widgets are stale.
    markAbandoned(providers.abandoned)
  }

  /// Makes the widgets of some of the providers that are gone stale now.
  private func markAbandoned(_ names: Set<String>) {
    guard !names.isEmpty, !isDraining, !isHandingOver else { return }
    providers.abandoned.subtract(names)
    providers.abandonedInTurn.formUnion(names)
    let caller = Caller(uid: 0, pid: 0, client: "")
    let commit = try? store.apply(.abandon(providers: names), by: caller, at: now)
    if commit?.isChange == true { counters.commits += 1 }
  }

  /// The turn's group was taken back.
  func takeBackProviders() {
    providers.kindsMayHaveChanged = true
    guard !providers.abandonedInTurn.isEmpty else { return }
    providers.abandoned.formUnion(providers.abandonedInTurn)
    providers.abandonedInTurn.removeAll()
    providers.retryAt = .now() + .seconds(1)
    eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(1_001)) { self.openTurn() }
  }

  // MARK: - Ending

  /// Ends a session at the end of the turn, after what came of its frames; nil means well.
  func end(_ session: ProviderSession, _ status: RPCStatus?) {
    guard !session.isOver, session.ending == nil else { return }
    session.ending = .init(status: status)
    release(session)
    takePart(session)
  }

  /// Ends a session now.
  func finish(_ session: ProviderSession, _ status: RPCStatus?) {
    guard !session.isOver else { return }
    forget(session)
    session.sink.finish(status)
  }

  /// Forgets a session whose provider is gone.
  func forget(_ session: ProviderSession) {
    guard !session.isOver else { return }
    session.isOver = true
    release(session)
    endBundleCalls(of: session)
    session.leaseTimer?.cancel()
    session.deadlineTimer?.cancel()
    providers.sessions[ObjectIdentifier(session)] = nil
    uncountStream(of: session.peer.uid)
  }

  /// The provider has no session any more, unless it has another one by now.
  private func release(_ session: ProviderSession) {
    guard let name = session.provider, providers.byName[name] === session else { return }
    providers.remember(name, at: session.resumePoint)
    providers.byName[name] = nil
    guard !isDraining, !isHandingOver else { return }
    providers.abandoned.insert(name)
    openTurn()
  }

  /// Ends all sessions: the providers find the next process.
  func endProviders(where isMeant: (ProviderSession) -> Bool = { _ in true }) {
    for session in Array(providers.sessions.values) where isMeant(session) {
      finish(session, .shuttingDown)
    }
  }
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
    case .open, .keepAlive: 0
    }
  }
}

extension ProvideAnswer {
  /// What it does to the widget.
  fileprivate var patch: WidgetPatch {
    switch outcome {
    case .error(let error): return WidgetPatch(error: .some(error))
    case .patch(var patch):
      if patch.error == nil { patch.error = .some(nil) }
      return patch
    }
  }
}
