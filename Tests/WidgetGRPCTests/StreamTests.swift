#if GRPC
  import NIOCore
  import Testing
  import WidgetClient
  import WidgetModel
  import WidgetProto

  @testable import WidgetServer

  @Suite struct `A stream over gRPC` {
    @Test func `a gRPC stream sends a snapshot, then every change`() async throws {
      try await withServer { server in
        let client = try server.connect()
        try client.create("a", data: ["n": .int(0)])
        let watcher = try Watcher(client).sync()
        #expect(watcher.mirror.widgets.count == 1)
        try client.create("b")
        let last = try client.set("a", ["n": .int(7)]).revision
        try watcher.catchUp(to: last)
        #expect(watcher.mirror.widgets.count == 2)
        #expect(watcher.mirror.widgets[try .make("a")]?.data["n"] == .int(7))
      }
    }

    @Test func `a gRPC stream shows changes made over ttrpc, and the reverse`() async throws {
      try await withServer { server in
        let ttrpc = WidgetClient(socketPath: server.path)
        let grpc = try server.connect()
        var frames = ttrpc.watch().makeAsyncIterator()
        var mirror = WidgetMirror()
        while !mirror.isSynced, let frame = try await frames.next() { _ = try mirror.apply(frame) }
        let watcher = try Watcher(grpc).sync()

        let made = try await ttrpc.createWidget(
          CreateWidgetRequest(widget: WidgetSpec(id: .make("t"), kind: .make("clock"))))
        try watcher.catchUp(to: made.widget.revision)
        #expect(watcher.mirror.widgets[try .make("t")] == made.widget)

        let answer = try grpc.create("g", data: ["text": .string("☃")])
        while mirror.revision < answer.revision, let frame = try await frames.next() {
          _ = try mirror.apply(frame)
        }
        #expect(mirror[try .make("g")] == answer)
        #expect(mirror.widgets == (try grpc.list().widgets.map(\.widget)))
        await ttrpc.close()
      }
    }

    @Test func `a gRPC stream ends with DEADLINE_EXCEEDED, and is forgotten`()
      async throws
    {
      try await withServer { server in
        let client = try server.connect()
        for timeout in ["1n", "20m", "30000u"] {
          let stream = try client.watch([("grpc-timeout", timeout)])
          let ending = try client.ending(of: stream)
          #expect(ending.code == 4, "\(timeout)")
          #expect(ending.reason == "DEADLINE_EXCEEDED", "\(timeout)")
        }
        try server.eventually("the streams are forgotten") {
          $0.streams.isEmpty && $0.streams.rounds.groupCount == 0
            && $0.context.streamAccounts.count == 0
        }
        #expect(try client.health() == .serving)
      }
    }

    @Test func `a stream that nobody reads is forgotten when its time is over`() async throws {
      try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
        let client = try server.connect(.init(streamWindow: 0))
        let other = try server.connect()
        try other.create("a")
        let stream = try client.watch([("grpc-timeout", "10S")])
        try server.eventually("it is open") { $0.streams.count == 1 }
        let pad = Value.bytes([UInt8](repeating: 1, count: 60_000))
        try other.set("a", ["pad": pad])
        try server.eventually("it is forgotten") { $0.streams.isEmpty }
        // When the client reads the stream, it gets the reason of the end.
        try client.grant(stream, 1 << 24)
        #expect(try client.ending(of: stream).code == 4)
      }
    }

    @Test func `a stream that is cancelled is forgotten`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let cancelled = try Watcher(client).sync()
        let kept = try Watcher(client).sync()
        try client.reset(cancelled.stream)
        try server.eventually("one stream is left") { $0.streams.count == 1 }
        try kept.catchUp(to: client.create("a").revision)
        // The client cancels at once, perhaps before the stream is open.
        for _ in 0..<50 { try client.reset(try client.watch()) }
        try server.eventually("one stream is left") { $0.streams.count == 1 }
        try kept.catchUp(to: client.create("b").revision)
        #expect(try server.onLoop { $0.context.streamAccounts.count } == 1)
        #expect(try server.onLoop { $0.connections.shares.count } == 1)
      }
    }

    @Test func `a gRPC stream goes on when its client gives up many others`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let kept = try Watcher(client).sync()
        for round in 0..<8 {
          // Watches that are open, calls with an expired deadline, and calls that are not begun.
          let open = try (0..<50).map { _ in try Watcher(client).sync().stream }
          for stream in open { try client.reset(stream) }
          for _ in 0..<50 {
            let late = try client.watch([("grpc-timeout", "1n")])
            _ = try client.ending(of: late)
            try client.reset(late)
            try client.reset(try client.watch())
          }
          try kept.catchUp(to: client.create("round\(round)").revision)
        }
        try server.eventually("one stream is left") { $0.streams.count == 1 }
      }
    }

    @Test func `gRPC streams end when a client resets more than stream_resets_max`() async throws {
      try await withServer(limits: .with { $0.streamResetsMax = 5 }) { server in
        let client = try server.connect()
        let other = try Watcher(server.connect()).sync()
        try Watcher(client).sync()
        // HTTP/2 itself accepts 200 resets beyond the limit.
        // Only the resets within a window of time count. A slow machine needs several rounds.
        for _ in 0..<100 {
          guard try server.onLoop({ $0.connections.shares.count }) > 1 else { break }
          for _ in 0..<206 { try? client.reset(client.watch()) }
        }
        try server.eventually("the connection is closed") { $0.connections.shares.count == 1 }
        try other.catchUp(to: server.connect().create("a").revision)
      }
    }

    @Test(arguments: [true, false])
    func `a lost gRPC connection and its streams are forgotten`(
      isRead: Bool
    ) async throws {
      try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
        let inside = try await server.server.inProcessClient(for: .current)
        let maker = InsideClient(inside)
        try await maker.create("a")
        let client = try server.connect()
        let health = try client.start("Watch", HealthCheckRequest(), service: RawHTTP2.health)
        _ = try client.next(on: health)
        for _ in 0..<8 { try Watcher(client).sync() }
        #expect(try server.onLoop { $0.connections.shares.count } == 1)
        if !isRead {
          for n in 0..<100 { try await maker.set("a", pad: 20_000, n) }
        }
        client.close()
        try server.eventually("everything is forgotten") {
          $0.streams.isEmpty && $0.health.isEmpty && $0.streams.rounds.groupCount == 0
            && $0.context.streamAccounts.count == 0 && $0.connections.shares.count == 0
            && $0.connections.shares.highestCount == 0
        }
        try server.expectHealthy()
      }
    }

    @Test func `a gRPC stream beyond the user's quota is refused until another ends`() async throws
    {
      try await withServer(limits: .with { $0.subscriptionsPerUIDMax = 2 }) { server in
        let client = try server.connect()
        let first = try Watcher(client).sync()
        let second = try Watcher(server.connect()).sync()
        let ending = try client.ending(of: client.watch())
        #expect(ending.code == 8)
        #expect(ending.reason == "QUOTA_EXCEEDED")
        #expect(
          ending.details?.errorInfo?.metadata
            == ["limit": "subscriptions_per_uid_max", "maximum": "2"])
        try client.reset(first.stream)
        try server.eventually("there is room") { $0.streams.count == 1 }
        try Watcher(client).sync()
        withExtendedLifetime(second) {}
      }
    }

    @Test func `a gRPC stream beyond the limit for all users is refused until another ends`()
      async throws
    {
      try await withServer(limits: .with { $0.subscriptionsMax = 2 }) { server in
        let client = try server.connect()
        let first = try Watcher(client).sync()
        let second = try Watcher(server.connect()).sync()
        let watch = try client.start("Watch", HealthCheckRequest(), service: RawHTTP2.health)
        for stream in [try client.watch(), watch] {
          let ending = try client.ending(of: stream)
          #expect(ending.code == 8)
          #expect(ending.reason == "QUOTA_EXCEEDED")
          #expect(
            ending.details?.errorInfo?.metadata == ["limit": "subscriptions_max", "maximum": "2"])
        }
        try client.reset(first.stream)
        try server.eventually("there is room") { $0.streams.count == 1 }
        try Watcher(client).sync()
        withExtendedLifetime(second) {}
      }
    }

    @Test func `users who may only ask for health have few gRPC streams`()
      async throws
    {
      let limits = ServerLimits.with { $0.subscriptionsUnauthorizedPerUIDMax = 2 }
      try await withServer(limits: limits, policy: .nobody) { server in
        let client = try server.connect()
        func watch() throws -> UInt32 {
          try client.start("Watch", HealthCheckRequest(), service: RawHTTP2.health)
        }
        for _ in 0..<2 { #expect(try client.healthStatus(on: watch()) == .serving) }
        let ending = try client.ending(of: watch())
        #expect(ending.code == 8)
        #expect(
          ending.details?.errorInfo?.metadata
            == ["limit": "subscriptions_unauthorized_per_uid_max", "maximum": "2"])
        try server.expectHealthy()
      }
    }

    @Test func `a gRPC client asks for more streams at once than may wait to be opened`()
      async throws
    {
      try await withServer { server in
        let client = try server.connect()
        // Until the client has acknowledged the SETTINGS, it may have a hundred streams.
        #expect(try client.health() == .serving)
        let streams = try (0..<10 * WaitingStream.countMax).map { _ in try client.watch() }
        for stream in streams { #expect(try client.next(on: stream) != nil) }
        // Those that are reset at once leave nothing.
        for stream in streams { try client.reset(stream) }
        for _ in streams { try client.reset(client.watch()) }
        #expect(try client.health() == .serving)
        let guest = server.guest
        try server.eventually("nothing waits") { service in
          guest.callCount == 0 && service.streams.isEmpty && !service.turn.hasOpenings
            && service.context.streamAccounts.count == 0
            && service.context.streamAccounts.highestSelectorBytes == 0
        }
      }
    }

    @Test func `a gRPC stream counts against the stream limit in SETTINGS`() async throws {
      try await withServer(limits: .with { $0.streamsPerConnectionMax = 3 }) { server in
        let client = try server.connect()
        #expect(try client.health() == .serving)
        #expect(client.settings[3] == 3)
        for _ in 0..<3 { try Watcher(client).sync() }
        // A client that exceeds the limit opens no stream, whether or not its connection is closed.
        let extra = try client.watch()
        while !client.isOver(extra), try client.fill() {}
        #expect(client.inbox(extra).heads.isEmpty)
        #expect(try server.onLoop { $0.streams.count } <= 3)
        try server.expectHealthy()
      }
    }

    @Test func `gRPC connections above the user's limit are refused`() async throws {
      try await withServer(limits: .with { $0.connectionsPerUIDMax = 1 }) { server in
        let client = try server.connect()
        #expect(try client.health() == .serving)
        #expect(throws: (any Error).self) {
          let second = try server.connect()
          _ = try second.health()
        }
        client.close()
        try server.eventually("the connection is gone") { $0.connections.shares.count == 0 }
        try server.expectHealthy()
      }
    }

    @Test func `a gRPC stream of events has them in order`() async throws {
      try await withServer { server in
        let client = try server.connect()
        try client.create("a")
        let stream = try client.start("WatchEvents", WatchEventsRequest())
        guard let first = try client.next(on: stream),
          case .opened = try client.codec.decode(WatchEventsResponse.self, from: first)
        else { throw TestFault("not opened") }
        for n in 0..<20 {
          _ = try client.call(
            "SendEvent", SendEventRequest(widgetID: .make("a"), name: "e\(n)"),
            as: SendEventResponse.self)
        }
        var names: [String] = []
        while names.count < 20, let message = try client.next(on: stream) {
          if case .events(let batch) = try client.codec.decode(
            WatchEventsResponse.self, from: message)
          {
            names += batch.events.map(\.name)
          }
        }
        #expect(names == (0..<20).map { "e\($0)" })
      }
    }
  }

  @Suite struct `Health over gRPC` {
    @Test func `health over gRPC is checked, listed and watched`() async throws {
      try await withStoppedServer { server in
        let client = try server.connect()
        #expect(try client.health() == .serving)
        let unknown = try client.refusal(
          "Check", HealthCheckRequest(service: "x"), service: RawHTTP2.health)
        #expect(unknown.code == 5)
        let list = try client.call(
          "List", HealthListRequest(), as: HealthListResponse.self, service: RawHTTP2.health)
        #expect(list.statuses.count == 9)
        #expect(list.statuses.values.allSatisfy { $0.status == .serving })

        let watch = try client.start("Watch", HealthCheckRequest(), service: RawHTTP2.health)
        #expect(try client.healthStatus(on: watch) == .serving)
        let stranger = try client.start(
          "Watch", HealthCheckRequest(service: "x"), service: RawHTTP2.health)
        #expect(try client.healthStatus(on: stranger) == .serviceUnknown)

        async let stopped: Void = server.server.stop()
        #expect(try client.healthStatus(on: watch) == .notServing)
        #expect(try client.ending(of: watch).code == 14)
        #expect(try client.ending(of: stranger).code == 14)
        try client.readToEnd()
        try await stopped
      }
    }
  }

  extension RawHTTP2 {
    fileprivate func healthStatus(on stream: UInt32) throws -> HealthCheckResponse.ServingStatus? {
      try next(on: stream).map { try codec.decode(HealthCheckResponse.self, from: $0).status }
    }
  }
#endif
