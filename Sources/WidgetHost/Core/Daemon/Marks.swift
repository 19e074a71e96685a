import WidgetModel

/// The problems to show on the widgets that an earlier host declared for bundles, by bundle.
struct Marks: Sendable {
  private struct Mark: Sendable {
    let error: WidgetError
    /// The widgets to change; nil before they are known.
    var ids: [WidgetID]?
    var call: CallID?
    var attempts = 0
    var retryAt: Duration?
  }

  private var marks: [String: Mark] = [:]

  /// - Returns: the call to cancel.
  mutating func begin(_ id: String, _ problem: String) -> CallID? {
    defer {
      marks[id] = Mark(error: WidgetError(reason: BundleInstance.invalid, message: problem))
    }
    return marks[id]?.call
  }

  /// The bundle runs, or is removed.
  ///
  /// - Returns: the call to cancel.
  mutating func end(_ id: String) -> CallID? { marks.removeValue(forKey: id)?.call }

  /// Ends the marks that are on all widgets.
  ///
  /// - Returns: the calls to make now, by bundle, in order.
  mutating func nextCalls() -> [(id: String, call: DaemonCall)] {
    var calls: [(id: String, call: DaemonCall)] = []
    for (id, mark) in marks.sorted(by: { $0.key < $1.key })
    where mark.call == nil && mark.retryAt == nil {
      guard let ids = mark.ids else {
        calls.append((id, .widgets([])))
        continue
      }
      guard let first = ids.first else {
        marks[id] = nil
        continue
      }
      let patch = WidgetPatch(isStale: true, error: .some(mark.error))
      calls.append((id, .update(first, patch, provider: "")))
    }
    return calls
  }

  mutating func called(_ id: String, with call: CallID) { marks[id]?.call = call }

  /// - Returns: a line for the log.
  mutating func answered(
    _ result: Result<DaemonAnswer, Failure>, _ id: String, at uptime: Duration,
    _ limits: HostLimits
  ) -> String? {
    guard var mark = marks[id] else { return nil }
    mark.call = nil
    let set = HostState.provider(of: id)
    switch result {
    case .success(.widgets(let widgets)):
      mark.ids = widgets.filter {
        $0.applySet == set && $0.error != mark.error.continuing($0.error)
      }.map(\.id)
    case .success: mark.ids?.removeFirst()
    // Somebody has removed the widget meanwhile. The others are still marked.
    case .failure(let failure) where failure.code == "NOT_FOUND" && mark.ids != nil:
      mark.ids?.removeFirst()
    case .failure(let failure) where failure.isTransient || failure.code == "CANCELLED":
      mark.ids = nil
      mark.attempts += 1
      mark.retryAt = uptime + limits.daemonWait(mark.attempts)
    case .failure(let failure):
      marks[id] = nil
      return failure.message
    }
    marks[id] = mark
    return nil
  }

  // MARK: Time

  var nextDeadline: Duration? { marks.values.compactMap(\.retryAt).min() }

  mutating func tick(at uptime: Duration) {
    for (id, mark) in marks {
      if let retryAt = mark.retryAt, retryAt <= uptime { marks[id]?.retryAt = nil }
    }
  }
}
