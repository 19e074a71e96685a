import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTimers

@testable import WidgetServer

/// The cost of changes by time in one turn.
@Suite struct `Widgets that change at the same time` {
  private static func declare(_ client: RawClient) throws {
    let clock = Kind(
      name: try .make("clock-face"),
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "text", type: .label, properties: ["text": Binding("string(entry.date)")]))
      ],
      schedule: EntrySchedule(every: .seconds(60)))
    _ = try client.call(
      "ApplyKinds", ApplyKindsRequest(provider: "test", kinds: [clock]),
      as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
  }

  private static func advances(_ service: ServiceLoop) -> UInt64 {
    service.context.counters.byName.first { $0.name == "advances" }?.value ?? 0
  }

  /// Widgets with clocks, and a reader of them.
  private static func prepare(_ server: TestServer) throws -> (RawClient, Watcher) {
    let client = try server.connect()
    try declare(client)
    for number in 0..<count { try client.create("c\(number)", kind: "clock-face") }
    return (client, try Watcher(server.connect()).sync())
  }

  private static let count = 400

  /// Lets each read of the clock take a tenth of the time that a turn has for such changes. Returns
  /// the number of steps so far.
  private static func slowDown(_ service: ServiceLoop) -> UInt64 {
    var now = NIODeadline.now()
    service.context.work.clock = {
      now = now + .nanoseconds(TimeKeeper.turnMax.nanoseconds / 10)
      return now
    }
    return advances(service)
  }

  @Test func `many due widgets change over several turns, and readers get all`() async throws {
    try await withServer { server in
      let (client, watcher) = try Self.prepare(server)
      let before = try server.onLoop(Self.slowDown)
      let later = Timestamp.wallClock().advanced(by: .seconds(60))
      try server.onLoop { service in
        service.turn.clock = { later }
        service.turn.open()
      }
      try server.eventually { !$0.time.hasMore && $0.context.store.nextDate ?? later > later }
      #expect(try server.onLoop(Self.advances) - before >= UInt64(Self.count / 20))
      try watcher.catchUp(to: client.stats().revision)
      let dates = Set(watcher.mirror.widgets.values.compactMap { $0.timeline?.current?.date })
      #expect(dates.count == 1)
      let shown = try #require(dates.first)
      #expect(shown <= later && shown > later.advanced(by: .seconds(-60)))
    }
  }

  @Test func `all due widgets of a fake clock change before the next call`() async throws {
    try await withServer(clock: .fake()) { server in
      let (client, _) = try Self.prepare(server)
      _ = try server.onLoop(Self.slowDown)
      _ = try client.call(
        "SetTime", SetTimeRequest(.advance(.seconds(60))), as: SetTimeResponse.self,
        service: "widgetd.v1.AdminService")
      let minute = Timestamp.fakeStart.advanced(by: .seconds(60))
      let dates = try (0..<Self.count).map { try client.get("c\($0)").timeline?.current?.date }
      #expect(Set(dates) == [minute])
      #expect(try server.onLoop { $0.time.hasMore } == false)
    }
  }

  @Test func `a due widget without a reserved revision changes later`()
    async throws
  {
    let log = TestLog.State()
    try await withServer(log: log) { server in
      // Far from the dates at which the system's timer rings.
      let start = Timestamp.wallClock().advanced(by: .seconds(3_600))
      try server.onLoop { $0.turn.clock = { start } }
      let (client, watcher) = try Self.prepare(server)
      let (shown, before) = (try client.list().widgets, try client.stats().revision)
      log.failure = .full(path: "widgetd.db")
      let later = start.advanced(by: .seconds(60))
      try server.onLoop { service in
        service.turn.clock = { later }
        service.turn.open()
      }
      #expect(try client.list().widgets == shown)
      #expect(try client.stats().revision == before)
      log.failure = nil
      try server.eventually { !$0.time.hasMore && $0.context.store.nextDate ?? later > later }
      try watcher.catchUp(to: client.stats().revision)
      let widgets = try client.list().widgets
      #expect(watcher.mirror.widgets == widgets)
      let dates = widgets.values.compactMap { $0.timeline?.current?.date }
      #expect(dates.count == Self.count)
      #expect(dates.allSatisfy { $0 <= later && $0 > start })
    }
  }
}
