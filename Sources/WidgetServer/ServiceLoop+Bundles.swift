import NIOCore
import WidgetModel
import WidgetProto

/// The calls of CatalogService about bundles. The daemon sends them to the provider that manages
/// bundles, and sends its answer to the caller. These calls do not touch the store.
extension ServiceLoop {
  /// A call that waits for the provider.
  struct BundleCall {
    let method: Method
    let call: UInt32
    let responder: any CallResponder
    unowned let session: ProviderSession
    /// Ends the call if the provider does not answer.
    let timer: Scheduled<Void>
  }

  func performBundles(
    _ method: Method, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request: ProvideBundleRequest.Request
    switch method {
    case .installBundle:
      let install = try decode(InstallBundleRequest.self, payload)
      try checkArchive(install.content)
      request = .install(install)
    case .listBundles: request = .list(try decode(ListBundlesRequest.self, payload))
    case .deleteBundle: request = .delete(try decode(DeleteBundleRequest.self, payload))
    case .rollbackBundle: request = .rollback(try decode(RollbackBundleRequest.self, payload))
    case .setBundleDefaults:
      request = .setDefaults(try decode(SetBundleDefaultsRequest.self, payload))
    case .diffBundle:
      let diff = try decode(DiffBundleRequest.self, payload)
      try checkArchive(diff.content)
      request = .diff(diff)
    default: throw .wrongShape(method)
    }
    guard let session = bundleManager else { throw .noBundleHost }
    if let (limit, maximum) = limits.reachedByBundleCall(
      of: responder.level, waiting: bundleCalls.values.map(\.responder.level))
    {
      throw .quotaExceeded(limit, maximum)
    }
    lastBundleCall += 1
    let (number, seconds) = (lastBundleCall, limits.bundleCallSeconds)
    // If the caller leaves, the provider may still carry out the call, so the call keeps its place.
    let timer = eventLoop.assumeIsolated().scheduleTask(in: .seconds(Int64(seconds))) {
      self.expireBundleCall(number, after: seconds)
    }
    bundleCalls[number] = BundleCall(
      method: method, call: call, responder: responder, session: session, timer: timer)
    send(.bundleRequest(ProvideBundleRequest(id: lastBundleCall, request: request)), to: session)
  }

  private func checkArchive(_ content: [UInt8]) throws(RPCStatus) {
    guard content.count <= limits.bundleArchiveBytesMax else {
      throw .quotaExceeded("bundle_archive_bytes_max", limits.bundleArchiveBytesMax)
    }
  }

  /// The session that was opened last among those that manage bundles.
  private var bundleManager: ProviderSession? {
    providers.byName.values.filter { $0.managesBundles && $0.isStarted && !$0.isOver }
      .max { $0.id < $1.id }
  }

  /// Answers a call with the provider's answer. Ignores the answer if nobody waits for it any more.
  func answer(_ answer: ProvideBundleAnswer, of session: ProviderSession) throws(RPCStatus) {
    guard let waiting = bundleCalls[answer.bundleRequestID], waiting.session === session else {
      return
    }
    let (call, responder) = (waiting.call, waiting.responder)
    switch (answer.outcome, waiting.method) {
    case (.install(let response), .installBundle):
      responder.answerNow { responder.respond(response, to: call) }
    case (.list(let response), .listBundles):
      responder.answerNow { responder.respond(response, to: call) }
    case (.delete(let response), .deleteBundle):
      responder.answerNow { responder.respond(response, to: call) }
    case (.rollback(let response), .rollbackBundle):
      responder.answerNow { responder.respond(response, to: call) }
    case (.setDefaults(let response), .setBundleDefaults):
      responder.answerNow { responder.respond(response, to: call) }
    case (.diff(let response), .diffBundle):
      responder.answerNow { responder.respond(response, to: call) }
    case (.error(let status), _):
      note(waiting.method, status, of: responder.peer)
      responder.answerNow { responder.refuse(status, to: call) }
    default:
      throw .invalidField("bundle_answer.outcome", "It is the response to another request.")
    }
    waiting.timer.cancel()
    bundleCalls[answer.bundleRequestID] = nil
  }

  private func expireBundleCall(_ number: UInt64, after seconds: Int) {
    guard let waiting = bundleCalls.removeValue(forKey: number) else { return }
    let status = RPCStatus.bundleHostSlow(seconds: seconds)
    note(waiting.method, status, of: waiting.responder.peer)
    waiting.responder.answerNow { waiting.responder.refuse(status, to: waiting.call) }
  }

  /// Ends the calls that wait for a session that is over.
  func endBundleCalls(of session: ProviderSession) {
    for (number, waiting) in bundleCalls where waiting.session === session {
      waiting.timer.cancel()
      bundleCalls[number] = nil
      waiting.responder.answerNow {
        waiting.responder.refuse(.bundleHostGone, to: waiting.call)
      }
    }
  }
}

extension ServerLimits {
  /// The limit that forbids one more call about bundles; nil if no limit does. `waiting` has the
  /// levels of the callers that wait.
  func reachedByBundleCall(
    of level: AccessPolicy.Level, waiting: [AccessPolicy.Level]
  ) -> (limit: String, maximum: Int)? {
    if waiting.count >= bundleCallsMax { return ("bundle_calls_max", bundleCallsMax) }
    guard level < .owner, waiting.count(where: { $0 < .owner }) >= bundleCallsOfClientsMax else {
      return nil
    }
    return ("bundle_calls_of_clients_max", bundleCallsOfClientsMax)
  }
}
