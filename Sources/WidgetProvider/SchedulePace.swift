import WidgetModel

/// The times at which a schedule refreshes its widgets.
///
/// The waits of schedules count running time, and the wall clock can be set. So an aligned schedule
/// remembers the date of its next refresh on the wall clock.
struct SchedulePace: Hashable, Sendable {
  private let interval: Duration
  /// The next multiple of the interval; nil if the schedule is not aligned.
  private var next: Timestamp?

  init(every interval: Duration, isAligned: Bool, at now: Timestamp) {
    self.interval = interval
    next = isAligned ? now.advanced(by: now.delay(toMultipleOf: interval)) : nil
  }

  var isAligned: Bool { next != nil }

  /// The wait until the next refresh. Zero if the refresh is due: the clock has passed the next multiple, or
  /// was set back to a time before the last one.
  func delay(at now: Timestamp) -> Duration {
    guard let next else { return interval }
    let left = next.duration(since: now)
    return left > .zero && left <= interval ? left : .zero
  }

  /// Leaves out the multiples that have passed during the refresh.
  mutating func hasRefreshed(at now: Timestamp) {
    guard isAligned else { return }
    next = now.advanced(by: now.delay(toMultipleOf: interval))
  }
}

extension Timestamp {
  /// The time to the next multiple of an interval since 1970: more than 0, and at most the interval.
  func delay(toMultipleOf interval: Duration) -> Duration {
    let step = interval / .nanoseconds(1)
    guard step >= 1, step < 9e18 else { return interval }
    let nanoseconds = Int64(step)
    let past = nanosecondsSinceEpoch % nanoseconds
    return .nanoseconds(nanoseconds - (past < 0 ? past + nanoseconds : past))
  }
}
