import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Opening streams, and giving each what it lacks.
extension ServiceLoop {
  // MARK: - Opening and ending

  /// Opens a stream whose request is decoded; to be called when the turn's group is durable.
  typealias Opening = () throws(RPCStatus) -> any ServedStream

  /// Decodes the request for a stream, and says how to open it.
  func prepare(
    _ method: Method, _ payload: UnsafeRawBufferPointer, sink: any StreamSink, peer: Peer,
    level: AccessPolicy.Level
  ) throws(RPCStatus) -> Opening {
    guard level >= method.requiredLevel else {
      throw .permissionDenied(method.fullName, peer.uid)
    }
    do throws(WireError) {
      switch method {
      case .watchWidgets:
        let request = try codec.decode(WatchWidgetsRequest.self, from: payload)
        return { () throws(RPCStatus) in try self.open(request, sink: sink, peer: peer) }
      case .watchEvents:
        let request = try codec.decode(WatchEventsRequest.self, from: payload)
        return { () throws(RPCStatus) in try self.open(request, sink: sink, peer: peer) }
      case .watchHealth:
        let request = try codec.decode(HealthCheckRequest.self, from: payload)
        return { () throws(RPCStatus) in try self.open(request, sink: sink, peer: peer) }
      default: break
      }
    } catch {
      throw RPCStatus(error)
    }
    throw .wrongShape(method)
  }

