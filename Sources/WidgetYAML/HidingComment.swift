/// A `#` that begins a comment inside brackets and hides their end: `{color: #fff}`.
struct HidingComment {
  let place: YAMLPlace
  /// The text that the author probably meant, without the brackets after it.
  let text: String

  /// The last one up to the line of a syntax error.
  init?(upTo place: YAMLPlace, in text: String) {
    var line = 0
    var found: HidingComment?
    for content in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      line += 1
      guard line <= place.line else { break }
      if let comment = HidingComment(in: Array(content.unicodeScalars), line: line) {
        found = comment
      }
    }
    guard let found else { return nil }
    self = found
  }

  /// A `#` where a value begins, followed by text and a closing bracket.
  private init?(in line: [Unicode.Scalar], line number: Int) {
    var quote: Unicode.Scalar?
    var before: Unicode.Scalar?
    for (index, scalar) in line.enumerated() {
      if let open = quote {
        if scalar == open { quote = nil }
      } else if scalar == "\"" || scalar == "'" {
        if before.map({ ":,[{".unicodeScalars.contains($0) }) ?? true { quote = scalar }
      } else if scalar == "#", index > 0, " \t[{,".unicodeScalars.contains(line[index - 1]) {
        let rest = line[index...]
        guard let before, ":,[{".unicodeScalars.contains(before),
          let next = rest.dropFirst().first, !" \t#".unicodeScalars.contains(next),
          let end = rest.firstIndex(where: { ",]}".unicodeScalars.contains($0) }),
          rest.contains(where: { "]}".unicodeScalars.contains($0) })
        else { return nil }
        place = YAMLPlace(line: number, column: index + 1)
        var text = String(String.UnicodeScalarView(line[index..<end]))
        while text.last?.isWhitespace == true { text.removeLast() }
        self.text = text
        return
      }
      if scalar != " ", scalar != "\t" { before = scalar }
    }
    return nil
  }
}
