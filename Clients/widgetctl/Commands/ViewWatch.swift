import WidgetClient
import WidgetModel
import WidgetRender
import WidgetTerminal
import WidgetTimers

/// `view --watch`: redraws at every change.
struct ViewWatch: Sendable {
  let ids: [WidgetID]
  /// Whether to show status widgets of hosts and bundles that run without errors.
  let showsStanding: Bool
  let picture: PictureOptions
  let session: Session
  let watch: WatchOptions
  /// Whether to show problems that a placeholder hides.
  let tellsAll: Bool
  let noColor: Bool
  /// Whether to hide private nodes.
  let redacts: Bool

  /// Draws until the daemon answers with an error, the user quits, the terminal closes, or all of
  /// `ids` are dismissed.
  func run(_ follow: FollowOptions) async throws {
    let terminal = terminal()
    defer { terminal?.stop() }
    let screen = ViewScreen(self, terminal, waits: follow.waits)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var notes = ConnectionNotes(follow)
        for try await frame in session.client.watch(watch) {
          // On a terminal, the next redraw would overwrite the note.
          if terminal == nil { try notes.note(frame) }
          try await screen.take(frame)
          if await screen.isDismissed { return }
        }
      }
      if let terminal {
        group.addTask { try await screen.follow(terminal) }
      }
      let clock = Task { await screen.followTime() }
      defer {
        clock.cancel()
        group.cancelAll()
      }
      try await group.next()
    }
  }

  /// The terminal, if it can be drawn on in raw mode. Nil if pictures are printed.
  private func terminal() -> TerminalSession? {
    let capabilities = TerminalCapabilities(environment: Terminal.environment)
    guard Terminal.outputIsTerminal, capabilities.movesCursor else { return nil }
    return try? TerminalSession(modes: TerminalModes(mouse: false))
  }

  /// The page for the widgets in the mirror now.
  fileprivate func page(_ theme: Theme?) -> PicturePage {
    var page = picture.page(isTitled: ids.count != 1, tellsAll: tellsAll, noColor: noColor)
    if let theme { page.theme = theme }
    page.family = watch.contentFamily
    page.isPrivate = redacts
    return page
  }

  fileprivate func widgets(in mirror: WidgetMirror) -> [Widget] {
    ids.isEmpty
      ? mirror.widgets.filter { $0.isShownUnnamed(withStanding: showsStanding) }
      : ids.compactMap { mirror[$0] }
  }
}

