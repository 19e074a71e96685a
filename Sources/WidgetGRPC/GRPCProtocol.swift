#if GRPC
  import GRPCCore
  import GRPCNIOTransportHTTP2TransportServices
  public import NIOCore
  import NIOHTTP2
  import Synchronization
  public import WidgetServer
  import WidgetTransport

  /// gRPC on the daemon's socket, beside ttrpc.
  ///
  /// grpc-swift implements HTTP/2 and the lifecycle of calls. It gets its connections from the
  /// daemon's listener (`HandedConnections`) and runs on the daemon's event loop
  /// (`EventLoopTaskExecutor`). So a call takes part in a turn like any other. Messages pass as
  /// bytes to the same service as over ttrpc, for the peer that the kernel reports.
  public final class GRPCProtocol: GuestProtocol {
    public let name = "gRPC"
    /// The first bytes of every HTTP/2 connection.
    public let opening = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private let callers: Callers
    private let state = Mutex(State())

    private struct State {
      var server: GRPCServer<HTTP2ServerTransport.Custom<HandedConnections>>?
      var serving: Task<Void, any Error>?
      var connections: HandedConnections?
      var limits = ServerLimits()
    }

    public init() { callers = Callers() }

    /// - Parameter closingMax: See `ControlFrames`.
    init(closingMax: TimeAmount) { callers = Callers(closingMax: closingMax) }

    public func start(on host: GuestHost) async throws {
      let connections = HandedConnections(eventLoop: host.eventLoop, callers: callers)
      let transport = HTTP2ServerTransport.Custom(
        listenerFactory: connections, config: .widgetd(host.limits, callers: callers))
      let server = GRPCServer(
        transport: transport,
        services: [CallService(callers: callers), ReflectionService(callers: callers)])
      let executor = EventLoopTaskExecutor(eventLoop: host.eventLoop) { host.runTask($0) }
      let serving = Task(executorPreference: executor) { try await server.serve() }
      state.withLock {
        $0 = State(
          server: server, serving: serving, connections: connections, limits: host.limits)
      }
      try await connections.ready.get()
    }

    public func adopt(
      _ channel: any Channel, for client: InProcessClient
    ) -> EventLoopFuture<Void> {
      let (connections, limits) = state.withLock { ($0.connections, $0.limits) }
      let lingering = callers.add(client, on: channel, limits)
      if let connections, lingering.attach(), connections.hand(over: lingering) {
        return lingering.closeFuture
      }
      channel.close(promise: nil)
      lingering.lose()
      return lingering.closeFuture
    }

    /// The number of calls that are under way.
    var callCount: Int { callers.callCount }

    public func beginShutdown() {
      state.withLock { $0.server }?.beginGracefulShutdown()
    }

    public func stop() async {
      let state = state.withLock { state in
        defer { state = State() }
        return state
      }
      state.server?.beginGracefulShutdown()
      // Cancellation alone would wait for a peer that does not read.
      state.connections?.closeAll()
      state.serving?.cancel()
      // The result of the task is not needed any more.
      _ = await state.serving?.result
    }
  }

  extension HTTP2ServerTransport.Custom.Config {
    /// The settings of HTTP/2.
    static func widgetd(_ limits: ServerLimits, callers: Callers) -> Self {
      var config = Self.defaults
      // With coalescing, the memory for a peer that does not read grows without bound. The daemon
      // gathers flushes itself, see `TurnFlushing`.
      config.connection.flushCoalescing = nil
      config.connection.keepalive = .init(
        time: .seconds(2 * 60 * 60), timeout: .seconds(20),
        // Pings do no harm, because a Unix socket has no middleboxes.
        clientBehavior: .init(minPingIntervalWithoutCalls: .seconds(10), allowWithoutCalls: true))
      // The server gives connections time to end (`DrainTimer`), and `stop` then closes them.
      // grpc-swift would count the time by which the loop is late, too.
      config.connection.maxGraceTime = nil
      config.http2.maxConcurrentStreams = limits.streamsPerConnectionMax
      config.rpc.maxRequestPayloadSize = CallGuard.messageBytesMax
      config.channelDebuggingCallbacks.onAcceptHTTP2Stream = { stream in
        stream.eventLoop.makeCompletedFuture { try callers.guardCall(on: stream) }
      }
      return config
    }
  }
#endif
