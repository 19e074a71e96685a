import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetRender
import WidgetTerminal

/// What a dashboard looks like.
extension LiveBoard {
  /// The screen, and where the cursor is in it.
  func picture() -> (grid: CellGrid, cursor: ScreenUpdate.Cursor?) {
    var grid = CellGrid(width: size.columns, height: size.rows)
    let page = LayoutRect(x: 0, y: 0, width: size.columns, height: pageRows)
    for id in order {
      guard let frame = frames[id], frame.y < top + pageRows, frame.endY > top else { continue }
      draw(id, frame, in: &grid, page)
    }
    if order.isEmpty { drawNothing(in: &grid) }
    switch overlay {
    case .help?: draw(LiveBoard.help, title: "Keys", from: 0, in: &grid)
    case .details(let id, let line)?:
      draw(details(of: id), title: id.rawValue, from: line, in: &grid)
    case nil: break
    }
    drawStatus(in: &grid)
    return (grid, overlay == nil ? cursor : nil)
  }

  // MARK: - Panes

  private func draw(
    _ id: WidgetID, _ frame: LayoutRect, in grid: inout CellGrid, _ clip: LayoutRect
  ) {
    guard let pane = panes[id] else { return }
    let shown = LayoutRect(x: frame.x, y: frame.y - top, width: frame.width, height: frame.height)
    let hasFocus = focus?.widget == id
    grid.box(shown, style: style(hasFocus ? "color.focus" : "color.separator"), clip: clip)
    drawTitle(pane.widget, shown, hasFocus, in: &grid, clip)
    if let error = pane.widget.error {
      grid.put(
        TextColumns.truncated(
          "! " + error.words(DateText(now: options.now())), to: shown.width - 2 * LiveBoard.border),
        column: shown.x + LiveBoard.border, row: shown.y + 1, style: style("color.error"),
        clip: clip
      )
    }
    var look = look
    look.isStale = pane.widget.isStale || !mirror.isConnected
    look.focusedID = hasFocus ? focus?.node : nil
    let content = CellPainter(look: look).grid(pane.layout, pane.table)
    let origin = origin(of: id)
    grid.draw(content, column: origin.x, row: origin.y - top, clip: clip)
    if !pane.widget.presence.isEnabled {
      grid.restyle(shown.intersection(clip)) { $0.attributes.insert(.dim) }
    }
  }

  private func drawTitle(
    _ widget: Widget, _ frame: LayoutRect, _ hasFocus: Bool, in grid: inout CellGrid,
    _ clip: LayoutRect
  ) {
    let room = frame.width - 4
    guard room > 2 else { return }
    var column = frame.x + 2
    let title = TextColumns.truncated(" \(widget.id.rawValue) ", to: room)
    var titleStyle = style(hasFocus ? "color.focus" : "color.text")
    titleStyle.attributes.insert(.bold)
    grid.put(title, column: column, row: frame.y, style: titleStyle, clip: clip)
    column += TextColumns.width(of: title)
    for (mark, token) in marks(of: widget) {
      let left = frame.x + frame.width - 2 - column
      guard left > 3 else { return }
      let text = TextColumns.truncated("\(mark) ", to: left)
      grid.put(text, column: column, row: frame.y, style: style(token), clip: clip)
      column += TextColumns.width(of: text)
    }
  }

  /// What is to be known of a widget at a glance, with the colour that says it.
  private func marks(of widget: Widget) -> [(String, String)] {
    var marks: [(String, String)] = []
    if widget.error != nil { marks.append(("failed", "color.error")) }
    if widget.isStale { marks.append(("stale", "color.warning")) }
    if !widget.presence.isEnabled { marks.append(("disabled", "color.secondary")) }
    if !widget.presence.isVisible { marks.append(("hidden", "color.secondary")) }
    return marks
  }

  private func drawNothing(in grid: inout CellGrid) {
    let words =
      if !mirror.isSynced {
        trouble ?? "waiting for the daemon…"
      } else if let filter, !filter.text.isEmpty {
        "no widget is called like \"\(filter.text)\"; Esc shows all"
      } else {
        "no visible widgets; `widgetctl add KIND` makes one"
      }
    let text = TextColumns.truncated(words, to: size.columns)
    grid.put(
      text, column: max(0, (size.columns - TextColumns.width(of: text)) / 2), row: pageRows / 2,
      style: style("color.secondary"))
  }

  // MARK: - Status

