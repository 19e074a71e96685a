import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// Stacks with expressions follow the changes of widgets in parts.
struct StackNewsTests {
  private static let card = Kind(
    name: "card", data: [Field(name: "n", type: .int, defaultValue: .int(0))])

  private func store(cards: Int, limits: StoreLimits = StoreLimits()) throws -> Store {
    var store = Store(limits: limits)
    try store.register([Self.card])
    for number in 0..<cards { try store.create(card(number), kind: "card") }
    return store
  }

  private func card(_ number: Int) -> WidgetID { WidgetID(stringLiteral: "c\(number)") }
  private func stack(_ number: Int) -> WidgetID { WidgetID(stringLiteral: "s\(number)") }

  private func addStack(_ id: WidgetID, _ expression: String, _ store: inout Store) throws {
    try store.run(
      .create(
        WidgetSpec(id: id, kind: .smartStack, parameters: ["where": .string(expression)])))
  }

  private func settle(_ store: inout Store) {
    store.commitGroup(at: .at(0))
    store.settleEmbeds()
    #expect(!store.needsSettling)
    #expect(store.checkInvariants().isEmpty)
  }

  private func members(of id: WidgetID, _ store: Store) -> [String] {
    guard case .list(let ids)? = store.widget(id)?.data["members"] else { return [] }
    return ids.map { if case .string(let text) = $0 { text } else { "" } }
  }

  private func problem(of id: WidgetID, _ store: Store) -> String {
    guard case .string(let text)? = store.widget(id)?.data["problem"] else { return "" }
    return text
  }

  // MARK: - Parts

  @Test func `a step ends after some tests, however many widgets and stacks there are`() throws {
    var store = try store(cards: 200)
    for number in 0..<64 { try addStack(stack(number), "data.n > \(100 + number)", &store) }
    settle(&store)
    for number in 0..<200 { try store.set(card(number), ["n": .int(1)]) }
    store.commitGroup(at: .at(0))
    var costs: [Int] = []
    repeat {
      let hasMore = store.settleStep()
      costs.append(store.contentCost)
      if !hasMore { break }
    } while costs.count < 100_000
    #expect(!store.needsSettling)
    // Each widget was tested with each stack, and each test took at least a step.
    #expect(costs.reduce(0, +) > 200 * 64)
    let highest = WidgetStore.newsPartMax + store.limits.selectorCostMax + 2
    #expect(costs.allSatisfy { $0 <= highest }, "\(costs.max() ?? 0)")
  }

  @Test func `the steps of an expression count, not only the widgets`() throws {
    var store = try store(cards: 8)
    let costly = "[1, 2, 3, 4, 5, 6, 7, 8].all(a, [1, 2, 3, 4].exists(b, a + b == data.n || b > 3))"
    try addStack("s", "\(costly) && data.n > 99", &store)
    settle(&store)
    for number in 0..<8 { try store.set(card(number), ["n": .int(1)]) }
    store.commitGroup(at: .at(0))
    var total = 0
    repeat {
      let hasMore = store.settleStep()
      total += store.contentCost
      if !hasMore { break }
    } while total < 1_000_000
    #expect(total > 8 * 50)
  }

  @Test func `news and checks of embeds take turns`() {
    let links = EmbedLinks()
    var members = StackMembers(expression: "true", isOutdated: false, selectedRevision: 0)
    members.selected = ["a"]
    links.setStack("s", to: members)
    for number in 0..<10 { links.noteNews(of: card(number)) }
    for number in 0..<3 { links.enqueue(stack(number)) }
    var order: [Bool] = []
    while links.hasNews || links.hasQueue {
      order.append(links.takesNewsNext())
      if order.last == true { _ = links.nextNews() } else { _ = links.next() }
    }
    #expect(order.prefix(6) == [true, false, true, false, true, false])
    #expect(order.dropFirst(6).allSatisfy { $0 })
  }

  // MARK: - Nothing is lost

  @Test func `a widget that changes or goes in the middle of a round is tested as it is`() throws {
    var store = try store(cards: 100)
    for number in 0..<40 { try addStack(stack(number), "data.n == \(number)", &store) }
    settle(&store)
    for number in 0..<100 { try store.set(card(number), ["n": .int(50)]) }
    store.commitGroup(at: .at(0))
    for _ in 0..<10 { _ = store.settleStep() }
    #expect(store.needsSettling)
    // The widgets that were tested, and those that were not, change again.
    for number in 0..<100 { try store.set(card(number), ["n": .int(Int64(number % 50))]) }
    try store.delete(card(7))
    store.commitGroup(at: .at(0))
    for _ in 0..<10 { _ = store.settleStep() }
    #expect(store.needsSettling)
    try addStack("late", "data.n == 9", &store)
    try store.delete(stack(3))
    try store.set(card(0), ["n": .int(9)])
    settle(&store)
    #expect(members(of: "late", store) == ["c0", "c9", "c59"])
    #expect(members(of: stack(9), store) == ["c0", "c9", "c59"])
    #expect(members(of: stack(7), store) == ["c57"])
    #expect(members(of: stack(0), store) == ["c50"])
  }

