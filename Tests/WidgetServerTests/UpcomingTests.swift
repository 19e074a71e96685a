import Testing
import WidgetModel
import WidgetProto
import WidgetTimers

@testable import WidgetServer

/// The entries that a watch sends in advance, and the times when the daemon has to wake.
@Suite struct `Upcoming entries` {
  private static func kind(_ name: String, every hours: Int64) throws -> Kind {
    Kind(
      name: try .make(name), data: [Field(name: "title", type: .string, defaultValue: .string(""))],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "text", type: .label,
            properties: ["text": Binding("data.title + ' ' + string(entry.date)")]))
      ],
      schedule: EntrySchedule(every: .seconds(3_600 * hours)))
  }

  private static func declare(_ client: RawClient, every hours: Int64 = 1) throws {
    _ = try client.call(
      "ApplyKinds",
      ApplyKindsRequest(
        provider: "test", kinds: [try kind("hourly", every: hours), try kind("daily", every: 24)]),
      as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
  }

  private func text(_ shown: ShownEntry?) -> String? {
    guard case .string(let text)? = shown?.content?.nodes.first?.properties["text"] else {
      return nil
    }
    return text
  }

  /// Takes part in a turn, so that the timer follows the readers' knowledge.
  private func wakeDate(_ server: TestServer) throws -> Timestamp? {
    try server.onLoop { loop in
      loop.finishTurnAndRound()
      return loop.time.wakeDate
    }
  }

  @Test func `upcoming entries have content, and follow a change of the widget`() async throws {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      try Self.declare(client)
      try client.create("a", kind: "hourly", data: ["title": .string("one")])
      try client.create("plain")
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest(upcomingEntries: 3)).sync()
      let id = try WidgetID.make("a")
      let first = try #require(watcher.mirror.upcoming[id])
      let next = try #require(watcher.mirror.widgets[id]?.timeline?.nextTime)
      #expect(first.more)
      #expect(
        first.entries.map(\.entry.date) == [
          next, next.advanced(by: .seconds(3_600)), next.advanced(by: .seconds(7_200)),
        ])
      #expect(text(first.entries[1]) == "one \(RFC3339.text(first.entries[1].entry.date))")
      #expect(watcher.mirror.upcoming.count == 1)
      try client.set("a", ["title": .string("two")])
      _ = try watcher.nextChanges()
      while watcher.mirror.upcoming[id] == nil { try watcher.step() }
      #expect(text(watcher.mirror.upcoming[id]?.entries[0])?.hasPrefix("two ") == true)
    }
  }

  @Test func `the daemon sleeps while all readers have the upcoming entries`() async throws {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      try Self.declare(client)
      try client.create("a", kind: "hourly")
      try client.create("b", kind: "daily")
      #expect(try wakeDate(server) == nil, "nobody reads")
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest(upcomingEntries: 3)).sync()
      let last = try #require(watcher.mirror.upcoming[.make("a")]?.entries.last?.entry.date)
      #expect(try wakeDate(server) == last)
      let plain = try Watcher(server.connect()).sync()
      let next = try #require(plain.mirror.widgets[.make("a")]?.timeline?.nextTime)
      #expect(try wakeDate(server) == next)
      plain.client.close()
      try server.eventually { $0.streams.count == 1 }
      #expect(try wakeDate(server) == last)
      // The daemon does not know the entries that an earlier stream got.
      let token = watcher.mirror.token
      watcher.client.close()
      try server.eventually { $0.streams.isEmpty }
      let resumed = try Watcher(
        server.connect(), WatchWidgetsRequest(resumeToken: token, upcomingEntries: 3),
        mirror: {
          var mirror = watcher.mirror
          mirror.reopen()
          return mirror
        }())
      try resumed.catchUp(to: client.stats().revision)
      #expect(try wakeDate(server) == next)
    }
  }

  @Test func `each of very many widgets has its upcoming entries`() async throws {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      try Self.declare(client)
      for number in 0..<300 { try client.create("w\(number)", kind: "hourly") }
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest(upcomingEntries: 60)).sync()
      while watcher.mirror.upcoming.count < 300 { try watcher.step() }
      var last = try #require(watcher.mirror.upcoming.values.first?.entries.last?.entry.date)
      #expect(try wakeDate(server) == last)
      // A change of the kind changes all of them at once.
      try Self.declare(client, every: 2)
      _ = try watcher.nextChanges()
      while watcher.mirror.upcoming.count < 300 { try watcher.step() }
      last = try #require(watcher.mirror.upcoming.values.first?.entries.last?.entry.date)
      #expect(try wakeDate(server) == last)
    }
  }

  @Test func `the daemon wakes for entries that embeds show`() async throws {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      try Self.declare(client)
      let frame = Kind(
        name: try .make("frame"),
        content: [
          ContentTemplate(
            root: NodeTemplate(
              id: "frame", type: .embed, properties: ["widget": Binding(value: .string("a"))]))
        ])
      _ = try client.call(
        "ApplyKinds", ApplyKindsRequest(provider: "test2", kinds: [frame]),
        as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
      try client.create("a", kind: "hourly")
      try client.create("f", kind: "frame")
      let next = try #require(try client.get("a").timeline?.nextTime)
      let watcher = try Watcher(
        server.connect(),
        WatchWidgetsRequest(selector: Selector(ids: [try .make("f")]), upcomingEntries: 3)
      ).sync()
      #expect(watcher.mirror.widgets[try .make("f")]?.content?.nodes.count == 2)
      #expect(try wakeDate(server) == next)
    }
  }

  @Test func `a widget with upcoming entries still becomes stale on time`() async throws {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      let stale = Timestamp.fakeStart.advanced(by: .seconds(3_600))
      try client.create("a", kind: "free")
      try client.patch(
        "a",
        WidgetPatch(timeline: Timeline(entries: [], policy: .never, staleTime: stale)))
      #expect(try wakeDate(server) == stale)
    }
  }

  @Test(arguments: [-1, 61]) func `a number of upcoming entries above the limit is refused`(
    _ count: Int
  ) async throws {
    try await withServer(clock: .fake()) { server in
      let status = try #require(
        try server.connect().watch(WatchWidgetsRequest(upcomingEntries: count)).end())
      #expect(status.code == .invalidArgument)
      #expect(status.fieldViolations.map(\.field) == ["upcoming_entries"])
    }
  }
}
