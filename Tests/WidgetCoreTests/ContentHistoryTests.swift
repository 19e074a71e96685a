import SeededRandom
import Testing
import WidgetExpression
import WidgetModel

@testable import WidgetCore

/// Any order of changes, and readers at any distance.
struct ContentHistoryTests: ContentSamples {
  private static let bounds: [StoreLimits] = [
    .with { $0.contentNodesMax = 60 },
    .with { ($0.contentNodesMax, $0.contentBytesMax) = (26, 1 << 20) },
    .with { $0.contentBytesMax = 900 },
    .with { ($0.contentNodesMax, $0.contentBytesMax) = (20, 1_100) },
  ]

  /// Changes the widget, or its kind, in some way.
  private func changeAnything(_ store: inout Store, _ random: inout SeededGenerator) throws {
    let items = (0..<random.below(8)).map { _ in
      var item: ValueMap = [
        "id": .string("\(random.below(10))"), "name": .string("\(random.below(3))"),
      ]
      if random.chance(20) { item["hidden"] = .bool(true) }
      if random.chance(40) {
        item["tags"] = .list((0..<random.below(3)).map { _ in .string("\(random.below(4))") })
      }
      // A list in which an element has another form than the template expects.
      if random.chance(5) { item["name"] = .int(1) }
      return Value.map(item)
    }
    switch random.below(8) {
    case 0: try store.set("a", ["count": .int(Int64(random.below(5)))])
    case 1:
      let suffix = String(repeating: "s", count: random.pick([0, 1, 2, 40]))
      try store.set("a", ["suffix": .string(suffix)])
    case 2: try store.run(.setPresence(.ids(["a"]), random.pick([.enable, .disable])))
    case 3:
      try store.update("a", .with { $0.setParameters = ["name": .string("\(random.below(3))")] })
    case 4 where random.chance(20):
      var kind = Self.kind([ContentTemplate(root: Self.root)])
      if random.chance(30) { kind.content = [] }
      kind.summary = "\(random.below(3))"
      try store.register([kind])
    default: try store.set("a", ["items": .list(items)])
    }
  }

  @Test(arguments: 0..<8, bounds)
  func `content after many changes equals the content of the restored state`(
    seed: UInt64, limits: StoreLimits
  ) throws {
    var random = SeededGenerator(seed: seed)
    var store = try store(limits: limits)
    for _ in 0..<60 {
      try changeAnything(&store, &random)
      if random.chance(30) { store.rollbackGroup() } else { store.commitGroup(at: .at(0)) }
      let restored = Store(image: Self.image(of: store), limits: limits)
      #expect(restored.widget("a")?.content == store.widget("a")?.content)
    }
  }

  @Test func `a resumed reader gets content that costs too much in one step after a restart`()
    throws
  {
    // Each label costs at least 100 steps.
    let limits = StoreLimits.with { $0.contentCostMax = 2_000 }
    var store = Store(limits: limits)
    let names = (0..<20).map { "list\($0)" }
    let labels = names.map { name in
      NodeTemplate(
        id: name, type: .label,
        properties: ["text": Binding("data.\(name).exists(i, i < 0) ? '-' : 'x'")])
    }
    try store.register([
      Kind(
        name: "k",
        data: names.map { Field(name: $0, type: .list(.int), defaultValue: .list([])) },
        content: [ContentTemplate(root: NodeTemplate(id: "r", type: .stack, children: labels))])
    ])
    try store.create("a")
    for name in names { try store.set("a", [name: .list((0..<50).map { .int($0) })]) }
    #expect(store.widget("a")?.content?.nodes.allSatisfy { $0.problem.isEmpty } == true)
    let restored = Store(image: Self.image(of: store), limits: limits)
    let widget = try #require(restored.widget("a"))
    #expect(widget.content?.nodes.contains { $0.problem.contains("content_cost_max") } == true)
    #expect(try restored.changes(since: store.revision).changes == [.added(widget, nil)])
  }

  @Test func `a resumed reader gets content that has more room after a restart, once`() throws {
    var store = try store(limits: .with { $0.contentNodesMax = 20 })
    try store.set("a", ["items": .list((0..<10).map { Self.item("\($0)", "\($0)") })])
    let group = store.pendingGroup()
    #expect(group.upserts.map(\.contentIsCut) == [true])
    var restored = Store(image: Self.image(of: store, group))
    let widget = try #require(restored.widget("a"))
    #expect(widget.content?["list"]?.problem == "")
    #expect(try restored.changes(since: store.revision).changes == [.added(widget, nil)])
    // This change alone does not need a group. The next group stores it, too.
    #expect(restored.pendingGroup().upserts.map(\.widget.id) == ["a"])
    restored.commitGroup(at: .at(0))
    try restored.create("b")
    restored.rollbackGroup()
    restored.commitGroup(at: .at(0))
    try restored.create("c")
    let next = restored.pendingGroup()
    #expect(next.upserts.map(\.widget.id) == ["c", "a"])
    restored.commitGroup(at: .at(0))
    try restored.create("d")
    #expect(restored.pendingGroup().upserts.map(\.widget.id) == ["d"])
    let again = Store(image: Self.image(of: restored, next))
    #expect(try again.changes(since: restored.revision).changes.isEmpty)
  }

  @Test(arguments: 0..<8, bounds)
  func `readers that are behind by any number of commits get the widget's content`(
    seed: UInt64, limits: StoreLimits
  ) throws {
    var random = SeededGenerator(seed: seed)
    var store = try store(limits: limits)
    var readers = (0..<4).map { _ in (cursor: Revision(0), mirror: Mirror()) }
    for _ in 0..<120 {
      try changeAnything(&store, &random)
      if random.chance(30) { store.rollbackGroup() } else { store.commitGroup(at: .at(0)) }
      let violations = store.checkInvariants()
      guard violations.isEmpty else {
        Issue.record("\(violations)")
        return
      }
      for reader in readers.indices where random.chance([80, 30, 8, 2][reader]) {
        guard readers[reader].cursor <= store.revision else { continue }
        let delta = try store.changes(since: readers[reader].cursor)
        #expect(readers[reader].mirror.apply(delta) == [])
        readers[reader].cursor = store.revision
        #expect(readers[reader].mirror.widgets["a"] == store.widget("a"))
      }
    }
  }
}
