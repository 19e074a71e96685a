import Glibc
import Synchronization
public import WidgetClient
public import WidgetModel
import WidgetProcess
public import WidgetTimers

/// Keeps widgets written in Swift alive: the part with I/O.
///
/// The daemon's requests and the schedules are served in turns, one after the other: no two actions
/// on widgets run at the same time. An event is acknowledged when its changes are committed.
public struct ProviderRunner: Sendable {
  private let name: String
  let widgets: [KindName: AnyProvidedWidget]
  private let instances: [WidgetSpec]
  let client: WidgetClient
  let options: ProviderOptions
  let now: @Sendable () -> Timestamp
  let clock: any Clock<Duration>
  /// Calls its argument when the wall clock is set, until the result is released. Tests replace it.
  var watchClock: @Sendable (_ wasSet: @escaping @Sendable () -> Void) -> any Sendable
  /// Reports failures and possible failures, one line at a time.
  let report: @Sendable (String) -> Void
  /// Reports the normal progress.
  let note: @Sendable (String) -> Void

  /// - Parameters:
  ///   - name: the provider's id.
  ///   - widgets: the kinds; if two have the same name, the first counts.
  ///   - instances: widgets that should exist.
  ///   - client: the client of the daemon. The daemon need not run yet.
  ///   - now: the current time of the wall clock.
  ///   - clock: the clock for the waits of schedules. Aligned schedules also follow the wall clock.
  ///   - report: reports failures and possible failures, one line at a time.
  ///   - note: reports the normal progress.
  public init(
    name: String, widgets: Widgets, instances: [WidgetSpec] = [], client: WidgetClient,
    options: ProviderOptions = ProviderOptions(prunesKinds: true),
    now: @escaping @Sendable () -> Timestamp = { .wallClock() },
    clock: any Clock<Duration> = ContinuousClock(),
    report: @escaping @Sendable (String) -> Void = { _ in },
    note: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.name = name
    self.widgets = Dictionary(
      widgets.all.map { ($0.kind.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.instances = instances
    self.client = client
    self.options = options
    self.now = now
    self.clock = clock
    watchClock = { client.clockWatch($0) }
    self.report = report
    self.note = note
  }

  /// Runs until SIGTERM, SIGINT or SIGHUP.
  ///
  /// - Throws: an error that a retry cannot fix: the kinds are refused or another provider's, or
  ///   another program replaced this one.
  public func runUntilStopped() async throws {
    try await Signals.untilStopped { try await run() }
  }

  /// Updates the widgets once: registers the kinds, creates the missing widgets, and refreshes all
  /// widgets of the kinds. There is no session, so nobody handles events. The widgets stay fresh
  /// after the program has ended. If a refresh fails, the widget's error says so.
  ///
  /// - Throws: if the daemon cannot be reached, or refuses the kinds or a widget. All other widgets are
  ///   created and refreshed before the refusal of a widget is thrown.
  public func runOnce() async throws {
    _ = try await client.applyKinds(
      ApplyKindsRequest(provider: name, kinds: kinds, prune: options.prunesKinds))
    var first: ClientError?
    for spec in instances {
      let refused = try await refusal { () async throws(ClientError) in try await create(spec) }
      first = first ?? refused
    }
    for kind in kinds {
      guard let provided = widgets[kind.name] else { continue }
      try await forEachPage(of: kind.name) { page throws(ClientError) in
        for widget in page {
          let refused = try await refusal { () async throws(ClientError) in
            try await refreshOnce(widget, provided)
          }
          first = first ?? refused
        }
      }
    }
    if let first { throw first }
  }

  /// Returns the daemon's refusal, so that other widgets go on.
  private func refusal(
    of body: () async throws(ClientError) -> Void
  ) async throws(ClientError) -> ClientError? {
    do throws(ClientError) {
      try await body()
      return nil
    } catch {
      guard case .status = error else { throw error }
      return error
    }
  }

  /// Runs until the task is cancelled. Then its widgets are stale.
  ///
  /// - Throws: as `runUntilStopped`.
  public func run() async throws {
    var options = options
    if widgets.values.contains(where: \.followsAudience) { options.includesAudience = true }
    options.answersSnapshots = widgets.values.contains(where: \.answersSnapshots)
    let session = client.provide(name, kinds: kinds, options: options)
    let turns = Turns()
    let attached = Attached()
    let waits = ScheduleWaits()
    let clockWatch: (any Sendable)? = hasAlignedSchedules ? watchClock { waits.end() } : nil
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for widget in widgets.values {
          guard case .every(let interval, let isAligned) = widget.schedule else { continue }
          let pace = SchedulePace(every: interval, isAligned: isAligned, at: now())
          group.addTask { await keep(widget, at: pace, waits, session, turns, attached) }
        }
        defer { group.cancelAll() }
        var isLost = false
        for try await request in session.requests {
          switch request {
          case .disconnected: isLost = true
          case .connected where isLost:
            note("the daemon is back")
            isLost = false
          // Snapshots change nothing, so they need no turn and delay nobody.
          case .snapshotRequest(let request):
            group.addTask { await answer(request, session) }
            continue
          default: break
          }
          await turns.take()
          let rest = await answer(request, session, attached)
          await turns.pass()
          guard let rest else { continue }
          let connection = attached.connection
          group.addTask { await finish(rest, of: connection, session, turns, attached) }
        }
      }
    } catch ClientError.cancelled {
      // The requested end.
    }
    withExtendedLifetime(clockWatch) {}
    await session.close()
  }

  private func refreshOnce(
    _ widget: Widget, _ provided: AnyProvidedWidget
  ) async throws(ClientError) {
    let outcome = await provided.refreshed(widget, at: now())
    tell(outcome, widget.id)
    var patch = outcome.patch
    if widget.isStale { patch.isStale = false }
    guard patch != WidgetPatch() else { return }
    do throws(ClientError) {
      _ = try await client.updateWidget(
        UpdateWidgetRequest(
          id: widget.id, patch: patch, transition: outcome.transition, omitWidget: true))
    } catch {
      guard error.reason != "WIDGET_NOT_FOUND" else { return }
      let problem = ProviderRunner.problem(error)
      if error.isRefusedChange, widget.isNews(problem) {
        await tolerate { () async throws(ClientError) in
          _ = try await client.updateWidget(
            UpdateWidgetRequest(
              id: widget.id, patch: WidgetPatch(error: .some(problem)), omitWidget: true))
        }
      }
      throw error
    }
  }

  private var kinds: [Kind] {
    widgets.values.map(\.kind).sorted { $0.name.rawValue < $1.name.rawValue }
  }

  // MARK: - What the daemon asks

  /// Answers a request. Returns the work that must be tried again.
  private func answer(
    _ request: ProviderRequest, _ session: ProviderSession, _ attached: Attached
  ) async -> Unfinished? {
    let change = attached.apply(request)
    switch request {
    case .audience:
      for id in change.attached { await tellWatched(id, true, session) }
      for id in change.detached { await tellWatched(id, false, session) }
    case .connected:
      let missing = await create(instances.map { Missing(spec: $0) })
      return missing.isEmpty ? nil : .instances(missing)
    case .disconnected(let error): report("lost the daemon; reconnecting: \(error.cause)")
    case .dataRequest(let request):
      return await answer(request, about: request.widget, session, attached)
    case .event(let event): await handle(event, session, attached)
    case .gap(let gap):
      // Some of the numbers may have no events, because a daemon skips numbers after a crash.
      report(
        "events may be missing: the daemon has none from \(gap.firstSequence) to "
          + "\(gap.lastSequence); a restart of the daemon skips numbers that no event has"
      )
      await tolerate { () async throws(ClientError) in
        try await session.acknowledge(gap.lastSequence)
      }
    case .removed, .kindsRemoved, .bundleRequest, .snapshotRequest, .synced: break
    }
    return nil
  }

  /// Answers a data request. Returns the request if the daemon can take no answer at the moment.
  ///
  /// - Parameter isRetry: whether that was reported before.
  func answer(
    _ request: ProviderDataRequest, about current: Widget, _ session: ProviderSession,
    _ attached: Attached, isRetry: Bool = false
  ) async -> Unfinished? {
    guard let widget = widgets[current.kind] else { return nil }
    let outcome = await widget.refreshed(
      current, isAttached: attached.contains(current.id), at: now())
    tell(outcome, current.id)
    do throws(ClientError) {
      try await session.answer(request, with: outcome.patch, transition: outcome.transition)
    } catch {
      if error.isPassing, isRetry { return .answer(request) }
      guard error.isRefusedChange else {
        await tolerate { () async throws(ClientError) in throw error }
        return error.isPassing ? .answer(request) : nil
      }
      let problem = ProviderRunner.problem(error)
      if current.isNews(problem) { report("\(current.id): \(problem.message)") }
      await tolerate { () async throws(ClientError) in
        try await session.answer(request, error: problem)
      }
    }
    return nil
  }

  private func answer(_ request: ProviderSnapshotRequest, _ session: ProviderSession) async {
    var outcome = ProvideSnapshot.Outcome.error(
      WidgetError(reason: "UNSUPPORTED", message: "The provider answers no snapshots of this kind.")
    )
    if let widget = widgets[request.kind], widget.answersSnapshots {
      let made = await widget.snapshot(request, at: now())
      outcome =
        if let problem = made.problem {
          .error(WidgetError(reason: "PROVIDER_FAILED", message: problem))
        } else {
          .data(SnapshotData(data: made.data, entry: made.entry))
        }
    }
    await tolerate { () async throws(ClientError) in
      try await session.answer(request, with: outcome)
    }
  }

  /// The number of attempts for an event while the daemon cannot be reached or cannot store the
  /// changes.
  private static var attemptsMax: Int { 6 }

  /// Tells a widget that it became attached or detached, and sends its update.
  private func tellWatched(
    _ id: WidgetID, _ isAttached: Bool, _ session: ProviderSession
  ) async {
    await tolerate { () async throws(ClientError) in
      let current = try await client.getWidget(GetWidgetRequest(id: id)).widget
      guard let widget = widgets[current.kind], widget.followsAudience else { return }
      let outcome = await widget.watched(current, isAttached: isAttached, at: now())
      tell(outcome, id)
      guard outcome.patch != WidgetPatch() || (isAttached && current.isStale) else { return }
      try await send([Change(current, outcome)], on: session)
    }
  }

  private func handle(
    _ event: Event, _ session: ProviderSession, _ attached: Attached
  ) async {
    for attempt in 1... {
      do throws(ClientError) {
        return try await carryOut(event, session, attached)
      } catch {
        switch error {
        case .cancelled, .closed: return
        case let error where error.reason == "WIDGET_NOT_FOUND":
          return await tolerate { () async throws(ClientError) in
            try await session.acknowledge(event)
          }
        // Later events are acknowledged with those before them, so this one is not left behind.
        case let error where error.isTransient && attempt < ProviderRunner.attemptsMax:
          do { try await clock.sleep(for: .milliseconds(50 << attempt)) } catch { return }
        default:
          report("\(event.name) on \(event.widgetID): \(error)")
          let problem = WidgetError(reason: "PROVIDER_FAILED", message: "\(error)")
          return await tolerate { () async throws(ClientError) in
            try await session.acknowledge(event, error: problem)
          }
        }
      }
    }
  }

  private func carryOut(
    _ event: Event, _ session: ProviderSession, _ attached: Attached
  ) async throws(ClientError) {
    let current = try await client.getWidget(GetWidgetRequest(id: event.widgetID)).widget
    if let widget = widgets[current.kind] {
      let outcome = await widget.handled(
        event, on: current, isAttached: attached.contains(current.id), at: now())
      tell(outcome, current.id)
      if outcome.patch != WidgetPatch() {
        try await session.update(event.widgetID, outcome.patch, transition: outcome.transition)
      }
    }
    try await session.acknowledge(event)
  }

  // MARK: - What schedules want

  private func keep(
    _ widget: AnyProvidedWidget, at pace: SchedulePace, _ waits: ScheduleWaits,
    _ session: ProviderSession, _ turns: Turns, _ attached: Attached
  ) async {
    var pace = pace
    // The failures in a row for which the daemon could take no change.
    var failures = 0
    while !Task.isCancelled {
      let retry = failures > 0 ? options.retry.delay(beforeAttempt: failures - 1) : nil
      do { try await wait(for: pace, retryingAfter: retry, waits) } catch { return }
      let (date, start) = (now(), ContinuousClock.now)
      await turns.take()
      var isPassing = false
      await tolerate { () async throws(ClientError) in
        do throws(ClientError) {
          try await refreshAll(widget, session, attached)
        } catch {
          isPassing = error.isPassing
          // Only the first of these failures is reported.
          if !isPassing || failures == 0 { throw error }
        }
      }
      await turns.pass()
      failures = isPassing ? failures + 1 : 0
      // This is the time that the clock would have if nobody had set it meanwhile. So a multiple that a
      // step has passed still counts.
      pace.hasRefreshed(at: date.advanced(by: ContinuousClock.now - start))
    }
  }

  /// Refreshes the widgets of a kind, one page per commit if the daemon accepts all changes. If the
  /// kind follows its audience, only attached ones.
  private func refreshAll(
    _ widget: AnyProvidedWidget, _ session: ProviderSession, _ attached: Attached
  ) async throws(ClientError) {
    var first: ClientError?
    try await forEachPage(of: widget.kind.name) { page throws(ClientError) in
      var changes: [Change] = []
      for current in page where !widget.followsAudience || attached.contains(current.id) {
        let outcome = await widget.refreshed(current, at: now())
        tell(outcome, current.id)
        // Unchanged data is sent too if the widget is stale: the data is still true.
        guard outcome.patch != WidgetPatch() || current.isStale else { continue }
        changes.append(Change(current, outcome))
      }
      do throws(ClientError) {
        try await send(changes, on: session)
      } catch {
        // The other pages may be accepted.
        guard case .status = error else { throw error }
        first = first ?? error
      }
    }
    if let first { throw first }
  }

  private func forEachPage(
    of kind: KindName, _ body: ([Widget]) async throws(ClientError) -> Void
  ) async throws(ClientError) {
    var tokens = PageTokens()
    var token = ""
    repeat {
      let answer = try await client.listWidgets(
        ListWidgetsRequest(selector: Selector(kinds: [kind]), pageSize: 100, pageToken: token))
      try await body(answer.widgets.map(\.widget))
      token = try tokens.next(answer.nextPageToken)
    } while !token.isEmpty
  }

  // MARK: - Parts

  /// Reports a widget's failure once, until the widget succeeds again.
  private func tell(_ outcome: AnyProvidedWidget.Outcome, _ id: WidgetID) {
    if let problem = outcome.problem { report("\(id): \(problem)") }
  }

  /// Continues after an error that the next connection or the next turn repairs, and reports it. A
  /// removed widget is no error, and the session reports a lost connection.
  func tolerate(_ body: () async throws(ClientError) -> Void) async {
    do throws(ClientError) {
      try await body()
    } catch {
      switch error {
      case .connectionLost, .unresponsive, .cancelled, .closed, .unavailable: break
      case let error
      where ["WIDGET_NOT_FOUND", "DATA_REQUEST_NOT_FOUND"].contains(error.reason): break
      default: report("\(error)")
      }
    }
  }
}

extension ClientError {
  /// Whether a retry a moment later may succeed.
  fileprivate var isTransient: Bool {
    switch self {
    case .connectionLost, .unresponsive, .unavailable: true
    case .status(let status): status.code == .unavailable
    default: false
    }
  }
}

/// What the tasks of a runner know from the session's requests.
final class Attached: Sendable {
  private struct State {
    var widgets = AttachedWidgets()
    var connection = 0
  }

  private let state = Mutex(State())

  /// The number of the session: 1 for the first one that was opened.
  var connection: Int { state.withLock { $0.connection } }

  func apply(_ request: ProviderRequest) -> AttachedWidgets.Change {
    state.withLock { state in
      if case .connected = request { state.connection += 1 }
      return state.widgets.apply(request)
    }
  }

  /// Whether a widget is attached.
  func contains(_ id: WidgetID) -> Bool { state.withLock { $0.widgets.contains(id) } }
}

/// Lets tasks act one after the other, in the order in which they asked.
actor Turns {
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func take() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func pass() {
    guard !waiting.isEmpty else {
      isTaken = false
      return
    }
    waiting.removeFirst().resume()
  }
}