  @Test func `more changes than are compared make each stack select again`() throws {
    let count = StackNews.countMax + 10
    var store = try store(cards: count, limits: .with { $0.scanCostMax = 1_000_000 })
    try addStack("s", "data.n == 2", &store)
    settle(&store)
    for number in 0..<count {
      try store.set(card(number), ["n": .int(number < count - 3 ? 1 : 2)])
    }
    store.commitGroup(at: .at(0))
    store.settleEmbeds()
    #expect(members(of: "s", store) == (count - 3..<count).map { "c\($0)" })
    // The next changes are compared again.
    try store.set(card(0), ["n": .int(2)])
    settle(&store)
    #expect(members(of: "s", store).first == "c0")
  }

  @Test func `a group that is taken back changes no selection`() throws {
    var store = try store(cards: 3)
    try addStack("s", "data.n == 1", &store)
    try store.set(card(1), ["n": .int(1)])
    settle(&store)
    try store.set(card(0), ["n": .int(1)])
    try store.delete(card(1))
    store.rollbackGroup()
    settle(&store)
    #expect(members(of: "s", store) == ["c1"])
  }

  @Test func `the problem of too many widgets ends when the first one left out changes`() throws {
    var store = try store(cards: 65)
    try addStack("s", "data.n == 0", &store)
    settle(&store)
    #expect(problem(of: "s", store).contains("more than 64 widgets"))
    try store.set(card(64), ["n": .int(1)])
    settle(&store)
    #expect(problem(of: "s", store) == "")
  }

