import SeededRandom
import Testing
import WidgetYAML

private let options = YAMLReader.Options(nodesMax: 1000, depthMax: 20, expandsAliases: true)

private func failure(_ text: String, _ options: YAMLReader.Options = options) -> YAMLFailure? {
  do throws(YAMLFailure) {
    _ = try YAMLReader.documents(of: text, options)
    return nil
  } catch { return error }
}

private func scalar(_ text: String, _ line: Int, _ column: Int, isPlain: Bool = true) -> YAMLNode {
  YAMLNode(
    place: YAMLPlace(line: line, column: column), content: .scalar(text, isPlain: isPlain))
}

/// The node's text, in YAML's flow style, without places.
private func flow(_ node: YAMLNode) -> String {
  switch node.content {
  case .scalar(let text, _): text
  case .sequence(let elements): "[" + elements.map(flow).joined(separator: ",") + "]"
  case .mapping(let entries):
    "{" + entries.map { flow($0.key) + ":" + flow($0.value) }.joined(separator: ",") + "}"
  }
}

@Suite struct YAMLReaderTests {
  @Test func `each YAML node has its line and column, from 1`() throws {
    let document = try #require(try YAMLReader.document(of: "é: [\"x\", 'é', y]\nb:\n  c", options))
    #expect(document.place == YAMLPlace(line: 1, column: 1))
    guard case .mapping(let entries) = document.content else {
      Issue.record("no mapping: \(document)")
      return
    }
    #expect(entries.map(\.key) == [scalar("é", 1, 1), scalar("b", 2, 1)])
    #expect(
      entries[0].value.content
        == .sequence([
          scalar("x", 1, 5, isPlain: false), scalar("é", 1, 10, isPlain: false), scalar("y", 1, 15),
        ]))
    #expect(entries[1].value == scalar("c", 3, 3))
  }

  @Test func `a text has any number of documents`() throws {
    #expect(try YAMLReader.documents(of: "", options).isEmpty)
    #expect(try YAMLReader.documents(of: "# nothing\n", options).isEmpty)
    #expect(
      try YAMLReader.documents(of: "a\n---\nb: c\n---\n", options).map(flow) == ["a", "{b:c}", ""])
    #expect(try YAMLReader.document(of: "", options) == nil)
    #expect(throws: YAMLFailure(place: .init(line: 2, column: 1), reason: .severalDocuments)) {
      try YAMLReader.document(of: "a\n--- b", options)
    }
  }

  @Test(arguments: [
    ("a: [1", YAMLFailure.Reason.syntax("did not find expected ',' or ']'")),
    ("a: b: c", .syntax("mapping values are not allowed in this context")),
    ("a: \"b", .syntax("found unexpected end of stream")),
    ("a: *b", .unknownAlias("b")),
    ("a: &a [*a]", .unknownAlias("a")),
    (
      "{a: 1, b: 2, a: 3}",
      .duplicateKey("a", first: YAMLPlace(line: 1, column: 2))
    ),
    ("a: b\u{1}", .character("control characters are not allowed", byte: 4)),
    ("[[[[[[[[[[[[[[[[[[[[[a", .tooDeep(max: 20)),
  ])
  func `an unreadable text is refused with the reason`(text: String, reason: YAMLFailure.Reason) {
    #expect(failure(text)?.reason == reason)
    #expect(failure(text)?.words(in: text).message.isEmpty == false)
  }

  /// Swift's dictionaries treat them as one key, and so would every reader of the mapping.
  @Test func `keys that look alike are the same key`() {
    let name = "caf\u{e9}"
    #expect(
      failure("{\(name): 1, cafe\u{301}: 2}")
        == YAMLFailure(
          place: YAMLPlace(line: 1, column: 11),
          reason: .duplicateKey("cafe\u{301}", first: YAMLPlace(line: 1, column: 2))))
  }

  struct Mistake: Sendable, CustomTestStringConvertible {
    let text: String
    let place: String
    let message: String
    let hint: String

    init(_ text: String, _ place: String, _ message: String, _ hint: String) {
      (self.text, self.place, self.message, self.hint) = (text, place, message, hint)
    }

    var testDescription: String { text }
  }

  private static let tags: [Mistake] = [
    Mistake("if: !data.n", "1:5", "tags such as !data.n", "put it in quotes: '!data.n'"),
    Mistake("if: ! data.n", "1:5", "tags such as !", "put it in quotes: '!data.n'"),
    Mistake("if: !!data.n", "1:5", "tags such as !!data.n", "put it in quotes: '!!data.n'"),
    Mistake("a:\n  if: !\n    data.n", "2:7", "tags such as !", "put it in quotes: '!data.n'"),
    Mistake("{when: ! data.n, b: c}", "1:8", "tags such as !", "put it in quotes: '!data.n'"),
    Mistake("{when: !data.n , b: c}", "1:8", "tags such as !data.n", "quotes: '!data.n'"),
    Mistake("- ! data.n == 'a'", "1:3", "tags such as !", "quotes: \"!data.n == 'a'\""),
    Mistake("if: ! 'data.n'", "1:5", "tags such as !", "quotes: '!data.n'"),
    Mistake("if: ! |\n  data.n\n  + 1", "1:5", "tags such as !", "put all of it in quotes"),
    Mistake("name: !!str x", "1:7", "tags such as !!str", "leave it out"),
    Mistake("name: !<tag:a.example,2000:x> x", "1:7", "tags such as tag:a.example", "leave it out"),
    Mistake("!!str name: x", "1:1", "tags such as !!str", "leave it out"),
    Mistake("!a name: x", "1:1", "tags such as !a", "quotes: '!a name'"),
    Mistake("a: !!map {b: c}", "1:4", "tags such as !!map", "leave it out"),
    Mistake("a: ! [b]", "1:4", "tags such as !", "leave it out"),
    Mistake("- !!seq\n  - a", "1:3", "tags such as !!seq", "leave it out"),
  ]

  private static let syntax: [Mistake] = [
    Mistake("x: [", "1:4", "\"[\" is not closed", "\"[\"; if the bracket is part of"),
    Mistake("x: [\n\n", "1:4", "\"[\" is not closed", "put this text in quotes"),
    Mistake("x: {color: #fff}", "1:12", "\"#\" begins a comment here", "quotes: '#fff'"),
    Mistake("x: {c: #fff, b: 2}\ny: {d: 1}", "1:8", "begins a comment here", "quotes: '#fff'"),
    Mistake("x: ['#1', #2 ]\ny: 1", "1:11", "begins a comment here", "quotes: '#2'"),
    Mistake("labels: #none", "1:9", "so there is no value", "'#none', or put a blank after #"),
    Mistake("color: #fff", "1:8", "\"#\" begins a comment here, so there is no", "'#fff'"),
    Mistake("a:\n  - b\n  - #c d # no\n", "3:5", "begins a comment here", "quotes: '#c d'"),
    Mistake("title:\t#1\r\nb: 2", "1:8", "so there is no value", "quotes: '#1'"),
    Mistake("é: {\n a: #b\n}", "2:5", "so there is no value", "quotes: '#b'"),
    Mistake(
      "x: [a b\n  c: d\n  e f: [g]]", "2:4", "a comma or the closing",
      "if the value is one text, put it in quotes, as in '"),
    Mistake("{\n  \"a\": 1\n  \"b\": 2\n}\n", "3:6", "a comma or the closing", "in quotes"),
    Mistake("a:\n  label: a\n \t\n", "3:2", "a tab cannot indent YAML", "indent with spaces"),
    Mistake("name: ]", "1:7", "a value cannot begin with \"]\"", "put the text in quotes"),
    Mistake("name: |x", "1:8", "a block of text begins in the line after", "quotes: '|x'"),
    Mistake("if: !data.a || data.b", "1:5", "begins with \"!\"", "quotes: '!data.a || data.b'"),
    Mistake("if: !(data.a)", "1:5", "tags such as !(data.a)", "quotes: '!(data.a)'"),
    Mistake("x: {if: !(data.a), b: 1}", "1:9", "tags such as !(data.a)", "quotes: '!(data.a)'"),
    Mistake("- if: !(data.a)  # no", "1:7", "tags such as !(data.a)", "quotes: '!(data.a)'"),
    Mistake("if: !data.a && data.a", "1:5", "begins with \"!\"", "quotes: '!data.a && data.a'"),
    Mistake("if: !data.a ? 1 : 2", "1:5", "begins with \"!\"", "quotes: '!data.a ? 1 : 2'"),
    Mistake("if: && data.a", "1:5", "begins with \"&\"", "quotes: '&& data.a'"),
    Mistake("a: {n: !result}", "1:8", "begins with \"!\"", "quotes: '!result'"),
    Mistake("a: b\n...\nc: d", "3:1", "the document ends before this", "remove this text"),
    Mistake("%YAML 3.0\n---\na: b", "1:1", "only versions 1.1 and 1.2", "begins with %"),
    Mistake("%YAML 1.2\na: b", "2:1", "directive", "begins with %"),
    Mistake("a: \"\\xzz\"", "1:7", "this escape is not a character", "hexadecimal"),
    Mistake("a: 1\nb: 2\na: 3", "3:1", "\"a\" appears twice: it is in line 1 too", "remove"),
    Mistake("{\n \"a\": 1,\n \"a\": 3}", "3:2", "\"a\" appears twice: it is in line 2", "remove"),
  ]

  @Test(arguments: [
    "a: # no", "a: #", "a: #!no", "a:\n  #b: c\nd: 1", "a: #b\n  c: d", "- # no\n- b", "a: 1 #b",
    "a: '' #b", "a: null #b", "a: |\n  #b",
  ])
  func `a comment that is no value is no mistake`(text: String) {
    #expect(failure(text) == nil)
  }

  @Test(arguments: tags + syntax + MissingEndTests.mistakes + StrayKeyTests.mistakes)
  func `a mistake has a place, words and advice`(mistake: Mistake) throws {
    let found = try #require(failure(mistake.text))
    let words = found.words(in: mistake.text)
    #expect("\(words.place.line):\(words.place.column)" == mistake.place)
    #expect(words.message.contains(mistake.message), "\(words.message)")
    #expect(words.hint.contains(mistake.hint), "\(words.hint)")
    for word in ["did not find", "found", "could not"] {
      #expect(!words.message.contains(word), "\(words.message)")
    }
  }

  @Test func `anchors are refused where aliases are`() {
    var refusing = options
    refusing.expandsAliases = false
    #expect(
      failure("a: &x 1", refusing)
        == YAMLFailure(place: .init(line: 1, column: 4), reason: .alias("x")))
  }

  @Test func `keys do not count as nodes`() throws {
    let text = (0..<999).map { "k\($0): v" }.joined(separator: "\n")
    #expect(try YAMLReader.documents(of: text, options).count == 1)
    #expect(failure(text + "\nk: v")?.reason == .tooManyNodes(max: 1000))
  }

  @Test func `aliases repeat a node`() throws {
    let text = "a: &x [1, &y 2]\nb: {c: *x, d: *y}"
    #expect(
      try YAMLReader.documents(of: text, options).map(flow) == ["{a:[1,2],b:{c:[1,2],d:2}}"])
    // Anchors end with their document.
    #expect(failure("&x a\n---\n*x")?.reason == .unknownAlias("x"))
    var refusing = options
    refusing.expandsAliases = false
    #expect(failure(text, refusing)?.reason == .alias("x"))
  }

  @Test func `nodes that aliases repeat count against the limit`() {
    var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in 1..<9 {
      let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
      text += "a\(level): &a\(level) [\(aliases)]\n"
    }
    #expect(failure(text)?.reason == .tooManyNodes(max: 1000))
  }

  @Test func `a repeated key counts too`() {
    let list = Array(repeating: "*k", count: 40).joined(separator: ", ")
    let lists = Array(repeating: "*l", count: 40).joined(separator: ", ")
    #expect(
      failure("&k a: 1\nl: &l [\(list)]\nm: [\(lists)]")?.reason == .tooManyNodes(max: 1000))
  }

  @Test func `a byte order mark is not text`() throws {
    #expect(
      try YAMLReader.documents(of: "\u{FEFF}id: a\nkind: k", options).map(flow) == ["{id:a,kind:k}"]
    )
  }

  @Test func `aliases cannot nest deeper than the text may`() {
    var text = "a0: &a0 [[[[x]]]]\n"
    for level in 1..<8 { text += "a\(level): &a\(level) [[[[*a\(level - 1)]]]]\n" }
    #expect(
      failure(text) == YAMLFailure(place: .init(line: 5, column: 13), reason: .tooDeep(max: 20)))
  }

  /// libyaml and the reader end, and answer, whatever the text is.
  @Test(arguments: 0..<20)
  func `random texts are read or refused`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let parts = [
      "a", ": ", "\n", "  ", "- ", "[", "]", "{", "}", ",", "&x ", "*x", "\"", "'", "|", ">", "#",
      "---", "...", "!", "!!str ", "%YAML 1.1", "\t", "\u{0}", "\u{feff}", "é", "😀", "? ", "\\u00",
    ]
    for _ in 0..<300 {
      let text = (0..<random.below(40)).map { _ in parts[random.below(parts.count)] }
        .joined()
      guard let failure = failure(text) else { continue }
      #expect(failure.place.line >= 1 && failure.place.column >= 1)
      #expect(!failure.words(in: text).message.isEmpty)
    }
  }
}
