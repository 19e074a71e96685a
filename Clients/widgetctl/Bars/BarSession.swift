import Glibc
import WidgetBar
import WidgetClient
import WidgetModel
import WidgetProcess
import WidgetTimers

/// The signals that i3bar and swaybar send when the bar is hidden and shown again.
///
/// Their default is SIGSTOP. With these signals the watch keeps running while the bar is hidden, so
/// the bar is up to date as soon as it is shown.
///
/// A shell that runs the command gets the signals, too, so they must be signals that end no
/// process.
enum BarSignals {
  static let stop = SIGURG
  static let go = SIGWINCH
}

/// Runs a status bar: feeds frames, clicks and time to a `BarBoard`, and writes its text.
struct BarSession: Sendable {
  private enum News: Sendable {
    case frame(WatchFrame)
    case kinds([Kind])
    /// Kinds of the selection that the daemon does not know.
    case unknown([KindName])
    /// The ids that were probably meant, by missing ids.
    case nearest([WidgetID: String])
    case providers(ProviderFacts)
    case timeHasPassed
    case clicked(String)
    case isShown(Bool)
    case failed(any Error)
  }

  /// The minimum time between two frames of the watch. The daemon conflates changes in between.
  static let pause = Duration.milliseconds(100)
  /// The time for which the daemon lets a change wait for others. Widgets that change at the same
  /// time are then one frame and one line.
  static let batchDelay = Duration.milliseconds(100)
  /// The number of entries of each timeline that the bar shows without the daemon.
  static let upcomingEntries = 30
  /// Retries without end: a bar often starts before the daemon.
  static let retry = RetryPolicy(delayInitial: .milliseconds(50), delayMax: .seconds(5))
  /// The interval of attempts while another program answers at the socket.
  static let foreignPause = Duration.seconds(5)
  /// The maximum number of clicks that wait for the daemon. Further clicks are dropped.
  static let clicksWaitingMax = 64
  /// The maximum size of a click's line, in bytes. Longer lines are dropped.
  static let clickBytesMax = 64 << 10
  /// The interval of requests for a kind that the daemon does not know.
  static let unknownKindPause = Duration.seconds(10)
  /// The interval of checks whether the bar has read the last state.
  static let untakenPause = Duration.milliseconds(100)
  /// The same interval, if the bar is suspended for a long time.
  static let untakenPauseMax = Duration.seconds(5)

  let session: Session
  let selector: Selector
  let family: Family
  /// Whether to write one text and end.
  var isOnce = false
  /// Whether the daemon leaves out private nodes and data.
  var isRedacted = false
  /// Reports on standard error that the labels or the expression select nothing. Nil if the command line has
  /// neither.
  var noteNothing: (@Sendable () async -> Void)?

  /// Runs tasks on the thread that reads the socket. With another thread, each frame would wake both.
  private var executor: any TaskExecutor { session.client.taskExecutor }

  /// Writes a text at every change. Runs until it is cancelled, or after one text with `isOnce`.
  ///
  /// Everything runs on the thread that reads the socket. While a bar does not read, that thread waits
  /// in write(2) and reads no frames, so the daemon conflates. The frames that the socket holds by then are
  /// applied together, and drawn once; see `DrawPace`.
  func run(_ board: BarBoard) async throws {
    try await withTaskExecutorPreference(executor) { try await follow(board) }
  }

