import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetTerminal

/// Layout of the panes on the page.
extension LiveBoard {
  /// The minimum width of a column that widgets flow into, without the gap.
  private static let columnWidthMin = 38
  /// The minimum width of a column of an arrangement. With less room, columns become rows.
  static let arrangedWidthMin = 18
  static let gap = 1
  /// The border of a pane, on each side.
  static let border = 1
  /// The height of the placeholder for a widget that does not exist yet, in rows.
  static let awaitedRows = 3

  /// The height of the viewport: all rows but the status line.
  var pageRows: Int { max(1, size.rows - 1) }

  /// The widgets that are selected, visible and not filtered out.
  private var shownIDs: [WidgetID] {
    let words = filter?.text.lowercased() ?? ""
    let ids = options.ids.isEmpty ? mirror.ids : options.ids.filter { mirror[$0] != nil }
    let named = Set(options.arrangement?.entries.compactMap(\.id) ?? [])
    return ids.filter { id in
      guard let widget = mirror[id] else { return false }
      guard !options.ids.isEmpty || widget.presence.isVisible else { return false }
      // A filter finds them only by the beginning of their ids: `/bundle`.
      let isSought = !words.isEmpty && id.rawValue.lowercased().hasPrefix(words)
      if options.leavesOutStanding, !isSought, widget.isStandingWell, !named.contains(id) {
        return false
      }
      return words.isEmpty || id.rawValue.lowercased().contains(words)
        || widget.kind.rawValue.lowercased().contains(words)
    }
  }

  /// Lays out all panes: the arrangement first, then the other widgets in columns below it.
  mutating func arrange() {
    let shown = shownIDs
    frames = [:]
    (order, awaited, entries) = ([], [], [:])
    pageHeight = 0
    var rest = shown
    if let arrangement = options.arrangement {
      let isFiltered = !(filter?.text ?? "").isEmpty
      let resolved = arrangement.resolved(shown.compactMap { mirror[$0] }) { id in
        mirror[id] == nil && mirror.isSynced && !isFiltered
      }
      entries = resolved.entries
      if let place = resolved.place {
        pageHeight = layOut(place, x: 0, y: 0, width: size.columns)
      }
      rest = arrangement.showsRest ? shown.filter { entries[$0] == nil } : []
    }
    flow(rest)
    top = min(max(0, top), max(0, pageHeight - pageRows))
    leaveLostFocus()
  }

  // MARK: - As arranged

  /// Sets the frames of the widgets in a place. Returns the height in rows.
  private mutating func layOut(
    _ place: LiveArrangement.Place, x: Int, y: Int, width: Int
  ) -> Int {
    switch place {
    case .widget(let id):
      let height: Int
      if mirror[id] == nil {
        awaited.append(id)
        height = LiveBoard.awaitedRows
      } else {
        order.append(id)
        height = paneHeight(id, width: width)
      }
      frames[id] = LayoutRect(x: x, y: y, width: width, height: height)
      return height
    case .rows(let places):
      var height = 0
      for place in places { height += layOut(place, x: x, y: y + height, width: width) }
      return height
    case .columns(let columns):
      guard
        let widths = LiveArrangement.widths(
          columns.map(\.width), in: width, gap: LiveBoard.gap, least: LiveBoard.arrangedWidthMin)
      else { return layOut(.rows(columns.map(\.place)), x: x, y: y, width: width) }
      var (height, left) = (0, x)
      for (column, width) in zip(columns, widths) {
        height = max(height, layOut(column.place, x: left, y: y, width: width))
        left += width + LiveBoard.gap
      }
      return height
    }
  }

  /// Lays out a pane for a width. Returns its height in rows, with border and problems.
  mutating func paneHeight(_ id: WidgetID, width: Int) -> Int {
    panes[id]?.layOut(width: max(1, width - 2 * LiveBoard.border))
    if panes[id]?.hasImages == true { withImages.insert(id) } else { withImages.remove(id) }
    return (panes[id]?.layout.size.height ?? 0) + troubleLines(of: id, width: width).count + 2
  }

  // MARK: - In columns

