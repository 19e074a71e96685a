import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Edits of defaults that this host has not seen: no host ran, or the id of the bundle has changed.
struct DefaultEditTests {
  private let now = HostTime(wall: .epoch, uptime: .zero)
  private var state = HostState(home: "/home/me", seed: 1)

  /// Widgets `own` with a value of somebody, `new` with the new default and `old` with the former one.
  private func widgets() throws -> [Widget] {
    let kind = try #require(KindName("k"))
    let values: [(id: String, m: Int64)] = [("new", 7), ("old", 1), ("own", 50)]
    return try values.map { id, value in
      Widget(
        id: try #require(WidgetID(id)), kind: kind, data: ["m": .int(value), "s": .int(3)],
        applySet: "")
    }
  }

  private func bundle(_ id: String, _ m: Int, _ s: Int) throws -> Bundle {
    try BundleReader.read(
      """
      {bundle: \(id), format: 1, version: 1.0.0, kinds: {k: {data: {m: \(m), s: \(s)},
       sources: {t: {timer: 1s, set: {s: '3'}}}, content: {label: x}}}}
      """)
  }

  private static func reports(_ outputs: [HostState.Output]) -> [String] {
    outputs.compactMap { if case .report(let text) = $0 { text } else { nil } }
      .filter { $0.contains("default") }
  }

  private static func line(_ id: String, on widgets: String, _ reason: String) -> String {
    let isOne = !widgets.contains(",")
    return "bundle \(id): the new default of data.m has no effect on \(widgets): \(reason);"
      + " \"widgetctl set \(isOne ? widgets : "ID") --unset m\" sets it to the default"
      + (isOne ? "" : " on each of these widgets")
  }

  @Test(arguments: ["b", "c"])
  mutating func `an edit while no host ran is reported when the widgets are known`(
    id: String
  ) throws {
    let opened = state.found(.bundle(try bundle(id, 7, 9), digest: 1), in: "/b/x", at: now)
    #expect(DefaultEditTests.reports(opened).isEmpty)
    let former = SettableData(of: try bundle("b", 1, 2)).value
    let known = HostState.Remembered(
      id: "b", path: "/b/x", loaded: .epoch, shown: [HostState.settableKey: former])
    let remembered = state.remembered([known], at: now)
    #expect(DefaultEditTests.reports(remembered).isEmpty)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    let all = try widgets()
    let told = state.handle(.snapshot(all), generation: generation, at: now)
    let lines = DefaultEditTests.reports(told)
    #expect(lines == [DefaultEditTests.line(id, on: "old, own", "the field was set")])
    let again = state.handle(.snapshot(all), generation: generation, at: now)
    #expect(DefaultEditTests.reports(again).isEmpty)
  }

  @Test mutating func `so is an edit together with the id`() throws {
    _ = state.remembered([], at: now)
    let first = state.found(.bundle(try bundle("b", 1, 2), digest: 1), in: "/b/x", at: now)
    let before = try #require(first.generations.first)
    _ = state.declared(generation: before, refusal: nil, at: now)
    let all = try widgets()
    _ = state.handle(.snapshot(all), generation: before, at: now)
    let second = state.found(.bundle(try bundle("c", 7, 2), digest: 2), in: "/b/x", at: now)
    let after = try #require(second.generations.first)
    _ = state.declared(generation: after, refusal: nil, at: now)
    let told = state.handle(.snapshot(all), generation: after, at: now)
    let lines = DefaultEditTests.reports(told)
    #expect(lines.count == 1 && lines.allSatisfy { $0.contains("the new default of data.m") })
  }

  /// Widgets with a parameter.
  private func file(_ city: String, _ widgets: [String] = ["p1", "p2"]) throws -> Bundle {
    let specs = widgets.map { "\($0): {kind: k}" }.joined(separator: ", ")
    return try BundleReader.read(
      """
      {bundle: b, format: 1, version: 1.0.0, widgets: {\(specs)},
       kinds: {k: {parameters: {city: {default: \(city)}}, content: {label: x}}}}
      """)
  }