  private func follow(_ board: BarBoard) async throws {
    let (news, post) = AsyncStream<News>.makeStream()
    let (taken, take) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let options = WatchOptions(
      selector: selector, minInterval: Self.pause, retry: Self.retry, contentFamily: family,
      includeTheme: true, upcomingEntries: isOnce ? 0 : Self.upcomingEntries,
      isRedacted: isRedacted, batchDelay: Self.batchDelay)
    let isOnce = isOnce
    let watch = Task(executorPreference: executor) {
      // Backpressure: the watch reads its next frame after the last one was handled. Meanwhile
      // the daemon conflates changes.
      var taken = taken.makeAsyncIterator()
      while !Task.isCancelled {
        do {
          for try await frame in session.client.watch(options) {
            post.yield(.frame(frame))
            await taken.next()
          }
          return
        } catch let error as ClientError where error.isOfForeignServer && !isOnce {
          // The daemon can get its socket back. The next watch begins with a snapshot.
          post.yield(.frame(.disconnected(error)))
          await taken.next()
          post.yield(.frame(.reset(.epochChanged)))
          await taken.next()
          try? await Task.sleep(for: Self.foreignPause)
        } catch {
          post.yield(.failed(error))
          return
        }
      }
    }
    let (clicks, queue) = AsyncStream<PendingClick>.makeStream(
      bufferingPolicy: .bufferingOldest(Self.clicksWaitingMax))
    let sender = Task(executorPreference: executor) { await send(clicks) }
    defer {
      watch.cancel()
      sender.cancel()
    }
    // The header names the signals. The bar may send them as soon as it has read the header.
    let signals = isOnce ? nil : follow(board.encoder.format, post)
    defer { signals?.cancel() }
    if !board.header.isEmpty, !isOnce { Output.write(board.header) }
    var state = State(
      board: board, timer: WakeTimer(session.client) { post.yield(.timeHasPassed) })
    var pace = DrawPace()
    for await happened in news {
      var step = pace.step
      switch happened {
      case .frame(let frame):
        if isOnce, case .disconnected(let error) = frame { return try end(&state, with: error) }
        try state.board.take(frame, at: .wallClock())
        // Kinds may have changed while the connection was lost, and a query may have failed.
        if case .opened = frame { state.forgetKinds() }
        state.hasNewFrame = true
        if case .synced = frame { await state.noteIfEmpty(self) }
        take.yield()
        step = pace.frame(at: .now)
      case .kinds(let kinds):
        for kind in kinds { state.board.describe(kind) }
        state.isAskingForKinds = false
      case .unknown(let kinds):
        state.board.unknownKinds = kinds
        state.isAsking = false
        if !isOnce { state.report() }
      case .nearest(let nearest):
        state.board.nearest = nearest
        state.isAskingForNames = false
        if !isOnce { state.report() }
      case .providers(let providers):
        state.board.providers = providers
        state.isAskingForProviders = false
        // Other widgets may have become stale meanwhile.
        state.lookForProviders(self, post)
      case .timeHasPassed:
        state.timer.hasFired()
        if !state.board.unknownKinds.isEmpty, !pace.isWaiting {
          state.hasAsked = false
          state.lookForSelected(self, post)
        }
        step = pace.timeHasPassed(at: .now)
      case .clicked(let line):
        if let pending = click(line, state.board) { queue.yield(pending) }
        continue
      case .isShown(let isShown): state.isShown = isShown
      case .failed(let error):
        return try end(&state, with: error)
      }
      guard state.isShown else { continue }
      if case .wait(let time) = step {
        state.timer.set(time)
        continue
      }
      state.lookAround(self, post)
      if isOnce, state.isWaitingForAnswers { continue }
      // The first line has the actions of the kinds, so a bar gets no second line at once.
      if !state.board.hasText, state.isAskingForKinds { continue }
      if state.board.encoder.format == .yambar, !Output.isTaken {
        // yambar 1.9 aborts if several states come at once, for example after it was suspended.
        state.timer.set(state.untakenPause)
        state.untakenPause = min(state.untakenPause * 2, Self.untakenPauseMax)
        continue
      }
      state.untakenPause = Self.untakenPause
      let start = ContinuousClock.now
      let dates = DateText(now: .wallClock())
      state.board.advance(to: dates.now)
      if let text = state.board.next(dates) {
        Output.write(text)
        if isOnce { return try endOnce(&state) }
      }
      if state.board.hasText { pace.hasDrawn(from: start, to: .now) }
      let quiet = state.board.quiet(dates)
      let isWaiting = !state.board.unknownKinds.isEmpty
      state.timer.set(
        isWaiting ? min(quiet ?? Self.unknownKindPause, Self.unknownKindPause) : quiet)
    }
  }

  /// Shows an error in the bar, because users do not see the log of the bar. i3blocks shows no output of a
  /// command that fails, so with `--once` its command then succeeds.
  private func end(_ state: inout State, with error: any Error) throws {
    let words = BarSession.words(for: error)
    state.board.fail(words, isSelectionWrong: BarSession.isAboutSelection(error))
    if let text = state.board.next(DateText(now: .wallClock())) { Output.write(text) }
    guard isOnce, state.board.encoder.format == .i3blocks else { throw error }
    Output.writeError("widgetctl: \(words)\n")
  }

  /// Reports the names in the selection that the daemon does not have. i3blocks shows no output of
  /// a command that fails.
  private func endOnce(_ state: inout State) throws {
    state.report()
    guard !state.board.selectionProblems.isEmpty, state.board.encoder.format != .i3blocks else {
      return
    }
    throw ExitStatus.notFound
  }

