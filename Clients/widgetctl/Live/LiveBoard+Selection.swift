import WidgetLayout
import WidgetModel
import WidgetRender
import WidgetTerminal

/// A text selection made with the mouse: the cells of one pane between anchor and head, line by
/// line.
struct LiveSelection: Hashable {
  struct Point: Hashable {
    var x: Int
    var y: Int
  }

  /// The visible content of the pane on the screen. The selection stays inside.
  let area: LayoutRect
  let anchor: Point
  var head: Point

  /// The selected cells, row by row. Empty until the mouse has moved.
  var rows: [LayoutRect] {
    guard anchor != head, !area.isEmpty else { return [] }
    let (first, last) =
      (anchor.y, anchor.x) <= (head.y, head.x) ? (anchor, head) : (head, anchor)
    return (first.y...last.y).map { row in
      let start = row == first.y ? first.x : area.x
      let end = row == last.y ? last.x + 1 : area.endX
      return LayoutRect(x: start, y: row, width: end - start, height: 1)
    }
  }

  /// Moves the head, clamped to the pane.
  mutating func extend(toX x: Int, y: Int) {
    head = Point(
      x: min(max(x, area.x), area.endX - 1), y: min(max(y, area.y), area.endY - 1))
  }

  /// The text in the selected cells. Trailing blanks of each line are removed.
  func text(in grid: CellGrid) -> String {
    rows.map { row in
      var line = ""
      for column in row.x..<row.endX {
        let cell = grid[column, row.y]
        if !cell.isContinuation { line.append(cell.character) }
      }
      return String(line.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }
}

/// Selecting and copying text.
extension LiveBoard {
  /// The limit of a copied text in UTF-8 bytes: terminals refuse more.
  static let copyBytesMax = 64 << 10

  /// Starts a selection where a press hit no focus target.
  mutating func beginSelection(_ id: WidgetID, _ event: MouseEvent) {
    guard let frame = frames[id] else { return }
    let page = LayoutRect(x: 0, y: 0, width: size.columns, height: pageRows)
    let area = LayoutRect(
      x: frame.x + LiveBoard.border, y: frame.y + LiveBoard.border - top,
      width: frame.width - 2 * LiveBoard.border, height: frame.height - 2 * LiveBoard.border
    ).intersection(page)
    guard area.contains(x: event.column, y: event.row) else { return }
    let point = LiveSelection.Point(x: event.column, y: event.row)
    selection = LiveSelection(area: area, anchor: point, head: point)
    isSelecting = true
  }

  mutating func extendSelection(_ event: MouseEvent) {
    guard isSelecting else { return }
    selection?.extend(toX: event.column, y: event.row)
  }

  /// Ends the selection when the button is released, and copies its text.
  mutating func endSelection() -> [Effect] {
    guard isSelecting else { return [] }
    isSelecting = false
    guard let rows = selection?.rows, !rows.isEmpty else {
      selection = nil
      return []
    }
    return copySelection()
  }

  /// Copies the selected text to the terminal's clipboard.
  mutating func copySelection() -> [Effect] {
    guard let selection else {
      notice = "drag over text with the mouse to mark it"
      return []
    }
    // The user selected cells of the last redraw, so read the text from there.
    let text = selection.text(in: canvas.page)
    guard !text.isEmpty else { return [] }
    return copied(text)
  }

  /// Copies a text, if it is not too long.
  mutating func copied(_ text: String) -> [Effect] {
    guard text.utf8.count <= LiveBoard.copyBytesMax else {
      notice = "too much to copy: at most \(LiveBoard.copyBytesMax >> 10) KiB"
      return []
    }
    notice = "copied \(text.count) character\(text.count == 1 ? "" : "s")"
    return [.copy(text)]
  }

  /// Highlights the selected cells with reversed colours.
  func drawSelection(in grid: inout CellGrid) {
    for row in selection?.rows ?? [] {
      grid.restyle(row) { $0.attributes.formSymmetricDifference(.reverse) }
    }
  }
}
