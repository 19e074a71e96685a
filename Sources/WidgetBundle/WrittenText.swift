/// A text as a file has it: plain or in quotes, with escapes, doubled quotes and line breaks.
///
/// The search for a place compares the file with the text, and ends at the first difference.
struct WrittenText {
  private let lines: SourceLines
  /// The quote around the text; nil for plain text.
  private let quote: Unicode.Scalar?
  /// The place of the next character in the file.
  private var line: Int
  private var column: Int
  /// The rest of the line.
  private var rest: Substring.UnicodeScalarView
  /// The number of blanks that follow in the line, if they are a part of the text.
  private var blanks = 0
  /// The number of line breaks of the text that follow.
  private var breaks = 0

  /// Nil if the file does not have the place of the node.
  init?(_ node: SourceNode, in lines: SourceLines) {
    guard let content = lines[node.line] else { return nil }
    self.lines = lines
    (line, column) = (node.line, node.column)
    rest = Substring(content).unicodeScalars.dropFirst(node.column - 1)
    quote = rest.first.flatMap { $0 == "\"" || $0 == "'" ? $0 : nil }
    if quote != nil { _ = take() }
  }

  /// The place of a character by its number, from 0. Nil if the file has another text.
  ///
  /// Linear in the length of the text up to there.
  mutating func place(of number: Int, in text: String) -> (line: Int, column: Int)? {
    for scalar in text.unicodeScalars.prefix(number) {
      guard next() == scalar else { return nil }
    }
    return (line, column)
  }

  /// The next character of the text. Nil at its end, and if YAML has no such text.
  private mutating func next() -> Unicode.Scalar? {
    while true {
      if breaks > 0 {
        breaks -= 1
        return "\n"
      }
      if blanks == 0 {
        let run = rest.prefix { $0 == " " || $0 == "\t" }
        guard run.endIndex < rest.endIndex else {
          // A line break is a blank, and those of empty lines count.
          guard let empty = skipLineEnd() else { return nil }
          guard empty > 0 else { return " " }
          breaks = empty
          continue
        }
        blanks = run.count
      }
      guard let first = take() else { return nil }
      if blanks > 0 {
        blanks -= 1
        return first
      }
      if first == quote {
        // A doubled quote. Any other one ends the text.
        guard quote == "'", take() == "'" else { return nil }
        return first
      }
      guard first == "\\", quote == "\"" else { return first }
      guard rest.isEmpty else { return escape() }
      guard let empty = skipLineEnd() else { return nil }
      breaks = empty
    }
  }

  private mutating func take() -> Unicode.Scalar? {
    column += 1
    return rest.popFirst()
  }

  /// Goes to the first character of the next line with one. Returns the number of empty lines
  /// before it; nil at the end of the file.
  private mutating func skipLineEnd() -> Int? {
    var empty = -1
    repeat {
      line += 1
      column = 1
      guard let content = lines[line] else { return nil }
      rest = Substring(content).unicodeScalars
      while rest.first == " " || rest.first == "\t" { _ = take() }
      empty += 1
    } while rest.isEmpty
    return empty
  }

  // MARK: - Escapes

  /// The character of an escape. The backslash is already read.
  private mutating func escape() -> Unicode.Scalar? {
    guard let letter = take() else { return nil }
    switch letter {
    case "x": return code(digits: 2).flatMap { Unicode.Scalar($0) }
    case "U": return code(digits: 8).flatMap { Unicode.Scalar($0) }
    case "u":
      guard let high = code(digits: 4) else { return nil }
      guard (0xD800..<0xDC00).contains(high) else { return Unicode.Scalar(high) }
      // JSON has two escapes for a character beyond 16 bits.
      guard take() == "\\", take() == "u", let low = code(digits: 4),
        (0xDC00..<0xE000).contains(low)
      else { return nil }
      return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    default: return WrittenText.escapes[letter]
    }
  }

  private mutating func code(digits: Int) -> UInt32? {
    var code: UInt32 = 0
    for _ in 0..<digits {
      guard let scalar = take(), let digit = Character(scalar).hexDigitValue else { return nil }
      code = code << 4 | UInt32(digit)
    }
    return code
  }

  /// The escapes of one letter in YAML, which has all of JSON's.
  private static let escapes: [Unicode.Scalar: Unicode.Scalar] = [
    "0": "\u{0}", "a": "\u{7}", "b": "\u{8}", "t": "\t", "\t": "\t", "n": "\n", "v": "\u{B}",
    "f": "\u{C}", "r": "\r", "e": "\u{1B}", " ": " ", "\"": "\"", "/": "/", "\\": "\\",
    "N": "\u{85}", "_": "\u{A0}", "L": "\u{2028}", "P": "\u{2029}",
  ]
}
