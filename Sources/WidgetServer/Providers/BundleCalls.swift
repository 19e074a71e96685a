import NIOCore
import WidgetModel
import WidgetProto

/// The calls of CatalogService about bundles. The daemon sends them to the provider that manages
/// bundles, and sends its answer to the caller. These calls do not touch the store.
final class BundleCalls {
  private let context: ServiceContext
  /// The calls that wait, by the number of their request to the provider.
  private var waiting: [UInt64: Waiting] = [:]
  private var lastNumber: UInt64 = 0

  init(_ context: ServiceContext) { self.context = context }

  /// A call that waits for the provider.
  private struct Waiting {
    let method: Method
    let call: UInt32
    let responder: any CallResponder
    unowned let session: ServedSession
    /// Ends the call if the provider does not answer.
    let timer: Scheduled<Void>
  }

  /// Sends a call to the provider.
  ///
  /// - Parameters:
  ///   - manager: The session that manages bundles, if there is one.
  ///   - silence: That of the provider that managed bundles, if it runs and does not answer.
  func begin(
    _ request: ProvideBundleRequest.Request, of method: Method, _ call: UInt32,
    _ responder: any CallResponder, manager: ServedSession?,
    silence: @autoclosure () -> ProviderSilence?
  ) throws(RPCStatus) {
    switch request {
    case .install(let install): try checkArchive(install.content)
    case .diff(let diff): try checkArchive(diff.content)
    case .list, .delete, .rollback, .setDefaults, .unknown: break
    }
    guard let session = manager else {
      throw silence().map { .bundleHostSilent($0) } ?? .noBundleHost
    }
    if let (limit, maximum) = context.limits.reachedByBundleCall(
      of: (responder.peer.uid, responder.level),
      waiting: waiting.values.map { ($0.responder.peer.uid, $0.responder.level) })
    {
      throw .quotaExceeded(limit, maximum)
    }
    lastNumber += 1
    let (number, seconds) = (lastNumber, context.limits.bundleCallSeconds)
    // If the caller leaves, the provider may still carry out the call, so the call keeps its place.
    let timer = context.schedule(in: .seconds(Int64(seconds))) {
      self.expire(number, after: seconds)
    }
    waiting[number] = Waiting(
      method: method, call: call, responder: responder, session: session, timer: timer)
    session.send(.bundleRequest(ProvideBundleRequest(id: number, request: request)))
  }

  private func checkArchive(_ content: [UInt8]) throws(RPCStatus) {
    guard content.count <= context.limits.bundleArchiveBytesMax else {
      throw .quotaExceeded("bundle_archive_bytes_max", context.limits.bundleArchiveBytesMax)
    }
  }

  /// Answers a call with the provider's answer. Ignores the answer if its call has ended.
  func answer(_ answer: ProvideBundleAnswer, of session: ServedSession) throws(RPCStatus) {
    guard let asked = waiting[answer.bundleRequestID], asked.session === session else { return }
    let (call, responder) = (asked.call, asked.responder)
    switch (answer.outcome, asked.method) {
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
      context.note(asked.method, status, of: responder.peer)
      responder.answerNow { responder.refuse(status, to: call) }
    default:
      throw .invalidField("bundle_answer.outcome", "It is the response to another request.")
    }
    asked.timer.cancel()
    waiting[answer.bundleRequestID] = nil
  }

  private func expire(_ number: UInt64, after seconds: Int) {
    guard let asked = waiting.removeValue(forKey: number) else { return }
    let status = RPCStatus.bundleHostSlow(seconds: seconds)
    context.note(asked.method, status, of: asked.responder.peer)
    asked.responder.answerNow { asked.responder.refuse(status, to: asked.call) }
  }

  /// Ends the calls that wait for a session that is over.
  ///
  /// - Parameter silence: That of the session's provider, if its process runs and does not answer.
  func endAll(of session: ServedSession, silence: @autoclosure () -> ProviderSilence?) {
    guard waiting.contains(where: { $1.session === session }) else { return }
    let status = silence().map { RPCStatus.bundleHostSilent($0) } ?? .bundleHostGone
    for (number, asked) in waiting where asked.session === session {
      asked.timer.cancel()
      waiting[number] = nil
      asked.responder.answerNow { asked.responder.refuse(status, to: asked.call) }
    }
  }
}

extension ServerLimits {
  typealias BundleCaller = (uid: UInt32, level: AccessPolicy.Level)

  /// The limit that forbids one more call about bundles; nil if no limit does. One user who is not an
  /// owner gets at most half of the places of such users. `waiting` has the callers that wait.
  func reachedByBundleCall(
    of caller: BundleCaller, waiting: [BundleCaller]
  ) -> (limit: String, maximum: Int)? {
    if waiting.count >= bundleCallsMax { return ("bundle_calls_max", bundleCallsMax) }
    guard caller.level < .owner else { return nil }
    let clients = waiting.filter { $0.level < .owner }
    let ofUser = clients.count { $0.uid == caller.uid }
    guard
      clients.count >= bundleCallsOfClientsMax || ofUser >= max(1, bundleCallsOfClientsMax / 2)
    else { return nil }
    return ("bundle_calls_of_clients_max", bundleCallsOfClientsMax)
  }
}
