import Foundation
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTimers
import WidgetTransport

@testable import WidgetServer

/// Calls that are made twice, and calls of a wrong shape.
extension `A call` {
  // MARK: - Retries

  @Test func `a repeated request id gets the first answer, without a second effect`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      let request = SetPresenceRequest(target: .all, action: .toggle, requestID: "r1")
      let first = try client.call("SetPresence", request, as: SetPresenceResponse.self)
      #expect(first.changedIDs.count == 1)
      try client.set("a", ["n": .int(1)])
      // The retry comes from another connection, as usual.
      let again = try server.connect().call(
        "SetPresence", request, as: SetPresenceResponse.self)
      #expect(again == first)
      #expect(try client.get("a").presence.isVisible == false)
      #expect(try client.stats().counters["requests_replayed"] == 1)
      let other = try client.refusal(
        "SetPresence", SetPresenceRequest(target: .all, action: .show, requestID: "r1"))
      Self.expect(other, .invalidArgument, "REQUEST_ID_REUSED", field: "request_id")
      let method = try client.refusal(
        "DeleteWidget", DeleteWidgetRequest(id: .make("a"), requestID: "r1"))
      Self.expect(method, .invalidArgument, "REQUEST_ID_REUSED", field: "request_id")
      #expect(try client.get("a").revision == 3)
      let long = try client.refusal(
        "SetPresence",
        SetPresenceRequest(
          target: .all, action: .show, requestID: String(repeating: "r", count: 129)))
      #expect(long.code == .invalidArgument)
    }
  }

  private static let clockSteps = [3_600, -3_600, 30 * 86_400, -30 * 86_400]

  @Test(arguments: clockSteps)
  func `a repeated request id has no second effect after a step of the clock`(
    step: Int
  ) async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      let request = SetPresenceRequest(target: .all, action: .toggle, requestID: "r1")
      let first = try client.call("SetPresence", request, as: SetPresenceResponse.self)
      try server.onLoop {
        $0.turn.clock = { Timestamp.wallClock().advanced(by: .seconds(step)) }
      }
      // Turns in which answers could expire.
      try client.set("a", ["n": .int(1)])
      try client.set("a", ["n": .int(2)])
      let again = try client.call("SetPresence", request, as: SetPresenceResponse.self)
      #expect(again == first)
      #expect(try client.get("a").presence.isVisible == false)
      let group = try #require(server.log.groups.last)
      #expect(group.runningTime > .zero && group.runningTime.elapsed < .seconds(1_000))
    }
  }

  @Test(arguments: clockSteps)
  func `a retry after a restart has no second effect, although the clock was set meanwhile`(
    step: Int
  ) async throws {
    let log = TestLog.State()
    let request = SetPresenceRequest(target: .all, action: .toggle, requestID: "r1")
    let first = try await withServer(log: log, clock: .fake()) { server in
      let client = try server.connect()
      try client.create("a")
      return try client.call("SetPresence", request, as: SetPresenceResponse.self)
    }
    #expect(first.changedIDs.count == 1)
    let later = Timestamp.fakeStart.advanced(by: .seconds(step))
    try await withServer(log: log, clock: .fake(at: later)) { server in
      let client = try server.connect()
      // Turns in which answers could expire.
      try client.set("a", ["n": .int(1)])
      try client.set("a", ["n": .int(2)])
      let again = try client.call("SetPresence", request, as: SetPresenceResponse.self)
      #expect(again == first)
      #expect(try client.get("a").presence.isVisible == false)
      #expect(try client.stats().counters["requests_replayed"] == 1)
    }
  }

  @Test func `a call that was refused is not remembered under its request id`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let request = UpdateWidgetRequest(
        id: try .make("a"), patch: WidgetPatch(setData: ["n": .int(1)]), requestID: "r")
      #expect(try client.refusal("UpdateWidget", request).code == .notFound)
      try client.create("a")
      #expect(try client.call("UpdateWidget", request, as: UpdateWidgetResponse.self).changed)
    }
  }

  @Test(arguments: ["SendEvent", "CreateWidget", "ApplyWidgets", "MoveWidget", "DeleteWidget"])
  func `every mutation can be retried with its request id`(method: String) async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      let a = try WidgetID.make("a")
      let spec = WidgetSpec(id: try .make("new"), kind: try .make("clock"))
      let request: any WireMessage =
        switch method {
        case "SendEvent": SendEventRequest(widgetID: a, name: "x", requestID: "r")
        case "CreateWidget": CreateWidgetRequest(widget: spec, requestID: "r")
        case "ApplyWidgets": ApplyWidgetsRequest(widgets: [spec], requestID: "r")
        case "MoveWidget": MoveWidgetRequest(id: a, destination: .first, requestID: "r")
        default: DeleteWidgetRequest(id: a, requestID: "r")
        }
      let payloads = try (0..<2).map { _ in
        let response = try client.response(to: client.start(method, request))
        #expect(response.status == nil)
        return response.payload
      }
      #expect(payloads[0] == payloads[1])
      #expect(!payloads[0].isEmpty)
      #expect(try client.stats().lastSequence <= 1)
    }
  }

  // MARK: - Shapes, names, deadlines

  @Test func `a call with the flags of another kind of call is refused`() async throws {
    try await withServer { server in
      let client = try server.connect()
      Self.expect(
        try client.refusal("WatchWidgets", WatchWidgetsRequest()), .invalidArgument,
        "WRONG_CALL_TYPE")
      for flags in [FrameFlags.remoteClosed, .remoteOpen] {
        let unary = try client.refusal("GetWidget", payload: [], flags: flags)
        Self.expect(unary, .invalidArgument, "WRONG_CALL_TYPE")
      }
      Self.expect(
        try client.refusal("WatchWidgets", payload: [], flags: .remoteOpen), .invalidArgument,
        "WRONG_CALL_TYPE")
      #expect(try client.stats().subscriptions == 0)
      #expect(try client.health() == .serving)
    }
  }

  @Test(arguments: [
    ("widgetd.v1.WidgetService", "Nope"), ("widgetd.v1.Nope", "GetWidget"), ("", ""),
    ("widgetd.v1.AdminService", "GetWidget"), ("grpc.health.v1.Health", "Look"),
  ])
  func `a call of an unknown service or method is UNIMPLEMENTED`(service: String, method: String)
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      for flags in [[], FrameFlags.remoteClosed] {
        let status = try client.refusal(method, payload: [], service: service, flags: flags)
        Self.expect(status, .unimplemented, "METHOD_UNKNOWN")
      }
      #expect(try client.health() == .serving)
    }
  }

  @Test func `a call whose deadline is over has no effect`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let status = try client.refusal(
        "CreateWidget",
        CreateWidgetRequest(widget: WidgetSpec(id: .make("a"), kind: .make("clock"))),
        timeout: -1)
      #expect(status.code == .deadlineExceeded)
      #expect(try client.list().widgets.isEmpty)
      #expect(try client.watch(timeout: -5).end()?.code == .deadlineExceeded)
    }
  }

  @Test func `a call that streams ends with its deadline`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let stream = try client.watch(timeout: 20_000_000)
      #expect(try stream.end()?.code == .deadlineExceeded)
      #expect(try client.stats().subscriptions == 0)
      #expect(try client.health() == .serving)
    }
  }

  @Test func `a call may carry metadata`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let id = client.takeStreamID()
      try client.send(
        client.request(
          "Check", HealthCheckRequest(), service: "grpc.health.v1.Health", id: id,
          metadata: (0..<50).map { MetadataEntry(key: "k\($0)", value: "v") }))
      #expect(try client.answer(to: id, as: HealthCheckResponse.self).status == .serving)
    }
  }
}
