import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetRender
import WidgetTerminal
import WidgetTimers

/// The state machine of a dashboard. It takes frames and input, and returns effects and a picture.
///
/// A value without I/O: `LiveSession` carries out the effects.
struct LiveBoard {
  /// A side effect that `LiveSession` carries out.
  enum Effect: Hashable {
    /// Send an event, after a delay if one is given. A later event of the same node replaces one
    /// that waits (debounce).
    case send(LiveEvent, after: Duration?)
    case refresh(WidgetID)
    /// Ask the daemon for a kind. The answer goes to `describe`.
    case describe(KindName)
    /// Copy a text to the terminal's clipboard.
    case copy(String)
    /// Write the arrangement. An existing file is replaced only if it is this version.
    case save(String, replacing: ArrangementFile.Version?)
    case suspend
    case quit
  }

  /// A box over the widgets.
  enum Overlay: Hashable {
    /// The keys, from a line on.
    case help(Int)
    /// The details of a widget, and how many lines they are scrolled.
    case details(WidgetID, Int)
    /// Asks whether this text may replace the file of the arrangement.
    case replacing(String, ArrangementFile.Version)
  }

  private(set) var options: LiveOptions
  var size: TerminalSize
  var look: CellLook {
    didSet { lookVersion += 1 }
  }
  /// Grows with each change of the look, and invalidates all painted panes.
  private(set) var lookVersion = 0
  /// The step of the spinners' animation.
  private(set) var spinnerTick = 0
  /// The widgets of the main watch.
  private(set) var mirror = WidgetMirror()
  /// The widgets of the feeds, by index in `feeds`: with the content for another family.
  private var feedMirrors: [Int: WidgetMirror] = [:]
  var panes: [WidgetID: LivePane] = [:]
  // Sets of the few panes with a trait. To scan all panes at each redraw would cost more than most
  // redraws.
  /// Panes with edits that the daemon has not settled.
  var edited: Set<WidgetID> = []
  /// Panes with image nodes.
  var withImages: Set<WidgetID> = []
  private(set) var staleIDs: Set<WidgetID> = []
  private(set) var failedIDs: Set<WidgetID> = []
  /// Widgets whose kind is not registered.
  private(set) var unregisteredIDs: Set<WidgetID> = []
  /// The widgets on the board, in reading order.
  var order: [WidgetID] = []
  var focus: LiveFocus?
  /// The control that Esc left. The next Tab continues from there, and `i` and `r` still apply to
  /// its widget.
  var leftFocus: LiveFocus?
  /// The last deletion of a row.
  var deletion: Deletion?
  var overlay: Overlay?
  /// The text of the filter, typed after `/`. Nil if no filter is set.
  var filter: LiveDraft?
  var isFiltering = false
  /// The scroll offset of the page: its first row in the viewport.
  var top = 0
  /// The frames of the panes on the page.
  var frames: [WidgetID: LayoutRect] = [:]
  var pageHeight = 0
  /// The columns of the widgets that the arrangement does not place.
  var flow = LiveFlow(ids: [], spans: [], width: 0)
  /// The entry of the arrangement that placed each widget.
  var entries: [WidgetID: LiveArrangement.Entry] = [:]
  /// Widgets that the arrangement names and that do not exist yet, in reading order.
  var awaited: [WidgetID] = []
  /// The last `load` or `error` event of each image node.
  var toldPictures: [LiveFocus: LiveEvent] = [:]
  /// The loaded pictures. A change invalidates painted panes once the board has had an image node.
  var pictures = LivePictures() {
    didSet { if usesPictures { lookVersion += 1 } }
  }
  /// Whether a picture was ever requested.
  private var usesPictures: Bool { !pictures.states.isEmpty }
  /// The kinds that the daemon has described, and status widgets that the watch does not have.
  private(set) var described = ProviderFacts()
  /// The stale widgets whose kinds the daemon was asked for.
  private var askedStale: Set<WidgetID> = []
  /// The focus target under the pointer.
  var hover: LiveFocus?
  /// The widget under the pointer, even without a control at this place.
  var pointed: WidgetID?
  /// The text selection.
  var selection: LiveSelection?
  /// Whether the mouse button that extends the selection is still held.
  var isSelecting = false
  /// Tables that were asked for more rows.
  var asked: [LiveFocus: MoreRequest] = [:]
  /// Whether widgets were added or removed since the last redraw.
  var hasComings = false
  /// The ids of all widgets, if ids of the command line were missing at first.
  var knownIDs: [String] = []
  /// Whether the last write to the terminal was slow. Then nothing is animated.
  var isLinkSlow = false
  /// The cache of painted panes: a redraw repaints only panes that changed.
  var canvas = LiveCanvas()
  /// Whether the focus at the start was decided.
  var hasFocusedFirst = false
  /// Whether something covered the panes in the last redraw.
  var wasCovered = true
  /// A message in the status line. The next key clears it, or else time does.
  var notice = "" {
    didSet {
      noticeStart = notice.isEmpty ? nil : options.now()
    }
  }
  /// The time at which the notice appeared. Nil if there is none.
  private var noticeStart: Timestamp?
  /// The time for which a notice is in the status line, in place of the connection and the counts.
  static let noticeDuration = Duration.seconds(8)
  private(set) var trouble: String?
  private var dismissals: Dismissals
  /// Whether all widgets that the command line names are dismissed.
  var isDismissed: Bool { dismissals.areComplete }
  /// Counts the panes ever made. The count distinguishes a pane from an earlier pane of the same
  /// widget.
  private var paneCount = 0

