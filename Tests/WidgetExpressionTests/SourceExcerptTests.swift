import Testing

@testable import WidgetExpression

/// The lines of a source with a caret, in narrow terminals.
struct SourceExcerptTests {
  private func excerpt(_ source: String, at offset: Int) -> String {
    SourceText(source).excerpt(at: offset)
  }

  @Test(
    arguments: [
      (
        "data.percent > 3 && data.nme == 'x' || data.other", 25, 24,
        "1 | … 3 && data.nme == …", 16
      ),
      ("data.nme == 'x' || data.other && true", 5, 24, "1 | data.nme == 'x' || …", 9),
      ("data.percent > 3 &&", 19, 20, "1 | …t > 3 &&", 13),
      ("'日本日本日本' + data.nme + 'long text'", 28, 30, "1 | …日本' + data.nme + 'long…", 18),
    ] as [(String, Int, Int, String, Int)])
  func `a long line is cut around the caret`(
    source: String, offset: Int, columns: Int, line: String, caret: Int
  ) {
    let lines = SourceExcerpt.fitted(excerpt(source, at: offset), columns: columns)
      .split(separator: "\n").map { String($0) }
    #expect(lines == [line, "  | " + String(repeating: " ", count: caret - 4) + "^"])
    #expect(lines[0].reduce(0) { $0 + $1.terminalCells } <= columns)
  }

  @Test func `an excerpt inside a message keeps its margin, and other lines stay`() {
    let text = """
      widgetctl: if.yaml:12:30: this line has more than thirty columns
        12 | on: {add: {set: {n: data.nme}}}
           |                          ^
        hint: this line has more than thirty columns, too

      """
    #expect(
      SourceExcerpt.fitted(text, columns: 30) == """
        widgetctl: if.yaml:12:30: this line has more than thirty columns
          12 | …t: {n: data.nme}}}
             |              ^
          hint: this line has more than thirty columns, too

        """)
  }

  @Test(arguments: [
    "1 | data.nme\n  |      ^", "2 ^ 3\n^", "", "^", "a | b\n  |          ^", "1 | 2\n    ^",
    "no number | and much more text\n          |                          ^",
  ])
  func `text that fits or is no excerpt stays as it is`(text: String) {
    #expect(SourceExcerpt.fitted(text, columns: 20) == text)
  }

  @Test func `a terminal that is too narrow for an excerpt gets it whole`() {
    let text = excerpt("data.percent > 3 && data.nme == 'x'", at: 25)
    #expect(SourceExcerpt.fitted(text, columns: 10) == text)
  }
}
