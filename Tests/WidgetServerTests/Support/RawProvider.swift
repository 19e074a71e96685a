import NIOCore
import Testing
import WidgetModel
import WidgetProto
import WidgetTransport

/// A provider's session, one frame at a time.
struct RawProvider {
  static let service = "widgetd.v1.ProviderService"
  static let leaseMax = Duration.seconds(300)

  let client: RawClient
  let stream: RawStream<ProvideResponse>

  /// Begins a session, without a frame.
  init(_ client: RawClient, timeout: Int64 = 0) throws {
    self.client = client
    let id = client.takeStreamID()
    try client.send(
      client.request(
        "Provide", payload: [], service: Self.service, id: id, flags: .remoteOpen,
        timeout: timeout))
    stream = RawStream(client: client, id: id)
  }

  func frame(_ request: ProvideRequest, flags: FrameFlags = []) throws -> [UInt8] {
    RawClient.frame(.data, stream.id, flags: flags, try client.codec.encode(request))
  }

  func send(_ requests: ProvideRequest...) throws {
    try client.send(requests.flatMap { try frame($0) })
  }

  /// Ends the provider's frames.
  func halfClose() throws {
    try client.send(RawClient.frame(.data, stream.id, flags: [.remoteClosed, .noData]))
  }

  func next() throws -> ProvideResponse {
    try #require(try stream.next(), "the session ended")
  }

  /// Opens the session, declares kinds, and reads until the provider knows all existing widgets.
  ///
  /// - Parameter lease: the longest possible one by default, because a test on a slow machine may be
  ///   silent for longer than the daemon's default.
  /// - Returns: the data requests that came meanwhile.
  @discardableResult
  func open(
    _ name: String = "desk", kinds: [Kind] = [], lease: Duration = leaseMax, after: UInt64? = nil,
    epoch: UInt64 = 77, takeOver: Bool = false, includeAudience: Bool = false
  ) throws -> (opened: ProvideOpened, requests: [DataRequest]) {
    try send(
      .open(
        ProvideOpen(
          provider: name, lease: lease, acknowledgedSequence: after, epoch: epoch,
          takeOver: takeOver, includeAudience: includeAudience)))
    guard case .opened(let opened) = try next() else { throw TestFault("not opened") }
    var requests = try untilSynced()
    guard !kinds.isEmpty else { return (opened, requests) }
    try send(.kinds(ProvideKinds(id: 1, kinds: kinds)))
    let result = try self.result()
    #expect(result.id == 1 && result.error == nil)
    guard result.kinds.contains(where: { $0.action == .created }) else {
      return (opened, requests)
    }
    requests += try untilSynced()
    return (opened, requests)
  }

  private func untilSynced() throws -> [DataRequest] {
    var requests: [DataRequest] = []
    while true {
      switch try next() {
      case .dataRequest(let request): requests.append(request)
      case .synced: return requests
      case let other: throw TestFault("unexpected \(other)")
      }
    }
  }

  func result() throws -> ProvideResult {
    guard case .result(let result) = try next() else { throw TestFault("no result") }
    return result
  }

  /// Changes one widget and returns the result.
  @discardableResult
  func update(_ id: String, _ data: ValueMap, frame: UInt64 = 9) throws -> ProvideResult {
    try send(
      .update(
        ProvideUpdate(
          id: frame, updates: [ProvidedUpdate(.make(id), WidgetPatch(setData: data))])))
    return try result()
  }

  func event() throws -> Event {
    guard case .event(let event) = try next() else { throw TestFault("no event") }
    return event
  }

  func audience() throws -> ProvideAudience {
    let frame = try next()
    guard case .audience(let audience) = frame else { throw TestFault("unexpected \(frame)") }
    return audience
  }

  func dataRequest() throws -> DataRequest {
    guard case .dataRequest(let request) = try next() else { throw TestFault("no data request") }
    return request
  }

  /// Waits until the daemon has answered a keep_alive. All earlier frames are then handled, and
  /// there was no other frame.
  func settle() throws {
    try send(.keepAlive)
    let frame = try next()
    guard frame == .keepAlive else { throw TestFault("unexpected \(frame)") }
  }
}
