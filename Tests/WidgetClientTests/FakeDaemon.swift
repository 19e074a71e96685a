import NIOCore
import NIOPosix
import Synchronization
import Testing
import WidgetClient
import WidgetTransport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A daemon that does nothing by itself. The test takes the calls and answers them, so the test
/// reads like the conversation.
final class FakeDaemon: Sendable {
  /// One call of a client.
  struct Call: Sendable {
    let method: String
    let payload: [UInt8]
    let timeoutNanoseconds: Int64
    let metadata: [MetadataEntry]
    /// Counts the daemon's connections from 1.
    let connection: Int
    let streamID: UInt32
    let isStream: Bool
    let channel: any Channel

    func decode<M: WireMessage>(_ type: M.Type) throws -> M {
      try WireCodec().decode(type, from: payload)
    }

    /// Answers with a message, ending the call.
    func respond(_ message: some WireMessage) throws {
      write(.response, try WireCodec().encode(TTRPCResponse(payload: WireCodec().encode(message))))
    }

    /// Answers with an error, ending the call or stream.
    func fail(_ code: StatusCode, _ reason: String, retryDelay: Duration? = nil) throws {
      let status = RPCStatus(
        code: code, message: "no", errorInfo: ErrorInfo(reason: reason), retryDelay: retryDelay)
      write(.response, try WireCodec().encode(TTRPCResponse(status: status)))
    }

    /// Sends a message of a stream.
    func send(_ message: some WireMessage) throws {
      write(.data, try WireCodec().encode(message))
    }

    /// Ends a stream without an error.
    func end() { write(.data, flags: .endOfStream, []) }

    func closeConnection() { channel.close(promise: nil) }

    /// Waits until the connection is gone, or until the test's time is up.
    func connectionEnded() async throws {
      let (ended, continuation) = AsyncStream.makeStream(of: Never.self)
      channel.closeFuture.whenComplete { _ in continuation.finish() }
      for await _ in ended {}
      try Task.checkCancellation()
    }

    func write(_ type: FrameType, flags: FrameFlags = [], _ data: [UInt8]) {
      channel.writeAndFlush(FakeDaemon.frame(type, flags, streamID, data), promise: nil)
    }
  }

  let socketPath: String
  private let listener: any Channel
  private let arrived: AsyncStream<Call>
  private let connections: NIOLoopBoundBox<[any Channel]>

  /// Listens at the path, or at a fresh one in the temporary folder.
  init(at path: String? = nil) async throws {
    let path = path ?? FakeDaemon.freshPath()
    let (arrived, continuation) = AsyncStream.makeStream(of: Call.self)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let connections = NIOLoopBoundBox.makeBoxSendingValue([any Channel](), eventLoop: loop)
    socketPath = path
    self.arrived = arrived
    self.connections = connections
    listener = try await ServerBootstrap(group: loop)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          connections.value.append(channel)
          try channel.pipeline.syncOperations.addHandler(
            Handler(connection: connections.value.count) { continuation.yield($0) })
        }
      }
      .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
  }

  static func freshPath() -> String {
    "/tmp/widget-client-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
  }

  /// The calls in the order in which they arrive. To be iterated once.
  var calls: AsyncStream<Call>.Iterator { arrived.makeAsyncIterator() }

  /// How many connections there were.
  func connectionCount() async throws -> Int {
    try await listener.eventLoop.submit { [connections] in connections.value.count }.get()
  }

  /// Closes everything and removes the socket, as a daemon that stops.
  func stop() async throws {
    try await listener.close()
    try await listener.eventLoop.submit { [connections] in
      for channel in connections.value { channel.close(promise: nil) }
    }.get()
    unlink(socketPath)
  }

  static func frame(
    _ type: FrameType, _ flags: FrameFlags, _ streamID: UInt32, _ data: [UInt8]
  ) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.writeFrameHeader(
      FrameHeader(dataBytes: UInt32(data.count), streamID: streamID, type: type, flags: flags))
    buffer.writeBytes(data)
    return buffer
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: Int
    private let arrived: @Sendable (Call) -> Void
    private var reader = FrameReader()
    private var streams = ServerStreams()

    init(connection: Int, arrived: @escaping @Sendable (Call) -> Void) {
      self.connection = connection
      self.arrived = arrived
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      reader.append(unwrapInboundIn(data))
      while let item = reader.next() {
        guard case .frame(let frame) = item else {
          Issue.record("a client sent a frame that is too long")
          continue
        }
        switch streams.receive(frame.header) {
        case .unaryCall, .openStream: take(frame, context.channel)
        case .message(let streamID, _): said("/message", streamID, frame.data, context.channel)
        case .halfClose(let streamID): said("/last", streamID, frame.data, context.channel)
        case let action: Issue.record("a client broke the protocol: \(action)")
        }
      }
    }

    /// In a conversation.
    private func said(
      _ what: String, _ streamID: UInt32, _ data: ByteBuffer, _ channel: any Channel
    ) {
      arrived(
        Call(
          method: what, payload: Array(data.readableBytesView), timeoutNanoseconds: 0,
          metadata: [], connection: connection, streamID: streamID, isStream: true,
          channel: channel))
    }

    private func take(_ frame: Frame, _ channel: any Channel) {
      do {
        let request = try WireCodec().decode(
          TTRPCRequest.self, from: Array(frame.data.readableBytesView))
        arrived(
          Call(
            method: request.service + "/" + request.method, payload: request.payload,
            timeoutNanoseconds: request.timeoutNanoseconds, metadata: request.metadata,
            connection: connection, streamID: frame.header.streamID,
            isStream: frame.header.flags.contains(.remoteClosed), channel: channel))
      } catch {
        Issue.record("a client sent a bad request: \(error)")
      }
    }
  }
}

extension AsyncStream<FakeDaemon.Call>.Iterator {
  /// The next call, which must be of this method (`CreateWidget`, without the service).
  mutating func expect(_ method: String) async throws -> FakeDaemon.Call {
    let call = try #require(await next())
    #expect(call.method.hasSuffix("/" + method))
    return call
  }

  /// The next message of a conversation.
  mutating func message<M: WireMessage>(_ type: M.Type) async throws -> M {
    try await expect("message").decode(type)
  }
}

/// A clock that never waits, and records the requested waits.
final class InstantClock: Clock {
  struct Instant: InstantProtocol {
    var offset: Duration

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
  }

  private let slept = Mutex<[Duration]>([])

  var now: Instant { Instant(offset: .zero) }
  var minimumResolution: Duration { .zero }
  /// The waits that the daemon was asked for, in order.
  var sleeps: [Duration] { slept.withLock { $0 } }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    slept.withLock { $0.append(deadline.offset) }
    await Task.yield()
  }
}

/// A socket's file without a listener, as a killed daemon leaves it.
struct StaleSocket {
  private let path: String

  init(_ path: String) throws {
    self.path = path
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(result == 0)
  }

  func remove() { unlink(path) }
}
