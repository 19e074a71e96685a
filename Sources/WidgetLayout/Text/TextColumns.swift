import WidgetModel

/// The width of text in columns of a terminal.
///
/// A grapheme cluster takes what its scalars take together, at most two columns: so flags, families
/// and other joined emoji take two, and marks add nothing. An emoji that is text by default takes
/// two with U+FE0F behind it. Control characters and ignorable characters take none. Tabs have no
/// width here: `DisplayText` expands them. Characters of ambiguous width are narrow.
public enum TextColumns {
  /// The columns of a text, which has no line breaks. O(bytes); fast for plain text.
  public static func width(of text: some StringProtocol) -> Int {
    if let columns = plainWidth(of: text) { return columns }
    var sum = 0
    for character in text { sum += width(of: character) }
    return sum
  }

  /// The columns of one grapheme cluster: 0, 1 or 2.
  public static func width(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    guard let first = scalars.first else { return 0 }
    var previous = widthClass(of: first)
    var sum = previous.columns
    for scalar in scalars.dropFirst() {
      if scalar == "\u{FE0F}" {
        if previous == .oneOrTwo { return 2 }
        continue
      }
      previous = widthClass(of: scalar)
      sum += previous.columns
      if sum >= 2 { return 2 }
    }
    return sum
  }

  /// The columns of one scalar that stands alone: 0, 1 or 2.
  public static func width(of scalar: Unicode.Scalar) -> Int { widthClass(of: scalar).columns }

  /// The text, cut at its end with an ellipsis if it takes more columns than `limit`. The result is
  /// empty if `limit` is 0.
  public static func truncated(_ text: String, to limit: Int) -> String {
    guard width(of: text) > limit else { return text }
    guard limit > 0 else { return "" }
    let end = prefix(of: text[...], columns: limit - 1)
    return text[..<end] + ellipsis
  }

  /// The lines of a text without newlines, broken between words where it takes more columns than
  /// `limit`. If there are more than `most` lines, the last one ends with an ellipsis.
  public static func wrapped(_ text: String, to limit: Int, most: Int) -> [String] {
    guard limit > 0, most > 0, width(of: text) > limit else { return [text] }
    let (lines, isCut) = TextWrap(metrics: .cells(), font: ThemeFont(size: 12), width: limit)
      .lines(of: [text], most: most)
    var result = lines.map { String($0.text) }
    if isCut, let last = result.popLast() {
      result.append(last[..<prefix(of: last[...], columns: limit - 1)] + ellipsis)
    }
    return result
  }

  /// The mark at the end of text that was cut.
  public static let ellipsis = "…"

  /// The end of the longest start of a text that takes at most `limit` columns.
  public static func prefix(of text: Substring, columns limit: Int) -> String.Index {
    var used = 0
    var index = text.startIndex
    while index < text.endIndex {
      used += width(of: text[index])
      if used > limit { break }
      index = text.index(after: index)
    }
    return index
  }

  // MARK: - Classes of scalars

  enum WidthClass: UInt32 {
    case zero, one, two
    /// One, or two if U+FE0F follows.
    case oneOrTwo

    var columns: Int {
      switch self {
      case .zero: 0
      case .one, .oneOrTwo: 1
      case .two: 2
      }
    }
  }

  static func widthClass(of scalar: Unicode.Scalar) -> WidthClass {
    let value = scalar.value
    if value < 0x7F, value >= 0x3A { return .one }
    if value >= 0xAC00, value < 0xD7A4 { return .two }
    if value >= 0x4E00, value < 0xA000 { return .two }
    // The last entry whose scalar is not above this one.
    let key = value << 2 | 3
    var low = 0
    var high = widthClasses.count
    while low < high {
      let middle = (low + high) / 2
      if widthClasses[middle] <= key { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? .zero : WidthClass(rawValue: widthClasses[low - 1] & 3) ?? .one
  }

  /// The columns of a text whose scalars all stand alone; nil for any other. Such text is shown
  /// unchanged. It is measured and broken without a search for grapheme clusters, which takes ten
  /// times as long.
  static func plainWidth(of text: some StringProtocol) -> Int? {
    if let count = printableASCIICount(text.utf8) { return count }
    var sum = 0
    for scalar in text.unicodeScalars {
      guard scalar.standsAlone else { return nil }
      let columns = width(of: scalar)
      guard columns > 0 else { return nil }
      sum += columns
    }
    return sum
  }

  /// The number of bytes, if all bytes are printable ASCII. Such text has one column for each byte.
  static func printableASCIICount(_ bytes: some Collection<UInt8>) -> Int? {
    let counted = bytes.withContiguousStorageIfAvailable { buffer -> Int? in
      // The loop has no early exit, so that the compiler can test many bytes at once.
      var others: UInt8 = 0
      for byte in buffer { others |= byte &- 0x20 >= 0x5F ? 1 : 0 }
      return others == 0 ? buffer.count : nil
    }
    if let counted { return counted }
    var count = 0
    for byte in bytes {
      guard byte &- 0x20 < 0x5F else { return nil }
      count += 1
    }
    return count
  }
}

extension Unicode.Scalar {
  /// Whether the scalar is harmless to a terminal, and is a whole grapheme cluster beside any other
  /// such scalar. False for some such scalars, but true for the scalars of most text.
  var standsAlone: Bool {
    switch value {
    case 0x20..<0x7F, 0xA0..<0xAD, 0xAE..<0x300,  // Latin.
      0x370..<0x483, 0x48A..<0x530,  // Greek and Cyrillic.
      0x2010..<0x2028, 0x2030..<0x205F, 0x20A0..<0x20D0, 0x2100..<0x2C00,  // Signs and symbols.
      0x2E80..<0x302A, 0x3030..<0x3099, 0x309B..<0xA000,  // Kana and ideographs.
      0xAC00..<0xD7A4, 0xF900..<0xFB00, 0xFF01..<0xFF9E,  // Hangul, and wide forms.
      0x1F300..<0x1F3FB, 0x1F400..<0x1FB00, 0x20000..<0x30000:  // Emoji, and more ideographs.
      true
    default: false
    }
  }
}