  /// Places widgets in columns below the arrangement: in order, each into the shortest column.
  ///
  /// A widget keeps its column when heights change. Columns are assigned again if the widgets, their
  /// spans or the width of the page have changed.
  private mutating func flow(_ ids: [WidgetID]) {
    guard !ids.isEmpty else { return }
    let room = max(1, (size.columns + LiveBoard.gap) / (LiveBoard.columnWidthMin + LiveBoard.gap))
    let spans = ids.map { LiveBoard.span(panes[$0]?.widget.family ?? .medium, of: room) }
    let count = max(1, min(room, spans.reduce(0, +)))
    let width = (size.columns - LiveBoard.gap * (count - 1)) / count
    var flow = LiveFlow(ids: ids, spans: spans, width: size.columns)
    let kept = self.flow.hasSamePlaces(as: flow) ? self.flow : nil
    var heights = Array(repeating: pageHeight, count: count)
    // The wide panes since all columns ended together.
    var wide: [Range<Int>] = []
    for (index, id) in ids.enumerated() {
      let span = min(spans[index], count)
      var column = kept?.columns[index] ?? LiveFlow.column(for: span, in: heights)
      let next = column..<column + span
      let isBand =
        kept.map { $0.bands.contains(index) }
        ?? (span > 1 && wide.contains { $0 != next && $0.overlaps(next) })
      if isBand {
        // Wide panes that overlap in part are no boxes of columns and rows. So this one begins below
        // all others.
        heights = Array(repeating: heights.max() ?? 0, count: count)
        (wide, column) = ([], 0)
        flow.bands.insert(index)
      }
      flow.columns.append(column)
      let taken = column..<column + span
      if span == count { wide = [] } else if span > 1 { wide.append(taken) }
      let y = heights[taken].reduce(0, max)
      let x = column * (width + LiveBoard.gap)
      let paneWidth =
        taken.upperBound == count ? size.columns - x : width * span + LiveBoard.gap * (span - 1)
      let height = paneHeight(id, width: paneWidth)
      frames[id] = LayoutRect(x: x, y: y, width: paneWidth, height: height)
      for index in taken { heights[index] = y + height }
    }
    self.flow = flow
    order += ids
    pageHeight = heights.max() ?? 0
  }

  /// How many of `count` columns a widget of this family spans.
  private static func span(_ family: Family, of count: Int) -> Int {
    switch family {
    case .small, .medium, .inline, .circular, .rectangular: 1
    case .large: min(2, count)
    case .extraLarge: count
    }
  }

  /// The origin of a pane's content on the page, inside the border and below the lines of problems.
  func origin(of id: WidgetID) -> (x: Int, y: Int) {
    let frame = frames[id] ?? LayoutRect(x: 0, y: 0, width: 0, height: 0)
    let rows = troubleLines(of: id, width: frame.width).count
    return (frame.x + LiveBoard.border, frame.y + LiveBoard.border + rows)
  }

  /// Lays out again for a new terminal size.
  mutating func resize(_ size: TerminalSize) {
    self.size = size
    arrange()
  }

  /// The arrangement that reproduces the current frames, with each widget by id. Nil if no widget
  /// is shown.
  var presentArrangement: LiveArrangement? {
    let all = (order + awaited).compactMap { id in
      frames[id].map { frame in
        (
          id: id,
          frame: LiveArrangement.LayoutFrame(
            columns: frame.x..<frame.x + frame.width, rows: frame.y..<frame.y + frame.height)
        )
      }
    }
    let box = LiveArrangement.box(
      around: all, in: 0..<size.columns, gap: LiveBoard.gap, least: LiveBoard.arrangedWidthMin
    ) { id in
      LiveArrangement.Entry(id: id, title: entries[id]?.title, family: entries[id]?.family)
    }
    return box.map {
      LiveArrangement(root: $0, showsRest: options.arrangement?.showsRest ?? true)
    }
  }

  /// Reports the outcome of writing the arrangement, or asks before replacing a file.
  mutating func saved(_ text: String, _ outcome: ArrangementFile.Outcome, path: String) {
    switch outcome {
    case .written: notice = "wrote the arrangement to \(path)"
    case .exists(let version): overlay = .replacing(text, version)
    case .failed(let reason): notice = "cannot write \(path): \(reason)"
    }
  }
}

/// The columns of the widgets that flow.
struct LiveFlow: Hashable {
  let ids: [WidgetID]
  /// How many columns each widget takes.
  let spans: [Int]
  /// The width of the page.
  let width: Int
  /// The first column of each widget.
  var columns: [Int] = []
  /// The widgets that begin below all widgets before them.
  var bands: Set<Int> = []

  func hasSamePlaces(as other: LiveFlow) -> Bool {
    ids == other.ids && spans == other.spans && width == other.width
  }

  /// The topmost place for a pane. If there are several, the leftmost one.
  static func column(for span: Int, in heights: [Int]) -> Int {
    let tops = (0...(heights.count - span)).map { first in
      (column: first, y: heights[first..<(first + span)].reduce(0, max))
    }
    return tops.min { ($0.y, $0.column) < ($1.y, $1.column) }?.column ?? 0
  }
}

extension Widget {
  /// Whether this is the status widget of a host or bundle that runs without errors.
  var isStandingWell: Bool {
    guard error == nil, case .string(let state)? = data["state"] else { return false }
    switch kind.rawValue {
    // If the host is away, its own widget reports this for all bundles.
    case "bundle":
      return OwnerName.bundle(id.rawValue) != nil && (state == "running" || state == "stopped")
    case "widgetd-host": return state == "running" && !isStale
    default: return false
    }
  }
}
