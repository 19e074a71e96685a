import Testing
import WidgetModel

@testable import WidgetCore

/// The built-in kind that shows the most relevant of several widgets.
struct SmartStackTests {
  private static let card = Kind(
    name: "card", data: [Field(name: "n", type: .int, defaultValue: .int(0))],
    content: [
      ContentTemplate(
        root: NodeTemplate(id: "text", type: .label, properties: ["text": Binding("widget.id")]))
    ],
    entry: [Field(name: "x", type: .int, defaultValue: .int(0))])

  private func store(
    _ parameters: ValueMap = ["widgets": .list([.string("a"), .string("b"), .string("c")])]
  ) throws -> Store {
    var store = Store()
    try store.register([Self.card])
    for id in ["a", "b", "c"] { try store.create(WidgetID(id), kind: "card") }
    try store.run(
      .create(WidgetSpec(id: "stack", kind: .smartStack, parameters: parameters)))
    settle(&store)
    return store
  }

  private func settle(_ store: inout Store, at now: Timestamp = .at(0)) {
    store.commitGroup(at: .at(0))
    store.advance(to: now)
    store.settleEmbeds(at: now)
    #expect(store.checkInvariants().isEmpty)
  }

  private func score(
    _ id: WidgetID, _ entries: [(Int64, Double, Duration?)], _ store: inout Store
  ) throws {
    let timeline = Timeline(
      entries: entries.map { TimelineEntry(date: .at($0.0), score: $0.1, duration: $0.2) },
      policy: .never)
    try store.update(id, WidgetPatch(timeline: .some(timeline)))
  }

  private func shown(_ store: Store) -> String? { store.widget("stack")?.data["current"]?.words }

  private func send(
    _ name: String, _ store: inout Store, payload: ValueMap = [:], at now: Timestamp = .at(0)
  ) throws {
    try store.run(.sendEvent(EventDraft(widgetID: "stack", name: name, payload: payload)), at: now)
    settle(&store, at: now)
  }

