#if GRPC
  import NIOCore
  import Synchronization

  /// The channel of a connection's HTTP/2. It stays active when its socket is closed, until the
  /// calls of the connection have ended.
  ///
  /// NIO's HTTP/2 ends all streams of a connection in one step when its channel becomes inactive. For
  /// a thousand streams, this takes some 170 ms. The event loop handles all sockets that were closed
  /// together before it reads again. So a user who closed many connections would stop the daemon for
  /// seconds. A handler before HTTP/2 cannot hold the event back, because NIO removes all handlers of
  /// a closed channel in the same pass of the loop: see `close0` in
  /// https://github.com/apple/swift-nio/blob/2.101.2/Sources/NIOPosix/BaseSocketChannel.swift. So
  /// HTTP/2 runs in this channel, which passes everything to the socket's channel and back. When the
  /// socket is closed, the calls end one by one in turns of the service, and then this channel.
  ///
  /// Confined to the event loop, except the properties that NIO reads elsewhere.
  final class LingeringChannel: Channel, ChannelCore, @unchecked Sendable {
    let eventLoop: any EventLoop
    let allocator: ByteBufferAllocator
    private let socket: any Channel
    private let closePromise: EventLoopPromise<Void>
    private(set) lazy var pipeline = ChannelPipeline(channel: self)
    /// The owner of the calls. nil after the end.
    private var connection: CallerConnection?
    /// The context in the socket's pipeline. nil before and after the use of the socket.
    private var context: ChannelHandlerContext?
    /// Whether HTTP/2 has been told that the socket is writable.
    private var wasWritable = true
    /// Whether the calls end without turns, because the service has stopped.
    private var endsAtOnce = false
    /// Whether the socket is closed.
    private let isLost = Atomic<Bool>(false)
    private let isEnded = Atomic<Bool>(false)

    init(over socket: any Channel, of connection: CallerConnection) {
      self.socket = socket
      self.connection = connection
      eventLoop = socket.eventLoop
      allocator = socket.allocator
      closePromise = socket.eventLoop.makePromise()
      _ = pipeline
    }

    /// Gets the events of the socket from now on. Returns false if the socket is closed.
    func attach() -> Bool {
      do { try socket.pipeline.syncOperations.addHandler(Link(self)) } catch { return false }
      return true
    }

    // MARK: - The end

    /// The socket is closed. The channel ends by itself.
    func lose() {
      guard !isLost.exchange(true, ordering: .relaxed) else { return }
      context = nil
      connection?.lose()
      // HTTP/2 can be in the middle of a read or a write.
      eventLoop.assumeIsolated().execute { self.endCalls() }
    }

    private func endCalls() {
      guard !isEnded.load(ordering: .relaxed) else { return }
      guard let connection, !endsAtOnce else {
        settle()
        return finish()
      }
      // HTTP/2 drops the waiting frames of all streams, and the task of each writer runs.
      connection.whenTurnComes { [self] in
        guard !isEnded.load(ordering: .relaxed) else { return }
        settle()
        connection.endCalls { [self] in finish() }
      }
    }

    /// Lets HTTP/2 end streams. It keeps their ends until a read is complete, and while its channel is
    /// not writable. The end of the socket has cut the last read short.
    private func settle() {
      let pipeline = pipeline.syncOperations
      pipeline.fireChannelReadComplete()
      guard !wasWritable else { return }
      wasWritable = true
      pipeline.fireChannelWritabilityChanged()
    }

    /// Closes the channel. If its calls have not ended, they end with it.
    private func finish() {
      guard !isEnded.exchange(true, ordering: .relaxed) else { return }
      connection = nil
      pipeline.syncOperations.fireChannelInactive()
      eventLoop.assumeIsolated().execute {
        self.removeHandlers(pipeline: self.pipeline)
        self.closePromise.succeed()
      }
    }

    /// Closes the channel now, because the service has no more turns.
    func endAtOnce() {
      endsAtOnce = true
      if isLost.load(ordering: .relaxed) { finish() } else { close(promise: nil) }
    }

    // MARK: - Channel

    var closeFuture: EventLoopFuture<Void> { closePromise.futureResult }
    var localAddress: SocketAddress? { socket.localAddress }
    var remoteAddress: SocketAddress? { socket.remoteAddress }
    var parent: (any Channel)? { socket.parent }
    var isWritable: Bool { isLost.load(ordering: .relaxed) || socket.isWritable }
    var isActive: Bool {
      isLost.load(ordering: .relaxed) ? !isEnded.load(ordering: .relaxed) : socket.isActive
    }
    var _channelCore: any ChannelCore { self }
    var syncOptions: (any NIOSynchronousChannelOptions)? { socket.syncOptions }

    func setOption<Option: ChannelOption>(
      _ option: Option, value: Option.Value
    ) -> EventLoopFuture<Void> {
      socket.setOption(option, value: value)
    }

    func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
      socket.getOption(option)
    }

    // MARK: - ChannelCore

    func localAddress0() throws -> SocketAddress {
      guard let localAddress else { throw ChannelError.operationUnsupported }
      return localAddress
    }

    func remoteAddress0() throws -> SocketAddress {
      guard let remoteAddress else { throw ChannelError.operationUnsupported }
      return remoteAddress
    }

    func register0(promise: EventLoopPromise<Void>?) {
      promise?.fail(ChannelError.operationUnsupported)
    }

    func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
      promise?.fail(ChannelError.operationUnsupported)
    }

    func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
      promise?.fail(ChannelError.operationUnsupported)
    }

    func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
      guard let context else {
        promise?.fail(ChannelError.ioOnClosedChannel)
        return
      }
      context.write(data, promise: promise)
    }

    func flush0() { context?.flush() }

    func read0() { context?.read() }

    func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      guard case .all = mode else {
        guard let context else {
          promise?.fail(ChannelError.ioOnClosedChannel)
          return
        }
        return context.close(mode: mode, promise: promise)
      }
      closePromise.futureResult.cascade(to: promise)
      context?.close(promise: nil)
    }

    func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
      promise?.fail(ChannelError.operationUnsupported)
    }

    func channelRead0(_ data: NIOAny) {}

    func errorCaught0(error: any Error) {}

    // MARK: - The link

    /// The last handler of the socket's channel. It passes the socket's events on.
    private final class Link: ChannelDuplexHandler {
      typealias InboundIn = ByteBuffer
      typealias InboundOut = ByteBuffer
      typealias OutboundIn = ByteBuffer
      typealias OutboundOut = ByteBuffer

      private let channel: LingeringChannel
      private var pipeline: ChannelPipeline.SynchronousOperations {
        channel.pipeline.syncOperations
      }

      init(_ channel: LingeringChannel) { self.channel = channel }

      func handlerAdded(context: ChannelHandlerContext) { channel.context = context }

      func handlerRemoved(context: ChannelHandlerContext) { channel.lose() }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        pipeline.fireChannelRead(data)
      }

      func channelReadComplete(context: ChannelHandlerContext) {
        pipeline.fireChannelReadComplete()
      }

      func channelWritabilityChanged(context: ChannelHandlerContext) {
        channel.wasWritable = context.channel.isWritable
        pipeline.fireChannelWritabilityChanged()
      }

      func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        pipeline.fireUserInboundEventTriggered(event)
      }

      func errorCaught(context: ChannelHandlerContext, error: any Error) {
        pipeline.fireErrorCaught(error)
      }

      func channelInactive(context: ChannelHandlerContext) { channel.lose() }

      /// The handlers of HTTP/2 decide when the socket reads on.
      func read(context: ChannelHandlerContext) { pipeline.read() }
    }
  }
#endif
