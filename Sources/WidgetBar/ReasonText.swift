import WidgetLayout

/// The reason of a failure, shortened so that the cause stays.
///
/// A message is `what: where: cause; next step`. Without room for all of it, it loses the next step, the
/// folders of its paths, and then the end of what stands before the cause.
enum ReasonText {
  /// The fewest columns of the words before the cause. With less room, they are left out.
  private static let leadColumnsMin = 4

  /// The message in at most so many columns.
  static func shortened(_ message: String, to columns: Int) -> String {
    var text = message
    func fits(_ text: String) -> Bool { TextColumns.width(of: text) <= columns }
    if fits(text) { return text }
    if let end = text.firstRange(of: "; ") { text = String(text[..<end.lowerBound]) }
    if fits(text) { return text }
    text = text.split(separator: " ", omittingEmptySubsequences: false).map { withoutFolders($0) }
      .joined(separator: " ")
    if fits(text) { return text }
    guard let colon = text.ranges(of: ": ").last, colon.upperBound < text.endIndex else {
      return TextColumns.truncated(text, to: columns)
    }
    let cause = String(text[colon.upperBound...])
    let room = columns - TextColumns.width(of: cause) - TextColumns.width(of: "…: ")
    guard room >= leadColumnsMin else { return TextColumns.truncated(cause, to: columns) }
    let lead = text[..<colon.lowerBound]
    var start = lead[..<TextColumns.prefix(of: lead, columns: room)]
    while let last = start.last, last == ":" || last == " " || last == "…" { start.removeLast() }
    return start.isEmpty ? cause : "\(start)…: \(cause)"
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
