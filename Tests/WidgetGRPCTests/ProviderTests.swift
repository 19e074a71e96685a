#if GRPC
  import NIOCore
  import NIOHPACK
  import Testing
  import WidgetModel
  import WidgetProto

  @testable import WidgetGRPC
  @testable import WidgetServer

  /// Sessions of providers: the frames of both sides over HTTP/2.
  @Suite struct `A provider over gRPC` {
    private static let path = "widgetd.v1.ProviderService/Provide"

    private static func send(
      _ frame: ProvideRequest, _ client: RawHTTP2, _ stream: UInt32, isEnd: Bool = false
    ) throws {
      try client.sendData(
        RawHTTP2.prefixed(client.codec.encode(frame)), on: stream, isEnd: isEnd)
    }

    private static func next(_ client: RawHTTP2, _ stream: UInt32) throws -> ProvideResponse {
      let bytes = try #require(try client.next(on: stream), "the session ended")
      return try client.codec.decode(ProvideResponse.self, from: bytes)
    }

    private static func open(_ client: RawHTTP2) throws -> UInt32 {
      let stream = try client.begin(path)
      try send(.open(ProvideOpen(provider: "desk", lease: .seconds(300))), client, stream)
      guard case .opened = try next(client, stream) else { throw TestFault("not opened") }
      #expect(try next(client, stream) == .synced(ProvideSynced()))
      let kind = Kind(name: try .make("clock"), data: [Field(name: "n", type: .int)])
      try send(.kinds(ProvideKinds(id: 1, kinds: [kind])), client, stream)
      guard case .result(let result) = try next(client, stream) else {
        throw TestFault("no result")
      }
      #expect(result.kinds.map(\.action) == [.created])
      guard case .synced = try next(client, stream) else { throw TestFault("not synced") }
      return stream
    }

    /// The status comes as trailers here, because the answer's head was sent before.
    @Test func `a too large message ends only the session of its provider`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let other = try Watcher(client).sync()
        let stream = try Self.open(client)
        let claimed = RawHTTP2.bigEndian(UInt32(CallGuard.messageBytesMax + 1))
        try client.sendData([0] + claimed, on: stream, isEnd: false)
        let ending = try client.ending(of: stream)
        #expect(ending.code == 8)
        #expect(ending.reason == "PROTOCOL_ERROR")
        #expect(ending.trailers.first(name: ":status") == nil)
        try other.catchUp(to: client.create("a").revision)
      }
    }

    @Test func `a gRPC provider declares, answers requests, and gets events`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let stream = try Self.open(client)
        let other = try server.connect()
        try other.create("a")
        guard case .dataRequest(let request) = try Self.next(client, stream) else {
          throw TestFault("no data request")
        }
        let patch = WidgetPatch(setData: ["n": .int(7)])
        try Self.send(
          .answer(ProvideAnswer(id: 2, dataRequestID: request.id, outcome: .patch(patch))), client,
          stream)
        guard case .result(let answered) = try Self.next(client, stream) else {
          throw TestFault("no result")
        }
        #expect(answered == ProvideResult(id: 2, revision: 3))
        let sent = try other.call(
          "SendEvent", SendEventRequest(widgetID: .make("a"), name: "click"),
          as: SendEventResponse.self)
        guard case .event(let event) = try Self.next(client, stream) else {
          throw TestFault("no event")
        }
        #expect(event.sequence == sent.sequence)
        try Self.send(
          .acknowledge(ProvideAcknowledge(id: 3, sequence: event.sequence)), client, stream)
        try Self.send(
          .update(
            ProvideUpdate(id: 4, updates: [ProvidedUpdate(.make("b"), patch)])), client, stream,
          isEnd: true)
        guard case .result(let acknowledged) = try Self.next(client, stream),
          case .result(let refused) = try Self.next(client, stream)
        else { throw TestFault("no results") }
        #expect(acknowledged.error == nil)
        #expect(refused.error?.reason == "WIDGET_NOT_FOUND")
        #expect(try client.ending(of: stream).code == 0)
        let widget = try other.call(
          "GetWidget", GetWidgetRequest(id: .make("a")), as: GetWidgetResponse.self
        ).widget
        #expect(widget.data == ["n": .int(7)])
        #expect(widget.isStale)
      }
    }

    enum Departure: CaseIterable { case reset, hangUp, garbage, silence }

    @Test(arguments: Departure.allCases)
    func `the widgets of a lost gRPC provider are stale`(departure: Departure) async throws {
      try await withServer { server in
        let client = try server.connect()
        let stream = try Self.open(client)
        let other = try server.connect()
        try other.create("a")
        guard case .dataRequest = try Self.next(client, stream) else {
          throw TestFault("no data request")
        }
        switch departure {
        case .reset: try client.reset(stream)
        case .hangUp: client.close()
        case .garbage:
          try client.sendData(RawHTTP2.prefixed([0xff]), on: stream, isEnd: false)
          #expect(try client.ending(of: stream).reason == "INVALID_REQUEST")
        case .silence:
          _ = try server.onLoop { service in
            let instant = NIODeadline.now() + .seconds(301)
            service.providers.expire(at: instant)
            service.providers.expire(at: instant + LeaseWatch.secondLook)
          }
          #expect(try client.ending(of: stream).reason == "LEASE_EXPIRED")
        }
        try server.eventually("the session is forgotten") { $0.providers.table.isEmpty }
        let widget = try other.call(
          "GetWidget", GetWidgetRequest(id: .make("a")), as: GetWidgetResponse.self
        ).widget
        #expect(widget.isStale)
      }
    }

    @Test func `a provider that does not read is not read from`() async throws {
      try await withServer { server in
        let client = try server.connect(.init(connectionWindow: 1 << 30, grantsStreams: false))
        let stream = try Self.open(client)
        let frames = try server.onLoop { $0.context.counters.providerFrames }
        // Each frame gets an error with a long text. In the end the window is full. The server then
        // reads no more and grants no more, so the server stops and not the client.
        let frame = RawHTTP2.prefixed(
          try client.codec.encode(
            ProvideRequest.update(ProvideUpdate(updates: [ProvidedUpdate(.make("nobody"))]))))
        var sent = 0
        while sent < 20_000, client.inbox(stream).dataBytes < 65_000 {
          try client.sendData(frame, on: stream, isEnd: false)
          sent += 1
          if sent % 64 == 0 { #expect(try client.health() == .serving) }
        }
        let done = try server.onLoop { $0.context.counters.providerFrames } - frames
        #expect(done < 10_000)
        #expect(try server.unsentBytes() < 8 << 20)
        #expect(try server.connect().health() == .serving)
      }
    }

    @Test func `a provider over gRPC is refused without permission`() async throws {
      try await withServer(policy: .client) { server in
        let client = try server.connect()
        let stream = try client.begin(Self.path)
        #expect(try client.ending(of: stream).reason == "PERMISSION_DENIED")
      }
    }
  }
#endif
