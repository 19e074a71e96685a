import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Giving connections to the process that follows, and taking them from the one before.
///
/// The store is the same before and after: cursors mean the same. Of a stream it is enough to say
/// what was asked for and how far its reader is. A transfer begins again, and ends with what changed
/// since it first began, so its reader may be sent a widget twice but misses nothing.
extension ServiceLoop {
  /// Ends the streams of guests, whose connections cannot be handed over. They open no more.
  func endGuestStreams() {
    isHandingOver = true
    for subscription in Array(subscriptions.values) where subscription.sink is InProcessSink {
      finish(subscription, .shuttingDown)
    }
    endProviders { $0.sink is InProcessSink }
    endHealthWatches { $0.sink is InProcessSink }
  }

  /// Gives connections away, at most so many, those with streams first, and closes the store. Nothing
  /// works here afterwards.
  func handOver(connectionsMax: Int) -> HandedOver {
    for (call, responder) in reloads.values {
      responder.answerNow { responder.refuse(.shuttingDown, to: call) }
    }
    reloads.removeAll()
    // Events are kept in memory only: what has happened goes out before this process ends.
    finishTurnAndRound()
    // Streams that guests had asked for before they were told are open by now.
    endGuestStreams()
    // Providers come back to the next process, and say what they have.
    endProviders()
    finishTurn()
    isDraining = true
    let codec = WireCodec(limits: HandedOver.limits)
    var records: [[UInt8]] = []
    var sockets: [String: CInt] = [:]
    let all = connections.values.filter(\.canBeHandedOver)
    let watching = all.filter { $0.streamCount > 0 }
    let idle = all.filter { $0.streamCount == 0 }
    if all.count > connectionsMax {
      logger.notice(
        "closing connections, because only so many go on with the next process",
        metadata: ["connections": "\(all.count - connectionsMax)", "maximum": "\(connectionsMax)"])
    }
    for connection in (watching + idle).prefix(connectionsMax) {
      guard let (handed, socket) = connection.handOver() else { continue }
      do throws(WireError) {
        records.append(try codec.encode(handed))
        sockets[handed.name] = socket
      } catch {
        logger.warning(
          "a connection is closed, because it cannot be described to the next process",
          metadata: ["uid": "\(connection.peer.uid)", "error": "\(error)"])
        close(socket: socket)
      }
    }
    let head = Handover(
      epoch: store.epoch, revision: store.revision, lastSubscriptionID: lastSubscriptionID,
      connectionCount: UInt32(clamping: records.count), lastSequence: store.lastEventSequence)
    closeLog()
    // A few numbers always encode.
    guard let record = try? codec.encode(head) else { return HandedOver(sockets: sockets) }
    return HandedOver(records: [record] + records, sockets: sockets)
  }

  /// Goes on with a stream of the process before, if its reader may still have it.
  func takeOver(
    _ handed: HandedStream, sink: any StreamSink, peer: Peer, level: AccessPolicy.Level
  ) throws(RPCStatus) -> any ServedStream {
    if let method = handed.method, level < method.requiredLevel {
      throw .permissionDenied(method.fullName, peer.uid)
    }
    let stream: any ServedStream
    switch handed.request {
    case .widgets(let request):
      try checkTerms(request.selector, request.readMask)
      let subscription = try takeOver(
        handed, sink: sink, peer: peer, minInterval: request.minInterval,
        progressInterval: request.progressInterval,
        filter: .widgets(
          request.selector, request.readMask, includesEvents: request.includeEvents,
          contentFamily: request.contentFamily), isPassive: request.isPassive)
      subscription.wantsProgress = handed.wantsProgress
      subscription.includesTheme = request.includeTheme
      // The former process sent the theme after `opened`, and each change before its revision.
      let cursor = handed.transfer?.startedRevision ?? handed.cursor
      if store.theme.revision <= cursor { subscription.themeRevision = store.theme.revision }
      // When its last frame was is not known: none comes too early.
      subscription.minInterval.map { subscription.nextFrameAt = .now() + $0 }
      scheduleProgress(subscription)
      stream = subscription
    case .events(let request):
      try checkTerms(request.selector)
      stream = try takeOver(
        handed, sink: sink, peer: peer, minInterval: nil, progressInterval: nil,
        filter: .events(request.selector, names: request.names))
    case .health(let request):
      stream = try add(request, sink: sink, peer: peer)
    case nil:
      throw .shuttingDown
    }
    if handed.timeoutNanoseconds > 0 {
      setDeadline(of: stream, in: .nanoseconds(handed.timeoutNanoseconds))
    }
    return stream
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
            startedAt: transfer.startedRevision, chunkCount: store.chunkCount))
      } else {
        .behind(handed.cursor)
      }
    return try add(
      group: groups[filter] ?? WatchGroup(filter), sink: sink, peer: peer, position: position,
      eventCursor: eventCursor(after: handed.eventCursor), minInterval: minInterval,
      progressInterval: progressInterval, isPassive: isPassive, id: handed.subscriptionID)
  }

  /// Where a reader goes on that had all events up to this one. Who had all of the process before misses
  /// none, though the first of this one has another number than the next; all since then it has yet to get.
  func eventCursor(after sequence: UInt64) -> UInt64 {
    sequence == formerSequence ? max(sequence, sequenceAtStart) : sequence
  }

  private func close(socket: CInt) { HandedOver(sockets: ["": socket]).discard() }
}

extension HandedStream {
  fileprivate var method: Method? {
    switch request {
    case .widgets: .watchWidgets
    case .events: .watchEvents
    case .health: .watchHealth
    case nil: nil
    }
  }
}

extension Subscription {
  func handOver(streamID: UInt32, from service: ServiceLoop) -> HandedStream {
    var handed = HandedStream(
      streamID: streamID, request: request, subscriptionID: id,
      timeoutNanoseconds: deadline.map { max(1, ($0 - .now()).nanoseconds) } ?? 0,
      eventCursor: isCaughtUp ? service.sentSequence : eventCursor, wantsProgress: wantsProgress)
    switch position {
    case .caughtUp: handed.cursor = service.sentRevision
    case .behind(let cursor): handed.cursor = cursor
    case .transferring(let transfer):
      handed.cursor = transfer.cursor
      handed.transfer = HandedTransfer(
        isSnapshot: transfer.isSnapshot, startedRevision: transfer.startedAt)
    }
    return handed
  }

  private var request: HandedStream.Request {
    switch group.filter {
    case .widgets(let selector, let mask, let includesEvents, let contentFamily):
      .widgets(
        WatchWidgetsRequest(
          selector: selector, readMask: mask,
          minInterval: minInterval.map { .nanoseconds($0.nanoseconds) },
          progressInterval: progressInterval.map { .nanoseconds($0.nanoseconds) },
          includeEvents: includesEvents, contentFamily: contentFamily,
          includeTheme: includesTheme, isPassive: isPassive))
    case .events(let selector, let names):
      .events(WatchEventsRequest(selector: selector, names: names))
    }
  }
}

extension HealthWatch {
  func handOver(streamID: UInt32, from service: ServiceLoop) -> HandedStream {
    HandedStream(
      streamID: streamID, request: .health(HealthCheckRequest(service: self.service)),
      timeoutNanoseconds: deadline.map { max(1, ($0 - .now()).nanoseconds) } ?? 0)
  }
}
