import WidgetBundle
import WidgetModel

// Aligned sources, which are read at multiples of their interval since midnight (UTC). Timers count
// uptime. So if the clock is set, the timers of these sources are set again.
extension BundleInstance {
  /// The time since the last multiple of an interval.
  static func past(_ wall: Timestamp, _ interval: Duration) -> Duration {
    let step = max(1, interval.nanoseconds)
    let past = wall.nanosecondsSinceEpoch % step
    return .nanoseconds(past < 0 ? past + step : past)
  }

  mutating func followClock() {
    guard hasAlignedSources, let step = clock.step(at: now) else { return }
    let before = now.wall.advanced(by: .zero - step)
    for id in sortedIDs {
      for (index, source) in (facts(of: id)?.kind.sources ?? []).enumerated() {
        guard source.isAligned, let interval = source.interval else { continue }
        follow(id, index, source, since: before, max(interval, limits.intervalMin))
      }
    }
  }

  /// - Parameter before: the time that the clock would have without the step.
  private mutating func follow(
    _ id: WidgetID, _ index: Int, _ source: Source, since before: Timestamp, _ interval: Duration
  ) {
    let key = TimerKey.source(id, index)
    // If the step has passed a multiple of the interval, the last multiple is another one.
    let moved = BundleInstance.past(now.wall, interval) - BundleInstance.past(before, interval)
    guard moved == now.wall.duration(since: before) else {
      sources.forgetReading(id, index)
      return read(id, index, isAsked: false)
    }
    guard let deadline = timers[key] else { return }
    arm(id, index, source)
    // A retry does not follow the clock.
    if state(id, index).attempts > 0, let next = timers[key] {
      timers.set(key, at: min(next, deadline))
    }
  }
}

extension Bundle {
  var hasAlignedSources: Bool { kinds.contains { $0.sources.contains(where: \.isAligned) } }
}
