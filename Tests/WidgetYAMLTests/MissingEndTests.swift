import Testing
import WidgetYAML

/// Brackets, braces and quotes whose end is missing, and mistakes that only look like that.
/// `YAMLReaderTests` checks the words of each.
@Suite struct MissingEndTests {
  typealias Mistake = YAMLReaderTests.Mistake

  static let mistakes = brackets + quotes + others

  private static let brackets: [Mistake] = [
    Mistake("x: {a: 1 # no\ny: [1]", "1:4", "\"{\" is not closed", "or remove this \"{\"; if"),
    Mistake("\u{FEFF}x: [1\n", "1:4", "\"[\" is not closed", "add \"]\", or remove this \"[\";"),
    Mistake(
      "x: {a: 1, b: [2}\ny: 1", "1:14", "\"[\" is not closed",
      "add \"]\" before the \"}\" in line 1, column 16, or remove this \"}\", or add its \"{\";"),
    Mistake("x: {a: '}', b: [\n  2\n}\ny: 1", "1:16", "is not closed", "in line 3, column 1"),
    Mistake(
      "{x: [{a: 1}}, {b: 2}]}", "1:5", "\"[\" is not closed", "column 12, or remove this \"}\""),
    Mistake("x:\n  y: {a: 1\n  z: [1]\n---\nb: 1", "2:6", "is not closed", "above line 4"),
    Mistake(
      "{\n  \"a\": {\n    \"b\": {\n      \"c\": 1\n  },\n  \"d\": {}\n}\n", "3:10",
      "\"{\" is not closed", "add \"}\" before line 5"),
    Mistake(
      "{\n  \"a\": {\n    \"id\": 1,\n  \"b\": {\"id\": 2},\n  \"id\": 3\n}\n", "2:8",
      "\"{\" is not closed", "add \"}\" before line 4"),
    // The line after the list or object has the indentation of its first line.
    Mistake(
      "{\n  \"kinds\": {\n    \"a\": {\n      \"b\": 1\n    }\n  \"widgets\": [\n    1\n  ]\n}",
      "2:12",
      "\"{\" is not closed", "add \"}\" before line 6"),
    Mistake(
      "a: {\n  b: [\n    'x'\n  c: 2}\n", "2:6", "\"[\" is not closed", "add \"]\" before line 4"),
    // Lines that are not indented tell nothing.
    Mistake("a: {\nb: [\n1,\nc\n}\n", "2:4", "\"[\" is not closed", "in line 5, column 1"),
    Mistake(
      "[\n  {\"a\": \"x\"\n  {\"a\": \"y\"}\n]", "2:3", "\"{\" is not closed",
      "add \"}\" before the \"{\" in line 3, column 3, or remove this \"{\""),
    Mistake(
      "x: {{a: 1}\ny: 2\n", "1:4", "\"{\" is not closed", "before the \"{\" in line 1, column 5"),
    // The list above is complete, although its last line is indented less than its first line.
    Mistake("x:\n  a: [\n    1\n ]\nb: [2\nc: 3\n", "5:4", "\"[\" is not closed", "add \"]\", or"),
    Mistake(
      "{\n    \"a\": {\n        \"b\": 1\n\t},\n  \"c\": [1\n}", "5:8", "\"[\" is not closed",
      "in line 6, column 1"),
    Mistake("x: {a: 1\nb: |\n  text\n", "1:4", "\"{\" is not closed", "somewhere above line 2"),
    Mistake("x: {a: 1\nb: >-\n  text\n", "1:4", "\"{\" is not closed", "somewhere above line 2"),
    Mistake(
      "x: { # a }\n  a: [1, # ]\n  b: 2}\n", "2:6", "\"[\" is not closed", "in line 3, column 7"),
    Mistake("x: {a: &n [1, b: 2}\n", "1:11", "\"[\" is not closed", "in line 1, column 19"),
  ]

  private static let quotes: [Mistake] = [
    Mistake(
      "a: {text: \"Hello, style: bold}\nb: \"x\"\nc: 1\n", "1:11", "the closing quote is missing",
      "add it"),
    Mistake("a: ['x, y]\nb: 'z'\n", "1:5", "the closing quote is missing", "add it"),
    Mistake("a: {b: \"x}, c: \"y\"}\n", "1:8", "the closing quote is missing", "add it"),
    Mistake("a: {b: \"x\n  y\", c: 1\nd: 2\n", "1:4", "\"{\" is not closed", "add \"}\""),
  ]

  /// An error of the scanner in a later line, or an open bracket there, is another mistake.
  private static let others: [Mistake] = [
    Mistake(
      "{\n  \"a\": 1\n  \"b\": 2,\n  \"c\": \"\\q\"\n}", "3:6", "a comma or the closing",
      "in quotes"),
    Mistake("x: [\"a\" 3]\ny: [5\n", "1:9", "a comma or the closing", "in quotes"),
    Mistake(
      "[\"a\" 2, " + String(repeating: "[", count: 100), "1:6", "a comma or the closing",
      "in quotes"),
    Mistake("x: {a: 1}}\n", "1:10", "there is one \"}\" too many", "are closed at 1:9"),
    Mistake(
      "k:\n  l: {a: [0]}]\n  m: {b: 1}\n", "2:14", "there is one \"]\" too many", "closed at 2:13"),
    Mistake("- {a: 1}}\n", "1:9", "there is one \"}\" too many", "are closed at 1:8"),
    Mistake("{a: 1,\nb: 2}\n}\n", "3:1", "there is one \"}\" too many", "are closed at 2:5"),
    Mistake("x: {a: 1}\ny: ]\n", "2:4", "a value cannot begin with \"]\"", "remove the"),
  ]

  @Test(.timeLimit(.minutes(5)))
  func `a million open brackets behind a mistake do not hide it`() {
    let text = "{a: 1, a: 2, b: " + String(repeating: "[", count: 1_000_000)
    let options = YAMLReader.Options(nodesMax: 1000, depthMax: 20, expandsAliases: true)
    do throws(YAMLFailure) {
      _ = try YAMLReader.documents(of: text, options)
      Issue.record("the text is read")
    } catch {
      #expect(error.words(in: text).message.contains("\"a\" appears twice"))
    }
  }
}
