import WidgetClient
import WidgetModel

/// The options that commands that follow a stream share.
struct FollowOptions: Sendable {
  /// Waits are short, because a user is watching.
  static let retry = RetryPolicy(delayInitial: .milliseconds(50), delayMax: .seconds(2))

  let global: GlobalValues
  /// Whether to wait for a daemon that cannot be reached at first.
  let waits: Bool

  /// The needed global options, as a value that tasks may share.
  struct GlobalValues: Sendable {
    let limit: Duration?
    let saysMore: Bool
    let session: @Sendable (_ waits: Bool) throws(CommandFailure) -> Session
  }

  init(global: GlobalOptions, waits: Bool) {
    self.waits = waits
    let (socket, timeout, output) = (global.socket, global.timeout, global.output)
    let (verbose, noColor) = (global.verbose, global.noColor)
    self.global = GlobalValues(
      limit: global.limit, saysMore: verbose || Terminal.errorIsTerminal
    ) { (waits) throws(CommandFailure) in
      var global = GlobalOptions()
      global.socket = socket
      global.timeout = timeout
      global.output = output
      global.verbose = verbose
      global.noColor = noColor
      do throws(ClientError) {
        return global.session(socketPath: try SocketPath.discover(explicit: socket))
      } catch {
        guard waits, case .socketNotFound(let tried) = error, let first = tried.first else {
          throw CommandFailure(error)
        }
        return global.session(socketPath: first)
      }
    }
  }

  func session() throws(CommandFailure) -> Session { try global.session(waits) }

  /// Reports ids without a widget on standard error. They may be intended or mistyped.
  static func noteMissing(of ids: [WidgetID], _ session: Session) async throws(ClientError) {
    guard !ids.isEmpty else { return }
    let there = try await session.list(Selector(ids: ids), mask: .idsOnly).widgets
    await noteMissing(of: ids, among: Set(there.map(\.widget.id)), waits: true, session)
  }

  /// The same, with the ids of existing widgets given.
  static func noteMissing(
    of ids: [WidgetID], among there: Set<WidgetID>, waits: Bool, _ session: Session
  ) async {
    var told = there
    let missing = ids.filter { told.insert($0).inserted }
    guard !missing.isEmpty else { return }
    let all = await session.ids()
    for id in missing {
      if !waits, session.printer.writesJSON, !all.contains(id.rawValue) {
        Main.report(failure(forMissing: id, among: all), isJSON: true)
      } else {
        Output.writeError("widgetctl: \(missingText(of: id, among: all, waits: waits))\n")
      }
    }
  }

  /// The failure of a command that does not wait for a widget, and ends with the status of a missing
  /// one.
  static func failure(forMissing id: WidgetID, among all: [String]) -> CommandFailure {
    var failure = CommandFailure(.notFound, missingText(of: id, among: all, waits: false))
    (failure.code, failure.reason) = (StatusCode.notFound.name, "WIDGET_NOT_FOUND")
    failure.metadata = ["widget_id": id.rawValue]
    return failure
  }

  /// The message for a widget that a command names and the daemon does not deliver.
  ///
  /// - Parameter all: the ids of all widgets. A widget that is among them is left out by the
  ///   labels, the kind or the expression that the command also gives.
  static func missingText(of id: WidgetID, among all: [String], waits: Bool) -> String {
    if all.contains(id.rawValue) {
      return "widget \"\(id)\" does not match the selection (-l, --kind, --family, --where)"
        + (waits ? " yet; waiting for it" : "")
    }
    guard waits else {
      return NearestName.bundleText(id.rawValue, among: all)
        ?? "there is no widget \"\(id)\"; "
        + (id.rawValue.closest(among: all).map { "did you mean \"\($0)\"?" }
          ?? "`widgetctl ls` lists them")
    }
    let missing = "no widget \"\(id)\" yet; waiting for it"
    if NearestName.bundleText(id.rawValue, among: all) != nil {
      return missing
        + "; there is a bundle with this id: `widgetctl bundle ls` shows whether it runs"
    }
    return missing + (id.rawValue.closest(among: all).map { "; did you mean \"\($0)\"?" } ?? "")
  }

