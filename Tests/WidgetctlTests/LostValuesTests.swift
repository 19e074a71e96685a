import Foundation
import Testing
import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

@testable import widgetctl

@Suite struct LostValuesTests {
  @Test(arguments: [
    (LostValues.Loss.done, "is gone with the widget: it was"),
    (LostValues.Loss.pending, "goes with the widget when widgetd-host runs again: it is"),
  ])
  func `a value is gone only after a host has removed the widget`(
    loss: LostValues.Loss, words: String
  ) throws {
    let entry = LostValues.Entry(
      widget: try #require(WidgetID("clock")),
      field: FieldOwner(path: "data.note", owner: "user 4000000000", declared: .string("mine")))
    #expect(
      BundleLosses(values: [entry]).text(removed: ["desk"], loss)
        == "bundle desk removed\n  clock: data.note \(words) \"mine\", set by user 4000000000\n")
  }

  @Test func `the removal of a link loses the values of the bundle that runs from its target`()
    throws
  {
    let root = BundleHost.resolved(NSTemporaryDirectory() + "losses-\(UUID().uuidString)")
    let files = FileManager.default
    defer { try? files.removeItem(atPath: root) }
    let (bundles, source) = ("\(root)/bundles", "\(root)/source/desk")
    for path in [bundles, source] {
      try files.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    try files.createSymbolicLink(atPath: "\(bundles)/desk", withDestinationPath: source)
    let text = "{bundle: desk, format: 1, version: 1.0.0, kinds: {k: {}}, widgets: {w: {kind: k}}}"
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(source)/bundle.yaml"))
    let removal = try #require(BundleInstaller(path: bundles).removal(of: "desk"))
    let places = BundleRemoveCommand.places(of: [removal], in: bundles)
    for (path, isRun) in [
      ("\(bundles)/desk", true), (source, true), ("\(root)/source/other", false), ("", false),
    ] {
      #expect(LostValues.isRun("desk", from: path, in: bundles, at: places) == isRun, "\(path)")
    }
  }

  @Test func `values that nobody can name are announced`() {
    let words = LostValues.unknown(["desk"])
    #expect(words.hasPrefix("the daemon could not be asked which values users and"))
    #expect(words.contains("on the widgets of bundle desk. When"))
    #expect(LostValues.unknown(["a", "b"]).contains("of bundles a, b. When"))
  }

  @Test func `a rollback names the values of widgets that the former version lacks or changes`()
    throws
  {
    let (a, b) = (try #require(KindName("a")), try #require(KindName("b")))
    func entry(_ id: String) -> LostValues.Entry {
      LostValues.Entry(
        widget: Samples.id(id),
        field: FieldOwner(path: "data.n", owner: "user 4000000000", declared: .int(45)),
        kind: id == "y" ? b : a)
    }
    let warnings = LostValues.warnings(
      [entry("w"), entry("x"), entry("y")], restored: "1.1.0", ["x", "y"]
    ) { id, kind in id == Samples.id("y") ? kind == b : kind != a }
    #expect(
      warnings == [
        "version 1.1.0 does not have the widget \"w\", so its data.n is lost: the value 45, set by "
          + "user 4000000000",
        "version 1.1.0 has the widget \"y\" with another kind, so its data.n is lost: the value "
          + "45, set by user 4000000000",
      ])
  }

  @Test(arguments: [false, true])
  func `a rollback by the host knows the id and the kinds before and after it`(isOld: Bool) throws {
    func entry(_ id: String, of bundle: String, _ kind: String = "a") throws -> LostValues.Entry {
      LostValues.Entry(
        widget: Samples.id(id),
        field: FieldOwner(path: "data.n", owner: "user 4000000000", declared: .int(45)),
        bundle: bundle, kind: KindName(kind))
    }
    let restored = InstalledBundle(
      id: "desk", version: "1.0.0", kinds: ["a", "b"], widgets: ["x", "y"],
      widgetKinds: isOld ? [] : ["a", "b"])
    // Somebody has changed the id in the file of the replaced version.
    let answer = RollbackBundleResponse(bundle: restored, formerID: isOld ? "" : "shelf")
    let values = [
      try entry("x", of: "shelf"), try entry("y", of: "shelf"), try entry("z", of: "desk"),
      try entry("other", of: "lamp"),
    ]
    let lost = BundleRemote.lost(by: answer, of: "desk", values)
    let words = [
      "version 1.0.0 has the widget \"y\" with another kind, so its data.n is lost: the value 45, "
        + "set by user 4000000000",
      "version 1.0.0 does not have the widget \"z\", so its data.n is lost: the value 45, set by "
        + "user 4000000000",
    ]
    #expect(lost == (isOld ? Array(words.suffix(1)) : words))
    let outline = restored.outline
    #expect((outline == nil) == isOld)
    guard !isOld else { return }
    #expect(outline?.kinds.map(\.kind.name.rawValue) == ["a", "b"])
    #expect(outline?.widgets.map(\.kind.rawValue) == ["a", "b"])
  }

  @Test func `a new version without a daemon names the widgets whose values nobody knows`() throws {
    let (a, b) = (try #require(KindName("a")), try #require(KindName("b")))
    let former = [
      WidgetSpec(id: Samples.id("w"), kind: a), WidgetSpec(id: Samples.id("x"), kind: a),
      WidgetSpec(id: Samples.id("y"), kind: a),
    ]
    let next = [WidgetSpec(id: Samples.id("w"), kind: a), WidgetSpec(id: Samples.id("x"), kind: b)]
    #expect(LostValues.unknown(replacing: former, by: former) == nil)
    #expect(LostValues.unknown(replacing: [], by: next) == nil)
    #expect(
      LostValues.unknown(replacing: former, by: next)
        == "the daemon could not be asked which values users have set on the widgets x, y. This "
        + "version lacks these widgets, or gives them another kind. When widgetd-host loads the "
        + "version, their values are lost")
  }

  @Test func `a comparison without a daemon names the widgets whose values nobody knows`() throws {
    let root = BundleHost.resolved(NSTemporaryDirectory() + "diff-\(UUID().uuidString)")
    let files = FileManager.default
    defer { try? files.removeItem(atPath: root) }
    try files.createDirectory(atPath: "\(root)/desk", withIntermediateDirectories: true)
    let start = "{bundle: desk, format: 1, version: 1.0.0, kinds: {k: {}}, widgets: {"
    let text = "\(start)w: {kind: k}, x: {kind: k}}}"
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(root)/desk/bundle.yaml"))
    let installer = BundleInstaller(path: root)
    let next = try BundleReader.read("\(start)w: {kind: k}}}")
    #expect(
      BundleDiffCommand.unnamedLosses(with: next, in: installer).first?.hasPrefix(
        "the daemon could not be asked which values users have set on the widget x. ") == true)
    let same = try BundleReader.read(text)
    #expect(BundleDiffCommand.unnamedLosses(with: same, in: installer).isEmpty)
  }

  @Test func `apply --force names the bundles that lose widgets`() throws {
    func widget(_ id: String, _ set: String) throws -> Widget {
      Widget(id: Samples.id(id), kind: try #require(KindName("a")), applySet: set)
    }
    let before = [
      try widget("w", "bundle/top"), try widget("x", "bundle/top"), try widget("y", "other"),
    ]
    let specs = before.map { WidgetSpec(id: $0.id, kind: $0.kind) }
    let words = TakenWidgets.warnings(specs, from: before, to: "desk", dryRun: false)
    #expect(
      words == [
        "bundle top loses w, x to set \"desk\". Until the file of bundle top no longer declares these "
          + "widgets, widgetd-host refuses the bundle. Remove them from the file, or move each back "
          + "with `widgetctl get w -o yaml | widgetctl apply --set bundle/top -f -`"
      ])
    #expect(
      TakenWidgets.warnings(specs, from: before, to: "desk", dryRun: true)
        == ["bundle top would lose w, x to set \"desk\""])
    let toBundle = TakenWidgets.warnings(specs, from: before, to: "bundle/desk", dryRun: false)
    #expect(toBundle.first?.hasSuffix("apply --set bundle/top --force -f -`") == true)
    #expect(TakenWidgets.warnings(specs, from: before, to: "bundle/top", dryRun: true).isEmpty)
  }

  @Test(
    arguments: [
      (0, nil),
      (1, "1 widget of others keeps its data, but loses its kind: a"),
      (6, "6 widgets of others keep their data, but lose their kind: a, …"),
    ] as [(Int64, String?)])
  func `a removal names the widgets of others, which stay`(count: Int64, words: String?) {
    var widget = Samples.widget
    let first: [Value] = count == 0 ? [] : [.string("a")]
    widget.data = ["others": .int(count), "othersFirst": .list(first)]
    let staying = StayingWidgets(of: "desk", BundleStanding(widget))
    #expect(staying?.line == words)
    let document = LostValues.document(
      removed: ["desk"], BundleLosses(staying: staying.map { [$0] } ?? []))
    let entry: Value = .map([
      "bundle": .string("desk"), "count": .int(count), "first": .list(first),
    ])
    guard case .map(let map) = document else {
      Issue.record("the document is no object")
      return
    }
    #expect(map["stayingWidgets"] == (count == 0 ? nil : Value.list([entry])))
  }

  @Test func `a removal names the settings that a user has set`() throws {
    #expect(LostSettings(of: "st", [:]) == nil)
    let settings = try #require(
      LostSettings(of: "st", ["city": .string("New York"), "days": .int(3)]))
    let losses = BundleLosses(settings: [settings])
    #expect(
      losses.text(removed: ["st"], .pending)
        == "bundle st removed\n  the settings of bundle st that you have set are deleted: "
        + "city = New York, days = 3\n")
    #expect(losses.of(["other"]).settings.isEmpty)
    guard case .map(let map) = LostValues.document(removed: ["st"], losses) else {
      Issue.record("the document is no object")
      return
    }
    #expect(map["lostSettings"] == .list([settings.document]))
  }

  @Test func `a removal over the socket names the settings that the version does not take`() throws
  {
    let unused = [
      "this version has no setting step, so your value 7 has no effect",
      "your value 90s of the setting pause has no effect, because the setting takes a value of type "
        + "int, not string",
      "your value 999 of the setting limit has no effect, because it is outside 64 bits "
        + "(.settings.json:1:11)",
    ]
    let answer = SetBundleDefaultsResponse(
      settings: [
        BundleSetting(
          name: "unit", type: "string", value: .string("F"), defaultValue: .string("C"),
          summary: "")
      ],
      warnings: [
        unused[0] + "; the value stays in .settings.json for a later version",
        unused[1]
          + "; the default holds, and the value stays in .settings.json for a later version",
        unused[2] + "; write a smaller number, or set the value again with `widgetctl bundle set`",
        "something else",
      ])
    let settings = try #require(LostSettings(of: "st", answer))
    #expect(
      LostSettings.text([settings])
        == """
          the settings of bundle st that you have set are deleted: unit = F
          bundle st: deleted setting: step = 7 (it had no effect: the version had no such setting)
          bundle st: deleted setting: pause = 90s (it had no effect: the setting takes a value of \
        type int, not string)
          bundle st: deleted setting: limit = 999 (it had no effect: outside 64 bits)

        """)
    #expect(
      LostSettings.text([settings], .dryRun).contains(
        "  bundle st: \(unused[0]); the value would be deleted\n"))
    guard case .map(let map) = settings.document else {
      Issue.record("the document is no object")
      return
    }
    #expect(map["unused"] == .list(unused.map { .string($0) }))
    #expect(LostSettings(of: "st", SetBundleDefaultsResponse(settings: [], warnings: [])) == nil)
    #expect(!LostSettings.isUnknown(in: answer))
  }

  @Test(
    arguments: [
      (".settings.json:1:14: expected , or }, so the defaults hold; correct the file", true),
      ("the defaults hold, because /b/st/.settings.json is not well-formed UTF-8", true),
      (".settings.json:1:1: the file is empty, so the defaults hold; correct the file", false),
      ("your value 7 of the setting n has no effect, because no; the default holds", false),
    ])
  func `a removal over the socket knows whether the host can name the settings`(
    warning: String, isUnknown: Bool
  ) {
    let answer = SetBundleDefaultsResponse(settings: [], warnings: [warning])
    #expect(LostSettings.isUnknown(in: answer) == isUnknown)
  }

  @Test(
    arguments: [
      (.invalidArgument, "/b/st is a link to /src/st; change the bundle there", .named([])),
      (.notFound, "there is no bundle \"st\"", .named([])),
      (.invalidArgument, "/b/st/bundle.yaml:1:1: unknown key", .unknown),
    ] as [(StatusCode, String, LostSettings.Answer)])
  func `a removal over the socket does not claim settings that may not exist`(
    code: StatusCode, message: String, answer: LostSettings.Answer
  ) {
    let error = ClientError.status(RPCStatus(code: code, message: message))
    #expect(LostSettings.answer(to: error) == answer)
    #expect(
      LostSettings.warning(removing: "st", answer)
        == (answer == .unknown
          ? "if you have set settings of bundle st with `widgetctl bundle set`, they are deleted, too"
          : nil))
    #expect(
      LostSettings.warning(removing: "st", .hidden)?.hasSuffix(
        "for bundle st cannot be named, and are deleted with the bundle") == true)
  }

  @Test func `a removal that needs --force names the values first`() throws {
    let entry = LostValues.Entry(
      widget: Samples.id("w"),
      field: FieldOwner(path: "data.n", owner: "user 4000000000", declared: .int(4)), bundle: "st")
    let settings = try #require(LostSettings(of: "st", ["unit": .string("F")]))
    let losses = BundleLosses(values: [entry], settings: [settings])
    let words = "the removal would delete files that you wrote into /all: st/a; move them elsewhere"
    let failure = CommandFailure(.invalidArgument, words)
    let refusal = losses.named(in: failure)
    #expect(refusal.exit == .refused)
    #expect(
      refusal.message
        == "\(words)\nWith --force:\n  w: data.n would be gone with the widget: it is 4, set by "
        + "user 4000000000\n  the settings of bundle st that you have set would be deleted: "
        + "unit = F")
    #expect(losses.of(["other"]).named(in: failure).message == words)
    let other = CommandFailure(.notFound, "there is no bundle \"st\"")
    #expect(losses.named(in: other) == other)
  }

  @Test func `a hidden or moved widget loses that, too`() {
    var widget = Samples.widget
    widget.applySet = "bundle/top"
    widget.presence.isVisible = false
    let owners = [
      FieldOwner(path: "position", owner: "user 4000000000"),
      FieldOwner(path: "visible", owner: "user 4000000000"),
      FieldOwner(path: "data.gone", owner: "user 4000000000"),
    ]
    #expect(
      LostValues.text(LostValues.entries(of: widget, owners))
        == "  clock: position is gone with the"
        + " widget: it was set by user 4000000000\n  clock: visible is gone with the widget: it was"
        + " false, set by user 4000000000\n")
  }
}
