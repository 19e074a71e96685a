import WidgetModel

// The names of icons and classes, and the text of an image that a bar does not draw.
extension BarReader {
  /// The text of an image: its description. A bar that takes no icons gets the fallback of an image
  /// without a source and a description, unless the fallback is a file or an address.
  func text(ofImage node: Node) -> String {
    let (alt, fallback) = (node.text("alt"), node.text("fallback"))
    guard !takesIcons, alt.isEmpty, node.text("source").isEmpty, !fallback.contains("/") else {
      return alt
    }
    return fallback
  }

  /// The name as a CSS class: letters, digits, `_` and `-`.
  static func className(_ name: String) -> String {
    String(
      name.map { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "_" || $0 == "-" ? $0 : "-" })
  }

  /// The name of an icon without markup: letters and digits of any alphabet, `_` and `-`.
  ///
  /// Every scalar of a character counts, because a few letters join the character after them, such
  /// as `<`.
  static func iconName(_ name: String) -> String {
    String(
      name.map { character -> Character in
        let isPlain = character == "_" || character == "-"
        return isPlain || character.unicodeScalars.allSatisfy(isOfWord) ? character : "-"
      })
  }

  private static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .decimalNumber, .nonspacingMark, .spacingMark:
      true
    default: false
    }
  }
}
