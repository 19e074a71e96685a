/// Comparisons of texts with null. Some texts are never null, but may be empty. So
/// `widget.error != null` means `widget.error != ""`.
public enum NullText {
  /// Replaces comparisons of `path` with null by comparisons with the empty text. String literals
  /// stay unchanged.
  public static func comparingEmpty(_ path: String, in source: String) -> String {
    var result = ""
    var rest = source[...]
    var before: Character = " "
    while let first = rest.first {
      if first == "\"" || first == "'" {
        let literal = literal(rest, first)
        result += literal
        rest = rest.dropFirst(literal.count)
        before = first
      } else if !isName(before), let (text, count) = comparison(rest, path) {
        result += text
        rest = rest.dropFirst(count)
        before = " "
      } else {
        result.append(first)
        rest = rest.dropFirst()
        before = first
      }
    }
    return result
  }

  private static func literal(_ text: Substring, _ quote: Character) -> Substring {
    var isEscaped = false
    var count = 1
    for character in text.dropFirst() {
      count += 1
      if isEscaped {
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == quote {
        break
      }
    }
    return text.prefix(count)
  }

  /// Matches `PATH == null` or `null == PATH` at the start of the text. Returns the length too.
  private static func comparison(_ text: Substring, _ path: String) -> (String, Int)? {
    for (left, right) in [(path, "null"), ("null", path)] where text.hasPrefix(left) {
      let spaced = text.dropFirst(left.count).drop(while: \.isWhitespace)
      guard spaced.hasPrefix("==") || spaced.hasPrefix("!=") else { continue }
      let other = spaced.dropFirst(2).drop(while: \.isWhitespace)
      guard other.hasPrefix(right) else { continue }
      let after = other.dropFirst(right.count)
      guard !(after.first.map { isName($0) || $0 == "(" } ?? false) else { continue }
      return ("\(path) \(spaced.prefix(2)) \"\"", text.count - after.count)
    }
    return nil
  }

  private static func isName(_ character: Character) -> Bool {
    character == "_" || character == "." || character.isLetter || character.isNumber
  }
}
