import Testing
import WidgetModel

@testable import WidgetCore

/// The cost of one event, whatever the content of its widget needs.
struct EventCostTests {
  /// An expression that costs more than any limit here.
  private static let endless =
    "data.items.exists(i, data.items.exists(j, i * j + data.n < 0)) ? 'a' : 'b'"
  private static let costMax = 10_000

  private static func kind(
    name: KindName = "heavy", _ texts: [String], families: [Family] = [],
    reducer: String = "data.n + 1"
  ) -> Kind {
    let labels = texts.enumerated().map { number, text in
      NodeTemplate(id: "label\(number)", type: .label, properties: ["text": Binding(text)])
    }
    let other = ContentTemplate(
      families: families, root: NodeTemplate(id: "top", type: .stack, children: labels))
    let items = Value.list((0..<200).map { .int($0) })
    return Kind(
      name: name,
      data: [
        Field(name: "n", type: .int, defaultValue: .int(0)),
        Field(name: "items", type: .list(.int), defaultValue: items),
      ],
      reducers: [Reducer(event: "go", assignments: ["n": reducer])],
      content: [other] + (families.isEmpty ? [] : [ContentTemplate(root: small)]))
  }

  private static let small = NodeTemplate(
    id: "small", type: .button, properties: ["text": Binding("string(data.n)")])

  private func store(_ kind: Kind, _ limits: StoreLimits) throws -> Store {
    var store = Store(limits: limits)
    try store.register([kind])
    try store.create("a", kind: kind.name)
    store.commitGroup(at: .at(0))
    return store
  }

  private let limits = StoreLimits.with { $0.contentCostMax = costMax }

  @Test func `expressions that fail for their cost take no more than the budget together`() throws {
    let kind = Self.kind([String](repeating: Self.endless, count: 40))
    var store = try store(kind, limits)
    for _ in 0..<3 {
      try store.send("go", to: "a")
      #expect(store.contentCost <= Self.costMax + 41 * ContentEvaluation.nodeCost)
    }
    #expect(store.widget("a")?.content?["label39"]?.problem.contains("content_cost_max") == true)
  }

  @Test func `content that reaches the limit is made again within half more`() throws {
    let kind = Self.kind(
      [String](repeating: "data.n % 2 == 0 ? 'x' : (\(Self.endless))", count: 40))
    var store = try store(kind, limits)
    for _ in 0..<4 {
      try store.send("go", to: "a")
      #expect(store.contentCost <= 3 * Self.costMax / 2 + 82 * ContentEvaluation.nodeCost)
      #expect(store.checkInvariants() == [])
    }
    #expect(store.widget("a")?.content?["label39"]?.properties["text"] == .string("x"))
  }

  @Test func `an expression that costs too much leaves half of the steps to the others`() throws {
    let kind = Self.kind([Self.endless, "data.items.map(i, i + data.n).size() == 200 ? 'x' : '-'"])
    var store = try store(kind, limits)
    try store.send("go", to: "a")
    #expect(store.widget("a")?.content?["label0"]?.problem.contains("content_cost_max") == true)
    #expect(store.widget("a")?.content?["label1"]?.properties["text"] == .string("x"))
  }

  @Test func `contents of watched families count together, and leave the cache beyond the limit`()
    throws
  {
    // Three of these cost about a third of the limit.
    let text = "data.items.exists(i, i + data.n < 0) ? 'a' : string(data.n)"
    let families: [Family] = [.small, .large, .inline, .circular]
    let kind = Self.kind([text, text, text], families: families)
    var store = try store(kind, limits)
    for family in families {
      store.keepContent(of: family)
      _ = store.widget("a", taking: .family(family))
    }
    #expect(store.records[0].familyContents.count == 4)
    let cursor = store.revision
    try store.send("go", to: "a")
    #expect(store.records[0].familyContents.count == 1)
    #expect(store.checkInvariants() == [])
    for family in families {
      guard
        case .updated(let update)? = try store.changes(since: cursor, taking: .family(family))
          .changes.first
      else {
        Issue.record("no change in \(family)")
        continue
      }
      let shown = update.content?.setNodes.first { $0.id == "label1" }
      #expect(shown?.properties["text"] == .string("1"))
    }
  }

  @Test func `an event through an embed has one budget`() throws {
    let steps = "data.items.exists(i, i + data.n < 0) ? 0 : data.n + 1"
    let inner = Self.kind(name: "inner", [], families: [.large], reducer: "(\(steps)) + (\(steps))")
    var outer = Self.kind(["string(\(steps))"], families: [.large])
    outer.content[0].root.children.append(
      NodeTemplate(
        id: "in", type: .embed, properties: ["widget": Binding(value: .string("inner"))]))
    func run(_ costMax: Int) throws -> StoreError? {
      var store = try store(outer, .with { $0.eventCostMax = costMax })
      try store.register([outer, inner])
      try store.create("inner", kind: "inner")
      let draft = EventDraft(widgetID: "a", nodeID: "in::small", name: "go")
      return store.refusal(of: .sendEvent(draft))
    }
    #expect(try run(10_000) == nil)
    // Enough for each half.
    #expect(try run(3_000) != nil)
  }
}
