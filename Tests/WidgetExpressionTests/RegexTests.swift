import SeededRandom
import Testing

@testable import WidgetExpression

/// Patterns of `matches`: RE2's syntax, in linear time.
struct RegexTests {
  private func compile(_ pattern: String) throws -> RegexProgram {
    var meter = CostMeter(budget: 1_000_000)
    return try RegexProgram(pattern, &meter)
  }

  private func matches(_ pattern: String, _ text: String) throws -> Bool {
    var meter = CostMeter(budget: 10_000_000)
    return try RegexProgram(pattern, &meter).matches(text, &meter)
  }

  @Test(
    arguments: [
      ("", "", true), ("abc", "xabcx", true), ("^abc$", "xabc", false), ("a.c", "a\nc", false),
      ("(?s)a.c", "a\nc", true),
      ("a|b|c", "zzc", true), ("^(?:a|bc)+$", "abcbca", true), ("^(a|bc)+$", "abcb", false),
      ("^a{2,3}$", "aa", true),
      ("^a{2,3}$", "aaaa", false), ("^a{2,}$", "aaaa", true), ("^a{3}$", "aa", false),
      ("a{,2}", "a{,2}", true), ("x{", "x{", true),
      ("^a*?$", "aaa", true), ("^a??b$", "b", true), ("[a-c]+", "zzb", true),
      ("^[^a-c]+$", "xyz", true), ("^[]a]+$", "]a", true),
      ("^[a\\-z]+$", "a-z", true), ("^[a-]+$", "a-", true), ("[[:alpha:]]", "1a", true),
      ("^[[:^digit:]]+$", "ab", true),
      ("^\\d+$", "0123", true), ("^\\d+$", "\u{661}", false), ("^\\D\\W\\S$", "a a", true),
      ("^\\w+$", "a_1", true),
      ("\\bfoo\\b", "a foo b", true), ("\\bfoo\\b", "afoo", false), ("\\Boo", "foo", true),
      ("(?i)straSSE", "Strasse", true),
      ("(?i)é", "É", true), ("(?i)[a-z]+$", "ABC", true), ("(?i)k", "\u{212A}", true),
      ("(?i:a)b", "Ab", true), ("(?i:a)b", "AB", false),
      ("(?i)a(?-i)b", "Ab", true), ("(?m)^b$", "a\nb\nc", true), ("^b$", "a\nb", false),
      ("\\Ab", "a\nb", false), ("b\\z", "ab", true),
      ("^\\p{Lu}\\p{Ll}+$", "Ärger", true), ("^\\pL+$", "日本", true), ("\\PL", "a1", true),
      ("\\p{^L}", "a", false), ("^[\\p{L}\\d]+$", "a1", true),
      ("\\Qa.b\\E", "a.b", true), ("\\Qa.b\\E", "axb", false),
      ("\\x41\\x{1F600}", "A\u{1F600}", true), ("\\101", "A", true), ("\\0", "\0", true),
      ("\\.\\*", ".*", true), ("(?P<name>a)(?<b>b)", "ab", true), ("()", "", true),
      ("(|a)+b", "aab", true), ("(a*)+b", "aab", true),
      ("^(?:)*$", "", true), ("a\\tb", "a\tb", true), ("[^a]", "\n", true),
      ("^.$", "\u{1F600}", true), ("日.語", "日本語", true),
      ("^(a?){20}a{20}$", "aaaaaaaaaaaaaaaaaaaa", true), ("[\\s\\S]", "\n", true),
      ("[^\\d]", "1", false),
    ] as [(String, String, Bool)])
  func `a pattern matches as in RE2`(pattern: String, text: String, expected: Bool) throws {
    #expect(try matches(pattern, text) == expected, "\(pattern)")
  }

