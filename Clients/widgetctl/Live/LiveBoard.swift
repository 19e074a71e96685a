import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetRender
import WidgetTerminal

/// What a dashboard shows and how it answers its user: a value, which takes frames and keys and says
/// what to send and what to draw.
struct LiveBoard {
  /// What is to be done outside.
  enum Effect: Hashable {
    /// Send an event. `key` names it if a later one of the same key replaces it while it waits.
    case send(LiveEvent, after: Duration?)
    case refresh(WidgetID)
    case suspend
    case quit
  }

  /// What lies over the widgets.
  enum Overlay: Hashable {
    case help
    /// A widget's fields, scrolled by some lines.
    case details(WidgetID, Int)
  }

  private(set) var options: LiveOptions
  var size: TerminalSize
  var look: CellLook
  private(set) var mirror = WidgetMirror()
  var panes: [WidgetID: LivePane] = [:]
  /// The widgets on the board, in their order.
  var order: [WidgetID] = []
  var focus: LiveFocus?
  var overlay: Overlay?
  /// What is typed behind `/`; nil if nobody filters.
  var filter: LiveDraft?
  var isFiltering = false
  /// The first row of the page that is seen.
  var top = 0
  /// Where panes are on the page.
  var frames: [WidgetID: LayoutRect] = [:]
  private(set) var pageHeight = 0
  /// What the status line says until the next key.
  var notice = ""
  private(set) var trouble: String?
  private var pieces: [WidgetChange] = []

  init(options: LiveOptions, size: TerminalSize, look: CellLook) {
    (self.options, self.size, self.look) = (options, size, look)
  }

  // MARK: - What the daemon says

  /// Takes the next frame of the watch.
  mutating func take(_ frame: WatchFrame) throws(WidgetMirror.Inconsistency) {
    switch frame {
    case .theme(let state): setTheme(state.theme)
    case .disconnected(let error): trouble = LiveBoard.words(for: error)
    case .opened:
      trouble = nil
      // What is unfinished comes again.
      pieces = []
    default: break
    }
    let difference = try mirror.apply(frame)
    if case .changes(let set) = frame {
      pieces += set.changes
      guard !set.more else { return }
    }
    guard let difference, mirror.isSynced else { return }
    var updates: [WidgetID: WidgetUpdate] = [:]
    for case .updated(let update) in pieces { updates[update.id] = update }
    pieces = []
    for widget in difference.removed { panes[widget.id] = nil }
    for id in difference.added + difference.updated {
      guard let widget = mirror[id] else { continue }
      guard panes[id] != nil else {
        panes[id] = LivePane(widget, metrics: options.metrics)
        continue
      }
      let update = updates[id]
      panes[id]?.take(
        widget, change: update?.content,
        isContentSame: update.map { $0.content == nil && $0.family == nil } ?? false)
    }
    arrange()
  }

  /// Lengths and colours are those of another theme now.
  private mutating func setTheme(_ theme: Theme) {
    guard theme != look.theme else { return }
    look.theme = theme
    options.metrics.theme = theme
    for id in panes.keys { panes[id]?.setMetrics(options.metrics) }
    if mirror.isSynced { arrange() }
  }

  private static func words(for error: ClientError) -> String {
    switch error {
    case .unavailable, .socketNotFound: "the daemon is not there; trying again"
    default: "the connection is lost; trying again"
    }
  }

  /// The widgets that are selected, visible and not filtered out.
  private var shownIDs: [WidgetID] {
    let words = filter?.text.lowercased() ?? ""
    let ids = options.ids.isEmpty ? mirror.ids : options.ids.filter { mirror[$0] != nil }
    return ids.filter { id in
      guard let widget = mirror[id] else { return false }
      guard !options.ids.isEmpty || widget.presence.isVisible else { return false }
      if options.leavesOutStanding, words.isEmpty, widget.isStandingWell { return false }
      return words.isEmpty || id.rawValue.lowercased().contains(words)
        || widget.kind.rawValue.lowercased().contains(words)
    }
  }

  // MARK: - Arranging

  /// The width of a column, without the gap to the next.
  private static let columnWidthMin = 38
  private static let gap = 1
  /// The border of a pane, on each side.
  static let border = 1

  /// The rows that widgets have.
  var pageRows: Int { max(1, size.rows - 1) }

