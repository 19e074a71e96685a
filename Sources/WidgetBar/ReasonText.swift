import WidgetLayout

/// The reason of a failure, shortened so that the cause stays.
///
/// A message is `what: where: cause: names; next step`. The names after the cause can be missing: a
/// host, a list of fields. If there is too little room, the message loses these parts, in this
/// order: the next step, the folders of its paths, the end of the words before the cause, the end
/// of the names. Colons in quotes and in expressions separate nothing.
public enum ReasonText {
  /// The minimum number of columns for the words before the cause. With less room, these words are
  /// left out.
  private static let leadColumnsMin = 4

  /// The message in a limited number of columns.
  public static func shortened(_ message: String, to columns: Int) -> String {
    var text = message
    func fits(_ text: String) -> Bool { TextColumns.width(of: text) <= columns }
    if fits(text) { return text }
    text = withoutNextStep(text)
    if fits(text) { return text }
    text = text.split(separator: " ", omittingEmptySubsequences: false).map { withoutFolders($0) }
      .joined(separator: " ")
    if fits(text) { return text }
    text = withoutDetail(text)
    if fits(text) { return text }
    guard let start = startOfCause(in: text), start > text.startIndex else {
      return TextColumns.truncated(text, to: columns)
    }
    let cause = String(text[start...])
    let room = columns - TextColumns.width(of: cause) - TextColumns.width(of: "…: ")
    guard room >= leadColumnsMin else { return TextColumns.truncated(cause, to: columns) }
    let lead = text[..<text.index(start, offsetBy: -2)]
    var shown = lead[..<TextColumns.prefix(of: lead, columns: room)]
    while let last = shown.last, last == ":" || last == " " || last == "…" { shown.removeLast() }
    return shown.isEmpty ? cause : "\(shown)…: \(cause)"
  }

  /// The text up to its first `; ` or the end of its first sentence.
  private static func withoutNextStep(_ text: String) -> String {
    let ends =
      places(of: "; ", in: text)
      + places(of: ". ", in: text).filter {
        text[$0...].dropFirst(2).first?.isUppercase == true
      }
    guard let end = ends.min(), end > text.startIndex else { return text }
    return String(text[..<end])
  }

  /// The text without parentheses at its end, such as the number of an error.
  private static func withoutDetail(_ text: String) -> String {
    var text = text
    while text.hasSuffix(")") {
      var depth = 0
      let start = text.indices.reversed().first { index in
        if text[index] == ")" { depth += 1 }
        if text[index] == "(" { depth -= 1 }
        return depth == 0
      }
      guard let start, start > text.startIndex, text[text.index(before: start)] == " " else {
        break
      }
      text = String(text[..<text.index(before: start)])
    }
    return text
  }

  /// The start of the last part between colons that is more than names.
  private static func startOfCause(in text: String) -> String.Index? {
    let starts = places(of: ": ", in: text).map { text.index($0, offsetBy: 2) }
      .filter { $0 < text.endIndex }
    guard let last = starts.last, areNames(text[last...]) else { return starts.last }
    return starts.dropLast().last ?? text.startIndex
  }

  /// Whether the words only name things: a list, or one word that is a host, a number or a field. A
  /// plain word such as `refused` is a cause.
  private static func areNames(_ words: Substring) -> Bool {
    var words = String(words)
    while let last = words.last, last == "." || last == "…" { words.removeLast() }
    var items: [Substring] = []
    var start = words.startIndex
    for end in places(of: ", ", in: words) {
      items.append(words[start..<end])
      start = words.index(end, offsetBy: 2)
    }
    items.append(words[start...])
    if items.count > 1, let last = items.last, last.hasPrefix("and ") { items.removeLast() }
    guard items.allSatisfy({ places(of: " ", in: String($0)).isEmpty }) else { return false }
    return items.count > 1 || items.contains { !$0.allSatisfy { $0.isLetter || $0 == "-" } }
  }

  /// The places of a separator outside of `"…"`, of parentheses and of expressions in backticks. A
  /// quote that was cut off reaches to the end.
  private static func places(of separator: String, in text: String) -> [String.Index] {
    var found: [String.Index] = []
    var (quote, previous): (Character?, Character) = (nil, " ")
    var depth = 0
    var index = text.startIndex
    while index < text.endIndex {
      let character = text[index]
      if let open = quote {
        if character == open, previous != "\\" { quote = nil }
      } else if character == "`" || character == "\"" && (previous == " " || previous == "(") {
        quote = character
      } else if character == "(" {
        depth += 1
      } else if character == ")" {
        depth = max(depth - 1, 0)
      } else if depth == 0, text[index...].hasPrefix(separator) {
        found.append(index)
      }
      previous = previous == "\\" && character == "\\" ? " " : character
      index = text.index(after: index)
    }
    return found
  }

  /// The word with `…` in place of the folders of a path or address. Punctuation after a path stays.
  private static func withoutFolders(_ word: Substring) -> String {
    guard word.count(where: { $0 == "/" }) > 1 else { return String(word) }
    let end = word.lastIndex { $0 != "/" && $0 != ":" }.map { word.index(after: $0) }
    guard let end, let slash = word[..<end].lastIndex(of: "/"), slash != word.startIndex else {
      return String(word)
    }
    let first = word.first.map { "\"'(".contains($0) ? String($0) : "" } ?? ""
    return first + "…" + word[slash...]
  }
}
