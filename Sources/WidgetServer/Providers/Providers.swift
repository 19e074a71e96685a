import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTimers

/// Sessions of providers: opening, frames in, ending.
///
/// A frame is carried out as it is read, like a call, and takes part in the turn's group. Its result
/// is sent when the group is durable.
final class Providers {
  let bundleCalls: BundleCalls
  let snapshots: Snapshots
  let audience: ProviderAudience
  let stale: StaleWidgets
  private let refreshes: Refreshes
  private let context: ServiceContext
  private let frames: ProviderFrames
  let delivery: ProviderDelivery
  private lazy var output = SessionOutput(context) { [unowned self] in finish($0, $1) }
  private(set) var table = ProviderTable()
  private(set) var silent = SilentProviders()

  init(_ context: ServiceContext, audience: ProviderAudience, budgets: BudgetKeeper) {
    self.context = context
    self.audience = audience
    stale = StaleWidgets(context)
    delivery = ProviderDelivery(context, audience: audience)
    refreshes = Refreshes(context, delivery: delivery, budgets: budgets)
    bundleCalls = BundleCalls(context)
    snapshots = Snapshots(context)
    frames = ProviderFrames(context, bundleCalls: bundleCalls, snapshots: snapshots)
  }

  /// Begins a conversation. No message has arrived yet.
  func converse(
    _ method: Method, sink: any StreamSink, peer: Peer, level: AccessPolicy.Level
  ) throws(RPCStatus) -> any ServedStream {
    guard level >= method.requiredLevel else {
      throw .permissionDenied(method, peer.uid)
    }
    guard method == .provide else { throw .wrongShape(method) }
    guard context.phase == .serving else { throw .shuttingDown }
    try context.openStream(of: peer, level)
    let session = ServedSession(
      id: context.takeStreamID(), peer: peer, sink: sink, output: output,
      quietPlace: delivery.quietPlace)
    table.add(session)
    watchLease(of: session)
    return SessionStream(session, of: self)
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
    session.heard(at: .now())
    context.counters.countProviderFrame()
    takePart(session)
    do throws(RPCStatus) {
      let frame = try message.withUnsafeReadableBytes { bytes in
        Result { () throws(RPCStatus) in try context.decode(ProvideRequest.self, bytes) }
      }.get()
      switch frame {
      case .open(let open): try self.open(open, session)
      case .keepAlive where session.provider != nil:
        session.keepAlive()
        delivery.attend(session)
      default:
        guard let provider = session.provider else {
          throw .invalidField("frame", "The first frame must be open.")
        }
        frames.perform(frame, session, provider, .first)
        context.turn.remember(callOf: session.peer, session.roomUse(of: frame)) { [frames] in
          frames.perform(frame, session, provider, $0)
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
    if let lease = open.lease, !Lease.durations.contains(lease) {
      throw .invalidField("open.lease", "Use 1 to 300 s.")
    }
    let name = open.provider
    // The connection of this session is closed, but its call ends in a later turn.
    if let gone = table.byName[name], gone.sink.isLost { forget(gone) }
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
    stale.comeBack(name)
    silent.comeBack(name)
    let last = context.store.lastEventSequence
    let own =
      open.epoch == context.store.epoch ? open.acknowledgedSequence.map(context.eventCursor) : nil
    let known = [own, table.resumePoint(of: name)].compactMap { $0 }.max() ?? last
    session.open(open, after: min(known, last))
    if session.includesAudience { audience.join(session, name) }
    if let own { frames.acknowledge(own, by: session, name) }
    watchLease(of: session)
  }

  // MARK: - The end of a turn

  /// Sends the results of a session's frames at the end of the turn, after the turn's answers.
  private func takePart(_ session: ServedSession) {
    guard session.joinTurn() else { return }
    context.turn.join(session)
    context.turn.whenDurable { self.endTurn(of: session) }
  }

  private func endTurn(of session: ServedSession) {
    if session.hasEffects { delivery.attend(session) }
    session.endTurn { output in
      switch output {
      case .opened: start(session)
      case .result(let result): session.send(.result(result))
      }
    }
    // The last acknowledgement is durable only now.
    if session.ending != nil || session.isOver, let provider = session.provider {
      table.remember(provider, at: session.resumePoint)
    }
    if let ending = session.ending { finish(session, ending.status) }
  }

  private func start(_ session: ServedSession) {
    guard let provider = session.provider else { return }
    session.send(session.start(provider, in: context.store))
    delivery.begin(session)
    audience.begin(session)
  }

  // MARK: - Leases

  private func watchLease(of session: ServedSession) {
    watchLease(of: session, until: session.leaseEnd)
  }

  private func watchLease(of session: ServedSession, until instant: NIODeadline) {
    guard !session.isOver, session.ending == nil else { return session.setLeaseTimer(nil) }
    session.setLeaseTimer(context.schedule(at: instant) { self.expire(session, at: .now()) })
  }

  /// Checks all leases, and the absent providers.
  func expire(at instant: NIODeadline) {
    for session in table.all { expire(session, at: instant) }
    stale.lookAtAbsent(at: instant)
  }

  private func expire(_ session: ServedSession, at instant: NIODeadline) {
    switch session.lookAtLease(at: instant) {
    case .lookAgain(let next): watchLease(of: session, until: next)
    case .isOver:
      let status = RPCStatus.leaseExpired(session.leaseDuration)
      context.note(.provide, status, of: session.peer)
      if let provider = session.provider, table.byName[provider] === session {
        let since = Timestamp.wallClock().advanced(by: .zero - session.leaseDuration)
        silent.expired(
          provider, pid: session.peer.pid, since: since, managesBundles: session.managesBundles)
      }
      end(session, status)
    }
  }

  /// The turn's group was taken back.
  func groupFailed() {
    context.kindsMayHaveChanged()
    stale.groupFailed()
  }

  // MARK: - Frames out

  /// Whether a session could be given more.
  var hasMore: Bool { delivery.hasMore }

  /// The store keeps all removals after this revision for sessions that wait for their turn.
  var retainedRevision: Revision { delivery.retainedRevision }

  /// Serves all sessions. Call when the turn's group is durable.
  func serve(at instant: NIODeadline = .now()) { delivery.serve(table.byName, at: instant) }

  /// The number of sessions that are not quiet, for tests.
  var attendedCount: Int { delivery.attendedCount }

  /// Lets the sessions be served at the end of this turn.
  func resume() { context.turn.open() }

  // MARK: - Fresh data

  /// Queues requests for fresh data of widgets. Counts the widgets without a provider.
  func refresh(
    _ request: RefreshWidgetsRequest, at instant: NIODeadline = .now()
  ) throws(RPCStatus) -> RefreshWidgetsResponse {
    try refreshes.request(request, of: table, at: instant)
  }

  /// Asks providers for new timelines.
  func askForTimelines(_ ids: [WidgetID]) { refreshes.requestTimelines(ids, of: table) }

  // MARK: - Ending

  /// Ends a session at the end of the turn, after the results of its frames; nil means success.
  func end(_ session: ServedSession, _ status: RPCStatus?) {
    guard session.end(with: status) else { return }
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
    guard session.close() else { return }
    release(session)
    bundleCalls.endAll(of: session, silence: session.provider.flatMap { silent[$0] })
    snapshots.endAll(of: session)
    table.remove(session)
    delivery.forget(session)
    context.closeStream(of: session.peer.uid)
  }

  /// The provider has no session any more, unless it has another one by now.
  private func release(_ session: ServedSession) {
    guard let name = session.provider else { return }
    audience.leave(session, name)
    guard table.release(session), context.phase == .serving else { return }
    stale.lose(name)
  }

  /// Ends all sessions: the providers connect to the next process.
  func endAll(where isMeant: (ServedSession) -> Bool = { _ in true }) {
    for session in table.all where isMeant(session) { finish(session, .shuttingDown) }
  }

  func cancelTimers() { audience.cancelTimer() }
}
