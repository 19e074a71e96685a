import WidgetClient
import WidgetModel

/// `render --watch`: a file that follows every change.
struct RenderWatch: Sendable {
  /// The least time between two pictures: what happens in between is in the later one.
  static let pause = Duration.milliseconds(100)

  let ids: [WidgetID]
  /// Whether the widgets that say how a host and its bundles stand are shown while all is well.
  let showsStanding: Bool
  let output: RenderOutput
  let session: Session
  let watch: WatchOptions

  /// Draws until the daemon's answer is an error, or the file cannot be written.
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
        while true {
          try await Task.sleep(for: .seconds(1))
          try await file.tick()
        }
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

/// What `render --watch` has written.
private actor RenderedFile {
  private let watch: RenderWatch
  private var mirror = WidgetMirror()
  private var kinds = KindNames()
  private var theme: Theme?
  private var written: [UInt8]?

  init(_ watch: RenderWatch) { self.watch = watch }

  func take(_ frame: WatchFrame) async throws {
    let wasSynced = mirror.isSynced
    if case .theme(let state) = frame { theme = state.theme }
    let changed = try mirror.apply(frame) != nil
    if case .theme = frame, mirror.isSynced { return try draw() }
    guard changed, mirror.isSynced else { return }
    // It may be asked again later; meanwhile everything is drawn as it was known before.
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

  /// Draws again what follows the time.
  func tick() throws {
    guard mirror.isSynced, watch.widgets(in: mirror).contains(where: \.followsTime) else { return }
    try draw()
  }

  private func draw() throws {
    let bytes = try watch.output.bytes(
      of: watch.widgets(in: mirror), kinds: kinds, theme: theme)
    guard let bytes, bytes != written else { return }
    try watch.output.file.write(bytes)
    written = bytes
  }
}
