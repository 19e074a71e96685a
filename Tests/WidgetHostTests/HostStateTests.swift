import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The bundles that run, and the state of the others, as values in and values out.
struct HostStateTests {
  private let now = HostTime(wall: .epoch, uptime: .zero)
  private var state = HostState(home: "/home/me", seed: 1)

  private func bundle(_ id: String = "a", version: String = "1.0.0") -> HostState.Found {
    let digest = UInt64(bitPattern: Int64("\(id)\(version)".hashValue))
    return .bundle(Bundle(id: id, version: version), digest: digest)
  }

  private func broken(_ problem: String = "/b/x/bundle.yaml:3:7: wrong") -> HostState.Found {
    .broken(problem: problem, digest: UInt64(bitPattern: Int64(problem.hashValue)))
  }

  private func standing(_ id: String) -> HostState.Standing? {
    state.standings.first { $0.id == id }
  }

  @Test mutating func `a bundle is removed although another bundle's folder has its name`() {
    _ = state.found(bundle("b"), in: "/b/x", at: now)
    _ = state.found(bundle("b"), in: "/b/a", at: now)
    #expect(standing("a")?.state == .failed)
    let remembered = state.remembered([.init(id: "a", path: "/b/a")], at: now)
    #expect(remembered.handedOver == ["a -> b"] && remembered.withdrawn.isEmpty)
  }