  /// The mutable state of the loop.
  private struct State {
    var board: BarBoard
    /// The time to the next check whether the bar has read the last state.
    var untakenPause = BarSession.untakenPause
    var isShown = true
    /// Fires when a date reads differently.
    var timer: WakeTimer
    /// The kinds that the daemon was asked for, on this connection.
    private var asked: Set<KindName> = []
    /// Whether the daemon was asked for the kinds of the selection, on this connection.
    var hasAsked = false
    /// Whether it has not answered yet.
    var isAsking = false

    init(board: BarBoard, timer: WakeTimer) { (self.board, self.timer) = (board, timer) }

    mutating func forgetKinds() { (asked, hasAsked) = ([], false) }

    /// Whether a frame has come since the last drawing.
    var hasNewFrame = false

    /// Asks the daemon what a drawing of new frames needs. Costs as much as a look at all widgets, so it is
    /// not done for each frame.
    mutating func lookAround(_ bar: BarSession, _ post: AsyncStream<News>.Continuation) {
      guard hasNewFrame else { return }
      hasNewFrame = false
      look(bar, post)
      lookForSelected(bar, post)
      lookForProviders(bar, post)
      lookForNames(bar, post)
    }

    /// Asks whether the kinds of the selection exist.
    mutating func lookForSelected(_ bar: BarSession, _ post: AsyncStream<News>.Continuation) {
      let names = bar.selector.kinds
      guard !names.isEmpty, !hasAsked else { return }
      (hasAsked, isAsking) = (true, true)
      Task(executorPreference: bar.executor) {
        var unknown: [KindName] = []
        for name in names where await bar.lacks(name) { unknown.append(name) }
        post.yield(.unknown(unknown))
      }
    }

    /// Whether the daemon was asked for the names of all widgets, once.
    private var hasAskedForNames = false
    /// Whether it has not answered yet.
    var isAskingForNames = false

    /// Asks for the ids that were probably meant, if ids of the command line are missing at first.
    mutating func lookForNames(_ bar: BarSession, _ post: AsyncStream<News>.Continuation) {
      guard board.mirror.isSynced, !hasAskedForNames else { return }
      hasAskedForNames = true
      let missing = board.missing
      guard !missing.isEmpty else { return }
      isAskingForNames = true
      Task(executorPreference: bar.executor) {
        let all = await bar.session.ids()
        var nearest: [WidgetID: String] = [:]
        for id in missing { nearest[id] = id.rawValue.closest(among: all) }
        post.yield(.nearest(nearest))
      }
    }

    private var hasSynced = false

    /// Reports a selection without widgets, at first.
    mutating func noteIfEmpty(_ bar: BarSession) async {
      guard !hasSynced else { return }
      hasSynced = true
      guard board.mirror.widgets.isEmpty, let note = bar.noteNothing else { return }
      if bar.isOnce { return await note() }
      // The bar does not wait for a note on standard error.
      Task(executorPreference: bar.executor) { await note() }
    }

    /// The problems that standard error has already.
    private var reported: Set<String> = []

    /// Reports problems of the selection on standard error, each once.
    mutating func report() {
      for words in board.selectionProblems where reported.insert(words).inserted {
        Output.writeError("widgetctl: \(words.safeForTerminal)\n")
      }
    }

    /// Whether an answer that the text depends on has not come yet.
    var isWaitingForAnswers: Bool {
      isAsking || isAskingForProviders || isAskingForNames || isAskingForKinds
    }

    /// Whether the text depends on kinds that the daemon has not described yet.
    var isAskingForKinds = false

    /// Whether the daemon has not answered about providers yet.
    var isAskingForProviders = false

    /// Asks why widgets are stale, if the set of stale widgets has changed.
    mutating func lookForProviders(_ bar: BarSession, _ post: AsyncStream<News>.Continuation) {
      guard !isAskingForProviders, board.providers.isDue(for: board.widgets) else { return }
      isAskingForProviders = true
      let (widgets, providers) = (board.widgets, board.providers)
      Task(executorPreference: bar.executor) {
        var found = providers
        await found.look(for: widgets, bar.session)
        post.yield(.providers(found))
      }
    }

    /// Asks the daemon for each kind once, if the bar sends clicks.
    mutating func look(_ bar: BarSession, _ post: AsyncStream<News>.Continuation) {
      guard board.encoder.format == .polybar || board.encoder.format.takesClicks else { return }
      let new = Set(board.widgets.map(\.kind)).subtracting(asked)
      guard !new.isEmpty else { return }
      asked.formUnion(new)
      isAskingForKinds = board.encoder.format == .polybar
      Task(executorPreference: bar.executor) {
        var kinds: [Kind] = []
        for name in new {
          if let kind = await bar.kind(name) { kinds.append(kind) }
        }
        post.yield(.kinds(kinds))
      }
    }
  }

