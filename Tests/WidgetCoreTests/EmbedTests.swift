import Testing
import WidgetModel

@testable import WidgetCore

/// Nodes that show the content of another widget.
struct EmbedTests: EmbedSuite {
  // MARK: - What it shows

  @Test func `an embed shows what the other widget shows`() throws {
    var store = try store()
    try store.create("c", kind: "counter", data: ["n": .int(3)])
    try frame("f", showing: "c", &store)
    settle(&store)
    let content = try #require(store.widget("f")?.content)
    #expect(
      content.nodes.map(\.id) == [
        "frame", "title", "inner", "inner::counter", "inner::count", "inner::plus",
      ])
    #expect(content["inner"]?.childIDs == ["inner::counter"])
    #expect(content["inner"]?.problem == "")
    #expect(content["inner::plus"]?.events == ["press"])
    #expect(text("inner::count", of: "f", store) == "3")
  }

  @Test func `an embed follows the other widget, and readers get only the changed nodes`() throws {
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    settle(&store)
    let cursor = store.revision
    try store.set("c", ["n": .int(7)])
    settle(&store)
    let delta = try store.changes(since: cursor)
    #expect(words(delta) == ["~c", "~f"])
    guard case .updated(let update)? = delta.changes.last else {
      Issue.record("no update")
      return
    }
    #expect(update.content?.setNodes.map(\.id) == ["inner::count"])
    #expect(update.content?.replaces == false)
    #expect(text("inner::count", of: "f", store) == "7")
    // No more changes are due, and none is stored.
    #expect(store.settleEmbeds() == 0)
    #expect(!store.hasPendingGroup)
  }

  @Test func `an embed shows another widget when it names another one`() throws {
    var store = try store()
    try store.create("c", kind: "counter", data: ["n": .int(1)])
    try store.create("d", kind: "counter", data: ["n": .int(2)])
    try frame("f", showing: "c", &store)
    settle(&store)
    try store.set("f", ["widget": .string("d")])
    settle(&store)
    #expect(text("inner::count", of: "f", store) == "2")
    let cursor = store.revision
    try store.set("c", ["n": .int(5)])
    settle(&store)
    #expect(words(try store.changes(since: cursor)) == ["~c"])
    try store.set("f", ["open": .bool(false)])
    settle(&store)
    #expect(store.widget("f")?.content?.nodes.map(\.id) == ["frame", "title"])
  }

  @Test func `a widget without a registered kind is shown as its data`() throws {
    var store = try store()
    try store.create("x", kind: "nobody", data: ["a": .string("b")])
    try frame("f", showing: "x", &store)
    settle(&store)
    #expect(text("inner::value/a", of: "f", store) == "b")
    try store.set("x", ["a": .string("c")])
    settle(&store)
    #expect(text("inner::value/a", of: "f", store) == "c")
  }

  @Test func `embeds in rows show a widget in each`() throws {
    var store = try store()
    for (index, id) in ["a", "b"].enumerated() {
      try store.create(WidgetID(id), kind: "counter", data: ["n": .int(Int64(index))])
    }
    try store.create("g", kind: "grid", data: ["ids": .list([.string("a"), .string("b")])])
    settle(&store)
    #expect(text("cell/a::count", of: "g", store) == "0")
    #expect(text("cell/b::count", of: "g", store) == "1")
    try store.set("g", ["ids": .list([.string("b")])])
    settle(&store)
    #expect(store.widget("g")?.content?["cell/a::count"] == nil)
    #expect(text("cell/b::count", of: "g", store) == "1")
  }

  // MARK: - What it cannot show

  @Test func `an embed names a missing widget, and shows it when it is created`() throws {
    var store = try store()
    try frame("f", showing: "c", &store)
    settle(&store)
    #expect(problem(of: "f", store) == "content: There is no widget \"c\".")
    #expect(text("inner::problem", of: "f", store) == "There is no widget \"c\".")
    try store.create("c", kind: "counter")
    settle(&store)
    #expect(problem(of: "f", store) == "")
    #expect(text("inner::count", of: "f", store) == "0")
    try store.delete("c")
    settle(&store)
    #expect(problem(of: "f", store) == "content: There is no widget \"c\".")
    #expect(store.widget("f")?.content?["inner::count"] == nil)
  }

  @Test func `a fallback is shown in place of the reason`() throws {
    var store = try store()
    try store.create(
      "f", kind: "frame", data: ["widget": .string("c"), "fallback": .string("soon")])
    try store.create("g", kind: "frame", data: ["widget": .string("c"), "fallback": .string("")])
    settle(&store)
    #expect(text("inner::problem", of: "f", store) == "soon")
    #expect(problem(of: "f", store) == "content: There is no widget \"c\".")
    #expect(store.widget("g")?.content?["inner"]?.childIDs == [])
  }

  @Test(arguments: [
    ("", "The embed names no widget."), ("not an id", "\"not an id\" is not the id of a widget."),
    ("f", "The widget \"f\" would show itself."),
  ])
  func `an id that cannot be shown is reported`(name: String, words: String) throws {
    var store = try store()
    try frame("f", showing: name, &store)
    settle(&store)
    #expect(problem(of: "f", store) == "content: \(words)")
    #expect(store.settleEmbeds() == 0)
  }

  @Test func `a widget in a circle is not shown, until the circle is broken`() throws {
    var store = try store()
    try frame("a", showing: "b", &store)
    try frame("b", showing: "c", &store)
    try frame("c", showing: "a", &store)
    try frame("outside", showing: "a", &store)
    settle(&store)
    for (id, other) in [("a", "b"), ("b", "c"), ("c", "a")] {
      #expect(
        problem(of: WidgetID(stringLiteral: id), store)
          == "content: The widget \"\(other)\" shows this one, so it cannot be shown here.")
    }
    #expect(text("inner::title", of: "outside", store) == "title")
    #expect(store.settleEmbeds() == 0)
    try store.set("c", ["widget": .string("")])
    settle(&store)
    #expect(problem(of: "a", store) == "")
    #expect(text("inner::inner::title", of: "a", store) == "title")
    #expect(text("inner::inner::inner::title", of: "outside", store) == "title")
  }

  @Test func `an embed shows that its widget is stale, or has an error`() throws {
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    settle(&store)
    #expect(problem(of: "f", store) == "")
    try store.update("c", WidgetPatch(isStale: true))
    settle(&store)
    #expect(problem(of: "f", store) == "content: The widget \"c\" is stale.")
    #expect(text("inner::count", of: "f", store) == "0")
    try store.update(
      "c", WidgetPatch(error: .some(WidgetError(reason: "LOST", message: "no signal"))))
    settle(&store)
    #expect(problem(of: "f", store) == "content: The widget \"c\" has an error: no signal")
    try store.update("c", WidgetPatch(isStale: false, error: .some(nil)))
    settle(&store)
    #expect(problem(of: "f", store) == "")
    #expect(store.settleEmbeds() == 0)
  }

  @Test func `an embed shows that the schedule of its widget fails`() throws {
    let kind = Kind(
      name: "agenda", data: [Field(name: "at", type: .string, defaultValue: .string("bad"))],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "text", type: .label, properties: ["text": Binding(value: .string("x"))]))
      ],
      schedule: EntrySchedule(entries: "[{'date': timestamp(data.at)}]"))
    var store = try store([Self.frame, kind])
    try store.create("c", kind: "agenda")
    try frame("f", showing: "c", &store)
    settle(&store)
    #expect(
      problem(of: "f", store)?.hasPrefix(
        "content: The widget \"c\" has a problem of its timeline: The entries cannot be computed")
        == true)
    try store.set("c", ["at": .string("2026-01-01T00:00:00Z")])
    settle(&store)
    #expect(problem(of: "f", store) == "")
  }

  @Test(arguments: [
    (KindName.activity, ""),
    ("counter", "content: The widget \"c\" has failed: status 1"),
  ])
  func `an embed shows that an activity has failed, if its content does not`(
    kind: KindName, problem: String
  ) throws {
    var counter = Self.counter
    counter.data += ["outcome", "status"].map { Field(name: $0, type: .string) }
    var store = try store([Self.frame, counter])
    try store.run(.startActivity(WidgetSpec(id: "c", kind: kind)))
    try frame("f", showing: "c", &store)
    let end: ValueMap = ["outcome": .string("failed"), "status": .string("status 1")]
    try store.run(.endActivity("c", StatePatch(setData: end)))
    settle(&store)
    #expect(self.problem(of: "f", store) == problem)
  }

  @Test func `an embed without content names the kind, the family, and a family with content`()
    throws
  {
    var inline = Self.counter
    (inline.name, inline.families, inline.reducers) = ("line", [], [])
    inline.content.removeAll { $0.families != [.inline] }
    let empty = Kind(name: "empty")
    var store = try store([Self.frame, inline, empty])
    try store.create("c", kind: "line")
    try store.create("e", kind: "empty")
    try frame("f", showing: "c", &store)
    settle(&store)
    #expect(
      problem(of: "f", store)
        == "content: The kind \"line\" has no content for the family medium."
        + " Set \"family\" of the embed to inline.")
    try store.set("f", ["widget": .string("e")])
    settle(&store)
    #expect(problem(of: "f", store) == "content: The kind \"empty\" declares no content.")
  }

  @Test func `a frame in a stack that could show the frame says so`() throws {
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "top", &store)
    try store.run(
      .create(
        WidgetSpec(
          id: "top", kind: .smartStack,
          parameters: ["widgets": .list([.string("c"), .string("f")])])))
    settle(&store)
    #expect(store.widget("top")?.data["current"] == .string("c"))
    #expect(
      problem(of: "f", store)
        == "content: The widget \"top\" can show this one, so it cannot be shown here.")
  }

  @Test func `embeds are nested four deep at most`() throws {
    var store = try store()
    try store.create("w0", kind: "counter")
    for depth in 1...6 {
      try frame(WidgetID(stringLiteral: "w\(depth)"), showing: "w\(depth - 1)", &store)
    }
    settle(&store)
    #expect(text("inner::inner::inner::inner::count", of: "w4", store) == "0")
    // The level that is too deep shows the reason. The levels above keep their content.
    let deepest = "inner::inner::inner::inner::inner"
    for outer: WidgetID in ["w5", "w6"] {
      #expect(problem(of: outer, store) == "")
      #expect(text("inner::inner::inner::inner::title", of: outer, store) == "title")
      let embed = store.widget(outer)?.content?[deepest]
      #expect(embed?.problem.hasSuffix("Embeds are nested more than 4 deep.") == true)
      #expect(embed?.childIDs == ["\(deepest)::problem"])
      #expect(store.widget(outer)?.content?["\(deepest)::count"] == nil)
    }
    #expect(store.settleEmbeds() == 0)
    #expect(store.checkInvariants().isEmpty)
  }

  @Test func `an embed without room is left out, and the outer widget keeps its nodes`() throws {
    var store = try store(limits: .with { ($0.contentNodesMax, $0.contentBytesMax) = (20, 4_096) })
    try store.create("c", kind: "counter")
    try store.create("g", kind: "grid", data: ["ids": .list((0..<6).map { .string("c\($0)") })])
    for index in 0..<6 { try store.create(WidgetID(stringLiteral: "c\(index)"), kind: "counter") }
    settle(&store)
    let cells = (0..<6).compactMap { store.widget("g")?.content?["cell/c\($0)"]?.problem }
    #expect(cells.filter(\.isEmpty).count == 4)
    #expect(cells.last?.hasPrefix("content: There is no room for it") == true)
    #expect(store.widget("g")?.content?.nodes.count ?? 99 <= 20)
    // A text that does not fit twice.
    try store.create(
      "long", kind: "frame", data: ["title": .string(String(repeating: "x", count: 3_000))])
    try store.create("f", kind: "frame", data: ["widget": .string("long")])
    settle(&store)
    #expect(problem(of: "f", store) == "")
    try store.set("f", ["title": .string(String(repeating: "y", count: 2_500))])
    settle(&store)
    #expect(problem(of: "f", store)?.contains("content_bytes_max") == true)
    #expect(text("title", of: "f", store)?.count == 2_500)
  }

  @Test func `a hidden widget is not shown, and a disabled one takes no events`() throws {
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    settle(&store)
    try store.run(.setPresence(.ids(["c"]), .hide))
    settle(&store)
    #expect(store.widget("f")?.content?["inner"]?.childIDs == [])
    #expect(problem(of: "f", store) == "")
    try store.run(.setPresence(.ids(["c"]), .show))
    try store.run(.setPresence(.ids(["c"]), .disable))
    settle(&store)
    #expect(store.widget("f")?.content?["inner::counter"]?.properties["enabled"] == .bool(false))
    let draft = EventDraft(widgetID: "f", nodeID: "inner::plus", name: "press")
    #expect(store.refusal(of: .sendEvent(draft)) == .widgetDisabled("c"))
  }
}
