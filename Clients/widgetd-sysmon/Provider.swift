import WidgetClient
import WidgetModel

/// Keeps the widgets in the daemon up to date: the part with I/O.
///
/// Two tasks wait, one for the time, one for the daemon; both hand over what they got to one task
/// that acts on it, and wait until it has. So nothing here runs at the same time as anything else,
/// and nothing queues up.
struct Provider<Source: ReadingSource> {
  let client: WidgetClient
  let source: Source
  let interval: Duration
  let clock: any Clock<Duration>
  /// Says what is worth knowing, a line at a time.
  let report: @Sendable (String) -> Void

  /// How long one call may take.
  private static var callTimeout: Duration { .seconds(5) }
  /// How often an event is tried on a widget that others change at the same time.
  private static var attemptsMax: Int { 5 }

  private enum Input: Sendable {
    case tick
    case frame(WatchFrame)
    case failed(ClientError)
  }

  private struct Handover: Sendable {
    let input: Input
    let done: CheckedContinuation<Void, Never>
  }

  /// Declares the widgets, takes one sample, and returns.
  func once() async throws {
    var panel = Panel()
    try await declare()
    let answer = try await client.listWidgets(
      ListWidgetsRequest(selector: selector), options: options)
    for tagged in answer.widgets { panel.learn(tagged.widget) }
    panel.record(try source.read())
    for (id, patch) in panel.refreshments() { try await update(id, patch) }
  }

  /// Declares the widgets and keeps them up to date until the task is cancelled. Lost connections
  /// are made again.
  ///
  /// - Throws: what trying again cannot mend.
  func run() async throws {
    try await declare()
    let (inputs, queue) = AsyncStream.makeStream(of: Handover.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await submitTicks(to: queue) }
      group.addTask { await submitFrames(to: queue) }
      let outcome = await act(on: inputs)
      group.cancelAll()
      // Whoever still waits to be heard is let go.
      queue.finish()
      for await handover in inputs { handover.done.resume() }
      try outcome.get()
    }
  }

  /// Marks the widgets stale: nobody feeds them from now on.
  func retire() async throws {
    for provided in Provided.allCases {
      guard let id = WidgetID(provided.id) else { continue }
      do throws(ClientError) {
        try await update(id, WidgetPatch(isStale: true))
      } catch {
        guard error.reason == "WIDGET_NOT_FOUND" else { throw error }
      }
    }
  }

  // MARK: What happens

  /// Acts on what comes until it ends (the task was cancelled) or cannot go on.
  private func act(on inputs: AsyncStream<Handover>) async -> Result<Void, ClientError> {
    var panel = Panel()
    var mirror = WidgetMirror()
    var isReadable = true
    for await handover in inputs {
      defer { handover.done.resume() }
      switch handover.input {
      case .tick:
        do {
          panel.record(try source.read())
          isReadable = true
        } catch {
          if isReadable { report("cannot read the machine, and try again: \(error)") }
          isReadable = false
          continue
        }
        guard mirror.isSynced, mirror.isConnected else { continue }
        await tolerate { () async throws(ClientError) in
          for (id, patch) in panel.refreshments() { try await update(id, patch) }
        }
      case .frame(let frame):
        await follow(frame, &mirror, &panel)
      case .failed(let error):
        return .failure(error)
      }
    }
    return .success(())
  }

  private func follow(
    _ frame: WatchFrame, _ mirror: inout WidgetMirror, _ panel: inout Panel
  ) async {
    switch frame {
    case .disconnected(let error):
      report("lost the daemon, and try to reach it again: \(error)")
    case .reconnected:
      report("the daemon is back")
      await tolerate { () async throws(ClientError) in try await declare() }
    case .reset:
      panel.forgetAll()
    case .events(let batch):
      for event in batch.events {
        await tolerate { () async throws(ClientError) in
          if let widget = try await answer(event, panel) { panel.learn(widget) }
        }
      }
    case .opened, .snapshot, .synced, .changes, .gap, .progress:
      break
    }
    do throws(WidgetMirror.Inconsistency) {
      guard let difference = try mirror.apply(frame) else { return }
      for id in difference.added + difference.updated {
        if let widget = mirror[id] { panel.learn(widget) }
      }
      for widget in difference.removed { panel.forget(widget.id) }
    } catch {
      report("the daemon's changes do not fit together: \(error)")
    }
  }

  /// Carries out what an event asks for, on the widget as it is now.
  ///
  /// - Returns: the widget afterwards; nil if the event asks for nothing.
  private func answer(_ event: Event, _ panel: Panel) async throws(ClientError) -> Widget? {
    for attempt in 1... {
      let current = try await client.getWidget(
        GetWidgetRequest(id: event.widgetID), options: options)
      guard let patch = panel.consequence(of: event, on: current.widget) else { return nil }
      do throws(ClientError) {
        return try await client.updateWidget(
          UpdateWidgetRequest(id: event.widgetID, patch: patch, etag: current.etag),
          options: options
        ).widget
      } catch {
        guard error.reason == "ETAG_MISMATCH", attempt < Provider.attemptsMax else { throw error }
      }
    }
    return nil
  }

  // MARK: Who waits

  private func submitTicks(to queue: AsyncStream<Handover>.Continuation) async {
    repeat {
      await submit(.tick, to: queue)
      let delay = Schedule.delay(from: source.now(), interval: interval)
      do { try await clock.sleep(for: delay) } catch { return }
    } while !Task.isCancelled
  }

  private func submitFrames(to queue: AsyncStream<Handover>.Continuation) async {
    let watch = client.watch(
      WatchOptions(
        selector: selector, includeEvents: true, retry: RetryPolicy(delayMax: .seconds(2))))
    do throws(ClientError) {
      for try await frame in watch { await submit(.frame(frame), to: queue) }
      await submit(.failed(.closed), to: queue)
    } catch {
      await submit(.failed(error), to: queue)
    }
  }

  private func submit(_ input: Input, to queue: AsyncStream<Handover>.Continuation) async {
    await withCheckedContinuation { done in
      if case .enqueued = queue.yield(Handover(input: input, done: done)) { return }
      done.resume()
    }
  }

  // MARK: Calls

  private var options: CallOptions { CallOptions(timeout: Provider.callTimeout) }

  private var selector: Selector {
    Selector(ids: Provided.allCases.compactMap { WidgetID($0.id) })
  }

  private func declare() async throws(ClientError) {
    _ = try await client.applyWidgets(
      ApplyWidgetsRequest(
        applySet: Provided.applySet, widgets: Provided.allCases.compactMap(\.spec), prune: true),
      options: options)
  }

  private func update(_ id: WidgetID, _ patch: WidgetPatch) async throws(ClientError) {
    _ = try await client.updateWidget(
      UpdateWidgetRequest(id: id, patch: patch, omitWidget: true), options: options)
  }

  /// Goes on after an error that the next sample or the next connection makes good, and says so.
  /// A widget that was removed is nobody's fault, and a lost connection is reported by the watch.
  private func tolerate(_ body: () async throws(ClientError) -> Void) async {
    do throws(ClientError) {
      try await body()
    } catch {
      switch error {
      case .connectionLost, .cancelled, .closed, .unavailable: break
      case let error where error.reason == "WIDGET_NOT_FOUND": break
      default: report("\(error)")
      }
    }
  }
}
