#if GRPC
  import Glibc
  import NIOCore
  import Testing
  import WidgetCore
  import WidgetModel
  import WidgetProto

  @testable import WidgetGRPC
  @testable import WidgetServer

  /// Messages with many expressions, which are compiled in parts.
  @Suite struct `Kinds over gRPC` {
    private static func kinds(count: Int) throws -> [Kind] {
      try (0..<count).map { number in
        Kind(
          name: try .make("k\(number)"), isOpen: true,
          reducers: (0..<256).map {
            Reducer(event: "event\($0)", assignments: ["field\($0)": "data.n + 1 > 1 ? 2 : 3"])
          })
      }
    }

    /// Lets messages with kinds wait.
    private static func hold(_ server: TestServer) throws {
      try server.onLoop { $0.preparations.stepsMax = 0 }
    }

    /// Lets messages with kinds go on, one step in each pass of the loop: each look at the time takes a
    /// second.
    private static func goOn(_ server: TestServer) throws {
      try server.onLoop { service in
        var now = NIODeadline.uptimeNanoseconds(1)
        service.context.work.clock = {
          now = now + .seconds(1)
          return now
        }
        service.preparations.stepsMax = .max
      }
    }

    private static func bytes(_ service: ServiceLoop) -> Int {
      service.preparations.bytes(of: geteuid())
    }

    @Test func `the frames of a session are carried out in order, then it ends`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let session = try client.begin("widgetd.v1.ProviderService/Provide")
        try Self.goOn(server)
        let frames: [ProvideRequest] = [
          .open(ProvideOpen(provider: "desk")),
          .kinds(ProvideKinds(id: 1, kinds: try Self.kinds(count: 2))),
          .update(ProvideUpdate(id: 2)), .update(ProvideUpdate(id: 3)),
        ]
        try client.sendData(
          frames.flatMap { RawHTTP2.prefixed(try client.codec.encode($0)) }, on: session,
          isEnd: true)
        var results: [UInt64] = []
        while let bytes = try client.next(on: session) {
          let frame = try client.codec.decode(ProvideResponse.self, from: bytes)
          guard case .result(let result) = frame else { continue }
          #expect(result.error == nil)
          results.append(result.id)
        }
        #expect(results == [1, 2, 3])
        #expect(try client.ending(of: session).code == 0)
        let (count, bytes) = try server.onLoop { ($0.context.store.kindCount, Self.bytes($0)) }
        #expect((count, bytes) == (2, 0))
      }
    }

    @Test func `a call that is reset gives the memory of its kinds back`() async throws {
      try await withServer { server in
        let request = ApplyKindsRequest(provider: "desk", kinds: try Self.kinds(count: 40))
        try Self.hold(server)
        let client = try server.connect()
        let size = 4 * (try client.codec.encode(request).count)
        func start() throws -> UInt32 {
          try client.start("ApplyKinds", request, service: "widgetd.v1.CatalogService")
        }
        _ = try start()
        try server.eventually("the first call") { Self.bytes($0) >= size }
        let second = try start()
        try server.eventually("both calls") { Self.bytes($0) >= 2 * size }
        try client.reset(second)
        try server.eventually("the first call alone") { (size..<2 * size).contains(Self.bytes($0)) }
        // The connection's other calls go on.
        #expect(try client.health() == .serving)
        #expect(try server.onLoop { $0.context.store.kindCount } == 0)
        client.close()
        try server.eventually("no call") { Self.bytes($0) == 0 }
      }
    }

    @Test func `the answer of a call with kinds counts until it is taken`() async throws {
      try await withServer { server in
        let request = ApplyKindsRequest(provider: "desk", kinds: try Self.kinds(count: 2))
        let client = try server.connect(
          .init(streamWindow: 0, connectionWindow: 1 << 30, grantsStreams: false))
        let call = try client.start(
          "ApplyKinds", request, service: "widgetd.v1.CatalogService")
        try server.eventually("the kinds") { $0.context.store.kindCount == 2 }
        try server.eventually("an answer") { $0.unsentBytes.bytes(of: geteuid()) > 0 }
        try client.grant(call, 1 << 20)
        #expect(try client.answer(to: call, as: ApplyKindsResponse.self).results.count == 2)
        try server.eventually("no answer") { $0.unsentBytes.bytes(of: geteuid()) == 0 }
      }
    }
  }
#endif
