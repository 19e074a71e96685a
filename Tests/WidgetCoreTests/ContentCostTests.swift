import Testing
import WidgetModel

@testable import WidgetCore

/// The limit of one command for the contents of widgets. Each content is made once.
struct ContentCostTests {
  private static let sum = "data.items.exists(i, i * i < 0) || !widget.visible ? '-' : 'x'"

  private static func items(_ count: Int64) -> Value { .list((0..<count).map { .int($0) }) }

  /// A kind whose content costs a pass through a long list.
  private static func kind(_ text: String = sum, summary: String = "") -> Kind {
    var kind = Kind(
      name: "sum", data: [Field(name: "items", type: .list(.int), defaultValue: items(200))],
      content: [
        ContentTemplate(
          root: NodeTemplate(id: "r", type: .label, properties: ["text": Binding(text)]))
      ])
    kind.summary = summary
    return kind
  }

  private static func declaration(_ kind: Kind) -> Command {
    .applyKinds(KindDeclaration(provider: "desk", kinds: [kind], isAttended: true))
  }

  /// Three widgets, and the cost of making the content of one of them.
  private func store() throws -> (store: Store, cost: Int) {
    var store = Store()
    try store.run(Self.declaration(Self.kind()))
    for id: WidgetID in ["a", "b", "c"] { try store.create(id, kind: "sum") }
    let cost = store.contentCost
    #expect(cost > 400)
    store.commitGroup(at: .at(0))
    return (store, cost)
  }

  @Test func `a kind that changes makes the content of each widget once`() throws {
    var (store, cost) = try store()
    try store.run(Self.declaration(Self.kind("(\(Self.sum)) + '!'")))
    #expect(store.widget("a")?.content?["r"]?.properties["text"] == .string("x!"))
    #expect((3 * cost...3 * cost + 60).contains(store.contentCost))
    #expect(store.checkInvariants() == [])
    let cursor = store.revision
    // Other words make no other nodes, and the next change does not make the nodes again.
    try store.run(Self.declaration(Self.kind("(\(Self.sum)) + '!'", summary: "Other words.")))
    #expect((3 * cost...3 * cost + 60).contains(store.contentCost))
    #expect(try store.changes(since: cursor).changes.isEmpty)
    try store.set("a", ["items": Self.items(1)])
    #expect(store.contentCost < cost / 2)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a reader gets the whole content after its kind has changed`() throws {
    var (store, _) = try store()
    let cursor = store.revision
    try store.run(Self.declaration(Self.kind("'y'")))
    for change in try store.changes(since: cursor).changes {
      guard case .updated(let update) = change else {
        Issue.record("\(change) is not an update")
        continue
      }
      #expect(update.content == ContentChange(replacingBy: store.widget(update.id)?.content))
    }
    #expect(try store.changes(since: cursor).changes.count == 3)
    store.rollbackGroup()
    #expect(store.widget("a")?.content?["r"]?.properties["text"] == .string("x"))
    #expect(store.checkInvariants() == [])
  }

  @Test func `a widget that becomes stale makes no content`() throws {
    var (store, _) = try store()
    store.abandon(["desk"])
    #expect(store.widget("a")?.isStale == true)
    #expect(store.contentCost == 0)
  }

  private static let commands: [(String, Command)] = [
    ("kinds", declaration(kind("(\(sum)) + '!'"))),
    ("presence", .setPresence(.all, .hide, transition: nil)),
    (
      "updates",
      .provide(
        ["a", "b", "c"].map { ProvidedUpdate($0, .set(["items": items(201)])) }, by: "desk")
    ),
    (
      "declaration",
      .apply(
        Declaration(
          applySet: "s", widgets: ["d", "e", "f"].map { WidgetSpec(id: $0, kind: "sum") }),
        transition: nil)
    ),
  ]

  @Test(arguments: commands)
  func `a command that makes too much content is refused, and makes none`(
    name: String, command: Command
  ) throws {
    var (store, cost) = try store()
    store.limits.contentCostMax = 2 * cost
    store.limits.contentCostPerCommandMax = 2 * cost + 100
    let limit = store.limits.contentCostPerCommandMax
    #expect(
      store.refusal(of: command)
        == .quotaExceeded(limit: "content_cost_per_command_max", maximum: limit))
    // The command has ended at this point.
    #expect(store.contentCost < 4 * cost)
    store.limits.contentCostMax = 4 * cost
    store.limits.contentCostPerCommandMax = 4 * cost
    try store.run(command)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a command for one widget has the limit of one widget`() throws {
    var (store, cost) = try store()
    store.limits.contentCostPerCommandMax = 10
    try store.set("a", ["items": Self.items(199)])
    #expect(store.contentCost > cost / 2)
    #expect(store.widget("a")?.content?["r"]?.problem == "")
    try store.run(.setPresence(.ids(["a"]), .hide, transition: nil))
    #expect(store.widget("a")?.content?["r"]?.properties["text"] == .string("-"))
  }

  @Test func `a failing expression costs the steps that it took`() throws {
    var store = Store()
    try store.run(
      Self.declaration(Self.kind("data.items.map(i, i * i)[1000] > 0 ? 'x' : '-'")))
    try store.create("a", kind: "sum")
    #expect(store.widget("a")?.content?["r"]?.problem != "")
    #expect(store.contentCost > 400)
  }
}
