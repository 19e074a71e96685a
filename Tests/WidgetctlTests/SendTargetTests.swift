import Testing
import WidgetModel
import WidgetProto

@testable import widgetctl

struct SendTargetTests {
  private let id: WidgetID

  init() throws { id = try #require(WidgetID("w")) }

  private func form(_ id: String) -> Node { Node(id: id, type: .form) }
  private func input(_ id: String, _ name: String, mode: String? = nil) -> Node {
    var properties: ValueMap = ["name": .string(name)]
    if let mode { properties["mode"] = .string(mode) }
    return Node(id: id, type: .input, properties: properties)
  }

  @Test func `a submit without a node is for the only form`() throws {
    #expect(
      try SendTarget(nodes: [form("new"), input("a", "a")]).form(for: "submit", of: id) == "new")
    #expect(try SendTarget(nodes: [form("new")]).form(for: "press", of: id) == nil)
    #expect(try SendTarget(nodes: []).form(for: "submit", of: id) == nil)
    #expect(
      try SendTarget(nodes: [form("new")], handled: ["submit"]).form(for: "submit", of: id) == nil)
  }

  @Test func `a value of a form that is written as a detail gets a hint`() throws {
    let target = SendTarget(nodes: [form("f"), input("i", "title")])
    let details = [try Assignment("title=Fresh Milk"), try Assignment("other=1")]
    func hint(_ fields: [String]) -> String? {
      target.hint(
        at: details, refusedBy: fields.map { FieldViolation(field: $0, description: "no detail") })
    }
    #expect(hint(["payload[title]"]) == "write values of a form as --value 'title=Fresh Milk'")
    #expect(hint(["payload[other]"]) == nil && hint([]) == nil)
  }

  @Test(
    arguments: [
      ("photo=@my cat.png", ["photo": "my cat.png"]), ("title=@my cat.png", [:]),
      ("photo==my cat.png", [:]), ("photo:=@my cat.png", [:]), ("other=@my cat.png", [:]),
    ] as [(String, [String: String])])
  func `the file of a value is uploaded for an input that takes a file`(
    written: String, files: [String: String]
  ) throws {
    var new = form("new")
    new.childIDs = ["a", "b"]
    let target = SendTarget(
      nodes: [
        new, input("a", "title"), input("b", "photo", mode: "file"),
        input("c", "other", mode: "file"),
      ])
    let found = try target.files(among: [try Assignment(written)], node: "new")
    #expect(found.map(\.name) == Array(files.keys) && found.map(\.path) == Array(files.values))
  }

  @Test func `standard input is no file for an input that takes one`() throws {
    let target = SendTarget(nodes: [input("b", "photo", mode: "file")])
    let values = [try Assignment("photo=@-")]
    let failure = #expect(throws: CommandFailure.self) {
      try target.files(among: values, node: nil)
    }
    #expect(failure?.message.hasSuffix("--upload photo=FILE") == true)
    #expect(failure?.exit == .invalidArgument)
  }

  @Test func `with several forms the command asks for a node`() {
    #expect {
      try SendTarget(nodes: [form("a"), form("b")]).form(for: "submit", of: id)
    } throws: {
      ($0 as? CommandFailure)?.message == "widget \"w\" has 2 forms; say which: --node a, --node b"
    }
  }

  @Test(arguments: [
    ("value=123", Value.string("123")), ("value=true", .string("true")), ("value:=123", .int(123)),
    ("value==1", .string("1")), ("value=hi", .string("hi")),
  ])
  func `an input takes a number as text`(written: String, value: Value) throws {
    let assignment = try Assignment(written)
    let target = SendTarget(nodes: [input("q", "q"), input("n", "n", mode: "number")])
    func sent(_ node: String) throws -> Value? {
      try target.typed(
        ["value": try assignment.value { _ in "" }], [assignment], [], event: "change", node: node)[
          "value"]
    }
    #expect(try sent("q") == value)
    #expect(try sent("n") == value)
  }

  @Test func `declared types and form inputs decide between text and number`() throws {
    let detail = try Assignment("who=7")
    let target = SendTarget(
      nodes: [input("q", "title"), input("n", "count", mode: "number")],
      events: [EventType(name: "alarm", payload: [Field(name: "who", type: .string)])])
    #expect(
      try target.typed(["who": .int(7)], [detail], [], event: "alarm", node: nil)["who"]
        == .string("7"))
    let values = [try Assignment("title=7"), try Assignment("count=7")]
    #expect(
      try target.typed(
        ["values": .map(["title": .int(7), "count": .int(7)])], [], values, event: "submit",
        node: "new")["values"] == .map(["title": .string("7"), "count": .int(7)]))
  }

  @Test(
    arguments: [
      ("count=@f", "42", .int(42)), ("count=@f", " 42.5\n", .double(42.5)),
      ("count=@f", "many\n", .string("many\n")), ("count=@f", "true", .string("true")),
      ("title=@f", "42\n", .string("42\n")), ("count==42", "", .string("42")),
    ] as [(String, String, Value)])
  func `the number in a file is a number for an input that takes one`(
    written: String, content: String, value: Value
  ) throws {
    let target = SendTarget(
      nodes: [input("q", "title"), input("n", "count", mode: "number")])
    let assignment = try Assignment(written)
    let read = try assignment.value { _ in content }
    let sent = try target.typed(
      ["values": .map([assignment.key: read])], [], [assignment], event: "submit", node: "new")
    #expect(sent["values"] == .map([assignment.key: value]))
  }

  @Test func `a file as text for a detail of another type has a hint`() throws {
    let target = SendTarget(
      nodes: [], events: [EventType(name: "alarm", payload: [Field(name: "above", type: .int)])])
    let refusal = FieldViolation(field: "payload[above]", description: "expected an int")
    func hint(_ written: String, _ event: String) throws -> String? {
      target.hint(at: [try Assignment(written)], of: event, refusedBy: [refusal])
    }
    #expect(try hint("above=@num", "alarm")?.contains("above:=@num") == true)
    #expect(try hint("above=@num", "press") == nil)
    #expect(try hint("above:=@num", "alarm") == nil)
  }

  @Test(
    arguments: [
      (["titel": Value.string("x")], ["requires \"title\"", "Did you mean \"title\"?"]),
      (["title": .string("")], ["requires \"title\": --value title==TEXT"]),
      (
        ["title": .string("x"), "count": .string("many")],
        ["\"count\" takes a number, not \"many\""]
      ),
      (["title": .string("x"), "count": .string(" 12\n"), "urgent": .bool(true)], []),
      (
        ["title": .list([.string("a")]), "extra": .int(1)],
        ["\"title\" takes a text, not a value of type list", "no field \"extra\""]
      ),
      (["title": .int(7)], ["\"title\" takes a text, not a value of type int"]),
      (
        ["title": .string("x"), "count": .bool(true)],
        ["\"count\" takes a number, not a value of type bool"]
      ),
      (["title": .string("x"), "count": .double(1.5), "urgent": .null], []),
      (
        ["title": .string("x"), "urgent": .string("true")],
        ["\"urgent\" takes true or false, not a value of type string"]
      ),
    ] as [([String: Value], [String])])
  func `values that a form will refuse cause a warning`(
    values: [String: Value], words: [String]
  ) {
    var new = form("new")
    new.childIDs = ["row", "t"]
    var row = Node(id: "row", type: .stack)
    row.childIDs = ["q", "c"]
    var title = input("q", "title")
    title.properties["required"] = .bool(true)
    let toggle = Node(id: "t", type: .toggle, properties: ["name": .string("urgent")])
    let target = SendTarget(
      nodes: [new, row, title, input("c", "count", mode: "number"), toggle, input("x", "other")])
    let payload: ValueMap = [
      "values": .map(ValueMap(values.map { .init(key: $0.key, value: $0.value) }))
    ]
    let warnings = target.warnings(payload, event: "submit", node: "new", uploads: [])
    #expect(warnings.count == words.count)
    for (warning, words) in zip(warnings, words) {
      #expect(warning.message.contains(words), "\(warning.message)")
    }
    #expect(target.warnings(payload, event: "press", node: "new", uploads: []) == [])
  }

  @Test func `a form is submitted without values too`() {
    let target = SendTarget(nodes: [form("new"), input("q", "q")])
    #expect(target.completed([:], event: "submit", node: "new") == ["values": .map([:])])
    #expect(target.completed([:], event: "submit", node: "q") == [:])
    #expect(target.completed([:], event: "press", node: "new") == [:])
  }
}
