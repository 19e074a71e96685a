/// One place of a `CellGrid`: a character, or the second half of a wide one.
///
/// Only a grid makes cells, from characters that `CellText` has made safe.
public struct Cell: Hashable, Sendable {
  /// The character as it is shown. In a continuation it is a blank that is never shown.
  public internal(set) var character: Character
  /// 1 or 2 columns; 0 for the second half of the wide character to the left.
  public internal(set) var columns: UInt8
  public internal(set) var style: CellStyle
  /// The target of a press on it: an address that `CellLink` has made safe. Nil without a link.
  public internal(set) var link: String?

  /// A blank.
  public static let blank = Cell(character: " ", columns: 1, style: .plain, link: nil)

  /// Whether this is the second half of a wide character.
  public var isContinuation: Bool { columns == 0 }

  /// Whether the cell is invisible.
  var isInvisible: Bool { character == " " && !style.showsOnBlank }

  static func continuation(_ style: CellStyle, link: String?) -> Cell {
    Cell(character: " ", columns: 0, style: style, link: link)
  }
}

/// The addresses that cells may have.
enum CellLink {
  /// Longer addresses are dropped: terminals drop them too.
  static let bytesMax = 2083
  private static let schemes = ["http:", "https:", "mailto:"]

  /// The address, with all characters outside printable ASCII percent-encoded. Nil if its scheme is
  /// not http, https or mailto, or if it is too long.
  static func safe(_ address: String) -> String? {
    guard address.utf8.count <= bytesMax else { return nil }
    let start = address.prefix(8).lowercased()
    guard schemes.contains(where: { start.hasPrefix($0) }) else { return nil }
    var result = ""
    for byte in address.utf8 {
      if (0x21...0x7E).contains(byte) {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        result += digits.count == 1 ? "%0" + digits : "%" + digits
      }
    }
    return result.utf8.count <= bytesMax ? result : nil
  }
}
