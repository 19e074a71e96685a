import Testing
import WidgetBundle
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

/// The values of events and actions that stay when a version changes a default.
struct KeptDefaultTests {
  private func version(_ n: Int, widget: String = "{kind: gauge}") throws -> Bundle {
    try BundleReader.read(
      """
      {bundle: b, format: 1, version: 1.0.0, widgets: {g: \(widget)},
       kinds: {gauge: {data: {n: \(n), read: \(n), same: 1}, content: {label: x},
         sources: {clock: {timer: 1s, set: {read: '1'}}}}}}
      """)
  }

  private func kept(
    _ data: ValueMap, owners: [FieldOwner] = [], by next: Bundle
  ) throws -> [BundleOutlook.KeptField] {
    let known = TaggedWidget(
      widget: Widget(
        id: Samples.id("g"), kind: Samples.kind("gauge"), data: data, applySet: "bundle/b"),
      owners: owners)
    return BundleOutlook.keptUnrecorded(
      next.widgets[0], known, next.kinds[0], before: try version(20).kinds[0].kind)
  }

  @Test func `a value that an event has set is named before an installation`() throws {
    let data: ValueMap = ["n": .int(1), "read": .int(1), "same": .int(5)]
    let found = try kept(data, by: try version(30))
    #expect(
      found.map(\.text) == [
        "! widget g: data.n stays 1, which an event or an action set; the default is 30; "
          + "`widgetctl set g --unset n` sets the field to the default"
      ])
    #expect(
      found.map(\.news) == [
        "widget g keeps the value of data.n that an event or an action set; the new default is 30; "
          + "`widgetctl set g --unset n` sets the new default"
      ])
  }

  @Test func `fields that follow the version, or have an owner, are not named`() throws {
    let next = try version(30)
    for value in [20, 30] as [Int64] { #expect(try kept(["n": .int(value)], by: next).isEmpty) }
    #expect(try kept(["n": .string("x")], by: next).isEmpty)
    #expect(try kept(["n": .int(1)], by: try version(20)).isEmpty)
    let user = FieldOwner(path: "data.n", owner: "user 77")
    #expect(try kept(["n": .int(1)], owners: [user], by: next).isEmpty)
    let declaring = try version(30, widget: "{kind: gauge, data: {n: 4}}")
    #expect(try kept(["n": .int(1)], by: declaring).isEmpty)
  }

  /// A user's parameter has an owner. No file declares it, so nobody can get it back.
  @Test func `the advice for a default of a parameter unsets the parameter`() throws {
    func shape(_ city: String) -> Kind {
      Kind(
        name: Samples.kind("gauge"),
        parameters: [Field(name: "city", type: .string, defaultValue: .string(city))])
    }
    let known = TaggedWidget(
      widget: Widget(
        id: Samples.id("g"), kind: Samples.kind("gauge"), parameters: ["city": .string("Rome")]),
      owners: [FieldOwner(path: "parameters.city", owner: "user 77")])
    let found = BundleOutlook.kept(
      WidgetSpec(id: Samples.id("g"), kind: Samples.kind("gauge")), known, shape("Bergen"),
      by: "bundle/b", before: shape("Oslo"))
    #expect(found.count == 1)
    #expect(
      found.first?.text.hasSuffix(
        "`widgetctl set g --unset-param city` sets the field to the default") == true)
  }
}
