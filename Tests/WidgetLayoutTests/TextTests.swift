import NodeSamples
import SeededRandom
import Testing
import WidgetModel

@testable import WidgetLayout

@Suite struct TextColumnsTests {
  @Test(arguments: [
    ("", 0), ("plain text", 10), ("naïve", 5), ("e\u{301}", 1), ("\u{301}", 0),
    // East Asian wide and fullwidth; halfwidth kana and ambiguous characters are narrow.
    ("日本語", 6), ("한국어", 6), ("\u{1100}\u{1161}\u{11A8}", 2), ("ＡＢ", 4), ("ｱｲ", 2), ("±", 1),
    ("、", 2),
    // Emoji: by default, with and without U+FE0F, joined, with a skin colour, as keycaps and flags.
    ("😀", 2), ("❤", 1), ("❤\u{FE0F}", 2), ("©", 1), ("©\u{FE0F}", 2), ("a\u{FE0F}", 1),
    ("1\u{FE0F}\u{20E3}", 2), ("1\u{20E3}", 1), ("👩\u{200D}👩\u{200D}👧", 2),
    ("👍🏽", 2), ("❤\u{FE0F}\u{200D}🔥", 2), ("🇩🇪", 2), ("🇩🇪🇫🇷", 4), ("🏴󠁧󠁢󠁥󠁮󠁧󠁿", 2),
    // Marks with and without a width, and signs before their digits.
    ("नी", 2), ("ก็", 1), ("\u{600}1", 2),
    // Invisible characters.
    ("\u{200B}", 0), ("\u{1B}", 0), ("\u{7F}", 0), ("\u{9B}", 0), ("\u{AD}", 0), ("\u{FEFF}", 0),
    ("▁▂▃", 3), ("─", 1), ("…", 1), ("█", 1), ("⏎", 1),
  ])
  func `wide, narrow and zero-width characters have their columns`(_ text: String, _ columns: Int) {
    #expect(TextColumns.width(of: text) == columns)
    #expect(TextColumns.width(of: text[...]) == columns)
  }

  @Test func `a scalar that joins no other scalar is shown unchanged`() {
    // Scalars join by their category: if a scalar joins neither a letter nor itself, its category
    // joins no others.
    var wrong: [Unicode.Scalar] = []
    for value in 0...0x10FFFF as ClosedRange<UInt32> {
      guard let scalar = Unicode.Scalar(value), scalar.standsAlone else { continue }
      let text = String(String.UnicodeScalarView(["a", scalar, "a", scalar, scalar]))
      guard text.count == 5 else {
        wrong.append(scalar)
        continue
      }
      guard let columns = TextColumns.plainWidth(of: String(scalar)) else { continue }
      let shown = String(scalar) + "\u{301}"
      if columns != TextColumns.width(of: Character(scalar))
        || DisplayText.lines(of: shown) != [shown]
      {
        wrong.append(scalar)
      }
    }
    #expect(wrong == [])
    #expect(TextColumns.plainWidth(of: "日本語 and ASCII") == 16)
    #expect(TextColumns.plainWidth(of: "e\u{301}") == nil)
  }

  @Test func `the table begins at the first scalar and is sorted`() {
    let table = TextColumns.widthClasses
    #expect(table.first.map { $0 >> 2 } == 0)
    #expect(zip(table, table.dropFirst()).allSatisfy { $0 >> 2 < $1 >> 2 && $0 & 3 != $1 & 3 })
    #expect(TextColumns.width(of: "\u{10FFFF}" as Unicode.Scalar) == 1)
  }

  @Test(arguments: [
    ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("abcd", 1, "…"), ("abcd", 0, ""), ("日本語", 4, "日…"),
    ("日本語", 5, "日本…"), ("日本語", 6, "日本語"), ("日本語", 2, "…"),
    ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
    ("", 0, ""), ("👩\u{200D}👩\u{200D}👧👧", 3, "👩\u{200D}👩\u{200D}👧…"),
  ])
  func `text is cut with an ellipsis`(_ text: String, _ limit: Int, _ cut: String) {
    #expect(TextColumns.truncated(text, to: limit) == cut)
  }
}

@Suite struct DisplayTextTests {
  @Test(arguments: [
    ("plain", ["plain"]), ("", [""]), ("a\nb", ["a", "b"]), ("a\r\nb\n", ["a", "b", ""]),
    ("a\u{2028}b", ["a", "b"]),
    ("a\tb", ["a       b"]), ("\tb", ["        b"]), ("日本\tb", ["日本    b"]),
    ("12345678\tb", ["12345678        b"]),
    ("\u{1B}[31mred", ["\\u{1b}[31mred"]), ("\u{9B}1m", ["\\u{9b}1m"]), ("\u{7F}", ["\\u{7f}"]),
    ("a\u{202E}b", ["a\\u{202e}b"]), ("a\u{200F}b\u{AD}c\u{FEFF}", ["abc"]), ("\u{301}a", ["a"]),
    ("שלום", ["שלום"]),
  ])
  func `text is made safe to show`(_ text: String, _ lines: [String]) {
    #expect(DisplayText.lines(of: text) == lines)
  }

  @Test func `a line break in a text of one line becomes a mark`() {
    #expect(DisplayText.onOneLine("a\nb") == "a ⏎ b")
    #expect(DisplayText.onOneLine("plain") == "plain")
  }

