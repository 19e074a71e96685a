import Testing
import WidgetClient
import WidgetProto

@testable import widgetctl

/// Fields of the protocol, with the names of the command line.
struct FieldWordsTests {
  @Test(arguments: [
    ("selector.expression", "--where"),
    ("name", "the event's name"),
    ("patch.set_data[percent]", "data percent"),
    ("patch.set_data[rows][0]", "data rows[0]"),
    ("widget.parameters[zone]", "--param zone"),
    ("parameters[zone]", "--set zone"),
    ("family", "--family"),
    ("min_interval", "--min-interval"),
    ("selector.labels[a]", "--selector a"),
    ("payload[button]", "the event's field button"),
    ("payload[values][title]", "the form's value title"),
    ("payload[values][a\nb]", "the form's value a ⏎ b"),
    ("patch.release[0]", "--release"),
    ("widgets[3].id", "widgets[3].id"),
    ("resume_token", "resume_token"),
    ("a]b[", "a]b["),
    ("payload[", "payload["),
    ("", ""),
  ])
  func `a field has the name of its argument`(field: String, words: String) {
    #expect(FieldWords.typed(field) == words)
  }

  @Test func `only the field at the start of a line is renamed`() {
    let violations = [
      FieldViolation(field: "name", description: "must be short"),
      FieldViolation(field: "patch.set_data[n]", description: "must be a number"),
    ]
    #expect(
      FieldWords.typed(
        "name: must be short; a name: has letters\n  patch.set_data[n]: must be a number",
        of: violations)
        == "the event's name: must be short; a name: has letters\n  data n: must be a number")
  }
}
