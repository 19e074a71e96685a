import Glibc
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

/// Runs a dashboard: feeds frames, input and time to a `LiveBoard`, and carries out its effects.
struct LiveSession {
  /// An event of the session's loop.
  private enum News: Sendable {
    /// A frame of a feed, or of the main watch if `feed` is nil.
    case frame(WatchFrame, feed: Int?)
    case terminal(TerminalEvent)
    case timeHasPassed
    case draw
    case step
    case due(LiveEvent, number: Int)
    case accepted(LiveEvent, SendEventResponse)
    case refused(LiveEvent, String)
    case said(String)
    case described(ProviderFacts)
    /// The ids of all widgets.
    case known([String])
    case picture(String, LivePictures.State)
    case failed(any Error)

    /// Whether the user causes it. Its redraw then comes sooner.
    var isOfUser: Bool { if case .terminal = self { true } else { false } }
  }

  let session: Session
  let watch: WatchOptions
  let options: LiveOptions
  let look: CellLook
  let capabilities: TerminalCapabilities
  let follow: FollowOptions
  /// The way to draw pictures at first. Nil if pictures are not drawn.
  var images: TerminalCapabilities.Images?
  /// Whether to ask the terminal which protocols for pictures it has.
  var asksForImages = false

  /// The minimum time between redraws after a key or a mouse event.
  private static let inputPause = Duration.milliseconds(16)
  /// The minimum time between redraws for the daemon's frames, and between these frames.
  static let framePause = Duration.milliseconds(40)
  /// The maximum time for which the end waits for events under way.
  static let farewell = Duration.seconds(1)
  /// The maximum time for which the end waits for the terminal's answers. The shell would read
  /// later answers as typed text.
  private static let answersMax = Duration.milliseconds(500)
  /// If a write to the terminal takes longer, the next redraws are not animated.
  private static let slowWrite = Duration.milliseconds(20)

