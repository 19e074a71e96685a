import SeededRandom
import Testing
import WidgetBundle
import WidgetModel

/// Hostile texts and damaged texts.
@Suite struct HostileTests {
  private static func repeated(_ text: String, _ count: Int) -> String {
    String(repeating: text, count: count)
  }

  static let texts: [(name: String, text: String, message: String)] = [
    ("flow lists", repeated("[", 200_000), "nest"),
    ("flow maps", repeated("{a: ", 200_000), "nest"),
    ("block lists", repeated("- ", 200_000), "nest"),
    ("block keys", repeated("? ", 100_000), ""),
    ("closed lists", repeated("[", 500) + repeated("]", 500), "nests deeper than 64"),
    (
      "an indented tower", (0..<400).map { repeated(" ", $0) + "a:" }.joined(separator: "\n"),
      "nests deeper than 64"
    ),
    (
      "a bomb of aliases",
      "a0: &a0 [x]\n"
        + (1..<60).map { "a\($0): &a\($0) [*a\($0 - 1), *a\($0 - 1)]\n" }.joined(),
      "anchors and aliases"
    ),
    (
      "a bomb of aliases in a key",
      "a0: &a0 [x]\n"
        + (1..<60).map { "a\($0): &a\($0) [*a\($0 - 1),*a\($0 - 1)]\n" }.joined() + "? *a59\n: 1\n",
      "anchors and aliases"
    ),
    ("an alias to itself", "a: &a [*a]", "anchors and aliases"),
    ("ten megabytes", "bundle: " + repeated("x", 10 << 20), "bytes; a bundle's has"),
    ("a NUL", "bundle: a\u{0}b", "NUL"),
    ("a control character", "bundle: \u{1}", ""),
    ("a byte order mark", "\u{FEFF}bundle: B", "cannot be a bundle's id"),
    ("half a surrogate", "{\"bundle\": \"\\ud83d\"}", ""),
    ("two first halves", "{\"bundle\": \"\\ud83d\\ud83d\"}", ""),
    ("an escape at the end", "{\"bundle\": \"\\", ""),
    ("a percent directive", "%FOO bar\n---\nbundle: a", ""),
    ("very many keys", (0..<90_000).map { "k\($0):" }.joined(separator: "\n"), "unknown key"),
    ("more values than there may be", "a: [" + repeated("1,", 120_000) + "]", "more than 100000"),
    ("a long key", "\(repeated("k", 900_000)): 1", ""),
    ("a number beyond 64 bits", Samples.kind("parameters: {a: 99999999999999999999}"), "64 bits"),
    (
      "a deep expression",
      Samples.kind("content: {label: '=" + repeated("(", 30_000) + "'}"), ""
    ),
    (
      "a wide expression",
      Samples.kind("content: {label: '=" + repeated("1+", 40_000) + "1'}"), "bytes"
    ),
    (
      "a long pattern",
      Samples.kind(
        "content: {label: x, if: 'data.text.matches(\"" + repeated("(a*)*", 9000) + "\")'}"),
      ""
    ),
    (
      "nodes inside one another",
      Samples.kind(
        "content: " + repeated("{stack: [", 40) + "x" + repeated("]}", 40)), "nests deeper"
    ),
    (
      "nodes inside one another, not that many",
      Samples.kind(
        "content: " + repeated("{stack: [", 20) + "x" + repeated("]}", 20)), "16 deep"
    ),
    (
      "very many nodes",
      Samples.kind("content: {stack: [" + repeated("x,", 5000) + "]}"), "too many nodes"
    ),
    (
      "very many actions",
      Samples.kind("actions: {" + (0..<300).map { "a\($0): a0" }.joined(separator: ", ") + "}"),
      "more than 256 actions"
    ),
    (
      "a long chain of actions",
      Samples.kind(
        "actions: {" + (0..<250).map { "a\($0): [a\(($0 + 1) % 250)]" }.joined(separator: ", ")
          + "}"), "in a circle"
    ),
    (
      "unknown keys", "bundle: b\n" + (0..<20_000).map { "kinsd\($0): 1\n" }.joined(),
      "unknown key"
    ),
    ("keys that look alike", "bundle: b\n\u{E9}: 1\ne\u{301}: 2", "appears twice"),
  ]

