#if GRPC
  import Glibc
  import NIOCore
  import NIOEmbedded
  import Testing
  import WidgetCore
  import WidgetModel
  import WidgetProto
  import WidgetStorage

  @testable import WidgetGRPC
  @testable import WidgetServer

  @Suite struct `A closed connection over gRPC` {
    private struct Look: Sendable {
      let calls: Int
      let connections: Int
    }

    /// The way in which a connection ends.
    enum Loss: Sendable {
      case close, halfClose
      /// The window of the connection becomes too large, so HTTP/2 closes the connection.
      case protocolError
      /// HTTP/2 would take the peer for an attacker.
      case emptyData, paddingAlone, settings, priorities, resets

      var isFlood: Bool {
        switch self {
        case .close, .halfClose, .protocolError: false
        case .emptyData, .paddingAlone, .settings, .priorities, .resets: true
        }
      }
    }

    @Test(arguments: [
      (1, Loss.close), (1, .halfClose), (1, .protocolError), (4, .close), (4, .protocolError),
      (1, .emptyData), (4, .emptyData), (1, .paddingAlone), (1, .settings), (1, .priorities),
      (1, .resets),
    ])
    func `the calls of closed connections end one in a turn, and the connections count until then`(
      connections: Int, loss: Loss
    ) async throws {
      // HTTP/2 gets all resets.
      try await withServer(limits: .with { $0.streamResetsMax = 0 }) { server in
        let count = 60
        let clients = try (0..<connections).map { _ in try server.connect() }
        for number in 0..<count { _ = try clients[number % connections].watch() }
        try server.eventually("all streams are open") { $0.streams.count == count }
        let guest = server.guest
        #expect(guest.callCount == count)
        let looks = Box([Look(calls: count, connections: connections)])
        try server.slowDown()
        try server.onLoop { service in
          let atEnd = service.turn.atEnd
          service.turn.atEnd = { [unowned service] in
            atEnd()
            let look = Look(
              calls: guest.callCount, connections: service.connections.shares.count)
            looks.update { $0.append(look) }
          }
        }
        for client in clients {
          switch loss {
          case .close: client.close()
          case .halfClose: client.closeWriting()
          case .protocolError: try client.grant(0, (1 << 31) - 1)
          case .emptyData: try client.sendTwice(RawHTTP2.Frame.data, payload: [])
          case .paddingAlone: try client.sendTwice(RawHTTP2.Frame.data, flags: 8, payload: [1, 0])
          case .settings: try client.flood(RawHTTP2.frame(RawHTTP2.Frame.settings))
          case .priorities:
            try client.flood(RawHTTP2.frame(2, stream: 1, payload: [0, 0, 0, 0, 16]))
          case .resets: client.resetMany()
          }
        }
        for client in clients where loss.isFlood {
          // The daemon closes the socket when it has taken the last frame. The client may get an error
          // for its later frames.
          try? client.readToEnd()
          #expect(client.goAways.map { $0.code } == [11])
        }
        try server.eventually("the connections have ended") {
          $0.connections.shares.count == 0 && $0.streams.count == 0
        }
        #expect(guest.callCount == 0)
        let seen = looks.get()
        let calls = seen.map(\.calls)
        #expect(zip(calls, calls.dropFirst()).allSatisfy { $0 - $1 <= 2 }, "\(calls)")
        #expect(seen.allSatisfy { $0.calls == 0 || $0.connections > 0 })
      }
    }

    /// The peer has left unread messages, and the socket is full.
    @Test(arguments: [3, 60])
    func `the calls of a closed connection end even if its socket was full`(
      streams: Int
    ) async throws {
      try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
        let maker = InsideClient(try await server.server.inProcessClient(for: .current))
        try await maker.create("a")
        let other = try server.connect()
        #expect(try other.health() == .serving)
        let window = UInt32((1 << 31) - 1)
        let client = try server.connect(
          .init(streamWindow: window, connectionWindow: window, acknowledges: false))
        for _ in 0..<streams { _ = try client.watch() }
        try server.eventually("all streams are open") { $0.streams.count == streams }
        for n in 0..<100 { try await maker.set("a", pad: 20_000, n) }
        client.close()
        try server.eventually("the connection has ended") {
          $0.connections.shares.count == 1 && $0.streams.count == 0
        }
        try server.expectNoCalls()
        #expect(try other.health() == .serving)
      }
    }

    @Test func `the calls of a closed connection give back all that they have taken`()
      async throws
    {
      try await withServer(limits: .with { $0.requestMilliseconds = 1_000_000 }) { server in
        let other = try server.connect()
        try other.create("a")
        let client = try server.connect(.init(streamWindow: 0))
        for _ in 0..<20 { _ = try client.watch() }
        // Calls whose answers are not taken, and calls whose requests have no end.
        for _ in 0..<20 { _ = try client.start("GetWidget", GetWidgetRequest(id: .make("a"))) }
        for _ in 0..<20 { _ = try client.begin("\(RawHTTP2.widgets)/GetWidget") }
        try server.eventually("all calls are under way") {
          $0.streams.count == 20 && $0.incompleteRequests.bytes(of: geteuid()) > 20 * 22 << 10
            && $0.unsentBytes.bytes(of: geteuid()) > 20 * 22 << 10
        }
        client.close()
        try server.eventually("the connection has ended") { $0.connections.shares.count == 1 }
        try server.expectNoCalls()
        #expect(try other.health() == .serving)
      }
    }

    @Test func `each call of a user without rights is taken off the count once`() async throws {
      let limits = ServerLimits.with {
        $0.unauthorizedMilliseconds = 1_000_000
        $0.requestMilliseconds = 1_000_000
      }
      try await withServer(limits: limits, policy: .nobody) { server in
        let client = try server.connect()
        for _ in 0..<20 { _ = try client.begin("\(RawHTTP2.health)/Check") }
        try server.eventually("all calls are under way") { $0.unauthorizedCalls.count == 20 }
        client.close()
        try server.eventually("the connection has ended") { $0.connections.shares.count == 0 }
        #expect(try server.onLoop { $0.unauthorizedCalls.count } == 0)
        try server.expectNoCalls()
      }
    }

    // MARK: - The end of the daemon

    /// The time at which the daemon stops.
    enum Moment: CaseIterable, Sendable {
      /// No call has ended.
      case beforeFirst
      /// Half of the calls have ended.
      case halfway
    }

    @Test(arguments: Moment.allCases)
    func `the calls of a closed connection end once when the daemon stops`(
      moment: Moment
    ) async throws {
      try await withStoppedServer(drainMilliseconds: 500) { server in
        let closed = try Self.close(server, until: moment)
        try await server.server.stop()
        #expect(server.guest.callCount == 0)
        #expect(closed.get() == 1)
      }
    }

    @Test(arguments: Moment.allCases)
    func `the calls of a closed connection end once at a handover`(moment: Moment) async throws {
      let makeLog = { @Sendable () throws(StorageError) -> any CommitLog in DurableLog() }
      try await withStoppedServer(drainMilliseconds: 500, makeLog: makeLog) { server in
        let closed = try Self.close(server, until: moment)
        let handed = try await server.server.handOver()
        handed?.discard()
        #expect(handed != nil)
        #expect(server.guest.callCount == 0)
        #expect(closed.get() == 1)
      }
    }

    /// Closes a connection with many calls, and holds their ends back at a moment.
    ///
    /// - Returns: the number of ended connections.
    private static func close(
      _ server: TestServer, until moment: Moment
    ) throws -> Box<Int> {
      let client = try server.connect()
      for _ in 0..<60 { _ = try client.watch() }
      try server.eventually("all streams are open") { $0.streams.count == 60 }
      try server.slowDown()
      let (guest, closed, callsMax) = (server.guest, Box(0), moment == .halfway ? 30 : 60)
      try server.onLoop { service in
        let (passes, onClosed) = (service.turn.loopPass, service.connections.onClosed)
        // A pass that lasts has no time for more ends.
        service.turn.loopPass = {
          (1...callsMax).contains(guest.callCount) ? 0 : passes?() ?? 0
        }
        service.connections.onClosed = {
          onClosed()
          closed.update { $0 += 1 }
        }
      }
      client.close()
      try server.eventually("the ends of calls wait") {
        guest.callCount <= callsMax && $0.context.work.hasMore
      }
      #expect(closed.get() == 0 && guest.callCount > 0)
      return closed
    }

    /// A log whose connections can be handed over. It stores nothing.
    private final class DurableLog: CommitLog {
      var name: String { "test" }
      var needsGroups: Bool { true }
      func load() -> StoreImage { StoreImage(epoch: 77) }
      func append(_ group: CommitGroup) {}
      func close() {}
    }
  }

  /// The channel itself, over the channel of a socket that the tests control.
  @Suite struct `A lingering channel` {
    /// A channel with the turns of a server, used only on the loop.
    private final class Fixture {
      let service: ServiceLoop
      let socket = EmbeddedChannel()
      let callers = Callers()

      init(_ service: ServiceLoop) throws {
        self.service = service
        try socket.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
      }

      func makeChannel() -> LingeringChannel {
        callers.add(
          InProcessClient(peer: .current, service: service), on: socket, service.context.limits)
      }

      /// Ends turns until no work waits.
      func endTurns() {
        socket.embeddedEventLoop.run()
        while service.context.work.hasMore {
          service.turn.loopPass = nil
          service.finishTurnAndRound()
          socket.embeddedEventLoop.run()
        }
      }
    }

    /// The events that HTTP/2 would get.
    private final class Events: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      var inactiveCount = 0
      var removedCount = 0

      func channelInactive(context: ChannelHandlerContext) { inactiveCount += 1 }
      func handlerRemoved(context: ChannelHandlerContext) { removedCount += 1 }
    }

    @Test func `a channel ends once, also if the service stops later`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let (fixture, events) = (try Fixture(service), Events())
          let channel = fixture.makeChannel()
          #expect(channel.attach())
          try channel.pipeline.syncOperations.addHandler(events)
          var closedCount = 0
          channel.closeFuture.assumeIsolated().whenComplete { _ in closedCount += 1 }
          fixture.socket.close(promise: nil)
          fixture.endTurns()
          #expect(!fixture.socket.isActive && !channel.isActive)
          #expect(events.inactiveCount == 1 && events.removedCount == 1 && closedCount == 1)
          // The service stops later.
          channel.endAtOnce()
          fixture.endTurns()
          #expect(events.inactiveCount == 1 && closedCount == 1)
        }
      }
    }

    @Test func `a channel whose service has no more turns ends at once`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let (fixture, events) = (try Fixture(service), Events())
          let channel = fixture.makeChannel()
          #expect(channel.attach())
          try channel.pipeline.syncOperations.addHandler(events)
          channel.endAtOnce()
          fixture.socket.embeddedEventLoop.run()
          #expect(!fixture.socket.isActive && !channel.isActive)
          #expect(events.inactiveCount == 1 && events.removedCount == 1)
          #expect(!service.context.work.hasMore)
        }
      }
    }

    @Test(arguments: [false, true])
    func `nothing keeps or uses a channel after its end`(isAttached: Bool) async throws {
      try await withServer { server in
        try server.onLoop { service in
          let fixture = try Fixture(service)
          weak var freed: LingeringChannel?
          do {
            let channel = fixture.makeChannel()
            freed = channel
            if isAttached { #expect(channel.attach()) }
            fixture.socket.close(promise: nil)
            if !isAttached { channel.lose() }
            // The socket's handlers stay until the end of the pass.
            let pipeline = fixture.socket.pipeline
            pipeline.fireChannelReadComplete()
            pipeline.fireChannelWritabilityChanged()
            pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
          }
          fixture.endTurns()
          #expect(freed == nil)
        }
      }
    }

    @Test func `a channel over a closed socket ends, and its connection is released`()
      async throws
    {
      try await withServer { server in
        // The protocol has started.
        let other = try server.connect()
        #expect(try other.health() == .serving)
        let guest = server.guest.guest
        try server.onLoop { service in
          let fixture = try Fixture(service)
          fixture.socket.close(promise: nil)
          fixture.socket.embeddedEventLoop.run()
          let channel = fixture.makeChannel()
          #expect(!channel.attach())
          channel.lose()
          var closedCount = 0
          guest.adopt(fixture.socket, for: InProcessClient(peer: .current, service: service))
            .assumeIsolated().whenComplete { _ in closedCount += 1 }
          #expect(closedCount == 0)
          fixture.endTurns()
          #expect(closedCount == 1)
        }
        #expect(try other.health() == .serving)
      }
    }

    @Test func `a channel of a protocol that has not started closes its socket`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          let fixture = try Fixture(service)
          var closedCount = 0
          GRPCProtocol()
            .adopt(fixture.socket, for: InProcessClient(peer: .current, service: service))
            .assumeIsolated().whenComplete { _ in closedCount += 1 }
          fixture.endTurns()
          #expect(closedCount == 1 && !fixture.socket.isActive)
        }
      }
    }
  }

  extension RawHTTP2 {
    /// Sends the same frame twice on a stream that stays open.
    fileprivate func sendTwice(_ type: UInt8, flags: UInt8 = 0, payload: [UInt8]) throws {
      let stream = try begin("\(RawHTTP2.widgets)/GetWidget")
      let frame = RawHTTP2.frame(type, flags: flags, stream: stream, payload: payload)
      try send(frame + frame)
    }

    /// Sends a frame more often than HTTP/2 takes it.
    fileprivate func flood(_ frame: [UInt8]) throws {
      try send(Array(repeatElement(frame, count: FloodLimits.framesMax + 10).joined()))
    }

    /// Begins and resets streams until the daemon closes the connection, at most as many as the
    /// connection may have.
    fileprivate func resetMany() {
      for _ in 0..<FloodLimits.framesMax + 100 {
        guard let stream = try? begin("\(RawHTTP2.widgets)/GetWidget"),
          (try? reset(stream)) != nil
        else { return }
      }
    }
  }

  extension TestServer {
    /// Lets the clock move on with each look, so a turn has time for one part of work.
    fileprivate func slowDown() throws {
      try onLoop { service in
        var now = NIODeadline.now()
        service.context.work.clock = {
          now = now + .seconds(1)
          return now
        }
      }
    }

    /// Waits until no call is counted any more.
    fileprivate func expectNoCalls() throws {
      let guest = guest
      try eventually("no call is counted") { service in
        guest.callCount == 0 && service.streams.count == 0
          && service.context.streamAccounts.count == 0
          && service.unsentBytes.bytes(of: geteuid()) == 0
          && service.incompleteRequests.bytes(of: geteuid()) == 0
      }
    }
  }

  extension Result {
    fileprivate var isSuccess: Bool {
      if case .success = self { true } else { false }
    }
  }
#endif