  @Test(arguments: [true, false])
  mutating func `only the widgets of a bundle that has run are taken over, says the log`(
    hasRun: Bool
  ) {
    _ = state.remembered([], at: now)
    let opened = state.found(bundle("a"), in: "/b/x", at: now)
    for generation in opened.generations {
      _ = state.declared(generation: generation, refusal: hasRun ? nil : "taken", at: now)
    }
    let renamed = state.found(bundle("b"), in: "/b/x", at: now)
    let removed = state.lost("/b/x", .removed, at: now)
    let notes = (renamed + removed).compactMap {
      if case .note(let text) = $0 { text } else { nil }
    }
    #expect(
      notes == [
        "bundle a has the id b now"
          + (hasRun ? "; b takes over the widgets that both declare" : ""),
        "bundle b 1.0.0 read from /b/x", "bundle b removed; it has never run",
      ])
  }

  /// A bundle with the same kind runs from an older folder.
  @Test mutating func `a refused bundle that has never run is removed with its folder`() throws {
    func read(_ id: String) throws -> HostState.Found {
      let text = "{bundle: \(id), format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}}}"
      return .bundle(try BundleReader.read(text), digest: 1)
    }
    _ = state.remembered([], at: now)
    for (id, refusal) in [("gauge", nil), ("meter", "taken")] as [(String, String?)] {
      for generation in state.found(try read(id), in: "/b/\(id)", at: now).generations {
        _ = state.declared(generation: generation, refusal: refusal, at: now)
      }
    }
    let outputs = state.lost("/b/meter", .missing, at: now)
    let notes = outputs.compactMap { if case .note(let text) = $0 { text } else { nil } }
    #expect(notes == ["bundle meter removed; it has never run"] && outputs.reports.isEmpty)
    #expect(state.standings.map(\.id) == ["gauge"])
  }

  @Test mutating func `a folder with a bundle makes it run`() {
    let outputs = state.found(bundle(), in: "/b/x", at: now)
    #expect(outputs.opened == ["a 1.0.0"])
    #expect(outputs.shown == ["a running "])
  }

  @Test mutating func `an unchanged file has no effect`() {
    _ = state.found(bundle(), in: "/b/x", at: now)
    #expect(state.found(bundle(), in: "/b/x", at: now).isEmpty)
  }

  @Test mutating func `a new version replaces the former one`() {
    let first = state.found(bundle(), in: "/b/x", at: now)
    let outputs = state.found(bundle(version: "2.0.0"), in: "/b/x", at: now)
    #expect(outputs.opened == ["a 2.0.0"])
    #expect(outputs.closed == first.generations)
    #expect(outputs.withdrawn.isEmpty)
  }

  @Test mutating func `a broken file does not change the bundle, and is reported`() {
    _ = state.found(bundle(), in: "/b/x", at: now)
    let outputs = state.found(broken(), in: "/b/x", at: now)
    #expect(outputs.opened.isEmpty && outputs.closed.isEmpty)
    #expect(outputs.reports == ["/b/x/bundle.yaml:3:7: wrong"])
    #expect(standing("a")?.state == .failed)
    #expect(standing("a")?.problem == "/b/x/bundle.yaml:3:7: wrong")
    #expect(standing("a")?.version == "1.0.0")
    // The same mistake is reported once.
    #expect(state.found(broken(), in: "/b/x", at: now).isEmpty)
  }

  @Test mutating func `a file that is repaired without a change restarts nothing`() {
    _ = state.found(bundle(), in: "/b/x", at: now)
    _ = state.found(broken(), in: "/b/x", at: now)
    let outputs = state.found(bundle(), in: "/b/x", at: now)
    #expect(outputs.closed.isEmpty && outputs.opened.isEmpty)
    #expect(standing("a")?.state == .running && standing("a")?.problem == "")
    let notes = (outputs + state.found(bundle(), in: "/b/x", at: now)).compactMap {
      if case .note(let text) = $0 { text } else { nil }
    }
    #expect(notes == ["bundle a: the file is valid again; nothing has changed"])
  }

  @Test mutating func `the removal of a folder removes its bundle`() {
    let first = state.found(bundle(), in: "/b/x", at: now)
    let outputs = state.lost("/b/x", .removed, at: now)
    #expect(outputs.closed == first.generations)
    #expect(outputs.withdrawn == ["a"])
    #expect(state.standings.isEmpty)
    #expect(state.lost("/b/x", .removed, at: now).isEmpty)
  }

  @Test
  mutating func `of two folders with the same bundle the first runs, and the second is reported`() {
    _ = state.found(bundle(), in: "/b/x", at: now)
    let second = state.found(bundle(), in: "/b/y", at: now)
    #expect(second.opened.isEmpty)
    #expect(second.shown.last?.hasPrefix("a failed bundle a is in /b/x, too") == true)
    #expect(state.looked().reports.first?.contains("/b/x") == true)
    #expect(standing("a")?.state == .running)
    #expect(standing("y")?.state == .failed)
    let outputs = state.lost("/b/x", .removed, at: now)
    #expect(outputs.opened == ["a 1.0.0"])
    #expect(outputs.withdrawn.isEmpty)
    #expect(state.standings.map(\.id) == ["a"])
  }

  @Test mutating func `of several copies, the next one in the order of the folders takes over`() {
    state = HostState(roots: ["/c", "/b"], home: "/home/me", seed: 1)
    // A link leads to a folder elsewhere.
    for path in ["/b/x", "/a/x", "/b/y", "/c/z"] {
      _ = state.found(bundle(), in: path, at: now)
    }
    for (removed, next) in [("/b/x", "/c/z"), ("/c/z", "/b/y"), ("/b/y", "/a/x")] {
      _ = state.lost(removed, .removed, at: now)
      #expect(state.standings.first { $0.problem.isEmpty }?.path == next)
    }
  }

  @Test mutating func `a bundle that gets another name is another bundle`() {
    _ = state.found(bundle(), in: "/b/x", at: now)
    let outputs = state.found(bundle("c"), in: "/b/x", at: now)
    #expect(outputs.handedOver == ["a -> c"] && outputs.withdrawn.isEmpty)
    #expect(outputs.opened == ["c 1.0.0"])
  }

  @Test mutating func `the former version runs if the daemon refuses a new one`() throws {
    _ = state.found(bundle(), in: "/b/x", at: now)
    _ = state.declared(generation: 1, refusal: nil, at: now)
    let second = state.found(bundle(version: "2.0.0"), in: "/b/x", at: now)
    let generation = try #require(second.generations.first)
    let outputs = state.declared(generation: generation, refusal: "no", at: now)
    #expect(outputs.opened == ["a 1.0.0"])
    #expect(standing("a")?.state == .failed && standing("a")?.version == "1.0.0")
    let third = try #require(outputs.generations.first)
    _ = state.declared(generation: third, refusal: nil, at: now)
    #expect(standing("a")?.state == .failed)
    // Another look at the same file does not end the refusal.
    #expect(state.found(bundle(version: "2.0.0"), in: "/b/x", at: now).isEmpty)
    _ = state.found(broken(), in: "/b/x", at: now)
    #expect(state.found(bundle(version: "2.0.0"), in: "/b/x", at: now).opened == ["a 2.0.0"])
    _ = state.found(bundle(version: "3.0.0"), in: "/b/x", at: now)
    #expect(standing("a")?.state == .running)
  }

  @Test mutating func `a refused version is retried when the refusal may be over`() throws {
    _ = state.found(bundle(), in: "/b/x", at: now)
    _ = state.declared(generation: 1, refusal: nil, at: now)
    #expect(state.retry("a", at: now).isEmpty)
    let second = state.found(bundle(version: "2.0.0"), in: "/b/x", at: now)
    let refused = state.declared(
      generation: try #require(second.generations.first), refusal: "no", at: now)
    #expect(refused.refused == ["2.0.0"])
    #expect(standing("a")?.problem.contains("`widgetctl refresh bundle/a`") == true)
    let again = state.retry("a", at: now)
    #expect(again.opened == ["a 2.0.0"])
    #expect(again.refused == [nil])
    _ = state.declared(generation: try #require(again.generations.first), refusal: nil, at: now)
    #expect(standing("a")?.state == .running && standing("a")?.version == "2.0.0")
    #expect(state.retry("a", at: now).isEmpty)
    // A version that was replaced or removed is not retried.
    let third = state.found(bundle(version: "3.0.0"), in: "/b/x", at: now)
    _ = state.declared(generation: try #require(third.generations.first), refusal: "no", at: now)
    #expect(state.found(bundle(version: "4.0.0"), in: "/b/x", at: now).refused == [nil])
    #expect(state.retry("a", at: now).isEmpty)
  }

  @Test func `a gallery shows the host's kinds with values, not empty`() throws {
    for kind in [HostState.kind, HostWidget.kind] {
      let kind = try #require(kind)
      #expect(kind.sample["state"] == .string("running"))
      let names = Set(kind.data.map(\.name))
      #expect(kind.sample.entries.allSatisfy { names.contains($0.key) })
    }
  }

  @Test func `existing widgets keep their presence, and get the declared data`() throws {
    let kind = try #require(KindName("k"))
    let (old, new) = (try #require(WidgetID("old")), try #require(WidgetID("new")))
    let bundle = Bundle(
      id: "a", version: "1.0.0",
      widgets: [old, new].map {
        WidgetSpec(
          id: $0, kind: kind, isVisible: false, isEnabled: false, parameters: ["p": .int(1)],
          data: ["n": .int(1)])
      })
    let known = [Widget(id: old, kind: kind, applySet: "bundle/a"), Widget(id: new, kind: kind)]
    let specs = BundleClaims(of: bundle).specs(beside: known)
    #expect(specs.allSatisfy { $0.data == ["n": .int(1)] })
    #expect(specs.map(\.isVisible) == [nil, false] && specs.map(\.isEnabled) == [nil, false])
    #expect(specs.allSatisfy { $0.parameters == ["p": .int(1)] })
  }

  @Test mutating func `bundles of an earlier host are removed, unless their folder is only broken`()
  {
    _ = state.found(bundle(), in: "/b/x", at: now)
    _ = state.found(broken(), in: "/b/y", at: now)
    let remembered = state.remembered(
      [
        .init(id: "a", path: "/b/x"), .init(id: "old", path: "/b/old"),
        .init(id: "clock", path: "/b/y"),
      ], at: now)
    let outputs = remembered + state.showTroubles(at: now)
    #expect(outputs.withdrawn == ["old"])
    #expect(standing("clock")?.state == .failed)
    #expect(
      outputs.contains {
        if case .troubles(let all) = $0 { all["bundle/clock"] != nil } else { false }
      })
  }

  @Test mutating func `the widgets of a broken bundle are removed with its folder`() {
    _ = state.found(broken(), in: "/b/y", at: now)
    _ = state.found(broken(), in: "/b/z", at: now)
    _ = state.remembered(
      [.init(id: "clock", path: "/b/y"), .init(id: "desk", path: "/b/z")], at: now)
    #expect(state.lost("/b/y", .removed, at: now).withdrawn == ["clock"])
    // The file is right again, and has another bundle.
    let mended = state.found(bundle(), in: "/b/z", at: now)
    #expect(mended.handedOver == ["desk -> a"] && mended.withdrawn.isEmpty)
    #expect(state.lost("/b/z", .removed, at: now).withdrawn == ["a"])
  }

  @Test(arguments: [
    "/b/.weird name/", "/b/ü", "/", "/b/a/b", "/b/" + String(repeating: "x", count: 300),
  ])
  mutating func `a folder with any name has a widget that shows its state`(path: String) {
    let outputs = state.found(broken(), in: path, at: now)
    #expect(outputs.shown.count == 1)
  }

  @Test mutating func `the widget of a bundle has the remarks on its file`() throws {
    let read = try BundleReader.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds: {eye: {}}\nwidgets: {w: {kind: eyy}}")
    var outputs = state.found(.bundle(read, digest: 1), in: "/b/x", at: now)
    let generation = try #require(outputs.generations.first)
    let kind = try #require(KindName("eyy"))
    let table = Content(DataTable(kind: kind, rows: []))
    let widget = Widget(id: try #require(WidgetID("w")), kind: kind, content: table)
    outputs += state.handle(.snapshot([widget]), generation: generation, at: now)
    let data = outputs.compactMap {
      if case .standing(let specs) = $0 { specs.first?.data } else { nil }
    }.last
    guard case .list(let remarks)? = data?["remarks"], case .string(let text)? = remarks.first
    else {
      Issue.record("no remarks in \(String(describing: data))")
      return
    }
    #expect(text.hasPrefix("5:") && text.contains("\"eyy\"") && text.contains("\"eye\""), "\(text)")
  }

  @Test mutating func `the widget of a bundle names settings that are not in force`() throws {
    let read = try BundleReader.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\ndefaults: {n: 1}", settings: .text("{broken"))
    let outputs = state.found(.bundle(read, digest: 1), in: "/b/x", at: now)
    let remarks = outputs.compactMap {
      if case .standing(let specs) = $0 { specs.first?.data["remarks"] } else { nil }
    }.last
    guard case .list(let list)? = remarks, case .string(let text)? = list.first else {
      Issue.record("no remarks in \(String(describing: remarks))")
      return
    }
    #expect(list.count == 1 && text.hasPrefix(".settings.json:1:"), "\(text)")
    #expect(text.contains(", so the defaults hold; "), "\(text)")
    #expect(
      text.hasSuffix(
        ". If you delete .settings.json instead, set each value again with `widgetctl bundle set b`"
      ))
  }

  @Test mutating func `the widget of a bundle names sources that notice changes late`() throws {
    let read = try BundleReader.read(
      "{bundle: b, format: 1, version: 1.0.0, kinds: {k: {data: {n: x}, sources: {"
        + "f: {file: '${bundle}/f', every: 10s, set: {n: result}}}}}, widgets: {w: {kind: k}}}")
    let kind = try #require(read.kinds.first?.kind.name)
    let opened = state.found(.bundle(read, digest: 1), in: "/b/x", at: now)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    let widget = Widget(id: try #require(WidgetID("w")), kind: kind, data: ["n": .string("x")])
    let outputs = state.handle(.snapshot([widget]), generation: generation, at: now)
    let watches = outputs.compactMap {
      if case .effect(.watchFile(let id, _, _)) = $0 { id } else { nil }
    }
    let watch = try #require(watches.first)
    _ = state.handle(
      .unwatched(watch, Failure("RESOURCE_EXHAUSTED", "full")), generation: generation, at: now)
    let line = "widget w: source f: the host notices changes only at the times of `every`: full"
    #expect(standing("b")?.remarks == [line])
  }

  @Test(
    arguments: [
      ("", true), ("on: {press: {set: {m: =data.m + 1}}}", true),
      ("sources: {s: {command: [date], parse: text, set: {m: =1}}}", false),
    ] as [(String, Bool)])
  mutating func `a new default that widgets do not follow is reported`(
    rest: String, isReported: Bool
  ) throws {
    func bundle(_ data: String) throws -> Bundle {
      try Scene.bundle("data: {\(data)}\n" + rest, permissions: "{commands: [date]}")
    }
    func widget(_ id: String, _ data: ValueMap) throws -> Widget {
      Widget(
        id: try #require(WidgetID(id)), kind: try #require(KindName("k")), data: data, applySet: "")
    }
    let first = state.found(.bundle(try bundle("m: 1, n: 1"), digest: 1), in: "/b/x", at: now)
    let widgets = [
      try widget("own", ["m": .int(50), "n": .int(1)]),
      try widget("same", ["m": .int(1), "n": .int(1)]),
    ]
    _ = state.handle(
      .snapshot(widgets), generation: try #require(first.generations.first), at: now)
    let second = state.found(.bundle(try bundle("m: 7, n: 1"), digest: 2), in: "/b/x", at: now)
    let reports = second.compactMap { if case .report(let text) = $0 { text } else { nil } }
    let line =
      "bundle b: the new default of data.m has no effect on own: the field was set;"
      + " \"widgetctl set own --unset m\" sets it to the default"
    #expect(reports == (isReported ? [line] : []))
  }

  @Test mutating func `the widget of a bundle names those of its kinds that are not its own`()
    throws
  {
    let read = try Scene.bundle("data: {n: 0}\non: {press: [{reload: all}]}")
    let opened = state.found(.bundle(read, digest: 1), in: "/b/x", at: now)
    let generation = try #require(opened.generations.first)
    let kind = try #require(KindName("k"))
    func widget(_ id: String, of set: String) throws -> Widget {
      Widget(id: try #require(WidgetID(id)), kind: kind, applySet: set)
    }
    func data(_ outputs: [HostState.Output]) -> ValueMap? {
      outputs.compactMap { if case .standing(let specs) = $0 { specs.first?.data } else { nil } }
        .last
    }
    let own = try widget("b/own", of: "bundle/b")
    let sets = ["panel", "bundle/c"]
    let others = try (1...6).map { try widget("x\($0)", of: $0 <= 2 ? sets[$0 - 1] : "") }
    let told = data(state.handle(.snapshot([own] + others), generation: generation, at: now))
    #expect(told?["others"] == .int(6))
    let names = ["x1 (set panel)", "x2 (bundle c)", "x3", "x4", "x5"]
    #expect(told?["othersFirst"] == .list(names.map { .string($0) }))
    #expect(told?["widgets"] == .int(1), "its own one")
    #expect(told?["handled"] == .map(["k": .list([.string("press")])]))
    let gone = data(state.handle(.removed(others[0].id), generation: generation, at: now))
    #expect(gone?["others"] == .int(5))
    let another = try widget("b/own", of: "")
    let taken = data(state.handle(.widget(another), generation: generation, at: now))
    #expect(taken?["others"] == .int(6))
    #expect(
      data(state.handle(.snapshot([own]), generation: generation, at: now))?["others"] == .int(0))
  }

  @Test mutating func `the values of a widget that somebody else removes are named`() throws {
    var read = try Scene.bundle("data: {n: 0, m: 0}\non: {press: [{reload: all}]}")
    let kind = try #require(KindName("k"))
    let spec = WidgetSpec(id: WidgetID("hall"), kind: kind, data: ["n": .int(1)])
    read.widgets = [spec]
    let opened = state.found(.bundle(read, digest: 1), in: "/b/x", at: now)
    let generation = try #require(opened.generations.first)
    var widget = Widget(id: try #require(spec.id), kind: kind, applySet: "bundle/b")
    widget.data = spec.data
    _ = state.handle(.snapshot([widget]), generation: generation, at: now)
    #expect(state.handle(.removed(widget.id), generation: generation, at: now).reports == [])
    widget.data["n"] = .int(5)
    widget.labels["mine"] = "yes"
    _ = state.handle(.widget(widget), generation: generation, at: now)
    let gone = state.handle(.removed(widget.id), generation: generation, at: now)
    let lines = ["data.n, 5", "labels.mine, \"yes\""].map {
      "widget \(widget.id) was removed, and with it the value of \($0), which a user or an action had"
        + " set"
    }
    #expect(gone.reports == lines.map { "bundle b: \($0)" })
    #expect(standing("b")?.remarks.filter { $0.contains("was removed") } == lines)
  }

  /// The host was not connected, or has missed the removal.
  @Test(arguments: [false, true])
  mutating func `the values of a widget that somebody else makes again are named`(
    isSnapshot: Bool
  ) throws {
    var read = try Scene.bundle("data: {n: 0}")
    let kind = try #require(KindName("k"))
    let id = try #require(WidgetID("hall"))
    read.widgets = [WidgetSpec(id: id, kind: kind)]
    let opened = state.found(.bundle(read, digest: 1), in: "/b/x", at: now)
    let generation = try #require(opened.generations.first)
    var widget = Widget(
      id: id, kind: kind, createdRevision: 1, revision: 1, applySet: "bundle/b")
    widget.data["n"] = .int(5)
    _ = state.handle(.snapshot([widget]), generation: generation, at: now)
    #expect(state.handle(.snapshot([widget]), generation: generation, at: now).reports == [])
    widget.data["n"] = .int(0)
    (widget.createdRevision, widget.revision) = (2, 2)
    let again = state.handle(
      isSnapshot ? .snapshot([widget]) : .widget(widget), generation: generation, at: now)
    #expect(
      again.reports == [
        "bundle b: widget hall was removed, and with it the value of data.n, 5, which a user or an"
          + " action had set"
      ])
  }

  @Test mutating func `folders with the same shown name get different names`() {
    for path in ["/a/x", "/b/x", "/c/x"] {
      _ = state.found(broken("\(path): wrong"), in: path, at: now)
    }
    #expect(Set(state.standings.map(\.id)).count == 3)
  }
}

extension [HostState.Output] {
  var opened: [String] {
    compactMap {
      if case .open(_, let bundle) = $0 { "\(bundle.id) \(bundle.version)" } else { nil }
    }
  }

  /// The refused versions that wait for a retry, by bundle; nil for a bundle that waits no more.
  var refused: [String?] {
    compactMap { if case .refused(_, let bundle) = $0 { .some(bundle?.version) } else { nil } }
  }

  var generations: [UInt64] {
    compactMap { if case .open(let generation, _) = $0 { generation } else { nil } }
  }

  var closed: [UInt64] {
    compactMap { if case .close(let generation) = $0 { generation } else { nil } }
  }

  /// `a -> b`: the bundle `b` takes over from `a`.
  var handedOver: [String] {
    compactMap { if case .handOver(let id, let heir) = $0 { "\(id) -> \(heir)" } else { nil } }
  }

  /// The errors that end with a bundle.
  var unmarked: [HostState.LeftErrors] {
    compactMap { if case .unmark(let errors) = $0 { errors } else { nil } }
  }

  var withdrawn: [String] {
    compactMap { if case .withdraw(let id, _) = $0 { id } else { nil } }
  }

  var reports: [String] {
    compactMap { if case .report(let text) = $0 { text } else { nil } }
  }

  /// The last reported state of bundles.
  var shown: [String] {
    for case .standing(let specs) in reversed() {
      return specs.map { spec in
        func text(_ key: String) -> String {
          if case .string(let text)? = spec.data[key] { text } else { "" }
        }
        return "\(text("id")) \(text("state")) \(text("problem"))"
      }
    }
    return []
  }
}
