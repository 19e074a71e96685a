import Testing
import WidgetYAML

/// Keys that are indented too far, keys without a colon, and mistakes that only look like that.
/// `YAMLReaderTests` checks the words of each.
@Suite struct StrayKeyTests {
  typealias Mistake = YAMLReaderTests.Mistake

  static let mistakes = [
    Mistake(
      "kinds:\n  a:\n    displayName: A\n      data: {n: 0}\n", "4:7",
      "indented more than line 3, which has a value already", "indent both keys alike"),
    Mistake("format: 1\n  version: [\n", "2:3", "indented more than line 1", "in quotes"),
    Mistake("a: b\n\n  c: d\n", "3:3", "indented more than line 1", "indent both keys alike"),
    Mistake("a: b\n  c\n  d: e\n", "3:3", "indented more than line 1", "in quotes"),
    Mistake("a: b\n  \"*\": c\n", "2:3", "indented more than line 1", "indent both keys alike"),
    Mistake("- a: b\n    é: c\n", "2:5", "indented more than line 1", "indent both keys alike"),
    Mistake("a: b\r\n  c: d\r\n", "2:3", "indented more than line 1", "indent both keys alike"),
    Mistake("kinds\n  a:\n    data: {n: 0}\n", "1:1", "a key has no \":\"", "write KEY: VALUE"),
    Mistake("a: b\nkinds:\n  x\n    data: 1\n", "3:3", "a key has no \":\"", "write KEY: VALUE"),
    Mistake("kinds: # no\n  x\n  y: 1\n", "2:3", "a key has no \":\"", "write KEY: VALUE"),
    Mistake("a: 1\nb:\n  - c\n    d: 1\n", "3:5", "a key has no \":\"", "write KEY: VALUE"),
    Mistake("# a: b\nbundle b\nformat: 1\n", "2:1", "a key has no \":\"", "several lines"),
    // The colon belongs to a text.
    Mistake("a: b: c\n", "1:5", "a value has \": \" in it", "put the value in quotes"),
    Mistake("- a: b: c\n", "1:7", "a value has \": \" in it", "put the value in quotes"),
    Mistake(
      "a: =data.n > 0\n  ? \"b\" : \"c\"\n", "2:9", "a value has \": \" in it", "in quotes"),
  ]
}