/// The state of `view --watch`.
private actor ViewScreen {
  private let view: ViewWatch
  private let terminal: TerminalSession?
  private let waits: Bool
  private var screen: ScreenUpdate
  private var mirror = WidgetMirror()
  private var kinds = KindNames()
  private var theme: Theme?
  /// Nil while the connection is up.
  private var loss: ConnectionLoss?
  /// The named widgets that have existed.
  private var seen: Set<WidgetID> = []
  private var wasOpen = false
  /// The ids of all widgets, if named ones were missing at first.
  private var knownIDs: [String] = []
  private var printed: String?
  private let images = PictureCache()
  private var dismissals: Dismissals
  /// Fires when the text of a date or an age changes.
  private var timer: WakeTimer
  /// Gets an element each time the timer fires.
  private let due: AsyncStream<Void>

  init(_ view: ViewWatch, _ terminal: TerminalSession?, waits: Bool) {
    let (due, fire) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.due = due
    timer = WakeTimer(view.session.client) { fire.yield() }
    (self.view, self.terminal, self.waits) = (view, terminal, waits)
    dismissals = Dismissals(of: view.ids)
    let capabilities = TerminalCapabilities(environment: Terminal.environment)
    screen = ScreenUpdate(
      encoder: ANSIEncoder(
        depth: view.noColor ? .none : capabilities.depth, writesLinks: capabilities.hasLinks))
  }

  var isDismissed: Bool { dismissals.areComplete }

  func take(_ frame: WatchFrame) async throws {
    let wasSynced = mirror.isSynced
    let formerLoss = loss?.words
    switch frame {
    case .theme(let state): theme = state.theme
    case .disconnected(let error):
      guard wasOpen || waits else { throw error }
    case .opened: wasOpen = true
    default: break
    }
    loss = .after(frame, loss, at: .wallClock())
    let changed = try mirror.apply(frame) != nil
    seen.formUnion(view.ids.filter { mirror[$0] != nil })
    if case .theme = frame, mirror.isSynced { return try draw() }
    if formerLoss != loss?.words, terminal != nil || printed != nil { return try draw() }
    if case .upcoming = frame, mirror.isSynced { return setTimer(view.page(theme)) }
    guard changed, mirror.isSynced else { return }
    for id in view.ids {
      mirror[id].map { dismissals.look(at: $0, revision: mirror.revision, now: .wallClock()) }
    }
    // A failed query is repeated at the next change. Until then, draw with the known kinds.
    var kinds = kinds
    do throws(ClientError) {
      try await kinds.look(for: view.widgets(in: mirror), view.session)
    } catch {}
    self.kinds = kinds
    if !wasSynced {
      if terminal == nil {
        await FollowOptions.noteMissing(
          of: view.ids, among: Set(mirror.widgets.map(\.id)), waits: true, view.session)
      } else if knownIDs.isEmpty, !missingIDs.isEmpty {
        knownIDs = await view.session.ids()
      }
    }
    try draw()
  }

  /// Redraws text that depends on the time, until it is cancelled.
  func followTime() async {
    for await _ in due {
      timer.hasFired()
      _ = mirror.advance(to: Timestamp.wallClock())
      try? draw()
    }
  }

  /// Handles terminal events until the user quits.
  func follow(_ terminal: TerminalSession) async throws {
    try? draw()
    for await event in try terminal.events() {
      switch event {
      case .resized: try? draw()
      case .resumed:
        screen.forget()
        try? draw()
      case .input(.key(.character("q"), [])), .input(.key(.character("c"), .control)): return
      case .input(.key(.character("z"), .control)): terminal.suspend()
      case .input: break
      case .ended: return
      }
    }
  }

  private func draw() throws {
    var page = view.page(theme)
    page.images = images
    guard let terminal else { return print(page) }
    let size = terminal.size
    page.width = size.columns
    let notice = notice(page)
    page.height = max(size.rows - (notice == nil ? 0 : 1), 1)
    page.fillsHeight = false
    var canvas = CellGrid(width: size.columns, height: size.rows)
    let widgets = view.widgets(in: mirror)
    if let grid = page.grid(of: widgets, kinds: kinds) {
      canvas.draw(grid, column: 0, row: 0)
    } else if mirror.isSynced {
      canvas.draw(page.grid(line: missing), column: 0, row: 0)
    }
    if let notice {
      canvas.draw(page.grid(problem: notice), column: 0, row: size.rows - 1)
    }
    let text = screen.next(canvas)
    if !text.isEmpty { try terminal.write(text) }
    setTimer(page)
  }

  private func setTimer(_ page: PicturePage) {
    var delays = [mirror.untilNextDate(Timestamp.wallClock())]
    // In a pipe, the text changes without a frame only at entries of timelines.
    if terminal != nil {
      delays += view.widgets(in: mirror).map { page.dates.untilChange(of: $0, kinds.providers) }
      delays.append(loss.map { page.dates.untilAgeChanges(of: $0.since) })
    }
    timer.set(delays.compactMap(\.self).min())
  }

  /// The last line of the screen: the lost connection, or a missing widget beside others.
  private func notice(_ page: PicturePage) -> String? {
    if let loss {
      return wasOpen || loss.absence.isEmpty
        ? "\(loss.words) for \(page.dates.age(of: loss.since)); \(loss.next)" : loss.absence
    }
    guard missingIDs.count < view.ids.count else { return nil }
    return missingIDs.first.map(missingText)
  }

  private var missingIDs: [WidgetID] {
    mirror.isSynced ? view.ids.filter { mirror[$0] == nil } : []
  }

  private func missingText(of id: WidgetID) -> String {
    seen.contains(id)
      ? "no widget \"\(id)\" any more; waiting for it"
      : FollowOptions.missingText(of: id, among: knownIDs, waits: true)
  }

  private var missing: String {
    guard let id = view.ids.first else { return "no visible widgets" }
    return "\(missingText(of: id)); q quits"
  }

  private func print(_ page: PicturePage) {
    setTimer(page)
    let end = loss.map { "\($0.words); reconnecting\n" } ?? ""
    let text = page.text(of: view.widgets(in: mirror), kinds: kinds) + end
    guard text != printed else { return }
    Output.write((printed == nil ? "" : "\n") + text)
    printed = text
  }
}