  init(options: LiveOptions, size: TerminalSize, look: CellLook) {
    (self.options, self.size, self.look) = (options, size, look)
    dismissals = Dismissals(of: options.ids)
  }

  // MARK: - News from the daemon

  /// Applies the next frame of a watch.
  ///
  /// - Parameter feed: The index in `feeds`; nil for the main watch.
  mutating func take(
    _ frame: WatchFrame, from feed: Int? = nil
  ) throws(WidgetMirror.Inconsistency) {
    switch frame {
    case .theme(let state): setTheme(state.theme)
    case .disconnected(let error) where feed == nil:
      // A lost connection is more important than an earlier message.
      (trouble, notice) = (LiveBoard.words(for: error), "")
    case .store(let store) where feed == nil:
      trouble = store.failure.map { "\($0.loss); `widgetctl status` shows why" }
    // A message from the time without a connection is outdated.
    case .opened: if feed == nil, trouble != nil { (trouble, notice) = (nil, "") }
    default: break
    }
    let difference =
      if let feed { try feedMirrors[feed, default: WidgetMirror()].apply(frame) } else {
        try mirror.apply(frame)
      }
    let isSynced = feed.map { feedMirrors[$0]?.isSynced == true } ?? mirror.isSynced
    guard let difference, isSynced else { return }
    if case .changes = frame, !difference.added.isEmpty || !difference.removed.isEmpty {
      hasComings = true
    }
    let isSnapshot = if case .synced = frame { true } else { false }
    show(difference, from: feed, isSnapshot: isSnapshot)
  }

  /// Shows what became visible in a mirror.
  private mutating func show(
    _ difference: WidgetMirror.Difference, from feed: Int?, isSnapshot: Bool
  ) {
    var keepsPlaces =
      !isSnapshot && difference.added.isEmpty && difference.removed.isEmpty
      && !difference.isReordered
    for widget in difference.removed {
      if feed == nil { forget(widget.id) } else { refill(widget.id) }
    }
    for id in difference.added where self.feed(of: id) == feed { refill(id) }
    for id in difference.updated where self.feed(of: id) == feed {
      let before = panes[id]?.widget
      refill(id, difference.contents[id] ?? ContentDifference())
      if keepsPlaces { keepsPlaces = keepsPlace(id, before) }
    }
    // A feed may have brought a widget before the main watch: make the pane of the added widget.
    for id in difference.added where panes[id] == nil { refill(id) }
    if feed == nil, isSnapshot { nameMissing() }
    let isSettling = settle()
    // Most changes leave every pane where it is.
    if isSettling || !keepsPlaces { arrange() }
    focusFirst()
  }

  /// Lays out a changed widget in its frame. Returns whether all frames stay valid: its height is
  /// the same, and no property that affects the arrangement has changed.
  private mutating func keepsPlace(_ id: WidgetID, _ before: Widget?) -> Bool {
    guard let before, let after = panes[id]?.widget, before.presence == after.presence,
      before.labels == after.labels, before.family == after.family,
      before.untoldFailures == after.untoldFailures, before.isStale == after.isStale,
      before.isStandingWell == after.isStandingWell
    else { return false }
    guard let frame = frames[id] else { return true }
    guard paneHeight(id, width: frame.width) == frame.height else { return false }
    if focus?.widget == id { leaveLostFocus() }
    return true
  }

  /// The feed whose content a widget shows. Nil for the main watch, also until the feed has it.
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

