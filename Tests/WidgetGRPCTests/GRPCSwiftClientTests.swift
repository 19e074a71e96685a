#if GRPC
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import NIOCore
  import Testing
  import WidgetCore
  import WidgetModel
  import WidgetProto

  @testable import WidgetGRPC
  @testable import WidgetServer

  /// These tests use an unmodified client library, not hand-made frames.
  @Suite struct `The client of grpc-swift` {
    @Test func `grpc-swift's client gets answers, and refusals with details`() async throws {
      try await withLibraryClient { client, _ in
        let made = try await client.call(
          "CreateWidget",
          CreateWidgetRequest(
            widget: WidgetSpec(
              id: .make("a"), kind: .make("clock"), data: ["text": .string("größe")])),
          as: CreateWidgetResponse.self)
        let got = try await client.call(
          "GetWidget", GetWidgetRequest(id: .make("a")), as: GetWidgetResponse.self)
        #expect(got.widget == made.widget)
        let error = await #expect(throws: RPCError.self) {
          try await client.call(
            "GetWidget", GetWidgetRequest(id: .make("b")), as: GetWidgetResponse.self)
        }
        #expect(error?.code == .notFound)
        let status = try #require(try error?.details())
        #expect(status.reason == "WIDGET_NOT_FOUND")
        #expect(status.message == error?.message)
      }
    }

    @Test func `grpc-swift's client has a hundred calls under way at once`() async throws {
      try await withLibraryClient { client, server in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for n in 0..<100 {
            group.addTask {
              _ = try await client.call(
                "CreateWidget",
                CreateWidgetRequest(widget: WidgetSpec(id: .make("w\(n)"), kind: .make("clock"))),
                as: CreateWidgetResponse.self)
            }
          }
          try await group.waitForAll()
        }
        #expect(try server.onLoop { $0.context.store.revision } == 100)
      }
    }

    @Test func `grpc-swift's client ends a watch by leaving`() async throws {
      try await withLibraryClient { client, server in
        let maker = InsideClient(try await server.server.inProcessClient(for: .current))
        try await maker.create("a")
        let mirror = try await client.watch { frames in
          var mirror = Mirror()
          var sent = false
          for try await frame in frames {
            try mirror.apply(frame.asFrame())
            if mirror.isSynced, !sent {
              sent = true
              try await maker.set("a", pad: 100_000, 7)
            }
            if mirror.changeSets > 0 { break }
          }
          return mirror
        }
        #expect(mirror.widgets[try .make("a")]?.data["n"] == .int(7))
        try server.eventually("the stream is forgotten") { $0.streams.isEmpty }
      }
    }

    @Test func `grpc-swift's client sees its deadline pass`() async throws {
      try await withLibraryClient { client, server in
        let error = await #expect(throws: RPCError.self) {
          try await client.watch(timeout: .milliseconds(100)) { for try await _ in $0 {} }
        }
        #expect(error?.code == .deadlineExceeded)
        try server.eventually("the stream is forgotten") { $0.streams.isEmpty }
      }
    }

    @Test func `grpc-swift's client gets SHUTTING_DOWN when the server stops`() async throws {
      let server = try await startServer(drainMilliseconds: 60_000)
      let error = await #expect(throws: RPCError.self) {
        try await LibraryClient.with(server) { client in
          try await client.watch { frames in
            var isStopping = false
            for try await frame in frames {
              if case .synced = try frame.asFrame(), !isStopping {
                isStopping = true
                Task { try await server.server.stop() }
              }
            }
          }
        }
      }
      #expect(error?.code == .unavailable)
      #expect(try error?.details()?.reason == "SHUTTING_DOWN")
    }
  }

  private struct LibraryClient: Sendable {
    let client: GRPCClient<HTTP2ClientTransport.Posix>

    static func with<R: Sendable>(
      _ server: TestServer, _ body: @Sendable @escaping (LibraryClient) async throws -> R
    ) async throws -> R {
      try await withGRPCClient(
        transport: .http2NIOPosix(
          target: .unixDomainSocket(path: server.path), transportSecurity: .plaintext)
      ) { try await body(LibraryClient(client: $0)) }
    }

    private func method(_ name: String) -> MethodDescriptor {
      MethodDescriptor(fullyQualifiedService: "widgetd.v1.WidgetService", method: name)
    }

    @discardableResult
    func call<A: WireMessage & Sendable>(
      _ name: String, _ message: some WireMessage, as type: A.Type
    ) async throws -> A {
      let bytes = try await client.unary(
        request: ClientRequest(message: ByteBuffer(bytes: WireCodec().encode(message))),
        descriptor: method(name), serializer: MessageBytes(), deserializer: MessageBytes(),
        options: .defaults
      ) { try $0.message }
      return try WireCodec().decode(type, from: Array(bytes.readableBytesView))
    }

    func watch<R: Sendable>(
      timeout: Duration? = nil,
      _ body: @Sendable @escaping (RPCAsyncSequence<ByteBuffer, any Error>) async throws -> R
    ) async throws -> R {
      var options = CallOptions.defaults
      options.timeout = timeout
      return try await client.serverStreaming(
        request: ClientRequest(message: ByteBuffer()), descriptor: method("WatchWidgets"),
        serializer: MessageBytes(), deserializer: MessageBytes(), options: options
      ) { try await body($0.messages) }
    }
  }

  extension RPCError {
    fileprivate func details() throws -> RPCStatus? {
      let encoded = Array(metadata[binaryValues: "grpc-status-details-bin"])
      return try encoded.first.map { try WireCodec().decode(RPCStatus.self, from: $0) }
    }
  }

  extension ByteBuffer {
    fileprivate func asFrame() throws -> WatchWidgetsResponse {
      try WireCodec().decode(WatchWidgetsResponse.self, from: Array(readableBytesView))
    }
  }

  private func withLibraryClient(
    _ body: @escaping @Sendable (LibraryClient, TestServer) async throws -> Void
  ) async throws {
    try await withServer { server in
      try await LibraryClient.with(server) { try await body($0, server) }
    }
  }
#endif
