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
  @Test func `nodes have their places, in scalars from 1`() throws {
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
    ("{a: 1, b: 2, a: 3}", .duplicateKeys(["a"])),
    ("a: b\u{1}", .character("control characters are not allowed", byte: 4)),
    ("[[[[[[[[[[[[[[[[[[[[[a", .tooDeep(max: 20)),
  ])
  func `a text that cannot be read`(text: String, reason: YAMLFailure.Reason) {
    #expect(failure(text)?.reason == reason)
    #expect(failure(text)?.words(in: text).message.isEmpty == false)
  }

  /// Swift's dictionaries take them for one key, and so would everything that reads the mapping.
  @Test func `keys that look alike are the same key`() {
    let name = "caf\u{e9}"
    #expect(failure("{\(name): 1, cafe\u{301}: 2}")?.reason == .duplicateKeys([name]))
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

  @Test func `what aliases repeat counts`() {
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
  func `random texts`(seed: UInt64) {
    var random = SplitMix(seed: seed)
    let parts = [
      "a", ": ", "\n", "  ", "- ", "[", "]", "{", "}", ",", "&x ", "*x", "\"", "'", "|", ">", "#",
      "---", "...", "!", "!!str ", "%YAML 1.1", "\t", "\u{0}", "\u{feff}", "é", "😀", "? ", "\\u00",
    ]
    for _ in 0..<300 {
      let text = (0..<random.next(below: 40)).map { _ in parts[random.next(below: parts.count)] }
        .joined()
      guard let failure = failure(text) else { continue }
      #expect(failure.place.line >= 1 && failure.place.column >= 1)
      #expect(!failure.words(in: text).message.isEmpty)
    }
  }
}

private struct SplitMix {
  var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next(below bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
  }
}
