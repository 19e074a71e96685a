import Testing
import WidgetProto
import WidgetTransport

@testable import WidgetServer

@Suite struct Health {
  private static let service = "grpc.health.v1.Health"

  @Test func `lists every service`() async throws {
    try await withServer(policy: .nobody) { server in
      let response = try server.connect().call(
        "List", HealthListRequest(), as: HealthListResponse.self, service: Self.service)
      let serving = HealthCheckResponse(status: .serving)
      #expect(
        response.statuses == [
          "": serving, "widgetd.v1.WidgetService": serving, "widgetd.v1.AdminService": serving,
          "widgetd.v1.CatalogService": serving, "widgetd.v1.ProviderService": serving,
          "widgetd.v1.BlobService": serving,
        ])
    }
  }

  @Test(arguments: [
    ("", HealthCheckResponse.ServingStatus.serving), ("widgetd.v1.WidgetService", .serving),
    ("nope", .serviceUnknown),
  ])
  func `is told to who watches`(
    service: String, expected: HealthCheckResponse.ServingStatus
  ) async throws {
    try await withServer(policy: .nobody) { server in
      let stream = try server.connect().watchHealth(service)
      #expect(try stream.next()?.status == expected)
    }
  }

  @Test func `is NOT_SERVING for who watches when the server stops`() async throws {
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

  @Test func `watches count as streams of their user until they end`() async throws {
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
  fileprivate func watchHealth(_ service: String) throws -> RawStream<HealthCheckResponse> {
    let id = takeStreamID()
    try send(
      request(
        "Watch", HealthCheckRequest(service: service), service: "grpc.health.v1.Health", id: id,
        flags: .remoteClosed))
    return RawStream(client: self, id: id)
  }
}
