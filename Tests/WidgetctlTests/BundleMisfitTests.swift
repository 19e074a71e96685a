import Testing
import WidgetBundle
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

/// The values of widgets that do not fit the kind of a version.
struct BundleMisfitTests {
  @Test func `values that do not fit the bundle's kind are named`() throws {
    let name = Samples.kind("gauge")
    let shape = Kind(
      name: name,
      data: [
        Field(name: "n", type: .string), Field(name: "m", type: .int),
        Field(name: "face", type: .string, choices: [.string("smile")]),
      ])
    let before = Kind(
      name: name, data: [Field(name: "n", type: .int, defaultValue: .int(1))])
    func widget(_ id: String, _ data: ValueMap) throws -> TaggedWidget {
      TaggedWidget(widget: Widget(id: try #require(WidgetID(id)), kind: name, data: data))
    }
    let widgets = [
      try widget("a", ["n": .int(2), "m": .int(3)]), try widget("b", ["n": .int(1)]),
      try widget("c", ["other": .bool(true), "n": .null]),
      try widget("d", ["face": .string("frown")]), try widget("e", ["face": .string("smile")]),
    ]
    let remark = try #require(BundleOutlook.misfits(shape, widgets, before: before))
    #expect(remark.message.hasPrefix("3 values do not fit the kind"))
    #expect(remark.message.hasSuffix(": a data.n, c data.other, d data.face"))
    #expect(
      remark.hint
        == "the daemon sets aside the values that users have set, and uses them again when they fit; "
        + "`widgetctl get ID --owners` shows these values")
    #expect(BundleOutlook.misfits(shape, [], before: before) == nil)
  }

  /// A version whose kind has these fields.
  private func version(_ data: String) throws -> Bundle {
    try BundleReader.read(
      """
      {bundle: fd, format: 1, version: 1.0.0,
       kinds: {fd.k: {data: {\(data)}, content: {label: x}}},
       widgets: {fdw: {kind: fd.k}}}
      """)
  }

  private func widget(_ former: Bundle) -> TaggedWidget {
    TaggedWidget(
      widget: Widget(
        id: Samples.id("fdw"), kind: former.kinds[0].kind.name,
        data: ["red": .int(3), "text": .string("mine")], applySet: "bundle/fd"),
      owners: [FieldOwner(path: "data.text", owner: "user 77")])
  }

  @Test func `values of events are lost, and those of users are set aside`() throws {
    let former = try version("red: 0, text: a")
    let next = try version("other: 0")
    let before = former.kinds[0].kind
    let rules = LossRules([before], in: [former])
    let remark = try #require(
      BundleOutlook.misfits(
        next.kinds[0].kind, [widget(former)], of: ["bundle/fd"], before: before, by: rules))
    #expect(
      remark.message
        == "2 values do not fit the kind \"fd.k\" of the bundle: fdw data.text; lost: fdw data.red = 3, "
        + "set by an event or an action")
    #expect(remark.hint.hasPrefix("the daemon sets aside the values that users have set, and uses"))
    #expect(
      remark.hint.hasSuffix("; to keep the lost value, leave its field in the kind as it is"))
  }

  /// The installed file, or the data that the host has left, have the fields of the former version.
  @Test func `values of a kind that is not registered are named as if it were`() throws {
    let former = try version("red: 0, text: a")
    let next = try version("other: 0")
    func remark(_ rules: LossRules) -> String? {
      BundleOutlook.misfits(
        next.kinds[0].kind, [widget(former)], of: ["bundle/fd"], before: nil, by: rules)?.message
    }
    let words =
      "2 values do not fit the kind \"fd.k\" of the bundle: fdw data.text; lost: fdw data.red = 3, "
      + "set by an event or an action"
    #expect(remark(LossRules([], in: [former, next])) == words)
    let host = SettableData(of: former)
    #expect(remark(LossRules([], in: [next], settable: host)) == words)
    // Before the installation of a version that keeps the field, there is nothing to name.
    #expect(
      BundleOutlook.misfits(
        former.kinds[0].kind, [widget(former)], of: ["bundle/fd"], before: nil,
        by: LossRules([], in: [former])) == nil)
  }

  @Test func `values of a kind that nobody has are named without their origin`() throws {
    let next = try version("other: 0")
    let rules = LossRules([], in: [next])
    func remark(_ known: TaggedWidget) -> BundleOutlook.Remark? {
      BundleOutlook.misfits(
        next.kinds[0].kind, [known], of: ["bundle/fd"], before: nil, by: rules)
    }
    let found = try #require(remark(widget(next)))
    #expect(
      found.message
        == "2 values do not fit the kind \"fd.k\" of the bundle: fdw data.text; lost: fdw "
        + "data.red = 3 (nobody knows who set it)")
    #expect(
      found.hint.hasSuffix(
        "the daemon does not have the kind \"fd.k\". Nobody knows whether an event, an action or a "
          + "source set this value, or whether it is an old default. To keep the value, give the "
          + "kind a field of this name and type"))
    var several = widget(next)
    several.owners = []
    #expect(
      remark(several)?.message.hasSuffix(
        "; lost: fdw data.red = 3, fdw data.text = \"mine\" (nobody knows who set them)") == true)
    #expect(
      remark(several)?.hint.hasSuffix("give the kind fields of these names and types") == true)
    // The new file sets its own values again, and the status is the host's.
    var own = widget(next)
    own.widget.data = ["red": .int(3), "status": .map([:])]
    own.owners = [FieldOwner(path: "data.red", owner: "bundle/fd")]
    #expect(remark(own) == nil)
  }

  /// The daemon sets all values of a widget aside that no bundle and no set with --own has declared.
  @Test func `the values of a widget with a record of owners are not said to be set aside`() throws
  {
    let former = try version("red: 0, text: a")
    let next = try version("other: 0")
    let before = former.kinds[0].kind
    func remark(_ set: String, _ owners: [FieldOwner] = []) -> BundleOutlook.Remark? {
      var known = widget(former)
      (known.widget.applySet, known.owners) = (set, owners)
      return BundleOutlook.misfits(
        next.kinds[0].kind, [known], of: ["bundle/fd"], before: before,
        by: LossRules([before], in: [former]))
    }
    let both = "2 values do not fit the kind \"fd.k\" of the bundle"
    func aside(_ owner: String) -> FieldOwner {
      FieldOwner(path: "data.old", owner: owner, declared: .int(1))
    }
    #expect(remark("")?.message == "\(both): fdw data.red, fdw data.text")
    #expect(
      remark("panel", [aside(FieldOwner.earlier)])?.message
        == "\(both): fdw data.red, fdw data.text")
    // The record of a declared widget without fields is empty.
    let doubtful = try #require(remark("panel"))
    #expect(doubtful.message == "\(both); may be lost: fdw data.red = 3, fdw data.text = \"mine\"")
    #expect(
      doubtful.hint
        == "if `widgetctl apply --own` has declared the widget, such a value is lost. Otherwise, "
        + "the daemon sets it aside. To keep the value, leave its field in the kind as it is")
    // Only a declared widget has values of users that are set aside.
    #expect(
      remark("panel", [aside("user 77")])?.message
        == "\(both); lost: fdw data.red = 3, fdw data.text = \"mine\", set by an event or an "
        + "action")
  }

  @Test func `a value of an event is not said to be set aside`() throws {
    let former = try version("red: 0, text: a")
    let next = try version("text: a")
    let before = former.kinds[0].kind
    let remark = try #require(
      BundleOutlook.misfits(
        next.kinds[0].kind, [widget(former)], of: ["bundle/fd"], before: before,
        by: LossRules([before], in: [former])))
    #expect(
      remark.text
        == "1 value does not fit the kind \"fd.k\" of the bundle; lost: fdw data.red = 3, set by an "
        + "event or an action; to keep the lost value, leave its field in the kind as it is")
  }

  @Test func `a rollback names the values that do not fit the restored version`() throws {
    let former = try version("red: 0, text: a")
    let known = widget(former)
    let rules = LossRules([former.kinds[0].kind], in: [former])
    let values = LostValues.entries(of: known.widget, known.owners, by: rules).map { entry in
      var entry = entry
      entry.kind = known.widget.kind
      return entry
    }
    #expect(BundleOutlook.misfits(values, restored: former).isEmpty)
    // The same rollback over the socket. An older host does not tell the kinds.
    let kinds = try version("text: a").kinds.map(\.kind)
    let answers = [kinds, []].map { kinds in
      RollbackBundleResponse(
        bundle: InstalledBundle(
          id: "fd", version: "1.0.0", kinds: ["fd.k"], widgets: ["fdw"], widgetKinds: ["fd.k"]),
        kinds: kinds)
    }
    #expect(
      answers.map { BundleRemote.misfits(with: $0, of: "fd", values) } == [
        [
          "1 value does not fit the kind \"fd.k\" of the bundle; lost: fdw data.red = 3, set by an "
            + "event or an action"
        ], [],
      ])
    #expect(BundleRemote.misfits(with: answers[0], of: "other", values).isEmpty)
    #expect(
      BundleOutlook.misfits(values, restored: try version("text: a")) == [
        "1 value does not fit the kind \"fd.k\" of the bundle; lost: fdw data.red = 3, set by an "
          + "event or an action"
      ])
    #expect(
      BundleOutlook.misfits(values, restored: try version("other: 0")).first?.hasPrefix(
        "2 values do not fit the kind \"fd.k\" of the bundle: fdw data.text; lost: fdw data.red = 3, "
      ) == true)
  }
}
