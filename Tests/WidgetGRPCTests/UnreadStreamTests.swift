#if GRPC
  import Foundation
  import GRPCNIOTransportHTTP2TransportServices
  import NIOCore
  import Testing
  import WidgetModel
  import WidgetProto

  @testable import WidgetGRPC
  @testable import WidgetServer

  /// Streams that nobody reads: their cost, and the frames that they get afterwards.
  ///
  /// The memory of a daemon is measured from outside, in Tests/acceptance/grpc-floods: other tests
  /// share this process.
  @Suite struct `Streams that nobody reads` {
    static let streams = 10
    static let widgets = 10
    static let padBytes = 8 << 10
    static let rounds = 3_000
    /// The size of all changes on all streams: 240 MiB.
    static let bytesAtLarge = streams * padBytes * rounds

    /// The cause that stops the streams: each stream's window, on a connection that is read; or the
    /// unread socket, with windows that stop nothing.
    enum Brake: CaseIterable, Sendable {
      case windows, socket
    }

    @Test(arguments: Brake.allCases)
    func `an unread stream costs a bounded amount and delays no calls`(
      brake: Brake
    ) async throws {
      try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
        let maker = InsideClient(try await server.server.inProcessClient(for: .current))
        for n in 0..<Self.widgets { try await maker.create("w\(n)") }
        let client = try server.connect(
          brake == .windows
            ? .init(connectionWindow: 1 << 30, grantsStreams: false)
            : .init(
              streamWindow: (1 << 31) - 1, connectionWindow: (1 << 31) - 1, grantsStreams: false))
        let watchers = try (0..<Self.streams).map { try Self.watcher(client, $0).sync() }
        let frames = try server.onLoop { $0.context.counters.frames }
        var mostUnsent = 0

        for round in 0..<Self.rounds {
          try await maker.set("w\(round % Self.widgets)", pad: Self.padBytes, round)
          guard round % 100 == 0 else { continue }
          mostUnsent = max(mostUnsent, try server.unsentBytes())
          // On a connection that is read, calls are answered as if there were no streams.
          if brake == .windows { #expect(try client.health() == .serving) }
        }
        let last = try await maker.set("w0", pad: Self.padBytes, Self.rounds)
        let delivered = try server.onLoop { $0.context.counters.frames } - frames
        // A stream gets frames of up to 64 KiB until 128 KiB wait, several times.
        #expect(Int(delivered) < Self.streams * 150, "of \(Self.streams * Self.rounds) frames")
        #expect(mostUnsent < 8 << 20, "bytes before the socket")
        #expect(try server.onLoop { $0.streams.count } == Self.streams)

        let before = client.bytesReceived
        if brake == .socket {
          // A call waits behind the unread bytes, and is answered.
          #expect(try client.health() == .serving)
        } else {
          for watcher in watchers { try client.grant(watcher.stream, 1 << 30) }
        }
        for watcher in watchers {
          try watcher.catchUp(to: last)
          #expect(watcher.mirror.widest > Revision(Self.rounds / 2), "conflated")
          #expect(watcher.mirror.widgets == watchers[0].mirror.widgets)
        }
        #expect(watchers[0].mirror.widgets[try .make("w0")]?.data["n"] == .int(Int64(Self.rounds)))
        #expect(
          watchers[0].mirror.widgets
            == Dictionary(
              uniqueKeysWithValues: try server.connect().list().widgets.map {
                ($0.widget.id, $0.widget)
              }))
        #expect(client.bytesReceived - before < Self.bytesAtLarge / 4)
      }
    }

    @Test func `many unread streams of one connection hold a bounded amount`()
      async throws
    {
      let widgetBytes = 256 << 10
      let limits = ServerLimits.with { $0.frameIntervalMicroseconds = 0 }
      try await withServer(limits: limits) { server in
        let maker = InsideClient(try await server.server.inProcessClient(for: .current))
        for n in 0..<16 {
          try await maker.create("w\(n)")
          try await maker.set("w\(n)", pad: widgetBytes, n)
        }
        let frames = try server.onLoop { $0.context.counters.frames }
        let client = try server.connect(
          .init(streamWindow: 0, connectionWindow: 1 << 30, grantsStreams: false))
        // The client has to acknowledge the settings before it opens more than 100 streams.
        while client.settings.isEmpty { #expect(try client.fill()) }
        for _ in 0..<300 { _ = try Watcher(client) }
        try server.eventually("300 streams are open") { $0.streams.count == 300 }
        for round in 0..<100 { try await maker.set("w\(round % 16)", pad: widgetBytes, 16 + round) }
        // 3 MiB of a connection, and the frame after which each stream has no room.
        let made = try server.onLoop { $0.context.counters.frames } - frames
        #expect(made <= 32, "of \(300 * 16) frames of a widget each")
        try server.expectHealthy()
      }
    }

    /// The socket is not read at all, and no window stops the streams.
    @Test func `unread answers count until the socket has taken them`()
      async throws
    {
      let (limit, callsOfEach) = (2 << 20, 6)
      try await withServer(limits: .with { $0.unsentBytesPerUIDMax = limit }) { server in
        let maker = InsideClient(try await server.server.inProcessClient(for: .current))
        try await maker.create("large")
        try await maker.set("large", pad: 600_000, 1)
        let clients = try (0..<8).map { _ in
          try server.connect(
            .init(streamWindow: (1 << 31) - 1, connectionWindow: (1 << 31) - 1))
        }
        var calls = try clients.map { client in
          try (0..<callsOfEach).map { _ in
            try client.start("GetWidget", GetWidgetRequest(id: .make("large")))
          }
        }
        try server.eventually("the limit") { $0.unsentBytes.bytes(of: geteuid()) >= limit }
        // The limit, its reserve, and the answer that reached it.
        let unsentMax = limit + limit / 4 + 700_000
        #expect(try server.unsentBytes() <= unsentMax)
        while calls.contains(where: { !$0.isEmpty }) {
          for (index, client) in clients.enumerated() where client.hasInput {
            #expect(try server.onLoop { $0.unsentBytes.bytes(of: geteuid()) } <= unsentMax)
            #expect(try client.fill())
            while let stream = calls[index].first, client.isOver(stream) {
              _ = try client.answer(to: stream, as: GetWidgetResponse.self)
              calls[index].removeFirst()
            }
          }
          usleep(1_000)
        }
        try server.eventually("nothing unsent") { $0.unsentBytes.bytes(of: geteuid()) == 0 }
        // gRPC's own tasks have already run, and count in the turns of their calls.
        #expect(try server.onLoop { $0.context.work.taskCosts.average } != TaskCosts().average)
      }
    }

    /// Each stream has a different selector, so that no two share the bytes of a frame.
    private static func watcher(_ client: RawHTTP2, _ number: Int) throws -> Watcher {
      let ids = try (0..<widgets).map { try WidgetID.make("w\($0)") }
      return try Watcher(
        client, WatchWidgetsRequest(selector: Selector(ids: ids + [.make("none\(number)")])))
    }

    @Test func `grpc-swift does not buffer unread streams without a bound`() {
      let config = HTTP2ServerTransport.Custom<HandedConnections>.Config.widgetd(
        ServerLimits(), callers: Callers())
      #expect(config.connection.flushCoalescing == nil)
    }
  }

  extension TestServer {
    /// The bytes of the connections that the kernel has not taken.
    func unsentBytes() throws -> Int {
      let channels = guest.channels
      return try onLoop { _ in
        try channels.reduce(0) {
          guard $1.isActive, let options = $1.syncOptions else { return $0 }
          return $0 + (try options.getOption(.bufferedWritableBytes))
        }
      }
    }
  }
#endif
