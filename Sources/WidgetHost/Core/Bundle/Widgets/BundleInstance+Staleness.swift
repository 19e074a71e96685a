import WidgetBundle
import WidgetModel

// Old data: a widget is stale because a source has failed for long, or because of the problem of a
// bundle.
extension BundleInstance {
  private func isStale(_ id: WidgetID, _ index: Int) -> Bool {
    guard let failure = standing[id, .source(index)] else { return false }
    return isOld(id, index, since: failure.begun)
  }

  /// Whether a failure of a source since this uptime makes the widget stale.
  func isOld(_ id: WidgetID, _ index: Int, since: Duration) -> Bool {
    guard let source = source(id, index) else { return false }
    return since + source.staleAfter <= now.uptime
  }

  /// The uptime at a time of the wall clock; now for a time in the future. Ages are in uptime,
  /// because the clock can be set. A failure of an earlier host has only its time.
  func uptime(of time: Timestamp) -> Duration {
    now.uptime - max(.zero, now.wall.duration(since: time))
  }

  /// Waits until the source has failed for this long.
  mutating func armStaleness(_ id: WidgetID, _ index: Int) {
    guard let failure = standing[id, .source(index)], let source = source(id, index) else { return }
    guard !isOld(id, index, since: failure.begun) else {
      noteOldData(id, source)
      return showStaleness(id)
    }
    timers.set(.stale(id, index), at: failure.begun + source.staleAfter)
  }

  /// Notes in the status of a source that its failure makes the widget stale. Clients show the reason.
  private mutating func noteOldData(_ id: WidgetID, _ source: Source) {
    guard status(id, source.name) == .failure else { return }
    changeStatus(id, source.name) { $0[ActionStatus.staleKey] = .bool(true) }
  }

  /// Whether the widget's data may be old: a source of the widget has failed for long, or the folder
  /// of this bundle is missing, or the bundle that has the widget is missing or does not run. A
  /// widget that waits for its removal is stale, too.
  func isStale(_ id: WidgetID) -> Bool {
    if absentSince != nil || ownerTrouble(of: id)?.makesStale == true || leaveMark(id) != nil {
      return true
    }
    return standing[id].keys.contains { key in
      if case .source(let index) = key { isStale(id, index) } else { false }
    }
  }

  /// Notes whether `Marks`, or an earlier host, has made the widget stale because of a problem of a
  /// bundle. The host sets `stale` and the error in one change. A user's change has no such error.
  ///
  /// - Parameter before: the widget before the last message of the daemon; nil if it is new.
  mutating func noteStaleness(_ id: WidgetID, after before: Widget? = nil) {
    guard let widget = widgets[id]?.heard else { return }
    guard widget.isStale else { return standing.set(id, isStaleByProblem: false) }
    guard before?.isStale != true else { return }
    let known = before?.error?.all ?? []
    let isNews = widget.error?.all.contains { error in
      error.reason == BundleInstance.invalid && !known.contains { $0.isSame(as: error) }
    }
    if isNews == true { standing.set(id, isStaleByProblem: true) }
  }

  /// Notes that a widget is stale for a reason of others, before a problem of a bundle makes it
  /// stale.
  mutating func noteFormerStaleness(_ id: WidgetID) {
    guard !standing.isMarkedStale(id), !standing.isStaleByProblem(id) else { return }
    standing.set(id, wasStale: widgets[id]?.view.isStale ?? false)
  }

  mutating func showStaleness(_ id: WidgetID) {
    guard let state = widgets[id], !waiting.contains(id) else { return }
    let isStale = isStale(id)
    if !state.view.isStale { standing.set(id, wasStale: false) }
    // Somebody else can have made it fresh.
    guard standing.isMarkedStale(id) != isStale || (isStale && !state.view.isStale) else { return }
    standing.set(id, isMarkedStale: isStale)
    guard isStale || !standing.wasStale(id) else { return standing.set(id, wasStale: false) }
    widgets.set(id, isStale: isStale)
  }
}