  /// Shows the widgets until the user quits, the terminal closes, or all named ones are dismissed.
  func run() async throws {
    let terminal: TerminalSession
    do throws(TerminalError) {
      terminal = try TerminalSession(modes: TerminalModes(mouseMovement: true))
    } catch {
      throw CommandFailure(.usage, "a dashboard needs a terminal: \(error)")
    }
    defer { terminal.stop() }
    let input: AsyncStream<TerminalEvent>
    do throws(TerminalError) {
      input = try terminal.events()
    } catch {
      throw CommandFailure(.otherError, "\(error)")
    }
    let (news, post) = AsyncStream<News>.makeStream()
    // Backpressure: a watch reads its next frame after the loop has handled the last one. Meanwhile
    // the daemon conflates changes.
    let watches: [(feed: Int?, options: WatchOptions)] =
      [(nil, watch)]
      + options.feeds.enumerated().map { index, feed in
        var watch = WatchOptions(selector: feed.selector, contentFamily: feed.family)
        watch.retry = self.watch.retry
        watch.minInterval = self.watch.minInterval
        watch.upcomingEntries = self.watch.upcomingEntries
        watch.isRedacted = self.watch.isRedacted
        watch.liveness = self.watch.liveness
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
    // The same for input, which waits in the terminal session's bounded buffer.
    let (keysTaken, takeKeys) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    tasks.append(
      Task {
        var taken = keysTaken.makeAsyncIterator()
        for await event in input {
          post.yield(.terminal(event))
          await taken.next()
        }
      })
    defer { for task in tasks { task.cancel() } }
    let asked = ContinuousClock.now
    var isAnswered = false
    try? terminal.write(TerminalQuery.background)
    if asksForImages {
      // Old terminals with few colours would print the query as text.
      let canBeAsked = !capabilities.isMultiplexed && capabilities.depth >= .palette256
      try? terminal.write((canBeAsked ? TerminalQuery.graphics : "") + TerminalQuery.attributes)
    }
    var state = State(
      board: LiveBoard(options: options, size: terminal.size, look: look),
      screen: ScreenUpdate(
        encoder: ANSIEncoder(depth: capabilities.depth, writesLinks: capabilities.hasLinks)),
      capabilities: capabilities,
      timer: WakeTimer(session.client) { post.yield(.timeHasPassed) })
    state.board.pictures.method = images
    state.measureCells(terminal)
    defer { try? terminal.write(state.sprites.removal(state.board.pictures)) }
    try state.draw(to: terminal)
    var arrivals = news.makeAsyncIterator()
    while let happened = await arrivals.next() {
      if endsAnswers(happened) { isAnswered = true }
      guard try state.take(happened, self, terminal, post) else {
        state.sendWaiting(self, post)
        await state.settle()
        let rest = LiveSession.answersMax - (ContinuousClock.now - asked)
        guard !isAnswered, rest > .zero else { return }
        let end = Task {
          try? await Task.sleep(for: rest)
          post.finish()
        }
        defer { end.cancel() }
        takeKeys.yield()
        while let late = await arrivals.next(), !endsAnswers(late) { takeKeys.yield() }
        return
      }
      if case .terminal = happened { takeKeys.yield() }
      if case .frame(_, let feed) = happened {
        gates[feed.map { $0 + 1 } ?? 0].continuation.yield()
      }
    }
  }

  /// Whether the terminal sends no more answers. It answers in order, and a closed terminal does
  /// not answer.
  private func endsAnswers(_ news: News) -> Bool {
    switch news {
    case .terminal(.ended): true
    case .terminal(.input(.attributes)): asksForImages
    case .terminal(.input(.background)): !asksForImages
    default: false
    }
  }

  /// The mutable state of the loop.
  private struct State {
    var board: LiveBoard
    var screen: ScreenUpdate
    var sprites = SpriteUpdate()
    private var capabilities: TerminalCapabilities
    private var drawnAt = ContinuousClock.now - LiveSession.framePause
    private var isDrawingLater = false
    private var isStepping = false
    /// Whether the missing ids of the first snapshot were looked for.
    private var hasAskedForNames = false
    /// Fires at the next change that time alone causes.
    private var timer: WakeTimer
    /// Debounced events: the last one of each node, and its number. Earlier ones are dropped.
    private var waiting: [LiveFocus: (number: Int, event: LiveEvent)] = [:]
    private var lastNumber = 0
    /// The last picture load. The next one waits for it.
    private var loading: Task<Void, Never>?
    /// The last event sent to each widget. The next one waits for its answer.
    private var sending: [WidgetID: Task<Void, Never>] = [:]

    init(
      board: LiveBoard, screen: ScreenUpdate, capabilities: TerminalCapabilities, timer: WakeTimer
    ) {
      (self.board, self.screen, self.capabilities) = (board, screen, capabilities)
      self.timer = timer
    }

    mutating func measureCells(_ terminal: TerminalSession) {
      guard let cell = terminal.cellPixels,
        (cell.width, cell.height) != (board.pictures.cellWidth, board.pictures.cellHeight)
      else { return }
      (board.pictures.cellWidth, board.pictures.cellHeight) = cell
      sprites.forget()
    }

    /// Handles one event and redraws if due. Returns false at the end.
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
        if !hasAskedForNames, board.mirror.isSynced {
          hasAskedForNames = true
          if !board.missing.isEmpty { live.askForNames(post) }
        }
      case .known(let ids): board.suggest(among: ids)
      case .terminal(.ended): return false
      case .terminal(.resized(let size)):
        measureCells(terminal)
        // A resize rewrites the whole screen, which clears pictures.
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
      case .picture(let source, let state): board.take(picture: source, state)
      case .terminal(.input(.background(let red, let green, let blue))):
        let isLight = Int(red) * 299 + Int(green) * 587 + Int(blue) * 114 > 128_000
        if live.options.followsBackground { board.look.appearance = isLight ? .light : .dark }
      case .terminal(.input(let input)):
        if case .mouse(let event) = input, event.action == .move {
          // Most pointer moves leave the hover as it is and need no redraw.
          let before = board.hover
          _ = board.take(input)
          if board.hover == before { return true }
          break
        }
        for effect in board.take(input) {
          guard carryOut(effect, live, terminal, post) else { return false }
        }
      case .timeHasPassed:
        timer.hasFired()
        board.timeHasPassed(turningSpinners: true)
      case .draw: isDrawingLater = false
      case .step:
        isStepping = false
        board.moveOn()
      case .due(let event, let number):
        let place = LiveFocus(widget: event.widget, node: event.node, kind: .control)
        guard waiting[place]?.number == number else { return true }
        waiting[place] = nil
        send(event, live, post)
        return true
      case .accepted(let event, let response): board.accepted(event, response)
      case .refused(let event, let words): board.refused(event, words)
      case .said(let words): board.notice = words
      case .described(let facts): board.describe(facts)
      case .failed(let error): throw error
      }
      guard !board.isDismissed else { return false }
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
      // Load pictures one at a time to bound the memory that decoding takes.
      for source in board.picturesToLoad() {
        loading = Task.detached { [loading] in
          await loading?.value
          post.yield(.picture(source, LivePictures.load(source)))
        }
      }
      for event in board.pictureEvents() { send(event, live, post) }
      for name in board.kindsToDescribe() { live.describe(name, post) }
      timer.set(board.quiet)
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
        // Pictures are drawn at the cursor, so restore the cursor after them.
        text += pictures.text + screen.next(grid, cursor: cursor, drawn: [])
      }
      let start = ContinuousClock.now
      if !text.isEmpty { try terminal.write(text) }
      drawnAt = .now
      if !text.isEmpty { board.isLinkSlow = drawnAt - start > LiveSession.slowWrite }
    }

    private mutating func send(
      _ event: LiveEvent, _ live: LiveSession, _ post: AsyncStream<News>.Continuation
    ) {
      sending[event.widget] = live.send(event, after: sending[event.widget], post)
    }

    /// Sends debounced events now, so that earlier typed text arrives before the press.
    ///
    /// - Parameter widget: Nil for those of all widgets.
    mutating func sendWaiting(
      of widget: WidgetID? = nil, _ live: LiveSession, _ post: AsyncStream<News>.Continuation
    ) {
      let due = waiting.filter { widget == nil || $0.key.widget == widget }
      for (place, held) in due.sorted(by: { $0.value.number < $1.value.number }) {
        waiting[place] = nil
        send(held.event, live, post)
      }
    }

    /// Waits a short time until the events are sent.
    func settle() async {
      let tasks = Array(sending.values)
      guard !tasks.isEmpty else { return }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { for task in tasks { await task.value } }
        group.addTask { try? await Task.sleep(for: LiveSession.farewell) }
        await group.next()
        group.cancelAll()
        for task in tasks { task.cancel() }
      }
    }

    private mutating func carryOut(
      _ effect: LiveBoard.Effect, _ live: LiveSession, _ terminal: TerminalSession,
      _ post: AsyncStream<News>.Continuation
    ) -> Bool {
      switch effect {
      case .send(let event, nil):
        // The submission includes the text of a debounced change, so drop that change.
        if event.name == "submit" {
          waiting[LiveFocus(widget: event.widget, node: event.node, kind: .control)] = nil
        }
        sendWaiting(of: event.widget, live, post)
        send(event, live, post)
      case .send(let event, let delay?):
        lastNumber += 1
        let number = lastNumber
        waiting[LiveFocus(widget: event.widget, node: event.node, kind: .control)] = (number, event)
        Task {
          try? await Task.sleep(for: delay)
          post.yield(.due(event, number: number))
        }
      case .refresh(let id): live.refresh(id, post)
      case .describe(let name): live.describe(name, post)
      case .copy(let text):
        // OSC 52. Many terminals accept it only if their user allows it.
        try? terminal.write("\u{1B}]52;c;\(PaddedBase64.encode(Array(text.utf8)))\u{1B}\\")
      case .save(let text, let replaced):
        guard let file = live.options.arrangementFile else { break }
        board.saved(text, file.write(text, replacing: replaced), path: file.path)
      case .suspend: terminal.suspend()
      case .quit: return false
      }
      return true
    }
  }

  /// Sends an event after the last one of its widget was answered. This keeps events and answers in
  /// order.
  private func send(
    _ event: LiveEvent, after last: Task<Void, Never>?, _ post: AsyncStream<News>.Continuation
  ) -> Task<Void, Never> {
    Task {
      await last?.value
      do {
        let (payload, blobs) = try await payload(of: event)
        let request = SendEventRequest(
          widgetID: event.widget, nodeID: event.node, name: event.name,
          payload: payload, client: "widgetctl",
          wantsOutcome: ["submit", "change"].contains(event.name)
            || options.ids.contains(event.widget))
        let answer = try await Upload.send(request, with: blobs, session)
        post.yield(.accepted(event, answer))
      } catch let error as ClientError {
        post.yield(.refused(event, CommandFailure(error).message))
      } catch {
        post.yield(.refused(event, (error as? CommandFailure)?.message ?? "\(error)"))
      }
    }
  }

  /// Fetches a kind, for the details and the reason of staleness. Ignores errors: both then omit
  /// the kind's facts. Fetches the status widgets of the kind's host too, if the watch leaves them
  /// out.
  private func describe(_ name: KindName, _ post: AsyncStream<News>.Continuation) {
    Task {
      var facts = ProviderFacts()
      let found = try? await session.client.getKind(
        GetKindRequest(name: name), options: session.options)
      facts.kinds[name] = found?.kind
      if options.isSelection || !options.ids.isEmpty {
        await facts.look(atProvidersOf: [name], session)
      }
      post.yield(.described(facts))
    }
  }

  /// Asks for the ids of all widgets.
  private func askForNames(_ post: AsyncStream<News>.Continuation) {
    Task { post.yield(.known(await session.ids())) }
  }

  /// Uploads the event's files.
  ///
  /// - Returns: the payload with blob ids in place of the paths, and these ids.
  private func payload(of event: LiveEvent) async throws -> (ValueMap, blobs: [String]) {
    var payload = event.payload
    let files = Array(event.files)
    let blobs = try await Upload.run(files.map { $0.value }, session)
    for ((name, _), id) in zip(files, blobs) {
      let blob = Value.string(id)
      if case .map(var values)? = payload["values"] {
        values[name] = blob
        payload["values"] = .map(values)
      } else {
        payload[name] = blob
      }
    }
    return (payload, blobs)
  }

  private func refresh(_ id: WidgetID, _ post: AsyncStream<News>.Continuation) {
    Task {
      do throws(ClientError) {
        let answer = try await session.client.refreshWidgets(
          RefreshWidgetsRequest(.selector(Selector(ids: [id]))), options: session.options)
        post.yield(
          .said(
            answer.askedCount > 0
              ? "\(id): asked its provider for fresh data" : "\(id): no provider is running for it")
        )
      } catch {
        post.yield(.said(CommandFailure(error).message))
      }
    }
  }
}

extension TerminalInput {
  /// Whether this is the terminal's answer to a query about pictures.
  fileprivate var isAboutImages: Bool {
    switch self {
    case .attributes, .graphics: true
    default: false
    }
  }
}
