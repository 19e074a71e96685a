import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Gives connections to the next process, and takes them from the last one.
///
/// Both processes use the same store, so cursors stay valid. A stream is described by its request
/// and its reader's position. A transfer begins again, and ends with the changes since its first
/// beginning. So its reader may get a widget twice but misses nothing.
extension ServiceLoop {
  /// Ends the streams of guests in slices of their users' time, because their connections cannot be
  /// handed over. Guests open no more streams.
  func endGuestStreams() { endGuestStreams(in: StreamEnding(context)) }

  /// - Parameter ending: nil to end the streams at once.
  private func endGuestStreams(in ending: StreamEnding?) {
    context.prepareHandover()
    streams.endAll(in: ending) { $0.sink is InProcessSink }
    providers.endAll { $0.sink is InProcessSink }
    health.endAll(in: ending) { $0.sink is InProcessSink }
  }

  /// Gives away connections, at most `connectionsMax`, those with streams first. Closes the store.
  /// This loop cannot be used afterwards.
  func handOver(connectionsMax: Int) -> HandedOver {
    reloads.endAll()
    context.pause.endForGood()
    storage.handOver()
    // Events are only in memory, so the past events are sent before this process ends.
    finishTurnAndRound()
    // By now, all streams are open that guests had requested before they were told.
    endGuestStreams(in: nil)
    // Providers connect to the next process, and declare their kinds again.
    providers.endAll()
    providers.snapshots.answerEnded()
    turn.finish()
    context.drain()
    // The next process knows no requests for streams.
    turn.refuseOpenings(.shuttingDown)
    context.work.abandonAll()
    // Most of these messages had the time to end before.
    endPreparations()
    turn.finish()
    let codec = WireCodec(limits: HandedOver.limits)
    var records: [[UInt8]] = []
    var sockets: [String: CInt] = [:]
    for connection in connections.toHandOver(atMost: connectionsMax) {
      guard let (handed, socket) = connection.handOver() else { continue }
      do throws(WireError) {
        records.append(try codec.encode(handed))
        sockets[handed.name] = socket
      } catch {
        context.logger.warning(
          "a connection is closed, because it cannot be described to the next process",
          metadata: ["uid": "\(connection.peer.uid)", "error": "\(error)"])
        close(socket: socket)
      }
    }
    let head = Handover(
      epoch: context.store.epoch, revision: context.store.revision,
      lastSubscriptionID: context.streamAccounts.lastID,
      connectionCount: UInt32(clamping: records.count),
      lastSequence: context.store.lastEventSequence)
    saveBudgetsAtEnd()
    closeLog()
    // A few numbers always encode.
    guard let record = try? codec.encode(head) else { return HandedOver(sockets: sockets) }
    return HandedOver(records: [record] + records, sockets: sockets)
  }

  /// Continues a stream of the former process, if its reader may still have it.
  func takeOver(
    _ handed: HandedStream, sink: any StreamSink, peer: Peer, level: AccessPolicy.Level
  ) throws(RPCStatus) -> any ServedStream {
    if let method = handed.method, level < method.requiredLevel {
      throw .permissionDenied(method, peer.uid)
    }
    let stream: any ServedStream
    switch handed.request {
    case .widgets(let request):
      stream = WatchStream(
        try streams.takeOver(request, of: handed, sink: sink, peer: peer), of: streams)
    case .events(let request):
      stream = WatchStream(
        try streams.takeOver(request, of: handed, sink: sink, peer: peer), of: streams)
    case .health(let request):
      stream = try health.continueWatch(
        request, of: handed, sink: sink, peer: peer, level: level)
    case nil:
      throw .shuttingDown
    }
    if handed.timeoutNanoseconds > 0 {
      stream.setDeadline(in: .nanoseconds(handed.timeoutNanoseconds), context)
    }
    return stream
  }

  /// Checks the state that another server left. Returns nil if its cursors do not belong to this
  /// store.
  func accept(_ handed: HandedOver) -> [HandedConnection]? {
    guard let parsed = handed.parsed(), parsed.head.epoch == context.store.epoch,
      parsed.head.revision <= context.store.revision
    else {
      context.logger.warning(
        "connections of the last process are closed: their state does not match the store",
        metadata: ["connections": "\(handed.sockets.count)"])
      return nil
    }
    if parsed.unreadableCount > 0 {
      context.logger.warning(
        "connections of the last process are closed: their state cannot be read",
        metadata: ["connections": "\(parsed.unreadableCount)"])
    }
    context.follow(parsed.head)
    return parsed.connections
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
