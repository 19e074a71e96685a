import Testing
import WidgetModel

/// The results are those of the standard library's functions of these names.
struct TextSearchTests {
  @Test(
    arguments: [
      ("", "", 0, 0), ("abc", "", 0, 0), ("abc", "abc", 0, 3), ("abc", "c", 2, 3),
      ("aab", "ab", 1, 3), ("abab", "ab", 0, 2), ("äöü", "ö", 1, 2), ("a\r\nb", "\r\n", 1, 2),
      // Characters with the same meaning are equal, and a part of a character is not found.
      ("cafe\u{301}", "caf\u{E9}", 0, 4), ("👨‍👩‍👧", "👨‍👩‍👧", 0, 1),
    ])
  func `a text is found at its first place`(
    text: String, part: String, start: Int, end: Int
  ) throws {
    let found = try #require(text.firstRange(of: part))
    #expect(text.distance(from: text.startIndex, to: found.lowerBound) == start)
    #expect(text.distance(from: text.startIndex, to: found.upperBound) == end)
    #expect(text.contains(part))
    #expect(text[...].firstRange(of: part) == found)
    #expect(text[...].contains(part))
  }

  @Test(
    arguments: [
      ("", "a"), ("abc", "abcd"), ("abc", "ac"), ("aab", "aaa"), ("cafe\u{301}", "e"),
      ("a\r\nb", "\n"), ("👨‍👩‍👧", "👨"),
    ])
  func `a text that only resembles a part is not found`(text: String, part: String) {
    #expect(text.firstRange(of: part) == nil)
    #expect(!text.contains(part))
    #expect(!text[...].contains(part))
    #expect(text.ranges(of: part).isEmpty)
    #expect(text.parts(between: part) == [text[...]])
    #expect(text.replacing(part, with: "x") == text)
  }

  @Test func `a text in a part of a text is found at the place in the whole`() throws {
    let whole = "ab${x}${y}"
    let rest = whole.dropFirst(3)
    let found = try #require(rest.firstRange(of: "${"))
    #expect(whole[found.lowerBound...] == "${y}")
  }

  @Test(
    arguments: [
      ("a; b; c", "; ", ["a", "b", "c"]), ("; a; ", "; ", ["", "a", ""]), ("aaa", "aa", ["", "a"]),
      ("abc", "", ["abc"]), ("", ";", [""]), (";;", ";", ["", "", ""]),
    ])
  func `a split at a separator that overlaps itself finds each place once`(
    text: String, separator: String, parts: [Substring]
  ) {
    #expect(text.parts(between: separator) == parts)
    #expect(text.ranges(of: separator).count == parts.count - 1)
    #expect(text.replacing(separator, with: "<>") == parts.joined(separator: "<>"))
    #expect(text.replacing(separator, with: "<>"[...]) == parts.joined(separator: "<>"))
  }

  @Test func `the number of splits can be limited`() {
    #expect("a; b; c".parts(between: "; ", maxSplits: 1) == ["a", "b; c"])
    #expect("a; b; c".parts(between: "; ", maxSplits: 0) == ["a; b; c"])
  }
}
