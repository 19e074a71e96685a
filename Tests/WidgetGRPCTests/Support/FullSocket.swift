#if GRPC
  import NIOCore

  /// A socket that takes no bytes until a test lets it.
  final class FullSocket: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private(set) var bytes: [UInt8] = []
    private(set) var writes = 0
    private(set) var reads = 0
    private(set) var isClosed = false
    private var promises: [EventLoopPromise<Void>] = []

    func write(
      context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
      bytes += Array(unwrapOutboundIn(data).readableBytesView)
      writes += 1
      if let promise { promises.append(promise) }
    }

    func flush(context: ChannelHandlerContext) {}

    func read(context: ChannelHandlerContext) { reads += 1 }

    func close(
      context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
      isClosed = true
      end { $0.fail(ChannelError.ioOnClosedChannel) }
      context.close(mode: mode, promise: promise)
    }

    func takeAll() { end { $0.succeed() } }

    private func end(_ body: (EventLoopPromise<Void>) -> Void) {
      let ending = promises
      promises = []
      for promise in ending { body(promise) }
    }
  }
#endif
