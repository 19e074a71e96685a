#if GRPC
  import NIOCore
  import NIOEmbedded
  import Testing
  import WidgetModel
  import WidgetProto

  @testable import WidgetGRPC
  @testable import WidgetServer

  @Suite struct `The input of a connection` {
    private static let opening = [UInt8](repeating: 0x50, count: 24)
    private static let window: [UInt8] = [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    private static let windows = Array(repeatElement(window, count: 1_000).joined())

    /// A connection with the turns of a server.
    private struct Connection {
      let service: ServiceLoop
      let channel = EmbeddedChannel()
      let caller: CallerConnection
      let passed = Passed()
      let reads = Reads()

      init(_ service: ServiceLoop) throws {
        self.service = service
        // All turns of a test are in one pass of the loop.
        service.turn.loopPass = nil
        let client = InProcessClient(peer: .current, service: service)
        caller = CallerConnection(client: client, service.context.limits)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
        try channel.pipeline.syncOperations.addHandlers([
          reads,
          InputTurns(connection: caller), passed,
        ])
        reads.count = 0
      }

      /// The behaviour of the socket.
      func receive(_ bytes: [UInt8]) {
        channel.pipeline.fireChannelRead(ByteBuffer(bytes: bytes))
        channel.pipeline.fireChannelReadComplete()
        channel.pipeline.read()
      }

      /// Sets the time that each reading of the clock takes: none, or that of a slice.
      func setTime(of look: TimeAmount) {
        var now = NIODeadline.now()
        service.context.work.clock = {
          now = now + look
          return now
        }
      }

      /// Whether HTTP/2 has received exactly this.
      func hasPassed(_ bytes: [UInt8]) -> Bool { passed.bytes == bytes }
    }

    @Test func `the input of a connection passes at once if no other connection waits`()
      async throws
    {
      try await withServer { server in
        try server.onLoop { service in
          let connection = try Connection(service)
          connection.setTime(of: .zero)
          connection.receive(Self.opening + Self.windows)
          #expect(connection.hasPassed(Self.opening + Self.windows))
          #expect(connection.passed.readsCompleted == 1)
          #expect(connection.reads.count > 0)
        }
      }
    }

    @Test func `a connection reads no more while its input waits for slices`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let connection = try Connection(service)
          connection.setTime(of: WorkQueue.sliceMax)
          connection.receive(Self.opening + Self.windows)
          let first = connection.passed.bytes.count
          #expect(first < Self.windows.count / 10)
          #expect(connection.reads.count == 0)
          var turns = 0
          while connection.passed.bytes.count < 24 + Self.windows.count, turns < 1_000 {
            let before = connection.passed.bytes.count
            service.turn.open()
            service.turn.finish()
            turns += 1
            #expect(connection.passed.bytes.count - before < Self.windows.count / 4)
          }
          #expect(turns > 4)
          #expect(connection.hasPassed(Self.opening + Self.windows))
          // HTTP/2 delivers what it has read when the read is complete.
          #expect(connection.passed.uncompletedBytes == 0)
          #expect(connection.reads.count > 0)
        }
      }
    }

    @Test func `the input of a connection counts as received bytes while it waits`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let held = { service.receivedBytes.bytes(of: Peer.current.uid) }
          let connection = try Connection(service)
          connection.setTime(of: .zero)
          connection.receive(Self.opening)
          #expect(held() == 0)
          connection.setTime(of: WorkQueue.sliceMax)
          connection.receive(Self.windows)
          #expect(held() >= Self.windows.count)
          var turns = 0
          while connection.passed.bytes.count < 24 + Self.windows.count, turns < 1_000 {
            #expect(held() >= Self.windows.count)
            service.turn.open()
            service.turn.finish()
            turns += 1
          }
          #expect(held() == 0)
          connection.receive(Self.windows)
          #expect(held() > 0)
          connection.channel.pipeline.fireChannelInactive()
          #expect(held() == 0)
        }
      }
    }

    @Test func `a connection reads no more while many of its streams wait to be opened`()
      async throws
    {
      try await withServer { server in
        try server.onLoop { service in
          let connection = try Connection(service)
          connection.setTime(of: .zero)
          let calls = connection.caller.client.calls.value
          for _ in 0..<WaitingStream.countMax { calls.openingBegins() }
          connection.receive(Self.opening + Self.windows)
          #expect(connection.passed.bytes.isEmpty)
          #expect(connection.reads.count == 0)
          calls.openingEnded()
          service.turn.finish()
          #expect(connection.hasPassed(Self.opening + Self.windows))
          #expect(connection.reads.count > 0)
        }
      }
    }

    @Test func `a connection's input takes turns with the calls of others`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let flood = try Connection(service)
          let other = try Connection(service)
          flood.setTime(of: WorkQueue.sliceMax)
          flood.receive(Self.opening + Self.windows)
          other.receive(Self.opening)
          #expect(other.passed.bytes.isEmpty)
          service.turn.open()
          service.turn.finish()
          service.turn.open()
          service.turn.finish()
          #expect(other.hasPassed(Self.opening))
          #expect(flood.passed.bytes.count < Self.windows.count)
        }
      }
    }

    @Test func `the input of a connection is dropped at the end of its connection`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let connection = try Connection(service)
          connection.setTime(of: WorkQueue.sliceMax)
          connection.receive(Self.opening + Self.windows)
          let before = connection.passed.bytes.count
          connection.channel.pipeline.fireChannelInactive()
          for _ in 0..<10 {
            service.turn.open()
            service.turn.finish()
          }
          #expect(connection.passed.bytes.count == before)
        }
      }
    }

    @Test func `dropped data gives its window back`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let connection = try Connection(service)
          connection.setTime(of: .zero)
          connection.receive(Self.opening)
          connection.caller.onRefusal?()
          let head: [UInt8] = [0, 0, 1, 1, 4, 0, 0, 0, 3, 0x82]
          let data = RawHTTP2.frame(0, stream: 3, payload: [UInt8](repeating: 0, count: 3_000))
          connection.receive(head + data)
          let refusal = try connection.channel.readOutbound(as: ByteBuffer.self)
          #expect(
            refusal.map { Array($0.readableBytesView) }
              == RawHTTP2.frame(3, stream: 3, payload: [0, 0, 0, 7]))
          // Small amounts are given back together.
          #expect(try connection.channel.readOutbound(as: ByteBuffer.self) == nil)
          connection.receive(data)
          #expect(connection.hasPassed(Self.opening))
          let sent = try connection.channel.readOutbound(as: ByteBuffer.self)
          #expect(sent.map { Array($0.readableBytesView) } == RawHTTP2.windowUpdate(0, 6_000))
        }
      }
    }

    @Test func `waiting input passes when the service stops, so that HTTP/2 can end`() async throws
    {
      try await withServer { server in
        try server.onLoop { service in
          let connection = try Connection(service)
          connection.setTime(of: WorkQueue.sliceMax)
          connection.receive(Self.opening + Self.windows)
          service.context.work.abandonAll()
          #expect(connection.hasPassed(Self.opening + Self.windows))
          #expect(connection.reads.count > 0)
        }
      }
    }
  }

  /// The frames that HTTP/2 gets.
  private final class Passed: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    var bytes: [UInt8] = []
    var uncompletedBytes = 0
    var readsCompleted = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let buffer = unwrapInboundIn(data)
      bytes += buffer.readableBytesView
      uncompletedBytes += buffer.readableBytes
      // Each stream does the same.
      context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      uncompletedBytes = 0
      readsCompleted += 1
    }
  }

  /// The reads that are requested from the socket.
  private final class Reads: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    var count = 0

    func read(context: ChannelHandlerContext) { count += 1 }
  }
#endif
