/// A key in a line that continues the text of the lines above.
///
/// A text without quotes goes on in the next lines if they are indented enough. So a key that is
/// indented too far belongs to the value above, and the key below a key without a colon belongs to
/// that key.
struct StrayKey {
  let message: String
  let hint: String
  /// The place of the line to change.
  let place: YAMLPlace

  /// Nil if the colon does not follow the first word of its line.
  ///
  /// - Parameter place: the place of a colon that libyaml does not allow.
  init?(beforeColonAt place: YAMLPlace, in text: String) {
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    let index = place.line - 1
    guard lines.indices.contains(index) else { return nil }
    let key = Content(lines[index])
    let length = place.column - key.column
    guard length > 0,
      StrayKey.isKey(String(key.text.unicodeScalars.prefix(length)))
    else { return nil }
    var lineWithValue: Int?
    var start: YAMLPlace?
    for number in lines[..<index].indices.reversed() {
      let above = Content(lines[number])
      guard let first = above.text.first, first != "#" else { continue }
      if above.text.hasPrefix("---") || above.isKeyWithoutValue { break }
      if above.isKeyWithValue {
        lineWithValue = number + 1
        break
      }
      start = YAMLPlace(line: number + 1, column: above.column)
      if above.isElement { break }
    }
    if let lineWithValue {
      message = "this line is indented more than line \(lineWithValue), which has a value already"
      hint = "indent both keys alike, or put a text of several lines in quotes"
      self.place = YAMLPlace(line: place.line, column: key.column)
    } else if let start {
      message = "a key has no \":\" after it"
      hint = "write KEY: VALUE, or put a text of several lines in quotes"
      self.place = start
    } else {
      return nil
    }
  }

  private static func isKey(_ text: String) -> Bool {
    var name = text[...]
    if let quote = name.first, quote == "\"" || quote == "'", name.last == quote {
      name = name.dropFirst().dropLast()
    }
    return !name.isEmpty
      && name.allSatisfy { $0.isLetter || $0.isNumber || "_-./*$".contains($0) }
  }

  /// A line without its indentation and the dashes of lists.
  private struct Content {
    let text: Substring
    /// Counts Unicode scalars from 1.
    let column: Int
    /// Whether the line begins an element of a list.
    let isElement: Bool

    init(_ line: Substring) {
      let indented = line.drop { $0 == " " }
      var rest = indented
      while rest.hasPrefix("- ") { rest = rest.dropFirst(2).drop { $0 == " " } }
      isElement = rest.startIndex > indented.startIndex
      column = line.unicodeScalars.count - rest.unicodeScalars.count + 1
      while rest.last?.isWhitespace == true { rest.removeLast() }
      text = rest
    }

    var isKeyWithoutValue: Bool { text.hasSuffix(":") || valueBegin == "#" }
    var isKeyWithValue: Bool { valueBegin != nil }

    /// The first character after the first colon of a key.
    private var valueBegin: Character? {
      var rest = text
      while let colon = rest.firstIndex(of: ":") {
        rest = rest[colon...].dropFirst()
        if rest.first == " " { return rest.first { $0 != " " } }
      }
      return nil
    }
  }
}
