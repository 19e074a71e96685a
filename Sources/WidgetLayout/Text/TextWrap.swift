import WidgetModel

/// Breaks text into lines of a width.
///
/// A line ends at a newline, at a blank, after a hyphen between letters, or between ideographs, but
/// neither before closing nor after opening punctuation. A word that is too long for a line is broken
/// anywhere. Blanks at which a line is broken are not shown.
struct TextWrap {
  let measure: any TextMeasure
  let font: ThemeFont
  /// The width of a line, at least 1.
  let width: Int

  /// Whether a byte of ASCII is a column.
  private let inColumns: Bool

  /// A line: a part of one of the given texts.
  struct Line: Hashable {
    var text: Substring
    var width: Int
    /// The number of its text.
    var paragraph: Int
  }

  init(metrics: borrowing LayoutMetrics, font: ThemeFont, width: Int) {
    (self.measure, self.font, self.width) = (metrics.measure, font, max(width, 1))
    inColumns = metrics.measuresColumns
  }

  /// The lines of texts that hold no newlines, each broken where it is too wide.
  ///
  /// - Parameter most: the maximum number of lines; 0 for any number. `isCut` is true if there are
  ///   more lines.
  func lines(of paragraphs: [String], most: Int = 0) -> (lines: [Line], isCut: Bool) {
    let limit = most > 0 ? most : .max
    var lines: [Line] = []
    for (number, paragraph) in paragraphs.enumerated() {
      guard lines.count < limit else { return (lines, true) }
      let whole =
        inColumns
        ? TextColumns.width(of: paragraph) : measure.width(of: paragraph[...], font: font)
      if whole <= width {
        lines.append(Line(text: shown(paragraph[...]), width: whole, paragraph: number))
      } else if inColumns, whole == paragraph.utf8.count {
        if !wrapASCII(paragraph, number, into: &lines, limit: limit) { return (lines, true) }
      } else if !wrap(paragraph, number, into: &lines, limit: limit) {
        return (lines, true)
      }
    }
    return (lines, false)
  }

  /// The same as `wrap`, for printable ASCII in columns: without looking at characters.
  private func wrapASCII(
    _ paragraph: String, _ number: Int, into lines: inout [Line], limit: Int
  ) -> Bool {
    let bytes = paragraph.utf8
    let blank = UInt8(ascii: " ")
    let isWhole = bytes.withContiguousStorageIfAvailable { bytes -> Bool in
      var start = 0
      var index = 0
      // Ends a line before the blanks in front of `end`. Returns false at the maximum number of
      // lines.
      func endLine(at end: Int) -> Bool {
        var last = end
        while last > start, bytes[last - 1] == blank { last -= 1 }
        let text = paragraph.utf8.dropFirst(start).prefix(last - start)
        lines.append(Line(text: Substring(text), width: last - start, paragraph: number))
        start = end
        return lines.count < limit
      }
      while index < bytes.count {
        var end = index
        while end < bytes.count, bytes[end] != blank {
          end += 1
          if bytes[end - 1] == UInt8(ascii: "-"), end - index > 1, end < bytes.count,
            bytes[end - 2].isLetter, bytes[end].isLetter
          {
            break
          }
        }
        if index > start, end - start > width, !endLine(at: index) { return false }
        while end - index > width {
          index += width
          if !endLine(at: index) { return false }
        }
        while end < bytes.count, bytes[end] == blank { end += 1 }
        index = end
      }
      if start < bytes.count { _ = endLine(at: bytes.count) }
      return true
    }
    return isWhole ?? wrap(paragraph, number, into: &lines, limit: limit)
  }

