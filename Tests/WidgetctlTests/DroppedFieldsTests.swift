import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

struct DroppedFieldsTests {
  /// A widget with the label `panel` and the parameter `zone`.
  private static let before = Samples.widget

  private func text(_ spec: WidgetSpec, _ action: ApplyAction = .updated) -> String {
    DroppedFields([spec], before: [Self.before], [])
      .text([ApplyResult(id: Self.before.id, action: action)])
  }

  @Test func `labels and parameters that the file does not declare are named`() {
    let bare = WidgetSpec(id: Self.before.id, kind: Self.before.kind)
    #expect(
      text(bare) == """
          clock: labels.panel is removed, because the file does not declare it: it was "top"
          clock: parameters.zone is removed, because the file does not declare it: it was "UTC"
          `apply --own` keeps labels and parameters that users have set

        """)
    #expect(text(bare, .unchanged) == "")
    let dropped = DroppedFields([bare], before: [Self.before], [])[Self.before.id]
    #expect(
      dropped.map(\.document).first
        == .map([
          "field": .string("labels.panel"), "value": .string("top"),
        ]))
  }

  @Test func `declared fields are not named`() {
    var spec = WidgetSpec(id: Self.before.id, kind: Self.before.kind, labels: ["panel": "left"])
    spec.parameters = ["zone": .null]
    #expect(text(spec) == "")
    #expect(DroppedFields([], before: [Self.before], [])[Self.before.id].isEmpty)
  }

  @Test func `very many fields are counted`() {
    var widget = Self.before
    widget.labels = Labels((0...DroppedFields.most).map { (key: "l\($0)", value: "x") })
    let spec = WidgetSpec(id: widget.id, kind: widget.kind)
    let lines = DroppedFields([spec], before: [widget], [])
      .text([ApplyResult(id: widget.id, action: .updated)]).split(separator: "\n")
    #expect(lines.count == DroppedFields.most + 2)
    #expect(lines[DroppedFields.most] == "  and 2 more labels and parameters")
  }

  @Test(arguments: [("UTC", nil), ("CET", "gets its default \"CET\"")] as [(String, String?)])
  func `a parameter gets its default`(value: String, change: String?) {
    let kind = Kind(
      name: Self.before.kind,
      parameters: [Field(name: "zone", type: .string, defaultValue: .string(value))])
    let spec = WidgetSpec(
      id: Self.before.id, kind: Self.before.kind, labels: Self.before.labels)
    let dropped = DroppedFields([spec], before: [Self.before], [kind])[Self.before.id]
    #expect(dropped.map(\.change) == [change].compactMap(\.self))
  }
}
