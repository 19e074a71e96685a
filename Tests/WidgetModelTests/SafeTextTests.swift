import Testing
import WidgetModel

/// The text of others in logs and on terminals: `widgetd-host` logs texts of bundles as `safeLines`.
@Suite struct SafeTextTests {
  /// U+2028 and U+2029 end a line. The others change the direction of the text.
  static let controls: [(scalar: Unicode.Scalar, digits: String)] = [
    ("\u{61C}", "61c"), ("\u{200E}", "200e"), ("\u{200F}", "200f"), ("\u{2028}", "2028"),
    ("\u{2029}", "2029"), ("\u{202A}", "202a"), ("\u{202B}", "202b"), ("\u{202C}", "202c"),
    ("\u{202D}", "202d"), ("\u{202E}", "202e"), ("\u{2066}", "2066"), ("\u{2067}", "2067"),
    ("\u{2068}", "2068"), ("\u{2069}", "2069"), ("\u{FEFF}", "feff"),
  ]

  @Test(arguments: controls)
  func `a control of the text direction is escaped, wherever it is`(
    scalar: Unicode.Scalar, digits: String
  ) {
    let (control, escape) = (String(Character(scalar)), "\\u{\(digits)}")
    #expect("\(control)a\(control)b\(control)".safeForTerminal == "\(escape)a\(escape)b\(escape)")
    #expect(
      "clock: no \(control)kind\n\(control)\n".safeLines == "clock: no \(escape)kind\n\(escape)\n")
    #expect("\u{E9}\(control)\u{301}".safeLines == "\u{E9}\(escape)\u{301}")
    let inJSON = "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    #expect(JSONWriter.quoted("a\(control)b") == "\"a\(inJSON)b\"")
    #expect(JSONWriter.compact(.string(control)) == "\"\(inJSON)\"")
  }

  @Test func `only line breaks stay in lines, and other text stays as it is`() {
    #expect("a\u{1B}[2J\nb\u{9B}1m\tc\n".safeLines == "a\\u{1b}[2J\nb\\u{9b}1m\\u{9}c\n")
    #expect("a\r\nb".safeLines == "a\\u{d}\\u{a}b")
    for text in ["", "\n", "\u{5E9}\u{5DC}\u{5D5}\u{5DD} 1\n\u{1F469}\u{200D}\u{1F467}"] {
      #expect(text.safeLines == text)
    }
  }
}
