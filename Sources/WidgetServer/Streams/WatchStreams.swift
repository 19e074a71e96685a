import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// The streams of widgets and events: opening, resuming, handing over, ending.
///
/// `rounds` serves them.
final class WatchStreams {
  let rounds: WatchRounds
  private let context: ServiceContext
  private let audience: ProviderAudience
  private var subscriptions: [UInt64: Subscription] = [:]
  /// The lowest revision of the readers that wait to be taken over, by the owner of the streams.
  private var untakenRevisions: [ObjectIdentifier: Revision] = [:]
  /// The owners of the streams that wait to be taken over, by subscription.
  private var untaken: [UInt64: UntakenStreams] = [:]
  /// The longest `batch_delay`.
  var batchDelayMax = Duration.seconds(10)
  /// The longest `min_interval`. The store keeps removals for readers that wait.
  var minIntervalMax = Duration.seconds(60)

  init(
    _ context: ServiceContext, _ storage: StorageHealth, audience: ProviderAudience,
    releaseMemory: @escaping @Sendable (WidgetServer.ReleasedMemory) -> Void
  ) {
    self.context = context
    self.audience = audience
    rounds = WatchRounds(context, storage, releaseMemory: releaseMemory)
    rounds.onFailure = { [unowned self] subscription, status in finish(subscription, status) }
  }

  var count: Int { subscriptions.count }
  var isEmpty: Bool { subscriptions.isEmpty }
  var all: [Subscription] { Array(subscriptions.values) }

  /// A user's stream. Takes the stream over now if it waits for that.
  func find(_ id: UInt64, of peer: Peer) throws(RPCStatus) -> Subscription {
    if let owner = untaken[id], owner.peer.uid == peer.uid { owner.takeOver(id) }
    guard let subscription = subscriptions[id], subscription.uid == peer.uid else {
      throw .noSubscription(id)
    }
    return subscription
  }

  // MARK: - Opening

  /// Opens a stream of state. Throws the call's status if it cannot be opened.
  func open(
    _ request: WatchWidgetsRequest, sink: any StreamSink, peer: Peer,
    level: AccessPolicy.Level = .client
  ) throws(RPCStatus) -> Subscription {
    try context.checkTerms(request.selector, request.readMask)
    guard (0...WatchWidgetsRequest.upcomingEntriesMax).contains(request.upcomingEntries) else {
      throw .invalidField(
        "upcoming_entries", "Use 0 to \(WatchWidgetsRequest.upcomingEntriesMax).")
    }
    guard !request.isRedacted || !request.includeEvents else {
      throw .invalidField(
        "include_events", "A redacted watch has no events; leave one of them out.")
    }
    let group = try checkedGroup(WatchGroup.Filter(request), of: peer, level)
    let position: StreamCursor.Position
    if request.resumeToken.isEmpty {
      position = .transferring(
        .init(
          cursor: 0, isSnapshot: true, startedAt: context.store.revision,
          chunkCount: context.store.chunkCount))
    } else {
      position = .behind(try resume(request.resumeToken, group))
    }
    let minimum = Duration.milliseconds(context.limits.progressIntervalMillisecondsMin)
    if let interval = request.progressInterval, interval < minimum {
      throw .invalidField("progress_interval", "At least \(minimum) is allowed.")
    }
    if let interval = request.minInterval, interval < .zero || interval > minIntervalMax {
      throw .invalidField("min_interval", "0 to \(minIntervalMax) is allowed.")
    }
    if let delay = request.batchDelay, delay < .zero || delay > batchDelayMax {
      throw .invalidField("batch_delay", "0 to \(batchDelayMax) is allowed.")
    }
    let subscription = try add(
      group: group, sink: sink, peer: peer, level: level, position: position,
      eventCursor: request.afterSequence.map(context.eventCursor),
      options: Subscription.Options(request))
    // The daemon does not know which entries an earlier stream sent in advance.
    if !request.resumeToken.isEmpty { rounds.forgetHorizon(of: group) }
    rounds.send(
      WatchWidgetsResponse.opened(
        WatchOpened(
          subscriptionID: subscription.id, epoch: context.store.epoch,
          revision: context.store.revision, lastSequence: subscription.sequence)),
      to: subscription)
    rounds.tellStore(to: subscription)
    if request.includeTheme { rounds.sendTheme(to: subscription) }
    watchProgress(of: subscription)
    return subscription
  }

