import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Several folders of one look, which are taken one after the other.
struct LookTests {
  private let now = HostTime(wall: .epoch, uptime: .zero)
  private var state = HostState(home: "/home/me", seed: 1)

  init() { _ = state.remembered([], at: now) }

  private func found(
    _ id: String, kind: String, widget: String = "", digest: UInt64 = 1
  ) throws -> HostState.Found {
    let widgets = widget.isEmpty ? "" : "w\(id): {kind: \(widget)}"
    return .bundle(
      try BundleReader.read(
        """
        {bundle: \(id), format: 1, version: 1.0.0,
         kinds: {\(kind): {data: {n: 1}, content: {label: x}}}, widgets: {\(widgets)}}
        """), digest: digest)
  }

  /// The daemon tells a widget of a kind that bundle `a` lacks.
  private func told(_ name: String, isRegistered: Bool = false) throws -> BundleInput {
    let kind = try #require(KindName(name))
    let table = Content(DataTable(kind: kind, rows: []))
    let id = try #require(WidgetID("w\(name)"))
    return .snapshot([Widget(id: id, kind: kind, content: isRegistered ? nil : table)])
  }

  @Test(arguments: [true, false])
  mutating func `a missing kind is reported only if no bundle of the look has it`(
    isThere: Bool
  ) throws {
    let first = state.found(try found("a", kind: "k", widget: "gauge"), in: "/b/a", at: now)
    let kind = isThere ? "gauge" : "gauges"
    let second = state.found(try found("b", kind: kind), in: "/b/b", at: now)
    #expect((first + second).reports.isEmpty)
    #expect(state.looked().isEmpty, "the daemon has told no widget")
    let generation = try #require(first.generations.first)
    let news = try told("gauge")
    let reports = state.handle(news, generation: generation, at: now).reports
    #expect(reports.count == (isThere ? 0 : 1))
    // The kind of another bundle is similar.
    #expect(reports.first?.hasSuffix("; did you mean \"gauges\"?") ?? isThere)
    #expect(reports.first?.hasPrefix("bundle a: 2:") ?? isThere)
    #expect(state.looked().isEmpty)
  }

