import Testing
import WidgetCore
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

  private func text(_ shown: ShownEntry?) -> String? { text(shown?.content) }

  private func text(_ content: Content?) -> String? { text(content?.nodes.first) }

  /// The text of an hourly widget in the embed `slide`.
  private func innerText(_ content: Content?) -> String? {
    text(content?.nodes.first { $0.id == "slide::text" })
  }

  private func text(_ node: Node?) -> String? {
    guard case .string(let text)? = node?.properties["text"] else { return nil }
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

  @Test func `entries come again after a change that the read mask leaves out`() async throws {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      try Self.declare(client)
      try client.create("a", kind: "hourly")
      try client.create("plain", kind: "nothing")
      let mask = try ReadMask(paths: ["labels"])
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(readMask: mask, upcomingEntries: 3)
      ).sync()
      let (id, last) = try (WidgetID.make("a"), WidgetID.make("last"))
      #expect(watcher.mirror.upcoming[id] != nil)
      try client.set("plain", ["n": .int(1)])
      try client.set("a", ["title": .string("two")])
      try client.create("last", kind: "nothing")
      var changed: [WidgetID] = []
      while !changed.contains(last) {
        changed += try watcher.nextChanges().map { change in
          switch change {
          case .added(let widget, _): widget.id
          case .updated(let update): update.id
          case .removed(let id, _): id
          }
        }
      }
      #expect(changed == [id, last], "a widget without entries has no empty update")
      while watcher.mirror.upcoming[id] == nil { try watcher.step() }
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

  /// Declares a kind that shows another widget.
  private static func declareFrame(of other: String, _ client: RawClient) throws {
    let frame = Kind(
      name: try .make("frame"),
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "frame", type: .embed, properties: ["widget": Binding(value: .string(other))]))
      ])
    _ = try client.call(
      "ApplyKinds", ApplyKindsRequest(provider: "test2", kinds: [frame]),
      as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
  }

  /// A search for the date of an embed costs more than 20 steps.
  @Test(arguments: [20, 150_000])
  func `the daemon wakes at each change if the search in embeds costs too much`(
    _ costMax: Int
  ) async throws {
    let limits = ServerLimits.with { $0.store.contentCostMax = costMax }
    try await withServer(limits: limits, clock: .fake()) { server in
      let client = try server.connect()
      try Self.declare(client)
      try Self.declareFrame(of: "d", client)
      try client.create("h", kind: "hourly")
      try client.create("d", kind: "daily")
      try client.create("f", kind: "frame")
      let selector = Selector(ids: [try .make("f")])
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(selector: selector, upcomingEntries: 3)
      ).sync()
      let dates = try ["h", "d"].map { try #require(try client.get($0).timeline?.nextTime) }
      #expect(dates[0] < dates[1])
      #expect(try wakeDate(server) == (costMax == 20 ? dates[0] : dates[1]))
      watcher.client.close()
    }
  }

  @Test func `the daemon wakes for entries that embeds show`() async throws {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      try Self.declare(client)
      try Self.declareFrame(of: "a", client)
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

  @Test func `the daemon wakes for an entry with a new embed, and sends its present content`()
    async throws
  {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      try Self.declare(client)
      let slides = Kind(
        name: try .make("slides"),
        content: [
          ContentTemplate(
            root: NodeTemplate(
              id: "slide", type: .embed, properties: ["widget": Binding("entry.widget")]))
        ],
        entry: [Field(name: "widget", type: .string)])
      _ = try client.call(
        "ApplyKinds", ApplyKindsRequest(provider: "test2", kinds: [slides]),
        as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
      try client.create("a", kind: "hourly", data: ["title": .string("one")])
      try client.create("plain")
      try client.create("s", kind: "slides")
      let date = Timestamp.fakeStart.advanced(by: .seconds(36_000))
      func show(_ shown: [(Timestamp, String)]) throws {
        let entries = shown.map { date, widget in
          TimelineEntry(date: date, values: ["widget": .string(widget)])
        }
        try client.patch(
          "s", WidgetPatch(timeline: .some(Timeline(entries: entries, policy: .never))))
      }
      try show([(.fakeStart, ""), (date, "a")])
      let id = try WidgetID.make("s")
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(selector: Selector(ids: [id]), upcomingEntries: 3)
      ).sync()
      let sent = try #require(watcher.mirror.upcoming[id]?.entries.first)
      #expect(sent.entry.date == date && innerText(sent.content)?.hasPrefix("one ") == true)
      // Until then, the other widget changes by time and by a call, and the watch gets nothing.
      #expect(try wakeDate(server) == date)
      try client.set("a", ["title": .string("two")])
      #expect(try wakeDate(server) == date)
      _ = try client.call(
        "SetTime", SetTimeRequest(.time(date)), as: SetTimeResponse.self,
        service: "widgetd.v1.AdminService")
      _ = try watcher.nextChanges()
      #expect(
        innerText(watcher.mirror.widgets[id]?.content) == "two \(RFC3339.text(date))")
      // Entries with the same embed are known.
      try show([(date, "plain"), (date.advanced(by: .seconds(36_000)), "plain")])
      #expect(try wakeDate(server) == nil)
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