  /// Returns false if the paragraph has more lines than the limit.
  private func wrap(_ paragraph: String, _ number: Int, into lines: inout [Line], limit: Int)
    -> Bool
  {
    var start = paragraph.startIndex
    var index = start
    var used = 0
    while index < paragraph.endIndex {
      let word = nextWord(in: paragraph, from: index)
      var wordWidth = measure.width(of: paragraph[index..<word.end], font: font)
      if used > 0, used + wordWidth > width {
        lines.append(line(paragraph[start..<index], number))
        guard lines.count < limit else { return false }
        (start, used) = (index, 0)
      }
      // The word is too long for a line, so each line gets as much of it as fits.
      while wordWidth > width {
        let (end, taken) = prefix(of: paragraph[index..<word.end])
        guard end < word.end else { break }
        lines.append(line(paragraph[start..<end], number))
        guard lines.count < limit else { return false }
        (start, index, used) = (end, end, 0)
        // The rest is not measured again, so that each character of a long word costs as much as in
        // a short word.
        wordWidth -= taken
      }
      used += wordWidth + measure.width(of: paragraph[word.end..<word.next], font: font)
      index = word.next
    }
    if start < paragraph.endIndex { lines.append(line(paragraph[start...], number)) }
    return true
  }

  /// Without the blanks at its end.
  private func line(_ text: Substring, _ number: Int) -> Line {
    var text = text
    while let last = text.last, last == " " || last == "\u{200B}" { text.removeLast() }
    return Line(
      text: shown(text), width: measure.width(of: text, font: font), paragraph: number)
  }

  /// The text without unused places for line breaks.
  private func shown(_ text: Substring) -> Substring {
    guard text.hasZeroWidthSpace else { return text }
    return Substring(text.filter { $0 != "\u{200B}" })
  }

  /// The end and the width of the longest start of a word that fits into a line: at least one
  /// character.
  private func prefix(of word: Substring) -> (end: String.Index, width: Int) {
    var index = word.index(after: word.startIndex)
    var used = measure.width(of: word[..<index], font: font)
    while index < word.endIndex {
      let next = word.index(after: index)
      let more = measure.width(of: word[index..<next], font: font)
      guard used + more <= width else { break }
      used += more
      index = next
    }
    return (index, used)
  }

  /// The end of the word that begins here, and the start of the next word, after the blanks.
  private func nextWord(
    in text: String, from start: String.Index
  ) -> (end: String.Index, next: String.Index) {
    var index = start
    var previous: Character?
    while index < text.endIndex {
      let character = text[index]
      if character == " " || character == "\u{200B}" {
        var next = index
        while next < text.endIndex, text[next] == " " || text[next] == "\u{200B}" {
          next = text.index(after: next)
        }
        return (index, next)
      }
      let after = text.index(after: index)
      if let previous, breaks(previous, character) { return (index, index) }
      if character == "-", previous?.isLetter ?? false, after < text.endIndex, text[after].isLetter
      {
        return (after, after)
      }
      previous = character
      index = after
    }
    return (index, index)
  }

  /// Whether a line may end between two characters, none of which is a blank.
  private func breaks(_ first: Character, _ second: Character) -> Bool {
    guard first.isIdeographic || second.isIdeographic else { return false }
    return !Self.closing.contains(second) && !Self.opening.contains(first)
  }

  /// Characters with which no line begins.
  private static let closing: Set<Character> = Set(
    "、。，．・：；？！゛゜ヽヾゝゞ々ー’”）〕］｝〉》」』】°′″℃￠％‰!%),.:;?]}¢…‥ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ")
  /// Characters with which no line ends.
  private static let opening: Set<Character> = Set("‘“（〔［｛〈《「『【$([{£¥＄￥")
}

extension Character {
  /// Whether lines may break before and after it: ideographs, kana, and emoji.
  fileprivate var isIdeographic: Bool {
    guard let scalar = unicodeScalars.first, scalar.value >= 0x2E80 else { return false }
    // Hangul is written with blanks between words.
    if scalar.value >= 0xAC00, scalar.value < 0xD7A4 { return false }
    return TextColumns.width(of: self) == 2
  }
}

extension StringProtocol {
  /// Whether the text has U+200B, which marks a place for a line break. Searches the bytes E2 80
  /// 8B.
  var hasZeroWidthSpace: Bool {
    guard TextColumns.printableASCIICount(utf8) == nil else { return false }
    var last: (UInt8, UInt8) = (0, 0)
    for byte in utf8 {
      if byte == 0x8B, last == (0xE2, 0x80) { return true }
      last = (last.1, byte)
    }
    return false
  }
}

extension UInt8 {
  fileprivate var isLetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
}
