import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

@Suite struct `The list of recent errors` {
  static func time(_ seconds: Int64) -> Timestamp {
    Timestamp(seconds: seconds, nanoseconds: 0) ?? .epoch
  }

  @Test func `the list of recent errors has the same error once, with a count`() {
    var errors = RecentErrors()
    errors.add(
      .unavailable, "STORAGE_FAILED", area: "storage", uid: 7, "full", at: Self.time(1))
    errors.add(.internalError, "INTERNAL", area: "a/B", uid: 0, "lost", at: Self.time(2))
    errors.add(.unavailable, "STORAGE_FAILED", area: "storage", "still full", at: Self.time(3))
    #expect(
      errors.entries == [
        RecentError(
          time: Self.time(2), code: .internalError, reason: "INTERNAL", area: "a/B",
          message: "lost", count: 1, peerUID: 0),
        RecentError(
          time: Self.time(3), code: .unavailable, reason: "STORAGE_FAILED", area: "storage",
          message: "still full", count: 2),
      ])
  }

  @Test func `the list of recent errors keeps the last sixteen errors`() {
    var errors = RecentErrors()
    for n in 0..<20 { errors.add(.internalError, "R\(n)", area: "x", "", at: Self.time(0)) }
    #expect(errors.entries.map(\.reason) == (4..<20).map { "R\($0)" })
  }

  @Test(arguments: [
    (String(repeating: "x", count: 5_000), 1_024), (String(repeating: "é", count: 900), 1_024),
    ("short", 5), ("a\0b", 2),
  ])
  func `the list of recent errors keeps only messages that frames can have`(
    _ message: String, bytesMax: Int
  ) throws {
    var errors = RecentErrors()
    errors.add(.internalError, "R", area: "x", message, at: .epoch)
    let kept = try #require(errors.entries.first?.message)
    #expect(kept.utf8.count <= bytesMax)
    #expect(kept.utf8.count >= min(bytesMax - 4, message.utf8.count - 1))
    #expect(!kept.utf8.contains(0))
  }

  @Test func `the list of recent errors has times of a fake clock`() async throws {
    let log = TestLog.State()
    try await withServer(log: log, clock: .fake()) { server in
      let client = try server.connect()
      try server.onLoop { $0.reloads.onReload = { .init(error: "line 3") } }
      _ = try client.refusal("Reload", ReloadRequest(), service: RawClient.admin)
      log.failure = .full(path: "widgetd.db")
      _ = try client.refusal(
        "CreateWidget",
        CreateWidgetRequest(widget: WidgetSpec(id: .make("a"), kind: .make("clock"))))
      let stats = try client.stats()
      #expect(stats.recentErrors.map(\.area) == ["settings", "storage"])
      #expect(stats.recentErrors.allSatisfy { $0.time == .fakeStart })
      #expect(stats.storeFailure?.since == .fakeStart)
    }
  }

  @Test func `the list of recent errors has no mistakes of callers`() async throws {
    try await withServer { server in
      let client = try server.connect()
      _ = try client.refusal("GetWidget", GetWidgetRequest(id: .make("none")))
      try server.onLoop { $0.reloads.onReload = { .init(error: "line 3") } }
      _ = try client.refusal("Reload", ReloadRequest(), service: RawClient.admin)
      let errors = try client.stats().recentErrors
      #expect(errors.map(\.reason) == ["CONFIGURATION_INVALID"])
      #expect(errors.first?.area == "settings")
      #expect(errors.first?.peerUID == Peer.current.uid)
      #expect(errors.first?.message.hasSuffix("line 3") == true)
    }
  }

  @Test func `the list of recent errors has changes that cannot be stored`() async throws {
    try await withServer { server in
      // The daemon itself does not try to store something.
      try server.onLoop { $0.storage.probePause = .hours(1) }
      let client = try server.connect()
      server.log.failure = .full(path: "/disk")
      for _ in 0..<2 {
        _ = try client.refusal(
          "CreateWidget", CreateWidgetRequest(widget: WidgetSpec(kind: .make("clock"))))
      }
      let errors = try client.stats().recentErrors
      #expect(errors.map(\.reason) == ["STORAGE_FAILED"])
      #expect(errors.map(\.count) == [2])
      #expect(errors.map(\.area) == ["storage"])
      #expect(errors.map(\.peerUID) == [Peer.current.uid])
    }
  }

  @Test func `the list of recent errors has reached quotas of calls and streams`() async throws {
    let limits = ServerLimits.with {
      $0.store.widgetsMax = 1
      $0.subscriptionsPerUIDMax = 1
    }
    try await withServer(limits: limits) { server in
      let client = try server.connect()
      for id in ["a", "b", "c"] {
        let request = CreateWidgetRequest(
          widget: WidgetSpec(id: try .make(id), kind: try .make("clock")))
        if id == "a" {
          try client.create(id)
        } else {
          #expect(try client.refusal("CreateWidget", request).reason == "QUOTA_EXCEEDED")
        }
      }
      try Watcher(client).sync()
      #expect(try server.connect().watch().end()?.reason == "QUOTA_EXCEEDED")
      let stats = try client.stats()
      #expect(
        stats.recentErrors.map(\.area) == [
          "widgetd.v1.WidgetService/CreateWidget", "widgetd.v1.WidgetService/WatchWidgets",
        ])
      #expect(stats.recentErrors.map(\.count) == [2, 1])
      #expect(stats.recentErrors.map(\.peerUID) == [Peer.current.uid, Peer.current.uid])
      #expect(stats.recentErrors.map(\.code) == [.resourceExhausted, .resourceExhausted])
      #expect(stats.counters["calls_failed"] == 3)
      #expect(stats.usage["widgets_max"] == 1)
      #expect(stats.usage["subscriptions_per_uid_max"] == 1)
    }
  }

  @Test func `the list of recent errors is empty without errors`() async throws {
    try await withServer { server in
      let stats = try server.connect().stats()
      #expect(stats.recentErrors.isEmpty)
      #expect(stats.memoryBytes > 1 << 20)
    }
  }

  @Test(arguments: [("100 42 7 1 0 3 0\n", 42), ("100", nil), ("", nil), ("a b", nil)])
  func `resident pages are the second number of statm`(_ text: String, pages: UInt64?) {
    #expect(ResidentMemory.pages(in: text) == pages)
  }
}