  @Test func `a character of a thousand marks is shortened`() {
    let text = "a" + String(repeating: "\u{301}", count: 1_000)
    let shown = DisplayText.onOneLine(text + "b")
    #expect(shown.unicodeScalars.count == DisplayText.clusterScalarsMax + 1)
    #expect(shown.count == 2)
  }
}

@Suite struct TextWrapTests {
  private func wrapped(_ text: String, _ width: Int, most: Int = 0) -> [String] {
    TextWrap(metrics: .cells(), font: ThemeFont(size: 16), width: width)
      .lines(of: DisplayText.lines(of: text), most: most).lines.map { String($0.text) }
  }

  @Test(arguments: [
    ("one two three", 13, ["one two three"]), ("one two three", 12, ["one two", "three"]),
    ("one two three", 5, ["one", "two", "three"]), ("one two three", 7, ["one two", "three"]),
    ("one    two", 5, ["one", "two"]), ("  lead", 6, ["  lead"]), ("a  ", 2, ["a"]), ("", 5, [""]),
    // Long words, after a short one and alone.
    ("an incredible", 6, ["an", "incred", "ible"]), ("abcdefgh", 3, ["abc", "def", "gh"]),
    ("abcdef", 0, ["a", "b", "c", "d", "e", "f"]),
    // Hyphens between letters, not those of numbers.
    ("well-known fact", 8, ["well-", "known", "fact"]), ("it is -5 deg", 6, ["it is", "-5 deg"]),
    ("12-34 56", 6, ["12-34", "56"]),
    // Ideographs break anywhere, but not before closing or after opening punctuation.
    ("日本語日本語", 6, ["日本語", "日本語"]), ("日本語日本語", 5, ["日本", "語日", "本語"]),
    ("日本。語", 4, ["日", "本。", "語"]), ("日「本", 4, ["日", "「本"]), ("abc日本", 4, ["abc", "日本"]),
    ("한국어 단어", 6, ["한국어", "단어"]), ("日", 1, ["日"]),
    ("a\u{200B}b", 5, ["ab"]), ("aaa\u{200B}bbb", 4, ["aaa", "bbb"]),
    ("x\ny z", 2, ["x", "y", "z"]),
  ])
  func `lines are broken between words`(_ text: String, _ width: Int, _ lines: [String]) {
    #expect(wrapped(text, width) == lines)
  }

  @Test func `a long word is broken in linear time`() {
    // In quadratic time this would take minutes.
    let lines = wrapped(String(repeating: "é", count: 20_000), 2)
    #expect(lines.count == 10_000)
  }

  @Test func `no more lines are made than asked for`() {
    #expect(wrapped("a b c d", 1, most: 2) == ["a", "b"])
    let wrap = TextWrap(metrics: .cells(), font: ThemeFont(size: 16), width: 1)
    #expect(wrap.lines(of: ["a b"], most: 2).isCut == false)
    #expect(wrap.lines(of: ["a b c"], most: 2).isCut)
    #expect(wrap.lines(of: ["a", "b"], most: 1).isCut)
  }

  @Test(arguments: 0..<500 as Range<UInt64>)
  func `no line is wider than asked for and nothing but blanks is lost`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let parts = [
      "a", "bc", "word", " ", "  ", "日", "本。", "「", "-", "👩\u{200D}👩\u{200D}👧", "e\u{301}", "한",
      "1-2", "\u{200B}",
    ]
    let text = (0..<Int.random(in: 0..<30, using: &random)).map { _ in
      parts.randomElement(using: &random) ?? ""
    }.joined()
    let width = Int.random(in: 2..<12, using: &random)
    let lines = wrapped(text, width)
    #expect(lines.allSatisfy { TextColumns.width(of: $0) <= width }, "seed \(seed)")
    let visible = { (text: String) in text.filter { $0 != " " && $0 != "\u{200B}" } }
    #expect(visible(lines.joined()) == visible(text), "seed \(seed)")
  }

  /// Columns, without the short cut for ASCII.
  private struct SlowMeasure: TextMeasure {
    func width(of text: Substring, font: ThemeFont) -> Int { TextColumns.width(of: text) }
    func lineHeight(of font: ThemeFont) -> Int { 1 }
  }

  @Test(arguments: 0..<500 as Range<UInt64>)
  func `ASCII is broken as all text is`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let parts = ["a", "bc", "word", " ", "  ", "-", "well-known", "1-2", "--", "incredible"]
    let text = (0..<Int.random(in: 0..<20, using: &random)).map { _ in
      parts.randomElement(using: &random) ?? ""
    }.joined()
    let width = Int.random(in: 1..<14, using: &random)
    let most = Int.random(in: 0..<4, using: &random)
    let font = ThemeFont(size: 16)
    let fast = TextWrap(metrics: .cells(), font: font, width: width)
      .lines(of: [text], most: most)
    let slow = TextWrap(
      metrics: LayoutMetrics(scale: .cells, measure: SlowMeasure()) { _ in "" }, font: font,
      width: width
    )
    .lines(of: [text], most: most)
    #expect(
      fast.lines == slow.lines && fast.isCut == slow.isCut, "seed \(seed): '\(text)' \(width)")
  }
}
