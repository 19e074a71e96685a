import Foundation
import NIOCore
import TestThreads
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// A server that follows another one in the same process, like a restart.
@Suite struct `A connection that is handed over` {
  @Test func `a handed-over connection continues its stream without gaps or repeats`() async throws
  {
    try await withRestart { server in
      let client = try server.connect()
      try client.create("a", data: ["n": .int(1)])
      let watcher = try Watcher(client).sync()
      return { next in
        let revision = try next.connect().set("a", ["n": .int(2)]).revision
        let changes = try watcher.nextChanges()
        #expect(changes.count == 1)
        #expect(watcher.mirror.revision == revision)
        #expect(watcher.mirror.widgets[try .make("a")]?.data["n"] == .int(2))
        // Calls continue, too, with the following ids.
        #expect(try client.health() == .serving)
        try next.eventually { $0.connections.shares.count == 1 }
      }
    }
  }

  @Test func `a handed-over connection gets the changes that were not sent`() async throws {
    try await withRestart(limits: .with { $0.frameIntervalMicroseconds = 60_000_000 }) { server in
      let client = try server.connect()
      let watcher = try Watcher(client).sync()
      // The first change is sent at once, the second would be a minute later.
      try client.create("a")
      _ = try watcher.nextChanges()
      try client.create("b")
      return { next in
        _ = try watcher.nextChanges()
        #expect(watcher.mirror.widgets.count == 2)
      }
    }
  }

