import Glibc
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

/// Runs a dashboard: brings frames, keys and time to a board, and carries out what it says.
struct LiveSession {
  /// What can happen.
  private enum News: Sendable {
    /// From a watch of the arrangement's families, or from that for all.
    case frame(WatchFrame, feed: Int?)
    case terminal(TerminalEvent)
    case timeHasPassed
    case draw
    case due(LiveEvent, number: Int)
    case refused(LiveEvent, String)
    case said(String)
    case failed(any Error)
  }

  let session: Session
  let watch: WatchOptions
  let options: LiveOptions
  let look: CellLook
  let capabilities: TerminalCapabilities
  let follow: FollowOptions

  /// Pictures come at most so often.
  private static let pause = Duration.milliseconds(16)

  /// Shows the widgets until the user quits or the terminal is gone.
  func run() async throws {
    let terminal: TerminalSession
    do throws(TerminalError) {
      terminal = try TerminalSession()
    } catch {
      throw CommandFailure(.usage, "a dashboard needs a terminal: \(error)")
    }
    defer { terminal.stop() }
    let (news, post) = AsyncStream<News>.makeStream()
    // While the terminal takes no pictures, no frames are read: the daemon conflates them.
    let watches: [(feed: Int?, options: WatchOptions)] =
      [(nil, watch)]
      + options.feeds.enumerated().map { index, feed in
        var watch = WatchOptions(selector: feed.selector, contentFamily: feed.family)
        watch.retry = self.watch.retry
        watch.minInterval = self.watch.minInterval
        return (index, watch)
      }
    let gates = watches.map { _ in
      AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }
    let client = session.client
    var tasks = zip(watches, gates).map { watch, gate in
      Task {
        do {
          var taken = gate.stream.makeAsyncIterator()
          for try await frame in client.watch(watch.options) {
            post.yield(.frame(frame, feed: watch.feed))
            await taken.next()
          }
        } catch {
          post.yield(.failed(error))
        }
      }
    }
    tasks.append(Task { for await event in terminal.events() { post.yield(.terminal(event)) } })
    defer { for task in tasks { task.cancel() } }
    try? terminal.write(TerminalQuery.background)
    var state = State(
      board: LiveBoard(options: options, size: terminal.size, look: look),
      screen: ScreenUpdate(
        encoder: ANSIEncoder(depth: capabilities.depth, writesLinks: capabilities.hasLinks)))
    try state.draw(to: terminal)
    for await happened in news {
      guard try state.take(happened, self, terminal, post) else { return }
      if case .frame(_, let feed) = happened {
        gates[feed.map { $0 + 1 } ?? 0].continuation.yield()
      }
    }
  }

  /// What changes while it runs.
  private struct State {
    var board: LiveBoard
    var screen: ScreenUpdate
    private var drawnAt = ContinuousClock.now - LiveSession.pause
    private var isDrawingLater = false
    private var timer: (task: Task<Void, Never>, delay: Duration)?
    /// Events that wait for a rest of the keys: of one node only the last is sent.
    private var waiting: [LiveFocus: Int] = [:]
    private var lastNumber = 0

    init(board: LiveBoard, screen: ScreenUpdate) { (self.board, self.screen) = (board, screen) }

    /// Returns false at the end.
    mutating func take(
      _ news: News, _ live: LiveSession, _ terminal: TerminalSession,
      _ post: AsyncStream<News>.Continuation
    ) throws -> Bool {
      switch news {
      case .frame(let frame, let feed):
        if case .disconnected(let error) = frame, feed == nil, !board.mirror.isSynced,
          !live.follow.waits
        {
          throw error
        }
        try board.take(frame, from: feed)
      case .terminal(.ended): return false
      case .terminal(.resized(let size)): board.resize(size)
      case .terminal(.resumed(let size)):
        screen.forget()
        board.resize(size)
      case .terminal(.input(.background(let red, let green, let blue))):
        let isLight = Int(red) * 299 + Int(green) * 587 + Int(blue) * 114 > 128_000
        if live.options.followsBackground { board.look.appearance = isLight ? .light : .dark }
      case .terminal(.input(let input)):
        for effect in board.take(input) {
          guard carryOut(effect, live, terminal, post) else { return false }
        }
      case .timeHasPassed:
        timer = nil
        board.timeHasPassed(turningSpinners: true)
      case .draw: isDrawingLater = false
      case .due(let event, let number):
        let place = LiveFocus(widget: event.widget, node: event.node, kind: .control)
        guard waiting[place] == number else { return true }
        waiting[place] = nil
        live.send(event, post)
        return true
      case .refused(let event, let words): board.refused(event, words)
      case .said(let words): board.notice = words
      case .failed(let error): throw error
      }
      if isDrawingLater { return true }
      let rest = LiveSession.pause - (ContinuousClock.now - drawnAt)
      if rest > .zero {
        isDrawingLater = true
        Task {
          try? await Task.sleep(for: rest)
          post.yield(.draw)
        }
        return true
      }
      try draw(to: terminal)
      wakeUp(post)
      return true
    }

    mutating func draw(to terminal: TerminalSession) throws {
      let (grid, cursor) = board.picture()
      let text = screen.next(grid, cursor: cursor)
      if !text.isEmpty { try terminal.write(text) }
      drawnAt = .now
    }

    /// Sleeps until something changes by itself.
    private mutating func wakeUp(_ post: AsyncStream<News>.Continuation) {
      let delay = board.quiet
      guard delay != timer?.delay else { return }
      timer?.task.cancel()
      timer = delay.map { delay in
        let task = Task {
          guard (try? await Task.sleep(for: delay)) != nil else { return }
          post.yield(.timeHasPassed)
        }
        return (task, delay)
      }
    }

    private mutating func carryOut(
      _ effect: LiveBoard.Effect, _ live: LiveSession, _ terminal: TerminalSession,
      _ post: AsyncStream<News>.Continuation
    ) -> Bool {
      switch effect {
      case .send(let event, nil): live.send(event, post)
      case .send(let event, let delay?):
        lastNumber += 1
        let number = lastNumber
        waiting[LiveFocus(widget: event.widget, node: event.node, kind: .control)] = number
        Task {
          try? await Task.sleep(for: delay)
          post.yield(.due(event, number: number))
        }
      case .refresh(let id): live.refresh(id, post)
      case .save(let text, let replaces):
        guard let file = live.options.arrangementFile else { break }
        board.saved(text, file.write(text, replaces: replaces), path: file.path)
      case .suspend: terminal.suspend()
      case .quit: return false
      }
      return true
    }
  }

  private func send(_ event: LiveEvent, _ post: AsyncStream<News>.Continuation) {
    let request = SendEventRequest(
      widgetID: event.widget, nodeID: event.node, name: event.name, payload: event.payload,
      client: "widgetctl")
    Task {
      do throws(ClientError) {
        _ = try await session.client.sendEvent(request, options: session.options)
      } catch {
        post.yield(.refused(event, CommandFailure(error).message))
      }
    }
  }

  private func refresh(_ id: WidgetID, _ post: AsyncStream<News>.Continuation) {
    Task {
      do throws(ClientError) {
        _ = try await session.client.refreshWidgets(
          RefreshWidgetsRequest(.selector(Selector(ids: [id]))), options: session.options)
        post.yield(.said("\(id): asked to read its sources again"))
      } catch {
        post.yield(.said(CommandFailure(error).message))
      }
    }
  }
}
