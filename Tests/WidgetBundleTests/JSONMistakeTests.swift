import Testing
import WidgetBundle
import WidgetModel

/// Mistakes in a file that must be JSON. Most of these texts are YAML with another meaning.
@Suite struct JSONMistakeTests {
  struct Mistake: Sendable, CustomTestStringConvertible {
    let text: String
    let problem: String

    init(_ text: String, _ problem: String) { (self.text, self.problem) = (text, problem) }

    var testDescription: String { text }
  }

  static let quotes: [Mistake] = [
    Mistake(#"{"a": hello"}"#, "1:7: the opening quote is missing; add it"),
    Mistake(#"{"a": 1.0.0", "b": "c"}"#, "1:7: the opening quote is missing; add it"),
    Mistake(#"{"read": [/proc/loadavg", "/x"]}"#, "1:11: the opening quote is missing; add it"),
    Mistake(
      #"{"é": =data.n > 0 ? \"a\" : \"b\"", "b": 1}"#,
      "1:7: the opening quote is missing; add it"),
    Mistake(
      "{\nbundle\": \"b\"\n}", "2:1: the opening quote of the key is missing; add it"),
    Mistake(#"{bundle: "b"}"#, "1:2: expected a key in quotes; JSON has double quotes around keys"),
    Mistake(#"{"a": hello, "b": 1}"#, "1:7: this is not a value; put text in double quotes"),
    Mistake(#"{"a": 'x'}"#, "1:7: this is not a value; put text in double quotes"),
    Mistake(#"{"a": =x, "b": ""}"#, "1:7: this is not a value; put text in double quotes"),
    Mistake(#"["ls", -l"]"#, "1:8: the opening quote is missing; add it"),
    Mistake(#"{"a": True}"#, "1:7: this is not a value; write true"),
    Mistake(#"{"a": ~}"#, "1:7: this is not a value; write null"),
    Mistake(#"{"a": .5}"#, "1:7: this is not a value; a number of JSON begins with a digit"),
    Mistake("{ # x\n\"a\": 1}", "1:3: expected a key in quotes; JSON has no comments"),
    Mistake("{\"a\": \"b,\n\"c\": 1}", "1:7: the closing quote is missing; add it"),
    Mistake("{\"a\": \"b\\\"}", "1:7: the closing quote is missing; add it"),
    Mistake(
      #"{"bundle: "b"}"#, "1:12: this follows a closing quote directly; the closing quote of the"),
    Mistake(#"{"a": "=x + "b""}"#, "1:14: this follows a closing quote directly;"),
  ]

  static let brackets: [Mistake] = [
    Mistake(
      #""bundle": "b"}"#,
      "1:1: a value belongs here, but the \":\" after this text makes it a key; is a \"{\" missing"),
    Mistake(
      "{\"a\": \"read\": [1]}}", "1:7: a value belongs here, but the \":\" after this text makes it"
    ),
    Mistake(
      "[\"label\": \"x\"}]", "1:2: a value belongs here, but the \":\" after this text makes it"),
    Mistake(
      #"{"a": "b", "c"]}"#,
      "1:15: this \"]\" has no \"[\"; remove it, or add the \"[\" that it closes"),
    Mistake(
      #"{"a": "b", "c", "d"]}"#, "1:15: expected : after a key; there is a \"]\" without its \"[\""),
    Mistake(
      #"{"a": {"b": 1}, {"c": 2}]}"#,
      "1:17: expected a key in quotes; there is a \"]\" without its \"[\""),
    Mistake(#"{"a": 1]}"#, "1:8: this \"]\" has no \"[\"; remove it, or add the \"[\""),
    Mistake(
      "{\n\"a\": {}\n}}", "3:2: there is one \"}\" too many; all brackets are closed at 3:1"),
    Mistake("[1]]", "1:4: there is one \"]\" too many; all brackets are closed at 1:3"),
    Mistake(
      "{\"a\": {}},\n\"b\": {}}",
      "1:10: there is one \"}\" too many; all brackets are closed at 1:9"),
    Mistake("{}\n{}", "2:1: there is more text after the value; all brackets are closed at 1:2"),
    Mistake(#"{"a": [1}}"#, "1:9: this \"}\" cannot close the \"[\" at 1:7"),
    Mistake(
      #"{"a": {"b": 1}, {"c": 2}, "d": "e"}"#,
      "1:17: expected a key in quotes; the \"{\" at 1:1 is open"),
    Mistake(
      #"{"a": {{"b": 1}}"#,
      "1:7: \"{\" is not closed; add \"}\" before the \"{\" in line 1, column 8, or remove this \"{\""
    ),
    Mistake(#"{"a": 1,}"#, "1:9: expected a key in quotes; remove the comma before it"),
    Mistake(#"{"a": [1, ]}"#, "1:11: this is not a value; remove the comma before it"),
  ]

  @Test(arguments: quotes + brackets)
  func `a mistake in JSON has its place and its cause`(mistake: Mistake) {
    let error = #expect(throws: InvalidBundle.self) {
      try BundleReader.read(mistake.text, isJSON: true)
    }
    #expect(error?.problems.count == 1)
    #expect(error?.description.hasPrefix(mistake.problem) == true, "\(error?.description ?? "")")
  }

  @Test func `a text without its first quote is refused in JSON`() throws {
    let text = #"""
      {"bundle": "b", "format": 1, "version": "1.0.0",
       "kinds": {"k": {"data": {"t": hello"}, "content": {"label": "=data.t"}}}}
      """#
    #expect(throws: Never.self) { try BundleReader.read(text) }
    let error = #expect(throws: InvalidBundle.self) { try BundleReader.read(text, isJSON: true) }
    #expect(error?.description == "2:32: the opening quote is missing; add it")
    #expect(error?.problems.first?.excerpt.contains("hello") == true)
  }

  /// The reader of bundles knows more about them than the rules of JSON.
  @Test(arguments: [
    ("", "1:1: there is nothing in it; a bundle begins with {\"bundle\": \"ID\""),
    (" \n", "1:1: there is nothing in it"),
    ("{\"a\": 1,\n\"a\": 2}", "2:1: the key \"a\" appears twice: it is in line 1 too"),
  ])
  func `JSON that is no bundle has the words for bundles`(text: String, problem: String) {
    let error = #expect(throws: InvalidBundle.self) { try BundleReader.read(text, isJSON: true) }
    #expect(error?.description.hasPrefix(problem) == true, "\(error?.description ?? "")")
  }

  /// Characters that YAML counts as ends of lines, or writes in another way.
  static let oddities = [
    "", "\u{2028}", "a \u{2029} b", "\u{85}\u{85}", #"\ud83d\ude00"#, #"\\ud83d\\ude00"#, "😀é",
    #"\u2028\n"#, "\u{7F}\u{9F}", "a\u{FEFF}\u{FFFE}",
  ]

  @Test(arguments: oddities, ["", "\u{FEFF}"])
  func `an odd character or a byte order mark moves no place`(odd: String, mark: String) throws {
    let head = #"{"bundle": "b", "format": 1, "version": "1.0.0", "name": "\#(odd)", "#
    for end in ["", "\n"] {
      let text = mark + head + end + #""nope": 1}"#
      let error = #expect(throws: InvalidBundle.self) {
        try BundleReader.read(text, isJSON: true)
      }
      let problem = try #require(error?.problems.first { $0.message.contains("nope") })
      let column = end.isEmpty ? head.unicodeScalars.count + 1 : 1
      #expect(problem.line == (end.isEmpty ? 1 : 2), "\(problem)")
      #expect(problem.column == column, "\(problem)")
      #expect(problem.excerpt.contains("\"nope\": 1}"))
      #expect(problem.excerpt.contains("\u{FEFF}") == (odd.contains("\u{FEFF}") && end.isEmpty))
    }
  }

  @Test(arguments: [
    "a \u{2028} b", "\u{2029}", "a\u{85}b", "😀", "a\u{7F}\u{80}\u{9F}b", "\u{FEFF}",
    "\u{FFFE}\u{FFFF}",
  ])
  func `a text of JSON has the characters that are in it`(value: String) throws {
    let text =
      "\u{FEFF}" + #"{"bundle": "b", "format": 1, "version": "1.0.0", "kinds": {"k": {"data": "#
      + #"{"t": "\#(value)\ud83d\ude00"}, "content": {"label": "=data.t"}}}}"#
    let bundle = try BundleReader.read(text, isJSON: true)
    #expect(bundle.kinds.first?.kind.data.first?.defaultValue == .string(value + "😀"))
  }

  @Test func `a byte order mark does not make JSON look like YAML`() {
    let error = #expect(throws: InvalidBundle.self) {
      try BundleReader.read("\u{FEFF}{bundle: \"b\"}", isJSON: true)
    }
    #expect(
      error?.description
        == "1:2: expected a key in quotes; JSON has double quotes around keys")
  }

  @Test(.timeLimit(.minutes(5)), arguments: ["[", "{\"a\":", "[\"a\" ", "}", "\"", "x\" "])
  func `a million repetitions of a mistake are refused`(part: String) {
    let text = String(repeating: part, count: 1_000_000 / part.utf8.count)
    #expect(throws: InvalidBundle.self) { try BundleReader.read(text, isJSON: true) }
  }
}
