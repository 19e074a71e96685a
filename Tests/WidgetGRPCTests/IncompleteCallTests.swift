#if GRPC
  import Glibc
  import NIOCore
  import NIOEmbedded
  import NIOHPACK
  import NIOHTTP2
  import Testing
  import WidgetModel
  import WidgetProto

  @testable import WidgetGRPC
  @testable import WidgetServer

  @Suite struct `A call without the end of its request` {
    private static let get = "\(RawHTTP2.widgets)/GetWidget"
    private static let reflection = "grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    /// The request list_services, with its prefix.
    private static let question = RawHTTP2.prefixed([0x3a, 0])

    private static func bytes(_ server: TestServer) throws -> Int {
      try server.onLoop { $0.incompleteRequests.bytes(of: geteuid()) }
    }

    private static func wait(in server: TestServer, for isSo: @escaping @Sendable (Int) -> Bool)
      throws
    {
      try server.eventually("so many bytes are counted") {
        isSo($0.incompleteRequests.bytes(of: geteuid()))
      }
    }

    @Test(arguments: [
      get, "\(RawHTTP2.widgets)/WatchWidgets", "widgetd.v1.ProviderService/Provide",
      reflection,
    ])
    func `a gRPC call without an end is ended in time, with or without a body`(path: String)
      async throws
    {
      try await withServer(limits: .with { $0.requestMilliseconds = 1 }) { server in
        let client = try server.connect()
        #expect(try client.ending(of: client.begin(path)).code == 4)
        try Self.wait(in: server) { $0 == 0 }
        try Self.check(client, at: server)
      }
    }

    @Test func `a gRPC call without an end counts its stream and metadata until its end`()
      async throws
    {
      try await withServer { server in
        let client = try server.connect()
        let plain = try client.begin(Self.get)
        try Self.wait(in: server) { $0 > 0 }
        let stream = try Self.bytes(server)
        #expect((22 << 10..<24 << 10).contains(stream))
        let large = try client.begin(Self.get, [("x", String(repeating: "0", count: 10_000))])
        try Self.wait(in: server) { $0 > 2 * stream + 19_000 }
        let sum = try Self.bytes(server)
        #expect(sum < 2 * stream + 21_000)
        // The body counts in addition to the stream.
        try client.sendData([0, 0, 0, 0, 9, 1], on: plain, isEnd: false)
        try Self.wait(in: server) { $0 == sum + 6 }
        try client.reset(plain)
        try Self.wait(in: server) { $0 == sum - stream }
        try client.sendData(RawHTTP2.prefixed([]), on: large, isEnd: true)
        #expect(try client.ending(of: large).code == 3)
        try Self.wait(in: server) { $0 == 0 }
      }
    }

    @Test func `only incomplete gRPC calls are refused beyond the user's bytes`() async throws {
      let limits = ServerLimits.with { $0.incompleteBytesPerUIDMax = 100 << 10 }
      try await withServer(limits: limits) { server in
        let client = try server.connect()
        for _ in 0..<4 { _ = try client.begin(Self.get) }
        try Self.wait(in: server) { $0 > 88 << 10 }
        let ending = try client.ending(of: client.begin(Self.get))
        #expect(ending.code == 8)
        #expect(ending.details?.errorInfo?.metadata["limit"] == "incomplete_bytes_per_uid_max")
        // The head and the message in one piece.
        let other = try server.connect()
        #expect(try other.health() == .serving)
        let message = try other.codec.encode(HealthCheckRequest(service: ""))
        let held = Held(other)
        let stream = try server.onLoop { _ in
          try held.client.start("\(RawHTTP2.health)/Check", payload: message)
        }
        #expect(try other.ending(of: stream).code == 0)
      }
    }

    @Test func `gRPC calls without an end are refused above the connection's bytes`() async throws {
      let limits = ServerLimits.with {
        $0.incompleteBytesPerUIDMax = 1 << 30
        $0.requestMilliseconds = 1_000_000
      }
      try await withServer(limits: limits) { server in
        let client = try server.connect()
        while client.settings[6] != 80 << 10 { #expect(try client.fill()) }
        // More than 16 MiB with 22 KiB each.
        let streams = try (0..<760).map { _ in try client.begin(Self.get) }
        let ending = try client.ending(of: streams[759])
        #expect(ending.code == 8)
        #expect(ending.message?.contains("16 MiB") == true)
        #expect(!client.isOver(streams[0]))
        #expect(try Self.bytes(server) <= 16 << 20)
      }
    }

    /// The first bytes of a header block that has no end.
    private static let openBlock: [UInt8] =
      RawHTTP2.frame(
        RawHTTP2.Frame.headers, stream: 1, payload: [UInt8](repeating: 0x82, count: 10_000))
      + RawHTTP2.frame(
        RawHTTP2.Frame.continuation, stream: 1, payload: [UInt8](repeating: 0x82, count: 10_000))

    @Test func `a header block without an end counts, and ends its connection in time`()
      async throws
    {
      try await withServer { server in
        let client = try server.connect()
        #expect(try client.health() == .serving)
        try client.send(Self.openBlock)
        try Self.wait(in: server) { $0 == Self.openBlock.count }
        // A frame that is not complete counts, too.
        try client.send([0, 0x10, 0, RawHTTP2.Frame.continuation, 0, 0, 0, 0, 1] + [0x82, 0x82])
        try Self.wait(in: server) { $0 == Self.openBlock.count + 11 }
        client.close()
        try Self.wait(in: server) { $0 == 0 }
      }
      try await withServer(limits: .with { $0.requestMilliseconds = 1 }) { server in
        let client = try server.connect()
        try Self.check(client, at: server)
        try client.send(Self.openBlock)
        try client.readToEnd()
        try Self.check(server.connect(), at: server)
        try Self.wait(in: server) { $0 == 0 }
      }
    }

    @Test func `a header block that is not counted ends its connection in time, too`()
      async throws
    {
      let limits = ServerLimits.with {
        ($0.incompleteBytesPerUIDMax, $0.requestMilliseconds) = (1_000, 1)
      }
      try await withServer(limits: limits) { server in
        let client = try server.connect()
        try Self.check(client, at: server)
        // The first frame: less than the 16 KiB that stay without being counted.
        try client.send(Array(Self.openBlock.prefix(10_009)))
        try client.readToEnd()
        #expect(try Self.bytes(server) == 0)
      }
    }

    @Test func `header blocks above the user's bytes end their connections`() async throws {
      let limits = ServerLimits.with { $0.incompleteBytesPerUIDMax = 30_000 }
      try await withServer(limits: limits) { server in
        // Before a client has acknowledged the settings, HTTP/2 takes fewer bytes of headers.
        let first = try server.connect()
        #expect(try first.health() == .serving)
        try first.send(Self.openBlock)
        try Self.wait(in: server) { $0 == Self.openBlock.count }
        let second = try server.connect()
        #expect(try second.health() == .serving)
        try second.send(Self.openBlock)
        try second.readToEnd()
        #expect(try Self.bytes(server) == Self.openBlock.count)
        #expect(try server.connect().health() == .serving)
      }
    }

    @Test func `an open gRPC stream between two messages is not cut off in time`() async throws {
      try await withServer(limits: .with { $0.requestMilliseconds = 1 }) { server in
        let client = try server.connect()
        try Self.check(client, at: server)
        // The first request comes with the head, so both have arrived before the loop reads.
        let held = Held(client)
        let stream = try server.onLoop { _ in
          let stream = try held.client.begin(Self.reflection)
          try held.client.sendData(Self.question, on: stream, isEnd: false)
          return stream
        }
        #expect(try client.next(on: stream) != nil)
        let stays = try Self.bytes(server)
        #expect(stays > 22 << 10)
        // The daemon has checked for late calls when this has ended.
        let late = try server.connect()
        #expect(try late.ending(of: late.begin(Self.get)).code == 4)
        #expect(try Self.bytes(server) == stays)
        try client.sendData(Self.question, on: stream, isEnd: true)
        #expect(try client.next(on: stream) != nil)
        #expect(try client.ending(of: stream).code == 0)
        try Self.wait(in: server) { $0 == 0 }
      }
    }

    /// Makes a call whose head and message have both arrived before the loop reads.
    private static func check(_ client: RawHTTP2, at server: TestServer) throws {
      let held = Held(client)
      let stream = try server.onLoop { _ in
        try held.client.start("Check", HealthCheckRequest(), service: RawHTTP2.health)
      }
      #expect(try client.answer(to: stream, as: HealthCheckResponse.self).status == .serving)
    }

    /// The objects that are used only on the loop.
    private final class Held: @unchecked Sendable {
      let client: RawHTTP2

      init(_ client: RawHTTP2) { self.client = client }
    }
  }

  @Suite struct `Calls of a peer that does not read` {
    private static let path = "/\(RawHTTP2.widgets)/GetWidget"

    /// A call at a server, with a stream that leads nowhere.
    private struct Call {
      let channel = EmbeddedChannel()
      let guarded: CallGuard
      /// The memory of its stream and metadata.
      static let openBytes = 22 << 10 + 2 * (":path".utf8.count + path.utf8.count + 32)

      init(
        _ number: Int, of connection: CallerConnection, messageBytes: Int = 0, isEnd: Bool = true
      ) throws {
        guarded = CallGuard(1, number: "\(number)", connection: connection) {}
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
        try channel.pipeline.syncOperations.addHandler(guarded)
        try channel.writeInbound(
          HTTP2Frame.FramePayload.headers(.init(headers: [":path": Call.path])))
        try receive(
          RawHTTP2.prefixed([UInt8](repeating: 0, count: messageBytes)), isEnd: isEnd)
      }

      func receive(_ bytes: [UInt8], isEnd: Bool) throws {
        let body = ByteBuffer(bytes: bytes)
        try channel.writeInbound(
          HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(body), endStream: isEnd)))
      }

      static let path = `Calls of a peer that does not read`.path

      /// The status of the call, if it was refused.
      func status() throws -> String? {
        while let payload = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) {
          if case .headers(let head) = payload { return head.headers.first(name: "grpc-status") }
        }
        return nil
      }
    }

    private static func connection(_ service: ServiceLoop) -> CallerConnection {
      CallerConnection(
        client: InProcessClient(peer: .current, service: service), service.context.limits)
    }

    @Test func `calls wait while a MiB of answers is unread`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          // No slice ends, however slow the machine is.
          service.context.work.clock = { .uptimeNanoseconds(1) }
          let connection = Self.connection(service)
          let calls = try (0..<4).map { try Call($0, of: connection) }
          var started: [Int] = []
          for (number, call) in calls.enumerated() {
            call.guarded.admit { isCancelled in
              if !isCancelled { started.append(number) }
              return 600 << 10
            }
          }
          #expect(started == [0, 1])
          // The client has read the first answer.
          connection.release(calls[0].guarded, 600 << 10)
          #expect(started == [0, 1, 2])
          connection.release(calls[1].guarded, 600 << 10)
          #expect(started == [0, 1, 2, 3])
        }
      }
    }

    @Test func `calls wait while the user's connections have too many unread answers`()
      async throws
    {
      struct Two {
        var first, second: CallerConnection
        var calls: [Call] = []
        var started: [Int] = []
      }
      try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 1 << 20 }) { server in
        let two = try server.onLoop { service in
          // No slice ends, however slow the machine is.
          service.context.work.clock = { .uptimeNanoseconds(1) }
          let two = Two(first: Self.connection(service), second: Self.connection(service))
          return NIOLoopBoundBox(two, eventLoop: service.context.eventLoop)
        }
        try server.onLoop { service in
          for number in 0..<3 {
            let connection = number == 0 ? two.value.first : two.value.second
            let call = try Call(number, of: connection)
            two.value.calls.append(call)
            call.guarded.admit { isCancelled in
              if !isCancelled { two.value.started.append(number) }
              return 600 << 10
            }
          }
          // Neither connection has a MiB, but the user has.
          let bytes = 2 * (600 << 10 + Call.openBytes + CallGuard.answerCostBytes)
          #expect(service.unsentBytes.bytes(of: geteuid()) == bytes)
          #expect(two.value.started == [0, 1] && !two.value.second.hasRoom)
          two.value.first.release(two.value.calls[0].guarded, 600 << 10)
        }
        try server.eventually("the third call") { _ in two.value.started == [0, 1, 2] }
        try server.onLoop { service in
          two.value.first.close()
          two.value.second.close()
          #expect(service.unsentBytes.bytes(of: geteuid()) == 0)
        }
      }
    }

    @Test func `waiting calls count their messages, and are refused beyond the limit`()
      async throws
    {
      try await withServer { server in
        try server.onLoop { service in
          // No slice ends, however slow the machine is.
          service.context.work.clock = { .uptimeNanoseconds(1) }
          let connection = Self.connection(service)
          let unread = try Call(0, of: connection)
          unread.guarded.admit { _ in 2 << 20 }
          #expect(connection.receivingBytes == 0)
          var (started, cancelled): ([Int], [Int]) = ([], [])
          let calls = try (1...6).map { try Call($0, of: connection, messageBytes: 3 << 20) }
          for (number, call) in calls.enumerated() {
            call.guarded.admit { isCancelled in
              if isCancelled { cancelled.append(number) } else { started.append(number) }
              return 0
            }
          }
          #expect(try calls.map { try $0.status() } == [nil, nil, nil, nil, nil, "8"])
          #expect(connection.receivingBytes == 5 * (3 << 20 + 5))
          let bytes = 5 * (3 << 20 + 5 + Call.openBytes)
          #expect(service.incompleteRequests.bytes(of: geteuid()) == bytes)
          connection.release(unread.guarded, 2 << 20)
          // The refused call is not carried out, although its stream has not ended.
          #expect(started == [0, 1, 2, 3, 4] && cancelled == [5])
          #expect(connection.receivingBytes == 0)
          #expect(service.incompleteRequests.bytes(of: geteuid()) == 0)
        }
      }
    }

    private static let messageBytes = 1_000
    private static let callBytes = messageBytes + MessageScanner.prefixBytes + Call.openBytes

    @Test func `a request that counts goes on counting until its call begins`() async throws {
      try await withServer { server in
        try server.onLoop { service in
          // No slice ends, however slow the machine is.
          service.context.work.clock = { .uptimeNanoseconds(1) }
          let connection = Self.connection(service)
          let calls = try (0..<2).map {
            try Call($0, of: connection, messageBytes: Self.messageBytes, isEnd: false)
          }
          for call in calls { try call.receive([], isEnd: true) }
          #expect(service.incompleteRequests.bytes(of: geteuid()) == 2 * Self.callBytes)
          calls[0].guarded.admit { _ in 0 }
          #expect(service.incompleteRequests.bytes(of: geteuid()) == Self.callBytes)
          // The answer to a call that is not admitted.
          try calls[1].channel.writeOutbound(
            HTTP2Frame.FramePayload.headers(.init(headers: [":status": "200"])))
          #expect(service.incompleteRequests.bytes(of: geteuid()) == 0)
          #expect(connection.receivingBytes == 0)
        }
      }
    }

    @Test func `calls that wait for their slice count, and are refused beyond the limit`()
      async throws
    {
      let limits = ServerLimits.with {
        $0.incompleteBytesPerUIDMax = 3 * Self.callBytes + Self.callBytes / 2
      }
      try await withServer(limits: limits) { server in
        try server.onLoop { service in
          // All turns of a test are in one pass of the loop.
          service.turn.loopPass = nil
          // Other work is in line before the calls.
          let other = InProcessClient(peer: .current, service: service)
          service.context.work.enqueue(other.calls.value)
          let connection = Self.connection(service)
          let calls = try (0..<6).map {
            try Call($0, of: connection, messageBytes: Self.messageBytes)
          }
          var started: [Int] = []
          for (number, call) in calls.enumerated() {
            call.guarded.admit { isCancelled in
              if !isCancelled { started.append(number) }
              return 0
            }
          }
          #expect(started.isEmpty)
          // The first call of a connection does not count.
          #expect(try calls.map { try $0.status() } == [nil, nil, nil, nil, "8", "8"])
          #expect(service.incompleteRequests.bytes(of: geteuid()) == 3 * Self.callBytes)
          while service.context.work.hasMore {
            service.turn.open()
            service.turn.finish()
          }
          #expect(started == [0, 1, 2, 3])
          #expect(service.incompleteRequests.bytes(of: geteuid()) == 0)
        }
      }
    }
  }
#endif