  /// Stacks and cards come, change, move and go. Between two groups, some steps are taken. At rest,
  /// each stack has the widgets that a list with its expression has.
  @Test(arguments: 0..<30)
  func `at rest, stacks have the widgets that their expressions select`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var store = try store(cards: 12)
    let expressions = ["data.n == 0", "data.n > 2", "data.n % 2 == 1", "widget.id != 'c3'"]
    var stacks: [WidgetID: String] = [:]
    var former = stacks
    settle(&store)
    for round in 0..<60 {
      for _ in 0...random.below(4) {
        let id = card(random.below(12))
        switch random.below(9) {
        case 0...3: _ = try? store.set(id, ["n": .int(Int64(random.below(5)))])
        case 4: _ = try? store.delete(id)
        case 5: _ = try? store.create(id, kind: "card")
        case 6: _ = try? store.run(.move(id, to: random.pick([.first, .last])))
        case 7:
          let stack = stack(random.below(5))
          let expression = random.pick(expressions)
          if (try? addStack(stack, expression, &store)) != nil { stacks[stack] = expression }
        default:
          let stack = stack(random.below(5))
          if (try? store.delete(stack)) != nil { stacks[stack] = nil }
        }
      }
      if random.chance(15) {
        store.rollbackGroup()
        stacks = former
      }
      store.commitGroup(at: .at(0))
      former = stacks
      for _ in 0..<random.below(6) { _ = store.settleStep() }
      guard round % 5 == 4 else { continue }
      settle(&store)
      for (stack, expression) in stacks {
        let found = store.list(after: nil, limit: 100, selecting: Selector(expression: expression))
        let expected = found.widgets.filter { $0.kind == "card" }.map(\.id.rawValue)
        #expect(members(of: stack, store) == expected, "seed \(seed), round \(round), \(stack)")
      }
    }
  }

  // MARK: - Memory

  /// An expression whose compiled form is much larger than its text.
  private static let large = "''.matches('[^a]{200}')"

  @Test func `the compiled expression of a stack counts as its state`() throws {
    var store = try store(cards: 0)
    let bytes = store.expressionBytes(of: Selector(expression: Self.large))
    #expect(bytes > 4 * Self.large.utf8.count)
    try addStack("s", Self.large, &store)
    #expect(store.stateBytes > bytes)
    #expect(store.checkInvariants().isEmpty)
    settle(&store)
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = store.records.map { RecordImage($0) }
    // After a start, the first check compiles the expression.
    var restored = Store(image: image)
    #expect(restored.stateBytes == store.stateBytes - bytes)
    settle(&restored)
    #expect(restored.stateBytes == store.stateBytes)
    let full = store.stateBytes
    try store.update("s", .with { $0.setParameters = ["where": .string("data.n > 1")] })
    #expect(store.stateBytes < full - bytes / 2)
    #expect(store.checkInvariants().isEmpty)
    try store.update("s", .with { $0.setParameters = ["where": .string("")] })
    #expect(store.stateBytes < 2_000)
    #expect(store.checkInvariants().isEmpty)
  }

  @Test func `the start compiles no expressions of stacks, and each step those of one`() throws {
    var store = try store(cards: 0)
    for number in 0..<3 { try addStack(stack(number), "data.n == \(number)", &store) }
    settle(&store)
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = store.records.map { RecordImage($0) }
    var restored = Store(image: image)
    func compiled() -> Int { restored.records.count { $0.expressionBytes > 0 } }
    #expect(compiled() == 0)
    var counts: [Int] = []
    while counts.count < 100 {
      let hasMore = restored.settleStep()
      counts.append(compiled())
      if !hasMore { break }
    }
    #expect(counts.last == 3)
    #expect(zip([0] + counts, counts).allSatisfy { $1 <= $0 + 1 }, "\(counts)")
    #expect(restored.stateBytes == store.stateBytes)
    #expect(restored.checkInvariants().isEmpty)
  }

  @Test func `a stack whose compiled expression has no room in the quota is refused`() throws {
    var store = try store(cards: 0)
    try addStack("s", "data.n > 1", &store)
    store.commitGroup(at: .at(0))
    let bytes = store.expressionBytes(of: Selector(expression: Self.large))
    let maximum = store.stateBytes + bytes / 2
    store.limits.stateBytesPerUIDMax = maximum
    let refusal = StoreError.quotaExceeded(limit: "state_bytes_per_uid_max", maximum: maximum)
    let parameters: ValueMap = ["where": .string(Self.large)]
    let spec = WidgetSpec(id: "t", kind: .smartStack, parameters: parameters)
    #expect(store.refusal(of: .create(spec)) == refusal)
    #expect(
      store.refusal(of: .apply(Declaration(applySet: "set", widgets: [spec]))) == refusal)
    #expect(
      store.refusal(of: .update("s", .with { $0.setParameters = parameters })) == refusal)
    store.limits.stateBytesPerUIDMax += bytes
    try store.run(.create(spec))
  }

  @Test func `stacks that wait keep no compiled expression, and count it`() throws {
    var store = try store(cards: 1)
    for number in 0..<70 { try addStack(stack(number), "data.n == \(number)", &store) }
    settle(&store)
    func kept() -> [WidgetID] { store.embeds.stacks.filter { $0.value.test != nil }.map(\.key) }
    #expect(kept().count == EmbedLinks.selectingMax)
    #expect(store.records.filter { $0.expressionBytes > 0 }.count == 70)
    let gone = try #require(kept().first)
    try store.delete(gone)
    settle(&store)
    #expect(kept().count == EmbedLinks.selectingMax)
  }

  // MARK: - Stacks of stacks

  @Test func `the check of a stack of stacks ends at a number of links, and says so`() throws {
    var store = try store(cards: 0)
    func add(_ id: WidgetID, showing name: String, _ count: Int) throws {
      let widgets = Value.list((0..<count).map { .string("\(name)\($0)") })
      try store.run(
        .create(WidgetSpec(id: id, kind: .smartStack, parameters: ["widgets": widgets])))
    }
    for number in 0..<20 { try add(WidgetID(stringLiteral: "b\(number)"), showing: "c", 64) }
    // Each of these has 1,300 links to 84 widgets.
    for number in 0..<64 { try add(WidgetID(stringLiteral: "a\(number)"), showing: "b", 20) }
    try add("root", showing: "a", 64)
    settle(&store)
    #expect(members(of: "a0", store).count == 20)
    #expect(problem(of: "a0", store) == "")
    #expect(members(of: "root", store) == [])
    #expect(problem(of: "root", store).contains("show too many other widgets"))
    try store.update("root", .with { $0.setParameters = ["rotate": .string("5s")] })
    store.commitGroup(at: .at(0))
    var costs: [Int] = []
    repeat {
      let hasMore = store.settleStep()
      costs.append(store.contentCost)
      if !hasMore { break }
    } while costs.count < 100
    let highest = costs.max() ?? 0
    #expect(highest >= EmbedLinks.linksPerCheckMax)
    #expect(highest < EmbedLinks.linksPerCheckMax + EmbedLinks.linksMax + 2_000)
  }
}