  /// The daemon accepted an event.
  mutating func accepted(_ event: LiveEvent, _ response: SendEventResponse) {
    let now = options.now()
    let absence = wordsOfAbsence(event)
    panes[event.widget]?.accepted(event, response, at: now, isWaiting: absence != nil)
    answered(event)
    dismissals.accepted(by: event.widget, EventAnswer(response: response, at: now))
    if let absence { notice = absence }
    settle()
    arrange()
  }

  /// The notice that the program that takes the event does not run. Nil if it runs, or none is
  /// needed.
  private func wordsOfAbsence(_ event: LiveEvent) -> String? {
    guard let widget = panes[event.widget]?.widget, widget.isStale else { return nil }
    let staleness = facts(about: widget)
    let request = SendEventRequest(
      widgetID: event.widget, nodeID: event.node, name: event.name, payload: [:])
    guard let warning = EventCheck.waiting(request, staleness) else { return nil }
    let remedy = staleness.remedy
    return warning.message + (remedy.isEmpty ? "" : " To change that, \(remedy).")
  }

  /// Replaces edits that the daemon has settled by the daemon's state. Returns false if there were
  /// no edits.
  @discardableResult
  mutating func settle() -> Bool {
    let now = options.now()
    for id in dismissals.ids {
      guard let widget = panes[id]?.widget else { continue }
      dismissals.look(at: widget, revision: mirror.revision, now: now)
    }
    guard !edited.isEmpty else { return false }
    for id in edited {
      // The revision of the watch that brings the pane's widget.
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
    unregisteredIDs.remove(id)
  }

  /// Updates or makes the pane of a widget. `difference` names the nodes that changed; nil for all.
  private mutating func refill(_ id: WidgetID, _ difference: ContentDifference? = nil) {
    guard let own = mirror[id] else { return }
    let widget = feed(of: id).flatMap { feedMirrors[$0]?[id] } ?? own
    if widget.isStale { staleIDs.insert(id) } else { staleIDs.remove(id) }
    if widget.hasFailed { failedIDs.insert(id) } else { failedIDs.remove(id) }
    if widget.isOfUnknownKind { unregisteredIDs.insert(id) } else { unregisteredIDs.remove(id) }
    guard panes[id] != nil else {
      paneCount += 1
      panes[id] = LivePane(widget, metrics: options.metrics, number: paneCount)
      return
    }
    panes[id]?.take(widget, difference)
  }

  /// Applies another theme: invalidates the layout and paint of all panes.
  private mutating func setTheme(_ theme: Theme) {
    guard theme != look.theme else { return }
    look.theme = theme
    options.metrics.theme = theme
    for id in panes.keys { panes[id]?.setMetrics(options.metrics) }
    if mirror.isSynced { arrange() }
  }

  private static func words(for error: ClientError) -> String {
    switch error {
    case .unavailable, .socketNotFound: "the daemon cannot be reached; reconnecting"
    case .unresponsive: "\(error.loss); reconnecting"
    default: "the connection is lost; reconnecting"
    }
  }

  /// Stores the daemon's facts about a kind and its provider.
  mutating func describe(_ facts: ProviderFacts) {
    described.kinds.merge(facts.kinds) { $1 }
    described.widgets.merge(facts.widgets) { $1 }
    // The panes of stale widgets show the reason.
    if !staleIDs.isEmpty { arrange() }
  }

  /// The kinds of all stale widgets, if others are stale than at the last call: their description has
  /// the reason, and whether their providers are connected.
  mutating func kindsToDescribe() -> [KindName] {
    guard staleIDs != askedStale else { return [] }
    askedStale = staleIDs
    return Set(staleIDs.compactMap { panes[$0]?.widget.kind }).sorted {
      $0.rawValue.precedesByBytes($1.rawValue)
    }
  }

  /// The daemon's facts about the providers of a widget.
  func facts(about widget: Widget) -> Staleness {
    let kind = described.kinds[widget.kind]
    func status(_ id: WidgetID?) -> Widget? {
      id.flatMap { mirror[$0] ?? described.widgets[$0] }
    }
    return Staleness(
      widget: widget, kind: kind, bundle: status(kind.flatMap { WidgetID($0.provider) }),
      host: status(Staleness.hostID))
  }

  // MARK: - Time

  /// Advances what changes with time alone: entries of timelines, spinners, dates, the notice, and edits
  /// that time out.
  mutating func timeHasPassed(turningSpinners turns: Bool) {
    if turns { spinnerTick += 1 }
    let now = options.now()
    if let noticeStart, now.isPast(LiveBoard.noticeDuration, since: noticeStart) { notice = "" }
    if let flipped = mirror.advance(to: now) { show(flipped, from: nil, isSnapshot: false) }
    for feed in feedMirrors.keys.sorted() {
      guard let flipped = feedMirrors[feed]?.advance(to: now) else { continue }
      show(flipped, from: feed, isSnapshot: false)
    }
    for id in order { panes[id]?.timeHasPassed() }
    settle()
    arrange()
  }

  /// The time until something in the viewport changes without news. Nil for never.
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
    let ends =
      ([
        noticeStart?.advanced(by: LiveBoard.noticeDuration), dismissals.nextDecision(after: now),
        mirror.nextDate,
      ] + feedMirrors.values.map(\.nextDate)).compactMap(\.self)
    let instants = (decisions + ends)
      .map { max($0.duration(since: now), .milliseconds(10)) }
    let ages = seen.filter(staleIDs.contains).compactMap { panes[$0]?.widget }
      .map { dates.untilAgeChanges(of: facts(about: $0).since) }
    let kinds = seen.filter(unregisteredIDs.contains).compactMap { panes[$0]?.widget }
      .map { dates.untilAgeChanges(of: $0.updateTime) }
    return (instants + ages + kinds + seen.compactMap { panes[$0]?.nextChange(dates) }).min()
  }

