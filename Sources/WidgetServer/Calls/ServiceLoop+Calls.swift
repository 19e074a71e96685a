import WidgetCore
import WidgetModel
import WidgetProto

/// Carries out unary calls: permission, then the function of the method, which the file of its service
/// names. The answer goes to the responder, which sends it at the end of the turn.
extension ServiceLoop {
  /// Carries out one call.
  func perform(
    _ method: Method, _ payload: UnsafeRawBufferPointer, call: UInt32,
    for responder: any CallResponder, _ attempt: Attempt = .first
  ) {
    context.counters.countCall()
    do throws(RPCStatus) {
      guard responder.level >= method.requiredLevel else {
        throw .permissionDenied(method, responder.peer.uid)
      }
      try context.checkSize(method, payload)
      if method.isMutation {
        if context.phase == .draining { throw .shuttingDown }
        try attempt.checkChanges()
      }
      try dispatch(method, payload, call, responder)
    } catch {
      context.note(method, error, of: responder.peer)
      responder.refuse(error, to: call)
    }
  }

  private func dispatch(
    _ method: Method, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method.ofService {
    case .widget(let method): try dispatch(method, payload, call, responder)
    case .catalog(let method): try dispatch(method, payload, call, responder)
    case .timeline(let method): try dispatch(method, payload, call, responder)
    case .activity(let method): try dispatch(method, payload, call, responder)
    case .blob(let method): try dispatch(method, payload, call, responder)
    case .admin(let method): try dispatch(method, payload, call, responder)
    case .health(let method): try dispatch(method, payload, call, responder)
    // It opens a stream; see `Providers.converse`.
    case .provider: throw .wrongShape(method)
    }
  }

  /// Gives a retried request its first answer. Carries out any other request, and keeps the answer.
  func idempotently<M: WireMessage>(
    _ requestID: String, _ payload: UnsafeRawBufferPointer, _ method: Method, _ call: UInt32,
    _ responder: any CallResponder, _ body: () throws(RPCStatus) -> M
  ) throws(RPCStatus) {
    guard !requestID.isEmpty else { return responder.respond(try body(), to: call) }
    var hash = StableHash()
    hash.combine("\(method.name)")
    hash.combine(payload)
    let uid = responder.peer.uid
    do throws(StoreError) {
      if let response = try context.store.recall(
        requestID: requestID, of: uid, fingerprint: hash.value, at: turn.runningTime)
      {
        context.counters.countReplayedRequest()
        return responder.respond(encoded: response, to: call)
      }
    } catch {
      throw RPCStatus(error)
    }
    let response = try encode(try body())
    context.remember(
      requestID: requestID, of: uid, fingerprint: hash.value, response: response)
    responder.respond(encoded: response, to: call)
  }

  func encode<M: WireMessage>(
    _ message: M, mask: ReadMask = .all
  ) throws(RPCStatus) -> [UInt8] {
    do throws(WireError) { return try context.codec.encode(message, mask: mask) } catch {
      throw .unencodable(error)
    }
  }
}

extension RPCStatus {
  /// A command had no result: a bug of the daemon.
  static let lost = RPCStatus(
    .internalError, "INTERNAL", "The daemon lost track of what it did. Please report this.")
}
