import Testing
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

  @Test func `an expression that is false for every widget does not fail`() throws {
    #expect(WhereFailure("data.n > 5", try widgets(["n": .int(1)]), budget: nil) == nil)
    #expect(WhereFailure("data.n > 5", [], budget: nil) == nil)
  }

  @Test func `an expression reads the state of an activity`() throws {
    var widget = try #require(try widgets([:]).first)
    widget.activity = Activity(startTime: .epoch, expireTime: .epoch)
    #expect(WhereFailure("widget.activity.state == 'active'", [widget], budget: nil) == nil)
  }

  @Test func `the first failure is shown with its widget and the count`() throws {
    let all = try #require(
      WhereFailure("data.none > 5", try widgets(["n": .int(1)], [:]), budget: nil))
    #expect(all.text.hasPrefix("the expression fails for every widget"))
    #expect(all.text.contains("for \"w0\": "))
    let one = try #require(
      WhereFailure("data.n > 5", try widgets(["n": .int(1)], ["n": .string("a")]), budget: nil))
    #expect(one.text.contains("fails for 1 of 2 widgets"))
    #expect(one.text.contains("for \"w1\": "))
  }

  @Test func `an example with a mistake comes before a widget that lacks a value`() throws {
    let widgets = try widgets([:], ["n": .int(9)], ["n": .string("a")], ["n": .string("b")])
    let failure = try #require(WhereFailure("data.n > 5", widgets, budget: nil))
    #expect(failure.failed == 3 && failure.widgets == 4)
    #expect(failure.id?.rawValue == "w2")
    #expect(failure.reason.hasPrefix("'>' does not take string and int"), "\(failure.reason)")
  }

  @Test func `a selection of several kinds has no failure where a value is missing`() throws {
    let spared = try widgets([:], ["n": .int(9)], ["list": .list([])])
    let condition = "data.n > 5 || data.list[0] > 5"
    #expect(WhereFailure(condition, spared, budget: nil, sparesLacks: true) == nil)
    #expect(WhereFailure(condition, spared, budget: nil)?.failed == 2)
    let mixed = try widgets([:], ["n": .int(9)], ["n": .string("a")])
    let failure = try #require(
      WhereFailure("data.n > 5", mixed, budget: nil, sparesLacks: true))
    #expect(failure.text.hasPrefix("the expression fails for 1 of 3 widgets, and counts as false"))
    #expect(failure.text.contains("for \"w2\": '>' does not take string and int"))
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

  @Test func `a result that is not true or false is a failure`() throws {
    let failure = try #require(WhereFailure("data.n", try widgets(["n": .int(1)]), budget: nil))
    #expect(failure.reason == "the result is int, not true or false")
  }

  @Test func `an expression that costs more than the daemon allows is a failure`() throws {
    let expensive = "[1, 2, 3, 4, 5, 6, 7, 8, 9].all(x, [1, 2, 3].all(y, x + y > 100))"
    let widgets = try widgets([:])
    #expect(WhereFailure(expensive, widgets, budget: 1_000) == nil)
    let failure = try #require(WhereFailure(expensive, widgets, budget: 5))
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
