import NIOCore
import WidgetModel
import WidgetProto

/// Calls that open streams, and unary calls about open ones.
extension ServiceLoop {
  /// Decodes the request for a stream. Refuses it if its user may have no further stream.
  func prepare(
    _ method: Method, _ payload: UnsafeRawBufferPointer, sink: any StreamSink, peer: Peer,
    level: AccessPolicy.Level
  ) throws(RPCStatus) -> WaitingStream {
    guard level >= method.requiredLevel else {
      throw .permissionDenied(method, peer.uid)
    }
    try context.checkSize(method, payload)
    let (streams, health) = (streams, health)
    func reserve(_ decodedBytes: Int) throws(RPCStatus) -> StreamReservation {
      try StreamReservation(
        of: peer, level, bytes: max(payload.count, decodedBytes), in: context)
    }
    switch method {
    case .watchWidgets:
      let request = try context.decode(WatchWidgetsRequest.self, payload)
      let reservation = try reserve(WatchGroup.Filter(request).decodedBytes)
      return WaitingStream(reservation) { () throws(RPCStatus) in
        WatchStream(
          try streams.open(request, sink: sink, peer: peer, level: level), of: streams)
      }
    case .watchEvents:
      let request = try context.decode(WatchEventsRequest.self, payload)
      let reservation = try reserve(WatchGroup.Filter(request).decodedBytes)
      return WaitingStream(reservation) { () throws(RPCStatus) in
        WatchStream(
          try streams.open(request, sink: sink, peer: peer, level: level), of: streams)
      }
    case .watchHealth:
      let request = try context.decode(HealthCheckRequest.self, payload)
      let reservation = try reserve(0)
      checkStore()
      return WaitingStream(reservation) { () throws(RPCStatus) in
        try health.open(request, sink: sink, peer: peer, level: level)
      }
    default: throw .wrongShape(method)
    }
  }

  /// The same for a request in a buffer.
  func prepare(
    _ method: Method, _ request: ByteBuffer, sink: any StreamSink, peer: Peer,
    level: AccessPolicy.Level
  ) throws(RPCStatus) -> WaitingStream {
    let result: Result<WaitingStream, RPCStatus> = request.withUnsafeReadableBytes { bytes in
      do throws(RPCStatus) {
        return .success(try prepare(method, bytes, sink: sink, peer: peer, level: level))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Unsubscribe.
  func unsubscribe(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let id = try context.decode(UnsubscribeRequest.self, payload).subscriptionID
    if let session = providers.session(id, of: responder.peer) {
      providers.finish(session, .unsubscribed)
    } else {
      streams.finish(try streams.find(id, of: responder.peer), .unsubscribed)
    }
    responder.respond(UnsubscribeResponse(), to: call)
  }

  /// RequestProgress.
  func requestProgress(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let id = try context.decode(RequestProgressRequest.self, payload).subscriptionID
    let subscription = try streams.find(id, of: responder.peer)
    guard subscription.group.filter.wantsState else { throw .noSubscription(id) }
    streams.requestProgress(of: subscription)
    responder.respond(RequestProgressResponse(), to: call)
  }
}