  private func drawStatus(in grid: inout CellGrid) {
    let row = size.rows - 1
    guard row >= 0 else { return }
    let line = LayoutRect(x: 0, y: row, width: size.columns, height: 1)
    grid.fill(line, style: .plain)
    var column = 0
    func put(_ text: String, _ token: String, _ attributes: CellAttributes = []) {
      guard column < size.columns else { return }
      var style = style(token)
      style.attributes.formUnion(attributes)
      column += grid.put(
        TextColumns.truncated(text, to: size.columns - column), column: column, row: row,
        style: style)
    }
    if isFiltering {
      put("/\(filter?.text ?? "")", "color.text")
      return
    }
    if let trouble {
      put("○ \(trouble)", "color.error")
    } else {
      put(mirror.isConnected ? "● " : "○ ", mirror.isConnected ? "color.success" : "color.error")
      put("revision \(mirror.revision)", "color.secondary")
    }
    let widgets = order.compactMap { panes[$0]?.widget }
    put("  \(widgets.count) widget\(widgets.count == 1 ? "" : "s")", "color.secondary")
    let (stale, failed) = (widgets.count { $0.isStale }, widgets.count { $0.error != nil })
    if stale > 0 { put("  \(stale) stale", "color.warning") }
    if failed > 0 { put("  \(failed) failed", "color.error") }
    if let filter, !filter.text.isEmpty { put("  /\(filter.text)", "color.tint") }
    if !notice.isEmpty {
      put("  \(notice.onOneLine)", "color.warning")
      return
    }
    let keys = pageHeight > pageRows ? "  PgDn more  ? keys  q quit" : "  ? keys  q quit"
    let room = size.columns - column
    if TextColumns.width(of: keys) <= room {
      column = size.columns - TextColumns.width(of: keys)
      put(keys, "color.secondary")
    }
  }

  // MARK: - Overlays

  static let help = [
    "Tab, Shift+Tab   next and previous control",
    "arrows           nearest control, or scroll",
    "Enter, Space     press, switch, open, select",
    "Enter            in an input: submit",
    "Esc              leave the control, the filter",
    "mouse, wheel     press and scroll",
    "PgUp, PgDn       scroll the page",
    "/                show only widgets called so",
    "i                the widget's data and state",
    "r                read its sources again",
    "Ctrl+Z           suspend; fg comes back",
    "q, Ctrl+C        quit",
  ]

  private func details(of id: WidgetID) -> [String] {
    guard let widget = panes[id]?.widget else { return ["no such widget any more"] }
    var document = widget.document()
    if case .map(var fields) = document {
      fields["content"] = nil
      document = .map(fields)
    }
    return YAMLWriter.document(document).split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
  }

  private func draw(
    _ lines: [String], title: String, from first: Int, in grid: inout CellGrid
  ) {
    let rows = max(1, min(lines.count, pageRows - 4))
    let first = min(first, max(0, lines.count - rows))
    let shown = lines[first..<min(lines.count, first + rows)]
    let widest = lines.map { TextColumns.width(of: $0) }.max() ?? 0
    let width = min(size.columns, max(widest, title.count + 4) + 4)
    let frame = LayoutRect(
      x: (size.columns - width) / 2, y: max(0, (pageRows - rows - 2) / 2), width: width,
      height: rows + 2)
    grid.fill(frame, style: .plain)
    grid.box(frame, style: style("color.focus"))
    var titleStyle = style("color.focus")
    titleStyle.attributes.insert(.bold)
    let more = lines.count > rows ? " \(first + 1)–\(first + rows) of \(lines.count) " : ""
    grid.put(" \(title) \(more)", column: frame.x + 2, row: frame.y, style: titleStyle, clip: frame)
    for (index, line) in shown.enumerated() {
      grid.put(
        TextColumns.truncated(line, to: width - 4), column: frame.x + 2, row: frame.y + 1 + index,
        style: style("color.text"))
    }
  }

  // MARK: - Cursor and colours

  /// Where the next character goes, if an input has the focus and that place is seen.
  private var cursor: ScreenUpdate.Cursor? {
    if isFiltering {
      let column = 1 + TextColumns.width(of: filter?.head ?? "")
      return ScreenUpdate.Cursor(column: min(column, size.columns - 1), row: size.rows - 1)
    }
    guard let focus = focusedInput, let pane = panes[focus.widget],
      let placed = pane.layout.placed.first(where: { $0.id == focus.node }),
      let field = placed.parts.first(where: { $0.kind == .field })
    else { return nil }
    let origin = origin(of: focus.widget)
    let typed = pane.draft(focus.node).head
    let line = typed.split(separator: "\n", omittingEmptySubsequences: false)
    let isSecret = pane.node(focus.node)?.text("mode") == "secret"
    let width = isSecret ? typed.count : TextColumns.width(of: String(line.last ?? ""))
    let column = origin.x + field.frame.x + 1 + min(width, max(0, field.frame.width - 3))
    let row = origin.y + field.frame.y + min(line.count, max(1, field.frame.height)) - 1 - top
    guard (0..<pageRows).contains(row), (0..<size.columns).contains(column) else { return nil }
    return ScreenUpdate.Cursor(column: column, row: row)
  }

  /// Text in a colour of the theme.
  private func style(_ token: String) -> CellStyle {
    var style = CellStyle.plain
    if look.usesColor, let color = look.theme.color(token, look.appearance) {
      style.foreground = .rgb(color.red, color.green, color.blue)
    } else if token == "color.focus" || token == "color.error" {
      style.attributes.insert(.bold)
    } else if token == "color.secondary" || token == "color.separator" {
      style.attributes.insert(.dim)
    }
    return style
  }
}
