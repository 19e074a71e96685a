/// Removes the differences between texts that a search ignores: case and accents.
///
/// `Café`, `CAFE` and `cafe` followed by U+0301 become `cafe`; `Straße` becomes `strasse`, `Łódź`
/// `lodz`. Meant for comparing and searching, not for showing.
enum TextFolding {
  static func fold(_ text: String) -> String {
    let bytes = text.utf8
    if bytes.allSatisfy({ $0 < 128 }) {
      return String(
        decoding: bytes.map { $0 >= 65 && $0 <= 90 ? $0 + 32 : $0 }, as: UTF8.self)
    }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if scalar.isASCII {
        let value = UInt8(scalar.value)
        result.append(Unicode.Scalar(value >= 65 && value <= 90 ? value + 32 : value))
        continue
      }
      if isAccent(scalar) { continue }
      let letter = withoutAccents(scalar)
      if let replacement = strokes[letter] {
        result.append(contentsOf: replacement.unicodeScalars)
        continue
      }
      // Upper and then lower case: unites letters with several lower cases, such as ς and σ.
      for upper in letter.properties.uppercaseMapping.unicodeScalars {
        for lower in upper.properties.lowercaseMapping.unicodeScalars where !isAccent(lower) {
          result.append(withoutAccents(lower))
        }
      }
    }
    return String(result)
  }

  /// Letters with a stroke, and ligatures, that have no decomposition.
  private static let strokes: [Unicode.Scalar: String] = [
    "Ø": "o", "ø": "o", "Ł": "l", "ł": "l", "Đ": "d", "đ": "d", "Ð": "d", "ð": "d", "Ħ": "h",
    "ħ": "h", "Ŧ": "t", "ŧ": "t", "ı": "i", "Æ": "ae", "æ": "ae", "Œ": "oe", "œ": "oe", "Þ": "th",
    "þ": "th", "ẞ": "ss",
  ]

  private static func isAccent(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0x300 && scalar.properties.canonicalCombiningClass.rawValue >= 10
      && scalar.properties.generalCategory == .nonspacingMark
  }

  private static func withoutAccents(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    guard scalar.value >= 0xC0, scalar.value <= 0xFFFF else { return scalar }
    var (low, high) = (0, letters.count)
    while low < high {
      let middle = (low + high) / 2
      if letters[middle] >> 16 < scalar.value { low = middle + 1 } else { high = middle }
    }
    guard low < letters.count, letters[low] >> 16 == scalar.value else { return scalar }
    return Unicode.Scalar(letters[low] & 0xFFFF) ?? scalar
  }
}
