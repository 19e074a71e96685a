public import NIOCore
public import WidgetProto

/// Makes calls without a socket: messages in, messages out, as bytes.
///
/// The client acts for a peer: policy, quotas, deadlines and errors are those of any connection,
/// and calls take part in the same turns. A program that hosts a `WidgetServer` uses it to call its
/// daemon. Protocols other than ttrpc make their calls with it.
///
/// It can be used from any task. On the event loop itself no call changes threads.
public struct InProcessClient: Sendable {
  /// The peer of its calls.
  public let peer: Peer
  private let service: NIOLoopBound<ServiceLoop>
  let calls: NIOLoopBound<InProcessCalls>
  private let gate: LoopGate

  /// Call on the service's event loop.
  init(peer: Peer, service: ServiceLoop) {
    self.peer = peer
    self.service = NIOLoopBound(service, eventLoop: service.context.eventLoop)
    calls = NIOLoopBound(
      InProcessCalls(of: peer, service.policy.level(of: peer), service.context.work),
      eventLoop: service.context.eventLoop)
    gate = service.gate
  }

  /// Counts the bytes of an incomplete request. Call on the service's event loop.
  public func incompleteRequest() -> IncompleteRequest {
    calls.value.requestCount += 1
    service.value.context.counters.countBytes(InProcessClient.bytesOfRequest)
    service.value.scheduleMemoryLook()
    return service.value.incompleteRequests.account(of: peer)
  }

  /// Counts one more open call, if the client may only ask for health. Returns the refusal if the
  /// user, or all such users together, have too many open calls. Otherwise the caller calls
  /// `endCall` at the end. Call on the service's event loop.
  public func beginCall() -> RPCStatus? {
    guard calls.value.isUnauthorized else { return nil }
    return service.value.unauthorizedCalls.begin(of: peer.uid, service.value.context.limits)
  }

  /// Ends a call that `beginCall` has counted. Call on the service's event loop.
  public func endCall() {
    if calls.value.isUnauthorized { service.value.unauthorizedCalls.end(of: peer.uid) }
  }

  /// Counts the received bytes of a connection that wait for the time of their user. Call on the
  /// service's event loop.
  public func receivedAccount() -> ReceivedAccount { service.value.receivedBytes.account(of: peer) }

  /// Counts the answers and messages of a connection that its peer has not taken. Call on the
  /// service's event loop.
  public func unsentAccount() -> UnsentAccount { service.value.unsentBytes.account(of: peer) }

  /// The memory of a guest's stream, which may never become a call.
  private static let bytesOfRequest = 24 << 10

  /// The memory of the requests that the client began.
  var requestBytes: Int { calls.value.requestCount * InProcessClient.bytesOfRequest }

  /// Logs that the client's connection is closed. Call on the service's event loop.
  public func logClosing(because reason: String) {
    service.value.context.logClosing(peer, because: reason)
  }

  /// The maximum time for a request to arrive, in milliseconds. Call on the service's event loop.
  public var requestMilliseconds: Int { service.value.context.limits.requestMilliseconds }

  /// A call that the daemon answers.
  public struct MethodDescription: Hashable, Sendable {
    /// "widgetd.v1.WidgetService"
    public let service: String
    /// "GetWidget"
    public let name: String
    /// Whether it answers with a stream.
    public let isStream: Bool
    /// Whether it takes any number of messages, too.
    public let isConversation: Bool
    /// "widgetd.v1.WidgetService/GetWidget"
    public var fullName: String { "\(service)/\(name)" }
  }

  /// All calls that the daemon answers.
  public static let methods = Method.allCases.map {
    MethodDescription(
      service: "\($0.service.name)", name: "\($0.name)", isStream: $0.shape != .unary,
      isConversation: $0.shape == .conversation)
  }

  private static let methodsByName = Dictionary(
    uniqueKeysWithValues: Method.allCases.map { ($0.fullName, $0) })

  /// Makes a unary call.
  ///
  /// - Parameter method: "widgetd.v1.WidgetService/GetWidget"
  /// - Parameter request: the encoded request.
  /// - Parameter admission: decides when the call may be made; nil for at once.
  /// - Returns: the encoded response; at most 4 MiB.
  /// - Throws: the status of the failed call.
  public func call(
    _ method: String, _ request: ByteBuffer, admission: NIOLoopBound<any CallAdmission>? = nil
  ) async throws(RPCStatus) -> ByteBuffer {
    let method = try InProcessClient.find(method, .unary)
    let (peer, calls) = (peer, calls)
    return try await withResult { service, continuation in
      let call = InProcessCall(
        peer: peer, service: service, calls: calls.value, admission: admission?.value,
        continuation: continuation)
      let start = { (isCancelled: Bool) in
        isCancelled ? call.cancel() : call.start(method, request)
      }
      guard let admission else { return calls.value.add(start) }
      admission.value.admit { isCancelled in
        start(isCancelled)
        return call.countAnswer()
      }
    }
  }