  @Test func `a handed-over connection keeps the bytes under way in both directions`() async throws
  {
    try await withRestart { server in
      let filler = try server.connect()
      let text = Value.string(String(repeating: "x", count: 10_000))
      for index in 0..<200 { try filler.create("w\(index)", data: ["t": text]) }
      // 2 MB of answers that are not read, and of a call that is sent only in part. The health tells
      // that the connection is accepted: this server's own listener goes with it.
      let client = try server.connect()
      _ = try client.health()
      var ids: [UInt32] = []
      var requests: [UInt8] = []
      for index in 0..<200 {
        ids.append(client.takeStreamID())
        requests += try client.request(
          "GetWidget", GetWidgetRequest(id: .make("w\(index)")), id: ids[index])
      }
      try client.send(requests)
      let id = client.takeStreamID()
      let last = try client.request("GetWidget", GetWidgetRequest(id: .make("w7")), id: id)
      try client.send(Array(last.prefix(11)))
      return { next in
        try client.send(Array(last.dropFirst(11)))
        for id in ids {
          #expect(try client.answer(to: id, as: GetWidgetResponse.self).widget.data["t"] == text)
        }
        #expect(
          try client.answer(to: id, as: GetWidgetResponse.self).widget.id == (try .make("w7")))
      }
    }
  }

  @Test func `a handed-over connection gets the rest of a started snapshot`() async throws {
    try await withRestart { server in
      let filler = try server.connect()
      let text = Value.string(String(repeating: "x", count: 20_000))
      for index in 0..<300 { try filler.create("w\(index)", data: ["t": text]) }
      let watcher = try Watcher(try server.connect())
      #expect(try server.onLoop { $0.streams.count } <= 1)
      try server.eventually { !$0.streams.isEmpty }
      return { next in
        try next.connect().delete("w3")
        let revision = try next.connect().set("w4", ["n": .int(1)]).revision
        try watcher.sync()
        try watcher.catchUp(to: revision)
        #expect(watcher.mirror.widgets.count == 299)
        #expect(watcher.mirror.widgets[try .make("w4")]?.data["n"] == .int(1))
      }
    }
  }

  @Test func `a handed-over connection keeps its subscription ids, and reuses none`() async throws {
    try await withRestart { server in
      let client = try server.connect()
      let watcher = try Watcher(client).sync()
      return { next in
        let other = try Watcher(next.connect()).sync()
        #expect(other.mirror.subscriptionID > watcher.mirror.subscriptionID)
        try client.requestProgress(watcher.mirror.subscriptionID)
        while true { if case .progress = try watcher.step() { break } }
      }
    }
  }

  @Test func `a stalled handed-over connection learns that the store works again`()
    async throws
  {
    try await withRestart(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
      let client = try server.connect()
      let text = Value.string(String(repeating: "x", count: 10_000))
      try client.create("a", data: ["t": text])
      let watcher = try Watcher(client).sync()
      server.log.failure = .full(path: "/db")
      #expect(throws: RPCStatus.self) { try client.create("b") }
      while watcher.mirror.storeFailure == nil { _ = try watcher.step() }
      // Nobody reads these answers, so the connection takes no more.
      var ids: [UInt32] = []
      var requests: [UInt8] = []
      for _ in 0..<400 {
        ids.append(client.takeStreamID())
        requests += try client.request(
          "GetWidget", GetWidgetRequest(id: .make("a")), id: ids[ids.count - 1])
      }
      try client.send(requests)
      try server.eventually { $0.streams.all.contains { !$0.sink.isWritable } }
      server.log.failure = nil
      return { next in
        for id in ids { _ = try client.answer(to: id, as: GetWidgetResponse.self) }
        let revision = try next.connect().set("a", ["n": .int(1)]).revision
        try watcher.catchUp(to: revision)
        #expect(watcher.mirror.storeFailure == nil)
      }
    }
  }

  private static func setBlue(_ blue: UInt8, _ client: RawClient) throws -> Revision {
    let color = ThemeColors(ThemeColor(red: 1, green: 2, blue: blue))
    return try client.call(
      "UpdateTheme", UpdateThemeRequest(set: ["color.x": .color(color)]),
      as: UpdateThemeResponse.self, service: "widgetd.v1.CatalogService"
    ).revision
  }

  @Test func `a handed-over connection gets the theme only when it changes`() async throws {
    try await withRestart { server in
      let client = try server.connect()
      try client.create("a")
      _ = try Self.setBlue(1, client)
      let watcher = try Watcher(client, WatchWidgetsRequest(includeTheme: true)).sync()
      let known = watcher.mirror.theme
      #expect(known?.overridden == ["color.x"])
      return { next in
        let other = try next.connect()
        let revision = try other.set("a", ["n": .int(2)]).revision
        let changes = try watcher.step()
        guard case .changes = changes else { throw TestFault("no change, but \(changes)") }
        #expect(watcher.mirror.revision == revision && watcher.mirror.theme == known)
        let changed = try Self.setBlue(2, other)
        guard case .theme(let theme) = try watcher.step() else { throw TestFault("no theme") }
        #expect(theme.revision == changed)
      }
    }
  }

  @Test func `a handed-over connection gets a theme that was not sent yet`() async throws {
    try await withRestart(limits: .with { $0.frameIntervalMicroseconds = 60_000_000 }) { server in
      let client = try server.connect()
      let watcher = try Watcher(client, WatchWidgetsRequest(includeTheme: true)).sync()
      // The first change is sent at once, the theme would be a minute later.
      try client.create("a")
      _ = try watcher.nextChanges()
      let revision = try Self.setBlue(3, client)
      #expect(watcher.mirror.theme?.revision == 0)
      return { _ in
        while watcher.mirror.theme?.revision != revision { try watcher.step() }
      }
    }
  }

  @Test func `a handed-over connection keeps its watch of events`() async throws {
    try await withRestart { server in
      let client = try server.connect()
      try client.create("a")
      let events = try client.watchEvents()
      guard case .opened = try events.next() else { throw TestFault("not opened") }
      let before = try client.event("a", "before")
      guard case .events(let batch) = try events.next() else { throw TestFault("no event") }
      #expect(batch.events.map(\.sequence) == [before])
      return { next in
        let after = try next.connect().event("a", "after")
        let frame = try events.next()
        guard case .events(let batch) = frame else {
          throw TestFault("no event, but \(frame as Any)")
        }
        #expect(batch.events.map(\.sequence) == [after])
      }
    }
  }

  @Test func `a handed-over connection gets the events that were not sent`() async throws {
    try await withRestart(limits: .with { $0.frameIntervalMicroseconds = 60_000_000 }) { server in
      let client = try server.connect()
      try client.create("a")
      let events = try client.watchEvents()
      guard case .opened = try events.next() else { throw TestFault("not opened") }
      // The widget was sent at once, and the event would be sent a minute later.
      let sequence = try client.event("a", "click")
      return { _ in
        let frame = try events.next()
        guard case .events(let batch) = frame else {
          throw TestFault("no event, but \(frame as Any)")
        }
        #expect(batch.events.map(\.sequence) == [sequence])
      }
    }
  }

  @Test func `widgets stay fresh while their provider reconnects after a handover`() async throws {
    try await withRestart { server in
      let client = try server.connect()
      let provider = try RawProvider(client)
      try provider.open(kinds: [Kind(name: .make("clock"))])
      try client.create("a")
      let sequence = try client.event("a")
      _ = try provider.dataRequest()
      _ = try provider.event()
      return { _ in
        let status = try provider.stream.end()
        #expect(status == .shuttingDown)
        #expect(try client.get("a").isStale == false)
        let again = try RawProvider(client)
        // A reader with all events gets no gap.
        let (_, requests) = try again.open(after: sequence)
        #expect(requests.map(\.widget.id.rawValue) == ["a"])
      }
    }
  }

  @Test func `a handed-over connection still counts as a watcher`() async throws {
    try await withRestart { server in
      let client = try server.connect()
      _ = try client.call(
        "ApplyKinds",
        ApplyKindsRequest(provider: "desk", kinds: [Kind(name: .make("clock"))]),
        as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
      try client.create("a")
      try client.create("b")
      let watchers = try [("a", true), ("b", false)].map { id, isPassive in
        try Watcher(
          server.connect(),
          WatchWidgetsRequest(selector: Selector(ids: [.make(id)]), isPassive: isPassive)
        ).sync()
      }
      return { next in
        defer { for watcher in watchers { watcher.client.close() } }
        try next.eventually { $0.streams.count == 2 }
        let provider = try RawProvider(next.connect())
        try provider.open(includeAudience: true)
        #expect(try provider.audience() == ProvideAudience(attached: [.make("b")]))
      }
    }
  }

  @Test func `a handed-over connection gets the changes made during the restart`() async throws {
    try await withRestart { server in
      let client = try server.connect()
      let provider = try RawProvider(client)
      try provider.open(kinds: [Kind(name: .make("clock"))])
      try client.create("a")
      let before = try client.event("a", "before")
      _ = try provider.dataRequest()
      _ = try provider.event()
      return { next in
        _ = try provider.stream.end()
        let after = try next.connect().event("a", "after")
        #expect(after > before + 1)
        let again = try RawProvider(client)
        try again.send(
          .open(
            ProvideOpen(
              provider: "desk", lease: RawProvider.leaseMax, acknowledgedSequence: before,
              epoch: 77)))
        guard case .opened(let opened) = try again.next() else { throw TestFault("not opened") }
        #expect(opened.firstSequence == after)
        #expect(try again.event().sequence == after)
        // The same holds for a client that only reads.
        let events = try next.connect().watchEvents(
          WatchEventsRequest(afterSequence: before))
        guard case .opened = try events.next() else { throw TestFault("not opened") }
        guard case .events(let batch) = try events.next() else { throw TestFault("no event") }
        #expect(batch.events.map(\.sequence) == [after])
      }
    }
  }

  @Test func `a handed-over connection has the present rights of its user`() async throws {
    let log = TestLog.State()
    let folder = try TestFolder()
    let server = try await startServer(log: log, folder: folder)
    let stream = try await onThread {
      let client = try server.connect()
      let stream = try client.watchEvents()
      guard case .opened = try stream.next() else { throw TestFault("not opened") }
      return SendableBox(stream)
    }
    let handed = try #require(try await server.server.handOver())
    let next = try await startServer(
      policy: .nobody, log: log, folder: folder, takingOver: handed)
    try await onThread {
      do {
        let frame = try stream.value.next()
        Issue.record("the stream went on with \(frame as Any)")
      } catch let status as RPCStatus {
        #expect(status.code == .permissionDenied)
      }
    }
    try await next.server.stop()
  }

  @Test func `damage of one connection's record does not close the next connection`() async throws {
    let client = try await handed { handed, folder in
      var parsed = try #require(handed.parsed())
      parsed.head.connectionCount += 1
      let codec = WireCodec()
      let records =
        [try codec.encode(parsed.head), [0xff, 0xff]]
        + (try parsed.connections.map { try codec.encode($0) })
      let next = try await startServer(
        folder: folder, takingOver: HandedOver(records: records, sockets: handed.sockets))
      try await onThread { try next.eventually { $0.connections.shares.count == 1 } }
      return next
    }
    #expect(try client.fill() == false)
  }

  @Test func `a connection that has sent nothing yet can still choose its protocol`() async throws {
    try await withRestart { server in
      let silent = try server.connect()
      try server.eventually { $0.connections.shares.count > 0 }
      return { _ in
        let health = try silent.health()
        #expect(health == .serving)
      }
    }
  }

  @Test func `a handed-over connection is closed if the store is another one`() async throws {
    let client = try await handed { handed, folder in
      let next = try await startServer(
        log: TestLog.State(image: StoreImage(epoch: 99)), folder: folder, takingOver: handed)
      return next
    }
    #expect(try client.fill() == false)
  }

  @Test func `a handed-over connection is closed if its description is damaged`() async throws {
    let client = try await handed { handed, folder in
      let damaged = HandedOver(
        description: Array(handed.description.dropLast()), sockets: handed.sockets)
      return try await startServer(folder: folder, takingOver: damaged)
    }
    #expect(try client.fill() == false)
  }

  /// A connection whose server ended and gave it to another one.
  private func handed(
    _ start: (HandedOver, TestFolder) async throws -> TestServer
  ) async throws -> RawClient {
    let folder = try TestFolder()
    let server = try await startServer(folder: folder)
    let client = try await onThread {
      let client = try server.connect()
      _ = try client.health()
      return SendableBox(client)
    }
    let handed = try #require(try await server.server.handOver())
    #expect(handed.sockets.count == 1)
    let next = try await start(handed, folder)
    try await next.server.stop()
    return client.value
  }
}

