import Testing
import WidgetModel

@testable import widgetctl

struct ConditionTests {
  static func widget(_ change: (inout Widget) -> Void = { _ in }) throws -> Widget {
    let id = try #require(WidgetID("a.b:c"))
    let kind = try #require(KindName("gauge"))
    var widget = Widget(id: id, kind: kind, revision: 7)
    widget.data = ["n": .int(5), "x": .double(0.5), "t": .string("12"), "a.b": .bool(true)]
    widget.data["status"] = .map(["save": .map(["state": .string("failure")])])
    widget.data["list"] = .list([.int(1), .int(2)])
    widget.data["rows"] = .list([.map(["name": .string("Ada")])])
    widget.data["dotted"] = .map(["key.in": .int(2)])
    widget.data["dotted.key"] = .map(["in": .int(1)])
    widget.parameters = ["max": .int(100)]
    widget.labels = ["panel": "top", "n": "1"]
    change(&widget)
    return widget
  }

  @Test(
    arguments: [
      (
        "a.b:c.data.m==5",
        "widget \"a.b:c\" has no data \"m\" yet; waiting for it; did you mean \"n\"?"
      ),
      ("a.b:c.data.gone!=1", nil), ("a.b:c.data.n!=\"x\"", nil), ("a.b:c.data.n==5", nil),
      ("a.b:c.data.n==0.5", nil),
      ("a.b:c.data.n==null", nil), ("a.b:c.revision==9", nil), ("a.b:c:stale", nil),
      (
        "a.b:c.data.t==12",
        "\"t\" of widget \"a.b:c\" is a string now, and the condition compares it with the int 12; "
          + "waiting"
      ),
      (
        "a.b:c.labels.panl==top",
        "widget \"a.b:c\" has no label \"panl\" yet; waiting for it; did you mean \"panel\"?"
      ),
    ] as [(String, String?)])
  func `a condition that may never hold says why`(text: String, doubt: String?) throws {
    #expect(try Condition(text).doubt(about: Self.widget(), nil) == doubt)
  }

  @Test func `a condition on an undeclared key names the key`() throws {
    let name = try #require(KindName("gauge"))
    let kind = Kind(name: name, data: [Field(name: "later", type: .int)])
    func doubt(_ text: String) throws -> String? {
      try Condition(text).doubt(about: Self.widget(), kind)
    }
    #expect(try doubt("a.b:c.data.later==1") == nil)
    #expect(try doubt("a.b:c.data.later[0].x==1") == nil)
    #expect(
      try doubt("a.b:c.data.latr==1")
        == "the kind of widget \"a.b:c\" declares no data \"latr\"; the condition cannot hold "
        + "before the kind declares it; did you mean \"later\"?")
    #expect(
      try doubt("a.b:c.parameters.mx==1")
        == "the kind of widget \"a.b:c\" declares no parameter \"mx\"; the condition cannot "
        + "hold before the kind declares it; did you mean \"max\"?")
  }

  @Test(arguments: [
    ("a.b:c.data.n==5", true), ("a.b:c.data.n=5", true), ("a.b:c.data.n == 5.0", true),
    ("a.b:c.data.n!=5", false), ("a.b:c.data.n<5", false), ("a.b:c.data.n<=5", true),
    ("a.b:c.data.n>4.5", true), ("a.b:c.data.n>=6", false), ("a.b:c.data.x<1", true),
    ("a.b:c.data.t==12", false), ("a.b:c.data.t==\"12\"", true), ("a.b:c.data.t<\"2\"", true),
    ("a.b:c.data.t>5", false), ("a.b:c.data.a.b==true", true), ("a.b:c.data.a.b!=false", true),
    ("a.b:c.data.gone==1", false), ("a.b:c.data.gone!=1", true), ("a.b:c.data.gone<1", false),
    ("a.b:c.parameters.max>99", true), ("a.b:c.labels.panel==top", true),
    ("a.b:c.labels.n==1", true), ("a.b:c.labels.n!=1", false), ("a.b:c.revision>=7", true),
    ("a.b:c.revision>7", false), ("a.b:c:exists", true), ("a.b:c:removed", false),
    ("a.b:c:visible", true), ("a.b:c:hidden", false), ("a.b:c:disabled", false),
    ("a.b:c:fresh", true), ("a.b:c:stale", false), ("a.b:c:ok", true), ("a.b:c:error", false),
    ("a.b:c.data.status.save.state==failure", true), ("a.b:c.data.status.save.gone==1", false),
    ("a.b:c.data.list[1]==2", true), ("a.b:c.data.list[1].x==2", false),
    ("a.b:c.data.list[2]==2", false), ("a.b:c.data.list[x]==2", false),
    ("a.b:c.data.rows[0].name==Ada", true), ("a.b:c.data.n.x==1", false),
    ("a.b:c.data.dotted.key.in==1", true),
  ])
  func `a condition on data, parameters or labels is evaluated`(_ text: String, holds: Bool) throws
  {
    let condition = try Condition(text)
    #expect(condition.id.rawValue == "a.b:c")
    #expect(condition.holds(for: try Self.widget()) == holds)
  }

  @Test func `conditions read presence, errors and staleness`() throws {
    let hidden = try Self.widget { $0.presence.isVisible = false }
    #expect(try Condition("a.b:c:hidden").holds(for: hidden))
    let disabled = try Self.widget { $0.presence.isEnabled = false }
    #expect(try Condition("a.b:c:disabled").holds(for: disabled))
    let failing = try Self.widget { $0.timeline = TimelineStatus(problem: "no entries") }
    #expect(try Condition("a.b:c:error").holds(for: failing))
    #expect(try !Condition("a.b:c:ok").holds(for: failing))
    let failed = try Self.widget { $0.error = WidgetError(reason: "R", message: "m") }
    #expect(try Condition("a.b:c:error").holds(for: failed))
    #expect(try !Condition("a.b:c:ok").holds(for: failed))
    let stale = try Self.widget { $0.isStale = true }
    #expect(try Condition("a.b:c:stale").holds(for: stale))
  }

  @Test(arguments: [
    "a:removed", "a:exists", "a:hidden", "a:fresh", "a.data.n!=1", "a.revision>=0",
  ])
  func `for a missing widget only the condition removed is true`(_ text: String) throws {
    #expect(try Condition(text).holds(for: nil) == (text == "a:removed"))
  }

  @Test func `a condition names the fields that it reads`() throws {
    #expect(try Condition("a.data.x.y[0]>1").maskPaths == ["data.x.y[0]", "data.x", "data.x.y"])
    #expect(try Condition("a:error").maskPaths == Widget.failurePaths)
    #expect(try Condition("a:hidden").maskPaths == ["presence"])
    #expect(try Condition("a:removed").maskPaths == [])
  }

  @Test(arguments: ["", "a", "a:gone", ":exists", "a.data.==1", "a.n==1", "==1", "a data.n==1"])
  func `a text that is not a condition is refused`(_ text: String) {
    #expect(throws: SyntaxFailure.self) { try Condition(text) }
  }
}
