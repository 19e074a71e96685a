#if GRPC
  import NIOCore

  /// Sends what one turn of the event loop wrote to a connection with one system call.
  ///
  /// grpc-swift flushes the head, the message and the end of each answer by themselves, see
  /// https://github.com/grpc/grpc-swift-nio-transport/pull/175. The coalescing that came with this
  /// change is off: decision 0011 says why. This handler sits between grpc-swift and the socket and
  /// passes on one flush when the loop has done what was to be done.
  /// What waits here counts as unsent, so the connection's writability, and with it flow control,
  /// is what it would be without.
  final class TurnFlushing: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private var isScheduled = false

    func flush(context: ChannelHandlerContext) {
      guard !isScheduled else { return }
      isScheduled = true
      context.eventLoop.assumeIsolated().execute {
        self.isScheduled = false
        context.flush()
      }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      context.flush()
      context.close(mode: mode, promise: promise)
    }
  }
#endif
