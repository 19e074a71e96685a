import Foundation
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Every unary call: what it does, and each way in which it is refused.
@Suite struct `A call` {
  static func expect(
    _ status: RPCStatus, _ code: StatusCode, _ reason: String, field: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(status.code == code, sourceLocation: sourceLocation)
    #expect(status.reason == reason, sourceLocation: sourceLocation)
    #expect(status.errorInfo?.domain == "widgetd", sourceLocation: sourceLocation)
    #expect(!status.message.isEmpty, sourceLocation: sourceLocation)
    if let field {
      #expect(status.fieldViolations.map(\.field) == [field], sourceLocation: sourceLocation)
    }
  }

  // MARK: - CreateWidget and GetWidget

  @Test func `a widget of a kind that nobody has registered is made, with a warning`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      let kinds = try ["counter", "clock"].map { Kind(name: try .make($0)) }
      _ = try client.call(
        "ApplyKinds", ApplyKindsRequest(provider: "desk", kinds: kinds),
        as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
      func warnings(_ kind: String, _ id: String) throws -> [[String: String]] {
        try client.call(
          "CreateWidget", CreateWidgetRequest(widget: WidgetSpec(id: .make(id), kind: .make(kind))),
          as: CreateWidgetResponse.self
        ).warnings.map { warning in
          #expect(warning.reason == "KIND_NOT_REGISTERED")
          #expect(warning.message.contains("\"\(kind)\""))
          return warning.metadata
        }
      }
      #expect(try warnings("couter", "a") == [["kind": "couter", "suggestion": "counter"]])
      #expect(try warnings("weather", "b") == [["kind": "weather"]])
      #expect(try warnings("counter", "c") == [])
      #expect(try warnings("help", "d") == [])
      let specs = try (0..<70).map { index in
        WidgetSpec(id: try .make("w\(index)"), kind: try .make(index < 3 ? "same" : "k\(index)"))
      }
      let applied = try client.apply(specs)
      #expect(applied.results.count == 70)
      #expect(applied.warnings.count == 64)
      #expect(applied.warnings.count { $0.metadata["kind"] == "same" } == 1)
      // They are widgets like others, and a kind that comes takes them over.
      #expect(try client.get("a").kind == .make("couter"))
    }
  }

  @Test func `of CreateWidget makes a widget that GetWidget returns`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let spec = WidgetSpec(
        id: try .make("panel/cpu"), kind: try .make("gauge"), family: .small,
        labels: ["room": "hall"], isVisible: false, parameters: ["unit": .string("%")],
        data: ["value": .double(0.5)])
      let created = try client.call(
        "CreateWidget", CreateWidgetRequest(widget: spec), as: CreateWidgetResponse.self)
      let read = try client.call(
        "GetWidget", GetWidgetRequest(id: .make("panel/cpu")), as: GetWidgetResponse.self)
      #expect(read.widget == created.widget)
      #expect(read.etag == created.etag)
      #expect(!read.etag.isEmpty)
      let widget = read.widget
      #expect(widget.kind == spec.kind)
      #expect(widget.family == .small)
      #expect(widget.labels == spec.labels)
      #expect(widget.presence.state == .hidden)
      #expect(widget.parameters == spec.parameters)
      #expect(widget.data == spec.data)
      #expect(widget.ownerUID == geteuid())
      #expect(widget.revision == 1)
      #expect(widget.createdRevision == 1)
    }
  }

  @Test func `of CreateWidget picks an id if none is given`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let ids = try (0..<3).map { _ in try client.create(nil).id }
      #expect(Set(ids).count == 3)
      #expect(ids.allSatisfy { $0.rawValue.hasPrefix("clock-") })
    }
  }

  @Test func `of CreateWidget is refused if the id is taken`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      let status = try client.refusal(
        "CreateWidget",
        CreateWidgetRequest(widget: WidgetSpec(id: .make("a"), kind: .make("other"))))
      Self.expect(status, .alreadyExists, "WIDGET_EXISTS")
      #expect(status.errorInfo?.metadata["widget_id"] == "a")
      #expect(try client.get("a").kind.rawValue == "clock")
    }
  }

  static let badSpecs: [(String, [UInt8], String)] = [
    ("no kind", Proto.bytes(1, Array("a".utf8)), "widget.kind"),
    (
      "a bad id", Proto.bytes(1, Array("-a".utf8)) + Proto.bytes(2, Array("k".utf8)), "widget.id"
    ),
    (
      "a bad kind", Proto.bytes(1, Array("a".utf8)) + Proto.bytes(2, Array("k k".utf8)),
      "widget.kind"
    ),
  ]

  @Test(arguments: badSpecs.indices)
  func `of CreateWidget with a bad field is refused with the field's name`(index: Int) async throws
  {
    let (name, spec, field) = Self.badSpecs[index]
    try await withServer { server in
      let client = try server.connect()
      let status = try client.refusal("CreateWidget", payload: Proto.bytes(1, spec))
      #expect(status.code == .invalidArgument, "\(name)")
      #expect(status.fieldViolations.map(\.field) == [field], "\(name)")
    }
  }

  @Test func `of GetWidget is refused if there is none`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let status = try client.refusal("GetWidget", GetWidgetRequest(id: .make("a")))
      Self.expect(status, .notFound, "WIDGET_NOT_FOUND")
      #expect(status.errorInfo?.metadata["widget_id"] == "a")
    }
  }

  @Test func `of GetWidget with a mask returns what is asked for`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", labels: ["x": "y"], data: ["n": .int(1), "m": .int(2)])
      // Once whole, so that it is in the cache of encoded widgets.
      _ = try client.get("a")
      let masked = try client.call(
        "GetWidget", GetWidgetRequest(id: .make("a"), readMask: ReadMask(paths: ["data.m"])),
        as: GetWidgetResponse.self)
      #expect(masked.widget.data == ["m": .int(2)])
      #expect(masked.widget.labels.isEmpty)
      #expect(masked.etag.isEmpty)
      #expect(masked.widget.revision == 1)
      #expect(try client.get("a").data.count == 2)
    }
  }

  @Test func `of GetWidget sees the widget that took a removed one's place`() async throws {
    try await withServer { server in
      let client = try server.connect()
      for n in 0..<20 {
        try client.create("a", data: ["n": .int(Int64(n))])
        #expect(try client.get("a").data == ["n": .int(Int64(n))])
        #expect(try client.get("a").data == ["n": .int(Int64(n))])
        try client.delete("a")
        #expect(try client.refusal("GetWidget", GetWidgetRequest(id: .make("a"))).code == .notFound)
      }
    }
  }

  // MARK: - UpdateWidget

  @Test func `of UpdateWidget sets and unsets, and says whether anything changed`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", labels: ["x": "1"], data: ["n": .int(1), "m": .int(1)])
      let patch = WidgetPatch(
        setData: ["n": .int(2)], unsetData: ["m", "never"], setParameters: ["p": .bool(true)],
        setLabels: ["y": "2"], unsetLabels: ["x"], isStale: true,
        error: .some(WidgetError(reason: "LOST", message: "no sensor")))
      let first = try client.patch("a", patch)
      #expect(first.changed)
      #expect(first.revision == 2)
      #expect(first.widget == nil)
      let widget = try client.get("a")
      #expect(widget.data == ["n": .int(2)])
      #expect(widget.parameters == ["p": .bool(true)])
      #expect(widget.labels == ["y": "2"])
      #expect(widget.isStale)
      #expect(widget.error?.reason == "LOST")
      let second = try client.patch("a", patch)
      #expect(!second.changed)
      #expect(second.revision == 2)
      let whole = try client.call(
        "UpdateWidget",
        UpdateWidgetRequest(
          id: .make("a"), patch: WidgetPatch(setData: ["z": .null], replaceData: true)),
        as: UpdateWidgetResponse.self)
      #expect(whole.widget?.data == ["z": .null])
      #expect(!whole.etag.isEmpty)
    }
  }

  @Test func `with an etag is refused if the widget has changed since`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let created = try client.call(
        "CreateWidget",
        CreateWidgetRequest(widget: WidgetSpec(id: .make("a"), kind: .make("clock"))),
        as: CreateWidgetResponse.self)
      try client.patch("a", WidgetPatch(setData: ["n": .int(1)]), etag: created.etag)
      let a = try WidgetID.make("a")
      for etag in [created.etag, "nonsense", "zz.2", ".", "1.1.1"] {
        let update = try client.refusal("UpdateWidget", UpdateWidgetRequest(id: a, etag: etag))
        Self.expect(update, .aborted, "ETAG_MISMATCH")
        let delete = try client.refusal("DeleteWidget", DeleteWidgetRequest(id: a, etag: etag))
        Self.expect(delete, .aborted, "ETAG_MISMATCH")
      }
      let current = try client.call(
        "GetWidget", GetWidgetRequest(id: a), as: GetWidgetResponse.self
      ).etag
      _ = try client.call(
        "DeleteWidget", DeleteWidgetRequest(id: a, etag: current), as: DeleteWidgetResponse.self)
      let gone = try client.refusal("UpdateWidget", UpdateWidgetRequest(id: a, etag: "nonsense"))
      Self.expect(gone, .notFound, "WIDGET_NOT_FOUND")
    }
  }

  @Test func `of UpdateWidget with a bad value is refused with the field's name`() async throws {
    try await withServer(limits: .with { $0.store.widgetBytesMax = 4_096 }) { server in
      let client = try server.connect()
      try client.create("a")
      func update(_ patch: WidgetPatch) throws -> RPCStatus {
        try client.refusal("UpdateWidget", UpdateWidgetRequest(id: .make("a"), patch: patch))
      }
      var deep = Value.null
      for _ in 0..<20 { deep = .list([deep]) }
      #expect(
        try update(WidgetPatch(setData: ["k": deep])).fieldViolations.first?.field
          .hasPrefix("patch.set_data") == true)
      #expect(
        try update(WidgetPatch(setData: ["": .null])).fieldViolations.first?.field
          .hasPrefix("patch.set_data") == true)
      #expect(
        try update(WidgetPatch(error: .some(WidgetError(reason: "not upper", message: ""))))
          .fieldViolations.map(\.field) == ["patch.error.reason"])
      let large = try update(
        WidgetPatch(setData: ["k": .bytes([UInt8](repeating: 1, count: 5_000))]))
      Self.expect(large, .resourceExhausted, "QUOTA_EXCEEDED")
      #expect(large.errorInfo?.metadata["limit"] == "widget_bytes_max")
      #expect(try client.get("a").revision == 1)
    }
  }

  // MARK: - DeleteWidget, SetPresence, MoveWidget

  @Test func `of DeleteWidget removes, and may be told that there may be nothing`() async throws {
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

  @Test func `of SetPresence changes many at once, or none`() async throws {
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

  @Test func `of SetPresence needs exactly one target and an action`() async throws {
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

  @Test func `of MoveWidget changes the order that lists have`() async throws {
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

  @Test func `of ApplyWidgets makes a declared set true in one commit`() async throws {
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

  @Test func `of ApplyWidgets that cannot be done as a whole does nothing`() async throws {
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

  @Test func `owners are in answers whose mask names them, and fields are released`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let (a, kind) = (try WidgetID.make("a"), try KindName.make("k"))
      let declare = { (count: Int64, dry: Bool) in
        ApplyWidgetsRequest(
          applySet: "bundle/clock",
          widgets: [WidgetSpec(id: a, kind: kind, data: ["n": .int(count)])],
          validateOnly: dry, ownFields: true)
      }
      _ = try client.call("ApplyWidgets", declare(1, false), as: ApplyWidgetsResponse.self)
      let patch = WidgetPatch(setData: ["n": .int(7)])
      _ = try client.call(
        "UpdateWidget", UpdateWidgetRequest(id: a, patch: patch, provider: "desk"),
        as: UpdateWidgetResponse.self)
      let owner = FieldOwner(
        path: "data.n", owner: "provider desk", manager: "bundle/clock", declared: .int(1))
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

  // MARK: - SendEvent

  @Test func `of SendEvent is refused for a missing widget and for invalid fields`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      let a = try WidgetID.make("a")
      Self.expect(
        try client.refusal("SendEvent", SendEventRequest(widgetID: .make("b"), name: "x")),
        .notFound, "WIDGET_NOT_FOUND")
      for (request, field) in [
        (SendEventRequest(widgetID: a, name: ""), "name"),
        (SendEventRequest(widgetID: a, name: "no spaces"), "name"),
        (SendEventRequest(widgetID: a, nodeID: "-", name: "x"), "node_id"),
        (
          SendEventRequest(widgetID: a, name: "x", client: String(repeating: "c", count: 65)),
          "client"
        ),
      ] {
        let status = try client.refusal("SendEvent", request)
        #expect(status.code == .invalidArgument)
        #expect(status.fieldViolations.map(\.field) == [field])
      }
      let large = try client.refusal(
        "SendEvent",
        SendEventRequest(
          widgetID: a, name: "x", payload: ["k": .bytes([UInt8](repeating: 0, count: 70_000))]))
      Self.expect(large, .resourceExhausted, "QUOTA_EXCEEDED")
    }
  }

  // MARK: - ListWidgets

  @Test func `of ListWidgets returns pages in order, each widget once`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 250))) { server in
      let client = try server.connect()
      func page(_ size: Int32, _ token: String = "") throws -> ListWidgetsResponse {
        try client.call(
          "ListWidgets", ListWidgetsRequest(pageSize: size, pageToken: token),
          as: ListWidgetsResponse.self)
      }
      #expect(try page(0).widgets.count == 100)
      #expect(try page(.max).widgets.count == 250)
      #expect(try page(.max).nextPageToken.isEmpty)
      #expect(try page(1).revision == 250)
      var ids: [String] = []
      var token = ""
      repeat {
        let part = try page(7, token)
        ids += part.widgets.map(\.widget.id.rawValue)
        token = part.nextPageToken
      } while !token.isEmpty
      #expect(ids == (0..<250).map { "w\($0)" })
      for (size, token, field) in [(-1, "", "page_size"), (0, "~", "page_token")]
        as [(Int32, String, String)]
      {
        let status = try client.refusal(
          "ListWidgets", ListWidgetsRequest(pageSize: size, pageToken: token))
        #expect(status.code == .invalidArgument)
        #expect(status.fieldViolations.map(\.field) == [field])
      }
    }
  }

  @Test func `of ListWidgets selects, and keeps pages within their bytes`() async throws {
    let image = StoreImage.sample(count: 20) { _ in
      ["pad": .bytes([UInt8](repeating: 1, count: 10_000))]
    }
    try await withServer(
      limits: .with { $0.pageBytesMax = 30_000 }, log: TestLog.State(image: image)
    ) { server in
      let client = try server.connect()
      let first = try client.call(
        "ListWidgets", ListWidgetsRequest(), as: ListWidgetsResponse.self)
      #expect((2...5).contains(first.widgets.count))
      #expect(try client.list().widgets.count == 20)
      let some = try client.list(Selector(ids: [.make("w3"), .make("w4"), .make("nobody")]))
      #expect(some.widgets.count == 2)
    }
  }

  // MARK: - Retries

  @Test func `with a request id that is repeated gets the first answer and does nothing`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      let request = SetPresenceRequest(target: .all, action: .toggle, requestID: "r1")
      let first = try client.call("SetPresence", request, as: SetPresenceResponse.self)
      #expect(first.changedIDs.count == 1)
      try client.set("a", ["n": .int(1)])
      // From another connection too: a retry usually is.
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

  @Test(arguments: [3_600, -3_600])
  func `with a request id that is repeated after a step of the clock does nothing`(
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

  @Test func `that was refused is not remembered under its request id`() async throws {
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
  func `of any mutation can be retried`(method: String) async throws {
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

  @Test func `of the wrong shape is refused`() async throws {
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
  func `of what does not exist is UNIMPLEMENTED`(service: String, method: String) async throws {
    try await withServer { server in
      let client = try server.connect()
      for flags in [[], FrameFlags.remoteClosed] {
        let status = try client.refusal(method, payload: [], service: service, flags: flags)
        Self.expect(status, .unimplemented, "METHOD_UNKNOWN")
      }
      #expect(try client.health() == .serving)
    }
  }

  @Test func `whose deadline is in the past is not done`() async throws {
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

  @Test func `that streams ends with its deadline`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let stream = try client.watch(timeout: 20_000_000)
      #expect(try stream.end()?.code == .deadlineExceeded)
      #expect(try client.stats().subscriptions == 0)
      #expect(try client.health() == .serving)
    }
  }

  @Test func `may carry metadata`() async throws {
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

  // MARK: - Streams and health

  @Test func `of Unsubscribe ends one stream and no other`() async throws {
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

  @Test func `of Check knows the services`() async throws {
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

  @Test func `of GetStats tells what there is and every limit`() async throws {
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

  @Test func `of SetLogLevel returns the level before`() async throws {
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

  @Test func `of Reload answers when the settings are read, and others go on meanwhile`()
    async throws
  {
    try await withServer { server in
      let (steps, continuation) = AsyncStream.makeStream(of: Void.self)
      try server.onLoop { service in
        service.reloads.onReload = {
          for await _ in steps { break }
          var outcome = WidgetServer.ReloadOutcome()
          outcome.applied = ["log-level"]
          outcome.needsRestart = ["socket"]
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

/// What a refusal advises.
@Suite struct Advice {
  @Test(arguments: [("bundle/clicks", "bundle rm clicks"), ("gauges", "rm-kind gauge")])
  func `the owner of a kind is told of with the command that frees the name`(
    provider: String, command: String
  ) throws {
    let status = RPCStatus(.kindClaimed(try .make("gauge"), by: provider))
    #expect(status.message.hasSuffix("(`widgetctl \(command)`)."))
  }
}
