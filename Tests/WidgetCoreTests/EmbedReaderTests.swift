import Testing
import WidgetModel

@testable import WidgetCore

/// Users and readers of embeds: events, families, and changes by time.
struct EmbedReaderTests: EmbedSuite {
  /// Shows the widget that its entry names, in the family that its entry names.
  private static var slide: Kind {
    Kind(
      name: "slide",
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "slide", type: .stack,
            children: [
              NodeTemplate(
                id: "inner", type: .embed,
                properties: [
                  "widget": Binding("entry.widget"), "family": Binding("entry.family"),
                ])
            ]))
      ],
      entry: [
        Field(name: "widget", type: .string),
        Field(name: "family", type: .string, defaultValue: .string("medium")),
      ])
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

  @Test func `an event through an embed is refused if the widget around it is disabled`() throws {
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

  /// The last change of a widget for readers of the family inline, which must be an update.
  private func inlineUpdate(
    of id: WidgetID, since cursor: Revision, _ store: Store
  ) throws -> WidgetUpdate {
    let delta = try store.changes(
      since: cursor, selecting: Selector(ids: [id]), taking: .family(.inline))
    guard case .updated(let update)? = delta.changes.last else { throw NoUpdate() }
    return update
  }

  private struct NoUpdate: Error {}

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
      let update = try inlineUpdate(of: "f", since: cursor, store)
      #expect(
        update.content?.setNodes.last?.properties["text"] == .string(isKept ? "#9" : "#8"))
      #expect(update.content?.replaces == !isKept)
    }
  }

  /// A frame that shows the other widget only in the family inline.
  private static var inlineFrame: Kind {
    var kind = frame
    kind.content[0].families = [.inline]
    kind.content.append(
      ContentTemplate(
        root: NodeTemplate(id: "plain", type: .label, properties: ["text": Binding("data.title")])))
    return kind
  }

  @Test(arguments: [10_000_000, 0])
  func `readers of a family get changes of embeds, also if the cache has no room`(
    room: Int
  ) throws {
    var store = try store(
      [Self.inlineFrame, Self.counter], limits: .with { $0.familyContentBytesMax = room })
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    settle(&store)
    store.keepContent(of: .inline)
    for number in 1...3 {
      _ = store.widget("f", taking: .family(.inline))
      let cursor = store.revision
      try store.set("c", ["n": .int(Int64(number))])
      settle(&store)
      let update = try inlineUpdate(of: "f", since: cursor, store)
      #expect(update.content?.setNodes.last?.properties["text"] == .string("#\(number)"))
    }
  }

  @Test func `a reader that comes back gets changes of embeds since its content was evicted`()
    throws
  {
    var store = try store([Self.inlineFrame, Self.counter])
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    settle(&store)
    store.keepContent(of: .inline)
    _ = store.widget("f", taking: .family(.inline))
    let cursor = store.revision
    store.dropContent(of: .inline)
    var next = store.evictContents(from: 0) { true }
    while let slot = next { next = store.evictContents(from: slot) { true } }
    try store.set("c", ["n": .int(5)])
    settle(&store)
    let update = try inlineUpdate(of: "f", since: cursor, store)
    #expect(update.content?.setNodes.last?.properties["text"] == .string("#5"))
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
        == "content: The kind \"small-only\" does not support the family inline."
        + " Set \"family\" of the embed to small.")
    #expect(text("inner::count", of: "f", store) == "0")
    try store.set("c", ["n": .int(4)])
    settle(&store)
    #expect(text("cell/c::line", of: "g", store) == "#4")
  }

  @Test func `widgets that show each other only in one family are nested four deep`() throws {
    let mirror = Kind(
      name: "mirror",
      data: [Field(name: "widget", type: .string, defaultValue: .string(""))],
      content: [
        ContentTemplate(
          families: [.inline],
          root: NodeTemplate(
            id: "line", type: .stack,
            children: [
              NodeTemplate(
                id: "inner", type: .embed, properties: ["widget": Binding("data.widget")])
            ])),
        ContentTemplate(
          root: NodeTemplate(
            id: "text", type: .label, properties: ["text": Binding(value: .string("-"))])),
      ])
    var store = try store([mirror])
    try store.create("a", kind: "mirror", data: ["widget": .string("b")])
    try store.create("b", kind: "mirror", data: ["widget": .string("a")])
    settle(&store)
    let costBefore = store.readingCost
    let content = try #require(store.widget("a", taking: .family(.inline))?.content)
    #expect(content["inner::inner::inner::inner::line"] != nil)
    let deepest = content["inner::inner::inner::inner::inner"]
    #expect(deepest?.problem.hasSuffix("Embeds are nested more than 4 deep.") == true)
    // The content of each level is made once, not until the budget is spent.
    #expect(store.readingCost - costBefore < 2_000)
  }

  /// A kind whose inline content shows these widgets, or 20 labels if there are none.
  private static func layer(_ name: String, showing others: [String]) throws -> Kind {
    func label(_ id: String) -> NodeTemplate {
      NodeTemplate(id: id, type: .label, properties: ["text": Binding(value: .string("-"))])
    }
    let embeds = others.enumerated().map { index, other in
      NodeTemplate(
        id: "embed\(index)", type: .embed, properties: ["widget": Binding(value: .string(other))])
    }
    let labels = (0..<20).map { label("label\($0)") }
    return Kind(
      name: try #require(KindName(name)),
      content: [
        ContentTemplate(
          families: [.inline],
          root: NodeTemplate(
            id: "line", type: .stack, children: others.isEmpty ? labels : embeds)),
        ContentTemplate(root: label("text")),
      ])
  }

  @Test(arguments: [5_000, 150_000])
  func `constant embeds of embeds stop at the limit of the cost`(costMax: Int) throws {
    let middle = (0..<8).map { "a\($0)" }
    let lowest = Dictionary(
      uniqueKeysWithValues: middle.map { id in (id, (0..<8).map { "\(id).b\($0)" }) })
    var kinds = [
      try Self.layer("root", showing: middle), try Self.layer("leaf", showing: []),
    ]
    for id in middle { kinds.append(try Self.layer(id, showing: lowest[id] ?? [])) }
    var store = try store(kinds, limits: .with { $0.contentCostMax = costMax })
    try store.create("root", kind: "root")
    for id in middle {
      try store.create(WidgetID(stringLiteral: id), kind: try #require(KindName(id)))
      for inner in lowest[id] ?? [] {
        try store.create(WidgetID(stringLiteral: inner), kind: "leaf")
      }
    }
    settle(&store)
    let costBefore = store.readingCost
    let content = try #require(store.widget("root", taking: .family(.inline))?.content)
    let cost = store.readingCost - costBefore
    // 64 contents of 21 nodes.
    let whole = 64 * 21 * ContentEvaluation.nodeCost
    #expect(costMax < whole ? cost < 3 * costMax : cost > whole)
    let limited = content.nodes.filter { $0.problem.contains("content_cost_max (\(costMax))") }
    #expect(limited.isEmpty == (costMax > whole))
    #expect(content["embed0"]?.problem == "")
  }

  // MARK: - Content for one answer

  @Test func `a preview shows the other widget, and leaves no links`() throws {
    var store = try store()
    try store.create("c", kind: "counter", data: ["n": .int(3)])
    settle(&store)
    let version = store.embedVersion
    for id in ["c", "missing-1", "missing-2"] {
      let preview = try store.preview(
        of: "frame", parameters: [:], data: ["widget": .string(id)])
      let expected: Value? = id == "c" ? .string("3") : nil
      #expect(preview.content?["inner::count"]?.properties["text"] == expected)
      #expect(store.embedders(of: WidgetID(stringLiteral: id)).isEmpty)
    }
    #expect(store.embedVersion == version)
    #expect(!store.needsSettling)
  }

  @Test func `a future entry shows the other widget, and leaves no links before its date`() throws {
    var store = try store([Self.slide, Self.counter])
    for id in ["c", "d"] { try store.create(WidgetID(stringLiteral: id), kind: "counter") }
    try store.create("s", kind: "slide")
    let entries = [(0, "c"), (10, "d")].map { seconds, id in
      TimelineEntry(date: .at(Int64(seconds)), values: ["widget": .string(id)])
    }
    try store.run(
      .update("s", WidgetPatch(timeline: .some(Timeline(entries: entries, policy: .never)))))
    settle(&store)
    let version = store.embedVersion
    let page = try #require(store.timeline(of: "s", from: .at(0), limit: 5, taking: .own))
    #expect(page.entries.allSatisfy { $0.content?["inner::count"] != nil })
    #expect(store.embedVersion == version)
    #expect(store.embedders(of: "c") == ["s"])
    #expect(store.embedders(of: "d").isEmpty)
    store.advance(to: .at(10))
    store.settleEmbeds(at: .at(10))
    #expect(store.embedders(of: "d") == ["s"])
  }

  @Test func `the embeds of future entries count in the cost that ends a page`() throws {
    var store = try store([Self.slide, Self.counter], limits: .with { $0.contentCostMax = 1_000 })
    try store.create("c", kind: "counter")
    try store.create("s", kind: "slide")
    let entries = (0..<10).map {
      TimelineEntry(date: .at(Int64($0)), values: ["widget": .string("c")])
    }
    try store.run(
      .update("s", WidgetPatch(timeline: .some(Timeline(entries: entries, policy: .never)))))
    settle(&store)
    let costBefore = store.readingCost
    let page = try #require(store.timeline(of: "s", from: .at(0), limit: 10, taking: .own))
    let cost = store.readingCost - costBefore
    #expect((2..<8).contains(page.entries.count) && page.hasMore)
    #expect(page.entries.allSatisfy { $0.content?["inner::count"] != nil })
    // More than half of the limit, by the last entry.
    let last = cost / page.entries.count
    #expect((501...501 + last).contains(cost))
  }

  /// The pages begin before the first entry, and at it.
  @Test(arguments: [-5, 0] as [Int64])
  func `pages reach the last entry if each entry costs more than a page allows`(
    from first: Int64
  ) throws {
    let costMax = 200
    var store = try store(
      [Self.slide, Self.counter], limits: .with { $0.contentCostMax = costMax })
    try store.create("c", kind: "counter")
    try store.create("s", kind: "slide")
    let entries = (0..<5).map {
      TimelineEntry(date: .at(Int64($0)), values: ["widget": .string("c")])
    }
    try store.run(
      .update("s", WidgetPatch(timeline: .some(Timeline(entries: entries, policy: .never)))))
    settle(&store)
    var dates: Set<Timestamp> = []
    var (start, pageCount, hasMore) = (Timestamp.at(first), 0, true)
    while hasMore, pageCount < 10 {
      let costBefore = store.readingCost
      let page = try #require(store.timeline(of: "s", from: start, limit: 10, taking: .own))
      #expect(store.readingCost - costBefore > page.entries.count * costMax / 2)
      dates.formUnion(page.entries.map(\.entry.date))
      start = try #require(page.entries.last?.entry.date)
      (pageCount, hasMore) = (pageCount + 1, page.hasMore)
    }
    #expect(!hasMore)
    #expect(dates == Set(entries.map(\.date)))
  }

  @Test(
    arguments: [("c", "medium", nil), ("d", "medium", 10), ("c", "inline", 10)]
      as [(String, String, Int64?)])
  func `a page names the first entry with an embed that the current entry lacks`(
    _ other: String, _ family: String, _ seconds: Int64?
  ) throws {
    var store = try store([Self.slide, Self.counter])
    for id in ["c", "d"] { try store.create(WidgetID(stringLiteral: id), kind: "counter") }
    try store.create("s", kind: "slide")
    let shown = [(0, "c", "medium"), (5, "c", "medium"), (10, other, family), (20, "c", "medium")]
    let entries = shown.map { seconds, id, family in
      TimelineEntry(
        date: .at(Int64(seconds)), values: ["widget": .string(id), "family": .string(family)])
    }
    try store.run(
      .update("s", WidgetPatch(timeline: .some(Timeline(entries: entries, policy: .never)))))
    settle(&store)
    let page = try #require(store.timeline(of: "s", from: .at(0), limit: 5, taking: .own))
    #expect(page.entries.count == 4)
    #expect(page.newEmbedDate == seconds.map { Timestamp.at($0) })
  }

  // MARK: - Time

  @Test func `readers are told when something in an embed changes by itself`() throws {
    var store = try store([Self.frame, TimelineTests.clock])
    try store.create("c", kind: "clock")
    try frame("f", showing: "c", &store)
    settle(&store)
    let due = try #require(store.nextDate)
    let costBefore = store.readingCost
    #expect(store.embeddedDate(of: "f") == .at(due))
    #expect(store.readingCost > costBefore)
    #expect(store.embeddedDate(of: "f", costMax: 0) == .unknown)
    #expect(store.embeddedDate(of: "c", costMax: 0) == .never)
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
}
