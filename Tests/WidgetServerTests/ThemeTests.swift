import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// The theme over the wire: read, changed, and sent to watches that ask for it.
@Suite struct `The theme` {
  private static let catalog = "widgetd.v1.CatalogService"
  private static func color(_ blue: UInt8) -> ThemeValue {
    .color(ThemeColors(ThemeColor(red: 1, green: 2, blue: blue)))
  }

  private func get(_ client: RawClient) throws -> ThemeState {
    try client.call(
      "GetTheme", GetThemeRequest(), as: GetThemeResponse.self, service: Self.catalog
    ).theme
  }

  @discardableResult
  private func update(
    _ request: UpdateThemeRequest, _ client: RawClient
  ) throws -> UpdateThemeResponse {
    try client.call(
      "UpdateTheme", request, as: UpdateThemeResponse.self, service: Self.catalog)
  }

  @Test func `the theme is the standard theme with the set values`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let standard = try get(client)
      #expect(standard.theme == .standard)
      #expect(standard.overridden.isEmpty && standard.revision == 0)
      let answer = try update(
        UpdateThemeRequest(set: ["color.primary": Self.color(3), "offset.mine": .offset(6)]),
        client)
      #expect(answer.changed && answer.revision == 1)
      let now = try get(client)
      #expect(now == answer.theme)
      #expect(now.overridden == ["color.primary", "offset.mine"])
      #expect(now.values["color.primary"] == Self.color(3))
      #expect(now.values.count == Theme.standard.values.count + 1)
      let dry = try update(UpdateThemeRequest(replace: true, validateOnly: true), client)
      #expect(dry.changed && dry.theme.overridden.isEmpty)
      #expect(try get(client) == now)
    }
  }

  @Test func `the theme refuses a bad value with its token, and an old etag`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let bad = try client.refusal(
        "UpdateTheme", UpdateThemeRequest(set: ["offset.basic": .offset(-1)]),
        service: Self.catalog)
      #expect(bad.code == .invalidArgument)
      #expect(bad.fieldViolations.map(\.field) == ["set[offset.basic]"])
      #expect(bad.fieldViolations.first?.description.contains("write points") == true)
      let etag = try get(client).etag
      try update(UpdateThemeRequest(set: ["offset.basic": .offset(6)], etag: etag), client)
      let old = try client.refusal(
        "UpdateTheme", UpdateThemeRequest(replace: true, etag: etag), service: Self.catalog)
      #expect(old.code == .aborted && old.reason == "ETAG_MISMATCH")
      let strange = try client.refusal(
        "UpdateTheme", UpdateThemeRequest(replace: true, etag: "x"), service: Self.catalog)
      #expect(strange.reason == "ETAG_MISMATCH")
      #expect(try get(client).overridden == ["offset.basic"])
    }
  }

  @Test func `only owners can change the theme`() async throws {
    try await withServer(policy: .client) { server in
      let client = try server.connect()
      #expect(try get(client).theme == .standard)
      let refusal = try client.refusal(
        "UpdateTheme", UpdateThemeRequest(replace: true), service: Self.catalog)
      #expect(refusal.code == .permissionDenied)
    }
  }

  @Test func `the theme comes after opened, and before later changes`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", data: ["n": .int(1)])
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest(includeTheme: true))
      let without = try Watcher(server.connect()).sync()
      guard case .opened = try watcher.step(), case .theme(let first) = try watcher.step() else {
        throw TestFault("the theme does not follow opened")
      }
      #expect(first.theme == .standard && first.etag.isEmpty)
      try watcher.sync()
      for blue in 1...3 as ClosedRange<UInt8> {
        let answer = try update(UpdateThemeRequest(set: ["color.x": Self.color(blue)]), client)
        guard case .theme(let theme) = try watcher.step() else { throw TestFault("no theme") }
        #expect(theme.values == answer.theme.values && theme.revision == answer.revision)
        try client.set("a", ["n": .int(Int64(blue) + 1)])
        guard case .updated(let update)? = try watcher.nextChanges().first else {
          throw TestFault("no change")
        }
        // The theme changes no content.
        #expect(update.setData == ["n": .int(Int64(blue) + 1)])
        #expect(update.content?.setNodes.count == 1)
      }
      try without.catchUp(to: client.stats().revision)
      #expect(without.mirror.theme == nil)
    }
  }

  @Test(arguments: [SliceClock.makeStill, SliceClock.makeOver])
  func `the theme reaches a resumed or delayed reader once, in its present state`(
    makeClock: @escaping @Sendable () -> () -> NIODeadline
  ) async throws {
    try await withServer { server in
      try server.onLoop { service in
        service.context.work.clock = makeClock()
        service.streams.minIntervalMax = .seconds(3_600)
      }
      let client = try server.connect()
      try client.create("a")
      let slow = try Watcher(
        server.connect(),
        WatchWidgetsRequest(minInterval: .seconds(3_600), includeTheme: true)
      ).sync()
      // The change waits for its interval; the theme does not.
      try client.set("a", ["n": .int(1)])
      try update(UpdateThemeRequest(set: ["color.x": Self.color(1)]), client)
      let last = try update(UpdateThemeRequest(set: ["color.x": Self.color(2)]), client)
      while slow.mirror.theme?.revision != last.revision { try slow.step() }
      #expect(slow.mirror.theme?.values["color.x"] == Self.color(2))

      var mirror = slow.mirror
      mirror.reopen()
      let resumed = try Watcher(
        server.connect(),
        WatchWidgetsRequest(resumeToken: slow.mirror.token, includeTheme: true),
        mirror: mirror)
      guard case .opened = try resumed.step(), case .theme(let theme) = try resumed.step() else {
        throw TestFault("the theme does not follow opened")
      }
      #expect(theme.revision == last.revision)
      try resumed.catchUp(to: last.revision)
    }
  }

  @Test func `a theme is not sent if its group fails`() async throws {
    let log = TestLog.State()
    try await withServer(log: log) { server in
      let client = try server.connect()
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(includeTheme: true)
      ).sync()
      log.failure = StorageError.full(path: "/x")
      let refusal = try client.refusal(
        "UpdateTheme", UpdateThemeRequest(set: ["color.x": Self.color(1)]), service: Self.catalog)
      #expect(refusal.reason == "STORAGE_FAILED")
      #expect(try get(client).overridden.isEmpty)
      #expect(watcher.mirror.theme?.revision == 0)
    }
  }
}