  /// The same for a request in a buffer.
  func prepare(
    _ method: Method, _ request: ByteBuffer, sink: any StreamSink, peer: Peer,
    level: AccessPolicy.Level
  ) throws(RPCStatus) -> Opening {
    let result: Result<Opening, RPCStatus> = request.withUnsafeReadableBytes { bytes in
      do throws(RPCStatus) {
        return .success(try prepare(method, bytes, sink: sink, peer: peer, level: level))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  func becameWritable(_ stream: any ServedStream) { stream.becameWritable(in: self) }

  func forget(_ stream: any ServedStream) { stream.forget(in: self) }

  /// Ends a stream with DEADLINE_EXCEEDED after a while.
  func setDeadline(of stream: any ServedStream, in delay: Duration) {
    stream.deadline = .now() + .nanoseconds(delay.nanoseconds)
    stream.deadlineTimer = eventLoop.assumeIsolated().scheduleTask(
      in: .nanoseconds(delay.nanoseconds)
    ) {
      stream.finish(.deadlineExceeded, in: self)
    }
  }

  /// Opens a stream of state. Throws what the call ends with if it cannot be.
  func open(
    _ request: WatchWidgetsRequest, sink: any StreamSink, peer: Peer
  ) throws(RPCStatus) -> Subscription {
    try checkTerms(request.selector, request.readMask)
    let filter = WatchGroup.Filter.widgets(
      request.selector, request.readMask, includesEvents: request.includeEvents,
      contentFamily: request.contentFamily)
    let group = groups[filter] ?? WatchGroup(filter)
    let position: Subscription.Position
    if request.resumeToken.isEmpty {
      position = .transferring(
        .init(
          cursor: 0, isSnapshot: true, startedAt: store.revision, chunkCount: store.chunkCount))
    } else {
      position = .behind(try resume(request.resumeToken, group))
    }
    let minimum = Duration.milliseconds(limits.progressIntervalMillisecondsMin)
    if let interval = request.progressInterval, interval < minimum {
      throw .invalidField("progress_interval", "At least \(minimum) is allowed.")
    }
    if let interval = request.minInterval, interval < .zero {
      throw .invalidField("min_interval", "It must not be negative.")
    }
    let subscription = try add(
      group: group, sink: sink, peer: peer, position: position,
      eventCursor: request.afterSequence.map(eventCursor), minInterval: request.minInterval,
      progressInterval: request.progressInterval, isPassive: request.isPassive)
    send(
      WatchWidgetsResponse.opened(
        WatchOpened(
          subscriptionID: subscription.id, epoch: store.epoch, revision: store.revision,
          lastSequence: subscription.eventCursor)),
      to: subscription)
    subscription.includesTheme = request.includeTheme
    if request.includeTheme { sendTheme(to: subscription) }
    scheduleProgress(subscription)
    return subscription
  }

  /// Opens a stream of events. Throws what the call ends with if it cannot be.
  func open(
    _ request: WatchEventsRequest, sink: any StreamSink, peer: Peer
  ) throws(RPCStatus) -> Subscription {
    try checkTerms(request.selector, .all)
    guard request.names.count <= limits.selectorTermsMax else {
      throw .quotaExceeded("selector_terms_max", limits.selectorTermsMax)
    }
    let filter = WatchGroup.Filter.events(request.selector, names: request.names)
    let subscription = try add(
      group: groups[filter] ?? WatchGroup(filter), sink: sink, peer: peer, position: .caughtUp,
      eventCursor: request.afterSequence.map(eventCursor), minInterval: nil, progressInterval: nil)
    // Not caught up with events: what is between the cursor and the last round comes first.
    subscription.position = .behind(store.revision)
    send(
      WatchEventsResponse.opened(
        WatchEventsOpened(
          subscriptionID: subscription.id, afterSequence: subscription.eventCursor,
          epoch: store.epoch)),
      to: subscription)
    return subscription
  }

  /// Bounds what looking at one widget costs: the event loop does it for every widget.
  func checkTerms(_ selector: Selector, _ mask: ReadMask = .all) throws(RPCStatus) {
    let terms =
      selector.ids.count + selector.kinds.count + selector.families.count
      + selector.labels.reduce(0) { $0 + 1 + $1.values.count } + mask.dataKeys.count
      + mask.parameterKeys.count
    guard terms <= limits.selectorTermsMax else {
      throw .quotaExceeded("selector_terms_max", limits.selectorTermsMax)
    }
    do throws(StoreError) { try store.checkExpression(of: selector) } catch {
      throw RPCStatus(error)
    }
  }

  /// The revision to go on from.
  private func resume(_ bytes: [UInt8], _ group: WatchGroup) throws(RPCStatus) -> Revision {
    guard let token = ResumeToken(bytes: bytes) else {
      throw .invalidField(
        "resume_token", "These bytes are not a resume token. Send the token unchanged.")
    }
    guard token.epoch == store.epoch, token.revision <= store.revision else {
      throw .epochChanged(store.epoch)
    }
    guard token.filterHash == group.filterHash else { throw .resumeTokenMismatch }
    guard token.revision >= store.compactRevision else {
      throw RPCStatus(.revisionCompacted(compactRevision: store.compactRevision))
    }
    return token.revision
  }

  /// - Parameter id: nil for a new one.
  func add(
    group: WatchGroup, sink: any StreamSink, peer: Peer, position: Subscription.Position,
    eventCursor: UInt64?, minInterval: Duration?, progressInterval: Duration?,
    isPassive: Bool = false,
    id: UInt64? = nil
  ) throws(RPCStatus) -> Subscription {
    try countStream(of: peer)
    if id == nil { lastSubscriptionID += 1 }
    let subscription = Subscription(
      id: id ?? lastSubscriptionID, uid: peer.uid, sink: sink, group: group,
      minInterval: minInterval.map { .nanoseconds($0.nanoseconds) },
      progressInterval: progressInterval.map { .nanoseconds($0.nanoseconds) },
      position: position, eventCursor: min(eventCursor ?? .max, store.lastEventSequence),
      isPassive: isPassive)
    if groups.updateValue(group, forKey: group.filter) == nil {
      group.filter.contentFamily.map { store.keepContent(of: $0) }
    }
    group.add(subscription)
    noteWatch(subscription)
    subscriptions[subscription.id] = subscription
    markReady(subscription)
    return subscription
  }

  /// Counts one more stream, if its user may have one more.
  func countStream(of peer: Peer) throws(RPCStatus) {
    guard !isDraining else { throw .shuttingDown }
    guard subscriptionsByUID[peer.uid, default: 0] < limits.subscriptionsPerUIDMax else {
      throw .quotaExceeded("subscriptions_per_uid_max", limits.subscriptionsPerUIDMax)
    }
    subscriptionsByUID[peer.uid, default: 0] += 1
  }

  func uncountStream(of uid: UInt32) {
    let remaining = subscriptionsByUID[uid, default: 1] - 1
    subscriptionsByUID[uid] = remaining > 0 ? remaining : nil
  }

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
    subscription.group.remove(subscription)
    forgetWatch(subscription)
    if subscription.group.isEmpty, groups.removeValue(forKey: subscription.group.filter) != nil {
      subscription.group.filter.contentFamily.map { store.dropContent(of: $0) }
    }
    subscriptions[subscription.id] = nil
    uncountStream(of: subscription.uid)
  }

  /// Lets a stream be served at the end of this turn.
  func markReady(_ subscription: Subscription) {
    guard !subscription.isReady, !subscription.isFinished else { return }
    subscription.isReady = true
    ready.append(subscription)
    openTurn()
  }

  /// A transport takes more again.
  func sinkBecameWritable(_ subscription: Subscription) {
    if case .caughtUp = subscription.position, !subscription.wantsProgress { return }
    markReady(subscription)
  }

  // MARK: - A round

  /// Sends every caught-up reader what changed since the last round, and every ready one what it
  /// lacks.
  ///
  /// Content for other families has a budget: each half of the round may spend `contentCostMax`.
  /// Readers beyond the budget are served first in the next turn.
  func sendRound(at instant: NIODeadline) {
    roundCostStart = store.readingCost
    let (fromRevision, fromSequence) = (sentRevision, sentSequence)
    sentRevision = store.revision
    sentSequence = store.lastEventSequence
    if fromRevision != sentRevision || fromSequence != sentSequence {
      for group in groups.values {
        broadcast(to: group, fromRevision: fromRevision, fromSequence: fromSequence, at: instant)
      }
    }
    roundCostStart = store.readingCost
    let waiting = ready
    ready.removeAll(keepingCapacity: true)
    var leftOut: [Subscription] = []
    for subscription in waiting {
      if subscription.group.makesContent, isRoundSpent, !subscription.isFinished {
        leftOut.append(subscription)
        continue
      }
      subscription.isReady = false
      serve(subscription, at: instant)
    }
    ready = leftOut + ready
    // What readers that were behind shared is of no more use.
    for group in groups.values { group.changeCache.removeAll() }
  }

  /// Whether this half of the round has spent its budget for content.
  private var isRoundSpent: Bool {
    store.readingCost - roundCostStart > limits.store.contentCostMax
  }

  private func broadcast(
    to group: WatchGroup, fromRevision: Revision, fromSequence: UInt64, at instant: NIODeadline
  ) {
    let hasTheme = fromRevision < store.theme.revision
    if hasTheme {
      // Readers that are behind get the theme at once; they need not catch up first.
      for subscription in group.members where !subscription.isCaughtUp && lacksTheme(subscription) {
        markReady(subscription)
      }
    }
    guard group.members.contains(where: \.isCaughtUp) else { return }
    var messages: [EncodedMessage] = []
    if group.filter.wantsEvents, fromSequence != sentSequence {
      messages = eventMessages(group, after: fromSequence, limit: .max).messages
    }
    let eventCount = messages.count
    if group.filter.wantsState, fromRevision != sentRevision {
      guard !costsTooMuch(group, since: fromRevision),
        let changes = changeMessages(group, since: fromRevision)
      else {
        // Cannot be sent to all at once; each is told by itself why, or gets it in parts.
        for subscription in group.members where subscription.isCaughtUp {
          subscription.position = .behind(fromRevision)
          subscription.eventCursor = fromSequence
          markReady(subscription)
        }
        return
      }
      messages += changes
    }
    guard !messages.isEmpty || hasTheme else { return }
    let hasChanges = messages.count > eventCount
    for subscription in group.members where subscription.isCaughtUp && !subscription.isFinished {
      guard !messages.isEmpty || lacksTheme(subscription) else { continue }
      let isTooEarly = hasChanges && instant < subscription.nextFrameAt
      guard subscription.sink.isWritable, !isTooEarly else {
        counters.readersBehind += 1
        subscription.position = .behind(fromRevision)
        subscription.eventCursor = fromSequence
        if isTooEarly, subscription.sink.isWritable { markReady(subscription) }
        continue
      }
      // The theme comes before the changes of its revision.
      if lacksTheme(subscription) { sendTheme(to: subscription) }
      deliver(messages, to: subscription, at: instant, isChange: hasChanges)
    }
  }

  /// Whether making the content that a group lacks exceeds the budget of the round.
  private func costsTooMuch(_ group: WatchGroup, since cursor: Revision) -> Bool {
    guard group.makesContent else { return false }
    return isRoundSpent
      || store.hasChanges(
        since: cursor, moreThan: .max, selecting: group.filter.selector, taking: group.content)
  }

  /// Gives a stream what it lacks, as long as it takes it.
  private func serve(_ subscription: Subscription, at instant: NIODeadline) {
    let group = subscription.group
    var steps = 0
    while !subscription.isFinished, subscription.sink.isWritable {
      steps += 1
      // A long transfer lets others have their turn, also if it finds nothing to send.
      if steps > ServiceLoop.stepsPerTurnMax || group.makesContent && isRoundSpent {
        return markReady(subscription)
      }
      if lacksTheme(subscription) {
        sendTheme(to: subscription)
        continue
      }
      if case .caughtUp = subscription.position {
        if subscription.wantsProgress { sendProgress(subscription) }
        return
      }
      if group.filter.wantsEvents, subscription.eventCursor < sentSequence {
        let (messages, cursor) = eventMessages(
          group, after: subscription.eventCursor, limit: ServiceLoop.eventsPerFrameMax)
        subscription.eventCursor = cursor
        deliver(messages, to: subscription, at: instant, isChange: false)
        continue
      }
      switch subscription.position {
      case .caughtUp: return
      case .behind(let cursor):
        guard group.filter.wantsState else {
          subscription.position = .caughtUp
          continue
        }
        if instant < subscription.nextFrameAt { return markReadyLater(subscription) }
        if store.hasChanges(
          since: cursor, moreThan: limits.eagerChangesMax, orBytes: limits.eagerBytesMax,
          selecting: group.filter.selector, taking: group.content)
        {
          subscription.position = .transferring(
            .init(
              cursor: cursor, isSnapshot: false, startedAt: store.revision,
              chunkCount: store.chunkCount))
          continue
        }
        guard let messages = changeMessages(group, since: cursor) else {
          return finishUnsendable(subscription, since: cursor)
        }
        subscription.position = .caughtUp
        deliver(messages, to: subscription, at: instant, isChange: true)
      case .transferring(var transfer):
        let isThrough = transfer.nextChunk >= transfer.chunkCount
        // Expensive content never comes all at once, even after `passesMax` passes.
        if isThrough, transfer.passes >= ServiceLoop.passesMax,
          costsTooMuch(group, since: transfer.passStartedAt)
        {
          transfer.beginPass(at: store.revision, chunkCount: store.chunkCount)
          subscription.position = .transferring(transfer)
          continue
        }
        if isThrough, transfer.passes < ServiceLoop.passesMax,
          store.hasChanges(
            since: transfer.passStartedAt, moreThan: limits.eagerChangesMax,
            orBytes: limits.eagerBytesMax, selecting: group.filter.selector,
            taking: group.content)
        {
          transfer.beginPass(at: store.revision, chunkCount: store.chunkCount)
          subscription.position = .transferring(transfer)
          continue
        }
        let messages =
          isThrough ? finalMessages(group, transfer) : chunkMessages(group, &transfer)
        guard let messages else {
          return finishUnsendable(subscription, since: transfer.startedAt)
        }
        subscription.position = isThrough ? .caughtUp : .transferring(transfer)
        deliver(messages, to: subscription, at: instant, isChange: isThrough)
      }
    }
  }

  /// How often the chunks are gone through before the rest is sent all at once, however much it is:
  /// a reader slower than the changes has to arrive at some time.
  private static var passesMax: Int { 8 }

  /// How many steps one stream is served in one turn.
  private static var stepsPerTurnMax: Int { 64 }
  private static var eventsPerFrameMax: Int { 256 }

  /// Ends a stream that cannot be served: its cursor is compacted, or a frame would be too large.
  private func finishUnsendable(_ subscription: Subscription, since cursor: Revision) {
    guard cursor < store.compactRevision else { return finish(subscription, .frameTooLarge) }
    counters.readersCompacted += 1
    finish(subscription, RPCStatus(.revisionCompacted(compactRevision: store.compactRevision)))
  }

  private func deliver(
    _ messages: [EncodedMessage], to subscription: Subscription, at instant: NIODeadline,
    isChange: Bool
  ) {
    guard !messages.isEmpty else { return }
    for message in messages { subscription.sink.send(message) }
    counters.frames += UInt64(messages.count)
    subscription.lastFrameAt = instant
    if isChange, let interval = subscription.minInterval {
      subscription.nextFrameAt = instant + interval
    }
  }

  /// Serves a stream again when its interval is over.
  private func markReadyLater(_ subscription: Subscription) {
    guard subscription.intervalTimer == nil else { return }
    subscription.intervalTimer = eventLoop.assumeIsolated().scheduleTask(
      deadline: subscription.nextFrameAt
    ) {
      subscription.intervalTimer = nil
      self.markReady(subscription)
    }
  }

  // MARK: - Theme

  private func lacksTheme(_ subscription: Subscription) -> Bool {
    subscription.includesTheme && subscription.themeRevision != store.theme.revision
  }

  /// Sends the current theme. A reader that was behind gets only the last of several changes.
  private func sendTheme(to subscription: Subscription) {
    let revision = store.theme.revision
    if themeFrame?.revision != revision {
      themeFrame = encode(WatchWidgetsResponse.theme(ThemeState(store.theme)))
        .map { (revision, $0) }
    }
    guard let themeFrame else { return finish(subscription, .frameTooLarge) }
    subscription.themeRevision = revision
    subscription.lastFrameAt = .now()
    counters.frames += 1
    subscription.sink.send(themeFrame.message)
  }

  // MARK: - Progress

  func scheduleProgress(_ subscription: Subscription) {
    guard let interval = subscription.progressInterval, !subscription.isFinished else { return }
    let due = max(subscription.lastFrameAt, startedAt) + interval
    let instant = NIODeadline.now()
    subscription.progressTimer = eventLoop.assumeIsolated().scheduleTask(
      deadline: due > instant ? due : instant + interval
    ) {
      if NIODeadline.now() >= subscription.lastFrameAt + interval {
        subscription.wantsProgress = true
        self.markReady(subscription)
      }
      self.scheduleProgress(subscription)
    }
  }

  private func sendProgress(_ subscription: Subscription) {
    subscription.wantsProgress = false
    subscription.lastFrameAt = .now()
    counters.frames += 1
    send(
      WatchWidgetsResponse.progress(
        WatchProgress(
          revision: sentRevision, resumeToken: token(subscription.group, sentRevision),
          lastSequence: sentSequence)),
      to: subscription)
  }
}