  private func placed(_ cities: KeyValuePairs<String, String>) throws -> [Widget] {
    let kind = try #require(KindName("k"))
    return try cities.map { id, city in
      Widget(
        id: try #require(WidgetID(id)), kind: kind, parameters: ["city": .string(city)],
        applySet: "bundle/b")
    }
  }

  @Test(arguments: [false, true])
  mutating func `the same goes for an edit of a parameter's default`(isLate: Bool) throws {
    let lines: [String]
    if isLate {
      let opened = state.found(.bundle(try file("Bergen"), digest: 1), in: "/b/x", at: now)
      let former = SettableData(of: try file("Oslo")).value
      let known = HostState.Remembered(
        id: "b", path: "/b/x", loaded: .epoch, shown: [HostState.settableKey: former])
      _ = state.remembered([known], at: now)
      let generation = try #require(opened.generations.first)
      _ = state.declared(generation: generation, refusal: nil, at: now)
      let all = try placed(["p1": "Bergen", "p2": "Rome"])
      lines = DefaultEditTests.reports(
        state.handle(.snapshot(all), generation: generation, at: now))
    } else {
      let opened = state.found(.bundle(try file("Oslo"), digest: 1), in: "/b/x", at: now)
      let all = try placed(["p1": "Oslo", "p2": "Rome"])
      let generation = try #require(opened.generations.first)
      _ = state.handle(.snapshot(all), generation: generation, at: now)
      lines = DefaultEditTests.reports(
        state.found(.bundle(try file("Bergen"), digest: 2), in: "/b/x", at: now))
    }
    #expect(
      lines == [
        "bundle b: the new default of parameters.city has no effect on p2: the field was set;"
          + " \"widgetctl set p2 --unset-param city\" sets it to the default"
      ])
  }

  @Test mutating func `widgets that the same version removes are not named`() throws {
    let opened = state.found(.bundle(try file("Oslo"), digest: 1), in: "/b/x", at: now)
    let all = try placed(["p1": "Bonn", "p2": "Rome"])
    let generation = try #require(opened.generations.first)
    _ = state.handle(.snapshot(all), generation: generation, at: now)
    let next = state.found(.bundle(try file("Bergen", ["p1"]), digest: 2), in: "/b/x", at: now)
    let lines = DefaultEditTests.reports(next)
    #expect(lines.count == 1)
    #expect(lines.first?.contains("has no effect on p1: the field was set") == true)
  }

  @Test func `the data of a bundle's widget has the defaults of parameters, too`() throws {
    let value = SettableData(of: try file("Oslo")).value
    #expect(value == .map(["k": .map(["parameters.city": .string("Oslo")])]))
    // A rule for lost data does not take them for data.
    let kind = try #require(KindName("k"))
    let rule = LostFields(kind, settable: try #require(SettableData(value)[kind]))
    let widget = Widget(
      id: try #require(WidgetID("w")), kind: kind, data: ["parameters.city": .int(1)])
    #expect(LostFields.values(of: widget, [], by: rule).isEmpty)
  }

  @Test func `the data of a bundle's widget has the data that no source sets, within limits`()
    throws
  {
    var bundle = try bundle("b", 1, 2)
    #expect(SettableData(of: bundle).value == .map(["k": .map(["m": .int(1)])]))
    let long = Value.string(String(repeating: "x", count: 2_000))
    bundle.kinds[0].kind.data.append(Field(name: "long", defaultValue: long))
    #expect(SettableData(of: bundle).value == .map(["k": .map(["m": .int(1)])]))
    let kind = try #require(KindName("k"))
    #expect(SettableData(SettableData(of: bundle).value)[kind] == ["m": .int(1)])
    func nested(_ depth: Int) -> Value {
      (0..<depth).reduce(Value.int(0)) { value, _ in .list([value]) }
    }
    bundle.kinds[0].kind.data.append(Field(name: "flat", defaultValue: nested(8)))
    bundle.kinds[0].kind.data.append(Field(name: "deep", defaultValue: nested(9)))
    #expect(
      SettableData(SettableData(of: bundle).value)[kind] == ["m": .int(1), "flat": nested(8)])
  }
}
