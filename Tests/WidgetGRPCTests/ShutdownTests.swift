#if GRPC
  import NIOCore
  import NIOHPACK
  import Testing
  import WidgetClient
  import WidgetModel
  import WidgetProto

  @testable import WidgetServer

  @Suite struct `A shutdown` {
    @Test func `a shutdown sends GOAWAY and ends streams with UNAVAILABLE`() async throws {
      try await withStoppedServer { server in
        let client = try server.connect()
        let watchers = try (0..<3).map { _ in try Watcher(client).sync() }
        let events = try client.start("WatchEvents", WatchEventsRequest())
        _ = try client.next(on: events)
        let idle = try server.connect()
        #expect(try idle.health() == .serving)

        async let stopped: Void = server.server.stop()
        for stream in watchers.map(\.stream) + [events] {
          let ending = try client.ending(of: stream)
          #expect(ending.code == 14)
          #expect(ending.reason == "SHUTTING_DOWN")
          #expect(ending.details?.retryDelay != nil)
        }
        for connection in [client, idle] {
          try connection.readToEnd()
          #expect(connection.goAways.contains { $0.code == 0 })
        }
        try await stopped
      }
    }

    /// The client reads and acknowledges nothing: neither the daemon's ping after GOAWAY nor its
    /// frames.
    @Test(arguments: [false, true])
    func `a shutdown does not wait for a peer that neither reads nor acknowledges`(
      isSocketFull: Bool
    ) async throws {
      let limits = ServerLimits.with { $0.frameIntervalMicroseconds = 0 }
      try await withStoppedServer(limits: limits, drainMilliseconds: 500) { server in
        let maker = InsideClient(try await server.server.inProcessClient(for: .current))
        try await maker.create("a")
        let window = UInt32(isSocketFull ? (1 << 31) - 1 : 65_535)
        let clients = try (0..<3).map { _ in
          try server.connect(
            .init(streamWindow: window, connectionWindow: window, acknowledges: false))
        }
        for client in clients {
          for _ in 0..<3 { _ = try client.watch() }
          // One request never ends, and one has not begun.
          _ = try client.begin("\(RawHTTP2.widgets)/GetWidget")
          try client.send([0, 0])
        }
        try server.eventually("all streams are open") { $0.streams.count == 9 }
        for n in 0..<100 { try await maker.set("a", pad: 20_000, n) }
        try await server.server.stop()
        withExtendedLifetime(clients) {}
      }
    }

    @Test func `a shutdown ends connections that have sent only the preface`() async throws {
      try await withStoppedServer(drainMilliseconds: 500) { server in
        let silent = try server.connect(.init(acknowledges: false))
        try server.eventually("it is there") { _ in server.guest.channels.count == 1 }
        try await server.server.stop()
        try silent.readToEnd()
      }
    }

    /// The server measures `drain_milliseconds`, and does not count the time by which its loop is
    /// late.
    @Test func `a connection with a call stays open until the server ends it`() async throws {
      try await withStoppedServer(drainMilliseconds: 1) { server in
        let maker = InsideClient(try await server.server.inProcessClient(for: .current))
        try await maker.create("a")
        let client = try server.connect()
        #expect(try client.health() == .serving)
        let call = try client.begin("\(RawHTTP2.widgets)/GetWidget")
        try server.eventually("the call is there") { _ in server.guest.callCount == 1 }
        try server.onLoop { _ in server.guest.beginShutdown() }
        // The second GOAWAY follows when the client has acknowledged a ping.
        while client.goAways.count < 2, try client.fill() {}
        try await server.server.onLoop { service in
          service.context.schedule(in: .milliseconds(2)) {}.futureResult
        }.flatMap { $0 }.get()
        let message = try client.codec.encode(GetWidgetRequest(id: .make("a")))
        try client.sendData(RawHTTP2.prefixed(message), on: call, isEnd: true)
        #expect(try client.answer(to: call, as: GetWidgetResponse.self).widget.id.rawValue == "a")
        try await server.server.stop()
      }
    }

    @Test func `a shutdown answers earlier requests`() async throws {
      try await withStoppedServer { server in
        let client = try server.connect()
        #expect(try client.health() == .serving)
        let calls = try (0..<100).map { _ in
          try client.start("ListWidgets", ListWidgetsRequest())
        }
        try server.eventually("they have arrived") { $0.context.counters.calls > 100 }
        async let stopped: Void = server.server.stop()
        for call in calls { #expect(try client.ending(of: call).code == 0) }
        try client.readToEnd()
        try await stopped
      }
    }

    /// HTTP/2 would end all calls at the 201st of these requests.
    @Test func `requests that were on their way at a shutdown end no earlier call`() async throws {
      // The open request must not be late, however slow the machine is.
      let limits = ServerLimits.with { $0.requestMilliseconds = 3_600_000 }
      try await withStoppedServer(limits: limits, drainMilliseconds: 3_600_000) { server in
        let maker = InsideClient(try await server.server.inProcessClient(for: .current))
        try await maker.create("a")
        let client = try server.connect(.init(acknowledges: false))
        let call = try Self.beginCallBeforeShutdown(client, server)
        for _ in 0..<1_000 {
          let late = try client.begin("\(RawHTTP2.widgets)/GetWidget", isEnd: true)
          // REFUSED_STREAM
          #expect(try client.finished(late).resetCode == 7)
        }
        let message = try client.codec.encode(GetWidgetRequest(id: .make("a")))
        try client.sendData(RawHTTP2.prefixed(message), on: call, isEnd: true)
        #expect(try client.answer(to: call, as: GetWidgetResponse.self).widget.id.rawValue == "a")
        try client.acknowledgePings()
        try await server.server.stop()
      }
    }

    @Test func `a peer that goes on with requests after GOAWAY is disconnected`() async throws {
      let limits = ServerLimits.with { $0.streamsPerConnectionMax = 10 }
      try await withStoppedServer(limits: limits) { server in
        let client = try server.connect(.init(acknowledges: false))
        let call = try Self.beginCallBeforeShutdown(client, server)
        let late = try (0...10).map { _ in
          try client.begin("\(RawHTTP2.widgets)/GetWidget", isEnd: true)
        }
        try client.readToEnd()
        #expect(client.inbox(late[10]).resetCode == nil)
        #expect(!client.inbox(call).isEnded)
        try await server.server.stop()
      }
    }

    /// Begins a call whose request has not ended when the daemon sends GOAWAY.
    private static func beginCallBeforeShutdown(
      _ client: RawHTTP2, _ server: TestServer
    ) throws -> UInt32 {
      #expect(try client.health() == .serving)
      let call = try client.begin("\(RawHTTP2.widgets)/GetWidget")
      try server.eventually("the call is there") { _ in server.guest.callCount == 1 }
      try server.onLoop { _ in server.guest.beginShutdown() }
      while client.goAways.isEmpty, try client.fill() {}
      return call
    }

    @Test func `a shutdown refuses later calls`() async throws {
      try await withStoppedServer { server in
        let client = try server.connect(.init(acknowledges: false))
        let watcher = try Watcher(client).sync()
        async let stopped: Void = server.server.stop()
        while client.goAways.isEmpty, try client.fill() {}
        // The daemon refuses new streams after the first GOAWAY.
        let stream = try? client.start(
          "CreateWidget",
          CreateWidgetRequest(widget: WidgetSpec(id: .make("a"), kind: .make("clock"))))
        // Only then, the daemon closes the connection.
        repeat { try? client.acknowledgePings() } while (try? client.fill()) == true
        if let stream,
          let status = client.inbox(stream).heads.last?.first(name: "grpc-status")
        {
          #expect(status == "14")
        }
        try await stopped
        #expect(client.inbox(watcher.stream).isEnded)
        #expect(client.goAways.allSatisfy { $0.code == 0 }, "\(client.goAways)")
      }
    }
  }

  @Suite struct `A connection over gRPC` {
    @Test func `a gRPC connection has its pings answered, with and without calls`() async throws {
      try await withServer { server in
        let client = try server.connect()
        try client.ping([1, 2, 3, 4, 5, 6, 7, 8])
        while client.pongs.isEmpty, try client.fill() {}
        let watcher = try Watcher(client).sync()
        try client.ping([8, 7, 6, 5, 4, 3, 2, 1])
        while client.pongs.count < 2, try client.fill() {}
        #expect(client.pongs == [[1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1]])
        #expect(client.goAways.isEmpty)
        try watcher.catchUp(to: client.create("a").revision)
      }
    }

    /// Some clients ping for each batch of data.
    @Test func `a connection over gRPC has a thousand pings answered`() async throws {
      try await withServer { server in
        let client = try server.connect()
        for n in 0..<1_000 { try client.ping([UInt8](repeating: UInt8(n % 256), count: 8)) }
        while client.pongs.count < 1_000, try client.fill() {}
        #expect(client.pongs.map { Int($0[0]) } == (0..<1_000).map { $0 % 256 })
        #expect(client.goAways.isEmpty)
        #expect(try client.health() == .serving)
      }
    }

    @Test func `only the connection that pings without reading answers is closed`() async throws {
      // The client could read the last frame in this time.
      try await withServer(closingMax: .milliseconds(20)) { server in
        let client = try server.connect()
        let other = try Watcher(server.connect()).sync()
        let pings = (0..<1_000).flatMap { _ in
          RawHTTP2.frame(RawHTTP2.Frame.ping, payload: [UInt8](repeating: 7, count: 8))
        }
        #expect(throws: TestFault.self) {
          for _ in 0..<10_000 { try client.send(pings) }
        }
        try server.eventually("it is closed") { $0.connections.shares.count == 1 }
        try other.catchUp(to: server.connect().create("a").revision)
      }
    }

    /// gRPC's clients do not do this. A half-closed connection is useless for the server.
    @Test func `a connection over gRPC is forgotten when its peer closes its half`() async throws {
      try await withServer { server in
        let client = try server.connect()
        try Watcher(client).sync()
        client.closeWriting()
        try client.readToEnd()
        try server.eventually("it is forgotten") {
          $0.connections.shares.count == 0 && $0.streams.isEmpty
        }
        try server.expectHealthy()
      }
    }

    @Test(arguments: 1...RawHTTP2.preface.count + 9)
    func `a gRPC connection whose bytes come in two pieces works at every split`(count: Int)
      async throws
    {
      try await withServer { server in
        let socket = try RawSocket(path: server.path)
        let opening = RawHTTP2.preface + RawHTTP2.frame(RawHTTP2.Frame.settings)
        try socket.send(Array(opening.prefix(count)))
        try server.eventually("it is there") { $0.connections.shares.count == 1 }
        // The daemon has read all earlier bytes when it answers a later connection.
        try server.expectHealthy()
        try socket.send(Array(opening.dropFirst(count)))
        // The server's SETTINGS, then the acknowledgement of the client's.
        var received: [UInt8] = []
        while !received.contains(sequence: [0, 0, 0, 4, 1, 0, 0, 0, 0]) {
          received += try socket.receive()
        }
      }
    }

    @Test func `only the connection that breaks HTTP/2 is closed`() async throws {
      try await withServer { server in
        let other = try Watcher(server.connect()).sync()
        let preface = RawHTTP2.preface
        let settings = RawHTTP2.frame(RawHTTP2.Frame.settings)
        let noise: [[UInt8]] = [
          Array("POST / HTTP/1.1\r\nHost: x\r\n\r\n".utf8),
          Array("PRI * HTTP/1.0\r\n\r\nSM\r\n\r\n".utf8),
          preface + RawHTTP2.frame(RawHTTP2.Frame.data, stream: 1, payload: [1]),
          preface + settings + RawHTTP2.frame(RawHTTP2.Frame.data, stream: 1, payload: [1]),
          preface + settings + RawHTTP2.frame(RawHTTP2.Frame.headers, flags: 4, stream: 2),
          preface + settings
            + RawHTTP2.frame(RawHTTP2.Frame.headers, flags: 4, stream: 1, payload: [0xff, 0xff]),
          preface + settings + RawHTTP2.frame(RawHTTP2.Frame.continuation, stream: 1),
          preface + settings + [0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1],
          preface + settings + RawHTTP2.frame(RawHTTP2.Frame.ping, payload: [1]),
          preface + settings + RawHTTP2.windowUpdate(0, 0),
          preface + settings + RawHTTP2.windowUpdate(0, (1 << 31) - 1),
          preface + settings
            + RawHTTP2.frame(RawHTTP2.Frame.settings, payload: [0, 4, 0xff, 0xff, 0xff, 0xff]),
        ]
        for (index, bytes) in noise.enumerated() {
          let socket = try RawSocket(path: server.path)
          try socket.send(bytes)
          while try !socket.receive().isEmpty {}
          try server.eventually("it is closed: \(index)") { $0.connections.shares.count == 1 }
        }
        try other.catchUp(to: server.connect().create("a").revision)
      }
    }
  }

  @Suite struct `Both wires on one socket` {
    /// Several connections of each kind change and watch at once; all have the same state at the
    /// end.
    @Test func `ttrpc and gRPC serve on one socket at once under load`() async throws {
      try await withServer { server in
        let tasks = 3
        let rounds = 150
        try await withThrowingTaskGroup(of: Void.self) { group in
          for task in 0..<tasks {
            group.addTask {
              let client = try server.connect()
              try client.create("g\(task)")
              for n in 0..<rounds { try client.set("g\(task)", ["n": .int(Int64(n))]) }
            }
            group.addTask {
              let client = WidgetClient(socketPath: server.path)
              _ = try await client.createWidget(
                CreateWidgetRequest(
                  widget: WidgetSpec(id: .make("t\(task)"), kind: .make("clock"))))
              for n in 0..<rounds {
                _ = try await client.updateWidget(
                  UpdateWidgetRequest(
                    id: .make("t\(task)"), patch: WidgetPatch(setData: ["n": .int(Int64(n))])))
              }
              await client.close()
            }
            let end = Revision(2 * tasks * (rounds + 1))
            group.addTask {
              let watcher = try Watcher(server.connect())
              try watcher.catchUp(to: end)
              #expect(watcher.mirror.widgets.count == 2 * tasks)
              #expect(
                watcher.mirror.widgets.values.allSatisfy {
                  $0.data["n"] == .int(Int64(rounds - 1))
                })
            }
            group.addTask {
              var mirror = WidgetMirror()
              for try await frame in WidgetClient(socketPath: server.path).watch() {
                _ = try mirror.apply(frame)
                if mirror.isSynced, mirror.revision >= end { break }
              }
              #expect(mirror.count == 2 * tasks)
            }
          }
          try await group.waitForAll()
        }
        try server.eventually("all have hung up") { $0.streams.isEmpty }
      }
    }
  }
#endif
