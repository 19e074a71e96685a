import Logging
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// Limits at their edge: the last one that fits is served, and the refusal of the next one names
/// the limit.
@Suite struct `A limit` {
  @Test func `a connection above the user's limit is closed until another ends`() async throws {
    try await withServer(limits: .with { $0.connectionsPerUIDMax = 2 }) { server in
      let first = try server.connect()
      #expect(try first.health() == .serving)
      var second: RawClient? = try server.connect()
      #expect(try second?.health() == .serving)
      let third = try server.connect()
      #expect(try third.nextFrame() == nil)
      let stats = try first.stats()
      #expect(stats.counters["connections_refused"] == 1)
      #expect(stats.usage["connections_per_uid_max"] == 2)
      #expect(stats.recentErrors.map(\.reason) == ["QUOTA_EXCEEDED"])
      #expect(stats.recentErrors.first?.area == "connections")
      #expect(stats.recentErrors.first?.message.contains("connections_per_uid_max = 2") == true)
      second = nil
      try waitUntil { try first.stats().connections == 1 }
      #expect(try server.connect().health() == .serving)
    }
  }

  @Test func `a connection above the limit for all users is closed`() async throws {
    try await withServer(limits: .with { $0.connectionsMax = 1 }) { server in
      let first = try server.connect()
      #expect(try first.health() == .serving)
      #expect(try server.connect().nextFrame() == nil)
      #expect(try first.health() == .serving)
    }
  }

