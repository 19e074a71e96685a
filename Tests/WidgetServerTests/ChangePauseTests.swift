import NIOCore
import TestThreads
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// While the log of the store catches up, changes wait, and nothing else does.
@Suite struct `A pause of changes` {
  /// Makes the next group the last one before a pause.
  private static func pause(_ server: TestServer) throws {
    server.log.isBehind = true
    try server.connect().create("last")
    try server.eventually { $0.context.pause.isOn }
  }

  private static func update(_ client: RawClient, _ id: String, _ n: Int64) throws -> UInt32 {
    try client.start(
      "UpdateWidget",
      UpdateWidgetRequest(id: .make(id), patch: WidgetPatch(setData: ["n": .int(n)])))
  }

  @Test func `reads and removals do not wait for the log, and changes do`() async throws {
    try await withServer { server in
      let (writer, other) = (try server.connect(), try server.connect())
      try writer.create("a", data: ["n": .int(0)])
      try writer.create("b")
      try Self.pause(server)
      let groups = server.log.groups.count
      let update = try Self.update(writer, "a", 1)
      // The writer's own read stays behind its change.
      let read = try writer.start("GetWidget", GetWidgetRequest(id: .make("a")))
      #expect(try other.get("a").data["n"] == .int(0))
      #expect(try other.health() == .serving)
      #expect(server.log.groups.count == groups)
      _ = try other.delete("b")
      #expect(server.log.groups.count == groups + 1)
      #expect(try server.onLoop { $0.context.pause.isOn })

      server.log.catchUp()
      #expect(try writer.answer(to: update, as: UpdateWidgetResponse.self).changed)
      let widget = try writer.answer(to: read, as: GetWidgetResponse.self).widget
      #expect(widget.data["n"] == .int(1))
      try writer.set("a", ["n": .int(2)])
    }
  }

  @Test func `the messages of a provider wait for the log`() async throws {
    try await withServer { server in
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [Providers.gauge])
      try server.connect().create("a", kind: "gauge")
      _ = try provider.dataRequest()
      try Self.pause(server)
      let groups = server.log.groups.count
      try provider.send(
        .update(
          ProvideUpdate(
            id: 5, updates: [ProvidedUpdate(.make("a"), WidgetPatch(setData: ["load": .double(1)]))]
          )))
      #expect(try server.connect().get("a").data["load"] == .double(0))
      #expect(server.log.groups.count == groups)
      server.log.catchUp()
      #expect(try provider.result().error == nil)
      #expect(try server.connect().get("a").data["load"] == .double(1))
    }
  }

  @Test func `a call inside the process waits for the log`() async throws {
    try await onThreads {
      let codec = WireCodec()
      let server = try await startServer(folder: TestFolder())
      let client = try await server.server.inProcessClient(for: .current)
      try await onThread { try Self.pause(server) }
      let spec = WidgetSpec(id: try .make("a"), kind: try .make("clock"))
      let request = ByteBuffer(bytes: try codec.encode(CreateWidgetRequest(widget: spec)))
      async let created = client.call("widgetd.v1.WidgetService/CreateWidget", request)
      let list = ByteBuffer(bytes: try codec.encode(ListWidgetsRequest()))
      let answer = try await client.call("widgetd.v1.WidgetService/ListWidgets", list)
      let widgets = try codec.decode(
        ListWidgetsResponse.self, from: Array(answer.readableBytesView)
      ).widgets
      #expect(widgets.map(\.widget.id) == [try .make("last")])
      server.log.catchUp()
      _ = try await created
      try await server.server.stop()
    }
  }

  @Test func `a stop ends the pause, and the waiting change is carried out or refused`()
    async throws
  {
    let log = TestLog.State()
    try await withServer(log: log) { server in
      let writer = try server.connect()
      try writer.create("a", data: ["n": .int(0)])
      try Self.pause(server)
      _ = try Self.update(writer, "a", 1)
      // The daemon has read the change when it answers somebody who came later.
      _ = try server.connect().health()
    }
    #expect(log.closeCount == 1)
  }

  @Test func `the closed connection of a waiting change is forgotten`() async throws {
    try await withServer { server in
      let writer = try server.connect()
      try writer.create("a", data: ["n": .int(0)])
      try Self.pause(server)
      _ = try Self.update(writer, "a", 1)
      try server.eventually { $0.context.pause.waitingCount == 1 }
      writer.close()
      try server.eventually { $0.context.pause.waitingCount == 0 }
      server.log.catchUp()
      #expect(try server.connect().get("a").data["n"] == .int(0))
    }
  }
}