@Suite struct `A description of handed connections` {
  @Test func `a description that is cut or changed is refused or read, and never traps`() throws {
    let codec = WireCodec()
    let head = try codec.encode(Handover(epoch: 1, revision: 2, connectionCount: 1))
    let connection = try codec.encode(
      HandedConnection(name: "a", received: [1, 2, 3], streams: [HandedStream(streamID: 1)]))
    let whole = HandedOver(records: [head, connection], sockets: [:])
    #expect(whole.parsed()?.connections.map(\.name) == ["a"])
    for count in 0..<whole.description.count {
      let cut = HandedOver(description: Array(whole.description.prefix(count)), sockets: [:])
      #expect(cut.parsed() == nil, "cut to \(count)")
    }
    for index in whole.description.indices {
      var bytes = whole.description
      bytes[index] ^= 0xff
      _ = HandedOver(description: bytes, sockets: [:]).parsed()
    }
  }
}

extension `A description of handed connections` {
  @Test func `a handed connection above the limits is counted, the next one is read`() throws {
    let codec = WireCodec()
    let large = String(repeating: "a", count: 100_000)
    let records = [
      try codec.encode(Handover(epoch: 1, connectionCount: 2)),
      try codec.encode(HandedConnection(name: large)),
      try codec.encode(HandedConnection(name: "b")),
    ]
    let handed = HandedOver(records: records, sockets: [:])
    let tight = handed.parsed(limits: WireLimits(arenaBytesMax: 50_000))
    #expect(tight?.unreadableCount == 1)
    #expect(tight?.connections.map(\.name) == ["b"])
    #expect(handed.parsed()?.connections.map(\.name) == [large, "b"])
    #expect(HandedOver.limits.arenaBytesMax > 64 * WireLimits().arenaBytesMax - 1)
  }
}