  private func kind(_ name: KindName) async -> Kind? {
    try? await session.client.getKind(GetKindRequest(name: name), options: session.options)
      .kind.kind
  }

  /// Whether the daemon says that nobody has registered the kind.
  private func lacks(_ name: KindName) async -> Bool {
    do throws(ClientError) {
      _ = try await session.client.getKind(GetKindRequest(name: name), options: session.options)
      return false
    } catch {
      return error.status?.code == .notFound
    }
  }

  // MARK: - Input from the bar

  /// Starts to read clicks and signals, if the bar sends any. No signal that comes after this call is lost.
  ///
  /// - Returns: the task that passes the signals on. Nil if the bar sends none.
  private func follow(
    _ format: BarFormat, _ post: AsyncStream<News>.Continuation
  ) -> Task<Void, Never>? {
    if format.takesClicks {
      _ = DetachedThread.start { BarSession.readLines { post.yield(.clicked($0)) } }
    }
    guard format == .i3bar || format == .swaybar else { return nil }
    let signals = Signals.arrivals(of: [BarSignals.stop, BarSignals.go])
    return Task(executorPreference: executor) {
      for await number in signals { post.yield(.isShown(number == BarSignals.go)) }
    }
  }

  /// Reads lines from standard input until its end. Drops lines over `clickBytesMax`.
  private static func readLines(_ body: (String) -> Void) {
    var line: [UInt8] = []
    var isTooLong = false
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      for byte in buffer[..<count] {
        if byte == UInt8(ascii: "\n") {
          if !isTooLong { body(String(decoding: line, as: UTF8.self)) }
          line.removeAll(keepingCapacity: true)
          isTooLong = false
        } else if line.count < clickBytesMax {
          line.append(byte)
        } else {
          isTooLong = true
        }
      }
    }
  }

  /// A click on its way to the daemon.
  private struct PendingClick: Sendable {
    let click: BarClick
    let widget: Widget
    let kind: Kind?
  }

  /// The click that a line describes. Nil if the line cannot be parsed or assigned.
  private func click(_ line: String, _ board: BarBoard) -> PendingClick? {
    guard let json = I3Click.json(in: line), let value = try? JSONReader.value(of: json),
      let click = I3Click(value, namesNodes: board.encoder.format != .i3blocks),
      let widget = board.clicked(click)
    else { return nil }
    return PendingClick(click: click.click, widget: widget, kind: board.kinds[widget.kind])
  }

  /// Sends clicks one after the other, in their order.
  private func send(_ clicks: AsyncStream<PendingClick>) async {
    for await pending in clicks {
      do {
        try await BarSession.send(
          pending.click, on: pending.widget, kind: pending.kind, session)
      } catch {
        Output.writeError("widgetctl: \(BarSession.words(for: error))\n")
      }
    }
  }

  static func words(for error: any Error) -> String {
    switch error {
    case let error as ClientError: CommandFailure(error).message
    case let error as CommandFailure: error.message
    default: "\(error)"
    }
  }

  /// Whether the daemon refused the selection: it has a mistake.
  static func isAboutSelection(_ error: any Error) -> Bool {
    guard case .status(let status)? = error as? ClientError else { return false }
    return status.fieldViolations.contains { $0.field.hasPrefix("selector") }
  }

  /// Sends the event for a click on a widget. Does nothing if the widget takes no such event.
  static func send(
    _ click: BarClick, on widget: Widget, kind: Kind?, _ session: Session
  ) async throws {
    guard let event = click.event(for: widget, kind: kind) else { return }
    _ = try await session.client.sendEvent(
      SendEventRequest(
        widgetID: widget.id, nodeID: event.node, name: event.name, payload: event.payload,
        client: "widgetctl"), options: session.options)
  }
}

extension BarBoard {
  /// The clicked widget. If the bar does not name it: the only shown widget, or nil.
  ///
  /// i3blocks names its section, which may have the name of the widget.
  func clicked(_ click: I3Click) -> Widget? {
    if let id = click.widget {
      if let widget = mirror[id] { return widget }
      guard encoder.format == .i3blocks else { return nil }
    }
    let all = widgets
    return all.count == 1 ? all[0] : nil
  }
}
