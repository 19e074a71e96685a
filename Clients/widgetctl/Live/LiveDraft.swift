import WidgetClient
import WidgetModel

/// The text, cursor and scroll of a text field: one line that scrolls sideways, or rows that scroll
/// up and down.
struct LiveDraft: Hashable {
  private var characters: [Character]
  /// The index of the cursor. Typed text is inserted there.
  private(set) var cursor: Int
  /// The other end of the selection. Nil if no text is selected.
  private var anchor: Int?
  /// The width of the field in columns. Nil shows the whole text.
  private var columns: Int?
  /// The index of the first visible character.
  private var first = 0
  /// The rows of a field of several lines, as ranges of characters. Nil for a field of one line.
  private var rows: [Range<Int>]?
  private var firstRow = 0

  /// The rows of the field. The layout may have less room than `rowsMax` for it.
  private var height = LiveDraft.rowsMax

  /// The maximum number of rows of a field.
  static let rowsMax = 10

  init(_ text: String) {
    characters = Array(text)
    cursor = characters.count
  }

  var text: String { String(characters) }
  /// The text before the cursor.
  var head: String { String(characters[..<cursor]) }

  /// The selected characters. Typed text replaces them. Empty if none are selected.
  var selection: Range<Int> {
    anchor.map { min($0, cursor)..<max($0, cursor) } ?? cursor..<cursor
  }
  var selectedText: String { String(characters[selection]) }

  /// The selected cells of the visible text, row by row, as ranges of columns.
  var selectedColumns: [(row: Int, columns: Range<Int>)] {
    let selection = selection
    guard !selection.isEmpty else { return [] }
    let shown: [Range<Int>]
    if let rows {
      shown = Array(rows[firstRow...].prefix(height))
    } else {
      shown = [columns == nil ? 0..<characters.count : first..<end(from: first)]
    }
    return shown.enumerated().compactMap { index, row in
      let part = selection.clamped(to: row)
      // A selected newline is one cell behind its row.
      let isBroken =
        selection.contains(row.upperBound) && row.upperBound < characters.count
        && characters[row.upperBound].isNewline
      guard !part.isEmpty || isBroken, part.lowerBound >= row.lowerBound else { return nil }
      let start = String(characters[row.lowerBound..<part.lowerBound]).columns
      let width = String(characters[part]).columns + (isBroken ? 1 : 0)
      let limit = columns ?? .max
      return (index, min(start, limit)..<min(start + width, limit))
    }
  }

  mutating func selectAll() {
    anchor = characters.isEmpty ? nil : 0
    cursor = characters.count
  }

  /// Begins a selection at the cursor, or ends it.
  ///
  /// - Parameter extends: Whether the next move extends the selection.
  private mutating func select(_ extends: Bool) {
    if extends { anchor = anchor ?? cursor } else { anchor = nil }
  }

  /// Deletes the selected text. Returns false if none is selected.
  @discardableResult
  mutating func deleteSelection() -> Bool {
    let selection = selection
    anchor = nil
    guard !selection.isEmpty else { return false }
    replace(selection, with: "")
    return true
  }

  /// Replaces characters, with the cursor behind the new text. Neighbours can then form one
  /// character, such as a letter and a typed accent, or the parts of an emoji.
  private mutating func replace(_ range: Range<Int>, with text: String) {
    let head = String(characters[..<range.lowerBound]) + text
    characters = Array(head + String(characters[range.upperBound...]))
    let end = head.utf8.count
    var bytes = 0
    cursor = 0
    while bytes < end {
      bytes += characters[cursor].utf8.count
      cursor += 1
    }
  }

  /// The visible text: all of it, or the part around the cursor that fits.
  var shownText: String {
    if let rows {
      return rows[firstRow...].prefix(height).map(text).joined(separator: "\n")
    }
    return columns == nil ? text : String(characters[first..<end(from: first)])
  }
  /// The visible text of a field of several lines, if the field has all of its possible rows. Nil
  /// for a field of one line.
  var tallText: String? {
    guard let rows else { return nil }
    let first = max(0, min(firstRow, rows.count - LiveDraft.rowsMax))
    return rows[first...].prefix(LiveDraft.rowsMax).map(text).joined(separator: "\n")
  }
  /// The row and column of the cursor in the visible text.
  var place: (row: Int, column: Int) {
    guard let rows, let columns else {
      let head = columns == nil ? head : String(characters[first..<cursor])
      return (0, head.columns)
    }
    let row = cursorRow(in: rows)
    let column = String(characters[rows[row].lowerBound..<cursor]).columns
    return (row - firstRow, min(column, columns))
  }

  /// Scrolls the text so that the cursor is visible.
  ///
  /// - Parameters:
  ///   - columns: The width of the field.
  ///   - isMultiline: Whether the field has several lines.
  mutating func fit(columns: Int, isMultiline: Bool = false) {
    let room = max(columns, 1)
    self.columns = room
    guard !isMultiline else {
      let rows = brokenRows(room)
      let row = cursorRow(in: rows)
      firstRow = min(max(firstRow, row - height + 1), row)
      firstRow = max(0, min(firstRow, rows.count - height))
      self.rows = rows
      return
    }
    // Reserve one column for a cursor after the text.
    first = max(min(first, cursor), start(before: cursor, room - 1))
    first = min(first, start(before: characters.count, room - 1))
  }

