import Testing
import WidgetModel

@testable import WidgetCore

/// Kinds that were compiled before the command that registers them.
struct KindCompilationTests {
  private static func kind(_ name: KindName, expression: String = "data.n + 1") -> Kind {
    Kind(
      name: name, isOpen: true,
      reducers: [Reducer(event: "press", assignments: ["n": expression])])
  }

  private static func declaration(_ kinds: [Kind]) -> Command {
    .applyKinds(KindDeclaration(provider: "desk", kinds: kinds, prunes: false))
  }

  @Test func `a command uses the compiled kinds, and refuses the same mistakes`() throws {
    var store = Store()
    let compiled = store.compilation(of: [Self.kind("a"), Self.kind("b")]).run()
    #expect(compiled.count == 2)
    store.use(compiled)
    try store.run(Self.declaration([Self.kind("a"), Self.kind("b", expression: "data.n + 2")]))
    store.use(nil)
    #expect(store.schema(of: "a") === compiled.schema(of: Self.kind("a"), StoreLimits()))
    #expect(store.schema(of: "b") !== compiled.schema(of: Self.kind("b"), StoreLimits()))
    #expect(store.compilation(of: [Self.kind("a")]).isEmpty)
    let wrong = [Self.kind("c", expression: "dat.n")]
    let refused = store.refusal(of: Self.declaration(wrong))
    store.use(store.compilation(of: wrong).run())
    #expect(store.refusal(of: Self.declaration(wrong)) == refused && refused != nil)
  }

  @Test func `kinds that were compiled with other limits are compiled again`() throws {
    var store = Store()
    let compiled = store.compilation(of: [Self.kind("a")]).run()
    var limits = StoreLimits()
    limits.kindMemoryBytesMax = 1
    #expect(compiled.schema(of: Self.kind("a"), StoreLimits()) != nil)
    #expect(compiled.schema(of: Self.kind("a"), limits) == nil)
    #expect(compiled.schema(of: Self.kind("a", expression: "1"), StoreLimits()) == nil)
    store.use(compiled)
    try store.run(Self.declaration([Self.kind("a")]))
  }

  @Test func `a compilation ends at the quota of memory`() throws {
    let store = Store(limits: .with { $0.kindMemoryBytesPerUIDMax = 1 })
    let kinds = (0..<10).map { Self.kind(KindName("k\($0)") ?? "k") }
    #expect(store.compilation(of: kinds).run().count == 1)
  }
}
