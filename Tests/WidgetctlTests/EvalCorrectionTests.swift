import Testing
import WidgetExpression
import WidgetModel

@testable import widgetctl

/// The hints of `eval` at misspelt fields.
struct EvalCorrectionTests {
  @Test(arguments: [
    ("data.percnt > 3", "1:6: there is no field 'percnt'; did you mean 'percent'?\n"),
    ("parameters.titel", "there is no field 'titel'; did you mean 'title'?\n"),
    ("widget.labels.pannel", "there is no field 'pannel'; did you mean 'panel'?\n"),
    ("status.tempratur.failed", "there is no field 'tempratur'; did you mean 'temperature'?\n"),
    ("nodes.nte.value", "there is no field 'nte'; did you mean 'note'?\n"),
    ("data.list[0].titel", "there is no field 'titel'; did you mean 'title'?\n"),
    ("data.other", "there is no field 'other'; test with has() first\n"),
    ("[data].map(x, x.percnt)", "there is no field 'percnt'; test with has() first\n"),
    ("data.list.filter(x, x.titel > 0)", "there is no field 'titel'; did you mean 'title'?\n"),
    ("data.list.map(x, x.at.plce)", "there is no field 'plce'; did you mean 'place'?\n"),
    (
      "data.list.filter(x, true).transformList(i, x, x.titel)",
      "there is no field 'titel'; did you mean 'title'?\n"
    ),
    (
      "cel.bind(x, data.list[0], [1].map(y, x.titel + y))",
      "there is no field 'titel'; did you mean 'title'?\n"
    ),
    // The variable of the macro hides the widget's data.
    ("data.list.map(data, data.percnt)", "there is no field 'percnt'; test with has() first\n"),
  ])
  func `eval corrects a misspelt field of a widget`(source: String, words: String) {
    var widget = LiveSamples.widget("w")
    widget.data = [
      "list": .list([.map(["at": .map(["place": .int(1)]), "title": .int(1)])]),
      "percent": .int(4),
      "status": .map(["temperature": .map([:])]),
    ]
    widget.parameters = ["title": .string("t")]
    widget.labels = ["panel": "top"]
    var bindings = EvalCommand.bindings(of: widget)
    bindings.append(ExpressionValue(["note": .map([:])]))
    let failure = #expect(throws: CommandFailure.self) {
      try EvalCommand.evaluate(source, SlotBindings(bindings))
    }
    #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
  }
}
