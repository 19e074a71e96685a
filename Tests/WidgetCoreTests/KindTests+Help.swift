import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// The built-in kind `help`.
extension KindTests {
  @Test func `a help widget shows the declaration of a kind, and follows it`() throws {
    var store = Store()
    try store.create("h", kind: .help)
    #expect(store.widget("h")?.data["kind"] == .string("help"))
    try store.update("h", .with { $0.setParameters = ["kind": .string("clock")] })
    #expect(store.widget("h")?.data == ["known": .bool(false)])
    try store.register([Self.clock])
    let data = try #require(store.widget("h")?.data)
    #expect(data["known"] == .bool(true))
    #expect(data["display_name"] == .string("Clock"))
    #expect(data["families"] == .list([.string("small"), .string("inline")]))
    guard case .list(let parameters) = data["parameters"], case .map(let zone) = parameters[0]
    else {
      Issue.record("\(data)")
      return
    }
    #expect(
      zone == [
        "name": .string("zone"), "type": .string("string"), "default": .string("UTC"),
        "description": .string("IANA name."), "required": .bool(false),
      ])
    try store.run(.deleteKind("clock"))
    #expect(store.widget("h")?.data == ["known": .bool(false)])
    #expect(store.checkInvariants() == [])
  }

  @Test func `help widgets of several kinds follow a declaration of all of them`() throws {
    var store = Store()
    let ids: [(WidgetID, String)] = [("h1", "clock"), ("h2", "other"), ("h3", "clock")]
    for (id, kind) in ids {
      try store.create(id, kind: .help)
      try store.update(id, .with { $0.setParameters = ["kind": .string(kind)] })
    }
    try store.register([Self.clock, Kind(name: "other", displayName: "Other")])
    let names = ids.map { store.widget($0.0)?.data["display_name"] }
    #expect(names == [.string("Clock"), .string("Other"), .string("Clock")])
    #expect(store.checkInvariants() == [])
  }

  @Test func `the content of a help widget shows its data`() throws {
    var store = Store()
    try store.register([
      Kind(
        name: "dial", displayName: "Dial", summary: "Shows a share.", families: [.small, .inline],
        parameters: [
          Field(name: "most", type: .double, defaultValue: .double(1.5), summary: "The end."),
          Field(name: "of", type: .string, isRequired: true),
        ],
        data: [
          Field(name: "marks", type: .list(.int), defaultValue: .list([.int(1)])),
          Field(
            name: "long", type: .string, defaultValue: .string(String(repeating: "ä", count: 25))),
        ],
        events: [
          EventType(name: "press"),
          EventType(name: "turn", summary: "Turns.", payload: [Field(name: "by", type: .int)]),
        ])
    ])
    try store.run(
      .create(WidgetSpec(id: "h", kind: .help, parameters: ["kind": .string("dial")])))
    let content = try #require(store.widget("h")?.content)
    #expect(content.nodes.allSatisfy { $0.problem.isEmpty })
    let texts = content.nodes.filter { $0.type == .label }.compactMap { $0.properties["text"] }
    #expect(
      texts
        == [
          "Dial", "Shows a share.", "Families: small, inline", "Parameters", "most", "double",
          "1.5",
          "The end.", "of", "string", "required", "", "Data", "marks", "list(int)", "[1]", "",
          "long", "string", String(repeating: "ä", count: 23) + "…", "",
          "Events", "press", "turn: Turns.", "by", "int", "", "",
        ].map { .string($0) })
    // On one line, too.
    try store.run(
      .create(
        WidgetSpec(id: "i", kind: .help, family: .inline, parameters: ["kind": .string("dial")])))
    #expect(
      store.widget("i")?.content?.nodes.map { $0.properties["text"] }
        == [.string("Dial: Shows a share.")])
    // For a removed kind, it reports that.
    try store.run(.deleteKind("dial"))
    for id in ["h", "i"] as [WidgetID] {
      let nodes = try #require(store.widget(id)?.content?.nodes)
      #expect(nodes.allSatisfy { $0.problem.isEmpty })
      #expect(
        nodes.compactMap { $0.properties["text"] }
          == [.string("There is no kind \"dial\".")])
    }
    #expect(store.checkInvariants() == [])
  }

  @Test func `nobody else fills a help widget`() throws {
    var store = Store()
    try store.create("h", kind: .help)
    for command: Command in [
      .update("h", .set(["known": .bool(false)])),
      .update("h", .with { $0.replaceData = true }),
      .update("h", .with { $0.setParameters = ["kind": .string("not a name")] }),
      .update("h", .with { $0.setParameters = ["kind": .int(1)] }),
      .create(WidgetSpec(kind: .help, data: ["kind": .string("x")])),
    ] {
      guard case .invalid = store.refusal(of: command) else {
        Issue.record("not refused: \(command)")
        continue
      }
    }
    // The printed form of a kind can be applied.
    let printed = try #require(store.widget("h"))
    let again = try store.declare([
      WidgetSpec(id: "h", kind: .help, parameters: printed.parameters, data: printed.data)
    ])
    #expect(words(again) == ["~h"])  // The help widget belongs to the set now.
    #expect(store.widget("h")?.data == printed.data)
    try store.declare([WidgetSpec(id: "h", kind: .help, parameters: ["kind": .string("gone")])])
    #expect(store.widget("h")?.data == ["known": .bool(false)])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a kind is not refused because its explanation has no room`() throws {
    var store = Store(limits: .with { $0.widgetBytesMax = 3_000 })
    try store.register([Kind(name: "k")])
    try store.run(
      .create(WidgetSpec(id: "h", kind: .help, parameters: ["kind": .string("k")])))
    try store.register([Kind(name: "k", summary: String(repeating: "x", count: 4_000))])
    #expect(store.widget("h")?.data == ["kind": .string("k"), "known": .bool(true)])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a required field cannot become null, and defaults of events count`() throws {
    var store = try store()
    try store.run(.create(spec()))
    for command: Command in [
      .update("a", .with { $0.setParameters = ["title": .null] }),
      .sendEvent(EventDraft(widgetID: "a", name: "click", payload: ["where": .null])),
    ] {
      guard case .invalid(_, let description) = store.refusal(of: command) else {
        Issue.record("taken: \(command)")
        continue
      }
      #expect(description.contains("requires") || description.contains("needs it"))
    }
    let large = Field(
      name: "x", defaultValue: .string(String(repeating: "x", count: 70_000)))
    let kind = Kind(name: "k", events: [EventType(name: "e", payload: [large])])
    #expect(
      store.refusal(of: .applyKinds(.init(provider: "desk", kinds: [kind])))
        == .quotaExceeded(limit: "event_payload_bytes_max", maximum: 64 << 10))
  }
}
