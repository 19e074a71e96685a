/// The marks that keep the direction of one text from changing the texts beside it.
///
/// A bar that draws with Pango reorders right-to-left text. Without marks, a Hebrew text reverses
/// the whole line, and moves the digits of its neighbours. So each such text stands in an isolate,
/// after a mark for left to right. Widgets cannot have these characters in their text, because
/// `DisplayText` escapes them.
enum TextDirection {
  /// LEFT-TO-RIGHT MARK and FIRST STRONG ISOLATE. The text has the direction of its first letter. The
  /// mark is for Pango, which takes a line's direction from its first letter, even from one in an
  /// isolate.
  private static let start = "\u{200E}\u{2068}"
  /// POP DIRECTIONAL ISOLATE.
  private static let end = "\u{2069}"

  /// Whether a text has a letter of a script that is written from right to left.
  static func isRightToLeft(_ text: String) -> Bool {
    text.unicodeScalars.contains { scalar in
      switch scalar.value {
      // Hebrew, Arabic, Syriac, Thaana, N'Ko and others; presentation forms; the blocks that Unicode
      // reserves for such scripts in the first supplementary plane.
      case 0x0590...0x08FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFE, 0x10800...0x10FFF,
        0x1E800...0x1EFFF:
        true
      default: false
      }
    }
  }

  /// Puts parts that are one text into one isolate, if they have right-to-left letters.
  static func isolate(_ parts: inout ArraySlice<BarPart>) {
    guard parts.contains(where: { isRightToLeft($0.text) }) else { return }
    parts[parts.startIndex].text = start + parts[parts.startIndex].text
    parts[parts.endIndex - 1].text += end
  }

  /// Ends the isolates that the cut of a line has left open.
  static func complete(_ parts: inout [BarPart]) {
    let text = parts.map(\.text).joined().unicodeScalars
    let open = text.count { $0 == "\u{2068}" } - text.count { $0 == "\u{2069}" }
    guard open > 0 else { return }
    parts[parts.count - 1].text += String(repeating: end, count: open)
  }
}
