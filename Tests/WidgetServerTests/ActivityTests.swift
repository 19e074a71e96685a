import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// Activities over the socket: the calls, the refusals, and the daemon's changes by time.
@Suite struct `An activity` {
  private static let service = "widgetd.v1.ActivityService"
  private static let start = Timestamp.fakeStart

  private static func started(
    _ client: RawClient, _ id: String = "a", _ data: ValueMap = [:], requestID: String = ""
  ) throws -> Widget {
    try client.call(
      "StartActivity",
      StartActivityRequest(
        widget: WidgetSpec(id: .make(id), kind: .activity, data: data),
        staleAfter: .seconds(60), requestID: requestID), as: StartActivityResponse.self,
      service: service
    ).widget
  }

  /// Moves the daemon's clock to some seconds after its start.
  private static func move(_ client: RawClient, to seconds: Int64) throws {
    _ = try client.call(
      "SetTime", SetTimeRequest(.time(start.advanced(by: .seconds(seconds)))),
      as: SetTimeResponse.self, service: "widgetd.v1.AdminService")
  }

  @Test func `an activity is started, updated and ended, and retries change nothing`() async throws
  {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      let first = try Self.started(client, requestID: "once")
      #expect(
        first.activity
          == Activity(
            startTime: Self.start, expireTime: Self.start.advanced(by: .seconds(28_800)),
            staleTime: Self.start.advanced(by: .seconds(60))))
      #expect(try Self.started(client, requestID: "once") == first)
      let updated = try client.call(
        "UpdateActivity",
        UpdateActivityRequest(id: first.id, patch: StatePatch(setData: ["progress": .double(0.5)])),
        as: UpdateActivityResponse.self, service: Self.service)
      #expect(updated.widget.activity?.staleTime == nil)
      #expect(updated.widget.data == ["progress": .double(0.5)])
      let end = EndActivityRequest(
        id: first.id, patch: StatePatch(setData: ["outcome": .string("succeeded")]),
        requestID: "last")
      let ended = try client.call(
        "EndActivity", end, as: EndActivityResponse.self, service: Self.service)
      #expect(ended.widget?.activity?.state == .ended)
      let again = try client.call(
        "EndActivity", end, as: EndActivityResponse.self, service: Self.service)
      #expect(again == ended)
    }
  }

  @Test func `a refused activity names the field or the reason, and has no effect`() async throws {
    try await withServer { server in
      let client = try server.connect()
      // 16 bytes for the value, and 6 for the key.
      let large: ValueMap = ["status": .string(String(repeating: "x", count: 4_097 - 22))]
      let spec = WidgetSpec(id: try .make("a"), kind: .activity, data: large)
      `A call`.expect(
        try client.refusal(
          "StartActivity", StartActivityRequest(widget: spec), service: Self.service),
        .invalidArgument, "INVALID_FIELD", field: "widget.data")
      #expect(try client.list().widgets.isEmpty)
      _ = try Self.started(client)
      let id = try WidgetID.make("a")
      let revision = try client.list().revision
      `A call`.expect(
        try client.refusal(
          "UpdateActivity", UpdateActivityRequest(id: id, patch: StatePatch(setData: large)),
          service: Self.service), .invalidArgument, "INVALID_FIELD", field: "patch.set_data")
      `A call`.expect(
        try client.refusal(
          "EndActivity", EndActivityRequest(id: id, dismissal: .after(.seconds(14_401))),
          service: Self.service), .invalidArgument, "INVALID_FIELD", field: "dismiss_after")
      #expect(try client.list().revision == revision)
      try client.create("w")
      `A call`.expect(
        try client.refusal(
          "EndActivity", EndActivityRequest(id: .make("w")), service: Self.service),
        .failedPrecondition, "NOT_AN_ACTIVITY")
      _ = try client.call(
        "EndActivity", EndActivityRequest(id: id), as: EndActivityResponse.self,
        service: Self.service)
      `A call`.expect(
        try client.refusal("UpdateActivity", UpdateActivityRequest(id: id), service: Self.service),
        .failedPrecondition, "ACTIVITY_ENDED")
    }
  }

  @Test func `an activity cannot be started without the rights of an owner`() async throws {
    try await withServer(policy: .client) { server in
      let client = try server.connect()
      `A call`.expect(
        try client.refusal(
          "StartActivity", StartActivityRequest(widget: WidgetSpec(kind: .activity)),
          service: Self.service), .permissionDenied, "PERMISSION_DENIED")
    }
  }

  @Test func `watchers see that an activity is stale, ends and is removed on time`() async throws {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      let watcher = try Watcher(server.connect()).sync()
      _ = try Self.started(client)
      try Self.move(client, to: 60)
      #expect(try client.get("a").isStale)
      try Self.move(client, to: 28_800)
      #expect(try client.get("a").activity?.state == .expired)
      try watcher.catchUp(to: client.list().revision)
      #expect(watcher.mirror.widgets.values.first?.activity?.state == .expired)
      try Self.move(client, to: 28_800 + 14_400)
      #expect(try client.list().widgets.isEmpty)
      try watcher.catchUp(to: client.list().revision)
      #expect(watcher.mirror.widgets.isEmpty)
      // Each of them was stored.
      #expect(server.log.image.records.isEmpty)
      #expect(server.log.image.tombstones.count == 1)
    }
  }

  @Test func `an activity is updated to the present time when the daemon starts`() async throws {
    let log = TestLog.State()
    try await withServer(log: log, clock: .fake()) { server in
      let client = try server.connect()
      _ = try Self.started(client, "a")
      _ = try Self.started(client, "b")
      try Self.move(client, to: 3)
      _ = try client.call(
        "EndActivity", EndActivityRequest(id: .make("b"), dismissal: .after(.seconds(100))),
        as: EndActivityResponse.self, service: Self.service)
    }
    let revision = log.image.revision
    let later = ServiceClock.fake(at: Self.start.advanced(by: .seconds(200)))
    try await withServer(log: log, clock: later) { server in
      let widgets = try server.connect().list().widgets
      #expect(widgets.keys.map(\.rawValue) == ["a"])
      #expect(widgets.values.first?.isStale == true)
      // The daemon may use two turns.
      #expect(try (1...2).contains(server.connect().list().revision - revision))
    }
  }

  @Test func `an activity waits for a store that takes no changes`() async throws {
    try await withServer(clock: .fake()) { server in
      let client = try server.connect()
      _ = try Self.started(client)
      server.log.failure = .full(path: "/disk")
      try Self.move(client, to: 100_000)
      #expect(try client.get("a").activity?.state == .active)
      server.log.failure = nil
      try server.eventually { $0.context.store.count == 0 }
      #expect(server.log.image.records.isEmpty)
    }
  }

  @Test func `a date that is still to come outlives a pause of changes`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let id = try WidgetID.make("a")
      _ = try client.call(
        "StartActivity",
        StartActivityRequest(
          widget: WidgetSpec(id: id, kind: .activity), staleAfter: .milliseconds(500)),
        as: StartActivityResponse.self, service: Self.service)
      let waitingCount = try server.onLoop { service in
        _ = service.context.pause.begin()
        service.turn.open()
        service.turn.finish()
        defer { service.context.pause.end() }
        return service.context.pause.waitingCount
      }
      try #require(waitingCount == 1, "nothing would set the timer again")
      try server.eventually { $0.context.store.widget(id)?.isStale == true }
    }
  }
}
