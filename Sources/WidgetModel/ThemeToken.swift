/// A name for a colour, a length or a font, which a theme gives a value: `color.primary`.
///
/// Nodes carry tokens, not values. A renderer resolves them with the theme it has.
public struct ThemeToken: Hashable, Sendable {
  /// The type of a token's value.
  public enum Group: String, Hashable, Sendable, CaseIterable {
    case color, offset, font

    /// A token that every theme has.
    public var example: String {
      switch self {
      case .color: "color.primary"
      case .offset: "offset.basic"
      case .font: "font.title"
      }
    }
  }

  public let group: Group
  /// In full: `color.primary`.
  public let name: String

  /// The maximum length of a token, in bytes.
  public static let lengthMax = 64

  /// Reads `color.primary`. Returns nil if the text is not a token.
  public init?(_ text: String) {
    guard let dot = text.firstIndex(of: "."), let group = Group(rawValue: String(text[..<dot]))
    else { return nil }
    self.init(text, of: group)
  }

  /// Reads a token of a group. Returns nil if the text is not such a token.
  ///
  /// Tokens of the standard theme have a short form: `primary`. Others are written in full, so that
  /// a slip is found.
  public init?(_ text: String, of group: Group) {
    let prefix = group.rawValue + "."
    guard text.hasPrefix(prefix) || Theme.standard.values[prefix + text] != nil else { return nil }
    let rest = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
    guard (1...ThemeToken.lengthMax - prefix.utf8.count).contains(rest.utf8.count),
      rest.utf8.first.map({ ThemeToken.isLetter($0) }) == true,
      rest.utf8.allSatisfy({ ThemeToken.isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x5F })
    else { return nil }
    self.group = group
    name = prefix + rest
  }

  /// The short forms of a group's tokens in the standard theme, sorted.
  public static func shortNames(of group: Group) -> [String] {
    let prefix = group.rawValue + "."
    return Theme.standard.values.keys.filter { $0.hasPrefix(prefix) }
      .map { String($0.dropFirst(prefix.count)) }.sorted()
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }
}

/// A colour with opacity, 0 to 255 each.
public struct ThemeColor: Hashable, Sendable {
  public var red: UInt8
  public var green: UInt8
  public var blue: UInt8
  /// 0 is transparent, 255 opaque.
  public var alpha: UInt8

  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  /// Reads `#rrggbb` or `#rrggbbaa`. Returns nil if the text is not a colour.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.first == 0x23, bytes.count == 7 || bytes.count == 9 else { return nil }
    var parts: [UInt8] = []
    for index in stride(from: 1, to: bytes.count, by: 2) {
      guard let high = ThemeColor.digit(bytes[index]), let low = ThemeColor.digit(bytes[index + 1])
      else { return nil }
      parts.append(high << 4 | low)
    }
    self.init(
      red: parts[0], green: parts[1], blue: parts[2], alpha: parts.count > 3 ? parts[3] : 255)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }
}

extension ThemeColor: CustomStringConvertible {
  /// The written form: `#rrggbb`, with `aa` if it is not opaque.
  public var description: String {
    ([red, green, blue] + (alpha == 255 ? [] : [alpha])).reduce("#") { text, part in
      let digits = String(part, radix: 16)
      return text + (digits.count < 2 ? "0" : "") + digits
    }
  }
}
