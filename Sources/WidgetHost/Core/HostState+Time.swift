import WidgetModel

// What happens by time.
extension HostState {
  /// Tells the time to all bundles whose deadline has come.
  ///
  /// - Parameter isClockSet: whether the clock was set, so that all bundles need the time.
  public mutating func tick(at now: HostTime, isClockSet: Bool = false) -> [Output] {
    var outputs = removeAbsent(at: now)
    var hasChanged = !outputs.isEmpty
    for id in running.ids {
      let deadline = running[id]?.instance.nextDeadline
      guard isClockSet || deadline.map({ $0 <= now.uptime }) == true else { continue }
      let before = running[id]?.instance.summary
      outputs += (running.change(id) { $0.handle(.tick, at: now) } ?? []).map { .effect($0) }
      hasChanged = hasChanged || running[id]?.instance.summary != before
    }
    return hasChanged ? outputs + standing() : outputs
  }

  /// Whether a bundle must hear when the clock is set.
  var followsClock: Bool { running.followsClock }

  public var nextDeadline: Duration? {
    [running.nextDeadline, folders.nextDeadline].compactMap(\.self).min()
  }
}
