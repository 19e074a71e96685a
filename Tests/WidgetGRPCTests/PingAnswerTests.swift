#if GRPC
  import Glibc
  import NIOCore
  import NIOEmbedded
  import Testing

  @testable import WidgetGRPC
  @testable import WidgetServer

  @Suite struct `The answers to pings` {
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
          // The socket is full, so there are few more writes.
          let most = ControlFrames.writesMax
          for number in 1..<most {
            #expect(try pinged.ping(1))
            pinged.run()
            #expect(pinged.hasAnswers(400 + number, writes: 1 + number))
          }
          for _ in 0..<10 {
            #expect(try pinged.ping(1))
            pinged.run()
          }
          #expect(pinged.hasAnswers(399 + most, writes: most))
          #expect(
            service.unsentBytes.bytes(of: geteuid()) == (409 + most) * Pinged.answer.count)
          pinged.take()
          #expect(pinged.hasAnswers(409 + most, writes: most + 1))
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
          let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
          pinged.channel.write(ByteBuffer(bytes: settings), promise: nil)
          for _ in 0..<3 { pinged.take() }
          let answers = { (count: Int) in
            Array(repeatElement(Pinged.answer, count: count).joined())
          }
          #expect(first > 0 && first < 3_000)
          #expect(
            pinged.socket.bytes == answers(first) + settings + answers(3_000 - first))
          pinged.connection.close()
        }
      }
    }

    @Test func `the writes under way have a bound together, and whole answers`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let pinged = try Pinged(service)
          for count in [500, 3_000] {
            #expect(try pinged.ping(count))
            pinged.run()
          }
          #expect(pinged.socket.bytes.count == ControlFrames.writtenBytesMax)
          #expect(pinged.socket.writes == 2)
          for _ in 0..<3 { pinged.take() }
          #expect(pinged.hasAnswers(3_500, writes: pinged.socket.writes))
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
          #expect(other.isEnding)
          // The peer can still read the last frame for some time.
          other.channel.embeddedEventLoop.advanceTime(
            by: ControlFrames.closingMax - .nanoseconds(1))
          #expect(!other.socket.isClosed)
          other.channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
          #expect(other.socket.isClosed && other.connection.pingAnswerBytes == 0)
          other.connection.close()
        }
      }
    }

    @Test func `a socket that is full of other output limits no pings`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let pinged = try Pinged(service)
          pinged.channel.isWritable = false
          for _ in 0..<3 {
            #expect(try pinged.ping(FloodLimits.framesMax))
            pinged.run()
          }
          #expect(pinged.hasAnswers(3 * FloodLimits.framesMax, writes: 3))
          pinged.take()
          pinged.connection.close()
        }
      }
    }

    @Test func `a connection with too many unread answers to pings is closed at once`()
      async throws
    {
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
          #expect(!unread.connection.mayAnswerPings(besides: 0))
          // After a pause of the daemon, a peer has many pings at once. If it reads, it goes on.
          let count = FloodLimits.framesMax + 100
          for number in 1...3 {
            #expect(try pinged.ping(count / 2))
            #expect(try pinged.ping(count / 2))
            pinged.run()
            #expect(!pinged.connection.mayAnswerPings(besides: 0))
            #expect(pinged.hasAnswers(number * count, writes: number))
            pinged.take()
            #expect(pinged.connection.mayAnswerPings(besides: 0))
          }
          // If it does not read, its next pings count.
          #expect(try pinged.ping(count))
          pinged.run()
          #expect(try pinged.ping(FloodLimits.framesMax))
          #expect(!pinged.isEnding)
          #expect(try pinged.ping(1))
          #expect(pinged.isEnding)
          pinged.take()
          #expect(pinged.socket.isClosed)
          unread.connection.pingAnswerBytes = 0
          unread.connection.close()
          pinged.connection.close()
          #expect(service.unsentBytes.bytes(of: geteuid()) == 0)
        }
      }
    }

    @Test func `the uncounted answers of a turn are one write if the user has no room`()
      async throws
    {
      let limit = 2 << 20
      try await withServer(limits: .with { $0.unsentBytesPerUIDMax = limit }) { server in
        try server.onLoop { service in
          let unread = try Pinged(service)
          let pinged = try Pinged(service)
          unread.connection.pingAnswerBytes = limit
          let most =
            (ControlFrames.writtenBytesMax + CallerConnection.pingAnswerBytesMin)
            / Pinged.answer.count + 1
          #expect(try pinged.ping(most + FloodLimits.framesMax))
          #expect(!pinged.isEnding)
          #expect(try pinged.ping(1))
          #expect(pinged.isEnding)
          pinged.take()
          #expect(pinged.socket.isClosed)
          unread.connection.pingAnswerBytes = 0
          unread.connection.close()
          pinged.connection.close()
          #expect(service.unsentBytes.bytes(of: geteuid()) == 0)
        }
      }
    }

    @Test func `a peer that takes its answers may ping while its user has no room`() async throws {
      let limit = 2 << 20
      try await withServer(limits: .with { $0.unsentBytesPerUIDMax = limit }) { server in
        try server.onLoop { service in
          let unread = try Pinged(service)
          let pinged = try Pinged(service)
          // The reserve is used up, too.
          unread.connection.pingAnswerBytes = 2 * limit
          for _ in 0...FloodLimits.framesMax {
            #expect(try pinged.ping(1))
            pinged.run()
            pinged.take()
          }
          let count = FloodLimits.framesMax + 1
          #expect(pinged.hasAnswers(count, writes: count))
          unread.connection.pingAnswerBytes = 0
          unread.connection.close()
          pinged.connection.close()
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
  }
#endif
