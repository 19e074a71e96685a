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
}
