import Foundation
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Every unary call: its effects, and each of its refusals.
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
      let misspelt = try client.apply([WidgetSpec(id: .make("e"), kind: .make("couter"))])
      #expect(
        misspelt.warnings.map(\.metadata) == [["kind": "couter", "suggestion": "counter"]])
      #expect(misspelt.warnings.first?.message.hasSuffix("Did you mean \"counter\"?") == true)
      // They are widgets like others, and follow their kind when it is registered.
      #expect(try client.get("a").kind == .make("couter"))
    }
  }

  @Test func `GetWidget returns the widget that CreateWidget made`() async throws {
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

  @Test func `CreateWidget without an id picks an id`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let ids = try (0..<3).map { _ in try client.create(nil).id }
      #expect(Set(ids).count == 3)
      #expect(ids.allSatisfy { $0.rawValue.hasPrefix("clock-") })
    }
  }

  @Test func `CreateWidget is refused if the id is taken`() async throws {
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
  func `CreateWidget names the bad field in its refusal`(index: Int) async throws {
    let (name, spec, field) = Self.badSpecs[index]
    try await withServer { server in
      let client = try server.connect()
      let status = try client.refusal("CreateWidget", payload: Proto.bytes(1, spec))
      #expect(status.code == .invalidArgument, "\(name)")
      #expect(status.fieldViolations.map(\.field) == [field], "\(name)")
    }
  }

  @Test func `GetWidget of a missing widget is refused`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let status = try client.refusal("GetWidget", GetWidgetRequest(id: .make("a")))
      Self.expect(status, .notFound, "WIDGET_NOT_FOUND")
      #expect(status.errorInfo?.metadata["widget_id"] == "a")
    }
  }

  @Test func `GetWidget with a mask returns only the requested fields`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", labels: ["x": "y"], data: ["n": .int(1), "m": .int(2)])
      // The first call asks for the whole widget, so that it is in the cache of encoded widgets.
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

  @Test func `GetWidget returns the new widget under the id of a removed one`() async throws {
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

  @Test func `UpdateWidget sets and unsets, and reports whether the widget changed`() async throws {
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

  @Test func `a call with the etag of an older widget is refused`() async throws {
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

  @Test func `UpdateWidget names the field with a bad value in its refusal`() async throws {
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
      #expect(large.fieldViolations.map(\.field) == ["patch.set_data[k]"])
      #expect(try client.get("a").revision == 1)
    }
  }

  // MARK: - SendEvent

  @Test func `SendEvent is refused for a missing widget and for invalid fields`() async throws {
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

  @Test func `pages of ListWidgets have each widget once, in order`() async throws {
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

  @Test func `ListWidgets selects, and its pages stay within their byte limit`() async throws {
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
}

/// The advice of a refusal.
@Suite struct Advice {
  @Test(arguments: [
    ("bundle/clicks", "delete the kind and its widgets from the file of bundle clicks."),
    ("gauges", "remove the kind (`widgetctl rm-kind gauge`)."),
  ])
  func `the error for a claimed kind says what frees its name`(
    provider: String, advice: String
  ) throws {
    let status = RPCStatus(.kindClaimed(try .make("gauge"), by: provider))
    #expect(status.message.hasSuffix(advice))
  }
}