  /// Runs the work, for as long as `--timeout` allows. At the end of the time, the failure says
  /// whether the daemon answers.
  func limited(_ work: @escaping @Sendable () async throws -> Void) async throws {
    guard let limit = global.limit else { return try await work() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await work() }
      group.addTask {
        let start = ContinuousClock.now
        let answerMax = min(limit / 2, FollowOptions.lastAnswerMax)
        try await Task.sleep(for: limit - answerMax)
        let problem = await self.problem(within: answerMax)
        try await Task.sleep(until: start + limit, clock: .continuous)
        throw FollowOptions.timedOut(after: limit, problem)
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// The longest wait for the answer that tells a daemon that hangs from one without news.
  private static let lastAnswerMax = Duration.seconds(1)

  /// Why the daemon does not answer. Nil if it does.
  private func problem(within limit: Duration) async -> ClientError? {
    guard let session = try? session() else { return nil }
    do throws(ClientError) {
      _ = try await session.client.getTheme(options: CallOptions(timeout: limit))
      return nil
    } catch {
      switch error {
      case .deadlineExceeded:
        return .unresponsive(socketPath: session.client.socketPath, answerMax: limit)
      case .unavailable: return error
      default: return nil
      }
    }
  }

  /// The shortest time after which a daemon without an answer counts as one that hangs. A daemon that
  /// works can need longer than a part of a shorter time.
  private static let judgedMin = Duration.seconds(1)

  /// The failure at the end of `--timeout`.
  ///
  /// - Parameter problem: why the daemon does not answer; nil if it does.
  static func timedOut(after limit: Duration, _ problem: ClientError?) -> CommandFailure {
    let start = "not done within \(DurationSyntax.seconds(limit))"
    guard let problem, limit >= judgedMin || !problem.isSilence else {
      return CommandFailure(.timedOut, "\(start); allow more with --timeout")
    }
    return CommandFailure(.timedOut, "\(start): \(CommandFailure(problem).message)")
  }
}

/// Reports on standard error that the connection is lost, and that it is back. On a terminal and with
/// --verbose, also reports other news of the stream. Fails if there never was a connection.
struct ConnectionNotes {
  private let follow: FollowOptions
  private var wasOpen = false
  private var isLost = false
  private var isHanging = false

  init(_ follow: FollowOptions) { self.follow = follow }

  private func say(_ text: String) { Output.writeError("widgetctl: \(text)\n") }

  private func sayMore(_ text: String) {
    if follow.global.saysMore { say(text) }
  }

  private mutating func lost(_ error: ClientError) throws(ClientError) {
    guard wasOpen || follow.waits else { throw error }
    let wasHanging = isHanging
    isHanging = if case .unresponsive = error { true } else { false }
    guard !isLost else {
      // The reason has changed.
      if isHanging, !wasHanging { say("\(error.loss); reconnecting…") }
      return
    }
    isLost = true
    say(
      wasOpen
        ? (isHanging ? error.loss : "lost the connection to widgetd") + "; reconnecting…"
        : (isHanging ? "\(error.loss); " : "") + "waiting for the daemon…")
  }

  private mutating func opened(_ place: String) {
    if isLost { say(wasOpen ? "resumed at \(place)" : "connected") }
    wasOpen = true
    (isLost, isHanging) = (false, false)
  }

  mutating func note(_ frame: WatchFrame) throws(ClientError) {
    switch frame {
    case .disconnected(let error): try lost(error)
    case .opened(let opened): self.opened("revision \(opened.revision)")
    case .reset(.compacted):
      sayMore("too much has changed in between; starting over from a snapshot")
    case .reset(.epochChanged): sayMore("the daemon has a new store; starting over from a snapshot")
    case .store(let store):
      say(store.failure.map { "\($0.loss); `widgetctl status` shows why" } ?? StoreFailure.end)
    case .snapshot, .synced, .changes, .events, .gap, .progress, .theme, .upcoming, .reconnected:
      break
    }
  }

  mutating func note(_ frame: EventFrame) throws(ClientError) {
    switch frame {
    case .disconnected(let error): try lost(error)
    case .opened(let opened):
      if !wasOpen { sayMore("listening…") }
      self.opened("event \(opened.afterSequence)")
    case .events, .gap, .reconnected: break
    }
  }
}

extension ClientError {
  /// Whether the daemon keeps the connection and does not answer.
  fileprivate var isSilence: Bool { if case .unresponsive = self { true } else { false } }
}
