import WidgetCore
import WidgetModel
import WidgetProto

/// Carries out the frames of providers, as parts of the turn's group.
final class ProviderFrames {
  private let context: ServiceContext
  private let bundleCalls: BundleCalls
  private let snapshots: Snapshots

  init(_ context: ServiceContext, bundleCalls: BundleCalls, snapshots: Snapshots) {
    self.context = context
    self.bundleCalls = bundleCalls
    self.snapshots = snapshots
  }

  /// Carries out a frame that gets a result; again, if the turn's group was taken back.
  func perform(
    _ frame: ProvideRequest, _ session: ServedSession, _ provider: String, _ attempt: Attempt
  ) {
    let id = frame.id
    let isChange = frame.roomUse == .needs
    let isRefused = isChange && !attempt.isStored
    let parts =
      isRefused || isChange && session.lacksChanges ? session.parts(of: frame) : ChangeParts()
    do throws(RPCStatus) {
      let result = try outcome(of: frame, session, provider, attempt)
      session.noteStored(parts)
      if id != 0 { session.add(.result(result)) }
    } catch {
      context.note(.provide, error, of: session.peer)
      if isRefused { session.noteRefused(parts) }
      session.add(.result(ProvideResult(id: id, error: error, revision: context.store.revision)))
    }
  }

  /// Lets the store forget events that the session has handled.
  func acknowledge(_ sequence: UInt64, by session: ServedSession, _ provider: String) {
    let caller = Caller(uid: session.peer.uid, pid: session.peer.pid, client: provider)
    context.acknowledge(sequence, by: caller, provider)
  }

  private func outcome(
    of frame: ProvideRequest, _ session: ServedSession, _ provider: String, _ attempt: Attempt
  ) throws(RPCStatus) -> ProvideResult {
    var result = ProvideResult(id: frame.id)
    switch frame {
    case .kinds(let declared):
      try checkChanges(attempt)
      let declaration = KindDeclaration(
        provider: provider, kinds: declared.kinds, prunes: declared.prune, isAttended: true)
      let commit = try context.apply(.applyKinds(declaration), by: session.peer)
      guard case .kindsApplied(let kinds) = commit.outcome else { throw .lost }
      result.kinds = kinds
      session.add(.gaveUp(kinds.filter { $0.action == .deleted }.map(\.name)))
    case .update(let update):
      try checkChanges(attempt)
      guard update.updates.count <= context.limits.providerUpdatesMax else {
        throw .quotaExceeded("provider_updates_max", context.limits.providerUpdatesMax)
      }
      _ = try context.apply(.provide(update.updates, by: provider), by: session.peer)
      session.add(.heard(update.updates.map(\.id)))
    case .acknowledge(let acknowledge):
      try self.acknowledge(acknowledge, session, provider, attempt)
    case .answer(let answer):
      try checkChanges(attempt)
      guard let id = session.widget(ofRequest: answer.dataRequestID),
        context.store.revision(of: id) != nil
      else { throw .noDataRequest(answer.dataRequestID) }
      try provide(id, answer.patch, answer.transition, session, provider)
      session.answer(answer.dataRequestID, about: id)
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
    guard session.hasSent(acknowledge.sequence) else {
      throw .invalidField(
        "acknowledge.sequence", "Event \(acknowledge.sequence) was not sent on this session.")
    }
    if let error = acknowledge.error {
      try checkChanges(attempt)
      guard let id = session.widget(ofEvent: acknowledge.sequence) else {
        throw .invalidField(
          "acknowledge.error",
          "Only an event that was sent on this session, and is not acknowledged, can have failed.")
      }
      // If the widget is removed, or the provider has given up its kind, the frame has no effect.
      if let kind = context.store.kind(of: id), context.store.provider(of: kind) == provider {
        try provide(id, WidgetPatch(error: .some(error)), nil, session, provider)
      }
    }
    // Otherwise the store forgets the event, and the next group that is stored has no trace of it.
    if attempt.isStored, session.mayForget(through: acknowledge.sequence) {
      self.acknowledge(acknowledge.sequence, by: session, provider)
    }
    session.add(.acknowledged(acknowledge.sequence))
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
}

extension ProvideRequest {
  /// How the frame uses the room on the disk.
  var roomUse: Method.RoomUse {
    switch self {
    case .acknowledge(let frame): frame.error == nil ? .frees : .needs
    case .kinds, .update, .answer: .needs
    case .bundleAnswer, .snapshot, .open, .keepAlive: .unused
    }
  }

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
  var patch: WidgetPatch {
    switch outcome {
    case .error(let error): return WidgetPatch(error: .some(error))
    case .patch(var patch):
      if patch.error == nil { patch.error = .some(nil) }
      return patch
    }
  }
}
