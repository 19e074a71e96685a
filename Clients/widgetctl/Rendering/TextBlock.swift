/// Lines of text that take a rectangle of a terminal: what is put below and beside each other.
///
/// All text in it is safe for the terminal; `lines(of:width:)` makes it so. A line holds no newline,
/// and no blanks at its end once it is in `rows`.
struct TextBlock: Hashable {
  var lines: [String]

  init(_ lines: [String] = []) { self.lines = lines }
  init(_ line: String) { lines = [line] }

  var isEmpty: Bool { lines.isEmpty }
  /// The columns of the longest line.
  var width: Int { lines.map(\.columns).max() ?? 0 }

  /// One below the other.
  static func column(_ blocks: [TextBlock]) -> TextBlock { TextBlock(blocks.flatMap(\.lines)) }

  /// Side by side, so many columns apart; empty blocks take no room.
  static func row(_ blocks: [TextBlock], gap: Int = 2) -> TextBlock {
    rows([blocks.filter { !$0.isEmpty }], gap: gap)
  }

  /// Rows of cells, the cells of a column as wide as the widest.
  static func rows(_ rows: [[TextBlock]], gap: Int = 2) -> TextBlock {
    var widths = [Int](repeating: 0, count: rows.map(\.count).max() ?? 0)
    for row in rows {
      for (column, cell) in row.enumerated() { widths[column] = max(widths[column], cell.width) }
    }
    var lines: [String] = []
    for row in rows {
      for index in 0..<(row.map(\.lines.count).max() ?? 0) {
        var line = ""
        for (column, cell) in row.enumerated() {
          let text = index < cell.lines.count ? cell.lines[index] : ""
          line += text.padded(toColumns: widths[column] + gap)
        }
        lines.append(line.withoutTrailingBlanks)
      }
    }
    return TextBlock(lines)
  }

  /// The lines of a text, made safe, and broken between words where they take more than `width`.
  ///
  /// - Parameter most: how many lines at most, 0 for any number; the last one then ends with an
  ///   ellipsis.
  static func lines(of text: String, width: Int? = nil, most: Int = 0) -> TextBlock {
    var lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .map { String($0.map { $0 == "\t" ? " " : $0 }).safeForTerminal }
    if let width { lines = lines.flatMap { $0.wrapped(toColumns: max(width, 8)) } }
    guard most > 0, lines.count > most else { return TextBlock(lines) }
    let last = lines[most - 1] + "…"
    return TextBlock(
      lines[..<(most - 1)] + [width.map { last.cut(toColumns: max($0, 8)) } ?? last])
  }
}

extension String {
  /// On one line: made safe, with a mark for each newline.
  var onOneLine: String {
    TextBlock.lines(of: self).lines.joined(separator: " ⏎ ")
  }

  /// Filled up with blanks.
  func padded(toColumns width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - columns))
  }

  fileprivate var withoutTrailingBlanks: String {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return String(text)
  }

  /// Broken at blanks; a word that is too long, anywhere.
  fileprivate func wrapped(toColumns limit: Int) -> [String] {
    guard columns > limit else { return [self] }
    var lines: [String] = []
    var line = ""
    var used = 0
    for word in split(separator: " ", omittingEmptySubsequences: false).map(String.init) {
      if used > 0, used + 1 + word.columns > limit {
        lines.append(line)
        (line, used) = ("", 0)
      } else if used > 0 || !line.isEmpty {
        line += " "
        used += 1
      }
      guard used + word.columns > limit else {
        line += word
        used += word.columns
        continue
      }
      for character in word {
        let columns = String(character).columns
        if used + columns > limit, used > 0 {
          lines.append(line)
          (line, used) = ("", 0)
        }
        line.append(character)
        used += columns
      }
    }
    return lines + [line]
  }
}
