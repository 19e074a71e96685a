import Testing
import WidgetModel

@testable import WidgetCore

/// Nodes that show what another widget shows.
struct EmbedTests {
  /// Shows the widget that its data names, in the family that its data names.
  private static let frame = Kind(
    name: "frame",
    data: [
      Field(name: "widget", type: .string, defaultValue: .string("")),
      Field(name: "title", type: .string, defaultValue: .string("title")),
      Field(name: "open", type: .bool, defaultValue: .bool(true)),
      Field(name: "fallback", type: .string),
    ],
    content: [
      ContentTemplate(
        root: NodeTemplate(
          id: "frame", type: .stack,
          children: [
            NodeTemplate(id: "title", type: .label, properties: ["text": Binding("data.title")]),
            NodeTemplate(
              id: "inner", type: .embed,
              properties: ["widget": Binding("data.widget"), "fallback": Binding("data.fallback")],
              condition: "data.open"),
          ]))
    ])

  private static let counter = Kind(
    name: "counter",
    data: [Field(name: "n", type: .int, defaultValue: .int(0))],
    reducers: [
      Reducer(event: "press", nodeID: "plus", assignments: ["n": "data.n + 1"])
    ],
    content: [
      ContentTemplate(
        families: [.inline],
        root: NodeTemplate(
          id: "line", type: .label, properties: ["text": Binding("'#' + string(data.n)")])),
      ContentTemplate(
        root: NodeTemplate(
          id: "counter", type: .stack,
          children: [
            NodeTemplate(
              id: "count", type: .label, properties: ["text": Binding("string(data.n)")]),
            NodeTemplate(
              id: "plus", type: .button, properties: ["text": Binding(value: .string("+"))]),
          ])),
    ])

