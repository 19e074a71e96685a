import Testing
import WidgetBundle
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

/// The widgets and kinds of the daemon that concern a bundle.
struct BundleOutlookTests {
  private func kind(_ name: String = "gauge") throws -> KindName { try #require(KindName(name)) }

  @Test func `a kind of another bundle is reported with that bundle`() throws {
    let remark = try BundleOutlook.claimed(kind(), by: "bundle/first")
    #expect(remark.path == "kinds.gauge")
    #expect(
      remark.text
        == "kind \"gauge\" belongs to bundle first, so the daemon refuses this bundle; rename the"
        + " kind, or remove it from the file of that bundle")
    #expect(remark.isRefusal)
    #expect(
      try BundleOutlook.claimed(kind(), by: "gauges").text
        == "kind \"gauge\" belongs to the set or provider gauges, so the daemon refuses this bundle;"
        + " rename the kind, or remove it with `widgetctl rm-kind gauge`")
    #expect(
      try BundleOutlook.claimed(kind(), by: "default").message.contains(
        "belongs to the set default, so the daemon"))
  }

  @Test func `a bundle is not refused because of the bundle that it replaces`() throws {
    let outlook = BundleOutlook(
      remarks: [
        try BundleOutlook.claimed(kind("clock"), by: "bundle/desk2"),
        try BundleOutlook.claimed(kind(), by: "bundle/first"),
        try BundleOutlook.claimed(kind("note"), by: "gauges"),
      ])
    #expect(outlook.refusals(replacing: "desk2") == outlook.remarks.dropFirst().map(\.text))
    #expect(outlook.refusals(replacing: "desk").count == 3)
  }

  @Test(arguments: [
    ("bundle/first", "changes its kind from \"bar\" to \"gauge\": a new widget replaces it"),
    ("bundle/second", "has the kind \"bar\" and belongs to bundle second, so the daemon refuses"),
    ("", "has the kind \"bar\" and was created by another program, so the daemon refuses"),
  ])
  func `a widget of another kind is replaced if the bundle owns it, else reported`(
    owner: String, words: String
  ) throws {
    let id = try #require(WidgetID("w"))
    let spec = WidgetSpec(id: id, kind: try kind())
    let same = Widget(id: id, kind: try kind(), applySet: owner)
    #expect(BundleOutlook.replaced(spec, same, by: "bundle/first") == nil)
    let other = Widget(id: id, kind: try kind("bar"), applySet: owner)
    let remark = try #require(BundleOutlook.replaced(spec, other, by: "bundle/first"))
    #expect(remark.path == "widgets.w")
    #expect(remark.message.contains(words))
  }

  @Test func `a widget of another bundle is reported, with the way to keep its values`() throws {
    func taken(_ set: String) throws -> BundleOutlook.Remark? {
      BundleOutlook.taken(
        Widget(id: Samples.id("w"), kind: try kind(), applySet: set), by: "bundle/b")
    }
    let remark = try #require(try taken("bundle/a"))
    #expect(remark.isRefusal && remark.path == "widgets.w")
    #expect(
      remark.text
        == "widget \"w\" belongs to bundle a, so the daemon refuses this bundle; give this "
        + "bundle's widget another id, or delete the widget from the file of that bundle. This bundle "
        + "then takes the widget over, with the values that users set; `widgetctl get w --owners` "
        + "shows these values")
    #expect(try taken("bundle/b") == nil)
    // The host refuses the bundle for these, too.
    let others = [("", "was created by another program"), ("panel", "belongs to the set panel")]
    for (set, words) in others {
      let remark = try #require(try taken(set))
      #expect(remark.isRefusal)
      #expect(remark.message == "widget \"w\" \(words), so the daemon refuses this bundle")
      #expect(remark.hint.hasSuffix("| widgetctl apply --set bundle/b -f -`"))
    }
  }

  /// A widget of bundle `a` that waits for its removal, with the words of the host.
  private func waiting(isStale: Bool = true, advice: String = WidgetOffer.advice) throws -> Widget {
    var widget = Widget(id: Samples.id("w"), kind: try kind(), applySet: "bundle/a")
    widget.isStale = isStale
    widget.error = WidgetError(
      reason: WidgetOffer.reason,
      message: "the file of bundle a no longer has this widget; undo that by 2026-01-01T00:00:00Z, "
        + "or \(advice); otherwise it is removed with the values that users, events or actions "
        + "have set: data.n")
    return widget
  }

  @Test func `a widget that another bundle gives up is taken over, as the host does it`() throws {
    let remark = try #require(BundleOutlook.taken(try waiting(), by: "bundle/b"))
    #expect(!remark.isRefusal)
    #expect(
      remark.text
        == "bundle a has given up the widget \"w\", so this bundle takes it over; the values that "
        + "users have set stay; `widgetctl get w --owners` shows them")
    let undone = try waiting(isStale: false)
    let replaced = try waiting(advice: "the widget is removed")
    for widget in [undone, replaced] {
      #expect(BundleOutlook.taken(widget, by: "bundle/b")?.isRefusal == true)
    }
  }

  @Test func `a widget of another kind that another bundle gives up must go first`() throws {
    let spec = WidgetSpec(id: Samples.id("w"), kind: try kind("bar"))
    let remark = try #require(BundleOutlook.replaced(spec, try waiting(), by: "bundle/b"))
    #expect(remark.isRefusal)
    #expect(
      remark.message
        == "bundle a has given up the widget \"w\" (kind \"gauge\"). The daemon refuses this bundle "
        + "until the widget is removed")
    #expect(remark.hint.contains("give the bundle's widget the kind \"gauge\""))
  }

  @Test func `the values that a widget loses with its kind are named`() throws {
    let spec = WidgetSpec(id: Samples.id("w"), kind: try kind("bar"))
    let known = Widget(id: Samples.id("w"), kind: try kind(), applySet: "bundle/b")
    func hint(_ paths: [String]) -> String? {
      BundleOutlook.replaced(spec, known, by: "bundle/b", losing: paths)?.hint
    }
    // Another id for the widget would take the old one from the file, with its values.
    #expect(
      hint(["data.n", "labels.x"])
        == "the installation deletes the values that users or actions have set on it: data.n, "
        + "labels.x; to keep them, leave the widget in the file with its former kind, and add a new widget with "
        + "another id")
    #expect(hint([]) == "users and actions have set no values on it")
    #expect(
      BundleOutlook.replaced(spec, known, by: "bundle/b", hidesValues: true)?.hint
        == "users have set no values on it; events or actions may have")
  }

  @Test func `the values of the former file are no values of others after a change of the id`()
    throws
  {
    let widget = Widget(
      id: Samples.id("w"), kind: try kind(), data: ["a": .int(1), "b": .int(1)],
      applySet: "bundle/old")
    let known = TaggedWidget(
      widget: widget,
      owners: [
        FieldOwner(path: "data.a", owner: "bundle/old"),
        FieldOwner(path: "data.b", owner: "user 77"),
      ])
    let spec = WidgetSpec(id: widget.id, kind: try kind(), data: ["a": .int(2), "b": .int(2)])
    let moved = BundleOutlook.handedOver(known, from: ["bundle/old"], to: "bundle/new")
    #expect(BundleOutlook.lost(with: moved, of: "bundle/new") == ["data.b = 1"])
    let kept = BundleOutlook.kept(spec, moved, nil, by: "bundle/new")
    #expect(kept.map(\.owner.path) == ["data.b"])
    #expect(BundleOutlook.handedOver(known, from: ["bundle/older"], to: "bundle/new") == known)
  }

  @Test func `a clash that the daemon reports is not reported by the installer, too`() throws {
    let bundle = try bundle(ofKind: "clock")
    let clash = "has a kind \"clock\", too, so the daemon refuses one of the two bundles; rename"
    let warnings = [
      "bundle \"a\" \(clash) the kind in one of them",
      "bundle \"a\" has a widget \"w\", too, so the daemon refuses one of the two bundles",
    ]
    let outlook = BundleOutlook(remarks: [BundleOutlook.claimed(try kind("clock"), by: "bundle/a")])
    #expect(outlook.refined(warnings, of: bundle) == [warnings[1]])
    #expect(BundleOutlook().refined(warnings, of: bundle) == warnings)
    // The daemon names another owner.
    for owner in ["bundle/c", "panel"] {
      let other = BundleOutlook(remarks: [BundleOutlook.claimed(try kind("clock"), by: owner)])
      #expect(other.refined(warnings, of: bundle) == warnings)
    }
  }

  @Test(arguments: [
    ("bundle/a", "remove the other widget from the file of that bundle. Its removal deletes the"),
    ("default", "remove the other widget with `widgetctl rm w`. Its removal deletes the"),
  ])
  func `the remedy for a widget of another kind works for its owner`(
    owner: String, words: String
  ) throws {
    let spec = WidgetSpec(id: Samples.id("w"), kind: try kind())
    let known = Widget(id: Samples.id("w"), kind: try kind("bar"), applySet: owner)
    let remark = try #require(BundleOutlook.replaced(spec, known, by: "bundle/b"))
    #expect(remark.isRefusal && remark.hint.hasSuffix("\(words) values that users set on it"))
  }

  @Test func `a widget that leaves the bundle with values of users is named`() throws {
    let id = try #require(WidgetID("c2"))
    func known(_ set: String, _ owners: [FieldOwner]) throws -> TaggedWidget {
      TaggedWidget(
        widget: Widget(
          id: id, kind: try kind(), data: ["v": .int(1), "w": .int(2)], applySet: set),
        owners: owners)
    }
    let set = "bundle/first"
    let mine = FieldOwner(path: "data.v", owner: "user 1000")
    let files = FieldOwner(path: "data.w", owner: set)
    let leaving = try known(set, [mine, files])
    let remark = try #require(BundleOutlook.removed(leaving, keeping: [], by: set))
    #expect(remark.path == "widgets.c2")
    #expect(
      remark.text
        == "the bundle no longer has the widget \"c2\". Users or actions have set these values on "
        + "it: data.v = 1; the installation deletes the widget and these values at once, because no "
        + "other installed bundle has the widget; to keep the values, leave the widget in the file, "
        + "or add it to the file of another bundle before the installation, with the kind gauge")
    #expect(BundleOutlook.removed(leaving, keeping: [id], by: set) == nil)
    #expect(BundleOutlook.removed(try known(set, [files]), keeping: [], by: set) == nil)
    #expect(BundleOutlook.removed(try known("", [mine]), keeping: [], by: set) == nil)
    // The provider of the kind sets its values again.
    let provided = FieldOwner(path: "data.v", owner: "provider feed")
    #expect(BundleOutlook.removed(try known(set, [provided]), keeping: [], by: set) == nil)
  }

  @Test(arguments: [
    ("gauge", "bundle n has the widget with the same kind. If the daemon accepts that bundle, the"),
    ("bar", "bundle n has the widget with the kind bar, so the installation deletes the widget"),
  ])
  func `a widget that another bundle has, too, is lost or taken over`(
    kind: String, words: String
  ) throws {
    let id = Samples.id("w")
    let known = TaggedWidget(
      widget: Widget(id: id, kind: try self.kind(), data: ["v": .int(1)], applySet: "bundle/m"),
      owners: [FieldOwner(path: "data.v", owner: "user 1000")])
    var others = InstalledWidgets()
    others.add(
      try BundleReader.read(
        "{bundle: n, format: 1, version: 1.0.0, kinds: {\(kind): {}}, widgets: {w: {kind: \(kind)}}}"
      ))
    let remark = BundleOutlook.removed(known, keeping: [], by: "bundle/m", beside: others)
    #expect(remark?.hint.hasPrefix(words) == true)
  }

  @Test func `a bundle whose file cannot be read may have the widget`() throws {
    let known = TaggedWidget(
      widget: Widget(
        id: Samples.id("w"), kind: try kind(), data: ["v": .int(1)], applySet: "bundle/m"),
      owners: [FieldOwner(path: "data.v", owner: "user 1000")])
    func shown(_ bundle: String) -> Widget {
      var widget = Samples.widget
      widget.id = Samples.id("bundle/\(bundle)")
      widget.data = ["path": .string("/nonexistent/\(bundle)")]
      return widget
    }
    let others = InstalledWidgets(besides: "m", [shown("z"), shown("m"), shown("n")], in: nil)
    #expect(others.unread == ["n", "z"])
    let remark = BundleOutlook.removed(known, keeping: [], by: "bundle/m", beside: others)
    #expect(
      remark?.hint.hasPrefix(
        "this command cannot read the files of the bundles n, z. If none of these bundles has the "
          + "widget with the kind gauge, the installation deletes the widget and these values at "
          + "once. To keep the values, ") == true)
    let one = InstalledWidgets(besides: "m", [shown("z")], in: nil)
    let hint = BundleOutlook.removed(known, keeping: [], by: "bundle/m", beside: one)?.hint
    #expect(
      hint?.hasPrefix(
        "this command cannot read the file of bundle z. If that bundle does not have the widget with "
          + "the kind gauge, the installation deletes the widget and these values at once. ")
        == true)
  }

  @Test func `a second copy of a bundle is no bundle that cannot be read`() {
    var copy = Samples.widget
    copy.id = Samples.id("bundle/z-2")
    copy.data = [
      "path": .string("/nonexistent/z"),
      "problem": .string("bundle z runs from /b/z, so /nonexistent/z does not run; remove it"),
    ]
    #expect(InstalledWidgets(besides: "m", [copy], in: nil).unread == [])
  }

  @Test func `widgets of others are counted, and the first are named`() throws {
    #expect(try BundleOutlook.shared(kind(), [], isRegistered: false) == nil)
    let one = try BundleOutlook.shared(kind(), ["cpu"], isRegistered: false)
    #expect(
      one?.text
        == "1 widget of kind \"gauge\" that others created gets the fields and the content of the "
        + "bundle's kind: cpu; the owners stay; to keep the widgets as they are, rename the kind")
    #expect(
      try BundleOutlook.shared(kind(), ["cpu"], isRegistered: true)?.message
        == "1 widget of kind \"gauge\" that others created follows the bundle: cpu")
    let many = try BundleOutlook.shared(
      kind(), (1...7).reversed().map { "w\($0)" }, isRegistered: true)
    #expect(
      many?.message
        == "7 widgets of kind \"gauge\" that others created follow the bundle: "
        + "w1, w2, w3, w4, w5, …")
  }

  @Test func `a field with another owner and another value is reported as kept`() throws {
    let id = try #require(WidgetID("g"))
    let spec = WidgetSpec(
      id: id, kind: try kind(), labels: ["on": "1"],
      data: ["a": .int(1), "b": .int(2), "c": .int(3), "d": .int(4)])
    let widget = Widget(
      id: id, kind: try kind(), labels: ["on": "2"],
      data: ["a": .int(9), "b": .int(9), "c": .int(3), "d": .double(4)])
    let known = TaggedWidget(
      widget: widget,
      owners: [
        FieldOwner(path: "data.a", owner: "user 77", manager: "bundle/b", declared: .int(0)),
        FieldOwner(path: "data.b", owner: "bundle/b"),
        FieldOwner(path: "data.c", owner: "user 77"), FieldOwner(path: "data.d", owner: "user 77"),
        FieldOwner(path: "data.x", owner: "user 77"),
        FieldOwner(path: "labels.on", owner: "events of kind gauge"),
      ])
    let shape = Kind(name: try kind(), data: [Field(name: "d", type: .double)])
    let kept = BundleOutlook.kept(spec, known, shape, by: "bundle/b")
    #expect(kept.map(\.owner.path) == ["data.a", "labels.on"])
    #expect(kept.first?.value == .int(9) && kept.first?.declared == .int(1))
    #expect(
      kept.last?.text
        == "! widget g: labels.on stays \"2\", which events of kind gauge set; the file has \"1\"; "
        + "`widgetctl set g --release labels.on` gives the field the file's value")
  }

  @Test(arguments: [(FieldType.string, true), (.int, false)])
  func `a value that is set aside stays if it fits the kind of the bundle`(
    type: FieldType, isKept: Bool
  ) throws {
    let id = try #require(WidgetID("g"))
    let known = TaggedWidget(
      widget: Widget(id: id, kind: try kind(), data: ["a": .int(4)]),
      owners: [
        FieldOwner(path: "data.a", owner: "bundle/b"),
        FieldOwner(path: "data.a", owner: "user 77", declared: .string("mine")),
      ])
    let spec = WidgetSpec(
      id: id, kind: try kind(), data: ["a": type == .int ? .int(5) : .string("new")])
    let kept = BundleOutlook.kept(
      spec, known, Kind(name: try kind(), data: [Field(name: "a", type: type)]), by: "bundle/b")
    #expect(kept.map(\.value) == (isKept ? [.string("mine")] : []))
    #expect(
      kept.first.map { $0.text.contains("data.a becomes \"mine\" again, which ") }
        ?? !isKept)
    #expect(kept.allSatisfy { $0.former == nil })
  }

  @Test func `a new default is reported if a user has set another value`() throws {
    let id = try #require(WidgetID("g"))
    let widget = Widget(
      id: id, kind: try kind(), data: ["a": .int(9), "b": .int(9), "c": .int(2)])
    let known = TaggedWidget(
      widget: widget,
      owners: ["a", "b", "c"].map { FieldOwner(path: "data.\($0)", owner: "events of kind gauge") })
    func shape(_ a: Int64) throws -> Kind {
      Kind(
        name: try kind(),
        data: [
          Field(name: "a", type: .int, defaultValue: .int(a)),
          Field(name: "b", type: .int, defaultValue: .int(5)),
          Field(name: "c", type: .int, defaultValue: .int(a)),
        ])
    }
    let kept = BundleOutlook.kept(
      WidgetSpec(id: id, kind: try kind()), known, try shape(2), by: "bundle/b",
      before: try shape(1))
    #expect(kept.map(\.owner.path) == ["data.a"])
    #expect(
      kept.first?.news
        == "widget g keeps the value of data.a that events of kind gauge set; the new default is 2;"
        + " `widgetctl set g --unset a` sets the new default")
    #expect(
      kept.first?.text
        == "! widget g: data.a stays 9, which events of kind gauge set; the default is 2;"
        + " `widgetctl set g --unset a` sets the field to the default")
    let same = BundleOutlook.kept(
      WidgetSpec(id: id, kind: try kind()), known, try shape(1), by: "bundle/b",
      before: try shape(1))
    #expect(same.isEmpty)
  }

  @Test func `the list of bundles names widgets that others made`() {
    func standing(_ state: String, _ problem: String, others: Int64) -> BundleStanding {
      var widget = Samples.widget
      widget.data = [
        "state": .string(state), "problem": .string(problem), "others": .int(others),
        "othersFirst": .list([.string("a"), .string("b")]),
      ]
      return BundleStanding(widget)
    }
    let two = standing("running", "", others: 2)
    #expect(two.text == "running, +2 of others: a, b")
    #expect(two.othersText == ", +2 of others: a, b")
    #expect(standing("running", "", others: 0).othersText.isEmpty)
    let six = standing("failing", "x", others: 6)
    #expect(six.text == "failing: x, +6 of others: a, b, …")
  }

  @Test(arguments: [("failed", true, true), ("failed", false, false), ("running", true, false)])
  func `the list of bundles says that the previous version of a failed bundle runs`(
    state: String, runs: Bool, isTold: Bool
  ) {
    var widget = Samples.widget
    widget.data = ["state": .string(state), "problem": .string("x"), "runs": .bool(runs)]
    let told = isTold ? "\(state), the previous version runs: x" : "\(state): x"
    #expect(BundleStanding(widget).text == told)
  }

  private func bundle(ofKind kind: String) throws -> Bundle {
    try BundleReader.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds: {clock: {}}\n"
        + "widgets:\n  w: {kind: \(kind)}\n  v: {kind: clock}\n")
  }

  @Test(arguments: [
    ("weathr", "did you mean \"weather\"?"), ("clokc", "did you mean \"clock\"?"),
    ("smart-stak", "did you mean \"smart-stack\"?"),
    ("quite-other", "`widgetctl kinds` lists the kinds of all programs"),
  ])
  func `a missing kind is compared with the kinds of the bundle, the daemon and others`(
    kind: String, hint: String
  ) throws {
    let bundle = try bundle(ofKind: kind)
    let outlook = BundleOutlook(otherKinds: [try self.kind("weather")])
    let remark = try #require(outlook.remarks(of: bundle).first)
    #expect(outlook.remarks(of: bundle).count == 1)
    #expect(remark.line == 6 && remark.hint == hint)
    let words = "no bundle or program provides the kind \"\(kind)\", so the widget shows its data"
    #expect(remark.message.hasPrefix(words))
    #expect(outlook.missingKinds(of: bundle, file: "f") == ["f:\(remark)"])
    // The warning of the installer is replaced.
    let before = ["x", "f:\(bundle.remarks[0])"]
    #expect(outlook.refined(before, of: bundle) == ["x", "f:\(remark)"])
  }

  @Test func `a kind of another program causes no warning`() throws {
    let bundle = try bundle(ofKind: "weather")
    let outlook = BundleOutlook(otherKinds: [try kind("weather")])
    #expect(bundle.remarks.count == 1)
    #expect(outlook.remarks(of: bundle).isEmpty)
    #expect(outlook.missingKinds(of: bundle, file: "f").isEmpty)
    #expect(outlook.refined(["f:\(bundle.remarks[0])", "x"], of: bundle) == ["x"])
  }

  @Test func `a bundle that runs from another folder is named`() {
    func rival(_ path: String?, isRefused: Bool = false, _ host: BundleHost) -> String? {
      let holder = path.map { BundleStanding.Holder(path: $0, isRefused: isRefused) }
      return BundleStanding.rival(of: "cnt", holder, installedIn: "/l", host)
    }
    let host = BundleHost.running(folders: ["/l", "/e"])
    let text = rival("/e/cnt", host)
    #expect(text?.contains("runs bundle cnt from /e/cnt") == true)
    #expect(text?.contains("widgetctl bundle rm cnt --dir /e") == true)
    #expect(
      rival("/e/cnt", isRefused: true, host)
        == "widgetd-host uses bundle cnt in /e/cnt, which the daemon refuses, so the version in /l "
        + "does not run; remove the other one with `widgetctl bundle rm cnt --dir /e`, or install "
        + "with --dir /e")
    #expect(rival("/e/old", host)?.contains("widgetctl bundle rm cnt --dir /e") == true)
    #expect(rival("/e/Old", host)?.contains("widgetctl bundle rm Old --dir /e") == true)
    #expect(rival("/l/cnt", host) == nil && rival(nil, host) == nil)
    // The host has lost the other folder, or runs no more.
    #expect(rival("/e/cnt", .running(folders: ["/l"])) == nil)
    #expect(rival("/e/cnt", .missing(former: ["/l", "/e"])) == nil)
  }

  @Test func `changed settings of a bundle that runs from another folder have no effect`() {
    func words(_ place: String?, isRemote: Bool = false) -> String? {
      BundleStanding.warning(
        setting: "cnt", in: "/l", running: place, .running(folders: ["/l", "/e"]),
        isRemote: isRemote)
    }
    let start = "widgetd-host runs bundle cnt from /e, so the values in /l have no effect; "
    #expect(words("/e") == start + "use --dir /e")
    #expect(
      words("/e", isRemote: true)
        == start + "on the host's machine, use --dir /e instead of --remote")
    #expect(words("/l") == nil && words(nil) == nil && words("/gone") == nil)
  }
}
