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

  init(
    _ context: ServiceContext, audience: ProviderAudience,
    releaseMemory: @escaping @Sendable () -> Void
  ) {
    self.context = context
    self.audience = audience
    rounds = WatchRounds(context, releaseMemory: releaseMemory)
  }

  var count: Int { subscriptions.count }
  var isEmpty: Bool { subscriptions.isEmpty }
  var all: [Subscription] { Array(subscriptions.values) }

  /// A user's stream.
  func find(_ id: UInt64, of peer: Peer) throws(RPCStatus) -> Subscription {
    guard let subscription = subscriptions[id], subscription.uid == peer.uid else {
      throw .noSubscription(id)
    }
    return subscription
  }

  // MARK: - Opening

  /// Opens a stream of state. Throws the call's status if it cannot be opened.
  func open(
    _ request: WatchWidgetsRequest, sink: any StreamSink, peer: Peer
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
    let group = rounds.group(
      .widgets(
        request.selector, request.readMask, includesEvents: request.includeEvents,
        contentFamily: request.contentFamily, upcomingEntries: request.upcomingEntries,
        isRedacted: request.isRedacted))
    let position: Subscription.Position
    if request.resumeToken.isEmpty {
      position = .transferring(
        .init(
          cursor: 0, isSnapshot: true, startedAt: context.store.revision,
          chunkCount: context.store.chunkCount))
    } else {
      position = .behind(try resume(request.resumeToken, group))
      // The entries that an earlier stream sent in advance are not known any more.
      group.horizon.isKnown = false
    }
    let minimum = Duration.milliseconds(context.limits.progressIntervalMillisecondsMin)
    if let interval = request.progressInterval, interval < minimum {
      throw .invalidField("progress_interval", "At least \(minimum) is allowed.")
    }
    if let interval = request.minInterval, interval < .zero {
      throw .invalidField("min_interval", "It must not be negative.")
    }
    let subscription = try add(
      group: group, sink: sink, peer: peer, position: position,
      eventCursor: request.afterSequence.map(context.eventCursor),
      minInterval: request.minInterval, progressInterval: request.progressInterval,
      isPassive: request.isPassive)
    rounds.send(
      WatchWidgetsResponse.opened(
        WatchOpened(
          subscriptionID: subscription.id, epoch: context.store.epoch,
          revision: context.store.revision, lastSequence: subscription.eventCursor)),
      to: subscription)
    subscription.includesTheme = request.includeTheme
    if request.includeTheme { rounds.sendTheme(to: subscription) }
    scheduleProgress(subscription)
    return subscription
  }

  /// Opens a stream of events. Throws the call's status if it cannot be opened.
  func open(
    _ request: WatchEventsRequest, sink: any StreamSink, peer: Peer
  ) throws(RPCStatus) -> Subscription {
    try context.checkTerms(request.selector, .all)
    guard request.names.count <= context.limits.selectorTermsMax else {
      throw .quotaExceeded("selector_terms_max", context.limits.selectorTermsMax)
    }
    let subscription = try add(
      group: rounds.group(.events(request.selector, names: request.names)), sink: sink,
      peer: peer, position: .caughtUp,
      eventCursor: request.afterSequence.map(context.eventCursor), minInterval: nil,
      progressInterval: nil)
    // Not caught up with events: the events between the cursor and the last round come first.
    subscription.position = .behind(context.store.revision)
    rounds.send(
      WatchEventsResponse.opened(
        WatchEventsOpened(
          subscriptionID: subscription.id, afterSequence: subscription.eventCursor,
          epoch: context.store.epoch)),
      to: subscription)
    return subscription
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

  /// - Parameter id: nil for a new one.
  private func add(
    group: WatchGroup, sink: any StreamSink, peer: Peer, position: Subscription.Position,
    eventCursor: UInt64?, minInterval: Duration?, progressInterval: Duration?,
    isPassive: Bool = false, id: UInt64? = nil
  ) throws(RPCStatus) -> Subscription {
    try context.openStream(of: peer)
    let subscription = Subscription(
      id: id ?? context.streamAccounts.takeID(), uid: peer.uid, sink: sink, group: group,
      minInterval: minInterval.map { .nanoseconds($0.nanoseconds) },
      progressInterval: progressInterval.map { .nanoseconds($0.nanoseconds) },
      position: position, eventCursor: min(eventCursor ?? .max, context.store.lastEventSequence),
      isPassive: isPassive, streams: self)
    rounds.add(subscription)
    if subscription.isWatcher { audience.watchBegan(group.filter.selector) }
    subscriptions[subscription.id] = subscription
    rounds.markReady(subscription)
    return subscription
  }

  // MARK: - While it is open

  /// Has a stream send its progress.
  func requestProgress(of subscription: Subscription) {
    subscription.wantsProgress = true
    rounds.markReady(subscription)
  }

  private func scheduleProgress(_ subscription: Subscription) {
    guard let interval = subscription.progressInterval, !subscription.isFinished else { return }
    let due = max(subscription.lastFrameAt, context.startedAt) + interval
    let instant = NIODeadline.now()
    subscription.progressTimer = context.schedule(at: due > instant ? due : instant + interval) {
      if NIODeadline.now() >= subscription.lastFrameAt + interval {
        self.requestProgress(of: subscription)
      }
      self.scheduleProgress(subscription)
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
    guard !subscription.isFinished else { return }
    subscription.isFinished = true
    subscription.cancelTimers()
    rounds.remove(subscription)
    if subscription.isWatcher { audience.watchEnded(subscription.group.filter.selector) }
    subscriptions[subscription.id] = nil
    context.streamAccounts.close(of: subscription.uid)
  }

  /// Ends streams, because this process ends.
  func endAll(where isMeant: (Subscription) -> Bool = { _ in true }) {
    for subscription in all where isMeant(subscription) { finish(subscription, .shuttingDown) }
  }

  // MARK: - Changing processes

  /// Continues a stream of the former process.
  func takeOver(
    _ request: WatchWidgetsRequest, of handed: HandedStream, sink: any StreamSink, peer: Peer
  ) throws(RPCStatus) -> Subscription {
    try context.checkTerms(request.selector, request.readMask)
    let subscription = try takeOver(
      handed, sink: sink, peer: peer, minInterval: request.minInterval,
      progressInterval: request.progressInterval,
      filter: .widgets(
        request.selector, request.readMask, includesEvents: request.includeEvents,
        contentFamily: request.contentFamily, upcomingEntries: request.upcomingEntries,
        isRedacted: request.isRedacted),
      isPassive: request.isPassive)
    // The entries that the former process sent in advance are not known here.
    subscription.group.horizon.isKnown = false
    subscription.wantsProgress = handed.wantsProgress
    subscription.includesTheme = request.includeTheme
    // The former process sent the theme after `opened`, and each change before its revision.
    let cursor = handed.transfer?.startedRevision ?? handed.cursor
    let theme = context.store.theme.revision
    if theme <= cursor { subscription.themeRevision = theme }
    // The time of its last frame is unknown: no frame comes too early.
    subscription.minInterval.map { subscription.nextFrameAt = .now() + $0 }
    scheduleProgress(subscription)
    return subscription
  }

  func takeOver(
    _ request: WatchEventsRequest, of handed: HandedStream, sink: any StreamSink, peer: Peer
  ) throws(RPCStatus) -> Subscription {
    try context.checkTerms(request.selector)
    return try takeOver(
      handed, sink: sink, peer: peer, minInterval: nil, progressInterval: nil,
      filter: .events(request.selector, names: request.names))
  }

  private func takeOver(
    _ handed: HandedStream, sink: any StreamSink, peer: Peer, minInterval: Duration?,
    progressInterval: Duration?, filter: WatchGroup.Filter, isPassive: Bool = false
  ) throws(RPCStatus) -> Subscription {
    let position: Subscription.Position =
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
      eventCursor: context.eventCursor(after: handed.eventCursor), minInterval: minInterval,
      progressInterval: progressInterval, isPassive: isPassive, id: handed.subscriptionID)
  }
}
