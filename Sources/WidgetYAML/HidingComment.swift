/// A `#` that begins a comment where a value is missing: `color: #fff`. The author probably meant
/// the comment as the value. A comment in prose has a blank after the `#`.
struct HiddenValue {
  let place: YAMLPlace
  let text: String

  /// - Parameters:
  ///   - line: The line of the missing value.
  ///   - place: The end of the `:` or `-` before it.
  init?(after place: YAMLPlace, in line: [Unicode.Scalar]) {
    guard place.column >= 2, line.count >= place.column,
      ":-".unicodeScalars.contains(line[place.column - 2])
    else { return nil }
    let rest = line[(place.column - 1)...]
    guard let start = rest.firstIndex(where: { $0 != " " && $0 != "\t" }),
      line[start] == "#", start > rest.startIndex, start + 1 < line.endIndex,
      !" \t\r#!".unicodeScalars.contains(line[start + 1])
    else { return nil }
    self.place = YAMLPlace(line: place.line, column: start + 1)
    var text = line[start...]
    // A comment after the value.
    for index in text.indices.dropFirst()
    where text[index] == "#" && " \t".unicodeScalars.contains(text[index - 1]) {
      text = text[..<index]
      break
    }
    while let last = text.last, " \t\r".unicodeScalars.contains(last) { text.removeLast() }
    self.text = String(String.UnicodeScalarView(text))
  }
}

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
