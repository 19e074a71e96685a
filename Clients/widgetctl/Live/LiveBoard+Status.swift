import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetRender
import WidgetTerminal

/// The status line, and the notices in its place.
extension LiveBoard {
  /// A part of the status line.
  private struct StatusPart {
    let text: String
    let token: String
    /// If the line is too narrow, parts with the highest rank are dropped first. Rank 0 stays.
    let rank: Int

    init(_ text: String, _ token: String, rank: Int = 0) {
      (self.text, self.token, self.rank) = (text, token, rank)
    }
  }

  func drawStatus(in grid: inout CellGrid) {
    let row = size.rows - 1
    guard row >= 0 else { return }
    grid.fill(
      LayoutRect(x: 0, y: row, width: size.columns, height: 1),
      style: CellStyle(background: look.ownBackground))
    var column = 0
    func put(_ part: StatusPart) {
      guard column < size.columns else { return }
      column += grid.put(
        TextColumns.truncated(part.text, to: size.columns - column), column: column, row: row,
        style: style(part.token))
    }
    if isFiltering {
      put(StatusPart("/\(filter?.text ?? "")", "color.text"))
      for (_, columns) in filter?.selectedColumns ?? [] {
        grid.restyle(
          LayoutRect(x: 1 + columns.lowerBound, y: row, width: columns.count, height: 1)
        ) { mark(&$0) }
      }
      return
    }
    let light = StatusPart(
      mirror.isCurrent ? "●" : "○", mirror.isCurrent ? "color.success" : "color.error")
    if let last = noticeLines.last {
      put(noticeLines.count > 1 ? StatusPart(" ", "color.text") : light)
      return put(StatusPart(" \(last)", "color.warning"))
    }
    var left = [light] + standing
    var right = hints
    func width(_ parts: [StatusPart]) -> Int {
      parts.reduce(0) { $0 + TextColumns.width(of: $1.text) }
    }
    while width(left) + width(right) > size.columns,
      let last = (left + right).map(\.rank).max(), last > 0
    {
      left.removeAll { $0.rank == last }
      right.removeAll { $0.rank == last }
    }
    for part in left { put(part) }
    column = max(column, size.columns - width(right))
    for part in right { put(part) }
  }

  /// The most rows of a notice.
  private static let noticeRowsMax = 4

  /// The rows of the notice. The last one is in the status line, the others are above it.
  var noticeLines: [String] {
    guard !notice.isEmpty else { return [] }
    return TextColumns.wrapped(
      notice.onOneLine, to: max(1, size.columns - 2),
      most: max(1, min(LiveBoard.noticeRowsMax, size.rows / 3)))
  }

  /// Draws the rows of a long notice above the status line.
  func drawNotice(in grid: inout CellGrid) {
    let lines = noticeLines.dropLast()
    let top = size.rows - 1 - lines.count
    grid.fill(
      LayoutRect(x: 0, y: top, width: size.columns, height: lines.count),
      style: CellStyle(background: look.ownBackground))
    for (index, line) in lines.enumerated() {
      if index == 0 {
        grid.put(
          mirror.isCurrent ? "●" : "○", column: 0, row: top,
          style: style(mirror.isCurrent ? "color.success" : "color.error"))
      }
      grid.put(
        TextColumns.truncated(line, to: size.columns - 2), column: 2, row: top + index,
        style: style("color.warning"))
    }
  }

  /// The left side of the status line: the connection, and counts of widgets.
  private var standing: [StatusPart] {
    var parts: [StatusPart] = []
    if let trouble {
      parts.append(StatusPart(" \(trouble)", "color.error", rank: 1))
    } else {
      parts.append(StatusPart(" revision \(mirror.revision)", "color.secondary", rank: 6))
    }
    let count = "  \(order.count) widget\(order.count == 1 ? "" : "s")"
    parts.append(StatusPart(count, "color.secondary", rank: 5))
    // Without a connection, all widgets may be old.
    let stale = mirror.isCurrent ? staleIDs.count { frames[$0] != nil } : order.count
    let failed = failedIDs.count { frames[$0] != nil }
    if stale > 0 { parts.append(StatusPart("  \(stale) stale", "color.warning", rank: 3)) }
    if failed > 0 { parts.append(StatusPart("  \(failed) failed", "color.error", rank: 2)) }
    if let filter, !filter.text.isEmpty {
      parts.append(StatusPart("  /\(filter.text)", "color.tint", rank: 4))
    }
    return parts
  }

  /// The right side of the status line: keys that apply now.
  private var hints: [StatusPart] {
    if overlay != nil {
      if case .replacing? = overlay { return [] }
      let scrolls = lastOverlayLine > 0 ? "  PgDn PgUp scroll" : ""
      return [
        StatusPart(scrolls, "color.secondary", rank: 4),
        StatusPart("  Esc close", "color.secondary", rank: 1),
      ]
    }
    if let input = focusedInput {
      let isMultiline = panes[input.widget]?.node(input.node)?.text("mode") == "multiline"
      let enter = isMultiline ? "Alt+Enter submit" : "Enter submit"
      return [
        StatusPart("  \(enter)", "color.secondary", rank: 2),
        StatusPart("  Esc leave", "color.secondary", rank: 1),
      ]
    }
    if focus?.kind == .scroll {
      return [
        StatusPart("  PgDn PgUp scroll", "color.secondary", rank: 2),
        StatusPart("  Esc leave", "color.secondary", rank: 1),
      ]
    }
    let isMoreBelow = top + pageRows < pageHeight
    let page = isMoreBelow ? "  PgDn more" : top > 0 ? "  PgUp back" : ""
    return [
      StatusPart(page, "color.secondary", rank: 4), StatusPart("  ? keys", "color.secondary"),
      StatusPart("  q quit", "color.secondary", rank: 1),
    ]
  }
}
