import WidgetBar
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
    // dirty while an overlay is shown, and once more after it closes.
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
      isStale: pane?.widget.isStale == true || !mirror.isCurrent,
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
    look.isStale = pane.widget.isStale || !mirror.isCurrent
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
  func mark(_ style: inout CellStyle) {
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
    // The dots of a secret do not reveal its length: all of them are selected.
    if panes[id]?.node(input.node)?.text("mode") == "secret" {
      return placed.texts.filter { $0.role == .value }.map { $0.frame.intersection(placed.clip) }
    }
    return draft.selectedColumns.map { row, columns in
      LayoutRect(
        x: field.x + 1 + columns.lowerBound, y: field.y + row, width: columns.count, height: 1
      ).intersection(placed.clip)
    }
  }

  // MARK: - Problems

  /// The maximum number of rows of a pane for the widget's error, and for the reason of its
  /// staleness. The details have the whole text.
  private static let errorRowsMax = 3
  private static let staleRowsMax = 2
  /// The same for the failures of its nodes.
  private static let contentRowsMax = 2

  /// The rows above the content: the widget's error, and why the widget is stale, with their ages.
  ///
  /// - Parameter width: The width of the pane.
  func troubleLines(of id: WidgetID, width: Int) -> [(text: String, token: String)] {
    guard let widget = panes[id]?.widget,
      failedIDs.contains(id) || widget.isStale || unregisteredIDs.contains(id)
        || withImages.contains(id)
    else { return [] }
    let dates = DateText(now: options.now())
    let room = max(1, width - 2 * LiveBoard.border - 2)
    var lines: [(text: String, token: String)] = []
    if let problem = widget.kindProblem(dates) {
      lines += LiveBoard.lines("! " + problem, end: "", room, most: LiveBoard.errorRowsMax)
        .map { ($0, "color.error") }
    }
    let kept = widget.keepingPromises(at: dates.now, facts(about: widget))
    for failure in kept.untoldFailures {
      let words = if case .error(let error) = failure { error.words } else { failure.reason }
      let age = failure.since.map { " (for \(dates.age(of: $0)))" } ?? ""
      lines += LiveBoard.lines("! " + words, end: age, room, most: LiveBoard.errorRowsMax)
        .map { ($0, "color.error") }
    }
    // The nodes have marks. The first reason is shown here, and all reasons are in the details.
    let failures = widget.content?.failures ?? []
    if let first = failures.first {
      let age = first.since.map { " (for \(dates.age(of: $0)))" } ?? ""
      let more = failures.count > 1 ? " (and \(failures.count - 1) more)" : ""
      lines += LiveBoard.lines(
        "! " + first.reason, end: age + more, room, most: LiveBoard.contentRowsMax
      ).map { ($0, "color.error") }
    }
    for words in pictureTroubles(of: id) {
      lines += LiveBoard.lines("! " + words, end: "", room, most: LiveBoard.errorRowsMax)
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

  /// Wraps a text. If the text needs more lines than `most`, a reason after `!` loses the words
  /// before its cause. If that is not enough, the text is cut at the last line, which still ends
  /// with `end`.
  private static func lines(_ text: String, end: String, _ room: Int, most: Int) -> [String] {
    let all = TextColumns.wrapped(text + end, to: room, most: most + 1)
    guard all.count > most else { return all.map { TextColumns.truncated($0, to: room) } }
    let (mark, words) = (String(text.prefix(2)), String(text.dropFirst(2)))
    var columns = room * most - TextColumns.width(of: mark + end)
    while mark == "! ", columns >= room {
      let reason = ReasonText.shortened(words, to: columns)
      // If the whole cause does not fit, the beginning is more useful.
      guard !reason.hasSuffix(TextColumns.ellipsis) else { break }
      let short = mark + reason + end
      let lines = TextColumns.wrapped(short, to: room, most: most + 1)
      if lines.count <= most { return lines.map { TextColumns.truncated($0, to: room) } }
      columns -= 4
    }
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
    if widget.hasFailed { marks.append(("failed", "color.error")) }
    if unregisteredIDs.contains(widget.id) { marks.append(("unregistered", "color.error")) }
    if widget.isStale || !mirror.isCurrent { marks.append(("stale", "color.warning")) }
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
    if let words = wordsForMissing { return words }
    return options.isSelection
      ? "no visible widget matches the selection"
      : "no visible widgets; `widgetctl add KIND` creates one"
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
    // The dots of a secret do not reveal its length.
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
  func style(_ token: String) -> CellStyle {
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
