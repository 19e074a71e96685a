import Testing
import WidgetModel

@testable import WidgetCore

/// Kinds that are compiled in steps, before the command that registers them.
struct KindCompilationTests {
  private static func kind(_ name: KindName, expression: String = "data.n + 1") -> Kind {
    Kind(
      name: name, isOpen: true,
      reducers: [Reducer(event: "press", assignments: ["n": expression])])
  }

  private static func declaration(_ kinds: [Kind]) -> Command {
    .applyKinds(KindDeclaration(provider: "desk", kinds: kinds, prunes: false))
  }

  private func compiled(_ kinds: [Kind], in store: Store) -> CompiledKinds {
    var compilation = store.compilation(of: kinds)
    while store.step(&compilation) {}
    return compilation.compiled()
  }

  @Test func `a command uses the compiled kinds, and refuses the same mistakes`() throws {
    var store = Store()
    let compiled = compiled([Self.kind("a"), Self.kind("b")], in: store)
    #expect(compiled.count == 2)
    store.use(compiled)
    try store.run(Self.declaration([Self.kind("a"), Self.kind("b", expression: "data.n + 2")]))
    store.use(nil)
    #expect(store.schema(of: "a") === compiled.schema(of: Self.kind("a"), StoreLimits()))
    #expect(store.schema(of: "b") !== compiled.schema(of: Self.kind("b"), StoreLimits()))
    // A registered kind is not compiled again.
    #expect(self.compiled([Self.kind("a")], in: store).count == 0)
    let wrong = [Self.kind("c", expression: "dat.n")]
    let refused = store.refusal(of: Self.declaration(wrong))
    store.use(self.compiled(wrong, in: store))
    #expect(store.refusal(of: Self.declaration(wrong)) == refused && refused != nil)
  }

  @Test func `kinds that were compiled with other limits are compiled again`() throws {
    let compiled = compiled([Self.kind("a")], in: Store())
    var limits = StoreLimits()
    limits.kindMemoryBytesMax = 1
    #expect(compiled.schema(of: Self.kind("a"), StoreLimits()) != nil)
    #expect(compiled.schema(of: Self.kind("a"), limits) == nil)
    #expect(compiled.schema(of: Self.kind("a", expression: "1"), StoreLimits()) == nil)
    var store = Store(limits: limits)
    store.use(compiled)
    #expect(
      store.refusal(of: Self.declaration([Self.kind("a")]))
        == .quotaExceeded(limit: "kind_memory_bytes_max", maximum: 1))
  }

  @Test func `a kind for which the caller has no memory is refused`() throws {
    var store = Store()
    var compilation = store.compilation(of: [Self.kind("a"), Self.kind("b")])
    while compilation.compiled().count == 0 { _ = store.step(&compilation) }
    store.use(compilation.compiled(isRefused: true))
    let full = StoreError.quotaExceeded(
      limit: "kind_memory_bytes_per_uid_max",
      maximum: StoreLimits().kindMemoryBytesPerUIDMax)
    #expect(store.refusal(of: Self.declaration([Self.kind("a"), Self.kind("b")])) == full)
    try store.run(Self.declaration([Self.kind("a")]))
  }

  @Test func `a compilation ends at a kind that is refused for its size`() {
    let store = Store(
      limits: .with {
        $0.kindBytesMax = 400
        $0.reducersPerKindMax = 1
      })
    let large = Kind(name: "large", summary: String(repeating: "x", count: 400))
    let many = Kind(name: "many", reducers: ["a", "b"].map { Reducer(event: $0) })
    #expect(compiled([Self.kind("a"), large, Self.kind("b")], in: store).count == 1)
    #expect(compiled([Self.kind("a"), many, Self.kind("b")], in: store).count == 1)
    #expect(compiled([Self.kind("a"), Self.kind("b")], in: store).count == 2)
  }

  /// Kinds with many expressions in one place.
  private static let large: [Kind] = {
    let keys = (0..<60).map { "f\($0)" }
    let assignments = Dictionary(uniqueKeysWithValues: keys.map { ($0, "data.\($0) + 1") })
    let one = Reducer(event: "e", condition: "data.f0 > 1", assignments: assignments)
    let reducers = keys.map { Reducer(event: $0, assignments: ["a": "data.a + \($0.count)"]) }
    let labels = keys.map { key in
      NodeTemplate(
        id: key, type: .label,
        properties: ["text": Binding("data.\(key)"), "tooltip": Binding("data.u + data.\(key)")],
        condition: "data.c\(key)")
    }
    let rows = keys.map { key in
      NodeTemplate(
        id: key, type: .label, properties: ["text": Binding("item.name")],
        rows: RowTemplate(list: "data.rows", key: "item.id"))
    }
    let templates = [labels, rows].enumerated().map { index, children in
      ContentTemplate(
        families: index == 0 ? [.large] : [],
        root: NodeTemplate(id: "top", type: .stack, children: children))
    }
    return [
      Kind(name: "k", isOpen: true, reducers: [one]),
      Kind(name: "k", isOpen: true, reducers: reducers),
      Kind(name: "k", isOpen: true, content: templates),
    ]
  }()

  /// The memory shows how much a step has compiled.
  @Test(arguments: large)
  func `a step compiles one expression, or two that belong together`(kind: Kind) throws {
    let store = Store()
    var compilation = store.compilation(of: [kind])
    // The first step begins the kind. Its text counts at once.
    #expect(store.step(&compilation))
    let text = compilation.memoryBytes
    var (before, steps, most) = (text, 0, 0)
    while store.step(&compilation) {
      most = max(most, compilation.memoryBytes - before)
      before = compilation.memoryBytes
      steps += 1
    }
    let whole = KindSchema(kind)
    #expect(whole.reducers.problem == nil && whole.content.problem == nil)
    #expect(steps >= 60 && most > 0 && most < (before - text) / 20)
  }

  @Test func `kinds that are replaced or removed are given to the caller, to be freed`() throws {
    var store = Store()
    try store.run(Self.declaration([Self.kind("a"), Self.kind("b")]))
    #expect(store.takeDroppedKinds().bytes == 0)
    let former = try #require(store.schema(of: "b")).memoryBytes
    try store.run(Self.declaration([Self.kind("a"), Self.kind("b", expression: "data.n + 2")]))
    #expect(store.takeDroppedKinds().bytes == former)
    let sizes = try ["a", "b"].map { try #require(store.schema(of: $0)).memoryBytes }
    try store.run(.deleteKind("a"))
    try store.run(.deleteKind("b"))
    var dropped = store.takeDroppedKinds()
    #expect(dropped.bytes == sizes[0] + sizes[1])
    #expect(dropped.freeOne() && dropped.bytes == sizes[0])
    #expect(!dropped.freeOne() && dropped.bytes == 0)
    #expect(!dropped.freeOne() && store.takeDroppedKinds().bytes == 0)
  }

  @Test func `kinds of a command that fails are given to the caller, to be freed`() throws {
    var limits = StoreLimits()
    limits.kindsMax = 2
    var store = Store(limits: limits)
    try store.run(Self.declaration([Self.kind("a")]))
    _ = store.takeDroppedKinds()
    let tooMany = KindDeclaration(
      provider: "other", kinds: [Self.kind("b"), Self.kind("c")], prunes: false)
    #expect(store.refusal(of: .applyKinds(tooMany)) != nil)
    #expect(store.hasDroppedKinds && store.schema(of: "b") == nil)
    #expect(store.takeDroppedKinds().bytes > 0 && !store.hasDroppedKinds)
  }
}
