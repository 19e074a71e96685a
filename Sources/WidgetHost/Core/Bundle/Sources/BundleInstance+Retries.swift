import WidgetBundle
import WidgetModel

// When a failed source is read again. One rule holds for all inputs.
//
// A failure is transient if it can end without a change of the bundle or of the widget: the input is
// missing, does not answer, has ended, or there is no room. The host retries the source with the
// backoff. Other failures are not retried: a mistake in the file, a missing permission, an answer
// that is wrong or refused. But if the host cannot watch the file of a source, and the source has no
// interval, nothing else would tell when the failure has ended. So the host retries this source.
extension BundleInstance {
  /// A program that fails rests for at least this multiple of the time that it took.
  private static let restFactor = 5

  /// - Parameter asked: the time that the input took to fail; nil if it was not asked, or if it gave
  ///   a result.
  mutating func retry(
    _ id: WidgetID, _ index: Int, _ source: Source, after failure: Failure, asked: Duration?
  ) {
    let isUnwatched = unwatched(id, index, source) != nil
    guard failure.isTransient || isUnwatched, !waiting.contains(id) else { return }
    if source.isContinuous { return begin(again: id, index, source) }
    let state = state(id, index)
    // A watch that works tells when a missing file or folder appears.
    if failure.code == "NOT_FOUND", let watch = state.watch, watch.failure == nil { return }
    var wait = backoff(state.attempts)
    if case .command = source.input, let asked {
      wait = max(wait, asked * BundleInstance.restFactor)
    }
    let retry = now.uptime + wait
    let key = TimerKey.source(id, index)
    // A server that fails is asked less and less often, however short the interval is. If the file of
    // `auth` is missing, the server was not asked.
    if case .http = source.input, asked != nil, failure.code != "NOT_FOUND" {
      return timers.set(key, at: retry)
    }
    timers.set(key, at: min(timers[key] ?? retry, retry))
  }

  /// The time since the last reading began.
  func readingTime(_ id: WidgetID, _ index: Int) -> Duration {
    now.uptime - (state(id, index).started ?? now.uptime)
  }

  /// Starts a program or a connection again after the backoff.
  private mutating func begin(again id: WidgetID, _ index: Int, _ source: Source) {
    if let request = state(id, index).request {
      // The bundle could not process a result of a connection that continues. A new connection gives
      // the state again, but no lines.
      guard source.givesStateAtStart else { return }
      cancel(request)
      sources.ended(id, index)
      sources.failed(id, index)
      requests.keepPlace(id, index)
    }
    arm(id, index, source, atLeast: backoff(state(id, index).attempts))
  }

  /// A program or a connection has ended, which is always retried.
  mutating func continuousEnded(_ id: WidgetID, _ index: Int, _ failure: Failure) {
    let lasted = readingTime(id, index)
    sources.ended(id, index)
    sources.lasted(id, index, lasted, quietMax: limits.backoffMax)
    if lasted >= limits.steadyAfter { sources.set(id, index, attempts: 0) }
    var failure = failure
    failure.isTransient = true
    sourceFailed(id, index, failure)
  }

  // MARK: Programs and connections without results

  /// A program or a connection begins after a failure. It can work without giving a result for long.
  mutating func awaitQuiet(_ id: WidgetID, _ index: Int, _ source: Source) {
    guard source.canBeQuiet, isDown(id, index, source) else { return }
    // A window manager that hangs fails after the time for its answer.
    let answer = source.asksWindowManager ? limits.socketTimeout : .zero
    let wait = max(answer + limits.quietAfter, state(id, index).quietLeast)
    timers.set(.quiet(id, index), at: now.uptime + wait)
  }

  /// The program or connection works: it has lasted long enough, or the filter has dropped a result.
  mutating func quietIsOver(_ id: WidgetID, _ index: Int) {
    timers.cancel(.quiet(id, index))
    guard let source = source(id, index), state(id, index).request != nil else { return }
    waitForResults(id, index, source, because: "runs again, and waits for results")
  }

  /// The source is as before its first result.
  private mutating func waitForResults(
    _ id: WidgetID, _ index: Int, _ source: Source, because words: String
  ) {
    guard isDown(id, index, source) else { return }
    trace(id, .source, source.name, words)
    setStatus(id, source.name, ActionStatus(state: .running))
    forgetFailure(id, .source(index), because: words)
  }

  /// Whether the source has failed or is missing. A requested reading shows the state as running.
  private func isDown(_ id: WidgetID, _ index: Int, _ source: Source) -> Bool {
    standing[id, .source(index)] != nil
      || [.missing, .failure].contains(status(id, source.name))
  }

  // MARK: Services that come and go

  mutating func serviceIsAbsent(_ id: WidgetID, _ index: Int, _ failure: Failure) {
    guard let source = source(id, index) else { return }
    sources.set(id, index, hasWrongResult: false)
    // A source of signals waits for its service, which is a state only if it is optional.
    if source.isOfSignals, !source.isOptional {
      return waitForResults(id, index, source, because: "waits for its service")
    }
    sourceFailed(id, index, failure)
  }

  /// The service of a source of signals exists.
  mutating func serviceIsPresent(_ id: WidgetID, _ index: Int) {
    guard let source = source(id, index) else { return }
    waitForResults(id, index, source, because: "waits for signals: its service is there")
  }
}

extension Failure {
  /// The codes of inputs that are missing, do not answer, or have no room.
  private static let codesOfInputs: Set<String> = [
    "NOT_FOUND", "UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED",
  ]

  /// The failure as that of a source whose input an adapter has asked. The same codes in a failure of
  /// the bundle itself, such as an empty path, do not end by themselves.
  var ofInput: Failure {
    var failure = self
    failure.isTransient = isTransient || Failure.codesOfInputs.contains(code)
    return failure
  }
}

extension Source {
  fileprivate var isOfSignals: Bool {
    if case .bus(let input) = input, case .signal = input.work { true } else { false }
  }

  /// Whether each new connection begins with a request to i3 or sway, which has a timeout.
  fileprivate var asksWindowManager: Bool {
    if case .socket(let socket) = input { socket.i3 != nil } else { false }
  }

  /// Whether each new connection begins with a result, or with news about the service.
  private var tellsAtStart: Bool {
    switch input {
    case .socket(let socket): socket.i3?.request != nil
    case .bus(let input): !input.isCall
    case .file, .folder, .command, .http, .timer, .constant: false
    }
  }

  /// Whether each new connection gives the present state as its first result.
  fileprivate var givesStateAtStart: Bool { tellsAtStart && !isOfSignals }

  /// Whether a program or a connection that works can give nothing for long.
  fileprivate var canBeQuiet: Bool { isContinuous && !tellsAtStart }
}