  /// Lays all panes out and lets them flow into columns: each into the shortest one, in order.
  mutating func arrange() {
    order = shownIDs
    let room = max(1, (size.columns + LiveBoard.gap) / (LiveBoard.columnWidthMin + LiveBoard.gap))
    let spans = order.map { LiveBoard.span(panes[$0]?.widget.family ?? .medium, of: room) }
    let count = max(1, min(room, spans.reduce(0, +)))
    let width = (size.columns - LiveBoard.gap * (count - 1)) / count
    var heights = Array(repeating: 0, count: count)
    frames = [:]
    for (id, wanted) in zip(order, spans) {
      let span = min(wanted, count)
      let isLast = { (column: Int) in column + span == count }
      let tops = (0...(count - span)).map { first in
        (column: first, y: heights[first..<(first + span)].reduce(0, max))
      }
      // The leftmost of the highest places.
      let (column, y) = tops.min { ($0.y, $0.column) < ($1.y, $1.column) } ?? (0, 0)
      let x = column * (width + LiveBoard.gap)
      let paneWidth = isLast(column) ? size.columns - x : width * span + LiveBoard.gap * (span - 1)
      panes[id]?.layOut(width: max(1, paneWidth - 2 * LiveBoard.border))
      let height = (panes[id]?.layout.size.height ?? 0) + troubleRows(of: id) + 2
      frames[id] = LayoutRect(x: x, y: y, width: paneWidth, height: height)
      for index in column..<(column + span) { heights[index] = y + height }
    }
    pageHeight = heights.max() ?? 0
    top = min(max(0, top), max(0, pageHeight - pageRows))
    if let focus, target(focus) == nil { self.focus = nil }
  }

  /// How many of some columns a family takes.
  private static func span(_ family: Family, of count: Int) -> Int {
    switch family {
    case .small, .medium, .inline, .circular, .rectangular: 1
    case .large: min(2, count)
    case .extraLarge: count
    }
  }

  /// The rows over a widget's content that say what is wrong with it.
  func troubleRows(of id: WidgetID) -> Int { panes[id]?.widget.error == nil ? 0 : 1 }

  /// Where a pane's content begins on the page.
  func origin(of id: WidgetID) -> (x: Int, y: Int) {
    let frame = frames[id] ?? LayoutRect(x: 0, y: 0, width: 0, height: 0)
    return (frame.x + LiveBoard.border, frame.y + LiveBoard.border + troubleRows(of: id))
  }

  /// The terminal has another size.
  mutating func resize(_ size: TerminalSize) {
    self.size = size
    arrange()
  }

  // MARK: - Time

  /// Nodes that follow the time say something else now.
  mutating func timeHasPassed(turningSpinners turns: Bool) {
    if turns { look.spinnerTick += 1 }
    for id in order { panes[id]?.timeHasPassed() }
    arrange()
  }

  /// How long until something changes by itself; nil for never.
  var quiet: Duration? {
    let shown = order.compactMap { panes[$0] }
    if options.animates, shown.contains(where: \.isSpinning) { return .milliseconds(250) }
    if shown.contains(where: \.followsTime) { return .seconds(1) }
    return shown.contains { $0.widget.error?.since != nil } ? .seconds(20) : nil
  }

  // MARK: - Focus

  /// Everything that can have the focus, in reading order.
  var targets: [(focus: LiveFocus, target: FocusTarget)] {
    order.flatMap { id in
      (panes[id]?.targets ?? []).map {
        (LiveFocus(widget: id, node: $0.id, kind: $0.kind), $0)
      }
    }
  }

  func target(_ focus: LiveFocus) -> FocusTarget? {
    panes[focus.widget]?.targets.first { $0.id == focus.node && $0.kind == focus.kind }
  }

  /// The frame of a target on the page.
  func pageFrame(_ id: WidgetID, _ frame: LayoutRect) -> LayoutRect {
    let origin = origin(of: id)
    return LayoutRect(
      x: frame.x + origin.x, y: frame.y + origin.y, width: frame.width, height: frame.height)
  }

  /// The input that keys go to; nil if none has the focus.
  var focusedInput: LiveFocus? {
    guard let focus, focus.kind == .control, panes[focus.widget]?.node(focus.node)?.type == .input
    else { return nil }
    return focus
  }

  /// Gives something the focus, and scrolls so that it is seen.
  mutating func setFocus(_ focus: LiveFocus?) {
    self.focus = focus
    guard let focus, let target = target(focus) else { return }
    panes[focus.widget]?.reveal(target)
    arrange()
    guard let target = self.target(focus) else { return }
    let frame = pageFrame(focus.widget, target.frame)
    if frame.y - 1 < top { top = max(0, frame.y - 1) }
    if frame.endY + 1 > top + pageRows { top = frame.endY + 1 - pageRows }
    top = min(max(0, top), max(0, pageHeight - pageRows))
  }
}

/// What has the focus.
struct LiveFocus: Hashable {
  let widget: WidgetID
  let node: String
  let kind: FocusTarget.Kind
}

/// An event that a user causes.
struct LiveEvent: Hashable {
  let widget: WidgetID
  let node: String
  let name: String
  var payload: ValueMap = [:]
}

/// What is shown, and how.
struct LiveOptions: Sendable {
  /// Only these; empty for all that are visible.
  var ids: [WidgetID] = []
  /// Whether the widgets that say how a host and its bundles stand are left out while all is well.
  var leavesOutStanding = false
  var metrics: LayoutMetrics
  var animates = true
  /// Whether the terminal's background chooses between light and dark.
  var followsBackground = true
  /// The time now.
  var now: @Sendable () -> Timestamp = { Terminal.now }
}

extension Widget {
  /// Whether it only says that a host or a bundle runs as it should.
  fileprivate var isStandingWell: Bool {
    ["bundle", "widgetd-host"].contains(kind.rawValue) && data["state"] == .string("running")
      && !isStale && error == nil
  }
}
