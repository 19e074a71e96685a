#if GRPC
  import Glibc
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

    /// A socket that takes no bytes until a test lets it.
    private final class FullSocket: ChannelOutboundHandler {
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

    // MARK: - The answers to pings

    /// A connection over a full socket whose peer sends pings.
    private struct Pinged {
      let channel = EmbeddedChannel()
      let socket = FullSocket()
      let connection: CallerConnection
      let frames: ControlFrames

      static let head: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0]
      static let answer: [UInt8] = [0, 0, 8, 6, 1, 0, 0, 0, 0] + [UInt8](repeating: 1, count: 8)
      /// The connection then has too many unread answers for another ping.
      static let countMax = CallerConnection.pingAnswerBytesMax / answer.count + 1

      init(_ service: ServiceLoop) throws {
        connection = CallerConnection(
          client: InProcessClient(peer: .current, service: service), service.context.limits)
        frames = ControlFrames(connection: connection)
        try channel.pipeline.syncOperations.addHandlers(socket, frames)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
        try channel.writeInbound(ByteBuffer(bytes: [UInt8](repeating: 0x50, count: 24)))
        _ = try channel.readInbound(as: ByteBuffer.self)
      }

      /// Sends so many pings at once. Returns whether HTTP/2 gets none of them.
      func ping(_ count: Int, with value: UInt8 = 1) throws -> Bool {
        let question = Pinged.head + [UInt8](repeating: value, count: 8)
        try channel.writeInbound(
          ByteBuffer(bytes: Array(repeatElement(question, count: count).joined())))
        return try channel.readInbound(as: ByteBuffer.self) == nil
      }

      /// Ends the turn.
      func run() { channel.embeddedEventLoop.run() }

      /// Whether the socket has received so many answers, in so many writes.
      func hasAnswers(_ count: Int, writes: Int) -> Bool {
        socket.bytes == Array(repeatElement(Pinged.answer, count: count).joined())
          && socket.writes == writes
      }

      /// The first byte of the payload of each answer that the socket has received.
      var values: [UInt8] {
        stride(from: Pinged.head.count, to: socket.bytes.count, by: Pinged.answer.count).map {
          socket.bytes[$0]
        }
      }

      /// Whether the last frame to the peer tells it to calm down.
      var isEnding: Bool {
        var last = ByteBuffer()
        ControlFrameScanner.writeGoAway(into: &last)
        return Array(socket.bytes.suffix(last.readableBytes)) == Array(last.readableBytesView)
      }

      /// Lets the socket take what was written, and ends the turn.
      func take() {
        socket.takeAll()
        run()
      }
    }

    @Test func `the answers to the pings of a turn are one write, and count until it is taken`()
      async throws
    {
      try await withServer { server in
        try server.onLoop { service in
          let pinged = try Pinged(service)
          for _ in 0..<100 { #expect(try pinged.ping(4)) }
          #expect(pinged.hasAnswers(0, writes: 0))
          pinged.run()
          #expect(pinged.hasAnswers(400, writes: 1))
          // The socket is full, so the next answers wait.
          for _ in 0..<10 {
            #expect(try pinged.ping(1))
            pinged.run()
          }
          #expect(pinged.hasAnswers(400, writes: 1))
          #expect(service.unsentBytes.bytes(of: geteuid()) == 410 * Pinged.answer.count)
          pinged.take()
          #expect(pinged.hasAnswers(410, writes: 2))
          #expect(service.unsentBytes.bytes(of: geteuid()) == 10 * Pinged.answer.count)
          pinged.take()
          #expect(service.unsentBytes.bytes(of: geteuid()) == 0)
          pinged.connection.close()
        }
      }
    }

    @Test func `answers that were sent take no memory while others wait`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let pinged = try Pinged(service)
          let part = ControlFrames.writtenBytesMax / Pinged.answer.count
          #expect(try pinged.ping(3 * part))
          pinged.run()
          for _ in 0..<40 {
            pinged.take()
            #expect(try pinged.ping(part))
            pinged.run()
          }
          #expect(pinged.frames.answers.readableBytes > 0)
          #expect(pinged.frames.answers.capacity <= 8 * ControlFrames.writtenBytesMax)
          for _ in 0..<10 { pinged.take() }
          #expect(pinged.hasAnswers(43 * part, writes: pinged.socket.writes))
          pinged.connection.close()
        }
      }
    }

    @Test func `the answers come in the order of the pings, also if they were not taken`()
      async throws
    {
      try await withServer { server in
        try server.onLoop { service in
          let pinged = try Pinged(service)
          #expect(try pinged.ping(Pinged.countMax, with: 1))
          pinged.run()
          // The answers are written in parts, each when the socket has taken the one before.
          #expect(pinged.socket.bytes.count == ControlFrames.writtenBytesMax)
          // HTTP/2 would answer these before the ones that wait.
          #expect(try pinged.ping(10, with: 2))
          for _ in 0..<20 { pinged.take() }
          #expect(try pinged.ping(5, with: 3))
          pinged.run()
          pinged.take()
          let counts: [(UInt8, Int)] = [(1, Pinged.countMax), (2, 10), (3, 5)]
          #expect(pinged.values == counts.flatMap { [UInt8](repeating: $0.0, count: $0.1) })
          #expect(service.unsentBytes.bytes(of: geteuid()) == 0)
          pinged.connection.close()
        }
      }
    }

    @Test func `other frames come between whole answers`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let pinged = try Pinged(service)
          #expect(try pinged.ping(3_000))
          pinged.run()
          let first = pinged.socket.bytes.count / Pinged.answer.count
          pinged.channel.write(ByteBuffer(bytes: Self.settings), promise: nil)
          for _ in 0..<3 { pinged.take() }
          let answers = { (count: Int) in
            Array(repeatElement(Pinged.answer, count: count).joined())
          }
          #expect(first > 0 && first < 3_000)
          #expect(
            pinged.socket.bytes == answers(first) + Self.settings + answers(3_000 - first))
          pinged.connection.close()
        }
      }
    }

    @Test func `the pings of a peer that does not take the answers count as control frames`()
      async throws
    {
      try await withServer { server in
        try server.onLoop { service in
          let pinged = try Pinged(service)
          #expect(try pinged.ping(Pinged.countMax + FloodLimits.framesMax))
          for _ in 0..<20 { pinged.take() }
          let count = Pinged.countMax + FloodLimits.framesMax
          #expect(pinged.hasAnswers(count, writes: pinged.socket.writes))
          pinged.connection.close()
          let other = try Pinged(service)
          #expect(try other.ping(Pinged.countMax + FloodLimits.framesMax + 1))
          #expect(other.isEnding && !other.socket.isClosed)
          // The socket is closed at once, because the peer does not read.
          other.run()
          #expect(other.socket.isClosed && other.connection.pingAnswerBytes == 0)
          other.connection.close()
        }
      }
    }

    @Test func `a connection with too many unread answers to pings is closed`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let pinged = try Pinged(service)
          pinged.connection.pingAnswerBytes = CallerConnection.pingAnswerBytesEnd - 1
          #expect(try pinged.ping(1))
          pinged.run()
          #expect(pinged.hasAnswers(1, writes: 1))
          #expect(try pinged.ping(1))
          #expect(pinged.isEnding)
          pinged.run()
          #expect(pinged.socket.isClosed)
          pinged.connection.pingAnswerBytes = 0
          pinged.connection.close()
        }
      }
    }

    @Test func `a user with too many unsent bytes gets few answers to pings on each connection`()
      async throws
    {
      let limit = 2 << 20
      try await withServer(limits: .with { $0.unsentBytesPerUIDMax = limit }) { server in
        try server.onLoop { service in
          let unread = try Pinged(service)
          let pinged = try Pinged(service)
          unread.connection.pingAnswerBytes = limit
          #expect(!unread.connection.mayAnswerPings)
          let most = CallerConnection.pingAnswerBytesMin / Pinged.answer.count + 1
          #expect(try pinged.ping(most))
          #expect(!pinged.connection.mayAnswerPings)
          // A peer that reads goes on.
          pinged.run()
          pinged.take()
          #expect(try pinged.ping(most))
          pinged.run()
          pinged.take()
          #expect(pinged.hasAnswers(2 * most, writes: 2))
          unread.connection.pingAnswerBytes = 0
          unread.connection.close()
          pinged.connection.close()
          #expect(service.unsentBytes.bytes(of: geteuid()) == 0)
        }
      }
    }

    @Test func `a connection that ends drops the answers to its pings`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let pinged = try Pinged(service)
          #expect(try pinged.ping(10))
          pinged.run()
          #expect(try pinged.ping(5))
          pinged.channel.close(promise: nil)
          pinged.run()
          #expect(pinged.connection.pingAnswerBytes == 0)
          #expect(pinged.hasAnswers(10, writes: 1))
          pinged.connection.close()
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
