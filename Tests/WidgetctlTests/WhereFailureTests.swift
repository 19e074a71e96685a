import ArgumentParser
import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

/// The reasons why an expression of `--where` selects nothing.
struct WhereFailureTests {
  private func widgets(_ data: ValueMap...) throws -> [Widget] {
    let kind = try #require(KindName("k"))
    return try data.enumerated().map { index, data in
      Widget(id: try #require(WidgetID("w\(index)")), kind: kind, data: data)
    }
  }

  private func noted(
    _ condition: String, _ widgets: [Widget], budget: Int? = nil, sparesLacks: Bool = false,
    changed: Set<WidgetID> = [], isRedacted: Bool = false, costMax: Int = WhereCheck.costMax
  ) throws -> WhereFailure? {
    var check = WhereCheck(
      try EvalCommand.compile(condition), changed: changed, isRedacted: isRedacted,
      costMax: costMax)
    check.evaluate(widgets)
    return check.failure(budget: budget, sparesLacks: sparesLacks)
  }

  @Test func `an expression that is false for every widget does not fail`() throws {
    #expect(try noted("data.n > 5", try widgets(["n": .int(1)])) == nil)
    #expect(try noted("data.n > 5", []) == nil)
  }

  @Test func `an expression reads the state of an activity`() throws {
    var widget = try #require(try widgets([:]).first)
    widget.activity = Activity(startTime: .epoch, expireTime: .epoch)
    #expect(try noted("widget.activity.state == 'active'", [widget]) == nil)
  }

  @Test func `a note about named widgets does not speak of others`() async throws {
    let ids = [try #require(WidgetID("mem"))]
    let condition = try await SelectorOptions.parsed(["--where", "data.n > 5"])
    #expect(condition.nothing(of: ids) == "no named widget matches --where 'data.n > 5'")
    #expect(condition.nothing(of: []) == "no widget matches --where 'data.n > 5'")
    let labels = try await SelectorOptions.parsed(["-l", "panel=top"])
    #expect(labels.nothing(of: ids) == "no named widget matches the selection")
  }

  @Test func `the first failure is shown with its widget and the count`() throws {
    let all = try #require(try noted("data.none > 5", try widgets(["n": .int(1)], [:])))
    #expect(
      all.text.hasPrefix(
        "the expression fails for all 2 widgets, which are therefore not selected; for example "
          + "\"w0\": "))
    let only = try #require(try noted("data.none > 5", try widgets([:])))
    #expect(
      only.text.hasPrefix(
        "the expression fails for widget \"w0\", which is therefore not selected: there is "),
      "\(only.text)")
    let one = try #require(
      try noted("data.n > 5", try widgets(["n": .int(1)], ["n": .string("a")])))
    #expect(
      one.text.hasPrefix(
        "the expression fails for 1 of 2 widgets, which is therefore not selected; for example "
          + "\"w1\": "))
  }

  @Test func `an example with a mistake comes before a widget that lacks a value`() throws {
    let widgets = try widgets([:], ["n": .int(9)], ["n": .string("a")], ["n": .string("b")])
    let failure = try #require(try noted("data.n > 5", widgets))
    #expect(failure.failed == 3 && failure.widgets == 4)
    #expect(failure.id?.rawValue == "w2")
    #expect(failure.reason.hasPrefix("'>' does not take string and int"), "\(failure.reason)")
  }

  @Test func `an example has a field with a similar name if a widget has one`() throws {
    let widgets = try widgets(["n": .int(1)], ["percent": .int(9)], ["percent": .int(8)])
    let failure = try #require(try noted("data.percnt > 5", widgets))
    #expect(failure.failed == 3 && failure.id?.rawValue == "w1")
    #expect(
      failure.reason
        == "there is no field 'percnt', in `data.percnt > 5`; did you mean 'percent'?")
    let redacted = try #require(try noted("data.percnt > 5", widgets, isRedacted: true))
    #expect(!redacted.text.contains("did you mean"), "\(redacted.text)")
  }

  @Test func `the example is the widget whose evaluation comes furthest`() throws {
    let widgets = try widgets(["n": .int(1)], ["percent": .int(9)], ["percnt": .int(9)])
    let failure = try #require(try noted("data.percent > 5 && data.nme == 'x'", widgets))
    #expect(failure.failed == 3 && failure.id?.rawValue == "w1")
    #expect(failure.reason.hasPrefix("there is no field 'nme'; test with has() first"))
  }

  @Test func `the search for a similar name reads all fields of the map`() throws {
    let expression = try EvalCommand.compile("data.n > parameters.max && status.a.failed")
    #expect(
      WhereFailure.paths(of: expression, hasAllFields: true)
        == ["data", "data.status", "id", "parameters"])
  }

  @Test func `a selection of several kinds has no failure where a value is missing`() throws {
    let spared = try widgets([:], ["n": .int(9)], ["list": .list([])])
    let condition = "data.n > 5 || data.list[0] > 5"
    #expect(try noted(condition, spared, sparesLacks: true) == nil)
    #expect(try noted(condition, spared)?.failed == 2)
    let mixed = try widgets([:], ["n": .int(9)], ["n": .string("a")])
    let found = try #require(try noted("data.n > 5", mixed, sparesLacks: true))
    #expect(found.text.hasPrefix("the expression fails for 1 of 3 widgets, which is therefore"))
    #expect(found.text.contains("for example \"w2\": '>' does not take string and int"))
  }

  @Test func `a failure that does not decide the result does not count`() throws {
    let widgets = try widgets(["n": .string("a"), "on": .bool(true)])
    #expect(try noted("data.n > 5 || data.on", widgets) == nil)
    #expect(try noted("data.n > 5 || !data.on", widgets)?.failed == 1)
  }

  @Test func `the reason for a redacted view has no value`() throws {
    let widgets = try widgets(["text": .string("secret")])
    let condition = "timestamp(data.text) > now"
    let open = try #require(try noted(condition, widgets))
    #expect(open.text.contains("secret"), "\(open.text)")
    let redacted = try #require(try noted(condition, widgets, isRedacted: true))
    #expect(redacted.failed == 1 && !redacted.text.contains("secret"), "\(redacted.text)")
    #expect(redacted.text.contains("timestamp(data.text)"), "\(redacted.text)")
  }

  @Test func `the expression is not evaluated again for changed widgets, which count`() throws {
    // The command has hidden w0, so the expression would now have another result for it.
    let widgets = try widgets(["n": .string("a")], ["n": .string("b")], ["n": .int(1)])
    let changed: Set = [widgets[0].id]
    let found = try #require(try noted("data.n > 5", widgets, changed: changed))
    #expect(found.failed == 1 && found.widgets == 3 && found.id == widgets[1].id)
    // The command has removed w0, so the daemon no longer lists it.
    let left = try #require(
      try noted("data.n > 5", Array(widgets.dropFirst()), changed: changed))
    #expect(left == found)
  }

  @Test func `the number of widgets and the total cost are limited`() throws {
    let one = try #require(try widgets(["n": .string("a")]).first)
    let many = try (0...WhereCheck.widgetsMax).map { index in
      var widget = one
      widget.id = try #require(WidgetID("w\(index)"))
      return widget
    }
    let found = try #require(try noted("data.n > 5", many))
    #expect(found.failed == WhereCheck.widgetsMax)
    #expect(found.text.hasPrefix("the expression fails for at least 2000 widgets, which are "))
    #expect(try noted("data.n > 5", Array(many.dropLast()))?.isPartial == false)
    let costly = try #require(try noted("data.n > 5", many, costMax: 100))
    #expect(costly.isPartial && (1...100).contains(costly.failed), "\(costly)")
    // An unfinished evaluation is no failure, unless the daemon does not finish it either.
    let endless = "[1, 2, 3, 4, 5, 6, 7, 8, 9].all(x, x > 0)"
    #expect(try noted(endless, many, budget: 1_000, costMax: 5) == nil)
    #expect(try noted(endless, many, budget: 5, costMax: 5)?.failed == 1)
  }

  @Test func `the evaluation ends at its deadline`() throws {
    var check = WhereCheck(try EvalCommand.compile("data.none"))
    check.evaluate(try widgets([:]), until: ContinuousClock.now + .seconds(3_600))
    check.evaluate(try widgets([:], [:]), until: ContinuousClock.now)
    #expect(check.isPartial)
    #expect(check.failure(budget: nil)?.widgets == 1)
  }

  @Test(
    arguments: [
      ("data.n > parameters.max", ["data.n", "id", "parameters.max"]),
      ("status.feed.failed", ["data.status", "id"]),
      ("size(data) > 2 || widget.visible", ["data", "id", "presence"]),
      ("widget.stale && widget.labels.a == 'b'", ["id", "labels", "stale"]),
      ("widget.error != null && widget.id == 'w'", ["error", "id"]),
      ("widget.kind == 'k' && widget.activity.state == 'ended'", ["activity", "id", "kind"]),
    ] as [(String, [String])])
  func `the command asks only for the fields that the expression reads`(
    source: String, paths: [String]
  ) throws {
    let found = WhereFailure.paths(of: try EvalCommand.compile(source))
    #expect(found == paths)
    #expect(throws: Never.self) { try ReadMask(paths: found) }
  }

  @Test(arguments: [(nil, 2), (30, 2), (1, 1)] as [(Int?, Int)])
  func `a call for the note has the smaller of --timeout and 2 s`(timeout: Int?, seconds: Int) {
    let options = CallOptions(timeout: timeout.map { .seconds($0) })
    #expect(WhereFailure.limited(options).timeout == .seconds(seconds))
  }

  @Test func `a result that is not true or false is a failure`() throws {
    let failure = try #require(try noted("data.n", try widgets(["n": .int(1)])))
    #expect(failure.reason == "the result is int, not true or false")
  }

  @Test func `an expression that costs more than the daemon allows is a failure`() throws {
    let expensive = "[1, 2, 3, 4, 5, 6, 7, 8, 9].all(x, [1, 2, 3].all(y, x + y > 100))"
    let widgets = try widgets([:])
    #expect(try noted(expensive, widgets, budget: 1_000) == nil)
    let failure = try #require(try noted(expensive, widgets, budget: 5))
    #expect(failure.reason.contains("selector_cost_max of the daemon, 5 steps"))
  }

  @Test func `widgets of the host and of bundles are not removed by mistake`() throws {
    let host = try #require(WidgetID("widgetd-host"))
    let bundle = try #require(WidgetID("bundle/clock"))
    let words = { (id: WidgetID, set: String) in RemoveCommand.refusal(of: id, in: set)?.message }
    #expect(words(host, "widgetd-host")?.contains("it exists while widgetd-host runs") == true)
    #expect(words(bundle, "widgetd-host")?.contains("widgetctl bundle rm clock") == true)
    #expect(words(bundle, "bundle/clock")?.contains("belongs to bundle clock;") == true)
    #expect(words(bundle, "") == nil)
  }
}