  @Test func `a stream above the user's limit is refused`() async throws {
    try await withServer(limits: .with { $0.subscriptionsPerUIDMax = 2 }) { server in
      let client = try server.connect()
      let first = try Watcher(client).sync()
      let events = try server.connect().watchEvents()
      guard case .opened? = try events.next() else { throw TestFault("not opened") }
      let status = try #require(try server.connect().watch().end())
      #expect(status.code == .resourceExhausted)
      #expect(status.reason == "QUOTA_EXCEEDED")
      #expect(
        status.errorInfo?.metadata == ["limit": "subscriptions_per_uid_max", "maximum": "2"])
      try client.unsubscribe(first.mirror.subscriptionID)
      try Watcher(server.connect()).sync()
    }
  }

  @Test func `a stream above the limit for all users is refused`() async throws {
    try await withServer(limits: .with { $0.subscriptionsMax = 2 }) { server in
      let client = try server.connect()
      let first = try Watcher(client).sync()
      let events = try server.connect().watchEvents()
      guard case .opened? = try events.next() else { throw TestFault("not opened") }
      let refused = ["limit": "subscriptions_max", "maximum": "2"]
      for status in [
        try server.connect().watch().end(), try server.connect().watchEvents().end(),
        try server.connect().watchHealth("").end(), try RawProvider(server.connect()).stream.end(),
      ] {
        #expect(status?.code == .resourceExhausted)
        #expect(status?.reason == "QUOTA_EXCEEDED")
        #expect(status?.errorInfo?.metadata == refused)
        #expect(status?.errorInfo?.domain == "widgetd")
      }
      let stats = try client.stats()
      #expect(stats.limits["subscriptions_max"] == 2 && stats.usage["subscriptions_max"] == 2)
      try client.unsubscribe(first.mirror.subscriptionID)
      try Watcher(server.connect()).sync()
      withExtendedLifetime(events) {}
    }
  }

  @Test func `a stream of an owner has a place while clients have all of theirs`() async throws {
    try await withServer(limits: .with { $0.subscriptionsMax = 8 }) { server in
      try server.onLoop { service in
        let peer = Peer(uid: 1, gid: 1, pid: 1)
        for _ in 0..<7 { try service.context.reserveStream(of: peer, .client, bytes: 0) }
        #expect(throws: RPCStatus.quotaExceeded("subscriptions_max", 8)) {
          try service.context.reserveStream(of: peer, .client, bytes: 0)
        }
      }
      let client = try server.connect()
      let watcher = try Watcher(client).sync()
      try client.unsubscribe(watcher.mirror.subscriptionID)
      let events = try client.watchEvents()
      guard case .opened(let opened)? = try events.next() else { throw TestFault("not opened") }
      try client.unsubscribe(opened.subscriptionID)
      try RawProvider(server.connect()).open()
    }
  }

  @Test func `more keys than a quota allows are refused before they are sorted`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let keys = (0..<70_000).reversed().map { ValueMap.Entry(key: "\($0)", value: .null) }
      let snapshot = GetSnapshotRequest(kind: .help, parameters: ValueMap(keys))
      let status = try client.refusal(
        "GetSnapshot", snapshot, service: "widgetd.v1.TimelineService")
      #expect(status.errorInfo?.metadata == ["limit": "widget_bytes_max", "maximum": "1048576"])
      let event = SendEventRequest(
        widgetID: try .make("w"), name: "click", payload: ValueMap(Array(keys.prefix(4_097))))
      let refused = try client.refusal("SendEvent", event)
      #expect(
        refused.errorInfo?.metadata == ["limit": "event_payload_bytes_max", "maximum": "65536"])
    }
  }

  @Test(arguments: ["ListWidgets", "GetWidget", "RefreshWidgets"])
  func `a client's request of more than a MiB is refused before it is read`(method: String)
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      // An unknown field.
      let field: [UInt8] = [0xfa, 0x3f, 0x81, 0x80, 0x40]
      let payload = field + [UInt8](repeating: 0, count: (1 << 20) + 1)
      let status = try client.refusal(method, payload: payload)
      #expect(status.errorInfo?.reason == "MESSAGE_TOO_LARGE")
      #expect(status.message.contains("takes at most 1048576"))
    }
  }

  @Test func `progress messages of many streams come less often`() {
    let wanted = TimeAmount.milliseconds(100)
    #expect(Subscription.progressInterval(wanted, streams: 100) == wanted)
    #expect(Subscription.progressInterval(wanted, streams: 16_000) == .seconds(16))
  }

  @Test func `a stream whose selectors exceed the user's memory is refused`() async throws {
    @Sendable func selector(_ number: Int) -> Selector {
      Selector(expression: "data.text.matches('[a-c]{300}') || data.n == \(number)")
    }
    let bytes = WidgetStore(image: StoreImage(epoch: 1), isRevocable: false)
      .expressionBytes(of: selector(1))
    // The sizes of arrays depend on the allocator.
    let maximum = 2 * bytes + bytes / 4
    try await withServer(limits: .with { $0.selectorMemoryBytesPerUIDMax = maximum }) { server in
      let client = try server.connect()
      let first = try Watcher(client, WatchWidgetsRequest(selector: selector(1))).sync()
      let events = try server.connect().watchEvents(WatchEventsRequest(selector: selector(2)))
      guard case .opened? = try events.next() else { throw TestFault("not opened") }
      let request = WatchWidgetsRequest(selector: selector(3))
      let status = try #require(try server.connect().watch(request).end())
      #expect(status.code == .resourceExhausted)
      #expect(
        status.errorInfo?.metadata
          == ["limit": "selector_memory_bytes_per_uid_max", "maximum": "\(maximum)"])
      // A stream without an expression takes nothing.
      try Watcher(server.connect()).sync()
      let usage = try client.stats().usage["selector_memory_bytes_per_uid_max"] ?? 0
      #expect((UInt64(bytes)...UInt64(maximum)).contains(usage))
      try client.unsubscribe(first.mirror.subscriptionID)
      try Watcher(server.connect(), request).sync()
    }
  }

  @Test func `a stream whose filter exceeds the memory for all users is refused`() async throws {
    try await withServer(limits: .with { $0.selectorMemoryBytesTotalMax = 10_000 }) { server in
      let client = try server.connect()
      let request = WatchEventsRequest(names: [String(repeating: "x", count: 6_000)])
      let first = try client.watchEvents(request)
      guard case .opened? = try first.next() else { throw TestFault("not opened") }
      let status = try #require(try server.connect().watchEvents(request).end())
      #expect(status.reason == "QUOTA_EXCEEDED")
      #expect(
        status.errorInfo?.metadata
          == ["limit": "selector_memory_bytes_total_max", "maximum": "10000"])
      let usage = try client.stats().usage["selector_memory_bytes_total_max"] ?? 0
      #expect((6_000...6_100).contains(usage))
      client.close()
      try server.eventually { $0.context.streamAccounts.selectorBytes == 0 }
      guard case .opened? = try server.connect().watchEvents(request).next() else {
        throw TestFault("not opened")
      }
    }
  }

  @Test func `the set of a filter's ids counts as memory of its user`() async throws {
    let selector = Selector(ids: try (0..<100).map { try .make("w\($0)") })
    try await withServer { server in
      let client = try server.connect()
      let stream = try client.watchEvents(WatchEventsRequest(selector: selector))
      guard case .opened? = try stream.next() else { throw TestFault("not opened") }
      let used = try server.onLoop { $0.context.streamAccounts.highestSelectorBytes }
      // Each id is in the list (16 bytes), in the table of the watched ids (48), and in the set.
      #expect(used == 100 * (16 + 48) + selector.idSetBytes)
      #expect(selector.idSetBytes == 100 * 48)
      client.close()
      try server.eventually { $0.context.streamAccounts.highestSelectorBytes == 0 }
    }
  }

  @Test func `a stream whose ids, labels, keys or names exceed the user's memory is refused`()
    async throws
  {
    let long = String(repeating: "x", count: 10_000)
    let selectors = [
      Selector(ids: try (0..<100).map { try .make("w\($0)x\(long.prefix(100))") }),
      Selector(kinds: try (0..<100).map { try .make("k\($0)x\(long.prefix(50))") }),
      Selector(labels: [LabelRequirement(key: long, operator: .notExists)]),
      Selector(labels: [LabelRequirement(key: "a", operator: .isIn, values: [long])]),
    ]
    let mask = try ReadMask(paths: ["data." + long])
    let maximum = 10_000
    try await withServer(limits: .with { $0.selectorMemoryBytesPerUIDMax = maximum }) { server in
      func expectRefusal(_ status: RPCStatus?) {
        #expect(
          status?.errorInfo?.metadata
            == ["limit": "selector_memory_bytes_per_uid_max", "maximum": "\(maximum)"])
      }
      for selector in selectors {
        expectRefusal(try server.connect().watch(WatchWidgetsRequest(selector: selector)).end())
        expectRefusal(
          try server.connect().watchEvents(WatchEventsRequest(selector: selector)).end())
      }
      expectRefusal(try server.connect().watch(WatchWidgetsRequest(readMask: mask)).end())
      expectRefusal(try server.connect().watchEvents(WatchEventsRequest(names: [long])).end())
      // The memory of all streams counts, and the end of a stream frees it.
      let half = WatchEventsRequest(names: [String(long.prefix(6_000))])
      let client = try server.connect()
      let first = try client.watchEvents(half)
      guard case .opened? = try first.next() else { throw TestFault("not opened") }
      let used = try server.onLoop { $0.context.streamAccounts.highestSelectorBytes }
      #expect((6_000...6_100).contains(used))
      expectRefusal(try server.connect().watchEvents(half).end())
      client.close()
      try server.eventually { $0.context.streamAccounts.highestSelectorBytes == 0 }
      guard case .opened? = try server.connect().watchEvents(half).next() else {
        throw TestFault("not opened")
      }
    }
  }

  @Test func `a stream above the connection's limit is refused`() async throws {
    try await withServer(limits: .with { $0.streamsPerConnectionMax = 2 }) { server in
      let client = try server.connect()
      let first = try Watcher(client).sync()
      try Watcher(client).sync()
      #expect(try client.watch().end()?.code == .resourceExhausted)
      try client.unsubscribe(first.mirror.subscriptionID)
      try Watcher(client).sync()
    }
  }

  @Test func `a selector or mask with too many terms is refused`() async throws {
    try await withServer(limits: .with { $0.selectorTermsMax = 10 }) { server in
      let client = try server.connect()
      func request(_ count: Int) throws -> WatchWidgetsRequest {
        WatchWidgetsRequest(
          selector: Selector(
            ids: try (0..<count - 5).map { try .make("w\($0)") }, kinds: [try .make("k")],
            labels: [LabelRequirement(key: "x", operator: .isIn, values: ["1", "2"])]),
          readMask: try ReadMask(paths: ["data.x"]))
      }
      guard case .opened? = try client.watch(request(10)).next() else {
        throw TestFault("ten terms were refused")
      }
      let status = try #require(try client.watch(request(11)).end())
      #expect(status.code == .resourceExhausted)
      #expect(status.errorInfo?.metadata["limit"] == "selector_terms_max")
      let names = try client.watchEvents(WatchEventsRequest(names: (0..<11).map { "e\($0)" })).end()
      #expect(names?.errorInfo?.metadata["limit"] == "selector_terms_max")
      // A list or a change with such a selector costs as much for each widget as a watch does.
      let list = try client.refusal(
        "ListWidgets",
        ListWidgetsRequest(selector: request(11).selector, readMask: request(11).readMask))
      #expect(list.errorInfo?.metadata["limit"] == "selector_terms_max")
      let presence = try client.refusal(
        "SetPresence", SetPresenceRequest(target: .selector(request(12).selector), action: .hide))
      #expect(presence.errorInfo?.metadata["limit"] == "selector_terms_max")
      // The same holds for lists outside of selectors. The refusal names the field.
      let ids = try (0..<11).map { try WidgetID.make("w\($0)") }
      let mask = try ReadMask(paths: (0..<11).map { "data.k\($0)" })
      for (refusal, field) in [
        (
          try client.refusal(
            "SetPresence", SetPresenceRequest(target: .ids(ids), action: .hide)), "ids"
        ),
        (try client.refusal("RefreshWidgets", RefreshWidgetsRequest(.ids(ids))), "ids"),
        (
          try client.refusal("GetWidget", GetWidgetRequest(id: ids[0], readMask: mask)), "read_mask"
        ),
      ] {
        #expect(refusal.errorInfo?.metadata["limit"] == "selector_terms_max")
        #expect(refusal.fieldViolations.map(\.field) == [field])
        #expect(refusal.message.hasPrefix("\(field): "))
      }
      #expect(names?.fieldViolations.map(\.field) == ["names"])
      #expect(status.fieldViolations.map(\.field) == ["selector"])
    }
  }

  @Test func `a widget above the user's limit is refused`() async throws {
    try await withServer(limits: .with { $0.store.widgetsPerUIDMax = 2 }) { server in
      let client = try server.connect()
      try client.create("a")
      try client.create("b")
      let status = try client.refusal(
        "CreateWidget",
        CreateWidgetRequest(widget: WidgetSpec(id: .make("c"), kind: .make("clock"))))
      #expect(status.code == .resourceExhausted)
      #expect(status.reason == "QUOTA_EXCEEDED")
      #expect(status.errorInfo?.metadata == ["limit": "widgets_per_uid_max", "maximum": "2"])
      try client.delete("a")
      try client.create("c")
    }
  }

  @Test func `a limit that is lowered at run time counts at once`() async throws {
    let folder = try TestFolder()
    let server = try await startServer(folder: folder)
    let lowered = ServerLimits.with { $0.store.widgetsMax = 1 }
    await server.server.reconfigure(limits: lowered, logLevel: .error)
    try await onThread {
      let client = try server.connect()
      try client.create("a")
      let status = try client.refusal(
        "CreateWidget",
        CreateWidgetRequest(widget: WidgetSpec(id: .make("b"), kind: .make("clock"))))
      #expect(status.errorInfo?.metadata["limit"] == "widgets_max")
    }
    try await server.server.stop()
  }
}
