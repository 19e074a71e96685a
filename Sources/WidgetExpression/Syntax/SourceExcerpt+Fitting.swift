/// Excerpts in narrow terminals. The program that makes an excerpt often does not know the
/// terminal.
extension SourceExcerpt {
  private static let cellsLeast = 8

  /// A text whose excerpts fit into the columns of a terminal. So no line of them wraps, and each
  /// caret stays below its place. Other lines stay as they are. O(n).
  public static func fitted(_ text: String, columns: Int) -> String {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    for index in lines.indices.dropFirst() {
      guard let fitted = cut(lines[index - 1], lines[index], columns) else { continue }
      lines[index - 1] = fitted.line
      lines[index] = fitted.caretLine
    }
    return lines.joined(separator: "\n")
  }

  /// A line of an excerpt and its caret's line, both cut around the caret. Nil if they are no
  /// excerpt, or fit.
  private static func cut(
    _ line: String, _ caretLine: String, _ columns: Int
  ) -> (line: String, caretLine: String)? {
    guard caretLine.hasSuffix("^") else { return nil }
    let margin = caretLine.prefix { $0 == " " }.count + 2
    let (label, gutter) = (String(line.prefix(margin)), String(caretLine.prefix(margin)))
    let pad = caretLine.dropFirst(margin).dropLast()
    guard gutter.hasSuffix(" | "), label.hasSuffix(" | "), pad.allSatisfy({ $0 == " " }),
      label.dropLast(3).allSatisfy({ $0 == " " || $0.isNumber })
    else { return nil }
    let source = Array(line.dropFirst(margin))
    let room = columns - margin
    guard room >= cellsLeast, max(cells(source[...]), pad.count + 1) > room else { return nil }
    var start = 0
    var place = pad.count
    while start < source.count, place + 1 > room * 3 / 5 {
      place -= source[start].terminalCells
      start += 1
    }
    let mark = start > 0 ? "…" : ""
    var rest = source[start...]
    var width = mark.count + cells(rest)
    if width > room {
      while width + 1 > room, let last = rest.popLast() { width -= last.terminalCells }
      rest.append("…")
    }
    return (
      label + mark + String(rest),
      gutter + String(repeating: " ", count: max(0, place + mark.count)) + "^"
    )
  }

  private static func cells(_ text: ArraySlice<Character>) -> Int {
    text.reduce(0) { $0 + $1.terminalCells }
  }
}