  /// The same for a field of several lines, with the rows that its layout has room for.
  mutating func fit(columns: Int, rows height: Int) {
    let height = min(max(height, 1), LiveDraft.rowsMax)
    guard self.columns != max(columns, 1) || self.height != height else { return }
    self.height = height
    fit(columns: columns, isMultiline: true)
  }

  /// Breaks the text into rows: at newlines, behind blanks, and anywhere in words that are too long.
  private func brokenRows(_ room: Int) -> [Range<Int>] {
    var rows: [Range<Int>] = []
    var (start, used) = (0, 0)
    var wordStart: Int?
    func width(_ range: Range<Int>) -> Int {
      range.reduce(0) { $0 + String(characters[$1]).columns }
    }
    for (index, character) in characters.enumerated() {
      guard !character.isNewline else {
        rows.append(start..<index)
        (start, used, wordStart) = (index + 1, 0, nil)
        continue
      }
      let columns = String(character).columns
      // A blank at the end of a row needs no room.
      if used + columns > room, character != " ", index > start {
        let end = wordStart ?? index
        rows.append(start..<end)
        (start, used, wordStart) = (end, width(end..<index), nil)
      }
      used += columns
      if character == " " { wordStart = index + 1 }
    }
    return rows + [start..<characters.count]
  }

  /// The last row that begins at the cursor or before it.
  private func cursorRow(in rows: [Range<Int>]) -> Int {
    rows.lastIndex { $0.lowerBound <= cursor } ?? 0
  }

  /// A row without the blanks at its end for which there is no room.
  private func text(_ row: Range<Int>) -> String {
    var text = String(characters[row])
    while let columns, text.columns > columns, text.last == " " { text.removeLast() }
    return text
  }

  /// The start of the longest run of characters that ends at `end` and fits into `room` columns.
  private func start(before end: Int, _ room: Int) -> Int {
    var (start, used) = (end, 0)
    while start > 0 {
      used += String(characters[start - 1]).columns
      guard used <= room else { break }
      start -= 1
    }
    return start
  }

  private func end(from first: Int) -> Int {
    var (end, used) = (first, 0)
    while end < characters.count {
      used += String(characters[end]).columns
      guard used <= columns ?? .max else { break }
      end += 1
    }
    return end
  }

  /// Inserts text at the cursor, in place of the selected text.
  mutating func insert(_ text: String) {
    deleteSelection()
    replace(cursor..<cursor, with: text)
  }

  mutating func deleteBackward() {
    guard !deleteSelection(), cursor > 0 else { return }
    replace(cursor - 1..<cursor, with: "")
  }

  mutating func deleteForward() {
    guard !deleteSelection(), cursor < characters.count else { return }
    replace(cursor..<cursor + 1, with: "")
  }

  mutating func deleteWord() {
    guard !deleteSelection() else { return }
    while cursor > 0, characters[cursor - 1] == " " { deleteBackward() }
    while cursor > 0, characters[cursor - 1] != " " { deleteBackward() }
  }

  mutating func deleteToStart() {
    anchor = nil
    replace(0..<cursor, with: "")
  }

  mutating func deleteToEnd() {
    anchor = nil
    replace(cursor..<characters.count, with: "")
  }

  /// Moves the cursor. Without `selects`, a selection ends at its edge in that direction.
  mutating func move(by distance: Int, selects: Bool = false) {
    let selection = selection
    if !selects, !selection.isEmpty {
      cursor = distance < 0 ? selection.lowerBound : selection.upperBound
      anchor = nil
      return
    }
    select(selects)
    cursor = min(max(0, cursor + distance), characters.count)
  }

  /// Moves the cursor to another row, to the same column or the row's end. Returns false if there is
  /// none.
  mutating func moveRow(by step: Int, selects: Bool = false) -> Bool {
    guard let rows else { return false }
    let row = cursorRow(in: rows)
    guard rows.indices.contains(row + step) else { return false }
    select(selects)
    let column = String(characters[rows[row].lowerBound..<cursor]).columns
    let target = rows[row + step]
    // The end of a row that is broken belongs to the next one.
    let end =
      rows.indices.contains(row + step + 1)
        && rows[row + step + 1].lowerBound == target.upperBound
      ? target.upperBound - 1 : target.upperBound
    cursor = target.lowerBound
    var used = 0
    while cursor < max(end, target.lowerBound) {
      used += String(characters[cursor]).columns
      guard used <= column else { break }
      cursor += 1
    }
    return true
  }

  mutating func moveToStart(selects: Bool = false) {
    select(selects)
    cursor = 0
  }

  mutating func moveToEnd(selects: Bool = false) {
    select(selects)
    cursor = characters.count
  }
}
