import Testing
import WidgetModel

@testable import widgetctl

/// `KEY=VALUE` arguments.
struct AssignmentTests {
  @Test(
    arguments: [
      ("n=1", "n", .int(1)),
      ("n=1.0", "n", .double(1)),
      ("n=-7", "n", .int(-7)),
      ("n=1e3", "n", .double(1000)),
      ("on=true", "on", .bool(true)),
      ("x=null", "x", .null),
      ("t=hello world", "t", .string("hello world")),
      ("t=\"12\"", "t", .string("12")),
      ("t=", "t", .string("")),
      ("t=01", "t", .string("01")),
      ("t=a=b", "t", .string("a=b")),
      ("t=[draft] x", "t", .string("[draft] x")), ("t=={x", "t", .string("{x")),
      ("l=[1,\"a\"]", "l", .list([.int(1), .string("a")])),
      ("m={\"b\":2,\"a\":1}", "m", .map(["a": .int(1), "b": .int(2)])),
      ("b={\"$bytes\":\"aGk=\"}", "b", .bytes([104, 105])),
      ("zip==01234", "zip", .string("01234")),
      ("flag==true", "flag", .string("true")),
      ("eq===", "eq", .string("=")), ("t==\u{301}a", "t", .string("\u{301}a")),
      ("t=\u{301}a", "t", .string("\u{301}a")),
      ("j:=5", "j", .int(5)),
      ("j:=\"x\"", "j", .string("x")),
      ("a.b=1", "a.b", .int(1)),
    ] as [(String, String, Value)])
  func `a value is JSON if it is JSON, else text`(_ text: String, key: String, value: Value) throws
  {
    let assignment = try Assignment(text)
    #expect(assignment.key == key)
    #expect(assignment.source == .value(value))
  }

  @Test(arguments: [
    "", "key", "=1", ":=1", "j:=hello", "j:=", "j:=[1,", "n=99999999999999999999", "n=1e400",
    "n=-1e400",
  ])
  func `a text that is not an assignment is refused`(_ text: String) {
    #expect(throws: SyntaxFailure.self) { try Assignment(text) }
  }

  @Test func `a whole number outside 64 bits is refused with the way to write each type`() {
    let text = "99999999999999999999"
    let failure = #expect(throws: SyntaxFailure.self) { try Assignment("n=\(text)") }
    #expect(
      failure?.reason
        == "\(text) is outside 64 bits; write a smaller number for an int, ==\(text) for text or "
        + "\(text).0 for a double")
  }

  @Test func `a number that is too large is refused with the way to write text`() {
    let failure = #expect(throws: SyntaxFailure.self) { try Assignment("n=1e400") }
    #expect(failure?.reason == "1e400 is larger than a double can be; write ==1e400 for text")
  }

  @Test func `an at sign names a file, which is text or has to be JSON`() throws {
    let files = ["/a": "7"]
    func read(_ path: String) throws(CommandFailure) -> String { files[path] ?? "?" }
    #expect(try Assignment("k=@/a").value(reading: read) == .string("7"))
    #expect(try Assignment("k:=@/a").value(reading: read) == .int(7))
    #expect(try Assignment("k==@/a").value(reading: read) == .string("@/a"))
    #expect(throws: CommandFailure.self) { try Assignment("k:=@/b").value(reading: read) }
  }

  @Test(arguments: [
    ("photo=@", "write photo=@FILE, or photo==@ for the text @"),
    ("j:=@", "write j:=@FILE, or j==@ for the text @"),
  ])
  func `an at sign without a file name is refused`(_ text: String, advice: String) throws {
    let failure = #expect(throws: SyntaxFailure.self) { try Assignment(text) }
    #expect(failure?.reason == "\"\(text)\" has no file name after the @; \(advice)")
    #expect(try Assignment("t==@").source == .value(.string("@")))
  }

  @Test(arguments: [
    ("note=@big", "big"), ("note:=@big", "big"), (#"note=["a\u0000"]"#, "note"),
    (#"note:={"a": "\u0000"}"#, "note"),
  ])
  func `a text with a NUL character is refused with the way to write bytes`(
    written: String, place: String
  ) throws {
    let assignment = try Assignment(written)
    let failure = #expect(throws: CommandFailure.self) {
      try assignment.value { _ in written.contains(":=") ? #""a\u0000""# : "a\u{0}" }
    }
    #expect(failure?.exit == .invalidArgument)
    #expect(
      failure?.message == "\(place): text cannot have a NUL character; write bytes as "
        + #"note:='{"$bytes": "BASE64"}'"#)
  }

  @Test func `a folder in place of a file is named with the next step`() {
    let failure = #expect(throws: CommandFailure.self) { try Input.text("/") }
    #expect(failure?.message == "/ is a folder; name a file")
  }

  @Test func `a label's value is always text`() throws {
    #expect(try LabelAssignment("n=1").value == "1")
    #expect(try LabelAssignment("n==1").value == "=1")
    #expect(throws: SyntaxFailure.self) { try LabelAssignment("=1") }
  }

  @Test(arguments: [
    "bad key=1", "a,b=x", "!g=1", "a(b=x", "a<b=1", "a=x,y", "a=1,b=2", "a=(x", "a=x)", "a= x",
    "a=x ",
  ])
  func `a label that no -l can select is refused`(_ text: String) {
    let failure = #expect(throws: SyntaxFailure.self) { try LabelAssignment(text) }
    #expect(failure?.reason.contains("-l cannot select the label") == true)
  }

  @Test(arguments: ["a=", "a=b c", "panel=top", "a.b/c-d_e:f=x", "a==b", "a=!b", "a=é"])
  func `a label that -l can select is accepted`(_ text: String) throws {
    let label = try LabelAssignment(text)
    let requirement = try #require(SelectorSyntax.parse("\(label.key)=\(label.value)").first)
    #expect(requirement.key == label.key)
    #expect(requirement.values == [label.value] || label.value.hasPrefix("="))
  }
}
