#if GRPC
  import NIOCore
  import Testing
  import WidgetModel
  import WidgetProto

  @testable import WidgetServer

  @Suite struct `The bodies of refused calls` {
    private static let path = "\(RawHTTP2.widgets)/GetWidget"
    private static let body = [UInt8](repeating: 0, count: 64 << 10)

    /// The window of a connection has less than the bytes of two such calls.
    @Test func `the bodies of refused calls do not stall their connection`() async throws {
      try await withServer(limits: .with { $0.metadataBytesMax = 1_000 }) { server in
        let client = try server.connect()
        let watch = try Watcher(client).sync()
        for number in 0..<1_000 {
          let stream = try client.begin(Self.path, [("x", String(repeating: "0", count: 1_000))])
          try client.sendData(Self.body, on: stream, isEnd: true)
          let ending = try client.ending(of: stream)
          guard ending.reason == "QUOTA_EXCEEDED" else {
            Issue.record("call \(number) ended with \(ending)")
            return
          }
        }
        // This call needs more of the window than a connection begins with.
        let text = String(repeating: "x", count: 100_000)
        try watch.catchUp(to: client.create("a", data: ["text": .string(text)]).revision)
        #expect(client.goAways.isEmpty)
      }
    }

    @Test func `the bodies of refused calls may come after many other calls were refused`()
      async throws
    {
      try await withServer(limits: .with { $0.metadataBytesMax = 1_000 }) { server in
        let client = try server.connect()
        let watch = try Watcher(client).sync()
        let streams = try (0..<90).map { _ in
          try client.begin(Self.path, [("x", String(repeating: "0", count: 1_000))])
        }
        for stream in streams {
          #expect(try client.ending(of: stream).reason == "QUOTA_EXCEEDED")
        }
        // These bodies were on their way before the client knew of the refusals.
        for stream in streams {
          try client.send(
            RawHTTP2.frame(RawHTTP2.Frame.data, flags: 1, stream: stream, payload: [1, 2, 3]))
        }
        try watch.catchUp(to: client.create("a").revision)
        #expect(client.goAways.isEmpty)
      }
    }
  }
#endif
