import NIOCore
import SeededRandom
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTransport

@testable import WidgetServer

/// The work of one turn is one group. Nobody sees it before it is durable, and all of it is rolled
/// back if it cannot be stored.
@Suite struct `A group of commits` {
  static let full = StorageError.full(path: "/disk")

  /// Holds the event loop in `append`, so that everything sent meanwhile is read in one turn. The
  /// turn takes no time, however slow the machine is.
  static func gather(_ server: TestServer, _ send: () throws -> Void) throws {
    try server.onLoop { service in
      let now = NIODeadline.now()
      service.context.work.clock = { now }
    }
    server.log.closeGate()
    let blocker = try server.connect()
    let id = try blocker.start(
      "CreateWidget",
      CreateWidgetRequest(widget: WidgetSpec(id: .make("blocker"), kind: .make("clock"))))
    try server.log.waitForAppend()
    try send()
    server.log.openGate()
    _ = try blocker.answer(to: id, as: CreateWidgetResponse.self)
  }

  @Test func `a group of commits holds the calls of one turn on all connections`() async throws {
    try await withServer { server in
      let clients = try (0..<4).map { _ in try server.connect() }
      for client in clients { #expect(try client.health() == .serving) }
      try Self.gather(server) {
        for (index, client) in clients.enumerated() {
          var bytes: [UInt8] = []
          for n in 0..<4 {
            let spec = WidgetSpec(id: try .make("w\(index)-\(n)"), kind: try .make("clock"))
            bytes += try client.request(
              "CreateWidget", CreateWidgetRequest(widget: spec), id: client.takeStreamID())
          }
          try client.send(bytes)
        }
      }
      for client in clients {
        for id in stride(from: client.nextStreamID - 8, to: client.nextStreamID, by: 2) {
          _ = try client.answer(to: id, as: CreateWidgetResponse.self)
        }
      }
      let groups = server.log.groups
      #expect(groups.map(\.upserts.count) == [1, 16])
      #expect(groups.map(\.revision) == [1, 17])
    }
  }

  @Test func `calls with large rows are spread over several groups`() async throws {
    let rowBytes = 150 << 10
    let image = StoreImage.sample(count: 16) { _ in
      ["n": .int(0), "text": .string(String(repeating: "y", count: rowBytes))]
    }
    try await withServer(log: TestLog.State(image: image)) { server in
      let clients = try (0..<4).map { _ in try server.connect() }
      for client in clients { #expect(try client.health() == .serving) }
      try Self.gather(server) {
        for (index, client) in clients.enumerated() {
          var bytes: [UInt8] = []
          for n in 0..<4 {
            let request = UpdateWidgetRequest(
              id: try .make("w\(4 * index + n)"), patch: WidgetPatch(setData: ["n": .int(1)]),
              omitWidget: true)
            bytes += try client.request("UpdateWidget", request, id: client.takeStreamID())
          }
          try client.send(bytes)
        }
      }
      for client in clients {
        for id in stride(from: client.nextStreamID - 8, to: client.nextStreamID, by: 2) {
          #expect(try client.answer(to: id, as: UpdateWidgetResponse.self).changed)
        }
      }
      // Three rows have less than `rowBytesMax`, and four have more.
      let groups = server.log.groups.dropFirst()
      #expect(groups.map(\.upserts.count).reduce(0, +) == 16)
      #expect(groups.allSatisfy { $0.upserts.count <= 4 }, "\(groups.map(\.upserts.count))")
      #expect(3 * rowBytes < WorkQueue.rowBytesMax && 4 * rowBytes > WorkQueue.rowBytesMax)
    }
  }

  @Test func `nobody sees an answer or a change before its group is durable`() async throws {
    try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
      let watcher = try Watcher(server.connect()).sync()
      let client = try server.connect()
      #expect(try client.health() == .serving)
      server.log.closeGate()
      // The health check in the same turn must not send the held answers with it.
      let create = try client.request(
        "CreateWidget",
        CreateWidgetRequest(widget: WidgetSpec(id: .make("a"), kind: .make("clock"))), id: 101)
      let check = try client.request(
        "Check", HealthCheckRequest(), service: "grpc.health.v1.Health", id: 103)
      try client.send(create + check)
      try server.log.waitForAppend()
      // The event loop waits in `append`, so it cannot send anything later than now.
      #expect(!client.hasInput)
      #expect(!watcher.client.hasInput)
      server.log.openGate()
      _ = try client.answer(to: 101, as: CreateWidgetResponse.self)
      #expect(try watcher.nextChanges().count == 1)
    }
  }

  @Test func `a group that cannot be stored leaves no trace`() async throws {
    try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
      let writer = try server.connect()
      try writer.create("a", data: ["n": .int(1)])
      let before = try writer.list()
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(includeEvents: true)
      ).sync()
      let client = try server.connect()
      #expect(try client.health() == .serving)
      // All types of work in one turn, together with the blocking call, which fails, too.
      server.log.closeGate()
      let blocker = try server.connect()
      let blocked = try blocker.start(
        "DeleteWidget", DeleteWidgetRequest(id: .make("a"), requestID: "once"))
      try server.log.waitForAppend()
      server.log.failure = Self.full
      let a = try WidgetID.make("a")
      var bytes: [UInt8] = []
      bytes += try client.request(
        "UpdateWidget", UpdateWidgetRequest(id: a, patch: WidgetPatch(setData: ["n": .int(2)])),
        id: 101)
      bytes += try client.request("GetWidget", GetWidgetRequest(id: a), id: 103)
      bytes += try client.request(
        "Check", HealthCheckRequest(), service: "grpc.health.v1.Health", id: 105)
      bytes += try client.request("NoSuchMethod", GetWidgetRequest(id: a), id: 107)
      bytes += try client.request("SendEvent", SendEventRequest(widgetID: a, name: "x"), id: 109)
      bytes += try client.request("WatchWidgets", WatchWidgetsRequest(), id: 111)
      bytes += try client.request("GetWidget", GetWidgetRequest(id: .make("nobody")), id: 113)
      bytes += RawClient.frame(.request, 115, [0xff])
      bytes += try client.request("GetWidget", GetWidgetRequest(id: a), id: 117, timeout: -1)
      bytes += try client.request(
        "CreateWidget",
        CreateWidgetRequest(
          widget: WidgetSpec(id: .make("b"), kind: .make("clock")), requestID: "twice"), id: 119)
      bytes += try client.request(
        "NoSuchMethod", GetWidgetRequest(id: a), id: 121, flags: .remoteClosed)
      try client.send(bytes)
      server.log.openGate()

      client.nextStreamID = 123
      func status(_ id: UInt32) throws -> RPCStatus? { try client.response(to: id).status }
      for id in [101, 109, 119] as [UInt32] {
        let refusal = try #require(try status(id))
        #expect(refusal.code == .unavailable, "call \(id)")
        #expect(refusal.reason == "STORAGE_FAILED")
        #expect((refusal.retryDelay ?? .zero) > .zero)
      }
      #expect(try blocker.response(to: blocked).status?.reason == "STORAGE_FAILED")
      let old = try client.answer(to: 103, as: GetWidgetResponse.self).widget
      #expect(old.data == ["n": .int(1)])
      #expect(old.revision == 1)
      #expect(try client.answer(to: 105, as: HealthCheckResponse.self).status == .serving)
      #expect(try status(107)?.code == .unimplemented)
      #expect(try status(111)?.reason == "WRONG_CALL_TYPE")
      #expect(try status(113)?.code == .notFound)
      #expect(try status(115)?.code == .invalidArgument)
      #expect(try status(117)?.code == .deadlineExceeded)
      #expect(try status(121)?.code == .unimplemented)

      // Reading goes on while nothing can be stored; nothing was half done.
      let now = try writer.list()
      #expect(now.widgets == before.widgets)
      #expect(now.revision == before.revision)
      #expect(
        try writer.refusal(
          "CreateWidget",
          CreateWidgetRequest(
            widget: WidgetSpec(id: .make("c"), kind: .make("clock")))
        ).reason == "STORAGE_FAILED")
      let stats = try writer.stats()
      #expect(stats.lastSequence == 0)
      #expect((stats.counters["groups_failed"] ?? 0) >= 3)