  /// Opens a stream of events. Throws the call's status if it cannot be opened.
  func open(
    _ request: WatchEventsRequest, sink: any StreamSink, peer: Peer,
    level: AccessPolicy.Level = .client
  ) throws(RPCStatus) -> Subscription {
    try context.checkTerms(request.selector, .all)
    try context.checkTerms(request.names.count, of: "names")
    // The reader is not caught up with events: the events between the cursor and the last round
    // come first.
    let subscription = try add(
      group: try checkedGroup(WatchGroup.Filter(request), of: peer, level), sink: sink,
      peer: peer, level: level, position: .behind(context.store.revision),
      eventCursor: request.afterSequence.map(context.eventCursor))
    rounds.send(
      WatchEventsResponse.opened(
        WatchEventsOpened(
          subscriptionID: subscription.id, afterSequence: subscription.sequence,
          epoch: context.store.epoch)),
      to: subscription)
    return subscription
  }

  /// The group of a filter. The limits come first, because a new group of many terms takes long.
  private func checkedGroup(
    _ filter: WatchGroup.Filter, of peer: Peer, _ level: AccessPolicy.Level
  ) throws(RPCStatus) -> WatchGroup {
    try context.checkStream(
      of: peer, level, selecting: filter.selector, termBytes: filter.termBytes)
    return rounds.group(filter)
  }

  /// The revision after which the stream continues.
  private func resume(_ bytes: [UInt8], _ group: WatchGroup) throws(RPCStatus) -> Revision {
    guard let token = ResumeToken(bytes: bytes) else {
      throw .invalidField(
        "resume_token", "These bytes are not a resume token. Send the token unchanged.")
    }
    guard token.epoch == context.store.epoch, token.revision <= context.store.revision else {
      throw .epochChanged(context.store.epoch)
    }
    guard token.filterHash == group.filterHash else { throw .resumeTokenMismatch }
    guard token.revision >= context.store.compactRevision else {
      throw RPCStatus(.revisionCompacted(compactRevision: context.store.compactRevision))
    }
    return token.revision
  }

  /// - Parameter id: nil for a new one; else that of a stream that is taken over.
  private func add(
    group: WatchGroup, sink: any StreamSink, peer: Peer, level: AccessPolicy.Level = .client,
    position: StreamCursor.Position, eventCursor: UInt64?,
    options: Subscription.Options = .init(), id: UInt64? = nil
  ) throws(RPCStatus) -> Subscription {
    try context.openStream(
      of: peer, level, selecting: group.filter.selector, termBytes: group.termBytes,
      isTakenOver: id != nil)
    let subscription = Subscription(
      id: id ?? context.takeStreamID(), uid: peer.uid, sink: sink, group: group,
      options: options,
      cursor: StreamCursor(
        position, sequence: min(eventCursor ?? .max, context.store.lastEventSequence)))
    rounds.add(subscription)
    if subscription.isWatcher { audience.watchBegan(group.filter.selector) }
    subscriptions[subscription.id] = subscription
    rounds.markReady(subscription)
    return subscription
  }

  // MARK: - Streams that are not taken over yet

  /// The store keeps all removals after this revision: readers get them soon.
  var retainedRevision: Revision { min(rounds.retainedRevision, untakenRevision) }

  private var untakenRevision: Revision {
    guard !untakenRevisions.isEmpty,
      context.store.removalCount / PostponedReaders.removalsFactor
        <= context.limits.store.tombstonesMax
    else { return .max }
    // Removals that are forgotten already do not come back.
    let compactRevision = context.store.compactRevision
    return untakenRevisions.values.lazy.filter { $0 >= compactRevision }.min() ?? .max
  }

  /// Keeps the removals after a revision for streams that are not taken over yet; nil for none.
  ///
  /// - Parameter waiting: The owner of these streams.
  func keepRemovals(since revision: Revision?, for waiting: AnyObject) {
    untakenRevisions[ObjectIdentifier(waiting)] = revision
  }

