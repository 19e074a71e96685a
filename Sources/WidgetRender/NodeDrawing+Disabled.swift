import WidgetLayout
import WidgetModel

/// Brackets around disabled nodes without a border: links, rows, and nodes that take presses.
extension NodeDrawing {
  /// Draws round brackets around a disabled node, as buttons have them. The brackets stand in the node's
  /// padding, so nothing moves when the node is enabled again. A node without padding has no brackets.
  func drawDisabled(on grid: inout CellGrid) {
    guard setting.isDisabled, placed.frame.height > 0, isUnframedControl,
      let left = openingBracket, let right = closingBracket
    else { return }
    let clip = placed.frame.overlap(placed.clip)
    let style = finished(CellStyle())
    grid.put("(", column: left.column, row: left.row, style: style, clip: clip)
    grid.put(")", column: right.column, row: right.row, style: style, clip: clip)
  }

  /// Whether users can act on the node while it is enabled, although it draws no border.
  private var isUnframedControl: Bool {
    switch role {
    case .link: true
    case .label, .image, .grid: node.events.contains("press")
    case .stack: node.events.contains("press") || isSelectableRow
    case .table, .form, .space, .embed, .unknown, .button, .toggle, .gauge, .date, .spinner, .input,
      .chart:
      false
    }
  }

  private var isSelectableRow: Bool {
    guard let parent, parent.role == .table, !node.flag("section", default: false) else {
      return false
    }
    return ["single", "multiple"].contains(parent.text("selection"))
      || parent.flag("deletable", default: false)
  }

  /// Whether the node's children draw its text. They are drawn after the node, and would cover a
  /// bracket.
  private var holdsChildren: Bool {
    role == .stack || role == .grid || role == .embed || !node.childIDs.isEmpty
  }

  private var openingBracket: (column: Int, row: Int)? {
    let frame = placed.frame
    guard !holdsChildren else { return frame.width > 1 ? (frame.x, frame.y) : nil }
    let start = placed.texts.first?.frame ?? placed.inner
    return start.x > frame.x ? (start.x - 1, start.y) : nil
  }

  private var closingBracket: (column: Int, row: Int)? {
    let frame = placed.frame
    guard !holdsChildren else { return frame.width > 1 ? (frame.endX - 1, frame.y) : nil }
    let end = placed.texts.last?.frame ?? placed.inner
    return end.endX < frame.endX ? (end.endX, end.y) : nil
  }
}
