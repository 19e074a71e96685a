import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Bundles whose folder is missing for a moment, or for good.
struct AbsenceTests {
  private var now = HostTime(wall: .epoch, uptime: .zero)
  private var state = HostState(home: "/home/me", seed: 1)
  private let limit = HostLimits().absenceMax

  init() { _ = state.daemonIsBack(at: now) }

  private func bundle(
    _ id: String = "a", kind: String = "k", widget: String = "w", digest: UInt64 = 1
  ) throws -> HostState.Found {
    .bundle(try file(id, kind, widget), digest: digest)
  }

  private func file(_ id: String, _ kind: String, _ widget: String) throws -> Bundle {
    try BundleReader.read(
      """
      {bundle: \(id), format: 1, version: 1.0.0,
       kinds: {\(kind): {data: {items: [], n: 1}, content: {label: x}}},
       widgets: {\(widget): {kind: \(kind)}}}
      """)
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

  /// The lines of the log, also those that wait for a removal.
  private func notes(_ outputs: [HostState.Output]) -> [String] {
    outputs.compactMap { output -> String? in
      switch output {
      case .note(let text): return text
      case .withdraw(_, let note): return note?.text(countMax: 5)
      default: return nil
      }
    }
  }

  @Test mutating func `a missing folder makes the widgets stale, and its return removes nothing`()
    throws
  {
    try run()
    let lost = state.lost("/b/x", .missing, at: now)
    #expect(lost.withdrawn.isEmpty && lost.closed.isEmpty)
    #expect(stale(lost) == [true])
    #expect(
      lost.reports.first?.hasPrefix(
        "bundle a: the folder /b/x has no bundle file, or is missing; put the file") == true)
    #expect(problem().contains("put the file or folder back by 1970-01-01T00:00:30Z, or"))
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
        "bundle a removed: 1 widget, with data that users or actions had set: w data.items = [1]"
      ])
    #expect(state.standings.isEmpty && state.nextDeadline == nil)
  }

  @Test(arguments: [false, true])
  mutating func `the time of a missing folder stands still while the daemon is away`(
    isRemembered: Bool
  ) throws {
    if isRemembered {
      _ = state.remembered([.init(id: "a", path: "/b/x", absence: .missing)], at: now)
    } else {
      try run()
      _ = state.lost("/b/x", .missing, at: now)
    }
    #expect(pass(.seconds(20)).withdrawn.isEmpty)
    let away = state.daemonIsAway(at: now)
    let words =
      "put the file or folder back within 30 seconds after the daemon is back, or the widgets of"
    #expect(away.reports.count == 1 && away.reports.first?.contains(words) == true)
    #expect(problem().contains(words) && state.nextDeadline == nil)
    #expect(pass(limit * 10).withdrawn.isEmpty)
    now.wall = Timestamp.epoch.advanced(by: .seconds(100))
    let back = state.daemonIsBack(at: now)
    let later = "put the file or folder back by 1970-01-01T00:02:10Z, or"
    #expect(back.reports.first?.contains(later) == true)
    #expect(problem().contains(later))
    #expect(state.daemonIsBack(at: now).isEmpty)
    #expect(pass(limit - .milliseconds(1)).withdrawn.isEmpty)
    #expect(pass(.milliseconds(1)).withdrawn == ["a"])
  }

  @Test mutating func `a folder that goes while the daemon is away has its time after that`()
    throws
  {
    try run()
    _ = state.daemonIsAway(at: now)
    let lost = state.lost("/b/x", .missing, at: now)
    #expect(lost.reports.first?.contains("within 30 seconds after the daemon is back") == true)
    #expect(pass(limit * 2).withdrawn.isEmpty)
    var other = state
    _ = other.found(try bundle(), in: "/b/x", at: now)
    #expect(other.daemonIsBack(at: now).isEmpty && other.nextDeadline == nil)
    _ = state.daemonIsBack(at: now)
    #expect(pass(limit - .milliseconds(1)).withdrawn.isEmpty)
    #expect(pass(.milliseconds(1)).withdrawn == ["a"])
  }

  @Test mutating func `the log of a removal does not call the status a user's data`() throws {
    let file = try BundleReader.read(
      """
      {bundle: a, format: 1, version: 1.0.0,
       kinds: {k: {data: {n: 1}, content: {label: x}, actions: {go: [{set: {n: 2}}]},
                   on: {press: [{do: go}]}}},
       widgets: {w: {kind: k}}}
      """)
    let opened = state.found(.bundle(file, digest: 1), in: "/b/x", at: now)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    var shown = try widget()
    shown.data = ["n": .int(1), "status": .map(["go": .map(["state": .string("success")])])]
    _ = state.handle(.snapshot([shown]), generation: generation, at: now)
    #expect(
      notes(state.lost("/b/x", .removed, at: now)) == ["bundle a removed: 1 widget"])
  }

  @Test mutating func `the kinds of many removed bundles make room for those of the next ones`()
    throws
  {
    let kinds: Set<KindName> = [try #require(KindName("k"))]
    for number in 0..<1_000 { state.noteKinds(kinds, of: "old\(number)") }
    state.noteKinds(kinds, of: "a")
    #expect(state.lastKinds["a"] == kinds && state.lastKinds["old0"] == nil)
    #expect(state.lastKinds.count == 1_000)
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

  /// Bundle `b` has a widget with the kind of bundle `a`.
  @Test(arguments: ["returns", "is removed", "has another id", "has another id and kind"])
  mutating func `a widget of another bundle keeps no error of a bundle that is missing`(
    fate: String
  ) throws {
    let opened = state.found(try bundle(), in: "/b/x", at: now)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    let own = try widget()
    let other = Widget(
      id: try #require(WidgetID("v")), kind: own.kind, data: own.data, applySet: "bundle/b")
    _ = state.handle(.snapshot([own, other]), generation: generation, at: now)
    now.wall = Timestamp.epoch.advanced(by: .seconds(100))
    var errors: [String: WidgetError] = [:]
    for case .effect(.patch(let request, let id, let patch)) in state.lost(
      "/b/x", .missing, at: now)
    {
      errors[id.rawValue] = patch.error ?? nil
      _ = state.handle(.sent(request, 5), generation: generation, at: now)
    }
    #expect(errors["w"]?.message.hasSuffix("are removed with their data") == true)
    #expect(errors["v"]?.message.hasSuffix("the widget and its data stay") == true)
    #expect(errors.values.allSatisfy { $0.message.contains("by 1970-01-01T00:02:10Z") })
    #expect(errors.values.allSatisfy { $0.since == now.wall && $0.reason == "BUNDLE_INVALID" })
    switch fate {
    case "returns":
      var cleared: Set<String> = []
      for case .effect(.patch(_, let id, let patch)) in state.found(
        try bundle(), in: "/b/x", at: now)
      {
        if let error = patch.error, error == nil { cleared.insert(id.rawValue) }
      }
      #expect(cleared == ["w", "v"])
    case "is removed":
      #expect(pass(limit - .milliseconds(1)).unmarked.isEmpty)
      let left = HostState.LeftErrors(bundle: "a", path: "/b/x", kinds: [own.kind])
      #expect(pass(.milliseconds(1)).unmarked == [left])
    default:
      let kind = fate == "has another id" ? "k" : "l"
      let outputs = state.found(try bundle("c", kind: kind, digest: 2), in: "/b/x", at: now)
      #expect(outputs.handedOver == ["a -> c"])
      // The daemon may refuse the heir for long.
      let left = HostState.LeftErrors(
        bundle: "a", path: "/b/x", kinds: kind == "k" ? [] : [own.kind], includesOwn: true)
      #expect(outputs.unmarked == [left])
    }
  }

  /// Errors of other bundles, and of other programs, stay.
  @Test(
    arguments: [
      ("BUNDLE_INVALID", "the folder /b/x has no bundle file", true),
      ("BUNDLE_INVALID", "/b/x/bundle.yaml:1:1: wrong", true),
      ("BUNDLE_INVALID", "/b does not exist, so /b/x cannot be read", true),
      ("BUNDLE_INVALID", "the folder /b/xy has no bundle file", false),
      ("BUNDLE_INVALID", "the folder /b/x.old has no bundle file", false),
      ("BUNDLE_INVALID", "the folder /a/b/x has no bundle file", false),
      ("BUNDLE_INVALID", "the file of bundle b no longer has this widget", false),
      ("SOURCE_FAILED", "no answer", true), ("ACTION_FAILED", "no answer", true),
      ("FAN_FAILED", "/b/x is hot", false),
    ])
  func `a removed bundle ends only its own errors on widgets of others`(
    reason: String, message: String, isLeft: Bool
  ) throws {
    let kind = try #require(KindName("k"))
    let errors = HostState.LeftErrors(bundle: "a", path: "/b/x", kinds: [kind])
    let other = WidgetError(reason: "FAN_FAILED", message: "too hot")
    var widget = Widget(id: try #require(WidgetID("v")), kind: kind, applySet: "bundle/b")
    widget.error = WidgetError(joining: [WidgetError(reason: reason, message: message), other])
    #expect(errors.rest(on: widget) == (isLeft ? [other] : nil))
    // The bundle's own widgets go.
    widget.applySet = "bundle/a"
    #expect(errors.rest(on: widget) == nil)
    widget = Widget(id: widget.id, kind: try #require(KindName("l")), applySet: "bundle/b")
    widget.error = WidgetError(reason: "SOURCE_FAILED", message: "no answer")
    #expect(errors.rest(on: widget) == nil, "the kind of another bundle")
  }

  @Test func `widgets whose kind is gone with a bundle become stale`() throws {
    let (k, l) = (try #require(KindName("k")), try #require(KindName("l")))
    let left = HostState.LeftErrors(bundle: "a", path: "/b/x", kinds: [k, l], others: [l])
    var widget = Widget(id: try #require(WidgetID("v")), kind: k, applySet: "bundle/b")
    #expect(left.patch(for: widget) == WidgetPatch(isStale: true))
    widget.error = WidgetError(reason: "SOURCE_FAILED", message: "no answer")
    #expect(left.patch(for: widget) == WidgetPatch(isStale: true, error: .some(nil)))
    widget.isStale = true
    #expect(left.patch(for: widget) == WidgetPatch(error: .some(nil)))
    widget.error = nil
    #expect(left.patch(for: widget) == nil, "it is stale already")
    for (kind, set) in [(k, "bundle/a"), (l, "bundle/b")] {
      let other = Widget(id: widget.id, kind: kind, applySet: set)
      #expect(left.patch(for: other) == nil, "it goes, or another bundle serves it")
    }
  }

  /// The file of the bundle lacked the widget. Somebody else has the widget now, or nobody.
  @Test(arguments: ["mine", "bundle/a"])
  func `a widget that waits for its removal is fresh only if somebody else has it`(set: String)
    throws
  {
    let left = HostState.LeftErrors(bundle: "a", path: "/b/x", includesOwn: true)
    var widget = Widget(
      id: try #require(WidgetID("v")), kind: try #require(KindName("note")), applySet: set)
    widget.isStale = true
    widget.error = WidgetError(
      reason: "BUNDLE_INVALID", message: "the file of bundle a no longer has this widget")
    let fresh = WidgetPatch(isStale: false, error: .some(nil))
    #expect(left.patch(for: widget) == (set == "mine" ? fresh : nil))
  }

  /// Bundle `b` has the kind `k`, or the daemon has not answered, or it has refused the bundle.
  @Test(arguments: [true, false, nil] as [Bool?])
  mutating func `another bundle ends errors on widgets of its kinds if the daemon has taken it`(
    isTaken: Bool?
  ) throws {
    let kind = try #require(KindName("k"))
    let opened = state.found(try bundle("b"), in: "/b/y", at: now)
    let generation = try #require(opened.generations.first)
    if let isTaken {
      _ = state.declared(generation: generation, refusal: isTaken ? nil : "no", at: now)
    }
    _ = state.found(try bundle(), in: "/b/x", at: now)
    let left = HostState.LeftErrors(
      bundle: "a", path: "/b/x", kinds: [kind], others: isTaken == true ? [kind] : [])
    #expect(state.lost("/b/x", .removed, at: now).unmarked == [left])
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

  @Test mutating func `a changed id hands the kinds and widgets over, and back`() throws {
    try run()
    let changed = state.found(
      try bundle("b", kind: "k2", widget: "w2", digest: 2), in: "/b/x", at: now)
    #expect(changed.opened == ["b 1.0.0"] && changed.closed == [1])
    #expect(changed.handedOver == ["a -> b"] && changed.withdrawn.isEmpty)
    #expect(state.standings.map(\.id) == ["b"] && state.nextDeadline == nil)
    let undone = state.found(try bundle(digest: 3), in: "/b/x", at: now)
    #expect(undone.opened == ["a 1.0.0"])
    #expect(undone.handedOver == ["b -> a"] && undone.withdrawn.isEmpty)
  }

  @Test mutating func `a changed id hands nothing over if another folder has the former bundle`()
    throws
  {
    try run()
    _ = state.found(try bundle(), in: "/b/y", at: now)
    let changed = state.found(try bundle("b", digest: 2), in: "/b/x", at: now)
    #expect(changed.opened == ["a 1.0.0", "b 1.0.0"])
    #expect(changed.handedOver.isEmpty && changed.withdrawn.isEmpty)
  }

  @Test mutating func `a bundle that the installer wrote is known`() throws {
    try run()
    let changed = state.found(
      .installed(try file("b", "k2", "w2"), digest: 2), in: "/b/x", at: now)
    #expect(changed.handedOver == ["a -> b"])
    #expect(state.isInstalled("b"))
  }

  @Test(arguments: [nil, .missing, .unavailable("/b does not exist")] as [HostState.Absence?])
  mutating func `bundles whose id changed before a restart are handed over`(
    absence: HostState.Absence?
  ) throws {
    let (a, b) = ("a", "b")
    func remembered(_ id: String, _ seconds: Int64) -> HostState.Remembered {
      .init(
        id: id, path: "/b/x", loaded: Timestamp.epoch.advanced(by: .seconds(seconds)),
        absence: absence)
    }
    let file = try bundle("c")
    if absence == nil { _ = state.found(file, in: "/b/x", at: now) }
    var outputs = state.remembered([remembered(b, 2), remembered(a, 1)], at: now)
    if absence != nil {
      #expect(outputs.withdrawn.isEmpty && state.standings.map(\.id) == ["b"])
      outputs = state.found(file, in: "/b/x", at: now)
    }
    #expect(outputs.handedOver == ["a -> c", "b -> c"] && outputs.withdrawn.isEmpty)
    #expect(state.standings.map(\.id) == ["c"])
  }

  @Test(arguments: [true, false])
  mutating func `a refused bundle takes over from a missing one if it is new`(isNew: Bool) throws {
    _ = state.found(try bundle("b"), in: "/b/y", at: now)
    let missing = HostState.Remembered(id: "a", path: "/b/x", absence: .missing)
    let own = HostState.Remembered(id: "b", path: "/b/y")
    _ = state.remembered(isNew ? [missing] : [missing, own], at: now)
    #expect(state.blocked("b", by: ["c"]).isEmpty)
    #expect(state.blocked("b", by: ["a"]).handedOver == (isNew ? ["a -> b"] : []))
    #expect(pass(limit).withdrawn == (isNew ? [] : ["a"]))
  }

  @Test mutating func `a refused bundle whose folder is missing takes nothing over`() throws {
    _ = state.found(try bundle("b"), in: "/b/y", at: now)
    _ = state.remembered([.init(id: "a", path: "/b/x", absence: .missing)], at: now)
    _ = pass(.seconds(20))
    _ = state.lost("/b/y", .missing, at: now)
    #expect(state.blocked("b", by: ["a"]).isEmpty)
    #expect(pass(limit - .seconds(20)).withdrawn == ["a"])
  }

  @Test mutating func `a broken file keeps the widgets of all bundles that its folder had`()
    throws
  {
    let broken = HostState.Found.broken(problem: "wrong", digest: 9)
    let known = ["a", "b"].map { HostState.Remembered(id: $0, path: "/b/x") }
    _ = state.found(broken, in: "/b/x", at: now)
    var other = state
    #expect(state.remembered(known, at: now).withdrawn.isEmpty)
    // Nor does a further connection to the daemon remove them.
    #expect(state.remembered(known, at: now).withdrawn.isEmpty)
    #expect(state.found(try bundle("c"), in: "/b/x", at: now).handedOver == ["a -> c", "b -> c"])
    _ = other.remembered(known, at: now)
    _ = other.lost("/b/x", .missing, at: now)
    // The folder has another name.
    #expect(other.found(try bundle("b"), in: "/b/y", at: now).handedOver == ["a -> b"])
    #expect(other.standings.map(\.path) == ["/b/y"])
  }

  @Test mutating func `a file that was probably meant is named before and after the removal`()
    throws
  {
    try run()
    let meant = "/b/x has bundel.yaml, but no bundle's file; did you mean bundle.yaml?"
    _ = state.lost("/b/x", .missing, suspicion: .broken(problem: meant, digest: 0), at: now)
    #expect(problem().hasPrefix("\(meant). Do this by 1970-01-01T00:00:30Z, or"))
    #expect(pass(limit).withdrawn == ["a"])
    #expect(problem("x") == meant)
  }

  @Test mutating func `a file that was probably meant and comes later is named at once`() throws {
    try run()
    _ = state.lost("/b/x", .missing, at: now)
    now = HostTime(wall: Timestamp.epoch.advanced(by: .seconds(2)), uptime: .seconds(2))
    let meant = "/b/x has bundel.yaml, but no bundle's file; did you mean bundle.yaml?"
    let suspicion = HostState.Found.broken(problem: meant, digest: 0)
    let reports = state.lost("/b/x", .missing, suspicion: suspicion, at: now).reports
    #expect(reports.count == 1 && reports.first?.hasPrefix("bundle a: \(meant). Do this") == true)
    #expect(problem().hasPrefix("\(meant). Do this by 1970-01-01T00:00:30Z, or"))
    #expect(state.lost("/b/x", .missing, suspicion: suspicion, at: now).isEmpty)
    // The time does not begin again.
    #expect(state.nextDeadline == limit)
    #expect(state.lost("/b/x", .missing, at: now).reports.count == 1)
    #expect(problem().hasPrefix("the folder /b/x has no bundle file"))
  }

  @Test(arguments: [true, false])
  mutating func `a renamed folder with another id in its file hands over too`(
    isFirst: Bool
  ) throws {
    try run()
    var outputs: [HostState.Output] = []
    if isFirst { outputs += state.lost("/b/x", .missing, at: now) }
    outputs += state.found(try bundle("b"), in: "/b/y", at: now)
    if !isFirst { outputs += state.lost("/b/x", .missing, at: now) }
    #expect(outputs.handedOver == ["a -> b"] && outputs.withdrawn.isEmpty)
    // A bundle that is there already takes over at once, so nothing waits for its removal.
    #expect(outputs.reports.contains { $0.contains("has no bundle file") } == isFirst)
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
    #expect(state.troubles["bundle/a"]?.words == problem())
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
