import Testing
import WidgetBundle
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

/// The values of actions that are lost with a widget of a bundle.
@Suite struct BundleLossTests {
  /// The daemon records no owner of `items`, because the file does not declare it.
  @Test func `a widget that leaves with values of actions is named`() throws {
    let bundle = try BundleReader.read(
      """
      {bundle: todo, format: 1, version: 1.0.0,
       kinds: {gauge: {data: {items: [], now: 0}, content: {label: x},
         sources: {clock: {timer: 1s, set: {now: '1'}}}}},
       widgets: {td1: {kind: gauge}}}
      """)
    let set = "bundle/todo"
    let known = TaggedWidget(
      widget: Widget(
        id: Samples.id("td1"), kind: Samples.kind("gauge"),
        data: ["items": .list([.string("Milk")]), "now": .int(1)], applySet: set))
    let rules = LossRules(bundle.kinds.map(\.kind), in: [bundle])
    let paths = BundleOutlook.lost(with: known, of: set, by: rules)
    #expect(paths == ["data.items = [\"Milk\"]"])
    #expect(BundleOutlook.lost(with: known, of: set) == [])
    func hint(_ arrival: BundleOutlook.Arrival, _ others: InstalledWidgets? = nil) -> String? {
      BundleOutlook.removed(
        known, keeping: [], by: set, beside: others ?? InstalledWidgets(), arrival: arrival,
        losing: paths)?.hint
    }
    #expect(
      hint(.installation)
        == "the installation deletes the widget and these values at once, because no other installed "
        + "bundle has the widget; to keep the values, leave the widget in the file, or add it to the "
        + "file of another bundle before the installation, with the kind gauge")
    // The host keeps the widget for 30 seconds, as for values of users.
    #expect(
      hint(.edit)
        == "widgetd-host deletes the widget and these values 30 seconds after it has read the file, "
        + "because no other installed bundle has the widget; to keep the values, put the widget back "
        + "into the file, or add it to the file of another bundle, with the kind gauge; "
        + "`widgetctl get td1 --field error` has the time of the removal")
    var others = InstalledWidgets()
    others.add(
      try BundleReader.read(
        "{bundle: n, format: 1, version: 1.0.0, kinds: {gauge: {}}, widgets: {td1: {kind: gauge}}}"
      ))
    #expect(
      hint(.installation, others)
        == "bundle n has the widget with the same kind. If the daemon accepts that bundle, the values "
        + "stay")
  }

  @Test func `one listing gives the lost values and the warnings about further values`() throws {
    let bundle = try BundleReader.read(
      "{bundle: desk, format: 1, version: 1.0.0, kinds: {gauge: {data: {n: 0, text: a}, "
        + "content: {label: x}}}, widgets: {w: {kind: gauge}}}")
    let kind = bundle.kinds[0].kind
    let widget = Widget(
      id: Samples.id("w"), kind: kind.name, data: ["n": .int(3), "text": .string("mine")],
      applySet: "bundle/desk")
    let mine = FieldOwner(path: "data.text", owner: "user 77")
    let widgets = [TaggedWidget(widget: widget, owners: [mine])]
    let unread = LossRules([kind], in: [])
    let survey = LostValues.survey(of: [("desk", widgets)], by: ["desk": unread])
    #expect(survey.values.contains { $0.field.path == "data.text" && $0.kind == kind.name })
    let gap = try #require(unread.gap(in: widgets, of: "desk"))
    #expect(survey.gaps == ["desk": gap])
    let read = LossRules([kind], in: [bundle])
    #expect(LostValues.survey(of: [("desk", widgets)], by: ["desk": read]).gaps.isEmpty)
  }

  @Test func `a list of lost values that is incomplete says so`() throws {
    let bundle = try BundleReader.read(
      "{bundle: desk, format: 1, version: 1.0.0, kinds: {gauge: {data: {n: 0, text: a}, "
        + "content: {label: x}}}, widgets: {w: {kind: gauge}}}")
    let kind = bundle.kinds[0].kind
    func gap(_ data: ValueMap, _ rules: LossRules) -> String? {
      let widget = Widget(
        id: Samples.id("w"), kind: kind.name, data: data, applySet: "bundle/desk")
      let mine = FieldOwner(path: "data.text", owner: "user 77")
      return rules.gap(in: [TaggedWidget(widget: widget, owners: [mine])], of: "desk")
    }
    let changed: ValueMap = ["n": .int(3), "text": .string("mine")]
    let start = "values that buttons, forms and events may have set on w cannot be named, because "
    #expect(gap(changed, LossRules([kind], in: [bundle])) == nil)
    #expect(
      gap(changed, LossRules([kind], in: []))
        == start + "the file of bundle desk cannot be read")
    // The file has the fields, and the daemon may have had further ones.
    #expect(gap(changed, LossRules([], in: [bundle])) == nil)
    #expect(
      gap(["old": .int(3), "status": .map([:])], LossRules([], in: [bundle]))
        == start + "the daemon does not have the kind \"gauge\"")
    #expect(gap(["status": .map([:])], LossRules([], in: [bundle])) == nil)
    let other = try BundleReader.read(
      "{bundle: desk, format: 1, version: 1.0.0, kinds: {bar: {}}, widgets: {v: {kind: bar}}}")
    #expect(
      gap(changed, LossRules([kind], in: [other]))
        == start + "no readable file of bundle desk has the kind \"gauge\"")
    // Nobody has changed the other field.
    let fresh: ValueMap = ["n": .int(0), "text": .string("mine")]
    #expect(gap(fresh, LossRules([kind], in: [])) == nil)
    #expect(gap(["text": .string("mine")], LossRules([], in: [bundle])) == nil)
  }

  @Test func `values of a kind that no file has are named with the data of the host`() throws {
    let bundle = try BundleReader.read(
      "{bundle: desk, format: 1, version: 1.0.0, kinds: {gauge: {data: {n: 0, now: 0}, "
        + "content: {label: x}, sources: {clock: {timer: 1s, set: {now: '1'}}}}}, "
        + "widgets: {w: {kind: gauge}}}")
    let kind = bundle.kinds[0].kind
    let widget = Widget(
      id: Samples.id("w"), kind: kind.name, data: ["n": .int(3), "now": .int(5)],
      applySet: "bundle/desk")
    let state = Widget(
      id: Samples.id("bundle/desk"), kind: Samples.kind("bundle"),
      data: ["settable": SettableData(of: bundle).value], applySet: "widgetd-host")
    let settable = LossRules.settable(of: ["bundle/desk"], [widget, state])
    let going: [(bundle: String, widgets: [TaggedWidget])] = [
      ("desk", [TaggedWidget(widget: widget)])
    ]
    // The daemon may have lost the kind.
    #expect(
      LostValues.survey(of: going, by: ["desk": LossRules([], in: [bundle])]).values
        .map(\.field.path) == ["data.n"])
    for registered in [[kind], []] {
      let survey = LostValues.survey(
        of: going, by: ["desk": LossRules(registered, in: [], settable: settable)])
      #expect(survey.values.map(\.field.path) == ["data.n"])
      #expect(survey.gaps.isEmpty)
    }
    #expect(LossRules.settable(of: ["bundle/other"], [state]).names.isEmpty)
    // A file that has the kind decides.
    let stale: Value = .map(["gauge": .map(["now": .int(0)])])
    let read = LossRules([kind], in: [bundle], settable: SettableData(stale))
    let survey = LostValues.survey(of: going, by: ["desk": read])
    #expect(survey.values.map(\.field.path) == ["data.n"])
  }

  @Test func `widgets of others that lose their kind are named`() {
    func widget(_ id: String, _ set: String) -> Widget {
      Widget(id: Samples.id(id), kind: Samples.kind("meter"), applySet: set)
    }
    let meter = Samples.kind("meter")
    #expect(BundleOutlook.dropped(meter, leaving: []) == nil)
    let one = BundleOutlook.dropped(meter, leaving: [widget("w1", "bundle/wall")])
    #expect(one?.path == "kinds.meter")
    #expect(
      one?.text
        == "the bundle no longer has the kind \"meter\", so 1 widget of others keeps its data, but "
        + "loses its kind: w1 (bundle wall); the widget then shows its data as a table; to avoid "
        + "this, leave the kind in the file")
    let two = BundleOutlook.dropped(
      meter, leaving: [widget("b", ""), widget("a", "")], replacing: "bundle/other")
    #expect(
      two?.text
        == "the installation removes the kind \"meter\" of bundle other, so 2 widgets of others keep "
        + "their data, but lose their kind: a, b; the widgets then show their data as a table; to "
        + "avoid this, give the widgets another kind first")
  }
}