      // The same request ids now succeed, because their failed answers were not kept.
      server.log.failure = nil
      _ = try blocker.call(
        "DeleteWidget", DeleteWidgetRequest(id: a, requestID: "once"),
        as: DeleteWidgetResponse.self)
      try writer.create("b", requestID: "twice")
      // No call was answered twice.
      #expect(try client.health() == .serving)
      #expect(!client.hasInput)
      // The watcher saw all changes except the failed ones.
      try watcher.catchUp(to: try writer.stats().revision)
      #expect(watcher.mirror.events.isEmpty)
      #expect(try watcher.mirror.widgets == writer.list().widgets)
      #expect(watcher.mirror.revision == 3)
    }
  }

  /// One of three groups fails at random. Changes that were answered with success exist, refused
  /// ones do not, and the log equals the store.
  @Test(arguments: Seeds.all)
  func `a random failure leaves store, log and readers in agreement`(seed: UInt64) async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 40))) { server in
      var random = SeededGenerator(seed: seed)
      let watcher = try Watcher(server.connect()).sync()
      let client = try server.connect()
      var failed = 0
      for _ in 0..<600 {
        server.log.failure = Int.random(in: 0..<3, using: &random) == 0 ? Self.full : nil
        do { try Workload.step(client, &random) } catch let status as RPCStatus {
          #expect(status.reason == "STORAGE_FAILED")
          failed += 1
        }
      }
      server.log.failure = nil
      #expect(failed > 20)
      let truth = try client.list()
      try watcher.catchUp(to: truth.revision)
      #expect(watcher.mirror.widgets == truth.widgets, "seed \(seed)")
      let stored = WidgetStore(image: server.log.image, isRevocable: false)
      #expect(stored.revision == truth.revision)
      #expect(stored.count == truth.widgets.count)
      for (id, widget) in truth.widgets { #expect(stored.widget(id) == widget, "seed \(seed)") }
    }
  }

  @Test func `calls that change nothing make no group`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 1))) { server in
      let client = try server.connect()
      #expect(try client.set("w0", ["n": .int(0)]).changed == false)
      _ = try client.get("w0")
      _ = try client.refusal("GetWidget", GetWidgetRequest(id: .make("no")))
      try Watcher(client).sync()
      #expect(server.log.groups.isEmpty)
    }
  }

  @Test func `answers do not wait for the embeds that follow a change`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let frame = Kind(
        name: try .make("frame"),
        content: [
          ContentTemplate(
            root: NodeTemplate(
              id: "frame", type: .embed, properties: ["widget": Binding(value: .string("w"))]))
        ])
      _ = try client.call(
        "ApplyKinds", ApplyKindsRequest(kinds: [frame]), as: ApplyKindsResponse.self,
        service: "widgetd.v1.CatalogService")
      try client.create("w")
      try client.create("f", kind: "frame")
      let (before, after) = try server.onLoop { service in
        let answer = Answer { service.context.store.needsSettling }
        service.turn.open()
        try service.context.commit(
          .update(.make("w"), WidgetPatch(setData: ["n": .int(1)])),
          by: Caller(uid: 0, pid: 0, client: ""))
        service.turn.join(answer)
        service.turn.finish()
        return (answer.isEmbedWaiting, service.context.store.needsSettling)
      }
      #expect(before == true && !after)
    }
  }
}

/// Notes whether embeds wait when the answers of a turn are sent.
private final class Answer: TurnParticipant {
  private let look: () -> Bool
  /// Nil before the answers are sent.
  private(set) var isEmbedWaiting: Bool?

  init(_ look: @escaping () -> Bool) { self.look = look }

  func flushResponses() { isEmbedWaiting = look() }

  func discardResponses() {}
}
