import WidgetExpression
import WidgetModel

/// Recurring times, in the local time of a zone.
enum Recurrence: Hashable, Sendable {
  /// At whole multiples of a period since midnight of 1970-01-01 and `offset`, in seconds.
  case every(seconds: Int, offset: Int)
  case cron(CronPattern)

  /// The first time after another one; nil if there is none within `CronPattern.yearsMax` years.
  func next(after time: Timestamp, in zone: TimeZoneRules) -> Timestamp? {
    let seconds = Int(time.seconds)
    let found: Int? =
      switch self {
      case .every(let period, let offset):
        Recurrence.next(after: seconds, every: period, offset: offset, in: zone)
      case .cron(let pattern): pattern.next(after: seconds, in: zone)
      }
    return found.flatMap { Timestamp(seconds: Int64($0), nanoseconds: 0) }
  }

  /// The last time that is not after another one; nil as for `next`.
  func last(notAfter time: Timestamp, in zone: TimeZoneRules) -> Timestamp? {
    let seconds = Int(time.seconds)
    let found: Int? =
      switch self {
      case .every(let period, let offset):
        Recurrence.last(notAfter: seconds, every: period, offset: offset, in: zone)
      case .cron(let pattern): pattern.last(notAfter: seconds, in: zone)
      }
    return found.flatMap { Timestamp(seconds: Int64($0), nanoseconds: 0) }
  }

  /// The maximum number of offset changes that one search passes. In real zones they are further
  /// apart.
  private static let changesMax = 8

  private static func next(
    after start: Int, every period: Int, offset: Int, in zone: TimeZoneRules
  ) -> Int? {
    // The first second that may be the result.
    var from = start + 1
    for _ in 0..<changesMax {
      let east = zone.offset(at: from)
      let candidate = (from + east - offset).roundedUp(to: period) + offset - east
      guard zone.offset(at: candidate) != east else { return candidate }
      // The offset changes before the candidate: count again from the change.
      from = zone.firstChange(after: from, upTo: candidate)
    }
    return nil
  }

  private static func last(
    notAfter end: Int, every period: Int, offset: Int, in zone: TimeZoneRules
  ) -> Int? {
    var upTo = end
    for _ in 0..<changesMax {
      let east = zone.offset(at: upTo)
      let candidate = (upTo + east - offset).roundedDown(to: period) + offset - east
      guard zone.offset(at: candidate) != east else { return candidate }
      upTo = zone.firstChange(after: candidate, upTo: upTo) - 1
    }
    return nil
  }
}

extension TimeZoneRules {
  /// Seconds east of UTC.
  func offset(at seconds: Int) -> Int {
    let time = Timestamp(seconds: Int64(seconds), nanoseconds: 0)
    return period(at: time ?? (seconds < 0 ? .earliest : .latest)).offsetSeconds
  }

  /// A second at which the offset changes, between two seconds with different offsets.
  fileprivate func firstChange(after start: Int, upTo end: Int) -> Int {
    let old = offset(at: start)
    var (low, high) = (start, end)
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if offset(at: middle) == old { low = middle } else { high = middle }
    }
    return high
  }
}

extension Int {
  /// The greatest multiple that is not greater than this.
  func roundedDown(to multiple: Int) -> Int {
    let rest = self % multiple
    return self - (rest < 0 ? rest + multiple : rest)
  }

  fileprivate func roundedUp(to multiple: Int) -> Int { -(-self).roundedDown(to: multiple) }
}