  /// Notes the owner of a stream that is not taken over yet; nil when the stream no longer waits.
  func setUntaken(_ id: UInt64, of owner: UntakenStreams?) {
    // Streams of health have no id.
    if id > 0 { untaken[id] = owner }
  }

  // MARK: - While it is open

  /// Has a stream send its progress.
  func requestProgress(of subscription: Subscription) {
    subscription.requestProgress()
    rounds.markReady(subscription)
  }

  private func watchProgress(of subscription: Subscription) {
    subscription.watchProgress(context) { [unowned self, unowned subscription] in
      requestProgress(of: subscription)
    }
  }

  // MARK: - Ending

  /// Ends a stream and tells its reader why; nil means well.
  func finish(_ subscription: Subscription, _ status: RPCStatus?) {
    guard !subscription.isFinished else { return }
    forget(subscription)
    subscription.sink.finish(status)
  }

  /// Forgets a stream whose reader is gone.
  func forget(_ subscription: Subscription) {
    guard subscription.close() else { return }
    rounds.remove(subscription)
    if subscription.isWatcher { audience.watchEnded(subscription.group.filter.selector) }
    subscriptions[subscription.id] = nil
    context.closeStream(
      of: subscription.uid, selecting: subscription.group.filter.selector,
      termBytes: subscription.group.termBytes)
  }

  /// Ends streams, because this process ends.
  ///
  /// - Parameter ending: Ends them in slices of their users' time. nil to end them at once.
  func endAll(
    in ending: StreamEnding? = nil, where isMeant: (Subscription) -> Bool = { _ in true }
  ) {
    let meant = all.filter(isMeant)
    if let ending {
      ending.add(meant, of: { $0.uid }) { [self] in finish($0, .shuttingDown) }
    } else {
      for subscription in meant { finish(subscription, .shuttingDown) }
    }
  }

  /// Stops the timers of all streams that are left, because the loop cannot be used any more.
  func cancelTimers() { for subscription in subscriptions.values { subscription.cancelTimers() } }

  // MARK: - Changing processes

  /// Continues a stream of the former process.
  func takeOver(
    _ request: WatchWidgetsRequest, of handed: HandedStream, sink: any StreamSink, peer: Peer
  ) throws(RPCStatus) -> Subscription {
    try context.checkTerms(request.selector, request.readMask)
    let subscription = try takeOver(
      handed, sink: sink, peer: peer, options: Subscription.Options(request),
      filter: WatchGroup.Filter(request))
    // A later turn can serve the stream.
    if let revision = handed.neededRemovals { rounds.keepRemovals(since: revision) }
    // This process does not know which entries the former process sent in advance.
    rounds.forgetHorizon(of: subscription.group)
    // The former process sent the theme after `opened`, and each change before its revision.
    let cursor = handed.transfer?.startedRevision ?? handed.cursor
    let theme = context.store.theme.revision
    subscription.continue(handed, theme: theme <= cursor ? theme : nil)
    // The store may take no changes since this process began.
    if handed.lacksStore || rounds.storage.failure != nil {
      subscription.forgetStore()
    } else {
      rounds.knowsStore(subscription)
    }
    watchProgress(of: subscription)
    return subscription
  }

  func takeOver(
    _ request: WatchEventsRequest, of handed: HandedStream, sink: any StreamSink, peer: Peer
  ) throws(RPCStatus) -> Subscription {
    try context.checkTerms(request.selector)
    return try takeOver(
      handed, sink: sink, peer: peer, options: .init(), filter: WatchGroup.Filter(request))
  }

  private func takeOver(
    _ handed: HandedStream, sink: any StreamSink, peer: Peer, options: Subscription.Options,
    filter: WatchGroup.Filter
  ) throws(RPCStatus) -> Subscription {
    let position: StreamCursor.Position =
      if let transfer = handed.transfer {
        .transferring(
          .init(
            cursor: transfer.isSnapshot ? 0 : handed.cursor, isSnapshot: transfer.isSnapshot,
            startedAt: transfer.startedRevision, chunkCount: context.store.chunkCount))
      } else {
        .behind(handed.cursor)
      }
    return try add(
      group: rounds.group(filter), sink: sink, peer: peer, position: position,
      eventCursor: context.eventCursor(after: handed.eventCursor), options: options,
      id: handed.subscriptionID)
  }
}
