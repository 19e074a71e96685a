import WidgetClient
import WidgetModel
import WidgetTimers

/// `render --watch`: a file that follows every change.
struct RenderWatch: Sendable {
  /// The minimum time between two pictures. The later picture has all changes in between.
  static let pause = Duration.milliseconds(100)
  /// The time between two attempts to write a file.
  static let retryPause = Duration.seconds(10)

  let ids: [WidgetID]
  /// Whether to show the status widgets of hosts and bundles that run without errors.
  let showsStanding: Bool
  let output: RenderOutput
  let session: Session
  let watch: WatchOptions

  /// Draws at every change until the daemon answers with an error, or the first picture cannot be
  /// written. If a later one cannot be written, reports that, and retries.
  func run(_ follow: FollowOptions) async throws {
    let file = RenderedFile(self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var notes = ConnectionNotes(follow)
        for try await frame in session.client.watch(watch) {
          try notes.note(frame)
          try await file.take(frame)
        }
      }
      group.addTask {
        for await _ in file.due { try await file.timeHasPassed() }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  fileprivate func widgets(in mirror: WidgetMirror) -> [Widget] {
    ids.isEmpty
      ? mirror.widgets.filter { $0.isShownUnnamed(withStanding: showsStanding) }
      : ids.compactMap { mirror[$0] }
  }
}

/// The state of `render --watch`: the widgets, and the last picture.
private actor RenderedFile {
  private let watch: RenderWatch
  private var mirror = WidgetMirror()
  private var kinds = KindNames()
  private var theme: Theme?
  private var written: [UInt8]?
  /// Why the last picture could not be written. Empty if it was written.
  private var problem = ""
  /// The last state of the named widgets.
  private var known: [WidgetID: Widget] = [:]
  /// Nil while the connection is up.
  private var loss: ConnectionLoss?
  /// Fires when the text of a date or an age changes.
  private var timer: WakeTimer
  /// Gets an element each time the timer fires.
  let due: AsyncStream<Void>

  init(_ watch: RenderWatch) {
    self.watch = watch
    let (due, fire) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.due = due
    timer = WakeTimer(watch.session.client) { fire.yield() }
  }

  func take(_ frame: WatchFrame) async throws {
    let wasSynced = mirror.isSynced
    let formerLoss = loss?.words
    if case .theme(let state) = frame { theme = state.theme }
    loss = .after(frame, loss, at: .wallClock())
    let changed = try mirror.apply(frame) != nil
    if case .theme = frame, mirror.isSynced { return try draw() }
    if formerLoss != loss?.words, written != nil { return try draw() }
    if case .upcoming = frame, mirror.isSynced { return setTimer() }
    guard changed, mirror.isSynced else { return }
    // A failed query is repeated at the next change. Until then, draw with the known kinds.
    var kinds = kinds
    do throws(ClientError) {
      try await kinds.look(for: watch.widgets(in: mirror), watch.session)
    } catch {}
    self.kinds = kinds
    if !wasSynced {
      await FollowOptions.noteMissing(
        of: watch.ids, among: Set(mirror.widgets.map(\.id)), waits: true, watch.session)
    }
    try draw()
  }

  /// Redraws text that depends on the time.
  func timeHasPassed() throws {
    timer.hasFired()
    _ = mirror.advance(to: Timestamp.wallClock())
    try draw()
  }

  private func draw() throws {
    var widgets = watch.widgets(in: mirror)
    var removed: Set<WidgetID> = []
    if !watch.ids.isEmpty {
      for widget in widgets { known[widget.id] = widget }
      removed = Set(watch.ids.filter { mirror[$0] == nil && known[$0] != nil })
      widgets = watch.ids.compactMap { known[$0] }
    }
    setTimer()
    let bytes = try watch.output.bytes(
      of: widgets, kinds: kinds, theme: theme, loss: loss, removed: removed)
    guard let bytes, bytes != written else { return }
    do throws(CommandFailure) {
      try watch.output.file.write(bytes)
      written = bytes
      problem = ""
    } catch {
      guard written != nil, !watch.output.file.isSpecial else { throw error }
      if error.message != problem { Output.writeError("widgetctl: \(error.message)\n") }
      problem = error.message
      setTimer()
    }
  }

  private func setTimer() {
    let dates = DateText(now: .wallClock())
    let widgets = watch.ids.isEmpty ? watch.widgets(in: mirror) : Array(known.values)
    let delays = widgets.map { dates.untilChange(of: $0, kinds.providers) }
    let rest = [mirror.untilNextDate(dates.now), loss.map { dates.untilAgeChanges(of: $0.since) }]
    let retry = problem.isEmpty ? nil : RenderWatch.retryPause
    timer.set((delays + rest + [retry]).compactMap(\.self).min())
  }
}
