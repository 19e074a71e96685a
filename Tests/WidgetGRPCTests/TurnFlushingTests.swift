#if GRPC
  import NIOCore
  import NIOEmbedded
  import NIOPosix
  import TestThreads
  import Testing

  @testable import WidgetGRPC

  @Suite struct `Flushes of a turn` {
    @Test func `all flushes of a turn are one flush, at its end`() throws {
      let (channel, below) = try makeChannel()
      for n in 0..<10 {
        channel.write(ByteBuffer(integer: UInt8(n)), promise: nil)
        channel.flush()
      }
      #expect(below.flushes == 0)
      channel.embeddedEventLoop.run()
      #expect(below.flushes == 1)
      #expect(try channel.sentBytes() == Array(0..<10))
      // The same holds for the next turn.
      channel.writeAndFlush(ByteBuffer(integer: UInt8(10)), promise: nil)
      channel.embeddedEventLoop.run()
      #expect(below.flushes == 2)
      #expect(try channel.sentBytes() == [10])
      _ = try channel.finish()
    }

    @Test func `the flush of a turn includes bytes that were written later in the turn`() throws {
      let (channel, below) = try makeChannel()
      channel.flush()
      channel.write(ByteBuffer(integer: UInt8(1)), promise: nil)
      channel.embeddedEventLoop.run()
      #expect(below.flushes == 1)
      #expect(try channel.sentBytes() == [1])
      _ = try channel.finish()
    }

    @Test func `a write without a flush is not sent by the turn's flush`() throws {
      let (channel, below) = try makeChannel()
      channel.write(ByteBuffer(integer: UInt8(1)), promise: nil)
      channel.embeddedEventLoop.run()
      #expect(below.flushes == 0)
      #expect(try channel.sentBytes().isEmpty)
      _ = try? channel.finish()
    }

    /// A flush can cause another flush.
    @Test func `a flush that is requested during a flush belongs to the next turn`() throws {
      let (channel, below) = try makeChannel()
      below.onFlush = {
        guard below.flushes == 1 else { return }
        channel.writeAndFlush(ByteBuffer(integer: UInt8(2)), promise: nil)
      }
      channel.writeAndFlush(ByteBuffer(integer: UInt8(1)), promise: nil)
      channel.embeddedEventLoop.run()
      #expect(below.flushes == 2)
      #expect(try channel.sentBytes() == [1, 2])
      below.onFlush = {}
      _ = try channel.finish()
    }

    @Test(arguments: [CloseMode.all, .output])
    func `waiting bytes are sent before a close`(mode: CloseMode) throws {
      let (channel, below) = try makeChannel()
      channel.writeAndFlush(ByteBuffer(integer: UInt8(1)), promise: nil)
      channel.close(mode: mode, promise: nil)
      #expect(below.order == ["flush", "close"])
      #expect(try channel.sentBytes() == [1])
      channel.embeddedEventLoop.run()
      _ = try? channel.finish()
    }

    private func makeChannel() throws -> (EmbeddedChannel, Below) {
      let below = Below()
      let channel = EmbeddedChannel()
      try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
      try channel.pipeline.syncOperations.addHandlers([below, TurnFlushing()])
      return (channel, below)
    }
  }

  /// The bytes that arrive at the socket's side.
  private final class Below: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    var order: [String] = []
    var onFlush: () -> Void = {}
    var flushes: Int { order.count { $0 == "flush" } }

    func flush(context: ChannelHandlerContext) {
      order.append("flush")
      context.flush()
      onFlush()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      order.append("close")
      context.close(mode: mode, promise: promise)
    }
  }

  extension EmbeddedChannel {
    fileprivate func sentBytes() throws -> [UInt8] {
      var bytes: [UInt8] = []
      while let buffer = try readOutbound(as: ByteBuffer.self) {
        bytes += Array(buffer.readableBytesView)
      }
      return bytes
    }
  }

  /// The same on a socket, with a peer at the other end.
  @Suite struct `A socket that flushes by turns` {
    /// Unread bytes make the channel unwritable, flushed or not. When the peer reads, the channel
    /// is writable again.
    @Test func `the socket is unwritable only while many bytes wait`() async throws {
      try await withSocket { channel, peer in
        let chunk = ByteBuffer(repeating: 7, count: 1 << 16)
        // All of this is one turn, so nothing is sent in between.
        let count = try await channel.eventLoop.submit {
          var count = 0
          while channel.isWritable, count < 100 {
            channel.writeAndFlush(chunk, promise: nil)
            count += 1
          }
          return count
        }.get()
        #expect(count < 100, "what is not sent counts")
        // More than the socket holds.
        let written = try await channel.eventLoop.submit {
          (0..<32).map { _ in channel.writeAndFlush(chunk) }
        }.get()
        #expect(try await channel.eventLoop.submit { !channel.isWritable }.get())
        var received = 0
        while received < (count + written.count) << 16 { received += try peer.receive().count }
        for future in written { try await future.get() }
        #expect(try await channel.eventLoop.submit { channel.isWritable }.get())
        channel.close(promise: nil)
        #expect(try peer.receive().isEmpty)
      }
    }

    @Test func `the socket sends flushed bytes before it closes, if the peer has room`()
      async throws
    {
      try await withSocket { channel, peer in
        try await channel.eventLoop.submit {
          for n in 0..<100 { channel.writeAndFlush(ByteBuffer(integer: UInt8(n)), promise: nil) }
          channel.close(promise: nil)
        }.get()
        var received: [UInt8] = []
        while true {
          let bytes = try peer.receive()
          if bytes.isEmpty { break }
          received += bytes
        }
        #expect(received == Array(0..<100))
      }
    }

    @Test func `the socket fails its unread writes when it closes`() async throws {
      try await withSocket { channel, peer in
        let chunk = ByteBuffer(repeating: 7, count: 1 << 16)
        let last = try await channel.eventLoop.submit {
          for _ in 0..<63 { channel.writeAndFlush(chunk, promise: nil) }
          let last = channel.writeAndFlush(chunk)
          channel.close(promise: nil)
          channel.flush()
          return [last, channel.writeAndFlush(chunk)]
        }.get()
        for future in last { await #expect(throws: ChannelError.self) { try await future.get() } }
        try await channel.closeFuture.get()
        withExtendedLifetime(peer) {}
      }
    }

    @Test func `the socket fails its flushed writes when the peer is gone, and closes`()
      async throws
    {
      try await withSocket { channel, peer in
        peer.close()
        let chunk = ByteBuffer(repeating: 7, count: 1 << 16)
        let failed = try await channel.eventLoop.submit {
          (0..<64).map { _ in channel.writeAndFlush(chunk) }
        }.get()
        for future in failed { await #expect(throws: (any Error).self) { try await future.get() } }
        try await channel.closeFuture.get()
      }
    }

    @Test func `the socket still sends to a peer that has closed its half`() async throws {
      try await withSocket { channel, peer in
        peer.closeWriting()
        let chunk = ByteBuffer(repeating: 7, count: 1 << 16)
        try await channel.eventLoop.submit {
          for _ in 0..<32 { channel.writeAndFlush(chunk, promise: nil) }
        }.get()
        var received = 0
        while received < 32 << 16 { received += try peer.receive().count }
        // On request it closes its own half, after the last bytes.
        try await channel.eventLoop.submit {
          channel.writeAndFlush(ByteBuffer(integer: UInt8(9)), promise: nil)
          channel.close(mode: .output, promise: nil)
        }.get()
        #expect(try peer.receive() == [9])
        #expect(try peer.receive().isEmpty)
        // Both halves are closed, and so is the channel.
        try await channel.closeFuture.get()
      }
    }

    /// A channel with the handler, connected to a peer. Half-closed connections stay open.
    private func withSocket(
      _ body: @escaping @Sendable (any Channel, RawSocket) async throws -> Void
    ) async throws {
      let folder = try TestFolder()
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      let accepted = group.next().makePromise(of: (any Channel).self)
      let listener = try await ServerBootstrap(group: group)
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(TurnFlushing())
          }.map { accepted.succeed(channel) }
        }
        .bind(unixDomainSocketPath: folder.socketPath).get()
      let result: Result<Void, any Error> = await withTaskExecutorPreference(ThreadExecutor.shared)
      {
        do {
          let peer = try RawSocket(path: folder.socketPath)
          return .success(try await body(accepted.futureResult.get(), peer))
        } catch {
          return .failure(error)
        }
      }
      try await listener.close().get()
      try await group.shutdownGracefully()
      try result.get()
    }
  }
#endif