  @Test func `a stack shows the first of equally relevant widgets, and its position`() throws {
    let store = try store()
    let widget = try #require(store.widget("stack"))
    #expect(shown(store) == "a")
    #expect(widget.data["members"] == .list([.string("a"), .string("b"), .string("c")]))
    #expect(widget.data["position"] == .int(1))
    #expect(widget.content?["shown::text"]?.properties["text"] == .string("a"))
    #expect(widget.content?["position"]?.properties["text"] == .string("1/3"))
    #expect(store.nextDate == nil)
    #expect(
      store.widget("stack", taking: .family(.inline))?.content?.nodes.map(\.id)
        == ["stack", "shown", "shown::text"])
  }

  @Test func `the highest score of a current entry wins, as long as it counts`() throws {
    var store = try store()
    try score("b", [(-5, 10, nil), (100, 0, nil)], &store)
    try score("c", [(20, 50, .seconds(30))], &store)
    settle(&store)
    #expect(shown(store) == "b")
    settle(&store, at: .at(20))
    #expect(shown(store) == "c")
    #expect(store.nextDate == .at(50))
    #expect(store.widget("stack")?.timeline?.nextTime == .at(50))
    settle(&store, at: .at(50))
    #expect(shown(store) == "b")
    settle(&store, at: .at(100))
    #expect(shown(store) == "a")
    #expect(store.nextDate == nil)
  }

  @Test func `the score of an activity counts until it ends`() throws {
    var store = try store(["where": .string("widget.id in ['a', 'task']")])
    let timeline = Timeline(entries: [TimelineEntry(date: .epoch, score: 50)], policy: .never)
    try store.run(
      .startActivity(
        WidgetSpec(id: "task", kind: .activity, timeline: timeline), lifetime: nil, staleAfter: nil)
    )
    settle(&store)
    #expect(shown(store) == "task")
    try store.run(.endActivity("task", StatePatch(), .standard))
    settle(&store)
    #expect(shown(store) == "a")
  }

  @Test func `equally relevant widgets take turns`() throws {
    var store = try store([
      "widgets": .list([.string("a"), .string("b")]), "rotate": .string("10s"),
    ])
    var seen: [String?] = []
    var now = Timestamp.at(0)
    for _ in 0..<4 {
      settle(&store, at: now)
      seen.append(shown(store))
      let next = try #require(store.nextDate)
      #expect(next > now)
      #expect(next <= now.advanced(by: .seconds(10)))
      now = next
    }
    #expect(seen == [seen[0], seen[1], seen[0], seen[1]])
    #expect(Set(seen) == ["a", "b"])
  }

  @Test func `at the last timestamp the turns of a stack end`() throws {
    var store = try store([
      "widgets": .list([.string("a"), .string("b")]), "rotate": .string("10s"),
    ])
    store.advance(to: .latest)
    store.settleEmbeds(at: .latest, costMax: 10_000)
    #expect(!store.needsSettling)
    #expect(shown(store) != nil)
    #expect(store.nextDate == nil)
  }

  @Test func `a stack without a hold refuses a choice with the reason`() throws {
    var store = try store(["widgets": .list([.string("a"), .string("b")]), "hold": .string("0s")])
    let draft = EventDraft(widgetID: "stack", name: "next")
    guard case .invalid("name", let words)? = store.refusal(of: .sendEvent(draft)) else {
      Issue.record("not refused")
      return
    }
    #expect(words.contains("hold is 0s"))
    #expect(shown(store) == "a")
  }

  @Test func `a stack reports in problem why widgets may be missing`() throws {
    func problem(_ store: Store) -> String? { store.widget("stack")?.data["problem"]?.words }
    var store = try store(["where": .string("widget.kind == 'card'")])
    #expect(problem(store) == "")
    for number in 3...64 { try store.create(WidgetID(stringLiteral: "w\(number)"), kind: "card") }
    settle(&store)
    #expect(problem(store)?.contains("more than 64 widgets") == true)
    #expect(store.widget("stack")?.content?["problem"] != nil)
    try store.run(.delete("w64"))
    settle(&store)
    #expect(problem(store) == "")
    #expect(store.widget("stack")?.content?["problem"] == nil)
    // A scan that ends early.
    store.limits.scanCostMax = 10
    try store.run(.delete("w4"))
    settle(&store)
    #expect(problem(store)?.contains("scan_cost_max") == true)
  }

  @Test func `a stack over the limit of selecting stacks reports that it is not updated`() throws {
    var store = try store()
    for number in 0..<65 {
      try store.run(
        .create(
          WidgetSpec(
            id: WidgetID(stringLiteral: "s\(number)"), kind: .smartStack,
            parameters: ["where": .string("widget.kind == 'card'")])))
    }
    settle(&store)
    #expect(store.widget("s63")?.data["problem"] == .string(""))
    #expect(store.widget("s64")?.data["problem"]?.words?.contains("64 other stacks") == true)
  }

  @Test(arguments: ["removed", "replaced", "changed"])
  func `a waiting stack follows widgets when another stack no longer does`(change: String) throws {
    func stack(_ number: Int) -> WidgetID { WidgetID(stringLiteral: "s\(number)") }
    func problem(_ number: Int, _ store: Store) -> String? {
      store.widget(stack(number))?.data["problem"]?.words
    }
    var store = try store()
    for number in 10..<76 {
      try store.run(
        .create(
          WidgetSpec(
            id: stack(number), kind: .smartStack,
            parameters: ["where": .string("widget.kind == 'card'")])))
    }
    settle(&store)
    #expect([74, 75].allSatisfy { problem($0, store) != "" })
    try store.create("d", kind: "card")
    switch change {
    case "removed": try store.run(.delete("s12"))
    case "replaced":
      try store.run(.delete("s12"))
      try store.create("s12", kind: "card")
    default:
      try store.update("s12", .with { $0.setParameters = ["where": .string("")] })
    }
    settle(&store)
    #expect(problem(74, store) == "")
    #expect(problem(75, store) != "")
    func members(_ number: Int, _ store: Store) -> [String] {
      guard case .list(let ids)? = store.widget(stack(number))?.data["members"] else { return [] }
      return ids.compactMap(\.words)
    }
    // The next changes reach the stack.
    #expect(members(74, store).contains("d"))
    try store.create("e", kind: "card")
    settle(&store)
    #expect(members(74, store).contains("e"))
    #expect(members(75, store) == ["a", "b", "c"])
  }

  @Test func `the timeline of a stack is empty and says so`() throws {
    let store = try store()
    let page = try #require(store.timeline(of: "stack", from: .at(0), limit: 5))
    #expect(page.entries.isEmpty)
    #expect(page.status?.problem.contains("has no timeline") == true)
  }

  @Test func `a choice by hand holds for a while`() throws {
    var store = try store()
    try score("c", [(-5, 10, nil)], &store)
    settle(&store)
    try send("next", &store)
    #expect(shown(store) == "a")
    try send("previous", &store)
    #expect(shown(store) == "c")
    try send("select", &store, payload: ["widget": .string("b")])
    #expect(shown(store) == "b")
    #expect(store.nextDate == .at(600))
    settle(&store, at: .at(599))
    #expect(shown(store) == "b")
    settle(&store, at: .at(600))
    #expect(shown(store) == "c")
  }

  @Test func `the buttons of a stack choose like its events`() throws {
    var store = try store()
    try store.run(.sendEvent(EventDraft(widgetID: "stack", nodeID: "next", name: "press")))
    try store.run(.sendEvent(EventDraft(widgetID: "stack", nodeID: "next", name: "press")))
    settle(&store)
    #expect(shown(store) == "c")
    #expect(store.widget("stack")?.content?["shown::text"]?.properties["text"] == .string("c"))
  }

  @Test func `a widget that is not a member cannot be chosen`() throws {
    var store = try store()
    let draft = EventDraft(
      widgetID: "stack", name: "select", payload: ["widget": .string("nobody")])
    #expect(
      store.refusal(of: .sendEvent(draft))
        == .invalid(
          field: "payload[widget]",
          description: "\"nobody\" is not one of the widgets of \"stack\": a, b, c."))
  }

  @Test func `widgets that are hidden, missing, or show the stack are left out`() throws {
    var store = try store()
    try store.run(.setPresence(.ids(["a"]), .hide))
    settle(&store)
    #expect(shown(store) == "b")
    try store.delete("b")
    settle(&store)
    #expect(shown(store) == "c")
    try store.run(
      .create(
        WidgetSpec(id: "a2", kind: .smartStack, parameters: ["widgets": .list([.string("stack")])]))
    )
    try store.update(
      "stack",
      WidgetPatch(setParameters: [
        "widgets": .list([.string("a2"), .string("stack"), .string("c")])
      ]))
    settle(&store)
    #expect(shown(store) == "c")
    try store.delete("c")
    settle(&store)
    #expect(shown(store) == "")
    #expect(store.widget("stack")?.content?["empty"] != nil)
  }

  @Test func `an expression selects widgets, and follows them`() throws {
    var store = try store(["where": .string("data.n > 1")])
    #expect(shown(store) == "")
    try store.set("b", ["n": .int(2)])
    settle(&store)
    #expect(shown(store) == "b")
    try store.set("a", ["n": .int(2)])
    settle(&store)
    #expect(store.widget("stack")?.data["members"] == .list([.string("a"), .string("b")]))
    try store.create("d", kind: "card", data: ["n": .int(5)])
    try store.set("b", ["n": .int(0)])
    settle(&store)
    #expect(store.widget("stack")?.data["members"] == .list([.string("a"), .string("d")]))
    try store.run(.move("d", to: .first))
    settle(&store)
    #expect(store.widget("stack")?.data["members"] == .list([.string("d"), .string("a")]))
    #expect(!store.needsSettling)
  }

  @Test func `an expression selects no stacks, so the updates of stacks end`() throws {
    var store = try store(["where": .string("data.current == ''")])
    try store.run(
      .create(
        WidgetSpec(
          id: "other", kind: .smartStack, parameters: ["where": .string("data.current != ''")])))
    settle(&store)
    #expect(shown(store) == "")
    #expect(!store.needsSettling)
  }

  @Test(
    arguments: [
      (["widgets": .list([.string("no id")])], "parameters[widgets]"),
      (["widgets": .list((0..<65).map { .string("w\($0)") })], "parameters[widgets]"),
      (["where": .string("data.n >")], "parameters[where]"),
      (["rotate": .string("10ms")], "parameters[rotate]"),
      (["hold": .string("long")], "parameters[hold]"),
    ] as [(ValueMap, String)])
  func `invalid parameters are refused by name`(
    parameters: ValueMap, field: String
  ) throws {
    var store = Store()
    let spec = WidgetSpec(id: "s", kind: .smartStack, parameters: parameters)
    guard case .invalid(let named, _)? = store.refusal(of: .create(spec)) else {
      Issue.record("not refused")
      return
    }
    #expect(named == "widget.\(field)")
  }

  @Test func `only the daemon can set the data of a stack`() throws {
    var store = try store()
    let refusal = SmartStackKind.ownData(field: "patch.set_data")
    #expect(store.refusal(of: .update("stack", .set(["current": .string("b")]))) == refusal)
    var spec = WidgetSpec(id: "s", kind: .smartStack)
    spec.data = ["current": .string("b")]
    #expect(store.refusal(of: .create(spec)) == SmartStackKind.ownData(field: "widget.data"))
  }

  @Test func `a restart keeps the choice by hand and the rest of its hold`() throws {
    var image = StoreImage(epoch: 7)
    var store = Store()
    try store.register([Self.card])
    for id in ["a", "b"] { try store.create(WidgetID(id), kind: "card") }
    try store.run(
      .create(
        WidgetSpec(
          id: "stack", kind: .smartStack,
          parameters: ["widgets": .list([.string("a"), .string("b")])])))
    image.apply(store.pendingGroup())
    settle(&store)
    try store.run(.sendEvent(EventDraft(widgetID: "stack", name: "next")))
    image.apply(store.pendingGroup())
    settle(&store)
    for group in store.reserved { image.revision = max(image.revision, group.revision) }
    var restored = Store(image: image)
    settle(&restored, at: .at(10))
    #expect(shown(restored) == "b")
    #expect(restored.nextDate == .at(600))
    settle(&restored, at: .at(600))
    #expect(shown(restored) == "a")
  }

  @Test func `a stack follows a clock that went back`() throws {
    var store = try store()
    try score("b", [(50, 10, nil)], &store)
    settle(&store, at: .at(50))
    #expect(shown(store) == "b")
    store.clockWentBack(to: .at(10))
    settle(&store, at: .at(10))
    #expect(shown(store) == "a")
  }
}

extension Value {
  fileprivate var words: String? { if case .string(let text) = self { text } else { nil } }
}
