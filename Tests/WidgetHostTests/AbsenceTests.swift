import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Bundles whose folder is missing for a moment, or for good.
struct AbsenceTests {
  private var now = HostTime(wall: .epoch, uptime: .zero)
  private var state = HostState(home: "/home/me", seed: 1)
  private let limit = HostLimits().absenceMax

  private func bundle(_ id: String = "a") throws -> HostState.Found {
    .bundle(
      try BundleReader.read(
        """
        {bundle: \(id), format: 1, version: 1.0.0,
         kinds: {k: {data: {items: [], n: 1}, content: {label: x}}}, widgets: {w: {kind: k}}}
        """), digest: 1)
  }

  private func widget(_ items: [Value] = [.int(1)], isStale: Bool = false) throws -> Widget {
    Widget(
      id: try #require(WidgetID("w")), kind: try #require(KindName("k")),
      data: ["items": .list(items), "n": .int(1)], isStale: isStale, applySet: "bundle/a")
  }

  /// Runs bundle `a`, whose widget has data of users.
  private mutating func run(in path: String = "/b/x") throws {
    let opened = state.found(try bundle(), in: path, at: now)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    _ = state.handle(.snapshot([try widget()]), generation: generation, at: now)
  }

  private func stale(_ outputs: [HostState.Output]) -> [Bool] {
    outputs.compactMap {
      if case .effect(.patch(_, _, let patch)) = $0 { patch.isStale } else { nil }
    }
  }

  private func problem(_ id: String = "a") -> String {
    state.standings.first { $0.id == id }?.problem ?? ""
  }

  private mutating func pass(_ time: Duration) -> [HostState.Output] {
    now.uptime += time
    return state.tick(at: now)
  }

  private func notes(_ outputs: [HostState.Output]) -> [String] {
    outputs.compactMap { if case .note(let text) = $0 { text } else { nil } }
  }

  @Test mutating func `a missing folder makes the widgets stale, and its return removes nothing`()
    throws
  {
    try run()
    let lost = state.lost("/b/x", .missing, at: now)
    #expect(lost.withdrawn.isEmpty && lost.closed.isEmpty)
    #expect(stale(lost) == [true])
    #expect(lost.reports.first?.hasPrefix("bundle a: /b/x is missing") == true)
    #expect(problem().contains("put it back within 30 seconds"))
    // A further look at the missing folder does not begin the time again.
    now.uptime += .seconds(20)
    #expect(state.lost("/b/x", .missing, at: now).isEmpty)
    #expect(state.nextDeadline == limit)
    let found = state.found(try bundle(), in: "/b/x", at: now)
    #expect(found.closed.isEmpty && found.opened.isEmpty && found.withdrawn.isEmpty)
    #expect(problem() == "" && state.nextDeadline == nil)
    #expect(pass(limit * 2).withdrawn.isEmpty)
  }

  @Test mutating func `a folder that stays missing loses its widgets, and the log says which data`()
    throws
  {
    try run()
    _ = state.lost("/b/x", .missing, at: now)
    #expect(pass(limit - .milliseconds(1)).withdrawn.isEmpty)
    let outputs = pass(.milliseconds(1))
    #expect(outputs.withdrawn == ["a"])
    #expect(
      notes(outputs) == [
        "bundle a removed: 1 widget, with data that users or actions had set: w data.items"
      ])
    #expect(state.standings.isEmpty && state.nextDeadline == nil)
  }

  @Test mutating func `a bundle that was removed on purpose is removed at once`() throws {
    try run()
    #expect(state.lost("/b/x", .removed, at: now).withdrawn == ["a"])
    try run()
    _ = state.lost("/b/x", .missing, at: now)
    #expect(state.lost("/b/x", .removed, at: now).withdrawn == ["a"])
  }

  @Test mutating func `a missing folder of bundles removes nothing, however long it is missing`()
    throws
  {
    try run()
    let lost = state.lost("/b/x", .unavailable("/b does not exist"), at: now)
    #expect(stale(lost) == [true])
    #expect(problem().hasPrefix("/b does not exist, so /b/x cannot be read"))
    #expect(pass(limit * 100).withdrawn.isEmpty && state.nextDeadline == nil)
    // The folder of bundles is back without the bundle.
    #expect(state.lost("/b/x", .missing, at: now).withdrawn.isEmpty)
    #expect(pass(limit).withdrawn == ["a"])
  }

  @Test mutating func `a folder of bundles that disappears after its bundles keeps the widgets`()
    throws
  {
    try run()
    _ = state.lost("/b/x", .missing, at: now)
    _ = state.lost("/b/x", .unavailable("/b does not exist"), at: now)
    #expect(pass(limit * 2).withdrawn.isEmpty)
    let opened = state.found(try bundle(), in: "/b/x", at: now).opened
    #expect(opened.isEmpty)
    #expect(problem() == "")
  }

  @Test mutating func `a renamed folder has the same bundle, with the same widgets`() throws {
    try run()
    _ = state.lost("/b/x", .missing, at: now)
    let outputs = state.found(try bundle(), in: "/b/y", at: now)
    #expect(outputs.opened == ["a 1.0.0"] && outputs.withdrawn.isEmpty)
    #expect(state.standings.map(\.path) == ["/b/y"])
    #expect(pass(limit * 2).withdrawn.isEmpty)
  }

  @Test(arguments: [.missing, .unavailable("/b does not exist"), .removed] as [HostState.Absence])
  mutating func `a new host keeps the widgets of a folder that is missing at its start`(
    absence: HostState.Absence
  ) throws {
    let outputs = state.remembered([.init(id: "a", path: "/b/x", absence: absence)], at: now)
    #expect(outputs.withdrawn == (absence == .removed ? ["a"] : []))
    guard absence != .removed else { return }
    let marked = outputs.contains { if case .mark(let id, _) = $0 { id == "a" } else { false } }
    #expect(marked)
    #expect(state.standings.map(\.id) == ["a"])
    // The daemon reconnects: nothing changes.
    #expect(state.remembered([.init(id: "a", path: "/b/x")], at: now).withdrawn.isEmpty)
    guard absence == .missing else {
      #expect(state.nextDeadline == nil)
      return
    }
    var other = state
    let opened = other.found(try bundle(), in: "/b/x", at: now).opened
    #expect(opened == ["a 1.0.0"])
    #expect(other.nextDeadline == nil)
    let removed = pass(limit)
    #expect(removed.withdrawn == ["a"])
    #expect(notes(removed) == ["bundle a removed with its widgets and their data"])
  }
}
