#if GRPC
  import Glibc
  import NIOCore
  import Testing
  import WidgetModel
  import WidgetProto

  @testable import WidgetGRPC
  @testable import WidgetServer

  /// Questions to reflection whose answers nobody takes.
  @Suite struct `Reflection that nobody reads` {
    private static let path = "grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    private static let streamBytes = 22 << 10
    /// The file of a service and its imports: the largest answer.
    private static let question: [UInt8] = {
      let symbol = Array("widgetd.v1.WidgetService".utf8)
      return [0x22, UInt8(symbol.count)] + symbol
    }()
    private static let listServices: [UInt8] = [0x3a, 0]

    private static func client(_ server: TestServer) throws -> RawHTTP2 {
      let client = try server.connect(
        .init(streamWindow: 0, connectionWindow: 1 << 30, grantsStreams: false))
      // A client has to know the settings before it opens more than 100 streams.
      while client.settings[6] == nil { #expect(try client.fill()) }
      return client
    }

    private static func incomplete(_ service: ServiceLoop) -> Int {
      service.incompleteRequests.bytes(of: geteuid())
    }

    private static func unsent(_ service: ServiceLoop) -> Int {
      service.unsentBytes.bytes(of: geteuid())
    }

    @Test func `answers of reflection count, and wait for room`() async throws {
      let (count, limit) = (100, 1 << 20)
      try await withServer(limits: .with { $0.unsentBytesPerUIDMax = limit }) { server in
        let client = try Self.client(server)
        let answer = try server.connect().answer(
          to: Self.question, on: Self.path)
        #expect(answer.count > limit / count, "the answers would exceed the limit")
        let streams = try (0..<count).map { _ in
          try client.start(Self.path, payload: Self.question)
        }
        try server.eventually("all streams count, and unsent answers") {
          Self.incomplete($0) > count * Self.streamBytes && Self.unsent($0) >= limit
        }
        // The limit, and the answer that reached it.
        #expect(try server.onLoop { Self.unsent($0) } <= limit + answer.count + 100)
        for stream in streams { try client.grant(stream, 1 << 20) }
        for stream in streams {
          #expect(try client.next(on: stream) == answer)
          #expect(try client.ending(of: stream).code == 0)
        }
        try server.eventually("nothing counts") { Self.incomplete($0) + Self.unsent($0) == 0 }
      }
    }

    @Test func `an answer of reflection that waits ends with its call`() async throws {
      try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 1 }) { server in
        let client = try Self.client(server)
        // Its unread answer takes the room of the others.
        let first = try client.start(Self.path, payload: Self.listServices)
        try server.eventually("an unsent answer") { Self.unsent($0) > 0 }
        let late = try client.start(
          Self.path, payload: Self.listServices, [("grpc-timeout", "10m")])
        #expect(try client.ending(of: late).code == 4)
        let other = try client.start(Self.path, payload: Self.listServices)
        try server.eventually("two streams") { Self.incomplete($0) > 2 * Self.streamBytes }
        try client.reset(other)
        try server.eventually("one stream") { Self.incomplete($0) < 2 * Self.streamBytes }
        try client.grant(first, 1 << 20)
        #expect(try client.ending(of: first).code == 0)
        try server.eventually("nothing counts") { Self.incomplete($0) + Self.unsent($0) == 0 }
      }
    }

    @Test func `questions count until they are answered`() async throws {
      let limit = 100_000
      try await withServer(limits: .with { $0.incompleteBytesPerUIDMax = limit }) { server in
        let client = try Self.client(server)
        let stream = try client.begin(Self.path)
        for _ in 0..<1_000 where !client.isOver(stream) {
          try client.sendData(RawHTTP2.prefixed(Self.listServices), on: stream, isEnd: false)
        }
        // The answers before the status have no window, so the stream is reset without it.
        #expect(try client.finished(stream).resetCode == 0)
        try server.eventually("nothing counts") { Self.incomplete($0) + Self.unsent($0) == 0 }
        // Answered questions do not count.
        let reader = try server.connect()
        let read = try reader.begin(Self.path)
        for _ in 0..<1_000 {
          try reader.sendData(RawHTTP2.prefixed(Self.listServices), on: read, isEnd: false)
          #expect(try reader.next(on: read) != nil)
        }
        #expect(try server.onLoop { Self.incomplete($0) } < Self.streamBytes + 1_000)
      }
    }

    @Test func `users who may only ask for health have few open questions`() async throws {
      try await withServer(policy: .nobody) { server in
        let client = try Self.client(server)
        let limit = ServerLimits().subscriptionsUnauthorizedPerUIDMax
        for _ in 0..<limit { _ = try client.start(Self.path, payload: Self.question) }
        let refused = try client.start(Self.path, payload: Self.question)
        #expect(try client.ending(of: refused).code == 8)
        #expect(try server.onLoop { Self.incomplete($0) } <= 1 << 20)
      }
    }
  }

  extension RawHTTP2 {
    /// The only answer to a message.
    fileprivate func answer(to message: [UInt8], on path: String) throws -> [UInt8] {
      let stream = try start(path, payload: message)
      guard let answer = try next(on: stream) else { throw TestFault("no answer") }
      _ = try ending(of: stream)
      return answer
    }
  }
#endif
