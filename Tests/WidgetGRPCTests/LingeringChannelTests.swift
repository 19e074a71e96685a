#if GRPC
  import NIOCore
  import Testing

  @testable import WidgetGRPC
  @testable import WidgetServer

  @Suite struct `A closed connection over gRPC` {
    private struct Look: Sendable {
      let calls: Int
      let connections: Int
    }

    /// The clock moves on with each look, so a turn has time for one part of work.
    @Test(arguments: [false, true])
    func `the calls of a closed connection end one in a turn, and it counts until then`(
      isHalfClosed: Bool
    ) async throws {
      try await withServer { server in
        let client = try server.connect()
        for _ in 0..<60 { _ = try client.watch() }
        try server.eventually("all streams are open") { $0.streams.count == 60 }
        let guest = server.guest
        #expect(guest.callCount == 60)
        let looks = Box([Look(calls: 60, connections: 1)])
        try server.onLoop { service in
          var now = NIODeadline.uptimeNanoseconds(1)
          service.context.work.clock = {
            now = now + .seconds(1)
            return now
          }
          let atEnd = service.turn.atEnd
          service.turn.atEnd = { [unowned service] in
            atEnd()
            let look = Look(
              calls: guest.callCount, connections: service.connections.shares.count)
            looks.update { $0.append(look) }
          }
        }
        if isHalfClosed { client.closeWriting() } else { client.close() }
        try server.eventually("the connection has ended") {
          $0.connections.shares.count == 0 && $0.streams.count == 0
        }
        #expect(guest.callCount == 0)
        let seen = looks.get()
        let calls = seen.map(\.calls)
        #expect(zip(calls, calls.dropFirst()).allSatisfy { $0 - $1 <= 2 }, "\(calls)")
        #expect(seen.allSatisfy { $0.calls == 0 || $0.connections == 1 })
      }
    }

    /// The peer has left unread messages, and the socket is full.
    @Test func `the calls of a closed connection end even if its socket was full`() async throws {
      try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
        let maker = InsideClient(try await server.server.inProcessClient(for: .current))
        try await maker.create("a")
        let window = UInt32((1 << 31) - 1)
        let client = try server.connect(
          .init(streamWindow: window, connectionWindow: window, acknowledges: false))
        for _ in 0..<3 { _ = try client.watch() }
        try server.eventually("all streams are open") { $0.streams.count == 3 }
        for n in 0..<100 { try await maker.set("a", pad: 20_000, n) }
        client.close()
        try server.eventually("the connection has ended") {
          $0.connections.shares.count == 0 && $0.streams.count == 0
        }
        #expect(server.guest.callCount == 0)
        #expect(try server.onLoop { $0.unsentBytes.bytes(of: Peer.current.uid) } == 0)
        try server.expectHealthy()
      }
    }
  }
#endif
