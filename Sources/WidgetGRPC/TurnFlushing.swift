#if GRPC
  import NIOCore

  /// Sends what one turn of the event loop wrote to a connection with one system call.
  ///
  /// grpc-swift flushes the head, the message and the end of each answer by themselves, see
  /// https://github.com/grpc/grpc-swift-nio-transport/pull/175. The coalescing of this change is
  /// off; decision 0011 has the reason. This handler sits between grpc-swift and the socket. It
  /// passes on one flush at the end of the loop's work. Waiting bytes count as unsent, so the
  /// connection's writability and flow control do not change.
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
