#if GRPC
  import Foundation
  import NIOCore
  import NIOHPACK
  import Testing
  import WidgetModel
  import WidgetProto

  @testable import WidgetServer

  @Suite struct `A call over gRPC` {
    /// Each method gets an empty message. The outcome must be that of the same call inside the
    /// process.
    @Test func `every method has the same answer over gRPC and inside the process`() async throws {
      try await withServer { server in
        let inside = try await server.server.inProcessClient(for: .current)
        let client = try server.connect()
        #expect(InProcessClient.methods.count > 15)
        for method in InProcessClient.methods where !method.isStream {
          var expected: RPCStatus?
          do throws(RPCStatus) { _ = try await inside.call(method.fullName, ByteBuffer()) } catch {
            expected = error
          }
          let ending = try client.ending(of: client.start(method.fullName, payload: []))
          #expect(ending.code == Int(expected?.code.rawValue ?? 0), "\(method.fullName)")
          #expect(ending.details == expected, "\(method.fullName)")
        }
        for method in InProcessClient.methods where method.isStream && !method.isConversation {
          let stream = try client.start(method.fullName, payload: [])
          #expect(try client.next(on: stream) != nil, "\(method.fullName)")
          try client.reset(stream)
        }
      }
    }

    @Test func `a gRPC call carries a request and a response`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let made = try client.create("a", data: ["text": .string("größe ☃")])
        #expect(made.data["text"] == .string("größe ☃"))
        let got = try client.call(
          "GetWidget", GetWidgetRequest(id: .make("a")), as: GetWidgetResponse.self)
        #expect(got.widget == made)
        let ending = try client.ending(
          of: client.start("GetWidget", GetWidgetRequest(id: .make("a"))))
        #expect(ending.code == 0)
        #expect(ending.details == nil)
      }
    }

    @Test func `a call that fails has a code, words and details`() async throws {
      try await withServer { server in
        let ending = try server.connect().refusal(
          "GetWidget", GetWidgetRequest(id: .make("nothing")))
        #expect(ending.code == 5)
        #expect(ending.message?.contains("nothing") == true)
        let details = try #require(ending.details)
        #expect(details.code == .notFound)
        #expect(details.message == ending.message)
        #expect(details.reason == "WIDGET_NOT_FOUND")
        #expect(details.errorInfo?.domain == "widgetd")
        #expect(details.errorInfo?.metadata == ["widget_id": "nothing"])
      }
    }

    @Test func `a gRPC call of an unknown method or service is UNIMPLEMENTED`() async throws {
      try await withServer { server in
        let client = try server.connect()
        for path in ["widgetd.v1.WidgetService/Nothing", "nobody.v1.Nothing/Get", "GetWidget", ""] {
          #expect(try client.ending(of: client.start(path, payload: [])).code == 12, "\(path)")
        }
        #expect(try client.health() == .serving)
      }
    }

    @Test func `the error of a gRPC call keeps all characters of its message`() async throws {
      try await withServer { server in
        let service = "größe ☃ 100% \"\\\n"
        let ending = try server.connect().refusal(
          "Check", HealthCheckRequest(service: service), service: RawHTTP2.health)
        #expect(ending.message?.contains(service) == true)
        #expect(ending.details?.message == ending.message)
        #expect(ending.details?.errorInfo?.metadata["service"] == service)
        for byte in ending.trailers.first(name: "grpc-message")?.utf8 ?? "".utf8 {
          #expect((0x20...0x7e).contains(byte))
        }
      }
    }

    /// Clients accept 8 KiB of metadata, and count 32 bytes of overhead for each header.
    @Test func `the error of a gRPC call fits in 8 KiB of headers`() async throws {
      try await withServer { server in
        let client = try server.connect()
        var counts: [Bool: Int] = [:]
        for letter in ["x", "é", "☃", "𝄞"] {
          for count in [10, 300, 500, 700, 900, 1_000, 1_500, 1_800, 1_900, 1_950, 2_000, 50_000] {
            let service = String(repeating: letter, count: count / letter.utf8.count)
            let ending = try client.refusal(
              "Check", HealthCheckRequest(service: service), service: RawHTTP2.health)
            #expect(ending.code == 5)
            let size = ending.trailers.reduce(0) {
              $0 + $1.name.utf8.count + $1.value.utf8.count + 32
            }
            #expect(size < 8 << 10, "\(count) bytes of \(letter)")
            #expect(ending.message?.isEmpty == false)
            #expect(ending.message?.contains("\u{fffd}") == false, "a letter was cut in two")
            counts[ending.details == nil, default: 0] += 1
            if let details = ending.details {
              #expect(details.errorInfo?.metadata["service"] == service)
            } else {
              #expect(count > 900)
            }
          }
        }
        #expect(counts.count == 2, "some with and some without details")
      }
    }

    @Test func `a call over gRPC without a message is refused`() async throws {
      try await withServer { server in
        let client = try server.connect()
        for method in ["GetWidget", "WatchWidgets"] {
          let path = "\(RawHTTP2.widgets)/\(method)"
          #expect(try client.ending(of: client.begin(path, isEnd: true)).code == 3)
          let late = try client.begin(path)
          try client.sendData([], on: late, isEnd: true)
          #expect(try client.ending(of: late).code == 3)
        }
        #expect(try server.onLoop { $0.streams.isEmpty })
      }
    }

    @Test func `a gRPC call with two messages is refused without an effect`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let message = try client.codec.encode(
          CreateWidgetRequest(widget: WidgetSpec(id: .make("a"), kind: .make("clock"))))
        for (method, bytes) in [("CreateWidget", message), ("WatchWidgets", [])] {
          let stream = try client.begin("\(RawHTTP2.widgets)/\(method)")
          let twice = RawHTTP2.prefixed(bytes) + RawHTTP2.prefixed(bytes)
          try client.sendData(twice, on: stream, isEnd: true)
          #expect(try client.ending(of: stream).code == 3)
        }
        #expect(try client.list().widgets.isEmpty)
        #expect(try server.onLoop { $0.streams.isEmpty })
      }
    }

    @Test func `a call over gRPC with a message in several frames is joined`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let message = try RawHTTP2.prefixed(
          client.codec.encode(
            CreateWidgetRequest(widget: WidgetSpec(id: .make("a"), kind: .make("clock")))))
        let stream = try client.begin("\(RawHTTP2.widgets)/CreateWidget")
        for (index, byte) in message.enumerated() {
          try client.sendData([byte], on: stream, isEnd: index == message.count - 1)
        }
        #expect(try client.ending(of: stream).code == 0)
        #expect(try client.list().widgets.count == 1)
      }
    }

    /// Messages may have 4 MiB. The server refuses a larger one without waiting for it.
    @Test func `a gRPC call with too large a message does not end the connection`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let other = try Watcher(client).sync()
        for claimed in [(4 << 20) + 1, 1 << 30, Int(UInt32.max)] {
          let stream = try client.begin("\(RawHTTP2.widgets)/GetWidget")
          try client.sendData(
            [0] + RawHTTP2.bigEndian(UInt32(claimed)) + [1, 2, 3], on: stream, isEnd: false)
          #expect(try client.ending(of: stream).code == 8, "\(claimed)")
        }
        // A large message that is sent completely.
        let stream = try client.start(
          "\(RawHTTP2.widgets)/GetWidget", payload: [UInt8](repeating: 1, count: (4 << 20) + 1))
        #expect(try client.ending(of: stream).code == 8)
        // A message of the greatest size is read, but its bytes are not a request.
        let largest = try client.start(
          "\(RawHTTP2.widgets)/CreateWidget", payload: [UInt8](repeating: 1, count: 4 << 20))
        #expect(try client.ending(of: largest).reason == "INVALID_REQUEST")
        let revision = try client.create("a").revision
        try other.catchUp(to: revision)
      }
    }

    @Test func `a gRPC call with too much metadata is refused, other calls are not`() async throws {
      try await withServer(limits: .with { $0.metadataBytesMax = 20_000 }) { server in
        let client = try server.connect()
        let watch = try Watcher(client).sync()
        // The client made this call after it acknowledged the settings.
        while client.settings[6] != 80 << 10 { #expect(try client.fill()) }
        _ = try client.create("a")
        /// The outcome of a call with this many bytes in one header. They need few bits each, so it
        /// is one frame.
        func ending(_ count: Int) throws -> RawHTTP2.Ending {
          try client.ending(
            of: client.start(
              "GetWidget", GetWidgetRequest(id: .make("a")),
              [("x", String(repeating: "0", count: count))]))
        }
        // The rest of the head has a few hundred bytes.
        #expect(try ending(20_000 - 600).code == 0)
        let refused = try ending(20_000)
        #expect(refused.code == 8)
        #expect(refused.reason == "QUOTA_EXCEEDED")
        #expect(refused.details?.errorInfo?.metadata["limit"] == "metadata_bytes_max")
        #expect(refused.details?.errorInfo?.metadata["maximum"] == "20000")
        try watch.catchUp(to: client.create("b").revision)
        #expect(client.goAways.isEmpty)
      }
    }

    @Test func `a call that breaks the rules of the transport gets a reason`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let path = "\(RawHTTP2.widgets)/GetWidget"
        let none = try client.begin(path, isEnd: true)
        let several = try client.begin(path)
        let message = try client.codec.encode(GetWidgetRequest(id: .make("a")))
        try client.sendData(
          RawHTTP2.prefixed(message) + RawHTTP2.prefixed(message), on: several, isEnd: true)
        let timeout = try client.start(path, payload: message, [("grpc-timeout", "-1S")])
        let large = try client.begin(path)
        try client.sendData([0] + RawHTTP2.bigEndian(5 << 20), on: large, isEnd: false)
        for (stream, code) in [(none, 3), (several, 3), (timeout, 3), (large, 8)] {
          let ending = try client.ending(of: stream)
          #expect(ending.code == code)
          #expect(ending.reason == "PROTOCOL_ERROR")
          #expect(ending.details?.message == ending.message)
        }
        for past in ["0S", "1n", "000999n"] {
          let over = try client.start(path, payload: message, [("grpc-timeout", past)])
          #expect(try client.ending(of: over).reason == "DEADLINE_EXCEEDED", "\(past)")
        }
      }
    }

    @Test func `a gRPC call with malformed bytes is refused with a reason`() async throws {
      try await withServer { server in
        let client = try server.connect()
        let ending = try client.ending(
          of: client.start("\(RawHTTP2.widgets)/GetWidget", payload: [0xff, 0xff, 0xff]))
        #expect(ending.code == 3)
        #expect(ending.reason == "INVALID_REQUEST")
        // The message is compressed, but no header names the compression.
        let stream = try client.begin("\(RawHTTP2.widgets)/GetWidget")
        try client.sendData([1, 0, 0, 0, 1, 7], on: stream, isEnd: true)
        while try client.next(on: stream) != nil {}
        #expect(client.isOver(stream))
        #expect(try client.health() == .serving)
      }
    }
  }

  @Suite struct `The policy over gRPC` {
    static func change() throws -> CreateWidgetRequest {
      CreateWidgetRequest(widget: WidgetSpec(kind: try .make("clock")))
    }

    @Test func `a gRPC client without owner rights reads, and cannot change widgets`() async throws
    {
      try await withServer(policy: .client) { server in
        let client = try server.connect()
        #expect(try client.list().widgets.isEmpty)
        try Watcher(client).sync()
        let ending = try client.refusal("CreateWidget", Self.change())
        #expect(ending.code == 7)
        #expect(ending.reason == "PERMISSION_DENIED")
        #expect(
          ending.details?.errorInfo?.metadata["method"] == "widgetd.v1.WidgetService/CreateWidget")
        let stats = try client.refusal("GetStats", GetStatsRequest(), service: RawHTTP2.admin)
        #expect(stats.code == 7)
      }
    }

    @Test func `other gRPC users can only ask for health`() async throws {
      try await withServer(policy: .nobody) { server in
        let client = try server.connect()
        #expect(try client.health() == .serving)
        for method in InProcessClient.methods where method.service != RawHTTP2.health {
          let ending = try client.ending(of: client.start(method.fullName, payload: []))
          #expect(ending.code == 7, "\(method.fullName)")
        }
        #expect(try server.onLoop { $0.streams.isEmpty })
      }
    }

    /// Two connections of different users: the daemon identifies them by an internal header, which
    /// a client could send too.
    @Test func `a gRPC peer's rights come from its connection, not from a header`() async throws {
      try await withServer(policy: AccessPolicy(ownerUIDs: [1], clientGID: 2)) { server in
        for peer in [Peer(uid: 1, gid: 1, pid: 1), Peer(uid: 9, gid: 2, pid: 1)] {
          server.guest.disguiseNext(as: try await server.server.inProcessClient(for: peer))
        }
        let owner = try server.connect()
        try owner.create("a")
        let client = try server.connect()
        #expect(try client.list().widgets.count == 1)
        let forgeries: [[(String, String)]] = [
          [("widgetd-connection", "1")],
          [("widgetd-connection", "1"), ("widgetd-connection", "1")],
          [("widgetd-connection", "2"), ("widgetd-connection", "1")],
          [("widgetd-connection-bin", "MQ")],
          [("widgetd-connection", "99")], [("widgetd-connection", "")],
          [("widgetd-connection", "1,2")],
        ]
        for forgery in forgeries {
          #expect(
            try client.refusal("CreateWidget", Self.change(), forgery).code == 7, "\(forgery)")
          let list = try client.call(
            "ListWidgets", ListWidgetsRequest(), as: ListWidgetsResponse.self, forgery)
          #expect(list.widgets.count == 1)
          // An owner does not lose rights either.
          let made = try owner.call(
            "CreateWidget", Self.change(), as: CreateWidgetResponse.self,
            forgery.map { ($0.0, $0.1 == "1" ? "2" : $0.1) })
          _ = try owner.call(
            "DeleteWidget", DeleteWidgetRequest(id: made.widget.id), as: DeleteWidgetResponse.self)
        }
        // The header comes after the message, in trailers.
        let stream = try client.begin("\(RawHTTP2.widgets)/CreateWidget")
        try client.sendData(
          RawHTTP2.prefixed(client.codec.encode(Self.change())), on: stream, isEnd: false)
        try client.sendTrailers([("widgetd-connection", "1")], on: stream)
        let inbox = try client.finished(stream)
        #expect(inbox.heads.last?.first(name: "grpc-status") != "0")
        #expect(try owner.list().widgets.count == 1)
      }
    }
  }
#endif
