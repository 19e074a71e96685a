import WidgetLayout

/// Makes characters safe for a cell.
///
/// A terminal obeys control characters, and some format characters show text in another order than
/// it has. A cell never contains either, whatever the source of the text.
enum CellText {
  /// The maximum number of scalars of a character. Further scalars are dropped. Emoji families have
  /// up to 11.
  static let scalarsMax = DisplayText.clusterScalarsMax

  /// A character that is safe for a cell; nil if it is invisible.
  static func safe(_ character: Character) -> (character: Character, columns: Int)? {
    if let ascii = character.asciiValue, character.utf8.count == 1 {
      switch ascii {
      case 0x20...0x7E: return (character, 1)
      case 0x09: return (" ", 1)
      default: return ("\u{FFFD}", 1)
      }
    }
    let scalars = character.unicodeScalars
    var result = character
    if scalars.count > scalarsMax || scalars.contains(where: { !isHarmless($0) }) {
      var kept = String.UnicodeScalarView()
      for scalar in scalars.prefix(scalarsMax) {
        switch scalar.properties.generalCategory {
        case .control: return ("\u{FFFD}", 1)
        case .lineSeparator, .paragraphSeparator: return (" ", 1)
        case _ where isHarmless(scalar): kept.append(scalar)
        default: break
        }
      }
      // Without its removed scalars, a character can become several characters, or none.
      guard let first = String(kept).first else { return nil }
      result = first
    }
    let columns = TextColumns.width(of: result)
    return columns > 0 ? (result, min(columns, 2)) : nil
  }

  private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: false
    // Joiners hold emoji together or letters apart, tags make flags of regions.
    case .format:
      (0x200C...0x200D).contains(scalar.value) || (0xE0020...0xE007F).contains(scalar.value)
    default: true
    }
  }

  /// Whether every terminal agrees about the columns of a character, and never joins it with a
  /// neighbour. Around others the encoder sets the cursor, so that a disagreement stays in its cell.
  static func isSteady(_ character: Character) -> Bool {
    if character.isASCII { return true }
    var scalars = character.unicodeScalars.makeIterator()
    guard let first = scalars.next(), scalars.next() == nil else { return false }
    switch first.value {
    case 0xA0...0x2FF, 0x370...0x482, 0x48A...0x52F: return first.value != 0xAD
    // Arrows, mathematics, box drawing, blocks, shapes, braille.
    case 0x2010...0x2027, 0x2030...0x205E, 0x20A0...0x20C0, 0x2100...0x22FF, 0x2500...0x25FC:
      return !first.properties.isEmojiPresentation
    case 0x2800...0x28FF, 0x3041...0x3096, 0x30A1...0x30FA, 0x3400...0x4DBF, 0x4E00...0x9FFF,
      0xAC00...0xD7A3:
      return true
    default: return false
    }
  }
}
