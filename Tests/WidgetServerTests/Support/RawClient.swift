import Foundation
import NIOCore
import TestThreads
import Testing
import WidgetModel
import WidgetProto
import WidgetTransport

/// A ttrpc client with a blocking socket, which a test controls exactly: it reads only at a call,
/// only as many bytes as requested, and sends any bytes.
final class RawClient {
  static let widgets = "widgetd.v1.WidgetService"
  static let admin = "widgetd.v1.AdminService"

  let fd: CInt
  let codec = WireCodec()
  private var reader = FrameReader()
  private var inbox: [UInt32: [Frame]] = [:]
  private(set) var bytesReceived = 0
  /// The maximum number of bytes of one read.
  var readBytesMax = 1 << 16
  var nextStreamID: UInt32 = 1
  /// The timeout after which the test fails.
  var patienceMilliseconds = Patience.milliseconds

  init(path: String) throws {
    fd = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    guard fd >= 0 else { throw TestFault("socket: errno \(errno)") }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(fd, $0, size) }
    }
    // The deinitializer closes it.
    guard result == 0 else { throw TestFault("connect to \(path): errno \(errno)") }
  }

  deinit { Glibc.close(fd) }

  /// Closes the connection. Earlier frames can still be read from the object.
  func close() { Glibc.shutdown(fd, CInt(SHUT_RDWR)) }

  // MARK: - Writing

  func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      var poller = pollfd(fd: fd, events: Int16(POLLOUT), revents: 0)
      guard poll(&poller, 1, patienceMilliseconds) > 0 else {
        throw TestFault("the server does not read")
      }
      let sent = trySend(Array(rest.prefix(1 << 18)))
      if sent < 0 { throw TestFault("send: errno \(errno)") }
      rest = rest.dropFirst(sent)
    }
  }

  /// Sends as much as the socket takes now. Returns 0 if it takes nothing, -1 if it is broken.
  func trySend(_ bytes: [UInt8]) -> Int {
    let sent = Glibc.send(fd, bytes, bytes.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
    return sent < 0 && errno == EAGAIN ? 0 : sent
  }

  static func frame(
    _ type: FrameType, _ streamID: UInt32, flags: FrameFlags = [], _ data: [UInt8] = [],
    announcing length: UInt32? = nil
  ) -> [UInt8] {
    var buffer = ByteBuffer()
    buffer.writeFrameHeader(
      FrameHeader(
        dataBytes: length ?? UInt32(data.count), streamID: streamID, type: type, flags: flags))
    buffer.writeBytes(data)
    return Array(buffer.readableBytesView)
  }

  func takeStreamID() -> UInt32 {
    defer { nextStreamID += 2 }
    return nextStreamID
  }

  /// The bytes of a request frame.
  func request(
    _ method: String, _ message: some WireMessage, service: String = RawClient.widgets,
    id: UInt32, flags: FrameFlags = [], timeout: Int64 = 0, metadata: [MetadataEntry] = []
  ) throws -> [UInt8] {
    try request(
      method, payload: codec.encode(message), service: service, id: id, flags: flags,
      timeout: timeout, metadata: metadata)
  }

  func request(
    _ method: String, payload: [UInt8], service: String = RawClient.widgets, id: UInt32,
    flags: FrameFlags = [], timeout: Int64 = 0, metadata: [MetadataEntry] = []
  ) throws -> [UInt8] {
    let envelope = TTRPCRequest(
      service: service, method: method, payload: payload, timeoutNanoseconds: timeout,
      metadata: metadata)
    return RawClient.frame(.request, id, flags: flags, try codec.encode(envelope))
  }

  /// Sends a unary request and does not wait.
  @discardableResult
  func start(
    _ method: String, _ message: some WireMessage, service: String = RawClient.widgets,
    timeout: Int64 = 0
  ) throws -> UInt32 {
    let id = takeStreamID()
    try send(request(method, message, service: service, id: id, timeout: timeout))
    return id
  }

  // MARK: - Reading

  /// Reads once. false at the end of the connection.
  func fill() throws -> Bool {
    var poller = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    guard poll(&poller, 1, patienceMilliseconds) > 0 else {
      throw TestFault("nothing arrived within \(patienceMilliseconds / 1000) s")
    }
    var bytes = [UInt8](repeating: 0, count: readBytesMax)
    let count = recv(fd, &bytes, bytes.count, 0)
    if count == 0 || (count < 0 && [ECONNRESET, EPIPE].contains(errno)) { return false }
    guard count > 0 else { throw TestFault("recv: errno \(errno)") }
    bytesReceived += count
    reader.append(ByteBuffer(bytes: bytes[..<count]))
    return true
  }

  /// Reads this number of bytes.
  func receive(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var part = [UInt8](repeating: 0, count: count - bytes.count)
      let received = recv(fd, &part, part.count, 0)
      guard received > 0 else { throw TestFault("recv: \(received), errno \(errno)") }
      bytes += part.prefix(received)
    }
    return bytes
  }

  /// Whether there are unread bytes, or frames that were read and not taken.
  var hasInput: Bool {
    if inbox.values.contains(where: { !$0.isEmpty }) || reader.bufferedBytes > 0 { return true }
    var poller = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    return poll(&poller, 1, 0) > 0
  }

  /// The next frame of any stream; nil at the end of the connection.
  func nextFrame() throws -> Frame? {
    while true {
      if let item = reader.next() {
        guard case .frame(let frame) = item else { throw TestFault("oversize frame received") }
        return frame
      }
      guard try fill() else { return nil }
    }
  }

  /// The next frame of one stream. Frames of other streams are kept.
  func nextFrame(on streamID: UInt32) throws -> Frame {
    while true {
      if var kept = inbox[streamID], !kept.isEmpty {
        let frame = kept.removeFirst()
        inbox[streamID] = kept
        return frame
      }
      guard let frame = try nextFrame() else {
        throw TestFault("the server closed the connection; stream \(streamID) waits")
      }
      inbox[frame.header.streamID, default: []].append(frame)
    }
  }

  /// Reads to the end of the connection. Returns false if it is still open after the timeout.
  func readToEnd() throws {
    while try nextFrame() != nil {}
  }

  func response(to streamID: UInt32) throws -> TTRPCResponse {
    let frame = try nextFrame(on: streamID)
    guard frame.header.type == .response else {
      throw TestFault("stream \(streamID): expected a response, got \(frame.header.type)")
    }
    return try codec.decode(TTRPCResponse.self, from: Array(frame.data.readableBytesView))
  }

  func answer<A: WireMessage>(to streamID: UInt32, as type: A.Type) throws -> A {
    let response = try response(to: streamID)
    if let status = response.status, status.code != .ok { throw status }
    return try codec.decode(type, from: response.payload)
  }

  // MARK: - Calls

  func call<A: WireMessage>(
    _ method: String, _ message: some WireMessage, as type: A.Type,
    service: String = RawClient.widgets, timeout: Int64 = 0
  ) throws -> A {
    try answer(to: start(method, message, service: service, timeout: timeout), as: type)
  }

  /// The error that a call ends with.
  func refusal(
    _ method: String, _ message: some WireMessage, service: String = RawClient.widgets,
    timeout: Int64 = 0, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> RPCStatus {
    let id = try start(method, message, service: service, timeout: timeout)
    return try #require(
      response(to: id).status, "\(method) should have been refused", sourceLocation: sourceLocation)
  }

  func refusal(
    _ method: String, payload: [UInt8], service: String = RawClient.widgets,
    flags: FrameFlags = [], sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> RPCStatus {
    let id = takeStreamID()
    try send(request(method, payload: payload, service: service, id: id, flags: flags))
    return try #require(
      response(to: id).status, "\(method) should have been refused", sourceLocation: sourceLocation)
  }

  func health(_ service: String = "") throws -> HealthCheckResponse.ServingStatus {
    try call(
      "Check", HealthCheckRequest(service: service), as: HealthCheckResponse.self,
      service: "grpc.health.v1.Health"
    ).status
  }

  func stats() throws -> GetStatsResponse {
    try call("GetStats", GetStatsRequest(), as: GetStatsResponse.self, service: RawClient.admin)
  }

  @discardableResult
  func create(
    _ id: String?, kind: String = "clock", labels: Labels = [:], data: ValueMap = [:],
    requestID: String = "", transition: Transition? = nil
  ) throws -> Widget {
    let spec = WidgetSpec(
      id: try id.map { try .make($0) }, kind: try .make(kind), labels: labels, data: data)
    return try call(
      "CreateWidget",
      CreateWidgetRequest(widget: spec, requestID: requestID, transition: transition),
      as: CreateWidgetResponse.self
    ).widget
  }

  @discardableResult
  func set(
    _ id: String, _ data: ValueMap, transition: Transition? = nil
  ) throws -> UpdateWidgetResponse {
    try patch(id, WidgetPatch(setData: data), transition: transition)
  }

  @discardableResult
  func patch(
    _ id: String, _ patch: WidgetPatch, etag: String = "", requestID: String = "",
    transition: Transition? = nil
  ) throws -> UpdateWidgetResponse {
    try call(
      "UpdateWidget",
      UpdateWidgetRequest(
        id: .make(id), patch: patch, etag: etag, requestID: requestID, transition: transition,
        omitWidget: true), as: UpdateWidgetResponse.self)
  }

  func get(_ id: String) throws -> Widget {
    try call("GetWidget", GetWidgetRequest(id: .make(id)), as: GetWidgetResponse.self).widget
  }

  @discardableResult
  func delete(_ id: String, transition: Transition? = nil) throws -> Revision {
    try call(
      "DeleteWidget", DeleteWidgetRequest(id: .make(id), transition: transition),
      as: DeleteWidgetResponse.self
    ).revision
  }

  @discardableResult
  func presence(
    _ action: PresenceAction, _ target: PresenceTarget = .all
  ) throws -> SetPresenceResponse {
    try call(
      "SetPresence", SetPresenceRequest(target: target, action: action),
      as: SetPresenceResponse.self)
  }

  @discardableResult
  func event(_ id: String, _ name: String = "click", force: Bool = false) throws -> UInt64 {
    try call(
      "SendEvent", SendEventRequest(widgetID: .make(id), name: name, force: force),
      as: SendEventResponse.self
    ).sequence
  }

  @discardableResult
  func apply(_ widgets: [WidgetSpec], prune: Bool = false) throws -> ApplyWidgetsResponse {
    try call(
      "ApplyWidgets", ApplyWidgetsRequest(widgets: widgets, prune: prune),
      as: ApplyWidgetsResponse.self)
  }

  /// All widgets, by pages.
  func list(_ selector: Selector = Selector()) throws -> (
    widgets: [WidgetID: Widget], revision: Revision
  ) {
    var widgets: [WidgetID: Widget] = [:]
    var request = ListWidgetsRequest(selector: selector, pageSize: 1_000)
    while true {
      let page = try call("ListWidgets", request, as: ListWidgetsResponse.self)
      for tagged in page.widgets { widgets[tagged.widget.id] = tagged.widget }
      guard !page.nextPageToken.isEmpty else { return (widgets, page.revision) }
      request.pageToken = page.nextPageToken
    }
  }

  // MARK: - Streams

  func watch(
    _ request: WatchWidgetsRequest = WatchWidgetsRequest(), timeout: Int64 = 0
  ) throws -> RawStream<WatchWidgetsResponse> {
    try stream("WatchWidgets", request, timeout: timeout)
  }

  func watchEvents(
    _ request: WatchEventsRequest = WatchEventsRequest()
  ) throws -> RawStream<WatchEventsResponse> {
    try stream("WatchEvents", request)
  }

  func stream<A: WireMessage>(
    _ method: String, _ message: some WireMessage, timeout: Int64 = 0
  ) throws -> RawStream<A> {
    let id = takeStreamID()
    try send(request(method, message, id: id, flags: .remoteClosed, timeout: timeout))
    return RawStream(client: self, id: id)
  }

  func unsubscribe(_ id: UInt64) throws {
    _ = try call(
      "Unsubscribe", UnsubscribeRequest(subscriptionID: id), as: UnsubscribeResponse.self)
  }

  func requestProgress(_ id: UInt64) throws {
    _ = try call(
      "RequestProgress", RequestProgressRequest(subscriptionID: id),
      as: RequestProgressResponse.self)
  }
}