  private static func grid(_ family: String = "") -> Kind {
    Kind(
      name: "grid", data: [Field(name: "ids", type: .list(.string), defaultValue: .list([]))],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "grid", type: .grid,
            children: [
              NodeTemplate(
                id: "cell", type: .embed,
                properties: family.isEmpty
                  ? ["widget": Binding("id")]
                  : ["widget": Binding("id"), "family": Binding(value: .string(family))],
                rows: RowTemplate(list: "data.ids", name: "id", key: "id"))
            ]))
      ])
  }

  private func store(
    _ kinds: [Kind] = [frame, counter, grid()], limits: StoreLimits = StoreLimits()
  ) throws -> Store {
    var store = Store(limits: limits)
    try store.register(kinds)
    store.commitGroup(at: .at(0))
    return store
  }

  /// Ends the group, and lets embeds follow, as the daemon does.
  private func settle(_ store: inout Store, costMax: Int = .max) {
    store.commitGroup(at: .at(0))
    store.settleEmbeds(costMax: costMax)
    #expect(store.checkInvariants().isEmpty)
  }

  private func frame(_ id: WidgetID, showing other: String, _ store: inout Store) throws {
    try store.create(id, kind: "frame", data: ["widget": .string(other)])
  }

  private func text(_ node: String, of id: WidgetID, _ store: Store) -> String? {
    store.widget(id)?.content?[node]?.properties["text"]?.words
  }

  private func problem(of id: WidgetID, _ store: Store) -> String? {
    store.widget(id)?.content?["inner"]?.problem
  }

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

  @Test func `it follows the other widget, and readers get only the changed nodes`() throws {
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
    // Nothing more is due, and nothing is stored for it.
    #expect(store.settleEmbeds() == 0)
    #expect(!store.hasPendingGroup)
  }

  @Test func `it shows another widget when it names another one`() throws {
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

  @Test func `a widget that is missing is named, and shown when it comes`() throws {
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

  @Test func `a fallback stands in place of the reason`() throws {
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
  func `what cannot be a widget is refused in words`(name: String, words: String) throws {
    var store = try store()
    try frame("f", showing: name, &store)
    settle(&store)
    #expect(problem(of: "f", store) == "content: \(words)")
    #expect(store.settleEmbeds() == 0)
  }

  @Test func `a circle shows nothing of itself, until it is broken`() throws {
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

  @Test func `what has no room is left out, and the outer widget keeps its own nodes`() throws {
    var store = try store(limits: .with { ($0.contentNodesMax, $0.contentBytesMax) = (20, 4_096) })
    try store.create("c", kind: "counter")
    try store.create("g", kind: "grid", data: ["ids": .list((0..<6).map { .string("c\($0)") })])
    for index in 0..<6 { try store.create(WidgetID(stringLiteral: "c\(index)"), kind: "counter") }
    settle(&store)
    let cells = (0..<6).compactMap { store.widget("g")?.content?["cell/c\($0)"]?.problem }
    #expect(cells.filter(\.isEmpty).count == 4)
    #expect(cells.last?.hasPrefix("content: There is no room for it") == true)
    #expect(store.widget("g")?.content?.nodes.count ?? 99 <= 20)
    // A text that is too long for both.
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

  // MARK: - Events

  @Test func `events of its nodes reach the other widget`() throws {
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    try frame("g", showing: "f", &store)
    settle(&store)
    for (id, node) in [("f", "inner::plus"), ("g", "inner::inner::plus")] {
      try store.run(
        .sendEvent(
          EventDraft(widgetID: WidgetID(stringLiteral: id), nodeID: node, name: "press")))
      settle(&store)
    }
    #expect(store.widget("c")?.data["n"] == .int(2))
    #expect(text("inner::inner::count", of: "g", store) == "2")
    let events = store.events(after: 0).events
    #expect(events.map(\.widgetID) == ["c", "c"])
    #expect(events.map(\.nodeID) == ["plus", "plus"])
  }

  @Test func `events go through everything around the node`() throws {
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    settle(&store)
    let press = Command.sendEvent(
      EventDraft(widgetID: "f", nodeID: "inner::plus", name: "press"))
    try store.run(.setPresence(.ids(["f"]), .disable))
    #expect(store.refusal(of: press) == .widgetDisabled("f"))
    try store.run(.setPresence(.ids(["f"]), .enable))
    try store.set("f", ["open": .bool(false)])
    settle(&store)
    #expect(store.refusal(of: press) == .nodeNotFound("f", "inner"))
    let stranger = EventDraft(widgetID: "f", nodeID: "title::plus", name: "press")
    #expect(store.refusal(of: .sendEvent(stranger)) == .nodeNotFound("f", "title::plus"))
  }

  @Test func `ids that are too long are shortened, and events still reach their node`() throws {
    let long = String(repeating: "n", count: NodeID.templateLengthMax)
    let kind = Kind(
      name: "long", data: [Field(name: "n", type: .int, defaultValue: .int(0))],
      reducers: [Reducer(event: "press", assignments: ["n": "data.n + 1"])],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "top", type: .stack,
            children: [
              NodeTemplate(
                id: long, type: .button,
                rows: RowTemplate(
                  list: "['\(String(repeating: "k", count: 50))']", name: "r", key: "r"))
            ]))
      ])
    var store = try store([Self.frame, kind])
    try store.create("l", kind: "long")
    try frame("f", showing: "l", &store)
    settle(&store)
    let node = try #require(store.widget("f")?.content?["inner::top"]?.childIDs.first)
    #expect(node.utf8.count <= NodeID.lengthMax)
    try store.run(.sendEvent(EventDraft(widgetID: "f", nodeID: node, name: "press")))
    #expect(store.widget("l")?.data["n"] == .int(1))
  }

  // MARK: - Families

  @Test func `readers of another family see the other widget in that family`() throws {
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    settle(&store)
    #expect(
      store.widget("f", taking: .family(.inline))?.content?.nodes.map(\.id).last == "inner::line")
    for isKept in [false, true] {
      if isKept { store.keepContent(of: .inline) }
      _ = store.widget("f", taking: .family(.inline))
      let cursor = store.revision
      try store.set("c", ["n": .int(isKept ? 9 : 8)])
      settle(&store)
      let delta = try store.changes(
        since: cursor, selecting: Selector(ids: ["f"]), taking: .family(.inline))
      guard case .updated(let update)? = delta.changes.last else {
        Issue.record("no update")
        return
      }
      #expect(
        update.content?.setNodes.last?.properties["text"] == .string(isKept ? "#9" : "#8"))
      #expect(update.content?.replaces == !isKept)
    }
  }

  @Test func `an embed names the family, or falls back to the widget's`() throws {
    var inline = Self.counter
    inline.name = "small-only"
    inline.families = [.small]
    inline.content.removeFirst()
    var store = try store([Self.grid("inline"), Self.frame, Self.counter, inline])
    try store.create("c", kind: "counter")
    try store.create("s", kind: "small-only")
    try store.create("g", kind: "grid", data: ["ids": .list([.string("c"), .string("s")])])
    try frame("f", showing: "s", &store)
    settle(&store)
    #expect(text("cell/c::line", of: "g", store) == "#0")
    #expect(
      store.widget("g")?.content?["cell/s"]?.problem
        == "content: The kind \"small-only\" does not support the family.")
    #expect(text("inner::count", of: "f", store) == "0")
    try store.set("c", ["n": .int(4)])
    settle(&store)
    #expect(text("cell/c::line", of: "g", store) == "#4")
  }

  // MARK: - Time

  @Test func `readers are told when something in an embed changes by itself`() throws {
    var store = try store([Self.frame, TimelineTests.clock])
    try store.create("c", kind: "clock")
    try frame("f", showing: "c", &store)
    settle(&store)
    let due = try #require(store.embeddedDate(of: "f"))
    #expect(due == store.nextDate)
    let before = text("inner::text", of: "f", store)
    store.advance(to: due)
    store.settleEmbeds(at: due)
    #expect(text("inner::text", of: "f", store) != before)
    #expect(text("inner::text", of: "f", store) == text("text", of: "c", store))
  }

  @Test func `a large audience follows in steps, and costs the sender nothing`() throws {
    var store = try store()
    try store.create("c", kind: "counter")
    for index in 0..<100 { try frame(WidgetID(stringLiteral: "f\(index)"), showing: "c", &store) }
    settle(&store)
    let cursor = store.revision
    try store.set("c", ["n": .int(1)])
    #expect(store.contentCost < 200)
    store.commitGroup(at: .at(0))
    #expect(store.settleEmbeds(costMax: 500) > 5)
    #expect(text("inner::count", of: "f99", store) == "1")
    #expect(try store.changes(since: cursor).changes.count == 101)
    #expect(store.checkInvariants().isEmpty)
  }

  // MARK: - Groups and restarts

  @Test func `what was taken back was never shown`() throws {
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    settle(&store)
    let before = store.observation()
    try store.set("c", ["n": .int(5)])
    try store.delete("f")
    store.rollbackGroup()
    #expect(store.settleEmbeds() == 0)
    #expect(store.observation() == before)
  }

  @Test func `after a restart readers get widgets with embeds as a whole`() throws {
    var image = StoreImage(epoch: 7)
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    image.apply(store.pendingGroup())
    image.kinds = [Self.frame, Self.counter].map { RegisteredKind(kind: $0, provider: "desk") }
    settle(&store)
    try store.set("c", ["n": .int(6)])
    image.apply(store.pendingGroup())
    settle(&store)
    for group in store.reserved { image.revision = max(image.revision, group.revision) }
    var restored = Store(image: image)
    let cursor = restored.revision
    #expect(cursor >= store.revision)
    restored.settleEmbeds()
    #expect(text("inner::count", of: "f", restored) == "6")
    #expect(words(try restored.changes(since: cursor)) == ["+f"])
    #expect(restored.checkInvariants().isEmpty)
  }

  // MARK: - Histories

  /// Random histories of widgets that show each other: the looks come to an end, what is shown is what a
  /// look from the beginning gives, and a mirror holds what the store has.
  @Test(arguments: 0..<40)
  func `whatever shows whatever, it comes to rest and is true`(seed: UInt64) throws {
    var random = Random(state: seed &* 7_919 &+ 1)
    var store = try store(limits: .with { ($0.contentNodesMax, $0.contentBytesMax) = (60, 8_192) })
    store.keepContent(of: .inline)
    var mirrors: [(choice: ContentChoice, mirror: Mirror, cursor: Revision)] = [
      (.own, Mirror(), 0), (.family(.inline), Mirror(), 0),
    ]
    let ids = (0..<9).map { WidgetID(stringLiteral: "w\($0)") }
    for _ in 0..<40 {
      for _ in 0...random.below(3) {
        let id = ids[random.below(ids.count)]
        let other = Value.string(ids[random.below(ids.count)].rawValue)
        _ = try? step(random.below(8), id, other, in: &store)
      }
      if random.below(6) == 0 { store.rollbackGroup() }
      store.commitGroup(at: .at(0))
      let steps = store.settleEmbeds(costMax: 1 + random.below(2_000))
      #expect(steps < 400)
      #expect(!store.needsSettling)
      #expect(store.checkInvariants().isEmpty, "seed \(seed)")
      for index in mirrors.indices {
        let delta = try store.changes(
          since: mirrors[index].cursor, taking: mirrors[index].choice)
        // What changed may be in the content for readers of another family alone.
        #expect(
          mirrors[index].mirror.apply(delta, changesOwnersOnly: { _ in true }).isEmpty,
          "seed \(seed)")
        mirrors[index].cursor = store.revision
        for widget in mirrors[index].mirror.widgets.values {
          #expect(
            widget == store.widget(widget.id, taking: mirrors[index].choice), "seed \(seed)")
        }
      }
    }
  }

  private func step(_ what: Int, _ id: WidgetID, _ other: Value, in store: inout Store) throws {
    switch what {
    case 0: try store.create(id, kind: "counter")
    case 1: try store.create(id, kind: "frame", data: ["widget": other])
    case 2: try store.create(id, kind: "grid", data: ["ids": .list([other, .string("w1")])])
    case 3: try store.set(id, ["widget": other])
    case 4: try store.set(id, ["n": .int(Int64(store.revision))])
    case 5: try store.delete(id)
    case 6: try store.run(.setPresence(.ids([id]), .toggle))
    default: try store.set(id, ["title": .string("t\(store.revision)")])
    }
  }
}

/// Numbers that a seed decides.
private struct Random {
  var state: UInt64

  mutating func below(_ limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(limit))
  }
}

extension Value {
  fileprivate var words: String? { if case .string(let text) = self { text } else { nil } }
}
