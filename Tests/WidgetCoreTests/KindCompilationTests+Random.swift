import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// Random declarations, with and without mistakes. A compilation before the command only saves time.
extension KindCompilationTests {
  @Test(arguments: UInt64(1)...40)
  func `a command has the same result with compiled kinds as without`(seed: UInt64) throws {
    var random = Declarations(seed: seed)
    var plain = Store(limits: random.limits())
    var prepared = plain
    var (accepted, refused, used) = (0, 0, 0)
    for step in 0..<60 {
      if random.rng.chance(10) {
        plain.limits = random.limits()
        prepared.limits = plain.limits
      }
      let declaration = random.declaration()
      let other = random.rng.chance(20) ? random.declaration() : declaration
      var compilation = prepared.compilation(of: other.kinds)
      for _ in 0..<(random.rng.chance(30) ? random.rng.below(40) : .max) {
        guard prepared.step(&compilation) else { break }
      }
      // The limits may change between the compilation and the command.
      if random.rng.chance(10) {
        plain.limits = random.limits()
        prepared.limits = plain.limits
      }
      prepared.use(compilation.compiled())
      let results = [outcome(of: declaration, in: &plain), outcome(of: declaration, in: &prepared)]
      prepared.use(nil)
      let isSame = results[0] == results[1] && look(at: plain) == look(at: prepared)
      #expect(isSame, "seed \(seed), step \(step)")
      if case .success = results[0] { accepted += 1 } else { refused += 1 }
      if compilation.compiled().count > 0 { used += 1 }
    }
    #expect(accepted > 3 && refused > 3 && used > 10, "\(seed): \(accepted) \(refused) \(used)")
  }

  private func outcome(
    of declaration: KindDeclaration, in store: inout Store
  ) -> Result<Commit, StoreError> {
    Result { () throws(StoreError) in try store.run(.applyKinds(declaration)) }
  }

  private func look(at store: Store) -> [KindLook] {
    store.kinds().kinds.map { registered in
      KindLook(
        kind: registered,
        content: try? store.preview(of: registered.kind.name, family: .large))
    }
  }

  private struct KindLook: Hashable {
    let kind: RegisteredKind
    let content: Preview?
  }
}

/// Random declarations of a few kinds.
private struct Declarations {
  var rng: SeededGenerator
  private let names: [KindName] = ["k", "l", "m", "n"]

  init(seed: UInt64) { rng = SeededGenerator(seed: seed) }

  mutating func limits() -> StoreLimits {
    .with {
      if rng.chance(15) { $0.kindBytesMax = 1_000 }
      if rng.chance(15) { $0.reducersPerKindMax = 2 }
      // The memory of an expression is approximate. So this limit refuses every expression.
      if rng.chance(15) { $0.kindMemoryBytesMax = 1 }
      if rng.chance(15) { $0.contentNodesMax = 4 }
    }
  }

  mutating func declaration() -> KindDeclaration {
    // One mistake in a declaration refuses all of it.
    let mistakes = rng.chance(60) ? 0 : 4
    return KindDeclaration(
      provider: rng.chance(90) ? "p" : "q",
      kinds: rng.some(names, max: 4).map { kind($0, mistakes) }, prunes: rng.chance(10),
      isDryRun: rng.chance(10))
  }

  /// A correct value, or a wrong one in this percentage of cases.
  private mutating func pick<T>(_ right: [T], or wrong: [T], _ mistakes: Int) -> T {
    rng.pick(rng.chance(mistakes) ? wrong : right)
  }

  private mutating func expression(_ mistakes: Int) -> String {
    pick(
      ["data.n + 1", "data.n > 2 ? 1 : 2", "size(data.s)", "int(parameters.p)"],
      or: ["dat.n", "data.n +", "1 + 'a'", "data.missing", "f(1)"], mistakes)
  }

  private mutating func kind(_ name: KindName, _ mistakes: Int) -> Kind {
    var kind = Kind(
      name: name, summary: rng.pick(["", String(repeating: "x", count: 900)]),
      parameters: [Field(name: "p", type: .double, defaultValue: .int(Int64(rng.below(3))))],
      data: [
        Field(name: "n", type: .int, defaultValue: pick([.int(1)], or: [.string("x")], mistakes)),
        Field(name: "s", type: .string, defaultValue: .string("abc")),
        Field(name: "rows", type: .list(.int), defaultValue: .list([.int(1), .int(2)])),
      ],
      isOpen: rng.chance(30))
    for number in 0..<rng.below(4) {
      let key = pick(["n"], or: ["s", "none"], mistakes)
      kind.reducers.append(
        Reducer(
          event: "e\(number)", condition: rng.chance(50) ? "" : "(\(expression(mistakes))) > 0",
          assignments: [key: expression(mistakes)], unset: rng.chance(20) ? ["s"] : []))
    }
    if rng.chance(20) {
      kind.schedule = EntrySchedule(
        every: .seconds(60), zone: pick(["", "'UTC'"], or: ["1", "data."], mistakes))
    }
    for number in 0..<rng.below(3) {
      var id = 0
      kind.content.append(
        ContentTemplate(
          families: number == 0 ? [] : [pick([.large], or: [.large, .large], mistakes)],
          root: stack(depth: 0, &id, mistakes)))
    }
    return kind
  }

  private mutating func stack(depth: Int, _ id: inout Int, _ mistakes: Int) -> NodeTemplate {
    let own = nextID(&id, mistakes)
    let children = (0..<rng.below(4)).map { _ in
      var child =
        depth < 3 && rng.chance(30)
        ? stack(depth: depth + 1, &id, mistakes) : label(&id, mistakes)
      if rng.chance(25) {
        child.rows = RowTemplate(
          list: pick(["data.rows"], or: ["data.n", "data.", "rows"], mistakes),
          name: pick(["row\(depth)"], or: ["data", "1x"], mistakes),
          key: pick(["", "string(row\(depth))"], or: ["row9", "("], mistakes))
      }
      if rng.chance(20) { child.condition = pick(["data.n > 0"], or: ["data.x.", "nn"], mistakes) }
      return child
    }
    return NodeTemplate(id: own, type: .stack, children: children)
  }

  private mutating func label(_ id: inout Int, _ mistakes: Int) -> NodeTemplate {
    let key = pick(["text", "tooltip"], or: ["txt"], mistakes)
    let binding =
      rng.chance(50)
      ? Binding("string(\(expression(mistakes)))")
      : Binding(value: pick([.string("a")], or: [.map([:]), .int(1)], mistakes))
    return NodeTemplate(id: nextID(&id, mistakes), type: .label, properties: [key: binding])
  }

  private mutating func nextID(_ id: inout Int, _ mistakes: Int) -> String {
    if !rng.chance(mistakes) { id += 1 }
    return pick(["n\(id)"], or: ["not valid"], mistakes)
  }
}
