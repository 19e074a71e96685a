import Foundation
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Calls about the daemon.
extension `A call` {
  // MARK: - Streams and health

  @Test func `Unsubscribe ends one stream and no other`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let first = try Watcher(client).sync()
      let second = try Watcher(client).sync()
      try client.unsubscribe(first.mirror.subscriptionID)
      #expect(try first.stream.end() == nil)
      try client.create("a")
      #expect(try second.nextChanges().count == 1)
      for id in [first.mirror.subscriptionID, 0, 999] {
        Self.expect(
          try client.refusal("Unsubscribe", UnsubscribeRequest(subscriptionID: id)), .notFound,
          "SUBSCRIPTION_NOT_FOUND")
      }
      let events = try client.watchEvents()
      guard case .opened(let opened)? = try events.next() else { throw TestFault("not opened") }
      Self.expect(
        try client.refusal(
          "RequestProgress", RequestProgressRequest(subscriptionID: opened.subscriptionID)),
        .notFound, "SUBSCRIPTION_NOT_FOUND")
    }
  }

  @Test func `Check of the health service knows each service`() async throws {
    try await withServer { server in
      let client = try server.connect()
      for service in ["", "widgetd.v1.WidgetService", "widgetd.v1.AdminService"] {
        #expect(try client.health(service) == .serving)
      }
      Self.expect(
        try client.refusal(
          "Check", HealthCheckRequest(service: "x"), service: "grpc.health.v1.Health"), .notFound,
        "SERVICE_UNKNOWN")
    }
  }

  // MARK: - Admin

  @Test func `GetStats returns counters, gauges and every limit`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 3))) { server in
      let client = try server.connect()
      try client.event("w0")
      let watcher = try Watcher(server.connect()).sync()
      let stats = try client.stats()
      #expect(watcher.mirror.epoch == stats.epoch)
      #expect(stats.version == "test")
      #expect(stats.store == "test")
      #expect(stats.epoch == 77)
      #expect(stats.revision == 3)
      #expect(stats.widgets == 3)
      #expect(stats.stateBytes > 0)
      #expect(stats.lastSequence == 1)
      #expect(stats.connections == 2)
      #expect(stats.subscriptions == 1)
      #expect(stats.pid == UInt32(getpid()))
      #expect(stats.counters["events"] == 1)
      #expect(stats.limits.count == ServerLimits.names.count)
      #expect(stats.limits["selector_terms_max"] == 1_024)
    }
  }

  @Test func `SetLogLevel returns the former level`() async throws {
    try await withServer { server in
      let client = try server.connect()
      func set(_ level: LogLevel) throws -> LogLevel? {
        try client.call(
          "SetLogLevel", SetLogLevelRequest(level: level), as: SetLogLevelResponse.self,
          service: RawClient.admin
        ).previous
      }
      _ = try set(.debug)
      #expect(try set(.error) == .debug)
      #expect(try set(.error) == .error)
      let status = try client.refusal(
        "SetLogLevel", payload: [], service: RawClient.admin)
      #expect(status.code == .invalidArgument)
      #expect(status.fieldViolations.map(\.field) == ["level"])
    }
  }

  @Test func `a slow Reload does not delay other calls`()
    async throws
  {
    try await withServer { server in
      let (steps, continuation) = AsyncStream.makeStream(of: Void.self)
      try server.onLoop { service in
        service.reloads.onReload = {
          for await _ in steps { break }
          var outcome = WidgetServer.ReloadOutcome()
          outcome.applied = ["log-level"]
          outcome.settingsForRestart = ["socket"]
          return outcome
        }
      }
      let client = try server.connect()
      let reload = try client.start("Reload", ReloadRequest(), service: RawClient.admin)
      #expect(try client.health() == .serving)
      continuation.finish()
      let answer = try client.answer(to: reload, as: ReloadResponse.self)
      #expect(answer == ReloadResponse(applied: ["log-level"], needsRestart: ["socket"]))
      try server.onLoop { $0.reloads.onReload = { .init(error: "line 3") } }
      let status = try client.refusal("Reload", ReloadRequest(), service: RawClient.admin)
      Self.expect(status, .failedPrecondition, "CONFIGURATION_INVALID")
    }
  }
}
