import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The data of former versions that no source set: the host keeps it as long as widgets of the daemon
/// can have it.
struct FormerDataTests {
  private let now = HostTime(wall: .epoch, uptime: .zero)
  private var state = HostState(home: "/home/me", seed: 1)

  private func bundle(_ kinds: String, id: String = "b") throws -> Bundle {
    try BundleReader.read("{bundle: \(id), format: 1, version: 1.0.0, kinds: {\(kinds)}}")
  }

  private static let old = "old: {data: {m: 1}, content: {label: x}}"
  private static let new = "new: {data: {m: 7}, content: {label: x}}"

  private func remembered(_ bundle: Bundle, in path: String) -> HostState.Remembered {
    let shown: ValueMap = [HostState.settableKey: SettableData(of: bundle).value]
    return HostState.Remembered(id: bundle.id, path: path, loaded: .epoch, shown: shown)
  }

  private func widget(_ id: String, _ kind: String, _ m: Int64) throws -> Widget {
    Widget(
      id: try #require(WidgetID(id)), kind: try #require(KindName(kind)), data: ["m": .int(m)])
  }

  /// The host reads a version.
  private mutating func edit(_ bundle: Bundle, _ digest: UInt64, in path: String = "/b/x") throws
    -> UInt64
  {
    let outputs = state.found(.bundle(bundle, digest: digest), in: path, at: now)
    return try #require(outputs.generations.first)
  }

  /// The kinds in `settable` of `bundle/ID`.
  private var kinds: [String] { state.standings.first?.settable.names.map(\.rawValue) ?? [] }

  private static func lines(_ outputs: [HostState.Output]) -> [String] {
    outputs.reports.filter { $0.contains("has no effect on") }
  }

  /// The data of the former kind was kept until the next edit.
  @Test(arguments: [true, false])
  mutating func `a former kind is forgotten when no widget of it waits any more`(
    isRemembered: Bool
  ) throws {
    let (former, present) = (try bundle(Self.old), try bundle(Self.new))
    if !isRemembered {
      _ = state.remembered([], at: now)
      let first = try edit(former, 1)
      _ = state.declared(generation: first, refusal: nil, at: now)
    }
    let generation = try edit(present, 2)
    if isRemembered { _ = state.remembered([remembered(former, in: "/b/x")], at: now) }
    #expect(kinds == ["new", "old"])
    let old = try #require(KindName("old"))
    let widget = Holds.Waiting(
      id: try #require(WidgetID("w")), end: .epoch, deadline: .seconds(30))
    _ = state.held([widget], of: [old], generation: generation, at: now)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    #expect(kinds == ["new", "old"])
    // Its time is over, but the daemon still has it.
    _ = state.held([], of: [old], generation: generation, at: now)
    #expect(kinds == ["new", "old"])
    _ = state.held([], generation: generation, at: now)
    #expect(kinds == ["new"])
  }

  /// The daemon is away, so it still has the widgets of the first version.
  @Test mutating func `a kind stays while the daemon has not taken a version without it`() throws {
    _ = state.remembered([], at: now)
    let first = try edit(try bundle(Self.old), 1)
    _ = state.declared(generation: first, refusal: nil, at: now)
    _ = try edit(try bundle(Self.new), 2)
    let last = try edit(try bundle("third: {content: {label: x}}"), 3)
    #expect(kinds == ["new", "old", "third"])
    _ = state.declared(generation: last, refusal: nil, at: now)
    #expect(kinds == ["third"])
  }

  @Test mutating func `the data goes with a bundle of an earlier host that is removed`() throws {
    _ = state.remembered([remembered(try bundle(Self.old), in: "/b/x")], at: now)
    #expect(state.formerData["b"] == nil)
  }

  /// The daemon never had the kind from the other bundle, so no default has changed.
  @Test mutating func `a bundle that runs hears nothing of a default that the daemon never had`()
    throws
  {
    _ = state.remembered([], at: now)
    let heir = try bundle("k: {data: {m: 7}, content: {label: x}}", id: "c")
    let generation = try edit(heir, 1, in: "/b/y")
    _ = state.declared(generation: generation, refusal: nil, at: now)
    let widgets = [try widget("w", "k", 50)]
    _ = state.handle(.snapshot(widgets), generation: generation, at: now)
    let refused = try edit(try bundle("k: {data: {m: 1}, content: {label: x}}"), 1)
    _ = state.declared(generation: refused, refusal: "kind k belongs to c", at: now)
    let outputs = state.found(.bundle(heir, digest: 2), in: "/b/x", at: now)
    #expect(outputs.handedOver == ["b -> c"])
    let told = state.handle(.snapshot(widgets), generation: generation, at: now)
    #expect(Self.lines(outputs + told).isEmpty)
  }

  @Test mutating func `the reason for a kept default is that of the kind`() throws {
    func kind(_ name: String, _ m: Int) -> String {
      "\(name): {data: {m: \(m)}, content: {label: x}}"
    }
    let file = try bundle("\(kind("own", 7)), \(kind("other", 7))", id: "c")
    let generation = try edit(file, 1)
    let known = [
      remembered(try bundle(kind("other", 1)), in: "/b/x"),
      remembered(try bundle(kind("own", 1), id: "c"), in: "/b/x"),
    ]
    #expect(state.remembered(known, at: now).handedOver == ["b -> c"])
    let widgets = [try widget("v", "own", 1), try widget("w", "other", 1)]
    let told = state.handle(.snapshot(widgets), generation: generation, at: now)
    let lines = Self.lines(told)
    #expect(lines.count == 2)
    #expect(lines.contains { $0.contains("no effect on v: the field was set;") })
    #expect(lines.contains { $0.contains("no effect on w: the bundle's id has changed, too;") })
  }

  // MARK: Limits

  /// A bundle with kinds of about 1 KiB for each field.
  private func large(_ sizes: [(kind: String, fields: Int)]) throws -> Bundle {
    let text = String(repeating: "x", count: 1_000)
    let kinds = sizes.map { "\($0.kind): {content: {label: x}}" }
    var bundle = try bundle(kinds.joined(separator: ", "))
    for index in bundle.kinds.indices {
      let name = bundle.kinds[index].kind.name.rawValue
      let count = sizes.first { $0.kind == name }?.fields ?? 0
      bundle.kinds[index].kind.data = (0..<count).map {
        Field(name: "f\($0)", defaultValue: .string(text))
      }
    }
    return bundle
  }

  @Test func `a kind without room does not push later ones out`() throws {
    let data = SettableData(of: try large([("a", 80), ("z", 1)]))
    #expect(SettableData(data.value).names.map(\.rawValue) == ["z"])
  }

  @Test func `the kinds of the last version have room first`() throws {
    var data = SettableData(of: try large([("z", 40)]))
    data.add(SettableData(of: try large([("a", 40)])))
    #expect(data.names.map(\.rawValue) == ["a", "z"])
    #expect(SettableData(data.value).names.map(\.rawValue) == ["z"])
  }

  /// `1` and `1.0` differ, so a default that changes its type in the codec would look edited.
  @Test mutating func `an integer and a double keep apart`() throws {
    let file = try bundle(
      "k: {data: {i: 1, d: 1.0, e: {type: double, default: 1}}, content: {label: x}}")
    let kind = try #require(KindName("k"))
    let kept = SettableData(SettableData(of: file).value)[kind]
    #expect(kept == ["i": .int(1), "d": .double(1), "e": .double(1)])
    let generation = try edit(file, 1)
    _ = state.remembered([remembered(file, in: "/b/x")], at: now)
    let widget = Widget(
      id: try #require(WidgetID("w")), kind: kind,
      data: ["i": .int(2), "d": .double(2), "e": .double(2)])
    let told = state.handle(.snapshot([widget]), generation: generation, at: now)
    #expect(Self.lines(told).isEmpty)
  }
}
