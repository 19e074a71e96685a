import Testing
import WidgetModel

@testable import widgetctl

struct JSONTests {
  @Test(arguments: [
    "null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808", "1.0",
    "0.30000000000000004", "-0.0", "1e+20", "\"\"", "\"a\\\"b\\\\c\\n\\t\\r\"", "\"\\u001b[31m\"",
    "\"é😀\"", "[]",
    "{}", "[1,[2,{}]]", "{\"a\":1,\"b\":[true,null]}",
  ])
  func `JSON that is read is written as the same text`(_ text: String) throws {
    #expect(JSONWriter.compact(try JSONReader.value(of: text)) == text)
  }

  @Test(
    arguments: [
      (" [ 1 , 2 ] \n", .list([.int(1), .int(2)])),
      ("\"\\u00e9\\ud83d\\ude00\\/\\b\\f\"", .string("é😀/\u{8}\u{C}")),
      ("1E2", .double(100)), ("{\"b\":1,\"a\":2}", .map(["a": .int(2), "b": .int(1)])),
    ] as [(String, Value)])
  func `every form of JSON is read`(_ text: String, value: Value) throws {
    #expect(try JSONReader.value(of: text) == value)
  }

  @Test(arguments: [
    "", " ", "tru", "nul", "01", "-", "+1", "1.", ".5", "1e", "0x1", "NaN", "'a'", "\"a", "\"\\x\"",
    "\"\\u12\"",
    "\"\\u+041\"", "\"\\u-000\"", "\"\\ud83d\"", "\"\\ude00\"", "\"a\nb\"", "[1", "[1,]", "[,1]",
    "{\"a\"}",
    "{\"a\":}", "{a:1}", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "1 2", "9223372036854775808", "1e999",
  ])
  func `a text that is not JSON is refused`(_ text: String) {
    #expect(throws: JSONReader.Failure.self) { try JSONReader.value(of: text) }
  }

