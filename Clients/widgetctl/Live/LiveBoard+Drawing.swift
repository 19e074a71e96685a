import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetRender
import WidgetTerminal

/// Drawing a dashboard into a grid of cells.
extension LiveBoard {
  /// One redraw of the board.
  struct Picture {
    var grid: CellGrid
    /// The position of the text cursor. Nil if it is hidden.
    var cursor: ScreenUpdate.Cursor?
    /// The dirty rows since the last redraw. Nil if every row may be dirty.
    var drawnRows: [Int]?
  }

  /// Draws the screen. Repaints only the panes that changed.
  mutating func picture() -> Picture {
    let page = LayoutRect(x: 0, y: 0, width: size.columns, height: pageRows)
    var places: [WidgetID: LayoutRect] = [:]
    for id in order + awaited {
      guard let frame = frames[id], frame.y < top + pageRows, frame.endY > top else { continue }
      places[id] = LayoutRect(
        x: frame.x, y: frame.y - top, width: frame.width, height: frame.height)
    }
    let motion = motion
    var canvas = canvas
    self.canvas = LiveCanvas()
    canvas.update(
      width: size.columns, height: size.rows, places: places, clip: page, motion: motion,
      background: look.ownBackground,
      key: { key(of: $0, places[$0] ?? .zero) }, paint: { paint($0, $1, in: &$2) })
    // Draw the status line on the cached page: a redraw copies the page only below an overlay.
    canvas.draw(row: size.rows - 1) { drawStatus(in: &$0) }
    var drawnRows = canvas.takeDrawnRows()
    self.canvas = canvas
    hasComings = false
    let hasPictures = pictures.usesProtocol && !pictures.states.isEmpty
    let hasLongNotice = noticeLines.count > 1
    let isCovered =
      places.isEmpty || overlay != nil || selection != nil || hasPictures || hasLongNotice
    // Overlays are drawn on a copy of the page, so the dirty rows miss them. All rows count as
    // dirty while an overlay is shown, and once more after it is gone.
    if isCovered || wasCovered { drawnRows = nil }
    wasCovered = isCovered
    guard isCovered else {
      return Picture(grid: canvas.page, cursor: cursor, drawnRows: drawnRows)
    }
    var grid = canvas.page
    if places.isEmpty { drawNothing(in: &grid) }
    drawPictures(in: &grid)
    drawSelection(in: &grid)
    drawOverlay(in: &grid)
    if hasLongNotice { drawNotice(in: &grid) }
    return Picture(grid: grid, cursor: overlay == nil ? cursor : nil, drawnRows: drawnRows)
  }

