#if GRPC
  import GRPCNIOTransportHTTP2TransportServices
  import NIOCore
  import NIOHTTP2
  import NIOPosix
  import Synchronization

  /// A listener for grpc-swift that gets its connections from the daemon instead of accepting them.
  /// The daemon owns the socket, and only HTTP/2 connections are for gRPC.
  ///
  /// grpc-swift reads accepted connections from a channel. This one is a pipe on which no byte ever
  /// arrives: connections are put into its pipeline. There they pass the handler that tells them of
  /// a graceful shutdown. Then they are set up for HTTP/2, and grpc-swift takes them.
  final class HandedConnections: HTTP2ServerTransport.ListenerFactory {
    typealias Connection = HTTP2ServerTransport.ConnectionConfigurator.ConnectionChannel

    /// Succeeds when connections can be handed over.
    let ready: EventLoopFuture<Void>
    private let readyPromise: EventLoopPromise<Void>
    private let eventLoop: any EventLoop
    private let callers: Callers
    private let listener = Mutex<(any Channel)?>(nil)
    private let open = Mutex<[ObjectIdentifier: LingeringChannel]>([:])

    init(eventLoop: any EventLoop, callers: Callers) {
      self.eventLoop = eventLoop
      self.callers = callers
      readyPromise = eventLoop.makePromise()
      ready = readyPromise.futureResult
    }

    var eventLoopGroup: any EventLoopGroup { eventLoop }

    func makeListeningChannel(
      listenerConfigurator: HTTP2ServerTransport.ListenerConfigurator,
      connectionConfigurator: HTTP2ServerTransport.ConnectionConfigurator
    ) async throws -> NIOAsyncChannel<Connection, Never> {
      do {
        let pipe = try SystemPipe()
        let listening = try await NIOPipeBootstrap(group: eventLoop)
          .takingOwnershipOfDescriptors(input: pipe.reading, output: pipe.writing) { channel in
            listenerConfigurator.configure(channel: channel).flatMapThrowing {
              try channel.pipeline.syncOperations.addHandler(
                ConnectionSetup(configurator: connectionConfigurator, callers: self.callers))
              return try NIOAsyncChannel<Connection, Never>(wrappingChannelSynchronously: channel)
            }
          }
        listener.withLock { $0 = listening.channel }
        readyPromise.succeed()
        return listening
      } catch {
        readyPromise.fail(error)
        throw error
      }
    }

    /// Hands a connection over. False if the listener takes no more.
    ///
    /// Call on the event loop. When it returns true, the channel's handlers are in place.
    func hand(over channel: LingeringChannel) -> Bool {
      guard let listener = listener.withLock({ $0 }), listener.isActive else { return false }
      listener.pipeline.fireChannelRead(channel as any Channel)
      listener.pipeline.fireChannelReadComplete()
      // The connection is active already, so its handlers must start now. The HTTP/2 handler has
      // noticed by itself and would not pass the event on.
      let pipeline = channel.pipeline.syncOperations
      guard let context = try? pipeline.context(handlerType: NIOHTTP2Handler.self) else {
        return false
      }
      context.fireChannelActive()
      guard let connection = try? callers.connection(of: channel),
        (try? pipeline.addHandler(
          RootStreamFrames(connection: connection), position: .after(context.handler))) != nil
      else { return false }
      let id = ObjectIdentifier(channel)
      open.withLock { $0[id] = channel }
      channel.closeFuture.whenComplete { _ in self.open.withLock { $0[id] = nil } }
      return true
    }

    /// Closes the open connections, even with unsent data and unfinished calls.
    func closeAll() {
      for channel in open.withLock({ Array($0.values) }) {
        channel.eventLoop.execute { channel.endAtOnce() }
      }
    }
  }

  /// The frames of the connection itself: SETTINGS first, and the frames that grpc-swift need not see.
  ///
  /// The SETTINGS let a peer send more headers than grpc-swift would take, so that the daemon can
  /// refuse a call with too many headers. A refusal by HTTP/2 itself would end the connection with
  /// all its calls. grpc-swift-nio-transport 2.9.2 takes 16 KiB and has no setting. Version 2.10
  /// has one (https://github.com/grpc/grpc-swift-nio-transport/pull/195). With this version, the
  /// SETTINGS here can go.
  ///
  /// The limit holds after the peer has acknowledged it. More headers than that still end the
  /// connection.
  ///
  /// The handler drops WINDOW_UPDATE frames of the connection, which some clients send with each
  /// call. NIO's HTTP/2 has applied them. grpc-swift would wake a task for each, and ignore it.
  ///
  /// After the first GOAWAY, `InputTurns` refuses new streams.
  private final class RootStreamFrames: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame
    typealias OutboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let connection: CallerConnection

    init(connection: CallerConnection) { self.connection = connection }

    /// The maximum size of headers in HTTP/2, as SETTINGS_MAX_HEADER_LIST_SIZE counts them.
    ///
    /// NIO's HTTP/2 ends a connection at the sixth CONTINUATION frame of one header block
    /// (https://github.com/apple/swift-nio-http2/pull/443), and grpc-swift has no setting for this.
    /// 80 KiB fit into fewer frames of 16 KiB. Clients that know the limit refuse a larger call
    /// themselves.
    static let headerBytesMax = 80 << 10

    func handlerAdded(context: ChannelHandlerContext) {
      let settings: HTTP2Settings = [
        HTTP2Setting(parameter: .maxHeaderListSize, value: RootStreamFrames.headerBytesMax)
      ]
      let frame = HTTP2Frame(streamID: .rootStream, payload: .settings(.settings(settings)))
      context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      if case .goAway = unwrapOutboundIn(data).payload { connection.onRefusal?() }
      context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let frame = unwrapInboundIn(data)
      if frame.streamID == .rootStream, case .windowUpdate = frame.payload { return }
      context.fireChannelRead(data)
    }
  }

  /// Sets up a connection for HTTP/2 and passes it on to grpc-swift.
  private final class ConnectionSetup: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = HandedConnections.Connection

    private let configurator: HTTP2ServerTransport.ConnectionConfigurator
    private let callers: Callers

    init(configurator: HTTP2ServerTransport.ConnectionConfigurator, callers: Callers) {
      self.configurator = configurator
      self.callers = callers
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let channel = unwrapInboundIn(data)
      do {
        let connection = try callers.connection(of: channel)
        try channel.pipeline.syncOperations.addHandlers(
          InputTurns(connection: connection), TurnFlushing(),
          ControlFrames(connection: connection, closingMax: callers.closingMax))
      } catch {
        return channel.close(promise: nil)
      }
      configurator.configure(channel: channel, tls: .none).assumeIsolated().whenComplete {
        switch $0 {
        case .success(let connection): context.fireChannelRead(self.wrapInboundOut(connection))
        case .failure: channel.close(promise: nil)
        }
      }
    }
  }
#endif
