import Testing
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTransport

@testable import WidgetServer

@Suite struct Health {
  private static let service = "grpc.health.v1.Health"

  @Test func `the health service lists every service`() async throws {
    try await withServer(policy: .nobody) { server in
      let response = try server.connect().call(
        "List", HealthListRequest(), as: HealthListResponse.self, service: Self.service)
      let serving = HealthCheckResponse(status: .serving)
      #expect(
        response.statuses == [
          "": serving, "widgetd.v1.WidgetService": serving, "widgetd.v1.AdminService": serving,
          "widgetd.v1.CatalogService": serving, "widgetd.v1.ProviderService": serving,
          "widgetd.v1.BlobService": serving, "widgetd.v1.TimelineService": serving,
          "widgetd.v1.ActivityService": serving, "widgetd.v1.Store": serving,
        ])
    }
  }

  @Test(arguments: [
    ("", HealthCheckResponse.ServingStatus.serving), ("widgetd.v1.WidgetService", .serving),
    ("nope", .serviceUnknown),
  ])
  func `watchers of health get each change`(
    service: String, expected: HealthCheckResponse.ServingStatus
  ) async throws {
    try await withServer(policy: .nobody) { server in
      let stream = try server.connect().watchHealth(service)
      #expect(try stream.next()?.status == expected)
    }
  }

  @Test func `a watch keeps little of a service's long name`() async throws {
    #expect(HealthWatches.services.allSatisfy { $0.utf8.count < HealthWatches.serviceBytesMax })
    try await withServer(policy: .nobody) { server in
      // One character of many bytes.
      let client = try server.connect()
      let stream = try client.watchHealth("a" + String(repeating: "\u{301}", count: 100_000))
      #expect(try stream.next()?.status == .serviceUnknown)
      let kept = try server.onLoop { $0.health.longestService }
      #expect((1...2 * HealthWatches.serviceBytesMax).contains(kept))
      withExtendedLifetime(client) {}
    }
  }

  @Test func `watchers of health get NOT_SERVING when the server stops`() async throws {
    let server = try await startServer(folder: TestFolder())
    let stream = try await onThread {
      let stream = try server.connect().watchHealth("")
      #expect(try stream.next()?.status == .serving)
      return UncheckedBox(stream)
    }
    try await server.server.stop()
    #expect(try stream.value.next()?.status == .notServing)
    #expect(throws: RPCStatus.shuttingDown) { try stream.value.next() }
  }

  @Test func `health is NOT_SERVING while the store takes no changes`()
    async throws
  {
    try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
      let client = try server.connect()
      let stream = try server.connect().watchHealth(HealthCheckRequest.store)
      #expect(try stream.next()?.status == .serving)
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest()).sync()
      #expect(watcher.mirror.storeFailure == nil)
      let full = StorageError.full(path: "/db")
      server.log.failure = full
      #expect(throws: RPCStatus.self) { try client.create("a") }
      #expect(try stream.next()?.status == .notServing)
      while watcher.mirror.storeFailure == nil { _ = try watcher.step() }
      #expect(watcher.mirror.storeFailure?.message == "\(full)")
      #expect(try client.stats().storeFailure == watcher.mirror.storeFailure)
      // The daemon as a whole can be read.
      #expect(try client.health() == .serving)
      let late = try Watcher(server.connect(), WatchWidgetsRequest()).sync()
      #expect(late.mirror.storeFailure?.message == "\(full)")
      server.log.failure = nil
      _ = try client.create("a")
      #expect(try stream.next()?.status == .serving)
      while watcher.mirror.storeFailure != nil { _ = try watcher.step() }
      #expect(try client.stats().storeFailure == nil)
    }
  }

  @Test func `health is SERVING again as soon as the disk has room`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let stream = try server.connect().watchHealth(HealthCheckRequest.store)
      #expect(try stream.next()?.status == .serving)
      server.log.failure = .full(path: "/db")
      #expect(throws: RPCStatus.self) { try client.create("a") }
      #expect(try stream.next()?.status == .notServing)
      server.log.failure = nil
      // The daemon itself tries to store something, after a while.
      #expect(try stream.next()?.status == .serving)
    }
  }

  @Test func `health is NOT_SERVING while the files of the store are missing`() async throws {
    try await withServer { server in
      let watcher = try server.connect()
      let stream = try watcher.watchHealth("")
      #expect(try stream.next()?.status == .serving)
      let client = try server.connect()
      let removed = StorageError.removed(
        path: "/db", detail: "was removed", lastRevision: 0, copy: .failed(reason: "no room"))
      // A full store still serves readers.
      server.log.failure = .full(path: "/db")
      #expect(try client.health() == .serving)
      server.log.failure = removed
      #expect(try client.health() == .notServing)
      #expect(try stream.next()?.status == .notServing)
      server.log.failure = nil
      #expect(try client.health() == .serving)
      #expect(try stream.next()?.status == .serving)
      // A change also detects it.
      server.log.failure = removed
      let refusal = #expect(throws: RPCStatus.self) {
        try client.call(
          "CreateWidget", CreateWidgetRequest(widget: WidgetSpec(id: .make("a"), kind: .make("k"))),
          as: CreateWidgetResponse.self)
      }
      #expect(refusal?.errorInfo?.reason == "STORAGE_FAILED")
      #expect(try stream.next()?.status == .notServing)
      #expect(try server.onLoop { $0.context.recentErrors.entries.map(\.area) } == ["storage"])
    }
  }

  @Test func `everybody is told when the copy of a removed store is complete`() async throws {
    try await withServer { server in
      func fail(_ copy: SavedCopy) {
        server.log.failure = .removed(
          path: "/db", detail: "was removed", lastRevision: 0, copy: copy)
      }
      let client = try server.connect()
      fail(.underWay(path: "/db.saved-0"))
      #expect(try client.health() == .notServing)
      let begun = try server.onLoop { ($0.storage.version, $0.storage.failure?.message ?? "") }
      #expect(begun.1.contains("is saving everything up to revision 0 to /db.saved-0"))
      // The same state is not told twice.
      #expect(try client.health() == .notServing)
      #expect(try server.onLoop { $0.storage.version } == begun.0)
      fail(.saved(path: "/db.saved-0"))
      #expect(try client.health() == .notServing)
      let ended = try server.onLoop { ($0.storage.version, $0.storage.failure?.message ?? "") }
      #expect(ended.0 == begun.0 + 1)
      #expect(ended.1.contains("Everything up to revision 0 is in /db.saved-0"))
      let kept = try server.onLoop { $0.context.recentErrors.entries.map(\.message) }
      #expect(kept.count == 1 && kept[0].contains("is in /db.saved-0"), "\(kept)")
    }
  }

  @Test func `another detail of a removed store is no news about its copy`() async throws {
    try await withServer { server in
      let client = try server.connect()
      var versions: [UInt64] = []
      for detail in ["was removed", "was replaced by another file"] {
        server.log.failure = .removed(
          path: "/db", detail: detail, lastRevision: 0, copy: .saved(path: "/db.saved-0"))
        #expect(try client.health() == .notServing)
        let (version, message) = try server.onLoop {
          ($0.storage.version, $0.storage.failure?.message ?? "")
        }
        versions.append(version)
        #expect(message.contains(detail))
      }
      #expect(versions == [1, 1])
    }
  }

  @Test func `a watcher that knows a full disk is told that the store was removed`() async throws {
    try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
      let client = try server.connect()
      server.log.failure = .full(path: "/db")
      #expect(throws: RPCStatus.self) { try client.create("a") }
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest()).sync()
      #expect(watcher.mirror.storeFailure?.message == "\(StorageError.full(path: "/db"))")
      let removed = StorageError.removed(
        path: "/db", detail: "was removed", lastRevision: 0, copy: .failed(reason: "no room"))
      server.log.failure = removed
      #expect(try client.health() == .notServing)
      while watcher.mirror.storeFailure?.message != "\(removed)" { _ = try watcher.step() }
    }
  }

  @Test(arguments: [
    ("subscriptions_unauthorized_per_uid_max", 2, 9), ("subscriptions_unauthorized_max", 9, 2),
  ])
  func `users who may only ask for health have few watches`(
    limit: String, perUser: Int, inAll: Int
  ) async throws {
    let limits = ServerLimits.with {
      $0.subscriptionsUnauthorizedPerUIDMax = perUser
      $0.subscriptionsUnauthorizedMax = inAll
    }
    try await withServer(limits: limits, policy: .nobody) { server in
      let clients = try (0..<3).map { _ in try server.connect() }
      for client in clients.dropLast() {
        #expect(try client.watchHealth("").next()?.status == .serving)
      }
      let status = try #require(try clients[2].watchHealth("").end())
      #expect(status.code == .resourceExhausted)
      #expect(status.errorInfo?.metadata == ["limit": limit, "maximum": "2"])
      #expect(try server.onLoop { $0.context.streamAccounts.unauthorizedCount } == 2)
      clients[0].close()
      try server.eventually { $0.context.streamAccounts.unauthorizedCount == 1 }
      #expect(try clients[2].watchHealth("").next()?.status == .serving)
    }
    // Owners have other limits.
    try await withServer(limits: limits) { server in
      for _ in 0..<3 {
        #expect(try server.connect().watchHealth("").next()?.status == .serving)
      }
      let usage = try server.connect().stats().usage
      #expect(usage["subscriptions_unauthorized_max"] == 0)
    }
  }

  @Test func `watches of health count as streams of their user`() async throws {
    try await withServer(limits: .with { $0.subscriptionsPerUIDMax = 1 }) { server in
      let first = try server.connect()
      _ = try first.watchHealth("").next()
      let second = try server.connect()
      let stream = try second.watchHealth("")
      let status = try #require(try stream.end())
      #expect(status.reason == "QUOTA_EXCEEDED")
      first.close()
      try server.eventually { $0.context.streamAccounts.count == 0 && $0.health.isEmpty }
      #expect(try second.watchHealth("").next()?.status == .serving)
    }
  }
}

/// Passes a value from one thread to another, one after the other.
private struct UncheckedBox<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

extension RawClient {
  func watchHealth(_ service: String) throws -> RawStream<HealthCheckResponse> {
    let id = takeStreamID()
    try send(
      request(
        "Watch", HealthCheckRequest(service: service), service: "grpc.health.v1.Health", id: id,
        flags: .remoteClosed))
    return RawStream(client: self, id: id)
  }
}
