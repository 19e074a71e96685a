import WidgetCore
import WidgetModel
import WidgetProto

/// Carrying out unary calls: permission, then the service that the method belongs to. The answer
/// goes to the responder, which sends it at the end of the turn.
extension ServiceLoop {
  /// Carries out one call.
  func perform(
    _ method: Method, _ payload: UnsafeRawBufferPointer, call: UInt32,
    for responder: any CallResponder, _ attempt: Attempt = .first
  ) {
    context.counters.calls += 1
    do throws(RPCStatus) {
      guard responder.level >= method.requiredLevel else {
        throw .permissionDenied(method.fullName, responder.peer.uid)
      }
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
    switch method {
    case .getWidget, .updateWidget, .createWidget, .listWidgets, .deleteWidget, .setPresence,
      .moveWidget, .applyWidgets, .sendEvent, .refreshWidgets:
      try performWidget(method, payload, call, responder)
    case .unsubscribe, .requestProgress: try performStream(method, payload, call, responder)
    case .applyKinds, .getKind, .listKinds, .deleteKind, .getTheme, .updateTheme:
      try performCatalog(method, payload, call, responder)
    case .installBundle, .listBundles, .deleteBundle, .rollbackBundle, .setBundleDefaults,
      .diffBundle:
      try providers.bundleCalls.perform(
        method, payload, call, responder, manager: providers.table.bundleManager)
    case .uploadBlob, .readBlob, .deleteBlob: try blobs.perform(method, payload, call, responder)
    case .getStats, .reload, .setLogLevel, .setTime:
      try performAdmin(method, payload, call, responder)
    case .getTimeline, .getPlaceholder, .getSnapshot:
      try performTimeline(method, payload, call, responder)
    case .startActivity, .updateActivity, .endActivity:
      try performActivity(method, payload, call, responder)
    case .checkHealth:
      let request = try context.decode(HealthCheckRequest.self, payload)
      checkStore()
      responder.respond(try health.check(request), to: call)
    case .listHealth:
      _ = try context.decode(HealthListRequest.self, payload)
      checkStore()
      responder.respond(health.list(), to: call)
    case .watchWidgets, .watchEvents, .watchHealth, .provide: throw .wrongShape(method)
    }
  }

  /// Gives a retried request its first answer, or does it and keeps the answer.
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
        context.counters.requestsReplayed += 1
        return responder.respond(encoded: response, to: call)
      }
    } catch {
      throw RPCStatus(error)
    }
    let response = try encode(try body())
    context.store.remember(
      requestID: requestID, of: uid, fingerprint: hash.value, response: response,
      at: turn.runningTime)
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
