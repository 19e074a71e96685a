#if GRPC
  import Foundation
  import NIOCore
  import NIOHPACK
  import WidgetModel
  import WidgetProto

  /// A gRPC client of hand-made HTTP/2 frames over a blocking socket. The test controls it
  /// completely: it reads only on request, grants only the given windows, and can send any bytes.
  final class RawHTTP2 {
    static let widgets = "widgetd.v1.WidgetService"
    static let admin = "widgetd.v1.AdminService"
    static let health = "grpc.health.v1.Health"
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    struct Options {
      /// The bytes that each stream may send before it needs a larger window.
      var streamWindow: UInt32 = 65_535
      /// The bytes that all streams together may send before they need a larger window.
      var connectionWindow: UInt32 = 65_535
      /// Whether a read extends the window of the stream again.
      var grantsStreams = true
      /// Whether PING and SETTINGS are acknowledged.
      var acknowledges = true
    }

    struct Frame {
      var type: UInt8
      var flags: UInt8
      var stream: UInt32
      var payload: [UInt8]

      static let data: UInt8 = 0
      static let headers: UInt8 = 1
      static let reset: UInt8 = 3
      static let settings: UInt8 = 4
      static let ping: UInt8 = 6
      static let goAway: UInt8 = 7
      static let windowUpdate: UInt8 = 8
      static let continuation: UInt8 = 9

      var isEnd: Bool { type <= Frame.headers && flags & 1 != 0 }
    }

    /// The frames of a stream that a test has not read.
    struct Inbox {
      var heads: [HPACKHeaders] = []
      var bytes = ByteBuffer()
      var isEnded = false
      var resetCode: UInt32?
      /// The number of received DATA bytes.
      var dataBytes = 0
      /// The size of the last header block, as sent.
      var headBytes = 0
    }

    private let socket: RawSocket
    let codec = WireCodec()
    private let options: Options
    private(set) var inboxes: [UInt32: Inbox] = [:]
    private(set) var goAways: [(lastStream: UInt32, code: UInt32)] = []
    private(set) var pongs: [[UInt8]] = []
    /// The server's PINGs that are not acknowledged.
    private var pings: [[UInt8]] = []
    /// The server's SETTINGS, by number.
    private(set) var settings: [UInt16: UInt32] = [:]
    private(set) var bytesReceived = 0
    private var pending = ByteBuffer()
    private var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var sendWindow = 65_535
    private var streamSendWindows: [UInt32: Int] = [:]
    private var nextStreamID: UInt32 = 1

    init(path: String, _ options: Options = Options()) throws {
      self.options = options
      socket = try RawSocket(path: path)
      var bytes = RawHTTP2.preface
      bytes += RawHTTP2.frame(
        Frame.settings, payload: [0, 4] + RawHTTP2.bigEndian(options.streamWindow))
      if options.connectionWindow > 65_535 {
        bytes += RawHTTP2.windowUpdate(0, options.connectionWindow - 65_535)
      }
      try send(bytes)
    }

    /// Closes the connection. The object still has the earlier data.
    func close() { socket.close() }

    /// Closes the sending half; reading still works.
    func closeWriting() { socket.closeWriting() }

    // MARK: - Writing

    static func bigEndian(_ value: UInt32) -> [UInt8] {
      [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    static func frame(
      _ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []
    ) -> [UInt8] {
      Array(bigEndian(UInt32(payload.count)).dropFirst()) + [type, flags] + bigEndian(stream)
        + payload
    }

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
      frame(Frame.windowUpdate, stream: stream, payload: bigEndian(increment))
    }

    /// A message in the form of gRPC's DATA frames.
    static func prefixed(_ message: [UInt8]) -> [UInt8] {
      [0] + bigEndian(UInt32(message.count)) + message
    }

    func send(_ bytes: [UInt8]) throws { try socket.send(bytes) }

    /// Extends the window of a stream, or with 0 that of the connection.
    func grant(_ stream: UInt32, _ increment: UInt32) throws {
      try send(RawHTTP2.windowUpdate(stream, increment))
    }

    func ping(_ data: [UInt8]) throws { try send(RawHTTP2.frame(Frame.ping, payload: data)) }

    /// Acknowledges the PINGs so far, if the client does not do so by itself.
    func acknowledgePings() throws {
      for payload in pings { try send(RawHTTP2.frame(Frame.ping, flags: 1, payload: payload)) }
      pings = []
    }

    func reset(_ stream: UInt32, code: UInt32 = 8) throws {
      try send(
        RawHTTP2.frame(Frame.reset, stream: stream, payload: RawHTTP2.bigEndian(code)))
    }

    /// Begins a call and sends no message.
    func begin(
      _ path: String, _ extra: [(String, String)] = [], isEnd: Bool = false
    ) throws -> UInt32 {
      let stream = nextStreamID
      nextStreamID += 2
      var headers: HPACKHeaders = [
        ":method": "POST", ":scheme": "http", ":path": "/" + path, ":authority": "localhost",
        "content-type": "application/grpc", "te": "trailers",
      ]
      for (name, value) in extra { headers.add(name: name, value: value) }
      var block = ByteBuffer()
      try encoder.encode(headers: headers, to: &block)
      try send(
        RawHTTP2.frame(
          Frame.headers, flags: isEnd ? 5 : 4, stream: stream,
          payload: Array(block.readableBytesView)))
      inboxes[stream] = Inbox()
      return stream
    }

    /// Sends bytes on a stream, as fast as its window allows.
    func sendData(_ bytes: [UInt8], on stream: UInt32, isEnd: Bool) throws {
      var rest = bytes[...]
      repeat {
        var room = min(sendWindow, streamSendWindows[stream, default: 65_535], 16_384)
        while room <= 0, !rest.isEmpty {
          if isOver(stream) { return }
          guard try fill() else { throw TestFault("the server hung up") }
          room = min(sendWindow, streamSendWindows[stream, default: 65_535], 16_384)
        }
        let part = Array(rest.prefix(max(0, room)))
        rest = rest.dropFirst(part.count)
        sendWindow -= part.count
        streamSendWindows[stream, default: 65_535] -= part.count
        try send(
          RawHTTP2.frame(
            Frame.data, flags: isEnd && rest.isEmpty ? 1 : 0, stream: stream, payload: part))
      } while !rest.isEmpty
    }

    /// Ends the request with headers.
    func sendTrailers(_ fields: [(String, String)], on stream: UInt32) throws {
      var block = ByteBuffer()
      try encoder.encode(headers: HPACKHeaders(fields), to: &block)
      try send(
        RawHTTP2.frame(
          Frame.headers, flags: 5, stream: stream, payload: Array(block.readableBytesView)))
    }

    /// Begins a call with one message.
    func start(
      _ path: String, payload: [UInt8], _ extra: [(String, String)] = []
    ) throws -> UInt32 {
      let stream = try begin(path, extra)
      try sendData(RawHTTP2.prefixed(payload), on: stream, isEnd: true)
      return stream
    }

    func start(
      _ method: String, _ message: some WireMessage, service: String = RawHTTP2.widgets,
      _ extra: [(String, String)] = []
    ) throws -> UInt32 {
      try start("\(service)/\(method)", payload: codec.encode(message), extra)
    }

    // MARK: - Reading

    /// Whether bytes wait to be read.
    var hasInput: Bool { socket.hasInput }

    /// Reads once and takes in what arrived. false at the end of the connection.
    func fill() throws -> Bool {
      let bytes = try socket.receive()
      if bytes.isEmpty { return false }
      bytesReceived += bytes.count
      pending.writeBytes(bytes)
      while let frame = takeFrame() { try receive(frame) }
      pending.discardReadBytes()
      return true
    }

    /// Reads to the end of the connection.
    func readToEnd() throws { while try fill() {} }

    private func takeFrame() -> Frame? {
      guard let head = pending.getBytes(at: pending.readerIndex, length: 9) else { return nil }
      let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      guard pending.readableBytes >= 9 + length else { return nil }
      pending.moveReaderIndex(forwardBy: 9)
      let stream = head[5...8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
      return Frame(
        type: head[3], flags: head[4], stream: stream,
        payload: pending.readBytes(length: length) ?? [])
    }

    private func word(_ bytes: [UInt8], _ start: Int = 0) -> UInt32 {
      bytes.dropFirst(start).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    private func receive(_ frame: Frame) throws {
      let isAcknowledgement = frame.flags & 1 != 0
      switch frame.type {
      case Frame.settings where !isAcknowledgement:
        for start in stride(from: 0, to: frame.payload.count, by: 6) {
          settings[UInt16(word(frame.payload, start) >> 16)] = word(frame.payload, start + 2)
        }
        if options.acknowledges { try? send(RawHTTP2.frame(Frame.settings, flags: 1)) }
      case Frame.ping where isAcknowledgement: pongs.append(frame.payload)
      case Frame.ping where options.acknowledges:
        try? send(RawHTTP2.frame(Frame.ping, flags: 1, payload: frame.payload))
      case Frame.ping: pings.append(frame.payload)
      case Frame.goAway: goAways.append((word(frame.payload), word(frame.payload, 4)))
      case Frame.windowUpdate where frame.stream == 0: sendWindow += Int(word(frame.payload))
      case Frame.windowUpdate:
        streamSendWindows[frame.stream, default: 65_535] += Int(word(frame.payload))
      case Frame.reset:
        inboxes[frame.stream, default: Inbox()].resetCode = word(frame.payload)
      case Frame.headers:
        guard frame.flags & 4 != 0 else { throw TestFault("headers in several frames") }
        var block = ByteBuffer(bytes: frame.payload)
        let head = try decoder.decodeHeaders(from: &block)
        inboxes[frame.stream, default: Inbox()].heads.append(head)
        inboxes[frame.stream]?.headBytes = frame.payload.count
        if frame.isEnd { inboxes[frame.stream]?.isEnded = true }
      case Frame.data:
        inboxes[frame.stream, default: Inbox()].bytes.writeBytes(frame.payload)
        inboxes[frame.stream]?.dataBytes += frame.payload.count
        if frame.isEnd { inboxes[frame.stream]?.isEnded = true }
        guard !frame.payload.isEmpty else { return }
        // A failure of these acknowledgements at the end of the connection does not matter.
        try? grant(0, UInt32(frame.payload.count))
        if options.grantsStreams { try? grant(frame.stream, UInt32(frame.payload.count)) }
      default: break
      }
    }

    /// Whether a stream has ended, with trailers or a reset.
    func isOver(_ stream: UInt32) -> Bool {
      guard let inbox = inboxes[stream] else { return true }
      return inbox.isEnded || inbox.resetCode != nil
    }

    func inbox(_ stream: UInt32) -> Inbox { inboxes[stream] ?? Inbox() }

    /// The next message of a stream; nil at its end.
    func next(on stream: UInt32) throws -> [UInt8]? {
      while true {
        if let message = takeMessage(stream) { return message }
        if isOver(stream) { return nil }
        guard try fill() else { throw TestFault("the server hung up; stream \(stream) waits") }
      }
    }

    private func takeMessage(_ stream: UInt32) -> [UInt8]? {
      guard var inbox = inboxes[stream],
        let length = inbox.bytes.getInteger(at: inbox.bytes.readerIndex + 1, as: UInt32.self),
        inbox.bytes.readableBytes >= 5 + Int(length)
      else { return nil }
      inboxes[stream]?.bytes = ByteBuffer()
      inbox.bytes.moveReaderIndex(forwardBy: 5)
      let message = inbox.bytes.readBytes(length: Int(length))
      inbox.bytes.discardReadBytes()
      inboxes[stream] = inbox
      return message
    }

    /// Reads a stream to its end, also if it is reset.
    func finished(_ stream: UInt32) throws -> Inbox {
      while try next(on: stream) != nil {}
      return inbox(stream)
    }

    // MARK: - Calls

    /// How a stream ended.
    struct Ending {
      var code: Int
      var message: String?
      /// The content of `grpc-status-details-bin`.
      var details: RPCStatus?
      var headBytes: Int
      var trailers: HPACKHeaders

      var reason: String { details?.reason ?? "" }
    }

    /// Reads a stream to its end.
    func ending(of stream: UInt32) throws -> Ending {
      while try next(on: stream) != nil {}
      let inbox = inbox(stream)
      guard let trailers = inbox.heads.last, inbox.isEnded else {
        throw TestFault("stream \(stream) was reset: \(inbox.resetCode.map(String.init) ?? "-")")
      }
      guard let text = trailers.first(name: "grpc-status"), let code = Int(text) else {
        throw TestFault("stream \(stream) has no grpc-status: \(trailers)")
      }
      var details: RPCStatus?
      if let encoded = trailers.first(name: "grpc-status-details-bin") {
        let padded = encoded + String(repeating: "=", count: (4 - encoded.utf8.count % 4) % 4)
        guard let bytes = Data(base64Encoded: padded) else {
          throw TestFault("details are not base64: \(encoded)")
        }
        details = try codec.decode(RPCStatus.self, from: Array(bytes))
      }
      return Ending(
        code: code, message: trailers.first(name: "grpc-message")?.removingPercentEncoding,
        details: details, headBytes: inbox.headBytes, trailers: trailers)
    }

    func answer<A: WireMessage>(to stream: UInt32, as type: A.Type) throws -> A {
      let message = try next(on: stream)
      let ending = try ending(of: stream)
      guard ending.code == 0, let message else {
        throw ending.details ?? RPCStatus(code: .unknown, message: "\(ending)")
      }
      return try codec.decode(type, from: message)
    }

    func call<A: WireMessage>(
      _ method: String, _ message: some WireMessage, as type: A.Type,
      service: String = RawHTTP2.widgets, _ extra: [(String, String)] = []
    ) throws -> A {
      try answer(to: start(method, message, service: service, extra), as: type)
    }

    /// The outcome of a refused call.
    func refusal(
      _ method: String, _ message: some WireMessage, service: String = RawHTTP2.widgets,
      _ extra: [(String, String)] = []
    ) throws -> Ending {
      let ending = try ending(of: start(method, message, service: service, extra))
      guard ending.code != 0 else { throw TestFault("\(method) should have been refused") }
      return ending
    }

    func health() throws -> HealthCheckResponse.ServingStatus {
      try call(
        "Check", HealthCheckRequest(), as: HealthCheckResponse.self, service: RawHTTP2.health
      ).status
    }

    @discardableResult
    func create(_ id: String, data: ValueMap = [:]) throws -> Widget {
      try call(
        "CreateWidget",
        CreateWidgetRequest(widget: WidgetSpec(id: .make(id), kind: .make("clock"), data: data)),
        as: CreateWidgetResponse.self
      ).widget
    }

    @discardableResult
    func set(_ id: String, _ data: ValueMap) throws -> UpdateWidgetResponse {
      try call(
        "UpdateWidget",
        UpdateWidgetRequest(id: .make(id), patch: WidgetPatch(setData: data), omitWidget: true),
        as: UpdateWidgetResponse.self)
    }

    /// All widgets, if they fit on a page, and the revision.
    func list() throws -> ListWidgetsResponse {
      try call("ListWidgets", ListWidgetsRequest(pageSize: 1_000), as: ListWidgetsResponse.self)
    }

    /// Opens a watch and reads nothing of it.
    func watch(_ extra: [(String, String)] = []) throws -> UInt32 {
      try start("WatchWidgets", WatchWidgetsRequest(), extra)
    }
  }

  /// The state of a reader of a stream, built from its frames alone.
  struct Mirror {
    private(set) var widgets: [WidgetID: Widget] = [:]
    private(set) var revision: Revision = 0
    private(set) var isSynced = false
    private(set) var changeSets = 0
    /// The number of revisions in the widest set of changes.
    private(set) var widest: Revision = 0
    private var pending: [WidgetChange] = []

    mutating func apply(_ frame: WatchWidgetsResponse) throws {
      switch frame {
      case .snapshot(let chunk):
        for widget in chunk.widgets { widgets[widget.id] = widget }
        for id in chunk.removedIDs { widgets[id] = nil }
      case .synced(let synced): (isSynced, revision) = (true, synced.revision)
      case .changes(let set):
        guard isSynced, set.fromRevision >= revision else {
          throw TestFault("changes from \(set.fromRevision) after \(revision)")
        }
        pending += set.changes
        guard !set.more else { return }
        for change in pending {
          switch change {
          case .added(let widget, _): widgets[widget.id] = widget
          case .updated(let update):
            guard widgets[update.id] != nil else { throw TestFault("\(update.id) is not there") }
            widgets[update.id]?.apply(update)
          case .removed(let id, _): widgets[id] = nil
          }
        }
        pending = []
        widest = max(widest, set.toRevision - set.fromRevision)
        revision = set.toRevision
        changeSets += 1
      default: break
      }
    }
  }

  /// A stream of state, and its frames.
  final class Watcher {
    let client: RawHTTP2
    let stream: UInt32
    var mirror = Mirror()

    init(_ client: RawHTTP2, _ request: WatchWidgetsRequest = WatchWidgetsRequest()) throws {
      self.client = client
      stream = try client.start("WatchWidgets", request)
    }

    func step() throws {
      guard let message = try client.next(on: stream) else {
        throw TestFault("the stream ended: \(try client.ending(of: stream))")
      }
      try mirror.apply(client.codec.decode(WatchWidgetsResponse.self, from: message))
    }

    @discardableResult
    func sync() throws -> Self {
      while !mirror.isSynced { try step() }
      return self
    }

    func catchUp(to revision: Revision) throws {
      while !mirror.isSynced || mirror.revision < revision { try step() }
    }
  }
#endif