  private func drawOverlay(in grid: inout CellGrid) {
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

  // MARK: - Motion

  /// The animations of the next redraw: changed text fades; panes slide if widgets came or went.
  private var motion: LiveCanvas.Motion {
    guard options.moves, !isLinkSlow else { return LiveCanvas.Motion() }
    let (from, text) = (rgb("color.tint"), rgb("color.text"))
    return LiveCanvas.Motion(fades: true, slides: hasComings && canvas.page.width > 0) {
      style, step in
      guard let from, let text else { return style }
      var to = text
      switch style.foreground {
      case .rgb(let red, let green, let blue)?: to = (red, green, blue)
      case .palette?: return style
      case nil: break
      }
      // The mix goes from 1/4 in the first step to 3/4 in the last. Then the text has its colour.
      let (part, whole) = (step + 1, LiveCanvas.steps + 1)
      func mix(_ a: UInt8, _ b: UInt8) -> UInt8 {
        UInt8((Int(a) * (whole - part) + Int(b) * part) / whole)
      }
      var style = style
      style.foreground = .rgb(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
      return style
    }
  }

  private func rgb(_ token: String) -> (UInt8, UInt8, UInt8)? {
    guard look.usesColor, let color = look.theme.color(token, look.appearance) else { return nil }
    return (color.red, color.green, color.blue)
  }

  /// Whether an animation runs. Its next step is then due after `LiveCanvas.stepDuration`.
  var isMoving: Bool { canvas.isMoving }

  /// Advances the animations by a step. Ends them if animation is off or the terminal is slow.
  mutating func moveOn() {
    if options.moves, !isLinkSlow { canvas.advance() } else { canvas.settle() }
  }

  // MARK: - Panes

  /// The cache key of a painted pane.
  private func key(of id: WidgetID, _ place: LayoutRect) -> LiveCanvas.Key {
    let pane = panes[id]
    return LiveCanvas.Key(
      version: pane?.version, width: place.width, height: place.height, lookVersion: lookVersion,
      spinnerTick: pane?.isSpinning == true ? spinnerTick : nil,
      isStale: pane?.widget.isStale == true || !mirror.isConnected,
      focus: focus?.widget == id ? focus : nil, hover: hover?.widget == id ? hover : nil,
      title: title(of: id),
      troubles: troubleLines(of: id, width: place.width).map(\.text),
      selected: selectedCells(of: id),
      marks: pane.map { marks(of: $0.widget).map(\.0) } ?? [],
      isEnabled: pane?.widget.presence.isEnabled ?? true)
  }

  private func title(of id: WidgetID) -> String {
    entries[id]?.title.map { DisplayText.onOneLine($0) } ?? id.rawValue
  }

  /// Paints the given rows of a pane, with its border and title.
  private func paint(_ id: WidgetID, _ rows: Range<Int>, in grid: inout CellGrid) {
    let hasFocus = focus?.widget == id
    let frame = LayoutRect(
      x: 0, y: -rows.lowerBound, width: grid.width, height: frames[id]?.height ?? grid.height)
    grid.box(frame, style: style(hasFocus ? "color.focus" : "color.separator"))
    guard let pane = panes[id] else {
      drawTitle(
        title(of: id), [("not there yet", "color.secondary")], false, row: frame.y, in: &grid)
      grid.put(
        TextColumns.truncated("waits for the widget \(id.rawValue)", to: grid.width - 4),
        column: LiveBoard.border + 1, row: frame.y + 1, style: style("color.secondary"))
      return
    }
    drawTitle(title(of: id), marks(of: pane.widget), hasFocus, row: frame.y, in: &grid)
    let troubles = troubleLines(of: id, width: grid.width)
    for (index, line) in troubles.enumerated() {
      grid.put(
        line.text, column: LiveBoard.border + 1, row: frame.y + 1 + index, style: style(line.token))
    }
    var look = pane.images.isEmpty ? look : withPictures(look)
    look.spinnerTick = spinnerTick
    look.isStale = pane.widget.isStale || !mirror.isConnected
    look.isDisabled = !pane.widget.presence.isEnabled
    look.focusedID = hasFocus && focus?.kind != .scroll ? focus?.node : nil
    look.scrolledID = hasFocus && focus?.kind == .scroll ? focus?.node : nil
    look.hoveredID = hover?.widget == id ? hover?.node : nil
    look.paintsBackground = look.ownBackground != nil
    let top = frame.y + LiveBoard.border + troubles.count
    // Skip the rows of the content that are above the grid.
    let first = max(0, -top)
    let content = CellPainter(look: look).grid(
      pane.layout, pane.table, rows: first..<max(first, grid.height - top))
    grid.draw(
      content, column: LiveBoard.border, row: top + first,
      clip: LayoutRect(
        x: 0, y: frame.y, width: frame.width, height: frame.height - LiveBoard.border))
    for cells in selectedCells(of: id) {
      grid.restyle(
        LayoutRect(
          x: cells.x + LiveBoard.border, y: cells.y + top, width: cells.width, height: cells.height)
      ) { mark(&$0) }
    }
  }

  /// Shows that a cell of an input is selected.
  private func mark(_ style: inout CellStyle) {
    let (fill, text) = (rgb("color.selected"), rgb("color.text"))
    guard let fill, let text else {
      style.attributes.formSymmetricDifference(.reverse)
      return
    }
    style.background = .rgb(fill.0, fill.1, fill.2)
    style.foreground = .rgb(text.0, text.1, text.2)
  }

  /// The selected cells of the focused input, in the pane's content.
  private func selectedCells(of id: WidgetID) -> [LayoutRect] {
    guard let input = focusedInput, input.widget == id, let draft = focusedDraft,
      !draft.selection.isEmpty,
      let placed = panes[id]?.layout.placed.first(where: { $0.id == input.node }),
      let field = placed.parts.first(where: { $0.kind == .field })?.frame
    else { return [] }
    // The dots of a secret do not tell its length: all of them are selected.
    if panes[id]?.node(input.node)?.text("mode") == "secret" {
      return placed.texts.filter { $0.role == .value }.map { $0.frame.intersection(placed.clip) }
    }
    return draft.selectedColumns.map { row, columns in
      LayoutRect(
        x: field.x + 1 + columns.lowerBound, y: field.y + row, width: columns.count, height: 1
      ).intersection(placed.clip)
    }
  }

  // MARK: - What is wrong

  /// The most rows of a pane for the widget's error, and for why it is stale. The details have all of
  /// it.
  private static let errorRowsMax = 3
  private static let staleRowsMax = 2

  /// The rows above the content: the widget's error, and why the widget is stale, with their ages.
  ///
  /// - Parameter width: The width of the pane.
  func troubleLines(of id: WidgetID, width: Int) -> [(text: String, token: String)] {
    guard let widget = panes[id]?.widget,
      widget.error != nil || widget.isStale || unregisteredIDs.contains(id)
    else { return [] }
    let dates = DateText(now: options.now())
    let room = max(1, width - 2 * LiveBoard.border - 2)
    var lines: [(text: String, token: String)] = []
    if let problem = widget.kindProblem(dates) {
      lines += LiveBoard.lines("! " + problem, end: "", room, most: LiveBoard.errorRowsMax)
        .map { ($0, "color.error") }
    }
    if let error = widget.error {
      let age = error.since.map { " (for \(dates.age(of: $0)))" } ?? ""
      lines += LiveBoard.lines("! " + error.words, end: age, room, most: LiveBoard.errorRowsMax)
        .map { ($0, "color.error") }
    }
    if widget.isStale {
      let staleness = facts(about: widget)
      if !widget.repeatsError(staleness) {
        lines += LiveBoard.lines(
          "↻ " + staleness.words(dates), end: "", room, most: LiveBoard.staleRowsMax
        ).map { ($0, "color.warning") }
      }
    }
    return lines
  }

  /// Wraps a text. If it needs more lines than `most`, its last line is cut, and still has the end.
  private static func lines(_ text: String, end: String, _ room: Int, most: Int) -> [String] {
    let all = TextColumns.wrapped(text + end, to: room, most: most + 1)
    guard all.count > most else { return all.map { TextColumns.truncated($0, to: room) } }
    var lines = TextColumns.wrapped(text, to: room, most: most)
    let last = lines.removeLast()
    let left = room - TextColumns.width(of: end)
    guard left > 1 else { return lines + [TextColumns.truncated(last, to: room)] }
    let cut = TextColumns.width(of: last) < left ? last : TextColumns.truncated(last, to: left)
    return lines + [cut + end]
  }

  private func drawTitle(
    _ title: String, _ marks: [(String, String)], _ hasFocus: Bool, row: Int,
    in grid: inout CellGrid
  ) {
    let room = grid.width - 4
    guard room > 2 else { return }
    var column = 2
    let title = TextColumns.truncated(" \(title) ", to: room)
    var titleStyle = style(hasFocus ? "color.focus" : "color.text")
    titleStyle.attributes.insert(.bold)
    grid.put(title, column: column, row: row, style: titleStyle)
    column += TextColumns.width(of: title)
    for (mark, token) in marks {
      let left = grid.width - 2 - column
      guard left > 3 else { return }
      let text = TextColumns.truncated("\(mark) ", to: left)
      grid.put(text, column: column, row: row, style: style(token))
      column += TextColumns.width(of: text)
    }
  }

  /// The marks in a widget's title, such as `stale`, each with the token of its colour.
  private func marks(of widget: Widget) -> [(String, String)] {
    var marks: [(String, String)] = []
    if widget.error != nil { marks.append(("failed", "color.error")) }
    if unregisteredIDs.contains(widget.id) { marks.append(("unregistered", "color.error")) }
    if widget.isStale || !mirror.isConnected { marks.append(("stale", "color.warning")) }
    if !widget.presence.isEnabled { marks.append(("disabled", "color.secondary")) }
    if !widget.presence.isVisible { marks.append(("hidden", "color.secondary")) }
    return marks
  }

  private func drawNothing(in grid: inout CellGrid) {
    let words =
      if !mirror.isSynced {
        trouble ?? "waiting for the daemon…"
      } else if let filter, !filter.text.isEmpty {
        "no id or kind contains \"\(filter.text)\"; Esc shows all"
      } else {
        nothing
      }
    let text = TextColumns.truncated(words, to: size.columns)
    grid.put(
      text, column: max(0, (size.columns - TextColumns.width(of: text)) / 2), row: pageRows / 2,
      style: style("color.secondary"))
  }

  /// The message on a board without widgets.
  private var nothing: String {
    let missing = options.ids.filter { mirror[$0] == nil }
    if let first = missing.first {
      return missing.count == 1
        ? "there is no widget \"\(first)\" yet"
        : "there are no widgets of these \(missing.count) ids"
    }
    return options.isSelection
      ? "no visible widget matches the selection"
      : "no visible widgets; `widgetctl add KIND` creates one"
  }

  // MARK: - Status

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

  private func drawStatus(in grid: inout CellGrid) {
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
      mirror.isConnected ? "●" : "○", mirror.isConnected ? "color.success" : "color.error")
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
  private func drawNotice(in grid: inout CellGrid) {
    let lines = noticeLines.dropLast()
    let top = size.rows - 1 - lines.count
    grid.fill(
      LayoutRect(x: 0, y: top, width: size.columns, height: lines.count),
      style: CellStyle(background: look.ownBackground))
    for (index, line) in lines.enumerated() {
      if index == 0 {
        grid.put(
          mirror.isConnected ? "●" : "○", column: 0, row: top,
          style: style(mirror.isConnected ? "color.success" : "color.error"))
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
    let stale = mirror.isConnected ? staleIDs.count { frames[$0] != nil } : order.count
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

  // MARK: - Overlays

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

  private func details(of id: WidgetID) -> [LiveDetails.Line] {
    guard let pane = panes[id] else { return [LiveDetails.Line(text: "no such widget any more")] }
    let facts = facts(about: pane.widget)
    var details = LiveDetails(
      widget: pane.widget, nodes: pane.table, kind: facts.kind, bundle: facts.bundle,
      host: facts.host, dates: DateText(now: options.now()))
    details.isConnected = mirror.isConnected
    details.theme = look.theme
    details.isPrivate = look.isPrivate
    return details.lines
  }

  /// The lines as rows of an overlay.
  private func wrapped(_ lines: [LiveDetails.Line]) -> [LiveDetails.Line] {
    lines.flatMap { line in
      TextColumns.wrapped(line.text, to: size.columns - 4, most: LiveDetails.rowsPerLineMax).map {
        LiveDetails.Line(text: $0, token: line.token, isHeading: line.isHeading)
      }
    }
  }

  /// How many of an overlay's lines fit.
  private func overlayRows(of lines: [LiveDetails.Line]) -> Int {
    min(lines.count, max(1, pageRows - 4))
  }

  /// The first line of the overlay's last page.
  var lastOverlayLine: Int {
    let lines = overlayLines
    return lines.count - overlayRows(of: lines)
  }

  private func draw(
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

  // MARK: - Cursor and colours

  /// The position of the text cursor in the filter or the focused input. Nil if it is not in view.
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
    let draft = pane.draft(focus.node)
    var place = draft.place
    // The dots of a secret do not tell its length.
    if pane.node(focus.node)?.text("mode") == "secret" {
      let dots = placed.texts.first { $0.role == .value }
      place.column = dots.map { TextColumns.width(of: $0.text) } ?? 0
    }
    let column = origin.x + field.frame.x + 1 + min(place.column, max(0, field.frame.width - 3))
    let line = field.frame.y + min(place.row, max(0, field.frame.height - 1))
    guard (placed.clip.y..<placed.clip.endY).contains(line) else { return nil }
    let row = origin.y + line - top
    guard (0..<pageRows).contains(row), (0..<size.columns).contains(column) else { return nil }
    return ScreenUpdate.Cursor(column: column, row: row)
  }

  /// The style for text in a colour token. Without colours: bold, dim or plain.
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
