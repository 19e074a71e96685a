/// A place in an expression's source, as people count: lines and characters from 1.
public struct SourcePosition: Hashable, Sendable {
  public let line: Int
  public let column: Int
}

/// An expression's source and where its lines begin. Offsets are in UTF-8 bytes.
struct SourceText: Sendable {
  let text: String

  init(_ text: String) { self.text = text }

  /// The position of a byte. An offset beyond the end is the end. O(n).
  func position(at offset: Int) -> SourcePosition {
    let (line, number) = line(at: offset)
    let before = line.text.utf8.prefix(max(0, offset - line.start))
    return SourcePosition(line: number, column: String(decoding: before, as: UTF8.self).count + 1)
  }

  /// The source line with a caret below the place.
  func excerpt(at offset: Int) -> String {
    let (line, number) = line(at: offset)
    let prefix = String(decoding: line.text.utf8.prefix(max(0, offset - line.start)), as: UTF8.self)
    return SourceExcerpt.text(
      before: prefix, after: String(line.text.dropFirst(prefix.count)), number: number)
  }

  /// The text around a place, inside the same parentheses and on the same line. A long text is cut
  /// to the part nearest to the place. Parentheses inside string literals count like other
  /// parentheses.
  func group(at offset: Int) -> String {
    let line = line(at: offset).line
    let bytes = Array(line.text.utf8)
    let place = min(max(0, offset - line.start), bytes.count)
    func edge(_ range: some Sequence<Int>, _ opening: Character, _ closing: Character) -> Int? {
      var depth = 0
      for index in range {
        if bytes[index] == opening.asciiValue { depth += 1 }
        if bytes[index] == closing.asciiValue {
          if depth == 0 { return index }
          depth -= 1
        }
      }
      return nil
    }
    let start = edge((0..<place).reversed(), ")", "(").map { $0 + 1 } ?? 0
    let end = edge(place..<bytes.count, "(", ")") ?? bytes.count
    let before = String(decoding: bytes[start..<place], as: UTF8.self)
    let after = String(decoding: bytes[place..<end], as: UTF8.self)
    let shownBefore = before.count > 30 ? "…" + before.suffix(29) : before
    let shownAfter = after.count > 40 ? after.prefix(39) + "…" : Substring(after)
    return SourceExcerpt.visible(shownBefore + shownAfter)
  }

  private static let operandBytesMax = 64

  /// The value before the dot of a field, such as `data.name` in `data.name.length`. Nil if it is
  /// long, or has more than names and indexes.
  ///
  /// - Parameter offset: the offset of the field's name.
  func operand(before offset: Int) -> String? {
    let bytes = Array(text.utf8.prefix(max(0, offset)).suffix(Self.operandBytesMax + 2))
    guard bytes.last == UInt8(ascii: ".") else { return nil }
    let end = bytes.count - 1
    var start = end
    var depth = 0
    while start > 0 {
      let byte = bytes[start - 1]
      if byte == UInt8(ascii: "]") {
        depth += 1
      } else if byte == UInt8(ascii: "["), depth > 0 {
        depth -= 1
      } else if !isLetter(byte), !isDigit(byte), byte != UInt8(ascii: ".") {
        break
      }
      start -= 1
    }
    guard start < end, depth == 0, isLetter(bytes[start]) else { return nil }
    let isWhole =
      start == 0
      ? offset <= bytes.count
      : bytes[start - 1] < 128 && !")]}'\"`".utf8.contains(bytes[start - 1])
    return isWhole ? String(decoding: bytes[start..<end], as: UTF8.self) : nil
  }

  private func line(at offset: Int) -> (line: (text: String, start: Int), number: Int) {
    let bytes = text.utf8
    var start = bytes.startIndex
    var startOffset = 0
    var number = 1
    var index = bytes.startIndex
    var position = 0
    while index < bytes.endIndex, position < offset {
      let isBreak = bytes[index] == 10
      index = bytes.index(after: index)
      position += 1
      if isBreak {
        number += 1
        (start, startOffset) = (index, position)
      }
    }
    var end = bytes[start...].firstIndex(of: 10) ?? bytes.endIndex
    if end > start {
      let last = bytes.index(before: end)
      if bytes[last] == 13 { end = last }
    }
    return ((String(decoding: bytes[start..<end], as: UTF8.self), startOffset), number)
  }
}

/// A line of a source with a caret below a place.
///
/// In the caret's line, a tab stays a tab, and a wide character becomes two cells. So a terminal
/// shows the caret at the right place. A long line is cut around the place.
public enum SourceExcerpt {
  /// - Parameters:
  ///   - number: the line's, from 1.
  ///   - column: the place, from 1, in Unicode scalars.
  public static func text(line: String, number: Int, column: Int) -> String {
    // Text far from the place is left out, because a line can be the whole file.
    let before = max(0, column - 1)
    let near = line.unicodeScalars.dropFirst(max(0, before - 200)).prefix(400)
    let prefix = String(String.UnicodeScalarView(near.prefix(min(before, 200))))
    let rest = String(String.UnicodeScalarView(near.dropFirst(min(before, 200))))
    return text(before: prefix, after: rest, number: number)
  }

  static func text(before prefix: String, after rest: String, number: Int) -> String {
    let shownBefore = prefix.count > 60 ? "…" + prefix.suffix(59) : prefix
    let shownAfter = rest.count > 40 ? rest.prefix(39) + "…" : Substring(rest)
    let label = "\(number) | "
    let gutter = String(repeating: " ", count: label.count - 2) + "| "
    let before = visible(shownBefore)
    let pad = String(repeating: " ", count: before.reduce(0) { $0 + $1.terminalCells })
    return label + before + visible(shownAfter) + "\n" + gutter + pad + "^"
  }

  /// Control characters would upset a terminal. A tab is shown as an arrow, because its width
  /// depends on the terminal.
  fileprivate static func visible(_ text: some StringProtocol) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          if scalar == "\t" { return "→" }
          return scalar.value < 32 || scalar.value == 127 ? "\u{FFFD}" : scalar
        }
      ))
  }
}

extension Character {
  /// The width in a terminal: 2 cells for East Asian wide characters and emoji.
  var terminalCells: Int {
    guard let first = unicodeScalars.first else { return 0 }
    switch first.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
      0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
      0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD:
      return 2
    case 0x0300...0x036F, 0x200B...0x200F: return 0
    default: return 1
    }
  }
}