/// A server's stream, read one message at a time.
struct RawStream<Message: WireMessage> {
  let client: RawClient
  let id: UInt32

  /// The next message; nil at an end without an error. Throws the status of an end with an error.
  func next() throws -> Message? {
    let frame = try client.nextFrame(on: id)
    let bytes = Array(frame.data.readableBytesView)
    guard frame.header.type == .data else {
      let response = try client.codec.decode(TTRPCResponse.self, from: bytes)
      throw try #require(response.status, "a stream ended with a response without a status")
    }
    if frame.header.flags.contains(.remoteClosed), frame.header.flags.contains(.noData) {
      return nil
    }
    return try client.codec.decode(Message.self, from: bytes)
  }

  /// Reads until the stream ends, and returns its status; nil for success.
  func end() throws -> RPCStatus? {
    do {
      while try next() != nil {}
      return nil
    } catch let status as RPCStatus {
      return status
    }
  }
}

extension WidgetID {
  static func make(_ id: String) throws -> WidgetID {
    guard let id = WidgetID(id) else { throw TestFault("\(id) is not an id") }
    return id
  }
}

extension KindName {
  static func make(_ name: String) throws -> KindName {
    guard let name = KindName(name) else { throw TestFault("\(name) is not a kind") }
    return name
  }
}

extension RPCStatus {
  var reason: String { errorInfo?.reason ?? "" }
}