  @Test func `JSON of programs may have a byte order mark, repeated keys and large integers`()
    throws
  {
    let text = "\u{FEFF}{\"a\":1,\"a\":9223372036854775808}"
    #expect(throws: JSONReader.Failure.self) { try JSONReader.value(of: text) }
    #expect(
      try JSONReader.value(of: text, from: .program)
        == .map(["a": .double(9_223_372_036_854_775_808)]))
  }

  @Test(arguments: [
    ("{\"key\": 1,\n  \"key\": 2}", 2, 3, "the key \"key\" appears twice"),
    ("[1, -9223372036854775809]", 1, 5, "-9223372036854775809 is outside 64 bits; "),
    ("[1e999]", 1, 2, "1e999 is larger than a double can be"),
    (
      "[\(String(repeating: "9", count: 400))]", 1, 2,
      "\(String(repeating: "9", count: 64))… is outside 64 bits; "
    ),
  ])
  func `a mistake has the place where the key or the number begins`(
    text: String, line: Int, column: Int, words: String
  ) {
    let failure = #expect(throws: JSONReader.Failure.self) { try JSONReader.value(of: text) }
    #expect(failure?.line == line)
    #expect(failure?.column == column)
    #expect(failure?.reason.hasPrefix(words) == true, "\(String(describing: failure))")
  }

  @Test func `a number that nothing can hold is a mistake of its member only`() throws {
    let members = try #require(
      try JSONReader.members(of: "{\"a\": [1, 1e999, 1e998], \"b\": {\"c\": 2}}"))
    #expect(members.map(\.key) == ["a", "b"])
    #expect(members.map(\.mistake?.offset) == [10, nil])
    #expect(members.map(\.range) == [6..<23, 30..<38])
    #expect(members.last?.value == .map(["c": .int(2)]))
    #expect(try JSONReader.members(of: "[1]") == nil)
    #expect(throws: JSONReader.Failure.self) { try JSONReader.members(of: "{\"a\": 1e999,}") }
    #expect(throws: JSONReader.Failure.self) { try JSONReader.members(of: "[1e999]") }
  }

  @Test func `plain JSON for programs has no tags`() {
    let value = Value.map([
      "bytes": .bytes([104, 105]), "$time": .timestamp(.epoch),
      "wait": .duration(.milliseconds(1500)),
      "list": .list([.double(.nan), .map(["$ref": .string("x")])]),
    ])
    #expect(
      JSONWriter.plain(value)
        == #"{"$time":"1970-01-01T00:00:00Z","bytes":"aGk=","list":[null,{"$ref":"x"}],"wait":"1.5s"}"#
    )
  }

  @Test func `JSON at the depth limit is read, and a hundred thousand levels are refused`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(throws: Never.self) { try JSONReader.value(of: nested(JSONReader.depthMax + 1)) }
    #expect(throws: JSONReader.Failure.self) { try JSONReader.value(of: nested(100_000)) }
  }

  @Test func `a byte order mark is not text`() throws {
    #expect(try JSONReader.value(of: "\u{FEFF} [1]") == .list([.int(1)]))
    #expect(try JSONReader.values(of: "\u{FEFF}1\n2\n") == [.int(1), .int(2)])
    #expect(try JSONReader.values(of: "\u{FEFF}") == [])
    #expect(throws: JSONReader.Failure.self) { try JSONReader.value(of: "[\u{FEFF}1]") }
    #expect(throws: JSONReader.Failure.self) { try JSONReader.value(of: "\u{FEFF}\u{FEFF}1") }
    let failure = #expect(throws: JSONReader.Failure.self) {
      try JSONReader.value(of: "\u{FEFF}oops")
    }
    #expect(failure?.column == 1)
  }

  @Test func `a syntax error has its line and column`() {
    let failure = #expect(throws: JSONReader.Failure.self) {
      try JSONReader.value(of: "{\n  \"a\": 1,\n  \"b\": oops\n}")
    }
    #expect(failure?.line == 3)
    #expect(failure?.column == 8)
  }

  @Test(
    arguments: [
      (.bytes([104, 105]), #"{"$bytes":"aGk="}"#),
      (.timestamp(.epoch), #"{"$timestamp":"1970-01-01T00:00:00Z"}"#),
      (.duration(.milliseconds(1500)), #"{"$duration":"1.5s"}"#),
      (.double(.nan), #"{"$double":"NaN"}"#),
      (.double(-.infinity), #"{"$double":"-Infinity"}"#),
      (.map(["$bytes": .string("x")]), #"{"$$bytes":"x"}"#),
      (.map(["$$x": .int(1)]), #"{"$$$x":1}"#),
      (.map(["$a": .int(1), "$b": .int(2)]), #"{"$a":1,"$b":2}"#),
      (.list([.map(["t": .bytes([])])]), #"[{"t":{"$bytes":""}}]"#),
    ] as [(Value, String)])
  func `values without a JSON type are tagged, and are read back`(_ value: Value, text: String)
    throws
  {
    #expect(JSONWriter.compact(value) == text)
    #expect(try DataDocument.untagged(try JSONReader.value(of: text)) == value)
  }

  @Test(arguments: [
    #"{"$bytes":"!"}"#, #"{"$timestamp":"now"}"#, #"{"$double":"1"}"#, #"{"$x":1}"#,
  ])
  func `a tag that cannot be read is refused`(_ text: String) throws {
    let value = try JSONReader.value(of: text)
    #expect(throws: DataDocument.Failure.self) { try DataDocument.untagged(value) }
  }

  @Test func `keys are sorted and the layout is stable`() {
    let value = Value.map(["b": .list([.int(1), .map([:])]), "a": .map(["x": .null])])
    #expect(
      JSONWriter.pretty(value) == """
        {
          "a": {
            "x": null
          },
          "b": [
            1,
            {}
          ]
        }
        """)
  }
}

struct YAMLTests {
  @Test func `a document is written as people write YAML`() {
    let value = Value.map([
      "data": .map(["n": .int(1), "on": .string("yes"), "t": .string("12:00")]),
      "empty": .list([]), "list": .list([.map(["a": .int(1), "b": .string("x")]), .string("y")]),
      "nested": .list([.list([.int(1), .int(2)])]), "word": .string("top"),
    ])
    #expect(
      YAMLWriter.document(value) == """
        data:
          n: 1
          "on": "yes"
          t: "12:00"
        empty: []
        list:
        - a: 1
          b: x
        - y
        nested:
        - - 1
          - 2
        word: top

        """)
  }

  @Test(
    arguments: [
      .null, .bool(true), .int(-3), .double(1), .double(.nan), .string(""), .string("no"),
      .string("1"), .string("- a: b #c"), .string("two\nlines"), .string("~"), .bytes([1]),
      .list([]), .map([:]), .list([.list([]), .map(["a": .list([.int(1)])])]),
      .map(["a b": .map(["c": .map(["d": .string("e")])]), "null": .list([.map([:])])]),
    ] as [Value])
  func `a value that is written as YAML is read back`(_ value: Value) throws {
    let text = YAMLWriter.document(.map(["v": value]))
    let read = try DocumentReader.documents(text, name: "f.yaml").map(DataDocument.untagged)
    #expect(read == [.map(["v": value])])
  }
}