  // MARK: - Focus

  /// All focus targets, in reading order.
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

  /// Converts a frame in a pane's content to coordinates of the page.
  func pageFrame(_ id: WidgetID, _ frame: LayoutRect) -> LayoutRect {
    let origin = origin(of: id)
    return LayoutRect(
      x: frame.x + origin.x, y: frame.y + origin.y, width: frame.width, height: frame.height)
  }

  /// The input that has the focus. Nil if the focus is elsewhere.
  var focusedInput: LiveFocus? {
    guard let focus, focus.kind == .control, panes[focus.widget]?.node(focus.node)?.role == .input
    else { return nil }
    return focus
  }

  /// The text of the focused input, with cursor and selection.
  var focusedDraft: LiveDraft? { focusedInput.flatMap { panes[$0.widget]?.draft($0.node) } }

  /// The maximum number of nested scrolling nodes that are scrolled to show the focus.
  private static let regionsMax = 8

  /// Sets the focus, and scrolls the target into view.
  mutating func setFocus(_ focus: LiveFocus?) {
    if let former = focusedInput, former != focus { panes[former.widget]?.leave(former.node) }
    self.focus = focus
    // A text of many rows scrolls to the cursor.
    if let input = focusedInput { _ = panes[input.widget]?.edit(input.node) { _ in } }
    guard let focus, let target = target(focus) else { return }
    var shown = target
    for _ in 0..<LiveBoard.regionsMax where panes[focus.widget]?.reveal(shown) == true {
      arrange()
      shown = self.target(focus) ?? shown
    }
    arrange()
    guard let target = self.target(focus) else { return }
    let frame = pageFrame(focus.widget, target.frame)
    if frame.y - 1 < top { top = max(0, frame.y - 1) }
    if frame.endY + 1 > top + pageRows { top = frame.endY + 1 - pageRows }
    top = min(max(0, top), max(0, pageHeight - pageRows))
  }
}

/// Identifies a focus target: a node of a widget, and which part of it.
struct LiveFocus: Hashable {
  let widget: WidgetID
  let node: String
  let kind: FocusTarget.Kind
}

/// An event to send to the daemon.
struct LiveEvent: Hashable {
  let widget: WidgetID
  let node: String
  let name: String
  var payload: ValueMap = [:]
  /// Paths of files to upload before the event, by value name. The blob's id becomes the value.
  var files: [String: String] = [:]
}

/// The configuration of a board.
struct LiveOptions: Sendable {
  /// The widgets to show. Empty for all that are visible.
  var ids: [WidgetID] = []
  /// Whether the watch selects some of the widgets.
  var isSelection = false
  /// Whether the first input of a form has the focus at the start, or else the only control.
  var focusesFirst = false
  /// Whether to leave out status widgets of hosts and bundles that run without errors.
  var leavesOutStanding = false
  var metrics: LayoutMetrics
  /// The arrangement of the widgets. Nil if they flow into columns.
  var arrangement: LiveArrangement?
  /// The file that the key `w` writes. Nil if no path is known.
  var arrangementFile: ArrangementFile?
  /// Whether spinners are animated.
  var animates = true
  /// Whether changed text fades and panes slide.
  var moves = false
  /// Whether the terminal's background chooses between light and dark.
  var followsBackground = true
  /// The extra watches that the arrangement needs.
  var feeds: [LiveArrangement.Feed] { arrangement?.feeds ?? [] }
  /// The clock.
  var now: @Sendable () -> Timestamp = { .wallClock() }
}
