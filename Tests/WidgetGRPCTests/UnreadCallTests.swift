#if GRPC
  import Glibc
  import NIOCore
  import Testing
  import WidgetCore
  import WidgetModel
  import WidgetProto

  @testable import WidgetGRPC
  @testable import WidgetServer

  /// Calls whose small answers nobody takes. Each keeps a stream of HTTP/2.
  @Suite struct `Answers that nobody takes` {
    private static let streamBytes = 22 << 10

    /// A client whose streams may send nothing until it grants them a window.
    private static func client(_ server: TestServer) throws -> RawHTTP2 {
      let client = try server.connect(
        .init(streamWindow: 0, connectionWindow: 1 << 30, grantsStreams: false))
      // A client has to know the settings before it opens more than 100 streams.
      while client.settings[6] == nil { #expect(try client.fill()) }
      return client
    }

    private static func check(_ client: RawHTTP2) throws -> UInt32 {
      try client.start("Check", HealthCheckRequest(), service: RawHTTP2.health)
    }

    @Test func `calls count their streams until their answers are taken`() async throws {
      let limit = 1 << 20
      try await withServer(limits: .with { $0.unsentBytesPerUIDMax = limit }) { server in
        let client = try Self.client(server)
        let streams = try (0..<100).map { _ in try Self.check(client) }
        try server.eventually("the limit") { $0.unsentBytes.bytes(of: geteuid()) >= limit }
        // The calls that got no answer wait, and count, too.
        try server.eventually("all calls count") {
          $0.unsentBytes.bytes(of: geteuid()) + $0.incompleteRequests.bytes(of: geteuid())
            > 100 * Self.streamBytes
        }
        let unsent = try server.onLoop { $0.unsentBytes.bytes(of: geteuid()) }
        #expect((limit..<limit + 2 * Self.streamBytes).contains(unsent))
        for stream in streams { try client.grant(stream, 1 << 16) }
        for stream in streams { #expect(try client.ending(of: stream).code == 0) }
        try server.eventually("nothing counts") {
          $0.unsentBytes.bytes(of: geteuid()) + $0.incompleteRequests.bytes(of: geteuid()) == 0
        }
      }
    }

    @Test func `unread answers do not stop a connection of the same user that reads`()
      async throws
    {
      let limit = 1 << 20
      try await withServer(limits: .with { $0.unsentBytesPerUIDMax = limit }) { server in
        let deaf = try (0..<4).map { _ in try Self.client(server) }
        for client in deaf { for _ in 0..<40 { _ = try Self.check(client) } }
        try server.eventually("the limit") { $0.unsentBytes.bytes(of: geteuid()) >= limit }
        let client = try server.connect()
        let watch = try client.watch()
        #expect(try client.next(on: watch) != nil)
        for _ in 0..<20 { #expect(try client.health() == .serving) }
        // Calls at once are carried out one by one.
        let calls = try (0..<20).map { _ in try Self.check(client) }
        for call in calls { #expect(try client.ending(of: call).code == 0) }
        let unsent = try server.onLoop { $0.unsentBytes.bytes(of: geteuid()) }
        #expect((limit..<limit + limit / 4 + 2 * Self.streamBytes).contains(unsent))
      }
    }

    @Test func `failed calls wait while their errors are unread`() async throws {
      try await withServer { server in
        let client = try server.connect()
        while client.settings[6] == nil { #expect(try client.fill()) }
        let calls = try (0..<1_000).map { _ in
          try client.start("GetWidget", GetWidgetRequest(id: .make("missing")))
        }
        // The socket takes only a part of the errors.
        try server.eventually("unread errors") { $0.unsentBytes.bytes(of: geteuid()) >= 64 << 10 }
        // The limit, and the calls of one turn.
        let unsent = try server.onLoop { $0.unsentBytes.bytes(of: geteuid()) }
        #expect(unsent < 128 << 10)
        for call in calls { #expect(try client.ending(of: call).code == 5) }
        try server.eventually("nothing counts") { $0.unsentBytes.bytes(of: geteuid()) == 0 }
      }
    }

    @Test func `a connection that does not read its errors is closed`() async throws {
      try await withServer(limits: .with { $0.metadataBytesMax = 1_000 }) { server in
        let client = try server.connect()
        let text = String(repeating: "0", count: 1_000)
        var most = 0
        #expect(throws: (any Error).self) {
          for _ in 0..<20_000 {
            _ = try client.begin("\(RawHTTP2.health)/Check", [("x", text)])
            most = max(most, try server.onLoop { $0.unsentBytes.bytes(of: geteuid()) })
          }
        }
        // The limit, less or more than the errors of one read.
        #expect(((1 << 20) - 200_000..<(1 << 20) + 200_000).contains(most))
        try server.eventually("the end") { $0.unsentBytes.bytes(of: geteuid()) == 0 }
        #expect(try server.connect().health() == .serving)
      }
    }

    @Test func `an answer that a provider makes later counts until it is taken`() async throws {
      let size = 100 << 10
      try await withServer { server in
        let provider = try server.connect()
        let session = try provider.begin("widgetd.v1.ProviderService/Provide")
        func send(_ frame: ProvideRequest) throws {
          try provider.sendData(
            RawHTTP2.prefixed(provider.codec.encode(frame)), on: session, isEnd: false)
        }
        func nextRequest() throws -> UInt64 {
          while let bytes = try provider.next(on: session) {
            let frame = try provider.codec.decode(ProvideResponse.self, from: bytes)
            if case .snapshotRequest(let request) = frame { return request.id }
          }
          throw TestFault("the session ended")
        }
        try server.onLoop { $0.providers.snapshots.patience = .hours(1) }
        try send(
          .open(ProvideOpen(provider: "later", lease: .seconds(300), answersSnapshots: true)))
        let kind = Kind(
          name: try .make("page"), parameters: [Field(name: "text", type: .string)], isOpen: true)
        try send(.kinds(ProvideKinds(id: 1, kinds: [kind])))
        try server.eventually("the kind") { $0.context.store.kind(kind.name) != nil }
        let client = try Self.client(server)
        let request = GetSnapshotRequest(
          kind: kind.name, parameters: ["text": .string(String(repeating: "x", count: size))])
        let calls = try (0..<4).map { _ in
          // The daemon asks no provider that does not read.
          try server.eventually("the provider reads") {
            $0.providers.table.byName.values.allSatisfy(\.sink.isWritable)
          }
          let call = try client.start(
            "GetSnapshot", request, service: "widgetd.v1.TimelineService")
          try send(
            .snapshot(
              ProvideSnapshot(snapshotRequestID: nextRequest(), outcome: .data(SnapshotData()))))
          return call
        }
        try server.eventually("four answers") {
          $0.unsentBytes.bytes(of: geteuid()) > calls.count * (size + Self.streamBytes)
        }
        for stream in calls { try client.grant(stream, 1 << 20) }
        for stream in calls {
          let answer = try client.answer(to: stream, as: GetSnapshotResponse.self)
          #expect(answer.preview.parameters == request.parameters)
        }
        try server.eventually("nothing counts") { $0.unsentBytes.bytes(of: geteuid()) == 0 }
      }
    }

    @Test func `open watches do not count as unsent answers`() async throws {
      try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 100_000 }) { server in
        let client = try server.connect()
        for _ in 0..<8 { _ = try client.watch() }
        try server.eventually("all watches") { $0.streams.count == 8 }
        #expect(try client.health() == .serving)
      }
    }

    @Test(arguments: [
      ("subscriptions_unauthorized_per_uid_max", 4, 9), ("subscriptions_unauthorized_max", 9, 4),
    ])
    func `users who may only ask for health have few open calls`(
      limit: String, perUser: Int, inAll: Int
    ) async throws {
      let limits = ServerLimits.with {
        $0.subscriptionsUnauthorizedPerUIDMax = perUser
        $0.subscriptionsUnauthorizedMax = inAll
      }
      try await withServer(limits: limits, policy: .nobody) { server in
        let client = try Self.client(server)
        let streams = try (0..<4).map { _ in try Self.check(client) }
        try server.eventually("four calls") { $0.unauthorizedCalls.count == 4 }
        let other = try server.connect()
        let refusal = try other.ending(of: Self.check(other))
        #expect(refusal.code == 8)
        #expect(refusal.details?.errorInfo?.metadata == ["limit": limit, "maximum": "4"])
        // A watch counts as a stream, not as a call.
        let watch = try other.start("Watch", HealthCheckRequest(), service: RawHTTP2.health)
        #expect(try other.next(on: watch) != nil)
        for stream in streams { try client.grant(stream, 1 << 16) }
        for stream in streams { #expect(try client.ending(of: stream).code == 0) }
        try server.eventually("no calls") { $0.unauthorizedCalls.count == 0 }
        // The end of a connection ends its calls. Trailers begin no second call.
        let open = try other.begin("\(RawHTTP2.health)/Check")
        try other.sendData(RawHTTP2.prefixed([]), on: open, isEnd: false)
        try other.sendTrailers([("x", "y")], on: open)
        // grpc-swift takes no trailers of a client.
        _ = try other.finished(open)
        try server.eventually("no calls") { $0.unauthorizedCalls.count == 0 }
        #expect(try other.health() == .serving)
        _ = try other.begin("\(RawHTTP2.health)/Check")
        try server.eventually("one call") { $0.unauthorizedCalls.count == 1 }
        other.close()
        try server.eventually("no calls") { $0.unauthorizedCalls.count == 0 }
      }
      // Clients and owners have other limits.
      try await withServer(limits: limits) { server in
        let client = try Self.client(server)
        let streams = try (0..<9).map { _ in try Self.check(client) }
        for stream in streams { try client.grant(stream, 1 << 16) }
        for stream in streams { #expect(try client.ending(of: stream).code == 0) }
      }
    }
  }
#endif
