/// Text as it can be shown: nothing in it acts on a terminal, and each grapheme cluster has a width.
///
/// - Tabs become blanks up to the next stop, which is every eight columns.
/// - Control characters, and those that change the direction of text, become escapes: `\u{1b}`.
/// - Invisible characters are removed: soft hyphens, byte order and direction marks, and marks that
///   have nothing before them to stand on.
/// - A joiner at the end of a cluster is removed: a terminal would join the next thing that it
///   draws.
/// - A cluster ends after 24 scalars. The rest of it, which no writing system needs, is left out.
///
/// Text stays in its logical order. The program that draws right-to-left text reorders it. Some
/// terminals do that themselves.
public enum DisplayText {
  /// Columns from one tab stop to the next.
  public static let tabColumns = 8
  /// The maximum length of a cluster, in scalars.
  public static let clusterScalarsMax = 24

  /// The lines of a text. An empty text has one empty line.
  public static func lines(of text: String) -> [String] {
    if TextColumns.plainWidth(of: text) != nil { return [text] }
    return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(line)
  }

  /// The text on one line, with a mark for each newline.
  public static func onOneLine(_ text: String) -> String {
    if TextColumns.plainWidth(of: text) != nil { return text }
    return lines(of: text).joined(separator: " ⏎ ")
      .filter { $0 != "\u{200B}" }
  }

  /// One line, which holds no newline.
  private static func line(_ text: Substring) -> String {
    if TextColumns.plainWidth(of: text) != nil { return String(text) }
    var result = ""
    var used = 0
    for character in text {
      if character == "\t" {
        let blanks = tabColumns - used % tabColumns
        result += String(repeating: " ", count: blanks)
        used += blanks
        continue
      }
      let shown = cluster(character)
      let width = TextColumns.width(of: shown[...])
      // A zero-width space can be a place for a line break. It is not needed any more after the
      // text is wrapped.
      guard width > 0 || shown == "\u{200B}" else { continue }
      result += shown
      used += width
    }
    return result
  }

  private static func cluster(_ character: Character) -> String {
    let scalars = character.unicodeScalars
    guard
      scalars.last?.isJoiner == true
        || scalars.contains(where: { $0.isInvisible || $0.actsOnTerminal })
        || scalars.count > clusterScalarsMax
    else { return String(character) }
    var result = String.UnicodeScalarView()
    for scalar in scalars.prefix(clusterScalarsMax) where !scalar.isInvisible {
      if scalar.actsOnTerminal {
        result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    while result.last?.isJoiner == true { result.removeLast() }
    return String(result)
  }
}

extension Unicode.Scalar {
  /// Zero-width joiner and non-joiner.
  fileprivate var isJoiner: Bool { value == 0x200D || value == 0x200C }

  /// Soft hyphens, direction and byte order marks: they have no shape, and no effect here.
  fileprivate var isInvisible: Bool {
    switch value {
    case 0xAD, 0x200E, 0x200F, 0x2060, 0x61C, 0xFEFF: true
    default: false
    }
  }

  /// Whether a terminal could obey the character, or show other text in another order because of
  /// it.
  fileprivate var actsOnTerminal: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