@Suite struct `A guest while connections are handed over` {
  @Test func `a guest's streams end with NOT_SERVING, and new ones are refused`() async throws {
    try await Turnstile.shared.pass {
      let server = try await startServer(folder: try TestFolder())
      let client = try await server.server.inProcessClient(for: .current)
      let health = "grpc.health.v1.Health/Watch"
      let watch = try await client.open(health, ByteBuffer())
      #expect(try await watch.next()?.count == 1)
      async let last = watch.next()
      try await server.server.onLoop { service in
        service.endGuestStreams()
        service.turn.finish()
      }.get()
      let message = try #require(try await last?.first)
      let response = try WireCodec().decode(
        HealthCheckResponse.self, from: Array(message.readableBytesView))
      #expect(response.status == .notServing)
      await #expect(throws: RPCStatus.self) { try await watch.next() }
      await #expect(throws: RPCStatus.self) { try await client.open(health, ByteBuffer()) }
      try await server.server.stop()
    }
  }
}

/// Passes a value from one thread to another, one after the other.
struct SendableBox<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

/// Runs a test's first half against one server and its second half against the one that follows it,
/// on the same store and the same connections.
func withRestart(
  limits: ServerLimits = ServerLimits(),
  _ body: @escaping @Sendable (TestServer) throws -> ((TestServer) throws -> Void)
) async throws {
  try await onThreads {
    let folder = try TestFolder()
    let log = TestLog.State()
    let server = try await startServer(limits: limits, log: log, folder: folder)
    let second = try body(server)
    let handed = try #require(try await server.server.handOver())
    let next = try await startServer(
      limits: limits, log: log, folder: folder, takingOver: handed)
    let result: Result<Void, any Error> = Result { try second(next) }
    try await next.server.stop()
    try result.get()
  }
}
