import WidgetCore
import WidgetModel
import WidgetProto

/// Carries out unary calls: permission, then the function of the method. The answer goes to the
/// responder, which sends it at the end of the turn.
extension ServiceLoop {
  /// Carries out one call.
  func perform(
    _ method: Method, _ payload: UnsafeRawBufferPointer, call: UInt32,
    for responder: any CallResponder, _ attempt: Attempt = .first
  ) {
    context.counters.countCall()
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
    // WidgetService
    case .getWidget: try getWidget(payload, call, responder)
    case .updateWidget: try updateWidget(payload, call, responder)
    case .createWidget: try createWidget(payload, call, responder)
    case .listWidgets: try listWidgets(payload, call, responder)
    case .deleteWidget: try deleteWidget(payload, call, responder)
    case .setPresence: try setPresence(payload, call, responder)
    case .moveWidget: try moveWidget(payload, call, responder)
    case .applyWidgets: try applyWidgets(payload, call, responder)
    case .sendEvent: try sendEvent(payload, call, responder)
    case .refreshWidgets: try refreshWidgets(payload, call, responder)
    case .unsubscribe: try unsubscribe(payload, call, responder)
    case .requestProgress: try requestProgress(payload, call, responder)
    // CatalogService
    case .applyKinds: try applyKinds(payload, call, responder)
    case .getKind: try getKind(payload, call, responder)
    case .listKinds: try listKinds(payload, call, responder)
    case .deleteKind: try deleteKind(payload, call, responder)
    case .getTheme: try getTheme(payload, call, responder)
    case .updateTheme: try updateTheme(payload, call, responder)
    case .installBundle: try installBundle(payload, call, responder)
    case .listBundles: try listBundles(payload, call, responder)
    case .deleteBundle: try deleteBundle(payload, call, responder)
    case .rollbackBundle: try rollbackBundle(payload, call, responder)
    case .setBundleDefaults: try setBundleDefaults(payload, call, responder)
    case .diffBundle: try diffBundle(payload, call, responder)
    // TimelineService and ActivityService
    case .getTimeline: try getTimeline(payload, call, responder)
    case .getPlaceholder: try getPlaceholder(payload, call, responder)
    case .getSnapshot: try getSnapshot(payload, call, responder)
    case .startActivity: try startActivity(payload, call, responder)
    case .updateActivity: try updateActivity(payload, call, responder)
    case .endActivity: try endActivity(payload, call, responder)
    // BlobService
    case .uploadBlob: try blobs.upload(payload, call, responder)
    case .readBlob: try blobs.read(payload, call, responder)
    case .deleteBlob: try blobs.delete(payload, call, responder)
    // AdminService and Health
    case .getStats: responder.respond(stats(), to: call)
    case .reload: reloads.begin(call, responder)
    case .setLogLevel: try setLogLevel(payload, call, responder)
    case .setTime: try setTime(payload, call, responder)
    case .checkHealth: try checkHealth(payload, call, responder)
    case .listHealth: try listHealth(payload, call, responder)
    // These open streams; see `prepare` and `Providers.converse`.
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