  /// Opens a stream.
  ///
  /// - Parameter method: "widgetd.v1.WidgetService/WatchWidgets"
  /// - Parameter request: the encoded request.
  /// - Parameter timeout: when the stream ends with DEADLINE_EXCEEDED; nil for never.
  /// - Parameter room: bounds the messages that the peer has not taken; nil for the stream's bound.
  /// - Throws: the status of the call, if no stream was opened.
  public func open(
    _ method: String, _ request: ByteBuffer, timeout: Duration? = nil,
    room: NIOLoopBound<any StreamRoom>? = nil
  ) async throws(RPCStatus) -> InProcessStream {
    let method = try InProcessClient.find(method, .stream)
    let (peer, calls) = (peer, calls)
    return try await withResult { service, continuation in
      InProcessSink(peer: peer, service: service, calls: calls.value, room: room?.value)
        .open(method, request, timeout, continuation)
    }
  }

  /// Begins a conversation: both sides send messages.
  ///
  /// - Parameter method: "widgetd.v1.ProviderService/Provide"
  /// - Parameter timeout: when the conversation ends with DEADLINE_EXCEEDED; nil for never.
  /// - Parameter room: bounds the messages that the peer has not taken; nil for the stream's bound.
  /// - Throws: the status of the call, if no conversation was opened.
  public func converse(
    _ method: String, timeout: Duration? = nil, room: NIOLoopBound<any StreamRoom>? = nil
  ) async throws(RPCStatus) -> InProcessStream {
    let method = try InProcessClient.find(method, .conversation)
    let (peer, calls) = (peer, calls)
    return try await withResult { service, continuation in
      InProcessSink(peer: peer, service: service, calls: calls.value, room: room?.value)
        .converse(method, timeout, continuation)
    }
  }

  /// Begins a call when the service has time for this client, after the calls that the client began
  /// before. Call on the service's event loop.
  ///
  /// - Parameter start: called once. It gets true if the service stops, and must then return soon.
  public func whenTurnComes(_ start: @escaping (_ isAbandoned: Bool) -> Void) {
    calls.value.add(start)
  }

  /// The same for input that can ask for streams. It also waits while many of the client's streams
  /// wait to be opened. Call on the service's event loop.
  public func whenInputTurnComes(_ start: @escaping (_ isAbandoned: Bool) -> Void) {
    calls.value.addInput(start)
  }

  /// Notes that the work of the client's turn continues in tasks. The time of these tasks counts as
  /// a part of the turn, although they run later. Call it while the client has its turn. Call on
  /// the service's event loop.
  ///
  /// - Parameter parts: the cost of the tasks, compared with those of a call.
  public func expectTasks(parts: Int64 = 1) { calls.value.expectTasks(parts: parts) }

  /// Runs a closure on the service's event loop, at once if the caller is on it. Returns false, and
  /// runs nothing, if the service has stopped.
  public func onLoop(_ body: @escaping @Sendable () -> Void) -> Bool { gate.run(body) }

  private static func find(_ name: String, _ shape: Method.Shape) throws(RPCStatus) -> Method {
    guard let method = methodsByName[name] else {
      let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      throw .unknownMethod(String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }
    guard method.shape == shape else { throw .wrongShape(method) }
    return method
  }

  private typealias Answered<R> = CheckedContinuation<Result<R, RPCStatus>, Never>

  private func withResult<R: Sendable>(
    _ body: @escaping @Sendable (ServiceLoop, Answered<R>) -> Void
  ) async throws(RPCStatus) -> R {
    let service = service
    let result = await withCheckedContinuation { continuation in
      guard !gate.run({ body(service.value, continuation) }) else { return }
      continuation.resume(returning: .failure(.shuttingDown))
    }
    return try result.get()
  }
}

/// Lets calls wait. Confined to the service's event loop.
public protocol CallAdmission: AnyObject {
  /// Calls `start` exactly once, now or later. `start` gets true if the call must not be carried
  /// out any more. `start` returns the size of the answer in bytes, or 0 if the answer comes later.
  func admit(_ start: @escaping (_ isCancelled: Bool) -> Int)

  /// Notes the size of an answer that comes later.
  func answered(_ byteCount: Int)

  /// Whether the caller takes no answer any more. Its call may end later.
  var isLost: Bool { get }
}

/// Bounds the messages of a stream that its peer has not taken. Confined to the service's event
/// loop.
public protocol StreamRoom: AnyObject {
  /// Whether the stream may make another message now.
  var hasRoom: Bool { get }
  /// Whether the peer takes no message any more. The stream may end later.
  var isLost: Bool { get }
  /// Is called when there is room again.
  var onRoom: (() -> Void)? { get set }

  /// Notes the size of a message that was made.
  func take(_ byteCount: Int)
}

extension WidgetServer {
  /// Makes calls without a socket, on behalf of `peer`; see `Peer.current`.
  public func inProcessClient(for peer: Peer) async throws -> InProcessClient {
    try await onLoop { InProcessClient(peer: peer, service: $0) }.get()
  }
}
