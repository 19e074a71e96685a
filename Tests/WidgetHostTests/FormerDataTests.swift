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

  /// The daemon removes the defaults of a kind with the kind, so an heir gives the widgets new ones.
  @Test mutating func `a new default after a change of the id has no effect only on set values`()
    throws
  {
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
    _ = state.declared(generation: generation, refusal: nil, at: now)
    // Two widgets follow their defaults. Of the others, one was set to the former default.
    let widgets = [
      try widget("f", "own", 7), try widget("g", "other", 7), try widget("v", "own", 50),
      try widget("w", "other", 1),
    ]
    let told = state.handle(.snapshot(widgets), generation: generation, at: now)
    let lines = Self.lines(told)
    #expect(lines.count == 2)
    #expect(lines.contains { $0.contains("no effect on v: the field was set;") })
    #expect(lines.contains { $0.contains("no effect on w: the field was set;") })
  }

  // MARK: Kinds that a file drops and has again

  private static func kind(_ name: String, _ m: Int) -> String {
    "\(name): {data: {m: \(m)}, content: {label: x}}"
  }

  /// The ways from a version with `k` to a version with `k` and another default.
  enum Way: CaseIterable {
    case dropped, droppedTwice, unseen, restartBetween, restartAndDrop, otherBundle
  }

  /// The host had forgotten the former default, so it did not name the widgets with values of others.
  @Test(arguments: Way.allCases)
  mutating func `a kind that a file drops and has again is compared with its last default`(
    way: Way
  ) throws {
    let other = Self.kind("other", 1)
    let both = try bundle("\(other), \(Self.kind("k", 1))")
    let without = try bundle(other)
    let path = way == .otherBundle ? "/b/y" : "/b/x"
    let again = try bundle(
      "\(Self.kind("k", 7))", id: way == .otherBundle ? "c" : "b")
    func restarted(_ bundle: Bundle) throws -> HostState {
      let shown = try #require(state.standings.first.flatMap(HostState.spec)).data
      var next = HostState(home: "/home/me", seed: 2)
      _ = next.found(.bundle(bundle, digest: 1), in: "/b/x", at: now)
      let known = HostState.Remembered(id: "b", path: "/b/x", loaded: .epoch, shown: shown)
      _ = next.remembered([known], at: now)
      return next
    }
    _ = state.remembered([], at: now)
    let first = try edit(both, 1)
    _ = state.declared(generation: first, refusal: nil, at: now)
    switch way {
    case .unseen: _ = try edit(without, 2)
    case .restartAndDrop:
      state = try restarted(without)
      let id = try #require(state.running["b"]?.instance.generation)
      _ = state.declared(generation: id, refusal: nil, at: now)
    default:
      let second = try edit(without, 2)
      _ = state.declared(generation: second, refusal: nil, at: now)
    }
    if way == .droppedTwice {
      let third = try edit(try bundle("\(other), \(Self.kind("k", 5))"), 3)
      _ = state.declared(generation: third, refusal: nil, at: now)
      _ = state.handle(.snapshot([]), generation: third, at: now)
      let fourth = try edit(without, 4)
      _ = state.declared(generation: fourth, refusal: nil, at: now)
    }
    if way == .restartBetween {
      state = try restarted(without)
      let id = try #require(state.running["b"]?.instance.generation)
      _ = state.declared(generation: id, refusal: nil, at: now)
    }
    let last = try edit(again, 9, in: path)
    let lines = Self.lines(state.declared(generation: last, refusal: nil, at: now))
    #expect(lines.isEmpty)
    let widgets = [try widget("new", "k", 7), try widget("set", "k", 50)]
    let told = Self.lines(state.handle(.snapshot(widgets), generation: last, at: now))
    #expect(told.count == 1)
    #expect(told.first?.contains("the new default of data.m has no effect on set: the") == true)
    let more = state.handle(.snapshot(widgets), generation: last, at: now)
    #expect(Self.lines(more).isEmpty)
  }

  @Test mutating func `a kind that comes back with the same default has no line`() throws {
    _ = state.remembered([], at: now)
    let other = Self.kind("other", 1)
    let first = try edit(try bundle("\(other), \(Self.kind("k", 1))"), 1)
    _ = state.declared(generation: first, refusal: nil, at: now)
    let second = try edit(try bundle(other), 2)
    _ = state.declared(generation: second, refusal: nil, at: now)
    #expect(state.formerData.dropped(by: "b").names.map(\.rawValue) == ["k"])
    let third = try edit(try bundle("\(other), \(Self.kind("k", 1))"), 3)
    _ = state.declared(generation: third, refusal: nil, at: now)
    #expect(state.formerData.dropped(by: "b").names.isEmpty)
    let widgets = [try widget("w", "k", 50)]
    #expect(Self.lines(state.handle(.snapshot(widgets), generation: third, at: now)).isEmpty)
  }

  /// The refusal ends the watch, so the instance is told that it has no widgets.
  @Test mutating func `a refusal does not end the comparison of defaults`() throws {
    let generation = try edit(try bundle(Self.kind("k", 7)), 1)
    let former = try bundle(Self.kind("k", 1))
    _ = state.remembered([remembered(former, in: "/b/x")], at: now)
    _ = state.handle(.snapshot([]), generation: generation, at: now)
    _ = state.declared(generation: generation, refusal: "no", at: now)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    let widgets = [try widget("new", "k", 7), try widget("set", "k", 50)]
    let told = Self.lines(state.handle(.snapshot(widgets), generation: generation, at: now))
    #expect(told.count == 1)
    #expect(told.first?.contains("no effect on set: the field was set;") == true)
  }

  // MARK: The log about dropped kinds

  private static func drops(_ outputs: [HostState.Output]) -> [String] {
    outputs.compactMap { output in
      switch output {
      case .report(let text), .note(let text): text
      default: nil
      }
    }.filter { $0.contains("no longer has the kind") }
  }

  @Test mutating func `the log names a dropped kind once, when the daemon has none`() throws {
    _ = state.remembered([], at: now)
    let other = Self.kind("other", 1)
    let widgets = "mine: {kind: k}, moved: {kind: k}"
    func file(_ kinds: String, _ widgets: String) throws -> Bundle {
      try BundleReader.read(
        "{bundle: b, format: 1, version: 1.0.0, kinds: {\(kinds)}, widgets: {\(widgets)}}")
    }
    let first = try edit(try file("\(other), \(Self.kind("k", 1))", widgets), 1)
    _ = state.declared(generation: first, refusal: nil, at: now)
    var known = [try widget("foreign", "k", 5), try widget("v", "other", 5)]
    for id in ["mine", "moved"] {
      var own = try widget(id, "k", 1)
      own.applySet = "bundle/b"
      known.append(own)
    }
    _ = state.handle(.snapshot(known), generation: first, at: now)
    let outputs = state.found(
      .bundle(try file(other, widgets), digest: 2), in: "/b/x", at: now)
    #expect(Self.drops(outputs).isEmpty)
    // Another edit before the daemon has taken the first one.
    let last = try edit(try file(other, "mine: {kind: k}"), 3)
    let told = Self.drops(state.declared(generation: last, refusal: nil, at: now))
    #expect(
      told == [
        "bundle b: the file no longer has the kind \"k\", so 2 widgets lose their content, and keep"
          + " only the values that have an owner or differ from the default: foreign, mine; to get"
          + " the content back, put the kind into the file again, or into another bundle"
      ])
    let again = state.declared(generation: last, refusal: nil, at: now)
    #expect(Self.drops(again).isEmpty)
  }

  /// The log said that no widget needs the kind.
  @Test mutating func `the log names widgets of a dropped kind that wait for their removal`()
    throws
  {
    _ = state.remembered([], at: now)
    _ = state.daemonIsBack(at: now)
    let other = Self.kind("other", 1)
    let first = try edit(try bundle("\(other), \(Self.kind("k", 1))"), 1)
    _ = state.declared(generation: first, refusal: nil, at: now)
    var own = try widget("la", "k", 5)
    own.applySet = "bundle/b"
    _ = state.handle(.snapshot([own]), generation: first, at: now)
    let last = try edit(try bundle(other), 2)
    let waiting = Holds.Waiting(id: own.id, end: now.wall, deadline: now.uptime)
    _ = state.held([waiting], of: [own.kind], generation: last, at: now)
    let told = Self.drops(state.declared(generation: last, refusal: nil, at: now))
    #expect(told.count == 1)
    #expect(told.first?.contains("so 1 widget loses its content, and keeps") == true)
    #expect(told.first?.contains(": la (waits for its removal); to get the content back") == true)
  }

  /// What the host knows of the widgets of a kind that is dropped.
  enum Knowledge: CaseIterable { case none, refused, away, complete }

  /// The host said that no widget needs the kind, although it had not heard of any widgets.
  @Test(arguments: Knowledge.allCases)
  mutating func `the log says that no widget needs a kind only if all widgets are known`(
    knowledge: Knowledge
  ) throws {
    _ = state.remembered([], at: now)
    _ = state.daemonIsBack(at: now)
    let first = try edit(try bundle(Self.old), 1)
    _ = state.declared(generation: first, refusal: nil, at: now)
    if knowledge != .none { _ = state.handle(.snapshot([]), generation: first, at: now) }
    if knowledge == .refused {
      _ = state.declared(generation: first, refusal: "no", at: now)
    }
    if knowledge == .away { _ = state.daemonIsAway(at: now) }
    let next = try edit(try bundle(Self.new), 2)
    let start = "bundle b: the file no longer has the kind \"old\""
    let claim = knowledge == .complete ? "; no widget needs it" : ""
    let told = Self.drops(state.declared(generation: next, refusal: nil, at: now))
    #expect(told == ["\(start)\(claim)"])
  }

  @Test mutating func `a kind that goes while the daemon is away has a line`() throws {
    _ = state.remembered([], at: now)
    let (other, k) = (Self.kind("other", 1), Self.kind("k", 1))
    let first = try edit(try bundle("\(other), \(k)"), 1)
    _ = state.declared(generation: first, refusal: nil, at: now)
    _ = state.handle(.snapshot([try widget("w", "k", 5)]), generation: first, at: now)
    _ = try edit(try bundle(other), 2)
    _ = try edit(try bundle("\(other), \(k)"), 3)
    let last = try edit(try bundle(other), 4)
    let told = Self.drops(state.declared(generation: last, refusal: nil, at: now))
    #expect(told.count == 1)
    #expect(told.first?.contains("so 1 widget loses its content, and keeps") == true)
    #expect(told.first?.contains(": w; to get the content back") == true)
  }

  @Test mutating func `a kind that goes while no host runs has a line`() throws {
    let generation = try edit(try bundle(Self.new), 1)
    let known = remembered(try bundle("\(Self.old), \(Self.new)"), in: "/b/x")
    _ = state.remembered([known], at: now)
    let told = Self.drops(state.declared(generation: generation, refusal: nil, at: now))
    #expect(told == ["bundle b: the file no longer has the kind \"old\""])
  }

  /// Another bundle that the daemon refused for any reason counted, although it did not get the kind.
  @Test(
    arguments: [
      (nil, true), ("Kind \"k\" belongs to bundle b. Choose another name.", true),
      ("no room", false),
    ] as [(String?, Bool)])
  mutating func `the log names another bundle that gets the dropped kind`(
    refusal: String?, isNamed: Bool
  ) throws {
    _ = state.remembered([], at: now)
    let (other, k) = (Self.kind("other", 1), Self.kind("k", 1))
    let first = try edit(try bundle("\(other), \(k)"), 1)
    _ = state.declared(generation: first, refusal: nil, at: now)
    _ = state.handle(.snapshot([try widget("w", "k", 5)]), generation: first, at: now)
    let heir = try edit(try bundle(k, id: "c"), 1, in: "/b/y")
    _ = state.declared(generation: heir, refusal: refusal, at: now)
    let last = try edit(try bundle(other), 2)
    let told = Self.drops(state.declared(generation: last, refusal: nil, at: now))
    let start = "bundle b: the file no longer has the kind \"k\""
    #expect(told.count == 1)
    if isNamed {
      #expect(told.first == "\(start); bundle c declares it")
    } else {
      #expect(told.first?.hasPrefix("\(start), so 1 widget loses its content") == true)
    }
  }

  @Test mutating func `a refused version drops no kind`() throws {
    _ = state.remembered([], at: now)
    let first = try edit(try bundle(Self.old), 1)
    _ = state.declared(generation: first, refusal: nil, at: now)
    let second = try edit(try bundle(Self.new), 2)
    let refused = state.declared(generation: second, refusal: "no", at: now)
    let back = try #require(refused.generations.first)
    let taken = state.declared(generation: back, refusal: nil, at: now)
    #expect(Self.drops(refused + taken).isEmpty)
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

  /// They grew with every kind that a file once had.
  @Test mutating func `the dropped kinds have a limit, and the newest ones stay`() throws {
    _ = state.remembered([], at: now)
    for number in 0...4 {
      let generation = try edit(try large([("k\(number)", 30)]), UInt64(number))
      _ = state.declared(generation: generation, refusal: nil, at: now)
    }
    let dropped = state.formerData.dropped(by: "b")
    #expect(dropped.names.map(\.rawValue) == ["k2", "k3"])
    #expect(SettableData(dropped.value).names == dropped.names)
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
    _ = state.declared(generation: generation, refusal: nil, at: now)
    let widget = Widget(
      id: try #require(WidgetID("w")), kind: kind,
      data: ["i": .int(2), "d": .double(2), "e": .double(2)])
    let told = state.handle(.snapshot([widget]), generation: generation, at: now)
    #expect(Self.lines(told).isEmpty)
  }
}
