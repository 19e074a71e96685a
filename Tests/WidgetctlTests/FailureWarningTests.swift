import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

struct FailureWarningTests {
  private func widget(_ id: String, _ problems: String...) -> Widget {
    let nodes = problems.enumerated().map { index, problem in
      var node = Node(id: "n\(index)", type: .label)
      node.problem = problem
      return node
    }
    return Widget(
      id: Samples.id(id), kind: Samples.kind("k"), content: Content(rootID: "n0", nodes: nodes))
  }

  @Test func `a widget that fails after a change is named, with its node and the reason`() {
    #expect(
      FailureWarnings.warnings([
        widget("a", "text: no time zone"), widget("b", ""), widget("c", "text: no", "value: no"),
      ]).map(\.message) == [
        "widget \"a\" fails now: its node \"n0\": text: no time zone; `widgetctl get a` shows all of "
          + "it",
        "widget \"c\" fails now: its node \"n0\": text: no (and 1 more); `widgetctl get c` shows all "
          + "of it",
      ])
    var timed = widget("t")
    timed.timeline = TimelineStatus(problem: "There is no date.")
    #expect(
      FailureWarnings.warnings([timed]).first?.message.contains("its timeline: There is no date; `")
        == true)
  }

  @Test func `many widgets are requested in parts that the daemon accepts`() {
    let ids = (0..<1_100).map { Samples.id("w\($0)") }
    let selectors = FailureWarnings.selectors(ids, [Samples.kind("k")])
    #expect(selectors.map(\.ids.count) == [500, 500, 100, 0])
    #expect(selectors.flatMap(\.ids) == ids)
    #expect(selectors.last?.kinds == [Samples.kind("k")])
    #expect(FailureWarnings.selectors([], []).isEmpty)
  }

  @Test func `an error that a user has set causes no warning`() {
    var widget = widget("a")
    widget.error = WidgetError(reason: "R", message: "m")
    #expect(FailureWarnings.warnings([widget]) == [])
  }

  @Test func `the warnings are limited`() {
    let all = FailureWarnings.warnings((1...25).map { widget("w\($0)", "text: no") })
    #expect(all.count == FailureWarnings.shown + 1)
    #expect(all.last?.message == "5 more widgets fail; `widgetctl ls --failing` lists them")
  }
}
