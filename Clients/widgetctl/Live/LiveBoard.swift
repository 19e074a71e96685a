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
    /// Ask the daemon for a kind: `describe` takes the answer.
    case describe(KindName)
    /// Give a text to the terminal's clipboard.
    case copy(String)
    /// Write the arrangement as it is; a file that is there only with `replaces`.
    case save(String, replaces: Bool)
    case suspend
    case quit
  }

  /// What lies over the widgets.
  enum Overlay: Hashable {
    case help
    /// A widget's fields, scrolled by some lines.
    case details(WidgetID, Int)
    /// Whether this text may replace the file of the arrangement.
    case replacing(String)
  }

  private(set) var options: LiveOptions
  var size: TerminalSize
  var look: CellLook {
    didSet { lookVersion += 1 }
  }
  /// Changes with the look: what was painted before it is out of date.
  private(set) var lookVersion = 0
  /// Which picture of a spinner is shown.
  private(set) var spinnerTick = 0
  /// The widgets, as the watch for all of them brings them.
  private(set) var mirror = WidgetMirror()
  /// The widgets with the content for another family, by the place of their watch in `feeds`.
  private var feedMirrors: [Int: WidgetMirror] = [:]
  var panes: [WidgetID: LivePane] = [:]
  // What is true of few panes is kept beside them: looking through all of them for each picture costs
  // more than most pictures.
  /// Panes in which the user has typed or switched something.
  var edited: Set<WidgetID> = []
  /// Panes that hold pictures.
  var withImages: Set<WidgetID> = []
  private(set) var staleIDs: Set<WidgetID> = []
  private(set) var failedIDs: Set<WidgetID> = []
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
  var pageHeight = 0
  /// What the arrangement says of the widgets that it places.
  var entries: [WidgetID: LiveArrangement.Entry] = [:]
  /// Widgets that the arrangement names and that do not exist, in their order.
  var awaited: [WidgetID] = []
  /// The last event of each picture that has events.
  var toldPictures: [LiveFocus: LiveEvent] = [:]
  /// The pictures of image nodes.
  var pictures = LivePictures() {
    didSet { if usesPictures { lookVersion += 1 } }
  }
  /// Whether there ever was an image node on the board.
  private var usesPictures: Bool { !pictures.states.isEmpty }
  /// The kinds that the daemon has described.
  private(set) var kinds: [KindName: RegisteredKind] = [:]
  /// What the pointer is over.
  var hover: LiveFocus?
  /// What is marked with the mouse.
  var selection: LiveSelection?
  /// Whether the button is still held that marks it.
  var isSelecting = false
  /// Tables that were asked for more rows, with the number of rows that they had.
  var asked: [LiveFocus: Int] = [:]
  /// Whether widgets came or went since the last picture.
  var hasComings = false
  /// Whether the terminal takes its time: then nothing moves.
  var isLinkSlow = false
  /// What was painted last, so that only what changed is painted again.
  var canvas = LiveCanvas()
  /// Whether something lay over the panes in the last picture.
  var wasCovered = true
  /// What the status line says until the next key.
  var notice = ""
  private(set) var trouble: String?
  private var pieces: [Int?: [WidgetChange]] = [:]
  /// How many panes there were so far: tells a pane from an earlier one of the same widget.
  private var paneCount = 0

  init(options: LiveOptions, size: TerminalSize, look: CellLook) {
    (self.options, self.size, self.look) = (options, size, look)
  }

  // MARK: - What the daemon says

  /// Takes the next frame of a watch.
  ///
  /// - Parameter feed: Which of `feeds` it is from; nil for the watch that brings all widgets.
  mutating func take(
    _ frame: WatchFrame, from feed: Int? = nil
  ) throws(WidgetMirror.Inconsistency) {
    switch frame {
    case .theme(let state): setTheme(state.theme)
    case .disconnected(let error) where feed == nil: trouble = LiveBoard.words(for: error)
    case .opened:
      if feed == nil { trouble = nil }
      // What is unfinished comes again.
      pieces[feed] = nil
    default: break
    }
    let difference =
      if let feed { try feedMirrors[feed, default: WidgetMirror()].apply(frame) } else {
        try mirror.apply(frame)
      }
    if case .changes(let set) = frame {
      pieces[feed, default: []] += set.changes
      guard !set.more else { return }
    }
    let isSynced = feed.map { feedMirrors[$0]?.isSynced == true } ?? mirror.isSynced
    guard let difference, isSynced else { return }
    if case .changes = frame, !difference.added.isEmpty || !difference.removed.isEmpty {
      hasComings = true
    }
    // A widget that comes several times is taken as it is now: a single change is not all of it.
    var (updates, named) = ([WidgetID: WidgetUpdate](), Set<WidgetID>())
    for change in pieces[feed] ?? [] {
      guard named.insert(change.id).inserted, case .updated(let update) = change else {
        updates[change.id] = nil
        continue
      }
      updates[update.id] = update
    }
    pieces[feed] = nil
    var keepsPlaces =
      difference.added.isEmpty && difference.removed.isEmpty && !difference.isReordered
    if case .synced = frame { keepsPlaces = false }
    for widget in difference.removed {
      if feed == nil { forget(widget.id) } else { refill(widget.id, nil) }
    }
    for id in difference.added + difference.updated where self.feed(of: id) == feed {
      let before = panes[id]?.widget
      refill(id, updates[id])
      if keepsPlaces { keepsPlaces = keepsPlace(id, before) }
    }
    // A widget that is new may have a place with another family, whose watch has brought it already.
    for id in difference.added where panes[id] == nil { refill(id, nil) }
    let isSettling = settle()
    // Most changes leave every pane where it is.
    if isSettling || !keepsPlaces { arrange() }
  }

  /// Whether a widget that changed needs the room that it has, and no other widget's place depends on
  /// it. Lays it out.
  private mutating func keepsPlace(_ id: WidgetID, _ before: Widget?) -> Bool {
    guard let before, let after = panes[id]?.widget, before.presence == after.presence,
      before.labels == after.labels, before.family == after.family,
      (before.error == nil) == (after.error == nil), before.isStandingWell == after.isStandingWell
    else { return false }
    guard let frame = frames[id] else { return true }
    guard paneHeight(id, width: frame.width) == frame.height else { return false }
    if let focus, focus.widget == id, target(focus) == nil { self.focus = nil }
    return true
  }

  /// Which watch brings what a widget shows here; the one for all until another one has it.
  private func feed(of id: WidgetID) -> Int? {
    guard let widget = mirror[id], let arrangement = options.arrangement,
      let entry = arrangement.entry(of: widget), let family = entry.family
    else { return nil }
    let feed = options.feeds.firstIndex {
      $0.family == family
        && (entry.id == nil ? $0.selector == entry.selector : $0.selector.ids.contains(id))
    }
    return feed.flatMap { feedMirrors[$0]?[id] == nil ? nil : $0 }
  }

  /// Lets the daemon's word take the place of what the user typed and switched. Returns whether there is
  /// something of that.
  @discardableResult
  mutating func settle() -> Bool {
    guard !edited.isEmpty else { return false }
    let now = options.now()
    for id in edited {
      // The revision that the pane's widget is of.
      let revision = feed(of: id).flatMap { feedMirrors[$0]?.revision } ?? mirror.revision
      let words = panes[id]?.settle(revision: revision, now: now) ?? ""
      if !words.isEmpty { notice = words }
      if panes[id]?.isEdited != true { edited.remove(id) }
    }
    return true
  }

  private mutating func forget(_ id: WidgetID) {
    panes[id] = nil
    edited.remove(id)
    withImages.remove(id)
    staleIDs.remove(id)
    failedIDs.remove(id)
  }

  /// Gives a pane its widget as it is now. `update` is what changed, if that is known.
  private mutating func refill(_ id: WidgetID, _ update: WidgetUpdate?) {
    guard let own = mirror[id] else { return }
    let widget = feed(of: id).flatMap { feedMirrors[$0]?[id] } ?? own
    if widget.isStale { staleIDs.insert(id) } else { staleIDs.remove(id) }
    if widget.error != nil { failedIDs.insert(id) } else { failedIDs.remove(id) }
    guard panes[id] != nil else {
      paneCount += 1
      panes[id] = LivePane(widget, metrics: options.metrics, number: paneCount)
      return
    }
    panes[id]?.take(
      widget, change: update?.content,
      isContentSame: update.map { $0.content == nil && $0.family == nil } ?? false)
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

  /// Takes what the daemon says of a kind.
  mutating func describe(_ kind: RegisteredKind) { kinds[kind.kind.name] = kind }

  // MARK: - Time

  /// Nodes that follow the time say something else now.
  mutating func timeHasPassed(turningSpinners turns: Bool) {
    if turns { spinnerTick += 1 }
    for id in order { panes[id]?.timeHasPassed() }
    settle()
    arrange()
  }

  /// How long until something that is seen changes by itself; nil for never.
  var quiet: Duration? {
    let now = options.now()
    let seen = order.filter { id in
      frames[id].map { $0.y < top + pageRows && $0.endY > top } ?? false
    }
    if options.animates, seen.contains(where: { panes[$0]?.isSpinning == true }) {
      return .milliseconds(250)
    }
    let dates = DateText(now: now)
    let decisions = edited.compactMap { panes[$0]?.nextDecision(after: now) }
      .map { max($0.duration(since: now), .milliseconds(10)) }
    return (decisions + seen.compactMap { panes[$0]?.nextChange(dates) }).min()
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
    if let former = focusedInput, former != focus { panes[former.widget]?.leave(former.node) }
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
  /// Files to upload first: paths, by the name of the value that becomes the blob's id.
  var files: [String: String] = [:]
}

/// What is shown, and how.
struct LiveOptions: Sendable {
  /// Only these; empty for all that are visible.
  var ids: [WidgetID] = []
  /// Whether the watch selects some of the widgets.
  var isSelection = false
  /// Whether the widgets that say how a host and its bundles stand are left out while all is well.
  var leavesOutStanding = false
  var metrics: LayoutMetrics
  /// Where widgets go; nil if they flow.
  var arrangement: LiveArrangement?
  /// Where the arrangement is written; nil if there is no place.
  var arrangementFile: ArrangementFile?
  /// Whether spinners turn.
  var animates = true
  /// Whether text that changed fades, and panes slide.
  var moves = false
  /// Whether the terminal's background chooses between light and dark.
  var followsBackground = true
  /// The watches that the arrangement's families take.
  var feeds: [LiveArrangement.Feed] { arrangement?.feeds ?? [] }
  /// The time now.
  var now: @Sendable () -> Timestamp = { Terminal.now }
}

extension WidgetChange {
  fileprivate var id: WidgetID {
    switch self {
    case .added(let widget, _): widget.id
    case .updated(let update): update.id
    case .removed(let id, _): id
    }
  }
}
