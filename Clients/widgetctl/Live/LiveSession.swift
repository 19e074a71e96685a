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
    case step
    case due(LiveEvent, number: Int)
    case accepted(LiveEvent, SendEventResponse)
    case refused(LiveEvent, String)
    case said(String)
    case kind(RegisteredKind)
    case picture(String, LivePictures.State)
    case failed(any Error)

    /// Whether somebody waits for what it does.
    var isOfUser: Bool { if case .terminal = self { true } else { false } }
  }

  let session: Session
  let watch: WatchOptions
  let options: LiveOptions
  let look: CellLook
  let capabilities: TerminalCapabilities
  let follow: FollowOptions
  /// How pictures are shown at first; nil for not at all.
  var images: TerminalCapabilities.Images?
  /// Whether the terminal's answers say how.
  var asksForImages = false

  /// Pictures that answer a key or the mouse come at most so often.
  private static let inputPause = Duration.milliseconds(16)
  /// Pictures of what the daemon says come at most so often, and so do its frames.
  static let framePause = Duration.milliseconds(40)
  /// A terminal that takes longer for a picture gets no motion with the next ones.
  private static let slowWrite = Duration.milliseconds(20)

  /// Shows the widgets until the user quits or the terminal is gone.
  func run() async throws {
    let terminal: TerminalSession
    do throws(TerminalError) {
      terminal = try TerminalSession(modes: TerminalModes(mouseMovement: true))
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
    // Keys wait in the session's buffer, which is bounded.
    let (keysTaken, takeKeys) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    tasks.append(
      Task {
        var taken = keysTaken.makeAsyncIterator()
        for await event in terminal.events() {
          post.yield(.terminal(event))
          await taken.next()
        }
      })
    defer { for task in tasks { task.cancel() } }
    try? terminal.write(TerminalQuery.background)
    if asksForImages {
      // Old terminals, with few colours, would show the question.
      let canBeAsked = !capabilities.isMultiplexed && capabilities.depth >= .palette256
      try? terminal.write((canBeAsked ? TerminalQuery.graphics : "") + TerminalQuery.attributes)
    }
    var state = State(
      board: LiveBoard(options: options, size: terminal.size, look: look),
      screen: ScreenUpdate(
        encoder: ANSIEncoder(depth: capabilities.depth, writesLinks: capabilities.hasLinks)),
      capabilities: capabilities)
    state.board.pictures.method = images
    state.measureCells(terminal)
    defer { try? terminal.write(state.sprites.removal(state.board.pictures)) }
    try state.draw(to: terminal)
    for await happened in news {
      guard try state.take(happened, self, terminal, post) else { return }
      if case .terminal = happened { takeKeys.yield() }
      if case .frame(_, let feed) = happened {
        gates[feed.map { $0 + 1 } ?? 0].continuation.yield()
      }
    }
  }

  /// What changes while it runs.
  private struct State {
    var board: LiveBoard
    var screen: ScreenUpdate
    var sprites = SpriteUpdate()
    private var capabilities: TerminalCapabilities
    private var drawnAt = ContinuousClock.now - LiveSession.framePause
    private var isDrawingLater = false
    private var isStepping = false
    private var timer: (task: Task<Void, Never>, delay: Duration)?
    /// Events that wait for a rest of the keys: of one node only the last is sent.
    private var waiting: [LiveFocus: Int] = [:]
    private var lastNumber = 0
    /// The last picture that is read.
    private var loading: Task<Void, Never>?
    /// The last event that was sent, by widget.
    private var sending: [WidgetID: Task<Void, Never>] = [:]

    init(board: LiveBoard, screen: ScreenUpdate, capabilities: TerminalCapabilities) {
      (self.board, self.screen, self.capabilities) = (board, screen, capabilities)
    }

    mutating func measureCells(_ terminal: TerminalSession) {
      guard let cell = terminal.cellPixels,
        (cell.width, cell.height) != (board.pictures.cellWidth, board.pictures.cellHeight)
      else { return }
      (board.pictures.cellWidth, board.pictures.cellHeight) = cell
      sprites.forget()
    }

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
      case .terminal(.resized(let size)):
        measureCells(terminal)
        // Another size is written whole, and that clears pictures.
        if size != board.size { sprites.forget() }
        board.resize(size)
      case .terminal(.resumed(let size)):
        screen.forget()
        sprites.forget()
        measureCells(terminal)
        board.resize(size)
      case .terminal(.input(let answer)) where live.asksForImages && answer.isAboutImages:
        capabilities = capabilities.after(answer)
        guard capabilities.images != board.pictures.method else { return true }
        board.pictures.method = capabilities.images
      case .picture(let source, let state): board.pictures.take(source, state)
      case .terminal(.input(.background(let red, let green, let blue))):
        let isLight = Int(red) * 299 + Int(green) * 587 + Int(blue) * 114 > 128_000
        if live.options.followsBackground { board.look.appearance = isLight ? .light : .dark }
      case .terminal(.input(let input)):
        if case .mouse(let event) = input, event.action == .move {
          // The pointer crosses many cells between one thing and the next.
          let before = board.hover
          _ = board.take(input)
          if board.hover == before { return true }
          break
        }
        for effect in board.take(input) {
          guard carryOut(effect, live, terminal, post) else { return false }
        }
      case .timeHasPassed:
        timer = nil
        board.timeHasPassed(turningSpinners: true)
      case .draw: isDrawingLater = false
      case .step:
        isStepping = false
        board.moveOn()
      case .due(let event, let number):
        let place = LiveFocus(widget: event.widget, node: event.node, kind: .control)
        guard waiting[place] == number else { return true }
        waiting[place] = nil
        send(event, live, post)
        return true
      case .accepted(let event, let response): board.accepted(event, response)
      case .refused(let event, let words): board.refused(event, words)
      case .said(let words): board.notice = words
      case .kind(let kind): board.describe(kind)
      case .failed(let error): throw error
      }
      let pause = news.isOfUser ? LiveSession.inputPause : LiveSession.framePause
      let rest = pause - (ContinuousClock.now - drawnAt)
      if rest > .zero {
        if isDrawingLater { return true }
        isDrawingLater = true
        Task {
          try? await Task.sleep(for: rest)
          post.yield(.draw)
        }
        return true
      }
      try draw(to: terminal)
      // One after the other: each takes memory while it is decoded.
      for source in board.picturesToLoad() {
        loading = Task.detached { [loading] in
          await loading?.value
          post.yield(.picture(source, LivePictures.load(source)))
        }
      }
      for event in board.pictureEvents() { send(event, live, post) }
      wakeUp(post)
      if board.isMoving, !isStepping {
        isStepping = true
        Task {
          try? await Task.sleep(for: LiveCanvas.stepDuration)
          post.yield(.step)
        }
      }
      return true
    }

    mutating func draw(to terminal: TerminalSession) throws {
      let picture = board.picture()
      let (grid, cursor) = (picture.grid, picture.cursor)
      let pictures = sprites.next(board.sprites, board.pictures)
      if pictures.isScreenLost { screen.forget() }
      var text = screen.next(
        grid, cursor: pictures.text.isEmpty ? cursor : nil, drawn: picture.drawnRows)
      if !pictures.text.isEmpty {
        // The cursor is put back behind the pictures, which are drawn where it stands.
        text += pictures.text + screen.next(grid, cursor: cursor, drawn: [])
      }
      let start = ContinuousClock.now
      if !text.isEmpty { try terminal.write(text) }
      drawnAt = .now
      if !text.isEmpty { board.isLinkSlow = drawnAt - start > LiveSession.slowWrite }
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

    private mutating func send(
      _ event: LiveEvent, _ live: LiveSession, _ post: AsyncStream<News>.Continuation
    ) {
      sending[event.widget] = live.send(event, after: sending[event.widget], post)
    }

    private mutating func carryOut(
      _ effect: LiveBoard.Effect, _ live: LiveSession, _ terminal: TerminalSession,
      _ post: AsyncStream<News>.Continuation
    ) -> Bool {
      switch effect {
      case .send(let event, nil):
        // A change that waits is part of what is submitted.
        if event.name == "submit" {
          waiting[LiveFocus(widget: event.widget, node: event.node, kind: .control)] = nil
        }
        send(event, live, post)
      case .send(let event, let delay?):
        lastNumber += 1
        let number = lastNumber
        waiting[LiveFocus(widget: event.widget, node: event.node, kind: .control)] = number
        Task {
          try? await Task.sleep(for: delay)
          post.yield(.due(event, number: number))
        }
      case .refresh(let id): live.refresh(id, post)
      case .describe(let name): live.describe(name, post)
      case .copy(let text):
        // OSC 52: what the terminal makes of it is its user's setting.
        try? terminal.write("\u{1B}]52;c;\(PaddedBase64.encode(Array(text.utf8)))\u{1B}\\")
      case .save(let text, let replaces):
        guard let file = live.options.arrangementFile else { break }
        board.saved(text, file.write(text, replaces: replaces), path: file.path)
      case .suspend: terminal.suspend()
      case .quit: return false
      }
      return true
    }
  }

  /// Sends an event after the one before it: events of one widget stay in order, and so do their answers.
  private func send(
    _ event: LiveEvent, after last: Task<Void, Never>?, _ post: AsyncStream<News>.Continuation
  ) -> Task<Void, Never> {
    Task {
      await last?.value
      do {
        let request = SendEventRequest(
          widgetID: event.widget, nodeID: event.node, name: event.name,
          payload: try await payload(of: event), client: "widgetctl")
        let answer = try await session.client.sendEvent(request, options: session.options)
        post.yield(.accepted(event, answer))
      } catch let error as ClientError {
        post.yield(.refused(event, CommandFailure(error).message))
      } catch {
        post.yield(.refused(event, (error as? CommandFailure)?.message ?? "\(error)"))
      }
    }
  }

  /// Says no word if it fails: the details do without.
  private func describe(_ name: KindName, _ post: AsyncStream<News>.Continuation) {
    Task {
      let found = try? await session.client.getKind(
        GetKindRequest(name: name), options: session.options)
      if let found { post.yield(.kind(found.kind)) }
    }
  }

  /// The payload, with the blobs of uploaded files in place of their paths.
  private func payload(of event: LiveEvent) async throws -> ValueMap {
    var payload = event.payload
    for (name, path) in event.files {
      let blob = Value.string(try await Upload.run(path, session))
      if case .map(var values)? = payload["values"] {
        values[name] = blob
        payload["values"] = .map(values)
      } else {
        payload[name] = blob
      }
    }
    return payload
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

extension TerminalInput {
  /// Whether a terminal answers how it shows pictures.
  fileprivate var isAboutImages: Bool {
    switch self {
    case .attributes, .graphics: true
    default: false
    }
  }
}
