import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The failure of a reducer is shown to those who did not send the event.
@Suite struct ReducerFailureTests {
  private static func kind() throws -> Kind {
    Kind(
      name: try .make("tea"), data: [Field(name: "cups", type: .int, defaultValue: .int(0))],
      reducers: [Reducer(event: "press", assignments: ["cups": "10 / data.cups"])])
  }

  private static func press(_ client: RawClient, requestID: String = "") throws -> SendEventResponse
  {
    try client.call(
      "SendEvent", SendEventRequest(widgetID: .make("a"), name: "press", requestID: requestID),
      as: SendEventResponse.self)
  }

  @Test func `the widget has the error, also for repeated requests`() async throws {
    try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
      let client = try server.connect()
      _ = try client.call(
        "ApplyKinds", ApplyKindsRequest(provider: "desk", kinds: [Self.kind()]),
        as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
      try client.create("a", kind: "tea")
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest()).sync()
      let id = try WidgetID.make("a")
      for _ in 0..<20 {
        #expect(throws: (any Error).self) { try Self.press(client, requestID: "r") }
      }
      while watcher.mirror.widgets[id]?.error == nil { _ = try watcher.step() }
      let widget = try #require(watcher.mirror.widgets[id])
      #expect(widget.error?.reason == "REDUCER_FAILED")
      #expect(widget.error?.message.contains("division by zero") == true)
      let marked = widget.revision
      #expect(try server.onLoop { $0.context.store.revision } == marked)
      _ = try client.call(
        "UpdateWidget",
        UpdateWidgetRequest(id: id, patch: WidgetPatch(setData: ["cups": .int(5)])),
        as: UpdateWidgetResponse.self)
      #expect(try Self.press(client, requestID: "r").revision == marked + 2)
      while watcher.mirror.widgets[id]?.error != nil { _ = try watcher.step() }
      #expect(watcher.mirror.widgets[id]?.data["cups"] == .int(2))
    }
  }

  @Test func `the log has a failure once`() throws {
    var reported = ReportedFailures()
    let (a, b) = (try WidgetID.make("a"), try WidgetID.make("b"))
    let news = [("m", a), ("m", a), ("m", b), ("n", a)].map { reported.add($0.0, of: $0.1) }
    #expect(news == [true, false, true, true])
    for number in 0..<ReportedFailures.countMax { _ = reported.add("\(number)", of: a) }
    let isNewAgain = reported.add("m", of: a)
    #expect(isNewAgain)
  }
}
