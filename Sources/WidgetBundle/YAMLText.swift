import WidgetYAML

/// A text as the reader of YAML needs it, and the way back to the places in the author's text.
///
/// JSON is almost YAML. JSON writes a character beyond 16 bits as two escapes, which YAML does not
/// know: `\ud83d\ude00` is its `\U0001f600`. YAML takes U+0085, U+2028 and U+2029 for ends of
/// lines, also in quotes. There, YAML has escapes for them, and for the characters that it refuses:
/// U+007F, U+0080 to U+009F, U+FEFF, U+FFFE and U+FFFF.
struct YAMLText {
  private(set) var text: String
  /// For each line, the changes in it from left to right.
  private var changes: [Int: [Change]] = [:]

  private struct Change {
    /// The first column behind the changed part.
    let column: Int
    /// The columns of the author's text up to there, minus those of this text.
    let shift: Int
  }

  /// A text that is YAML.
  init(_ text: String) { self.text = text }

  /// A text of JSON, or of YAML that looks like JSON.
  ///
  /// - Parameter isStrict: whether the text is JSON for certain, so that all texts have quotes.
  init(json: String, isStrict: Bool) {
    // The reader of YAML does not count a byte order mark either.
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let all = Array(json.utf8)
    let bytes = all.starts(with: mark) ? Array(all.dropFirst(mark.count)) : all
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var place = YAMLPlace(line: 1, column: 1)
    var shift = 0
    text = ""
    var index = 0
    while index < bytes.count {
      let part = YAMLText.replacement(in: bytes, at: index, isStrict: isStrict)
      guard let part else {
        // An escaped backslash does not escape what follows it.
        let length = bytes[index] == UInt8(ascii: "\\") && index + 1 < bytes.count ? 2 : 1
        for byte in bytes[index..<index + length] {
          result.append(byte)
          if byte == UInt8(ascii: "\n") {
            place = YAMLPlace(line: place.line + 1, column: 1)
            shift = 0
          } else if byte & 0xC0 != 0x80 {
            place.column += 1
          }
        }
        index += length
        continue
      }
      result += part.text.utf8
      place.column += part.text.utf8.count
      shift += part.columns - part.text.utf8.count
      changes[place.line, default: []].append(Change(column: place.column, shift: shift))
      index += part.bytes
    }
    text = String(decoding: result, as: UTF8.self)
  }

  /// The place in the author's text of a place in this one.
  func original(_ place: YAMLPlace) -> YAMLPlace {
    guard let changes = changes[place.line] else { return place }
    var (low, high) = (0, changes.count)
    while low < high {
      let middle = (low + high) / 2
      if changes[middle].column <= place.column { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return place }
    return YAMLPlace(line: place.line, column: place.column + changes[low - 1].shift)
  }

  /// The part of the author's text at an index that YAML needs in other words: these words, its
  /// bytes, and its columns.
  private static func replacement(
    in bytes: [UInt8], at index: Int, isStrict: Bool
  ) -> (text: String, bytes: Int, columns: Int)? {
    switch bytes[index] {
    case UInt8(ascii: "\\"):
      guard let high = unit(bytes, at: index), (0xD800..<0xDC00).contains(high),
        let low = unit(bytes, at: index + 6), (0xDC00..<0xE000).contains(low)
      else { return nil }
      let code = 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
      let digits = String(code, radix: 16)
      return ("\\U\(String(repeating: "0", count: 8 - digits.count))\(digits)", 12, 12)
    case 0x7F where isStrict: return ("\\x7F", 1, 1)
    case 0xC2 where isStrict:
      guard index + 1 < bytes.count, (0x80...0x9F).contains(bytes[index + 1]) else { return nil }
      return ("\\x\(String(bytes[index + 1], radix: 16))", 2, 1)
    case 0xEF where isStrict:
      guard index + 2 < bytes.count else { return nil }
      switch (bytes[index + 1], bytes[index + 2]) {
      case (0xBB, 0xBF): return ("\\uFEFF", 3, 1)
      case (0xBF, 0xBE): return ("\\uFFFE", 3, 1)
      case (0xBF, 0xBF): return ("\\uFFFF", 3, 1)
      default: return nil
      }
    case 0xE2 where isStrict:
      guard index + 2 < bytes.count, bytes[index + 1] == 0x80 else { return nil }
      switch bytes[index + 2] {
      case 0xA8: return ("\\L", 3, 1)
      case 0xA9: return ("\\P", 3, 1)
      default: return nil
      }
    default: return nil
    }
  }

  private static func unit(_ bytes: [UInt8], at index: Int) -> UInt32? {
    guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"),
      bytes[index + 1] == UInt8(ascii: "u")
    else { return nil }
    return UInt32(String(decoding: bytes[index + 2..<index + 6], as: UTF8.self), radix: 16)
  }
}
