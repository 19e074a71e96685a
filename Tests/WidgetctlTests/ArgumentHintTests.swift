import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

struct ArgumentHintTests {
  @Test func `a parameter that is given as data has a hint`() throws {
    let kind = Kind(
      name: Samples.kind("k"), parameters: [Field(name: "zone")], data: [Field(name: "text")])
    func hint(_ data: [String], _ parameters: [String] = []) throws -> String? {
      Session.hint(
        try data.map { try Assignment($0) }, try parameters.map { try Assignment($0) }, in: kind)
    }
    #expect(
      try hint(["text=a", "zone=Mars"])
        == "\"zone\" is a parameter of the kind: write --param zone=VALUE")
    #expect(
      try hint([], ["text=a"]) == "\"text\" is data of the kind: write text=VALUE without --param")
    #expect(try hint(["text=a", "other=1"], ["zone=UTC"]) == nil)
    let failure = CommandFailure(.invalidArgument, "data zone: no such field; did you mean \"z\"?")
    #expect(failure.adding("write it").message == "data zone: no such field; write it")
    #expect(CommandFailure(.invalidArgument, "no.").adding("do").message == "no; do")
  }

  private static let fields = [
    Field(name: "text", type: .string), Field(name: "at", type: .timestamp),
    Field(name: "pause", type: .duration), Field(name: "list", type: .list(.any)),
    Field(name: "n", type: .double), Field(name: "any", type: .any),
    Field(name: "on", type: .bool), Field(name: "count", type: .int),
  ]

  @Test(arguments: [
    ("text=2026-01-01", Value.string("2026-01-01")), ("text=5", .string("5")),
    ("at=1970-01-01T00:00:00Z", .timestamp(.epoch)), ("pause=1m30s", .duration(.seconds(90))),
    ("list=[1]", .list([.int(1)])),
  ])
  func `a written value has the type of its field`(written: String, value: Value) throws {
    let assignment = try Assignment(written)
    let values = try [assignment].values().typed([assignment], in: Self.fields)
    #expect(values == [assignment.key: value])
  }

  @Test(arguments: [
    ("at=2026-01-01", "write the date, the time and the zone: at=2026-01-01T00:00:00Z"),
    ("at=2026-01-01T09:30:00", "write the date, the time and the zone: at=2026-01-01T09:30:00Z"),
    ("at=noon", "write the date, the time and the zone: at=2026-01-31T12:00:00Z"),
    ("pause=long", "write a number with its unit: pause=1m30s, pause=500ms"),
    ("on=True", "write true or false: on=true"), ("on=OFF", "write true or false: on=false"),
    ("on=1", "write true or false: on=true"), ("on=0", "write true or false: on=false"),
    ("n=37%", "write a number: n=12.5"), ("count=two", "write a whole number: count=12"),
    ("count=1.5", "write a whole number: count=12"),
    ("count=true", "write a whole number: count=12"),
    ("n=true", "write a number: n=12.5"),
    ("pause=90", "write a number with its unit: pause=1m30s, pause=500ms"),
    ("list=a", #"write a list as JSON: list='["a", "b"]'"#),
    ("list=5", #"write a list as JSON: list='["a", "b"]'"#),
  ])
  func `a text of another type has a hint how to write the value`(
    written: String, hint: String
  ) throws {
    let kind = Kind(name: Samples.kind("k"), data: Self.fields)
    #expect(Session.hint([try Assignment(written)], [], in: kind) == hint)
  }

  @Test(arguments: [
    "on=true", "on=false", "n=1.5", "n=1", "count=7", "count=null", "text=True", "any=True",
    "list=[1]",
  ])
  func `a value of the right type has no hint`(written: String) throws {
    let kind = Kind(name: Samples.kind("k"), data: Self.fields)
    #expect(Session.hint([try Assignment(written)], [], in: kind) == nil)
  }

  @Test(arguments: [
    ("n=@num", "n:=@num"), ("list=@my list", "'list:=@my list'"), ("text=@num", nil),
    ("any=@num", nil), ("n:=@num", nil),
  ])
  func `a file as text for a field of another type has a hint how to read it as JSON`(
    written: String, hint: String?
  ) throws {
    let kind = Kind(name: Samples.kind("k"), data: Self.fields)
    #expect(
      Session.hint([try Assignment(written)], [], in: kind)
        == hint.map { "=@ takes the file as text; write \($0) if it has JSON, such as a number" })
  }
}
