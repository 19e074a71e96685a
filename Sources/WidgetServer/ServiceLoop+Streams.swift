import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

/// Opening streams, and giving each what it lacks.
extension ServiceLoop {
  // MARK: - Opening and ending

  /// Opens a stream of state. Throws what the call ends with if it cannot be.
  func open(
    _ request: WatchWidgetsRequest, sink: any StreamSink, peer: Peer
  ) throws(RPCStatus) -> Subscription {
    try checkTerms(request.selector, request.readMask)
    let filter = WatchGroup.Filter.widgets(
      request.selector, request.readMask, includesEvents: request.includeEvents)
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
      eventCursor: request.afterSequence, minInterval: request.minInterval,
      progressInterval: request.progressInterval)
    send(
      WatchWidgetsResponse.opened(
        WatchOpened(
          subscriptionID: subscription.id, epoch: store.epoch, revision: store.revision,
          lastSequence: subscription.eventCursor)),
      to: subscription)
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
      eventCursor: request.afterSequence, minInterval: nil, progressInterval: nil)
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
  }

  /// The revision to go on from.
  private func resume(_ bytes: [UInt8], _ group: WatchGroup) throws(RPCStatus) -> Revision {
    guard let token = ResumeToken(bytes: bytes) else {
      throw .invalidField(
        "resume_token", "These bytes are no resume token; send them as they were received.")
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

  private func add(
    group: WatchGroup, sink: any StreamSink, peer: Peer, position: Subscription.Position,
    eventCursor: UInt64?, minInterval: Duration?, progressInterval: Duration?
  ) throws(RPCStatus) -> Subscription {
    guard !isDraining else { throw .shuttingDown }
    guard subscriptionsByUID[peer.uid, default: 0] < limits.subscriptionsPerUIDMax else {
      throw .quotaExceeded("subscriptions_per_uid_max", limits.subscriptionsPerUIDMax)
    }
    lastSubscriptionID += 1
    let subscription = Subscription(
      id: lastSubscriptionID, uid: peer.uid, sink: sink, group: group,
      minInterval: minInterval.map { .nanoseconds($0.nanoseconds) },
      progressInterval: progressInterval.map { .nanoseconds($0.nanoseconds) },
      position: position, eventCursor: min(eventCursor ?? .max, store.lastEventSequence))
    groups[group.filter] = group
    group.add(subscription)
    subscriptions[subscription.id] = subscription
    subscriptionsByUID[peer.uid, default: 0] += 1
    markReady(subscription)
    return subscription
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
    if subscription.group.isEmpty { groups[subscription.group.filter] = nil }
    subscriptions[subscription.id] = nil
    let remaining = subscriptionsByUID[subscription.uid, default: 1] - 1
    subscriptionsByUID[subscription.uid] = remaining > 0 ? remaining : nil
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
  func sendRound(at instant: NIODeadline) {
    let (fromRevision, fromSequence) = (sentRevision, sentSequence)
    sentRevision = store.revision
    sentSequence = store.lastEventSequence
    if fromRevision != sentRevision || fromSequence != sentSequence {
      for group in groups.values {
        broadcast(to: group, fromRevision: fromRevision, fromSequence: fromSequence, at: instant)
      }
    }
    let waiting = ready
    ready.removeAll(keepingCapacity: true)
    for subscription in waiting {
      subscription.isReady = false
      serve(subscription, at: instant)
    }
    // What readers that were behind shared is of no more use.
    for group in groups.values { group.changeCache.removeAll() }
  }

  private func broadcast(
    to group: WatchGroup, fromRevision: Revision, fromSequence: UInt64, at instant: NIODeadline
  ) {
    var messages: [EncodedMessage] = []
    if group.filter.wantsEvents, fromSequence != sentSequence {
      messages = eventMessages(group, after: fromSequence, limit: .max).messages
    }
    let eventCount = messages.count
    if group.filter.wantsState, fromRevision != sentRevision {
      guard let changes = changeMessages(group, since: fromRevision) else {
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
    guard !messages.isEmpty else { return }
    let hasChanges = messages.count > eventCount
    for subscription in group.members where subscription.isCaughtUp && !subscription.isFinished {
      let isTooEarly = hasChanges && instant < subscription.nextFrameAt
      guard subscription.sink.isWritable, !isTooEarly else {
        counters.readersBehind += 1
        subscription.position = .behind(fromRevision)
        subscription.eventCursor = fromSequence
        if isTooEarly, subscription.sink.isWritable { markReady(subscription) }
        continue
      }
      deliver(messages, to: subscription, at: instant, isChange: hasChanges)
    }
  }

  /// Gives a stream what it lacks, as long as it takes it.
  private func serve(_ subscription: Subscription, at instant: NIODeadline) {
    let group = subscription.group
    var steps = 0
    while !subscription.isFinished, subscription.sink.isWritable {
      steps += 1
      // A long transfer lets others have their turn, also if it finds nothing to send.
      if steps > ServiceLoop.stepsPerTurnMax { return markReady(subscription) }
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
          since: cursor, moreThan: limits.eagerChangesMax, orBytes: limits.eagerBytesMax)
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
        let messages: [EncodedMessage]?
        let isEnd = transfer.nextChunk >= transfer.chunkCount
        if isEnd {
          messages = finalMessages(group, transfer)
        } else {
          messages = chunkMessages(group, &transfer)
        }
        guard let messages else {
          return finishUnsendable(subscription, since: transfer.startedAt)
        }
        subscription.position = isEnd ? .caughtUp : .transferring(transfer)
        deliver(messages, to: subscription, at: instant, isChange: isEnd)
      }
    }
  }

  /// How many steps one stream is served in one turn.
  private static var stepsPerTurnMax: Int { 64 }
  private static var eventsPerFrameMax: Int { 256 }

  /// Ends a stream that cannot be given what it lacks: it stands before what is remembered, or a
  /// frame would be too large.
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

  // MARK: - Progress

  private func scheduleProgress(_ subscription: Subscription) {
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

  // MARK: - Encoding

  private func token(_ group: WatchGroup, _ revision: Revision) -> [UInt8] {
    ResumeToken(epoch: store.epoch, filterHash: group.filterHash, revision: revision).bytes
  }

  /// Change frames from a cursor to now; nil if the cursor is too old, or a frame too large.
  private func changeMessages(_ group: WatchGroup, since cursor: Revision) -> [EncodedMessage]? {
    if group.changeCacheRevision != store.revision {
      group.changeCache.removeAll(keepingCapacity: true)
      group.changeCacheRevision = store.revision
    }
    if let cached = group.changeCache[cursor] { return cached }
    guard let delta = try? store.changes(since: cursor, selecting: group.filter.selector) else {
      return nil
    }
    let changes = filter(delta.changes, group.filter.mask)
    guard
      let messages = changes.isEmpty
        ? [] : changeMessages(group, changes, from: cursor, to: delta.toRevision)
    else { return nil }
    group.changeCache[cursor] = messages
    return messages
  }

  private func filter(_ changes: [WidgetChange], _ mask: ReadMask) -> [WidgetChange] {
    guard !mask.isEverything else { return changes }
    return changes.compactMap { change in
      switch change {
      case .added, .removed: change
      case .updated(let update): mask.filter(update).map { .updated($0) }
      }
    }
  }

  /// Change frames with `more` on all but the last; `to` is nil if even the last has more.
  private func changeMessages(
    _ group: WatchGroup, _ changes: [WidgetChange], from: Revision, to: Revision?
  ) -> [EncodedMessage]? {
    split(changes, group.filter.mask) { piece, isLast in
      let isEnd = isLast && to != nil
      return WatchWidgetsResponse.changes(
        ChangeSet(
          fromRevision: from, toRevision: isEnd ? to ?? 0 : 0, changes: Array(piece),
          more: !isEnd, resumeToken: isEnd ? token(group, to ?? 0) : []))
    }
  }

  /// The next frames of a transfer: a chunk, or a part of one with much state; nil if a frame would
  /// be too large. Moves the transfer on.
  private func chunkMessages(
    _ group: WatchGroup, _ transfer: inout Subscription.Transfer
  ) -> [EncodedMessage]? {
    let (chunk, slot) = (transfer.nextChunk, transfer.nextSlot)
    let selector = group.filter.selector
    guard transfer.isSnapshot else {
      let (changes, next) = store.changes(
        inChunk: chunk, from: slot, bytesMax: limits.eagerBytesMax, since: transfer.cursor,
        selecting: selector)
      transfer.advance(to: next)
      let wanted = filter(changes, group.filter.mask)
      return wanted.isEmpty ? [] : changeMessages(group, wanted, from: transfer.cursor, to: nil)
    }
    keepSnapshot(of: group)
    while group.snapshotCache.count <= chunk { group.snapshotCache.append(nil) }
    if slot == 0, let cached = group.snapshotCache[chunk],
      cached.revision >= store.chunkRevision(chunk)
    {
      transfer.advance(to: nil)
      return cached.messages
    }
    let (widgets, next) = store.widgets(
      inChunk: chunk, from: slot, bytesMax: limits.eagerBytesMax, selecting: selector)
    transfer.advance(to: next)
    guard let messages = widgets.isEmpty ? [] : snapshotMessages(widgets, group.filter.mask) else {
      return nil
    }
    if slot == 0, next == nil { group.snapshotCache[chunk] = (store.revision, messages) }
    return messages
  }

  /// Keeps a group's snapshot frames for as long as readers come in quick succession.
  private func keepSnapshot(of group: WatchGroup) {
    let isScheduled = !group.snapshotCache.isEmpty
    group.snapshotUsedAt = .now()
    if !isScheduled { forgetSnapshotLater(of: group) }
  }

  private func forgetSnapshotLater(of group: WatchGroup) {
    let due = group.snapshotUsedAt + .seconds(1)
    eventLoop.assumeIsolated().scheduleTask(deadline: due) { [weak group] in
      guard let group, !group.snapshotCache.isEmpty else { return }
      if group.snapshotUsedAt + .seconds(1) <= .now() {
        let bytes = group.snapshotBytes
        group.snapshotCache.removeAll()
        self.releaseMemory(afterFreeing: bytes)
      } else {
        self.forgetSnapshotLater(of: group)
      }
    }
  }

  /// Gives memory back to the system after a large snapshot; not often, since code that is in use
  /// has to come back afterwards.
  private func releaseMemory(afterFreeing bytes: Int) {
    let instant = NIODeadline.now()
    guard bytes >= ServiceLoop.releasedBytesMin, instant >= nextReleaseAt else { return }
    nextReleaseAt = instant + .seconds(60)
    releaseMemory()
  }

  private static var releasedBytesMin: Int { 1 << 20 }

  private func snapshotMessages(_ widgets: [Widget], _ mask: ReadMask) -> [EncodedMessage]? {
    split(widgets, mask) { piece, _ in
      WatchWidgetsResponse.snapshot(SnapshotChunk(widgets: Array(piece)))
    }
  }

  /// The frames that end a transfer; nil if what it started from is too old by now, or a frame too
  /// large.
  private func finalMessages(
    _ group: WatchGroup, _ transfer: Subscription.Transfer
  ) -> [EncodedMessage]? {
    let delta: Delta
    do throws(StoreError) {
      delta = try store.changes(
        endingTransferSince: transfer.cursor, startedAt: transfer.startedAt,
        selecting: group.filter.selector)
    } catch {
      return nil
    }
    guard transfer.isSnapshot else {
      return changeMessages(
        group, filter(delta.changes, group.filter.mask), from: transfer.cursor,
        to: delta.toRevision)
    }
    var widgets: [Widget] = []
    var removed: [WidgetID] = []
    for change in delta.changes {
      switch change {
      case .added(let widget, _): widgets.append(widget)
      case .updated(let update): if let widget = store.widget(update.id) { widgets.append(widget) }
      case .removed(let id, _): removed.append(id)
      }
    }
    var messages: [EncodedMessage] = []
    if !widgets.isEmpty {
      guard let frames = snapshotMessages(widgets, group.filter.mask) else { return nil }
      messages += frames
    }
    if !removed.isEmpty {
      let frames = split(removed, .all) { piece, _ in
        WatchWidgetsResponse.snapshot(SnapshotChunk(removedIDs: Array(piece)))
      }
      guard let frames else { return nil }
      messages += frames
    }
    let synced = WatchWidgetsResponse.synced(
      WatchSynced(revision: delta.toRevision, resumeToken: token(group, delta.toRevision)))
    if let message = encode(synced) { messages.append(message) }
    return messages
  }

  /// Event frames after a sequence number, and how far they go.
  private func eventMessages(
    _ group: WatchGroup, after sequence: UInt64, limit: Int
  ) -> (messages: [EncodedMessage], cursor: UInt64) {
    let page = store.events(
      after: sequence, limit: limit, selecting: group.filter.selector,
      names: group.filter.eventNames)
    var messages: [EncodedMessage] = []
    if let gap = page.gap {
      let gap = EventGap(firstSequence: gap.lowerBound, lastSequence: gap.upperBound)
      let message =
        group.filter.wantsState
        ? encode(WatchWidgetsResponse.gap(gap)) : encode(WatchEventsResponse.gap(gap))
      if let message { messages.append(message) }
    }
    if !page.events.isEmpty {
      if group.filter.wantsState {
        messages +=
          split(page.events, .all) { piece, _ in
            WatchWidgetsResponse.events(EventBatch(events: Array(piece)))
          } ?? []
      } else {
        messages +=
          split(page.events, .all) { piece, _ in
            WatchEventsResponse.events(EventBatch(events: Array(piece)))
          } ?? []
      }
    }
    return (messages, page.cursor)
  }

  /// Encodes all elements in as few messages as keep to `frameBytesTarget`, halving as long as one
  /// is larger and has more than one element. nil if one element alone is too large for a frame.
  private func split<Element, M: WireMessage>(
    _ elements: [Element], _ mask: ReadMask,
    _ message: (ArraySlice<Element>, _ isLast: Bool) -> M
  ) -> [EncodedMessage]? {
    var messages: [EncodedMessage] = []
    func append(_ piece: ArraySlice<Element>) -> Bool {
      let isLast = piece.endIndex == elements.endIndex
      let limit = piece.count > 1 ? limits.frameBytesTarget : FrameHeader.frameDataBytesMax
      if let encoded = encode(message(piece, isLast), mask: mask, atMost: limit) {
        messages.append(encoded)
        return true
      }
      guard piece.count > 1 else { return false }
      let middle = piece.startIndex + piece.count / 2
      return append(piece[..<middle]) && append(piece[middle...])
    }
    return append(elements[...]) ? messages : nil
  }

  private func send(_ message: some WireMessage, to subscription: Subscription) {
    if let encoded = encode(message) { subscription.sink.send(encoded) }
  }

  /// Encodes a message; nil if it is larger than `atMost` or cannot be encoded.
  private func encode<M: WireMessage>(
    _ message: M, mask: ReadMask = .all, atMost limit: Int = FrameHeader.frameDataBytesMax
  ) -> EncodedMessage? {
    do throws(WireError) {
      let encoded: EncodedMessage? = try codec.withEncoded(message, mask: mask) { packed in
        guard packed.byteCount <= limit else { return nil }
        return EncodedMessage(byteCount: packed.byteCount) { packed.pack(into: $0) }
      }
      if encoded != nil { counters.framesEncoded += 1 }
      return encoded
    } catch {
      logger.debug("a frame cannot be encoded", metadata: ["error": "\(error)"])
      return nil
    }
  }
}
