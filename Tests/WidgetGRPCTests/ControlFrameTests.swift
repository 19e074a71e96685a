#if GRPC
  import NIOCore
  import NIOEmbedded
  import Testing

  @testable import WidgetGRPC
  @testable import WidgetServer

  @Suite struct `Control frames of a peer` {
    private static let opening = [UInt8](repeating: 0x50, count: 24)
    private static let settings: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6]
    private static let data: [UInt8] = [0, 0, 3, 0, 1, 0, 0, 0, 1, 7, 8, 9]
    private static func ping(_ value: UInt8, flags: UInt8 = 0, stream: UInt8 = 0) -> [UInt8] {
      [0, 0, 8, 6, flags, 0, 0, 0, stream] + [UInt8](repeating: value, count: 8)
    }
    private static let openHeaders: [UInt8] = [0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]
    private static let lastHeaders: [UInt8] = [0, 0, 1, 9, 4, 0, 0, 0, 1, 0x82]

    private static func reset(_ stream: UInt8) -> [UInt8] {
      [0, 0, 4, 3, 0, 0, 0, 0, stream, 0, 0, 0, 8]
    }

    private struct Result {
      var passed: [UInt8] = []
      var pings: [UInt64] = []
      var resets: [UInt32] = []
      /// The number of passed bytes when each reset was found.
      var passedBefore: [Int] = []
    }

    /// The passed bytes and the found frames, if the bytes come in pieces.
    private static func scan(_ bytes: [UInt8], pieces: [Int], takes: Bool = true) -> Result {
      var scanner = ControlFrameScanner()
      var result = Result()
      var rest = bytes[...]
      for piece in pieces + [bytes.count] {
        let part = rest.prefix(piece)
        rest = rest.dropFirst(piece)
        guard !part.isEmpty else { continue }
        scanner.receive(ByteBuffer(bytes: part))
        while let piece = scanner.next() {
          switch piece {
          case .ping(let value, _) where takes: result.pings.append(value)
          case .reset(let stream, _) where takes:
            result.resets.append(stream)
            result.passedBefore.append(result.passed.count)
          case .ping(_, let frame), .reset(_, let frame), .other(let frame):
            result.passed += Array(frame.readableBytesView)
          }
        }
      }
      return result
    }

    private static let conversation =
      opening + settings + ping(1) + data + reset(1) + ping(2) + ping(3) + data + reset(3)
    private static let others = opening + settings + data + data

    @Test func `control frames are found at every split of the bytes`() {
      let pings = [1, 2, 3].map { UInt64($0) * 0x0101_0101_0101_0101 }
      for first in 0...Self.conversation.count {
        for second in [0, 1, 8, 17, 40] {
          let result = Self.scan(Self.conversation, pieces: [first, second])
          #expect(result.passed == Self.others, "cut at \(first) and \(second) later")
          #expect(result.pings == pings, "cut at \(first) and \(second) later")
          #expect(result.resets == [1, 3], "cut at \(first) and \(second) later")
        }
      }
      let single = Self.scan(
        Self.conversation, pieces: [Int](repeating: 1, count: Self.conversation.count))
      #expect(single.passed == Self.others)
      #expect(single.pings == pings)
      #expect(single.resets == [1, 3])
    }

    @Test func `control frames pass unchanged if the handler does not answer pings`() {
      let result = Self.scan(Self.conversation, pieces: [], takes: false)
      #expect(result.passed == Self.conversation)
      #expect(result.pings.isEmpty)
    }

    @Test(arguments: [
      ping(1, flags: 1), ping(1, stream: 1), [0, 0, 7, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7],
      openHeaders + ping(1), reset(0), openHeaders + reset(1),
      [0, 0, 3, 3, 0, 0, 0, 0, 1, 0, 0, 8],
    ])
    func `frames that are malformed or out of place pass`(bytes: [UInt8]) {
      let result = Self.scan(Self.opening + bytes + Self.data, pieces: [30, 3])
      #expect(result.passed == Self.opening + bytes + Self.data)
      #expect(result.pings.isEmpty && result.resets.isEmpty)
    }

    @Test func `a control frame takes effect after the bytes before it`() {
      let before = Self.opening + Self.settings + Self.data
      let result = Self.scan(before + Self.reset(1) + Self.data, pieces: [])
      #expect(result.passedBefore == [before.count])
    }

    @Test func `a peer may reset only so many streams in a window of time`() {
      var allowance = ResetAllowance(maximum: 2)
      let start = NIODeadline.uptimeNanoseconds(1_000)
      let end = start + ResetAllowance.window
      let results = [start, end - .nanoseconds(1), end - .nanoseconds(1), end, end, end].map {
        allowance.take(at: $0)
      }
      #expect(results == [true, true, false, true, true, false])
    }

    @Test func `pings are answered again after a header block`() {
      let bytes = Self.opening + Self.openHeaders + Self.lastHeaders + Self.ping(4)
      #expect(Self.scan(bytes, pieces: []).pings == [0x0404_0404_0404_0404])
    }

    // MARK: - The end of a flood

    /// A connection over a full socket whose peer has sent too many SETTINGS.
    private struct Flood {
      let channel = EmbeddedChannel()
      let socket = FullSocket()
      let connection: CallerConnection

      static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]

      init(_ service: ServiceLoop) throws {
        connection = CallerConnection(
          client: InProcessClient(peer: .current, service: service), service.context.limits)
        try channel.pipeline.syncOperations.addHandlers(
          socket, ControlFrames(connection: connection))
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
        let frames = repeatElement(Flood.settings, count: FloodLimits.framesMax).joined()
        let before = [UInt8](repeating: 0x50, count: 24) + Array(frames)
        try channel.writeInbound(ByteBuffer(bytes: before + Flood.settings))
        // HTTP/2 gets all frames before the last one.
        let passed = try channel.readInbound(as: ByteBuffer.self)
        #expect(passed.map { Array($0.readableBytesView) } == before)
        var last = ByteBuffer()
        ControlFrameScanner.writeGoAway(into: &last)
        #expect(socket.bytes == Array(last.readableBytesView))
      }

      func end() {
        channel.embeddedEventLoop.run()
        connection.close()
      }
    }

    @Test func `a flood closes the connection when its socket has taken the last frame`()
      async throws
    {
      try await withServer { server in
        try server.onLoop { service in
          let flood = try Flood(service)
          #expect(!flood.socket.isClosed)
          // Meanwhile, the connection reads nothing, and HTTP/2 gets nothing.
          let reads = flood.socket.reads
          flood.channel.read()
          #expect(flood.socket.reads == reads)
          try flood.channel.writeInbound(ByteBuffer(bytes: Flood.settings))
          #expect(try flood.channel.readInbound(as: ByteBuffer.self) == nil)
          flood.socket.takeAll()
          #expect(flood.socket.isClosed && !flood.channel.isActive)
          flood.end()
        }
      }
    }

    @Test func `a flood closes the connection after some time if its peer does not read`()
      async throws
    {
      try await withServer { server in
        try server.onLoop { service in
          let flood = try Flood(service)
          flood.channel.embeddedEventLoop.advanceTime(
            by: ControlFrames.closingMax - .nanoseconds(1))
          #expect(!flood.socket.isClosed)
          flood.channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
          #expect(flood.socket.isClosed && !flood.channel.isActive)
          flood.end()
        }
      }
    }

    @Test func `a ping is answered with its payload`() {
      var answer = ByteBuffer()
      ControlFrameScanner.writeAnswer(to: 0x0102_0304_0506_0708, into: &answer)
      #expect(
        Array(answer.readableBytesView)
          == [0, 0, 8, 6, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])
    }
  }
#endif