  @Test(arguments: [
    "(", ")", "a)", "[", "[a", "[z-a]", "*", "+a", "a**", "a{2}{3}", "a{1001}", "a{3,2}", "\\",
    "\\1", "(a)\\1", "\\8", "(?=a)", "(?!a)",
    "(?<=a)", "(?<!a)", "(?x)", "(?P<>a)", "(?P<a", "\\p{Greek}", "\\p{", "\\pX", "\\C",
    "\\x{110000}", "\\xZZ", "[[:foo:]]", "[a-\\d]", "\\q",
    "((a{1000}){1000}){1000}", "(?:(?:(?:){1000}){1000}){1000}", "(?", "(?i", "a{1000}{1000}",
    "[\\",
  ])
  func `a text that is not a pattern, or a pattern that is too large, is refused`(pattern: String) {
    #expect(throws: ExpressionFailure.self) { try compile(pattern) }
  }

  @Test func `a pattern with groups that nest too deep is refused`() {
    func nested(_ depth: Int) -> String {
      String(repeating: "(", count: depth) + String(repeating: ")", count: depth)
    }
    #expect(throws: Never.self) { try compile(nested(99)) }
    #expect(throws: ExpressionFailure.self) { try compile(nested(100)) }
    #expect(throws: ExpressionFailure.self) { try compile(nested(8_000)) }
  }

  @Test(arguments: ["(a*)*b", "(a|aa)+$", "(a|a?)+b", "(.*)*(.*)*(.*)*b", "^(a+)+$"])
  func `a pattern that is catastrophic elsewhere takes steps in proportion to the text`(
    pattern: String
  ) throws {
    func cost(_ length: Int) throws -> Int {
      var meter = CostMeter(budget: 100_000_000)
      _ = try RegexProgram(pattern, &meter).matches(
        String(repeating: "a", count: length) + "c", &meter)
      return 100_000_000 - meter.remaining
    }
    let (short, long) = (try cost(1_000), try cost(10_000))
    #expect(long < 11 * short)
    #expect(short < 100_000)
  }

  @Test func `a class of many ranges costs more, and so does a case that is ignored`() throws {
    func cost(_ pattern: String, _ text: String) throws -> Int {
      let program = try compile(pattern)
      var meter = CostMeter(budget: 1_000_000)
      _ = try program.matches(String(repeating: text, count: 100), &meter)
      return 1_000_000 - meter.remaining
    }
    let letters = (0..<4_000).compactMap { Unicode.Scalar(UInt32(0x4E00 + 2 * $0)) }
    let large = "[\(String(String.UnicodeScalarView(letters)))]"
    #expect(try cost("[abc]", "x") < 400)
    #expect(try cost(large, "x") >= 25_000)
    #expect(try cost("(?i)[abc]", "x") < 400)
    #expect(try cost("(?i)[abc]", "é") >= 1_500)
    // Thousands of places in a pattern test the same character.
    var meter = CostMeter(budget: 90_000)
    let wide = try compile("(?:\(large)?){400}q")
    #expect(throws: ExpressionFailure.self) { try wide.matches("x", &meter) }
  }

  @Test func `random patterns on random texts neither crash nor exceed their budget`() {
    var generator = SeededGenerator(seed: 77)
    let pieces = [
      "a", "b", ".", "*", "+", "?", "(", ")", "|", "[", "]", "^", "$", "{2}", "{1,3}", "\\d", "\\b",
      "(?i)", "[^a]", "é",
      "\\pL", "-", "(?:", "\\Q", "\\E", "{", "\\",
    ]
    for _ in 0..<20_000 {
      let pattern = (0..<Int.random(in: 1...10, using: &generator))
        .map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
      guard let program = try? compile(pattern) else { continue }
      let text = (0..<Int.random(in: 0...30, using: &generator))
        .map { _ in ["a", "b", "é", "\n", "1"].randomElement(using: &generator) ?? "" }.joined()
      var meter = CostMeter(budget: 100_000)
      _ = try? program.matches(text, &meter)
    }
  }
}
