import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetRender
import WidgetTerminal

/// The list of keys and the details of a widget, drawn over the page.
extension LiveBoard {
  func drawOverlay(in grid: inout CellGrid) {
    switch overlay {
    case .help(let line)?: draw(overlayLines, title: "Keys", from: line, in: &grid)
    case .details(let id, let line)?:
      draw(overlayLines, title: id.rawValue, from: line, in: &grid)
    case .replacing?: draw(overlayLines, title: "Arrangement", from: 0, in: &grid)
    case nil: break
    }
  }

  /// The lines of the overlay, wrapped.
  private var overlayLines: [LiveDetails.Line] {
    switch overlay {
    case .help?: wrapped(LiveBoard.help.map { LiveDetails.Line(text: $0) })
    case .details(let id, _)?: wrapped(details(of: id))
    case .replacing?:
      wrapped(
        ["The file exists:", options.arrangementFile?.path ?? "", "Replace it? y / n"]
          .map { LiveDetails.Line(text: $0) })
    case nil: []
    }
  }

  static let help = [
    "Tab, Shift+Tab   next and previous control",
    "arrows           nearest control, or scroll",
    "Enter, Space     press, switch, open, select",
    "Enter            in an input: submit",
    "Esc              leave the control, the filter",
    "mouse, wheel     press and scroll",
    "drag, y          select and copy text, copy again",
    "Shift+drag       the terminal's own selection, across widgets",
    "PgUp, PgDn       scroll what has the focus, or the page",
    "/                filter widgets by id or kind",
    "Home, End        first and last row of the page",
    "Ctrl+U, Ctrl+W   in an input: delete to the start, a word",
    "Shift+arrows     in an input: select; Ctrl+A selects all",
    "Ctrl+C, Ctrl+X   in an input: copy, cut what is selected",
    "Alt+Enter        in an input of several lines: submit",
    "i                details: problems, events, data",
    "Tab, r           in details: next widget, refresh",
    "p                hide or show private nodes",
    "Delete           delete the row of a table",
    "r                refresh the widget",
    "w                write the arrangement to its file",
    "Ctrl+Z           suspend; fg comes back",
    "q, Ctrl+C        quit",
  ]

  func details(of id: WidgetID) -> [LiveDetails.Line] {
    guard let pane = panes[id] else { return [LiveDetails.Line(text: "no such widget any more")] }
    let facts = facts(about: pane.widget)
    var details = LiveDetails(
      widget: pane.widget, nodes: pane.table, kind: facts.kind, bundle: facts.bundle,
      host: facts.host, dates: DateText(now: options.now()))
    details.isConnected = mirror.isConnected
    details.storeFailure = mirror.storeFailure
    details.theme = look.theme
    details.isPrivate = look.isPrivate
    return details.lines
  }

  /// The lines as rows of an overlay.
  func wrapped(_ lines: [LiveDetails.Line]) -> [LiveDetails.Line] {
    lines.flatMap { line in
      TextColumns.wrapped(line.text, to: size.columns - 4, most: LiveDetails.rowsPerLineMax).map {
        LiveDetails.Line(text: $0, token: line.token, isHeading: line.isHeading)
      }
    }
  }

  /// The number of an overlay's lines that fit.
  private func overlayRows(of lines: [LiveDetails.Line]) -> Int {
    min(lines.count, max(1, pageRows - 4))
  }

  /// The first line of the overlay's last page.
  var lastOverlayLine: Int {
    let lines = overlayLines
    return lines.count - overlayRows(of: lines)
  }

  func draw(
    _ lines: [LiveDetails.Line], title: String, from first: Int, in grid: inout CellGrid
  ) {
    let rows = overlayRows(of: lines)
    let first = min(first, lines.count - rows)
    let shown = lines[first..<min(lines.count, first + rows)]
    let widest = lines.map { TextColumns.width(of: $0.text) }.max() ?? 0
    let width = min(size.columns, max(widest, title.count + 4) + 4)
    let frame = LayoutRect(
      x: (size.columns - width) / 2, y: max(0, (pageRows - rows - 2) / 2), width: width,
      height: rows + 2)
    grid.fill(frame, style: CellStyle(background: look.ownBackground))
    grid.box(frame, style: style("color.focus"))
    var titleStyle = style("color.focus")
    titleStyle.attributes.insert(.bold)
    let more = lines.count > rows ? " \(first + 1)–\(first + rows) of \(lines.count) " : ""
    grid.put(" \(title) \(more)", column: frame.x + 2, row: frame.y, style: titleStyle, clip: frame)
    for (index, line) in shown.enumerated() {
      var lineStyle = style(line.token)
      if line.isHeading { lineStyle.attributes.insert(.bold) }
      grid.put(
        TextColumns.truncated(line.text, to: width - 4), column: frame.x + 2,
        row: frame.y + 1 + index, style: lineStyle)
    }
  }
}
