import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

/// Values that are gone with a widget of a set that has no record of owners.
@Suite struct UnownedValuesTests {
  private static func widget(_ id: String, kind: KindName = Samples.kind("k")) -> TaggedWidget {
    var widget = Widget(id: Samples.id(id), kind: kind)
    widget.data = ["count": .int(0), "empty": .null, "note": .string("mine")]
    widget.labels = ["panel": "top"]
    widget.parameters = ["zone": .string("CET"), "size": .int(3)]
    return TaggedWidget(widget: widget)
  }

  private static let kind = Kind(
    name: Samples.kind("k"),
    parameters: [Field(name: "zone", type: .string, defaultValue: .string("CET"))],
    data: [Field(name: "count", type: .int, defaultValue: .int(0))])

  @Test func `a removed widget names each value that is not a default of its kind`() {
    let values = UnownedValues(of: [Self.widget("w"), Self.widget("x")], [Self.kind])
    let result = ApplyResult(id: Samples.id("w"), action: .deleted)
    #expect(
      ApplyCommand.text(fieldsOf: [result], values, dryRun: false) == """
          w: data.note is gone with the widget: it was "mine"
          w: labels.panel is gone with the widget: it was "top"
          w: parameters.size is gone with the widget: it was 3

        """)
    #expect(
      ApplyCommand.text(fieldsOf: [result], values, dryRun: true).hasPrefix(
        "  w: data.note would be gone with the widget: it is \"mine\"\n"))
    #expect(UnownedValues(of: [Self.widget("w")], [])[Samples.id("w")]?.count == 5)
    // Another result of the same widget names no values.
    let updated = ApplyResult(id: Samples.id("w"), action: .updated)
    #expect(ApplyCommand.text(fieldsOf: [updated], values, dryRun: false) == "")
  }

  @Test func `a value that is set aside is named, and a widget with owners is left to them`() {
    var widget = Self.widget("w")
    (widget.widget.data, widget.widget.labels, widget.widget.parameters) = ([:], [:], [:])
    widget.owners = [
      FieldOwner(path: "data.n", owner: FieldOwner.earlier, declared: .string("x"))
    ]
    #expect(UnownedValues(of: [widget], [Self.kind])[Samples.id("w")] == widget.owners)
    widget.owners.append(FieldOwner(path: "data.m", owner: "panel"))
    #expect(UnownedValues(of: [widget], [Self.kind])[Samples.id("w")] == nil)
  }

  @Test func `the named values are bounded, and the others are counted`() {
    var long = Self.widget("long")
    long.widget.data = ["text": .string(String(repeating: "x", count: UnownedValues.bytesMax))]
    let many = (0..<100).map { Self.widget("w\($0)") }
    let values = UnownedValues(of: [long] + many, [Self.kind])
    #expect(values[Samples.id("long")]?.first?.declared == nil)
    let count = ([long] + many).compactMap { values[$0.widget.id]?.count }.reduce(0, +)
    #expect(count == UnownedValues.most && values.more == 303 - UnownedValues.most)
    let result = ApplyResult(id: Samples.id("long"), action: .deleted)
    let text = ApplyCommand.text(fieldsOf: [result], values, dryRun: false)
    #expect(text.hasPrefix("  long: data.text is gone with the widget\n"))
    #expect(text.hasSuffix("more values of removed widgets, not named: 47\n"))
  }

  @Test func `the data that the daemon fills is not named`() {
    let widget = Self.widget("w", kind: .help)
    #expect(
      UnownedValues(of: [widget], [])[Samples.id("w")]?.map(\.path)
        == ["labels.panel", "parameters.size", "parameters.zone"])
  }
}
