import Foundation
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Calls that change several widgets, remove them, or set their order.
extension `A call` {
  // MARK: - DeleteWidget, SetPresence, MoveWidget

  @Test func `DeleteWidget succeeds for a missing widget only with allow_missing`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      #expect(try client.delete("a") == 2)
      let a = try WidgetID.make("a")
      Self.expect(
        try client.refusal("DeleteWidget", DeleteWidgetRequest(id: a)), .notFound,
        "WIDGET_NOT_FOUND")
      let again = try client.call(
        "DeleteWidget", DeleteWidgetRequest(id: a, allowMissing: true),
        as: DeleteWidgetResponse.self)
      #expect(again.revision == 2)
    }
  }

  @Test func `SetPresence changes all named widgets, or none of them`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 3))) { server in
      let client = try server.connect()
      let hidden = try client.presence(.hide, .ids([.make("w0"), .make("w2")]))
      #expect(hidden.changedIDs.map(\.rawValue).sorted() == ["w0", "w2"])
      #expect(hidden.revision == 4)
      let again = try client.presence(.hide, .ids([.make("w0")]))
      #expect(again.changedIDs.isEmpty)
      #expect(again.revision == 4)
      #expect(try client.presence(.toggle).changedIDs.count == 3)
      #expect(try client.get("w1").presence.state == .hidden)
      let status = try client.refusal(
        "SetPresence",
        SetPresenceRequest(target: .ids([.make("w0"), .make("none")]), action: .disable))
      Self.expect(status, .notFound, "WIDGET_NOT_FOUND")
      #expect(try client.get("w0").presence.isEnabled)
      try client.presence(.disable, .selector(Selector(kinds: [.make("clock")])))
      #expect(try client.get("w0").presence.state == .disabled)
      #expect(try client.presence(.show, .selector(Selector(kinds: [.make("x")]))).changedIDs == [])
    }
  }

  @Test func `ApplyWidgets names the largest field of a widget that is too large`()
    async throws
  {
    try await withServer(limits: .with { $0.store.widgetBytesMax = 2_000 }) { server in
      let client = try server.connect()
      let text = Value.string(String(repeating: "x", count: 1_500))
      func entry(_ seconds: Int64) -> TimelineEntry {
        TimelineEntry(
          date: Timestamp.fakeStart.advanced(by: .seconds(seconds)), values: ["title": text])
      }
      let kind = try KindName.make("plain")
      let specs = [
        WidgetSpec(id: try .make("a"), kind: kind, data: ["n": text]),
        WidgetSpec(
          id: try .make("b"), kind: kind, data: ["n": .int(1)],
          timeline: Timeline(entries: [entry(0), entry(60)])),
      ]
      let refusal = try client.refusal("ApplyWidgets", ApplyWidgetsRequest(widgets: specs))
      Self.expect(refusal, .resourceExhausted, "QUOTA_EXCEEDED")
      #expect(refusal.fieldViolations.map(\.field) == ["widgets[1].timeline.entries"])
      #expect(refusal.message.contains("Make the value smaller"), "\(refusal.message)")
      #expect(refusal.errorInfo?.metadata["widget_id"] == "b")
      let created = try client.refusal(
        "CreateWidget",
        CreateWidgetRequest(
          widget: WidgetSpec(id: try .make("c"), kind: kind, data: ["m": text, "n": text])))
      #expect(created.fieldViolations.map(\.field) == ["widget.data[m]"])
    }
  }

  @Test func `a call that makes a widget too large names the widget and the field`()
    async throws
  {
    try await withServer(limits: .with { $0.store.widgetBytesMax = 10_000 }) { server in
      let client = try server.connect()
      let kind = try KindName.make("plain")
      func text(_ count: Int) -> Value { .string(String(repeating: "x", count: count)) }
      let many = ValueMap((0..<10).map { .init(key: "k\($0)", value: text(2_000)) })
      let ok = WidgetSpec(id: try .make("ok"), kind: kind, data: ["notes": text(8_000)])
      let specs = [ok, WidgetSpec(id: try .make("toolarge"), kind: kind, data: many)]
      let declared = try client.refusal("ApplyWidgets", ApplyWidgetsRequest(widgets: specs))
      Self.expect(declared, .resourceExhausted, "QUOTA_EXCEEDED")
      #expect(declared.fieldViolations.map(\.field) == ["widgets[1].data[k0]"])
      #expect(declared.errorInfo?.metadata["widget_id"] == "toolarge")
      let words = declared.fieldViolations.first?.description ?? ""
      #expect(words.contains("this is the largest field of the request"), "\(words)")

      _ = try client.call(
        "CreateWidget", CreateWidgetRequest(widget: ok), as: CreateWidgetResponse.self)
      func description(_ patch: WidgetPatch) throws -> String {
        let refusal = try client.refusal(
          "UpdateWidget", UpdateWidgetRequest(id: .make("ok"), patch: patch))
        #expect(refusal.fieldViolations.map(\.field) == ["patch.set_data[more]"])
        return refusal.fieldViolations.first?.description ?? ""
      }
      let little = try description(WidgetPatch(setData: ["more": text(2_000)]))
      #expect(little.contains("this is the largest field of the request"), "\(little)")
      let large = try description(WidgetPatch(setData: ["more": text(10_500)]))
      #expect(large.contains("most of them are here"), "\(large)")
    }
  }

  @Test func `SetPresence needs exactly one target and an action`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 1))) { server in
      let client = try server.connect()
      let id = Proto.bytes(1, Array("w0".utf8))
      for payload in [
        Proto.integer(4, 1), id + Proto.integer(3, 1) + Proto.integer(4, 1), id,
        id + Proto.integer(4, 99), id + Proto.bytes(2, []) + Proto.integer(4, 1),
      ] {
        let status = try client.refusal("SetPresence", payload: payload)
        #expect(status.code == .invalidArgument)
        #expect(!status.fieldViolations.isEmpty)
      }
    }
  }

  @Test func `MoveWidget changes the order of ListWidgets`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 4))) { server in
      let client = try server.connect()
      func move(_ id: String, _ destination: MoveDestination) throws {
        _ = try client.call(
          "MoveWidget", MoveWidgetRequest(id: .make(id), destination: destination),
          as: MoveWidgetResponse.self)
      }
      func order() throws -> [String] {
        try client.call("ListWidgets", ListWidgetsRequest(), as: ListWidgetsResponse.self).widgets
          .map(\.widget.id.rawValue)
      }
      try move("w3", .first)
      #expect(try order() == ["w3", "w0", "w1", "w2"])
      try move("w3", .last)
      #expect(try order() == ["w0", "w1", "w2", "w3"])
      try move("w0", .after(.make("w2")))
      #expect(try order() == ["w1", "w2", "w0", "w3"])
      try move("w3", .before(.make("w2")))
      #expect(try order() == ["w1", "w3", "w2", "w0"])
      for request in [
        try MoveWidgetRequest(id: .make("no"), destination: .first),
        try MoveWidgetRequest(id: .make("w0"), destination: .after(.make("no"))),
      ] {
        Self.expect(try client.refusal("MoveWidget", request), .notFound, "WIDGET_NOT_FOUND")
      }
      let nowhere = try client.refusal("MoveWidget", payload: Proto.bytes(1, Array("w0".utf8)))
      #expect(nowhere.code == .invalidArgument)
    }
  }

  // MARK: - ApplyWidgets

  @Test func `ApplyWidgets declares a set in one commit`() async throws {
    try await withServer { server in
      let client = try server.connect()
      func spec(_ id: String, _ label: String) throws -> WidgetSpec {
        WidgetSpec(id: try .make(id), kind: try .make("clock"), labels: ["v": label])
      }
      let first = try client.apply([spec("a", "1"), spec("b", "1"), spec("c", "1")])
      #expect(first.results.map(\.action) == [.created, .created, .created])
      #expect(first.revision == 1)
      let plan = ApplyWidgetsRequest(
        widgets: [try spec("a", "2"), try spec("b", "1"), try spec("d", "1")], prune: true,
        validateOnly: true)
      let expected: [ApplyAction] = [.updated, .unchanged, .created, .deleted]
      let dry = try client.call("ApplyWidgets", plan, as: ApplyWidgetsResponse.self)
      #expect(dry.results.map(\.action) == expected)
      #expect(try client.list().revision == 1)
      let real = try client.apply(plan.widgets, prune: true)
      #expect(real.results.map(\.action) == expected)
      #expect(real.results.map(\.id.rawValue) == ["a", "b", "d", "c"])
      #expect(real.revision == 2)
      #expect(try client.get("a").applySet == "default")
      #expect(try client.list().widgets.keys.map(\.rawValue).sorted() == ["a", "b", "d"])
    }
  }

  @Test func `a refused ApplyWidgets changes no widget`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", kind: "clock")
      let wrongKind = try client.refusal(
        "ApplyWidgets",
        ApplyWidgetsRequest(widgets: [
          WidgetSpec(id: .make("new"), kind: .make("clock")),
          WidgetSpec(id: .make("a"), kind: .make("gauge")),
        ]))
      Self.expect(wrongKind, .failedPrecondition, "KIND_MISMATCH")
      #expect(wrongKind.message.hasSuffix("Choose another id, or delete that widget."))
      let twice = try client.refusal(
        "ApplyWidgets",
        ApplyWidgetsRequest(widgets: [
          WidgetSpec(id: .make("x"), kind: .make("clock")),
          WidgetSpec(id: .make("x"), kind: .make("clock")),
        ]))
      #expect(twice.fieldViolations.map(\.field) == ["widgets[1].id"])
      let nameless = try client.refusal(
        "ApplyWidgets", ApplyWidgetsRequest(widgets: [WidgetSpec(kind: .make("clock"))]))
      #expect(nameless.fieldViolations.map(\.field) == ["widgets[0].id"])
      #expect(try client.list().widgets.count == 1)
      #expect(try client.list().revision == 1)
    }
  }

  @Test(arguments: ["widgetd-host", "bundle/clock"])
  func `the sets of bundles and of the host belong to the process with the host's session`(
    set: String
  ) async throws {
    try await withServer { server in
      let client = try server.connect()
      let kind = try KindName.make("clock")
      let catalog = "widgetd.v1.CatalogService"
      let widgets = ApplyWidgetsRequest(
        applySet: set, widgets: [WidgetSpec(id: try .make("a"), kind: kind)])
      let kinds = ApplyKindsRequest(provider: set, kinds: [Kind(name: kind)])
      Self.expect(try client.refusal("ApplyWidgets", widgets), .invalidArgument, "INVALID_FIELD")
      let refusal = try client.refusal("ApplyKinds", kinds, service: catalog)
      Self.expect(refusal, .invalidArgument, "INVALID_FIELD")
      #expect(refusal.message.contains("belongs to "))
      // Such a call can be the host's, whose session is not open again: it tries again.
      let whole = ApplyWidgetsRequest(applySet: set, widgets: [], prune: true)
      Self.expect(
        try client.refusal("ApplyWidgets", whole), .unavailable, "BUNDLE_HOST_MISSING")
      let host = try RawProvider(server.connect())
      try host.open("widgetd-host")
      _ = try client.call("ApplyWidgets", widgets, as: ApplyWidgetsResponse.self)
      _ = try client.call(
        "ApplyKinds", kinds, as: ApplyKindsResponse.self, service: catalog)
      #expect(try client.get("a").applySet == set)
    }
  }

  @Test func `owners are in answers whose mask names them, and fields are released`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let (a, kind) = (try WidgetID.make("a"), try KindName.make("k"))
      let declare = { (count: Int64, dry: Bool) in
        ApplyWidgetsRequest(
          applySet: "clocks",
          widgets: [WidgetSpec(id: a, kind: kind, data: ["n": .int(count)])],
          validateOnly: dry, ownFields: true)
      }
      _ = try client.call("ApplyWidgets", declare(1, false), as: ApplyWidgetsResponse.self)
      let patch = WidgetPatch(setData: ["n": .int(7)])
      _ = try client.call(
        "UpdateWidget", UpdateWidgetRequest(id: a, patch: patch, provider: "desk"),
        as: UpdateWidgetResponse.self)
      let owner = FieldOwner(
        path: "data.n", owner: "provider desk", manager: "clocks", declared: .int(1))
      let get = GetWidgetRequest(id: a, readMask: try ReadMask(paths: ["owners"]))
      #expect(try client.call("GetWidget", get, as: GetWidgetResponse.self).owners == [owner])
      let whole = try client.call(
        "GetWidget", GetWidgetRequest(id: a), as: GetWidgetResponse.self)
      #expect(whole.owners == [])
      let list = ListWidgetsRequest(readMask: try ReadMask(paths: ["owners"]))
      #expect(
        try client.call("ListWidgets", list, as: ListWidgetsResponse.self).widgets.map(\.owners)
          == [[owner]])
      let dry = try client.call("ApplyWidgets", declare(2, true), as: ApplyWidgetsResponse.self)
      #expect(dry.results.first?.keptFields.first?.declared == .int(2))
      let released = try client.call(
        "UpdateWidget",
        UpdateWidgetRequest(id: a, patch: WidgetPatch(releases: ["data.n"])),
        as: UpdateWidgetResponse.self)
      #expect(released.widget?.data == ["n": .int(1)])
      let refusal = try client.refusal(
        "UpdateWidget", UpdateWidgetRequest(id: a, patch: patch, provider: "no name"))
      #expect(refusal.fieldViolations.map(\.field) == ["provider"])
    }
  }
}
