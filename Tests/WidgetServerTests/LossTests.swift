import Glibc
import SeededRandom
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Hazards between the store, the rounds and the sockets.
struct LossTests {
  @Test(arguments: [2, 9, 40])
  func `no removal is lost on compaction, however many there are at once`(count: Int) async throws {
    let limits = ServerLimits.with { $0.store.tombstonesMax = 4 }
    try await withServer(limits: limits) { server in
      let client = try server.connect()
      let kind = try KindName.make("k")
      try client.apply(try (0...count).map { WidgetSpec(id: try .make("w\($0)"), kind: kind) })
      let watcher = try Watcher(server.connect()).sync()
      #expect(watcher.mirror.widgets.count == count + 1)
      let revision = try client.apply(
        [WidgetSpec(id: try .make("w0"), kind: kind)], prune: true
      ).revision
      try watcher.catchUp(to: revision)
      #expect(watcher.mirror.widgets.keys.map(\.rawValue) == ["w0"])
    }
  }

  @Test func `streams whose peer goes away while they open are forgotten`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 3))) { server in
      // The buffered bytes end within the valid frames.
      for refused in 40..<80 {
        let client = try server.connect()
        var bytes: [UInt8] = []
        for _ in 0..<refused {
          bytes += try client.request(
            "WatchWidgets", WatchWidgetsRequest(resumeToken: [1, 2, 3]), id: client.takeStreamID(),
            flags: .remoteClosed)
        }
        for _ in 0..<60 {
          bytes += try client.request(
            "WatchWidgets", WatchWidgetsRequest(), id: client.takeStreamID(), flags: .remoteClosed)
        }
        try client.send(bytes)
        shutdown(client.fd, CInt(SHUT_RDWR))
      }
      let client = try server.connect()
      try client.set("w0", ["n": .int(5)])
      while try client.stats().connections > 1 {}
      // The streams of closed connections end in later turns.
      try server.eventually { $0.streams.isEmpty }
      try client.set("w0", ["n": .int(6)])
      #expect(try client.stats().subscriptions == 0)
      #expect(try server.onLoop { $0.streams.rounds.groupCount == 0 })
    }
  }

  @Test func `frames that readers share are freed after the round`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 3))) { server in
      let watcher = try Watcher(server.connect()).sync()
      let token = watcher.mirror.token
      let client = try server.connect()
      let revision = try client.set("w0", ["n": .int(7)]).revision
      var mirror = watcher.mirror
      mirror.reopen()
      try Watcher(server.connect(), WatchWidgetsRequest(resumeToken: token), mirror: mirror)
        .catchUp(to: revision)
      #expect(try server.onLoop { $0.streams.rounds.keptChangeCount == 0 })
    }
  }

  @Test func `a chunk with much state goes out in parts, as fast as its reader reads`() async throws
  {
    let limits = ServerLimits.with {
      $0.eagerBytesMax = 32 << 10
      $0.frameBytesTarget = 8 << 10
    }
    let image = StoreImage.sample(count: 200) { _ in
      ["pad": .bytes([UInt8](repeating: 1, count: 20_000))]
    }
    try await withServer(limits: limits, log: TestLog.State(image: image)) { server in
      let watcher = try Watcher(server.connect())
      let client = try server.connect()
      _ = try client.set("w0", ["n": .int(1)])
      let sent = try #require(try client.stats().counters["frames"])
      // The bytes in the socket, and a part of the chunk. The chunk has 200 frames.
      #expect(sent < 100)
      try watcher.sync()
      #expect(watcher.mirror.widgets == (try client.list().widgets))
    }
  }

  @Test(arguments: [false, true])
  func `changes during a transfer to a slow reader arrive too`(resumes: Bool) async throws {
    let limits = ServerLimits.with {
      $0.eagerChangesMax = 4
      $0.frameBytesTarget = 4 << 10
      $0.frameIntervalMicroseconds = 0
    }
    let image = StoreImage.sample(count: 700) { _ in
      ["pad": .bytes([UInt8](repeating: 1, count: 2_000))]
    }
    try await withServer(limits: limits, log: TestLog.State(image: image)) { server in
      let client = try server.connect()
      var random = SeededGenerator(seed: 7)
      var created = 0
      func churn() throws {
        for _ in 0..<40 {
          let id = try WidgetID.make("w\(random.next() % 700)")
          let pad = Value.bytes([UInt8](repeating: 2, count: 2_000 + Int(random.next() % 50)))
          _ = try? client.call(
            "UpdateWidget", UpdateWidgetRequest(id: id, patch: WidgetPatch(setData: ["pad": pad])),
            as: UpdateWidgetResponse.self)
        }
        for _ in 0..<3 {
          _ = try client.call(
            "DeleteWidget",
            DeleteWidgetRequest(id: .make("w\(random.next() % 700)"), allowMissing: true),
            as: DeleteWidgetResponse.self)
          created += 1
          try client.create("new\(created)")
        }
      }
      var watcher = try Watcher(server.connect())
      if resumes {
        try watcher.sync()
        for _ in 0..<10 { try churn() }
        var mirror = watcher.mirror
        mirror.reopen()
        watcher = try Watcher(
          server.connect(), WatchWidgetsRequest(resumeToken: mirror.token), mirror: mirror)
      }
      for _ in 0..<12 {
        for _ in 0..<20 where resumes || !watcher.mirror.isSynced { try watcher.step() }
        try churn()
      }
      let (widgets, revision) = try client.list()
      try watcher.catchUp(to: revision)
      #expect(watcher.mirror.widgets == widgets)
    }
  }

  @Test func `fields outside the read mask are not sent, in lists and in single answers`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", data: ["n": .int(1), "m": .int(2)])
      try client.presence(.hide, .ids([.make("a")]))
      let mask = try ReadMask(paths: ["data.n"])
      func payload(_ method: String, _ request: some WireMessage) throws -> [UInt8] {
        let id = client.takeStreamID()
        try client.send(client.request(method, request, id: id))
        return try client.response(to: id).payload
      }
      let one = try payload("GetWidget", GetWidgetRequest(id: .make("a"), readMask: mask))
      let all = try payload("ListWidgets", ListWidgetsRequest(readMask: mask))
      // Both messages begin with a widget as field 1.
      #expect(all.starts(with: one))
      #expect(one.count < 40)
    }
  }

  @Test func `a socket that another program serves is not replaced`() async throws {
    let folder = try TestFolder()
    let other = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(other) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: folder.socketPath.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(other, $0, size) }
    }
    try #require(bound == 0)
    try #require(listen(other, 1) == 0)
    await #expect(throws: SocketError.served(folder.socketPath)) {
      _ = try await startServer(folder: folder)
    }
    #expect(access(folder.socketPath, F_OK) == 0)
  }
}
