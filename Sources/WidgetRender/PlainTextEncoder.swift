/// Writes a `CellGrid` as plain text: only characters and newlines.
public enum PlainTextEncoder {
  /// All rows as lines, without trailing blanks, each ended by a newline. O(cells).
  public static func text(_ grid: CellGrid) -> String {
    var text = ""
    for row in 0..<grid.height {
      let cells = grid.row(row)
      let end = cells.lastIndex { $0.character != " " }.map { $0 + 1 } ?? cells.startIndex
      for cell in cells[..<end] where !cell.isContinuation { text.append(cell.character) }
      text += "\n"
    }
    return text
  }
}