  /// Bundle `b` is gone, or only an earlier host has read its file.
  @Test(arguments: [true, false])
  mutating func `the similar kind of a bundle that does not run is named`(isGone: Bool) throws {
    if isGone {
      _ = state.found(try found("b", kind: "gauges"), in: "/b/b", at: now)
      _ = state.daemonIsBack(at: now)
      _ = state.lost("/b/b", .missing, at: now)
      _ = state.tick(at: HostTime(wall: .epoch, uptime: HostLimits().absenceMax))
      #expect(state.standings.isEmpty)
    } else {
      let problem = "/b/b/bundle.yaml:1:1: wrong"
      _ = state.found(.broken(problem: problem, digest: 9), in: "/b/b", at: now)
      let shown: ValueMap = ["handled": .map(["gauges": .list([])])]
      _ = state.remembered([.init(id: "b", path: "/b/b", shown: shown)], at: now)
    }
    let opened = state.found(try found("a", kind: "k", widget: "gauge"), in: "/b/a", at: now)
    _ = state.looked()
    let (generation, news) = (try #require(opened.generations.first), try told("gauge"))
    let reports = state.handle(news, generation: generation, at: now).reports
    #expect(reports.count == 1 && reports.first?.hasSuffix("; did you mean \"gauges\"?") == true)
  }

  @Test(arguments: [true, false])
  mutating func `the similar kind of a program is named`(isKnownFirst: Bool) throws {
    let opened = state.found(try found("a", kind: "k", widget: "gauge"), in: "/b/a", at: now)
    _ = state.looked()
    let kinds: Set<KindName> = [try #require(KindName("gauges"))]
    if isKnownFirst { _ = state.note(programKinds: kinds) }
    let (generation, news) = (try #require(opened.generations.first), try told("gauge"))
    let reports = state.handle(news, generation: generation, at: now).reports
    #expect(reports.count == 1)
    let advice = isKnownFirst ? "did you mean \"gauges\"?" : MissingKind.advice
    #expect(reports.first?.hasSuffix("; \(advice)") == true)
    if !isKnownFirst {
      let outputs = state.note(programKinds: kinds)
      #expect(outputs.count == 1 && outputs.reports.isEmpty)
    }
    let remark = try #require(state.standings.first?.remarks.first)
    #expect(remark.hasSuffix("; did you mean \"gauges\"?"))
  }

  @Test mutating func `a similar kind is searched again only if the kinds change`() throws {
    let opened = state.found(try found("a", kind: "k", widget: "gauge"), in: "/b/a", at: now)
    _ = state.looked()
    let (generation, news) = (try #require(opened.generations.first), try told("gauge"))
    _ = state.handle(news, generation: generation, at: now)
    let before = state.kindHints.searchCount
    _ = state.found(.broken(problem: "/b/c/bundle.yaml:1:1: no", digest: 8), in: "/b/c", at: now)
    _ = state.standing()
    let remark = try #require(state.standings.first?.remarks.first)
    #expect(remark.hasSuffix("; \(MissingKind.advice)"))
    #expect(state.kindHints.searchCount == before && before > 0)
    _ = state.found(try found("b", kind: "gauges"), in: "/b/b", at: now)
    #expect(state.kindHints.searchCount > before)
    #expect(
      state.standings.first?.remarks.first?.hasSuffix("; did you mean \"gauges\"?") == true)
  }

  @Test func `the hint about a kind counts its own bundle, and bundles that do not run`() throws {
    let gauge = try #require(KindName("gauge"))
    let (gauges, gauged) = (try #require(KindName("gauges")), try #require(KindName("gauged")))
    let clock = try #require(KindName("clock"))
    var hints = KindHints()
    #expect(hints.hint(for: gauge) == MissingKind.advice)
    hints.use(KindHints.Names(known: [clock], last: [gauged, gauge]))
    #expect(hints.hint(for: gauge) == "did you mean \"gauged\"?")
    #expect(hints.hint(for: gauge, besides: [gauges]) == "did you mean \"gauges\"?")
    #expect(hints.searchCount == 3)
    #expect(hints.hint(for: gauge, besides: [clock]) == "did you mean \"gauged\"?")
    #expect(hints.searchCount == 3)
  }

  /// An earlier host ran bundle `b`. Its folder is missing when this host starts.
  @Test func `a kind that the daemon has of a missing bundle is not reported as missing`() throws {
    var state = HostState(home: "/home/me", seed: 1)
    let opened = state.found(try found("a", kind: "k", widget: "gauge"), in: "/b/a", at: now)
    let generation = try #require(opened.generations.first)
    #expect(state.looked().reports.isEmpty, "the daemon has not told its bundles")
    _ = state.daemonIsBack(at: now)
    let shown: ValueMap = ["handled": .map(["gauge": .list([])])]
    let known = HostState.Remembered(id: "b", path: "/b/b", absence: .missing, shown: shown)
    var reports = state.remembered([known], at: now).reports
    var news = try told("gauge", isRegistered: true)
    reports += state.handle(news, generation: generation, at: now).reports
    #expect(reports.count == 1 && reports.first?.contains("not registered") == false)
    #expect(state.standings.first { $0.id == "a" }?.remarks == [])
    // The host removes the bundle, so the daemon has its kind no more.
    let end = HostTime(wall: .epoch, uptime: HostLimits().absenceMax)
    _ = state.tick(at: end)
    news = try told("gauge")
    reports = state.handle(news, generation: generation, at: end).reports
    #expect(reports.count == 1)
    #expect(reports.first?.contains("the kind \"gauge\" is not registered") == true)
    #expect(state.standings.first { $0.id == "a" }?.remarks.count == 1)
  }

  /// Bundle `b` is removed on purpose, while this host runs, or before.
  @Test(arguments: [true, false])
  mutating func `the similar kind of a removed bundle is not named`(hasRun: Bool) throws {
    let shown: ValueMap = ["handled": .map(["gauges": .list([])])]
    if hasRun {
      _ = state.found(try found("b", kind: "gauges"), in: "/b/b", at: now)
      _ = state.lost("/b/b", .removed, at: now)
    }
    // The daemon may still have its widgets.
    let absence: HostState.Absence = hasRun ? .missing : .removed
    let known = HostState.Remembered(id: "b", path: "/b/b", absence: absence, shown: shown)
    _ = state.remembered([known], at: now)
    let opened = state.found(try found("a", kind: "k", widget: "gauge"), in: "/b/a", at: now)
    _ = state.looked()
    let (generation, news) = (try #require(opened.generations.first), try told("gauge"))
    let reports = state.handle(news, generation: generation, at: now).reports
    #expect(reports.count == 1 && reports.first?.contains("gauges") == false)
  }

  @Test(arguments: [true, false])
  mutating func `a folder with another name is no second folder of the bundle`(
    isRenamed: Bool
  ) throws {
    _ = state.found(try found("c", kind: "k"), in: "/b/c", at: now)
    #expect(state.looked().isEmpty)
    // The new name comes first in the look.
    let second = state.found(try found("c", kind: "k"), in: "/b/d", at: now)
    #expect(second.reports.isEmpty)
    if isRenamed { _ = state.lost("/b/c", .missing, at: now) }
    let problem =
      "bundle c is in /b/c, too, and the host uses that one; remove /b/d, or change the id in its"
      + " file"
    #expect(state.looked().reports == (isRenamed ? [] : [problem]))
    #expect(state.standings.first { $0.path == "/b/d" }?.problem == (isRenamed ? "" : problem))
  }

  /// An installation puts the new version into the folder with the id as its name. So a folder that
  /// runs under another name is to be removed, not the right one.
  @Test(arguments: [nil, "taken"] as [String?], [("c", "d", "d"), ("c-old", "c", "c-old")])
  mutating func `a second folder of a bundle is told which folder runs`(
    refusal: String?, folders: (first: String, second: String, removed: String)
  ) throws {
    let (first, second) = ("/b/\(folders.first)", "/b/\(folders.second)")
    let opened = state.found(try found("c", kind: "k"), in: first, at: now)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: refusal, at: now)
    _ = state.looked()
    _ = state.found(try found("c", kind: "k"), in: second, at: now)
    let words =
      refusal == nil
      ? "bundle c runs from \(first), so \(second) does not run"
      : "bundle c is in \(first), too, and the host uses that one"
    let remedy = "remove /b/\(folders.removed), or change the id in its file"
    #expect(state.looked().reports == ["\(words); \(remedy)"])
  }

  /// The third folder is the first one under another name, which comes first in the look. It also
  /// comes first by the order of the folders.
  @Test mutating func `a further copy is told which folder runs after the first is gone`() throws {
    for path in ["/b/wrong", "/c/zed"] {
      _ = state.found(try found("zed", kind: "k"), in: path, at: now)
    }
    _ = state.looked()
    _ = state.found(try found("zed", kind: "k"), in: "/b/zed", at: now)
    _ = state.lost("/b/wrong", .missing, at: now)
    let problem =
      "bundle zed is in /b/zed, too, and the host uses that one; remove /c/zed, or change the id in"
      + " its file"
    #expect(state.looked().reports == [problem])
    #expect(state.standings.map(\.path) == ["/c/zed", "/b/zed"])
    #expect(state.standings.map(\.problem) == [problem, ""])
  }

  @Test mutating func `a missing kind is reported beside many kinds of other bundles`() throws {
    let kinds = (10..<30).map { "k\($0)" }
    let shapes = kinds.map { "\($0): {data: {n: 1}, content: {label: x}}" }
    let widgets = (kinds + ["gauge"]).map { "w\($0): {kind: \($0)}" }
    let parts: [(String, String, [String])] = [
      ("a", "kinds: {\(shapes[0].replacing("k10", with: "ka"))}", widgets),
      ("b", "kinds: {\(shapes.joined(separator: ", "))}", []),
    ]
    var generations: [UInt64] = []
    for (id, kinds, widgets) in parts {
      let bundle = try BundleReader.read(
        "{bundle: \(id), format: 1, version: 1.0.0, \(kinds),"
          + " widgets: {\(widgets.joined(separator: ", "))}}")
      #expect(bundle.remarks.count == widgets.count)
      let outputs = state.found(.bundle(bundle, digest: 1), in: "/b/\(id)", at: now)
      #expect(outputs.reports.isEmpty)
      generations += outputs.generations
    }
    #expect(state.looked().isEmpty, "the daemon has told no widget")
    let (generation, news) = (try #require(generations.first), try told("gauge"))
    let reports = state.handle(news, generation: generation, at: now).reports
    #expect(reports.count == 1)
    #expect(reports.first?.contains("the kind \"gauge\" is not registered") == true)
  }

  /// The daemon answers after the look.
  @Test(arguments: [nil, "taken"] as [String?])
  mutating func `a missing kind is reported when the daemon refuses the bundle that has it`(
    refusal: String?
  ) throws {
    let first = state.found(try found("a", kind: "k", widget: "gauge"), in: "/b/a", at: now)
    let opened = state.found(try found("b", kind: "gauge"), in: "/b/b", at: now)
    let generation = try #require(opened.generations.first)
    let (lacking, news) = (try #require(first.generations.first), try told("gauge"))
    #expect(state.handle(news, generation: lacking, at: now).reports.isEmpty)
    for _ in 0..<2 { #expect(state.looked().isEmpty) }
    let answered = state.declared(generation: generation, refusal: refusal, at: now).reports
    #expect(answered.count == (refusal == nil ? 0 : 2))
    #expect(answered.last?.hasPrefix("bundle a: 2:") ?? (refusal == nil))
    // It is reported once.
    let again = state.declared(generation: generation, refusal: refusal, at: now).reports
    #expect(again.isEmpty)
    #expect(state.looked().isEmpty)
  }

  @Test mutating func `the note on another program's kind comes and goes with it`() throws {
    let opened = state.found(try found("a", kind: "k", widget: "gauge"), in: "/b/a", at: now)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    #expect(state.looked().reports.isEmpty)
    #expect(state.standings.first?.remarks == [], "the daemon has told no widget")
    for isRegistered in [true, false, true, false] {
      let news = try told("gauge", isRegistered: isRegistered)
      let outputs = state.handle(news, generation: generation, at: now)
      let remarks = try #require(state.standings.first?.remarks)
      #expect(remarks.count == (isRegistered ? 0 : 1))
      #expect(remarks.allSatisfy { $0.contains("the kind \"gauge\" is not registered, so") })
      #expect(outputs.reports == remarks.map { "bundle a: \($0)" })
      let again = state.handle(news, generation: generation, at: now)
      #expect(again.reports.isEmpty)
    }
  }

  /// Somebody removes the widget, and the host declares it again.
  @Test mutating func `the note on a kind stays while the daemon has no widget of the kind`() throws
  {
    let opened = state.found(try found("a", kind: "k", widget: "gauge"), in: "/b/a", at: now)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    _ = state.looked()
    for isRegistered in [true, false, true, false] {
      let count = isRegistered ? 0 : 1
      let news = try told("gauge", isRegistered: isRegistered)
      #expect(state.handle(news, generation: generation, at: now).reports.count == count)
      #expect(state.standings.first?.remarks.count == count)
      #expect(state.handle(.snapshot([]), generation: generation, at: now).reports.isEmpty)
      #expect(state.standings.first?.remarks.count == count)
    }
  }

  @Test mutating func `an edit without effect is a remark until the widget has the file's value`()
    throws
  {
    let opened = state.found(try found("a", kind: "k", widget: "k"), in: "/b/a", at: now)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    let id = try #require(WidgetID("wa"))
    let kind = try #require(KindName("k"))
    func widget(_ n: Int64, _ revision: Revision) -> Widget {
      Widget(id: id, kind: kind, data: ["n": .int(n)], revision: revision, applySet: "bundle/a")
    }
    _ = state.handle(.snapshot([widget(7, 1)]), generation: generation, at: now)
    let field = FieldOwner(
      path: "data.n", owner: "user 1", manager: "bundle/a", declared: .int(2))
    _ = state.edited([.init(widget: id, field: field)], generation: generation)
    let words = "widget wa: the file's value of data.n has no effect, because the field was set by"
    #expect(state.standings.first?.remarks.first?.hasPrefix(words) == true)
    // The user gives the field back to the file.
    let outputs = state.handle(.widget(widget(2, 2)), generation: generation, at: now)
    #expect(state.standings.first?.remarks == [])
    #expect(outputs.contains { if case .standing = $0 { true } else { false } })
  }

  @Test mutating func `a broken file does not hide that the previous version runs`() throws {
    let broken = HostState.Found.broken(problem: "/b/a/bundle.yaml:3:7: wrong", digest: 2)
    _ = state.found(broken, in: "/b/a", at: now)
    #expect(state.standings.first?.runs == false)
    let opened = state.found(try found("a", kind: "k"), in: "/b/a", at: now)
    let generation = try #require(opened.generations.first)
    #expect(state.standings.first?.runs == false, "the daemon has not answered")
    _ = state.declared(generation: generation, refusal: "taken", at: now)
    #expect(state.standings.first?.runs == false)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    #expect(state.standings.first?.runs == true)
    _ = state.found(broken, in: "/b/a", at: now)
    #expect(state.standings.first?.state == .failed && state.standings.first?.runs == true)
    #expect(state.standings.first.flatMap(HostState.spec)?.data["runs"] == .bool(true))
    _ = state.stop()
    #expect(state.standings.first?.runs == false)
  }

  @Test mutating func `a removed bundle says what becomes of the widgets of others`() throws {
    let opened = state.found(try found("a", kind: "k", widget: "k"), in: "/b/a", at: now)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    _ = state.daemonIsBack(at: now)
    let kind = try #require(KindName("k"))
    let widgets = try ["wa": "bundle/a", "x": "", "y": "bundle/c"].map { id, set in
      Widget(id: try #require(WidgetID(id)), kind: kind, data: ["n": .int(1)], applySet: set)
    }
    _ = state.handle(.snapshot(widgets), generation: generation, at: now)
    let notes = state.lost("/b/a", .removed, at: now).compactMap {
      if case .withdraw(_, let note) = $0 { note?.text(countMax: 5) } else { nil }
    }
    #expect(
      notes == [
        "bundle a removed: 1 widget; 2 widgets of others keep their data, but lose their kind: x,"
          + " y (bundle c)"
      ])
  }
}
