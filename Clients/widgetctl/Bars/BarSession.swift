import Dispatch
import Glibc
import WidgetBar
import WidgetClient
import WidgetModel

/// The signals by which i3bar and swaybar say that the bar is hidden, and shown again.
///
/// Not SIGSTOP, which they send by default: the watch goes on, and what changed is there at once.
enum BarSignals {
  static let stop = SIGUSR1
  static let go = SIGUSR2
}

/// Runs a status bar's text: brings frames, clicks and time to a board, and writes what it says.
struct BarSession: Sendable {
  private enum News: Sendable {
    case frame(WatchFrame)
    case kinds([Kind])
    case timeHasPassed
    case clicked(String)
    case isShown(Bool)
    case failed(any Error)
  }

  /// The least time between two texts: what happens in between is in the later one.
  static let pause = Duration.milliseconds(50)
  /// A bar waits for a daemon for as long as it takes, and is started before it.
  static let retry = RetryPolicy(delayInitial: .milliseconds(50), delayMax: .seconds(5))
  /// The longest line that a bar may write to say where it was clicked.
  static let clickBytesMax = 64 << 10

  let session: Session
  let selector: Selector
  let family: Family
  /// Whether one text is wanted, as soon as there is one.
  var isOnce = false

  /// Writes texts until the bar is gone.
  func run(_ board: BarBoard) async throws {
    let (news, post) = AsyncStream<News>.makeStream()
    let (taken, take) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let options = WatchOptions(
      selector: selector, minInterval: Self.pause, retry: Self.retry, contentFamily: family,
      includeTheme: true)
    let watch = Task {
      do {
        // While the bar takes no text, no frames are read: the daemon conflates them.
        var taken = taken.makeAsyncIterator()
        for try await frame in session.client.watch(options) {
          post.yield(.frame(frame))
          await taken.next()
        }
      } catch {
        post.yield(.failed(error))
      }
    }
    defer { watch.cancel() }
    let signals = isOnce ? [] : follow(board.encoder.format, post)
    defer { for source in signals { source.cancel() } }
    if !board.header.isEmpty, !isOnce { Output.write(board.header) }
    var state = State(board: board)
    for await happened in news {
      switch happened {
      case .frame(let frame):
        try state.board.take(frame)
        state.look(self, post)
        take.yield()
      case .kinds(let kinds):
        for kind in kinds { state.board.describe(kind) }
      case .timeHasPassed: state.timer = nil
      case .clicked(let line):
        click(line, state.board)
        continue
      case .isShown(let isShown): state.isShown = isShown
      case .failed(let error): throw error
      }
      guard state.isShown else { continue }
      let dates = DateText(now: Terminal.now)
      if let text = state.board.next(dates) {
        Output.write(text)
        if isOnce { return }
      }
      state.wakeUp(dates, post)
    }
  }

  /// What changes while it runs.
  private struct State {
    var board: BarBoard
    var isShown = true
    var timer: (task: Task<Void, Never>, delay: Duration)?
    private var asked: Set<KindName> = []

    init(board: BarBoard) { self.board = board }

    /// Sleeps until a date says something else.
    mutating func wakeUp(_ dates: DateText, _ post: AsyncStream<News>.Continuation) {
      let delay = board.quiet(dates)
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

    /// Asks what kinds declare, once for each, if the bar must know which buttons they take.
    mutating func look(_ bar: BarSession, _ post: AsyncStream<News>.Continuation) {
      guard board.encoder.format == .polybar || board.encoder.format.takesClicks else { return }
      let new = Set(board.widgets.map(\.kind)).subtracting(asked)
      guard !new.isEmpty else { return }
      asked.formUnion(new)
      Task {
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

  // MARK: - What the bar says

  /// Tells of clicks and of signals, if the bar sends any.
  private func follow(
    _ format: BarFormat, _ post: AsyncStream<News>.Continuation
  ) -> [any DispatchSourceProtocol] {
    if format.takesClicks {
      let lines = DispatchQueue(label: "widgetctl.clicks")
      lines.async { BarSession.readLines { post.yield(.clicked($0)) } }
    }
    guard format == .i3bar || format == .swaybar else { return [] }
    return [BarSignals.stop, BarSignals.go].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { post.yield(.isShown(number == BarSignals.go)) }
      source.resume()
      return source
    }
  }

  /// Reads standard input to its end. Lines that are too long are dropped.
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

  /// Sends what a line says was clicked. Lines that say nothing are left out.
  private func click(_ line: String, _ board: BarBoard) {
    guard let json = I3Click.json(in: line), let value = try? JSONReader.value(of: json),
      let click = I3Click(value),
      let widget = board.clicked(click)
    else { return }
    Task {
      do {
        try await BarSession.send(click.click, on: widget, kind: board.kinds[widget.kind], session)
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

  /// Sends the event that a click on a widget is. Does nothing if it takes none.
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
  /// The widget that was clicked; the only one, if the bar does not say which.
  func clicked(_ click: I3Click) -> Widget? {
    if let id = click.widget { return mirror[id] }
    let all = widgets
    return all.count == 1 ? all[0] : nil
  }
}
