extension Reading {
  /// The maximum number of warnings about quotes.
  private static let quoteRemarksMax = 20

  /// Warns of texts without quotes whose only quote is at the end: `hello"`. For YAML, this quote
  /// is a part of the text.
  func remarkLostQuotes(_ root: SourceNode) {
    var path: [String] = []
    var left = Reading.quoteRemarksMax
    remarkLostQuotes(root, &path, &left)
  }

  /// - Parameters:
  ///   - path: the keys and indexes that lead to the node. Paths of all nodes would take too long.
  ///   - left: the number of warnings that can still be given.
  private func remarkLostQuotes(_ node: SourceNode, _ path: inout [String], _ left: inout Int) {
    guard left > 0 else { return }
    switch node.content {
    case .scalar(let text, isPlain: true):
      let quotes = "\"'".utf8
      guard let last = text.utf8.last, quotes.contains(last),
        !text.utf8.dropLast().contains(where: { quotes.contains($0) }), !isWritten(text)
      else { return }
      left -= 1
      remark(
        Item(node: node, path: path.joined(separator: ".").replacing(".[", with: "[")),
        "this text has a quote only at its end",
        hint: "add the opening quote; if the quote is part of the text, put all of it in quotes")
    case .scalar: return
    case .list(let elements):
      for (index, element) in elements.enumerated() {
        path.append("[\(index)]")
        remarkLostQuotes(element, &path, &left)
        path.removeLast()
      }
    case .map(let entries):
      for entry in entries where entry.key != ObjectShape.remark {
        path.append(entry.key)
        remarkLostQuotes(entry.value, &path, &left)
        path.removeLast()
      }
    }
  }

  /// Whether the quote at the end belongs there: inches and feet (`24"`), or a possessive (`users'`).
  private func isWritten(_ text: String) -> Bool {
    text.hasSuffix("s'") || text.dropLast().last.map { $0.isNumber } ?? false
  }
}
