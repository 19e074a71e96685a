import WidgetClient
import WidgetModel

/// Changes that the daemon refuses, and work that it cannot take at the moment.
///
/// A refusal concerns one widget. It must not keep other widgets from their changes, and the users of
/// the refused widget must see it.
extension ProviderRunner {
  /// A change of a listed widget.
  struct Change: Sendable {
    let widget: Widget
    let update: ProvidedUpdate

    init(_ widget: Widget, _ outcome: AnyProvidedWidget.Outcome) {
      self.widget = widget
      update = ProvidedUpdate(widget.id, outcome.patch, transition: outcome.transition)
    }
  }

  // MARK: - Changes

  /// Makes all changes that the daemon accepts, in as few commits as possible.
  ///
  /// - Throws: an error that concerns no single widget. The remaining changes are not made.
  func send(_ changes: [Change], on session: ProviderSession) async throws(ClientError) {
    var left = changes
    while !left.isEmpty {
      do throws(ClientError) {
        try await session.update(left.map(\.update))
        return
      } catch {
        let named = error.status?.errorInfo?.metadata
        if let index = left.firstIndex(where: { $0.update.id.rawValue == named?["widget_id"] }) {
          // The provider has lost the kind of all these widgets.
          let isOfKind = named?["kind"] == left[index].widget.kind.rawValue
          if error.reason == "NOT_PROVIDED", isOfKind { throw error }
          await refused(left.remove(at: index), error, at: index, session)
        } else if left.count > 1, error.mayBeOfSize {
          let half = Array(left[..<(left.count / 2)])
          left.removeFirst(half.count)
          try await send(half, on: session)
        } else if left.count == 1, error.isOfEncoding {
          await refused(left.removeLast(), error, at: 0, session)
        } else {
          throw error
        }
      }
    }
  }

  /// The daemon has refused the change of a widget. The change is obsolete, or the widget gets an
  /// error.
  private func refused(
    _ change: Change, _ error: ClientError, at index: Int, _ session: ProviderSession
  ) async {
    // The widget was removed, or has another kind now.
    guard !["WIDGET_NOT_FOUND", "NOT_PROVIDED"].contains(error.reason ?? "") else { return }
    let problem = ProviderRunner.problem(error, at: index)
    // An error that stays is reported and stored once.
    guard change.widget.isNews(problem) else { return }
    report("\(change.update.id): \(problem.message)")
    await tolerate { () async throws(ClientError) in
      try await session.update(change.update.id, WidgetPatch(error: .some(problem)))
    }
  }

  /// The error of a widget whose change was refused.
  ///
  /// - Parameter index: the place among the updates of a frame. The error omits the place, because it
  ///   can differ each time.
  static func problem(_ error: ClientError, at index: Int = 0) -> WidgetError {
    let place = "updates[\(index)]"
    let message = error.cause.replacing("\(place).", with: "").replacing("\(place): ", with: "")
    return WidgetError(reason: "PROVIDER_FAILED", message: message)
  }

  // MARK: - Widgets that should exist

  /// A widget that should exist, and that is not created yet.
  struct Missing: Sendable {
    let spec: WidgetSpec
    /// The reported reason; empty if there is none.
    var reason = ""

    var name: String { spec.id.map { "\($0)" } ?? "of kind \(spec.kind)" }
  }

  /// Creates a widget. An existing one keeps people's changes.
  func create(_ spec: WidgetSpec) async throws(ClientError) {
    do throws(ClientError) {
      _ = try await client.createWidget(CreateWidgetRequest(widget: spec))
    } catch {
      guard error.reason == "WIDGET_EXISTS" else { throw error }
    }
  }

  /// Creates missing widgets. Returns those for which another attempt can help.
  func create(_ missing: [Missing]) async -> [Missing] {
    var left: [Missing] = []
    for (index, widget) in missing.enumerated() {
      do throws(ClientError) {
        try await create(widget.spec)
        if !widget.reason.isEmpty { note("the widget \(widget.name) is created now") }
      } catch {
        switch error {
        case .cancelled, .closed: return []
        // The others would fail in the same way. The session reports the loss.
        case .connectionLost, .unresponsive, .unavailable: return left + missing[index...]
        default: break
        }
        let end = error.isFinal ? "" : "; trying again"
        let reason = "cannot create the widget \(widget.name): \(error.cause)\(end)"
        if reason != widget.reason { report(reason) }
        if !error.isFinal { left.append(Missing(spec: widget.spec, reason: reason)) }
      }
    }
    return left
  }

  // MARK: - Unfinished work

  /// Work of a session that the daemon could not take.
  enum Unfinished: Sendable {
    case instances([Missing])
    case answer(ProviderDataRequest)
  }

  /// Retries unfinished work until it is done. The next session begins all work again, so the work of
  /// an earlier one is dropped.
  func finish(
    _ work: Unfinished, of connection: Int, _ session: ProviderSession, _ turns: Turns,
    _ attached: Attached
  ) async {
    var work = work
    var attempt = 0
    while let delay = options.retry.delay(beforeAttempt: attempt) {
      attempt += 1
      do { try await options.retry.clock.sleep(for: delay) } catch { return }
      await turns.take()
      var rest: Unfinished?
      if attached.connection == connection { rest = await retry(work, session, attached) }
      await turns.pass()
      guard let rest else { return }
      work = rest
    }
  }

  /// Returns the work that is left.
  private func retry(
    _ work: Unfinished, _ session: ProviderSession, _ attached: Attached
  ) async -> Unfinished? {
    switch work {
    case .instances(let missing):
      let left = await create(missing)
      return left.isEmpty ? nil : .instances(left)
    case .answer(let request):
      do throws(ClientError) {
        // The widget can have changed since the request.
        let widget = try await client.getWidget(GetWidgetRequest(id: request.widget.id)).widget
        return await answer(request, about: widget, session, attached, isRetry: true)
      } catch {
        return error.isPassing ? work : nil
      }
    }
  }
}

extension Widget {
  /// Whether setting the provider's error, or nil, changes the widget. The errors of failed reducers
  /// are the daemon's.
  func isNews(_ problem: WidgetError?) -> Bool {
    let former = WidgetError(
      joining: (error?.all ?? []).filter { $0.reason != WidgetError.reducerFailed })
    return problem?.continuing(former) != former
  }
}

extension ClientError {
  /// Whether the daemon can take no change at the moment, as while its disk is full.
  var isPassing: Bool {
    guard case .status(let status) = self else { return false }
    return [.unavailable, .aborted, .deadlineExceeded].contains(status.code)
  }

  /// Whether the change of an existing widget was refused.
  var isRefusedChange: Bool {
    let obsolete = ["WIDGET_NOT_FOUND", "NOT_PROVIDED", "DATA_REQUEST_NOT_FOUND"]
    guard !obsolete.contains(reason ?? "") else { return false }
    return isOfEncoding || status?.errorInfo?.metadata["widget_id"] != nil
  }

  /// Whether the change cannot be sent.
  fileprivate var isOfEncoding: Bool {
    switch self {
    case .requestTooLong, .wire: true
    default: false
    }
  }

  /// Whether fewer updates in one frame may be accepted.
  fileprivate var mayBeOfSize: Bool { isOfEncoding || status?.code == .resourceExhausted }

  /// Whether the same request would be refused again as long as this session lasts.
  fileprivate var isFinal: Bool {
    switch self {
    case .status(let status):
      [.invalidArgument, .permissionDenied, .unauthenticated, .unimplemented].contains(status.code)
    case .requestTooLong, .wire: true
    default: false
    }
  }
}