  @Test(arguments: texts.indices)
  func `a hostile text is refused with a short reason`(index: Int) {
    let (name, text, message) = HostileTests.texts[index]
    let problems = Samples.problems(text)
    #expect(!problems.isEmpty, "\(name)")
    #expect(problems.contains { "\($0)".contains(message) }, "\(name): \(problems.prefix(3))")
    #expect(problems.count <= InvalidBundle.problemsMax)
    #expect(problems.allSatisfy { $0.line >= 1 && $0.column >= 1 })
    // The output for a terminal stays short enough to be read.
    #expect(problems.allSatisfy { $0.message.count < 1000 && $0.excerpt.count < 1000 }, "\(name)")
  }

  @Test func `signs that only look like anchors are allowed`() throws {
    let text = Samples.kind("content: {stack: ['a *b', 'c*d', '=string(data.n *data.n)']}")
    #expect(Samples.problems(text).isEmpty)
    #expect(Samples.problems(Samples.kind("content: {label: 'a &b'}")).isEmpty)
  }

  // MARK: - Mutations

  private static let snippets = [
    "=", "==", "{", "}", "[", "]", ": ", "- ", "\n", "\t", "'", "\"", "|", ">", "#", "&a ", "*a ",
    "!!x ", "null", "~", "-1", "1e999", "99999999999999999999", "=data", "=now", "${bundle}", "..",
    "\\u0000", "é", "😀", "//", "if", "do", "rows", "?", "%", "@", "`", "---\n", "...\n",
  ]

  static func mutated(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      let place = Int.random(in: 0..<max(1, bytes.count), using: &generator)
      switch Int.random(in: 0..<6, using: &generator) {
      case 0:
        bytes.insert(
          contentsOf: Array((snippets.randomElement(using: &generator) ?? "").utf8), at: place)
      case 1:
        let end = min(bytes.count, place + Int.random(in: 1...20, using: &generator))
        bytes.removeSubrange(place..<end)
      case 2: bytes[place] = UInt8.random(in: 0...255, using: &generator)
      case 3:
        // A line moves to another place.
        var lines = bytes.split(separator: 10, omittingEmptySubsequences: false).map(Array.init)
        let from = Int.random(in: 0..<lines.count, using: &generator)
        let line = lines.remove(at: from)
        lines.insert(line, at: Int.random(in: 0...lines.count, using: &generator))
        bytes = Array(lines.joined(separator: [10]))
      case 4: bytes = Array(bytes.prefix(place))
      default:
        var lines = bytes.split(separator: 10, omittingEmptySubsequences: false).map(Array.init)
        let at = Int.random(in: 0..<lines.count, using: &generator)
        lines[at] = Array("  ".utf8) + lines[at]
        bytes = Array(lines.joined(separator: [10]))
      }
      if bytes.isEmpty { bytes = [10] }
    }
    return bytes
  }

  @Test(arguments: 0..<4)
  func `mutated bundles are read or refused`(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed) &* 7919 &+ 1)
    let original = Array(Samples.full.utf8)
    var (read, refused) = (0, 0)
    for _ in 0..<150 {
      let text = String(decoding: HostileTests.mutated(original, &generator), as: UTF8.self)
      let problems = Samples.problems(text)
      if problems.isEmpty { read += 1 } else { refused += 1 }
      #expect(problems.count <= InvalidBundle.problemsMax, "seed \(seed)")
      #expect(problems.allSatisfy { $0.line >= 1 && $0.column >= 1 && !$0.message.isEmpty })
    }
    // The mutations are useful: some cause errors, and some do not.
    #expect(read > 0 && refused > 0)
  }
}
