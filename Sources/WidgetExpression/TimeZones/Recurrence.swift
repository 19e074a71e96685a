package import WidgetModel

/// Recurring times, in the local time of a zone.
package enum Recurrence: Hashable, Sendable {
  /// At whole multiples of a period since midnight of 1970-01-01 and `offset`, in seconds.
  case every(seconds: Int, offset: Int)
  case cron(CronPattern)

  /// A mistake in the times of a schedule.
  package struct Problem: Error, Hashable {
    /// The schedule's key: `every`, `offset` or `cron`.
    package let key: String
    package let message: String
    /// The next step.
    package let hint: String

    /// The message with its hint.
    package var text: String { hint.isEmpty ? message : "\(message); \(hint)" }
  }

  /// The shortest period, and the longest: a year.
  private static let periodRange = 1...31_622_400

  /// The times of a schedule with `every` or `cron`. Nil for a schedule with `entries`.
  package init?(_ schedule: EntrySchedule) throws(Problem) {
    if let every = schedule.every {
      guard let seconds = Recurrence.wholeSeconds(every),
        Recurrence.periodRange.contains(seconds)
      else {
        throw Problem(
          key: "every", message: "\(DurationSyntax.seconds(every)) is not a period",
          hint: "use whole seconds, from 1 s to 366 days")
      }
      guard let start = Recurrence.wholeSeconds(schedule.offset),
        (-seconds...seconds).contains(start)
      else {
        throw Problem(
          key: "offset",
          message: "\(DurationSyntax.seconds(schedule.offset)) is not an offset in a period of "
            + DurationSyntax.seconds(every),
          hint: "use whole seconds, at most one period")
      }
      self = .every(seconds: seconds, offset: start)
    } else if !schedule.cron.isEmpty {
      do throws(CronPattern.Problem) { self = .cron(try CronPattern(schedule.cron)) } catch {
        throw Problem(key: "cron", message: error.message, hint: error.hint)
      }
    } else {
      return nil
    }
  }

  private static func wholeSeconds(_ duration: Duration) -> Int? {
    let (seconds, attoseconds) = duration.components
    return attoseconds == 0 ? Int(exactly: seconds) : nil
  }

  /// The first time after another one; nil if there is none within `CronPattern.yearsMax` years.
  /// Takes the cost from a budget. The result is right even if the budget is spent.
  package func next(
    after time: Timestamp, in zone: TimeZoneRules, spending budget: inout Int
  ) -> Timestamp? {
    let seconds = Int(time.seconds)
    let found: Int? =
      switch self {
      case .every(let period, let offset):
        Recurrence.next(
          after: seconds, every: period, offset: offset, in: zone, spending: &budget)
      case .cron(let pattern): pattern.next(after: seconds, in: zone, spending: &budget)
      }
    return found.flatMap { Timestamp(seconds: Int64($0), nanoseconds: 0) }
  }

  /// The last time that is not after another one; see `next`.
  package func last(
    notAfter time: Timestamp, in zone: TimeZoneRules, spending budget: inout Int
  ) -> Timestamp? {
    let seconds = Int(time.seconds)
    let found: Int? =
      switch self {
      case .every(let period, let offset):
        Recurrence.last(
          notAfter: seconds, every: period, offset: offset, in: zone, spending: &budget)
      case .cron(let pattern): pattern.last(notAfter: seconds, in: zone, spending: &budget)
      }
    return found.flatMap { Timestamp(seconds: Int64($0), nanoseconds: 0) }
  }

  /// The maximum number of spans of a zone that a search for a period looks at. In real zones, a
  /// year has fewer.
  private static let spansMax = 64

  private static func next(
    after start: Int, every period: Int, offset: Int, in zone: TimeZoneRules,
    spending budget: inout Int
  ) -> Int? {
    // The first second that may be the result.
    var from = start + 1
    for _ in 0..<spansMax {
      budget -= CronPattern.costOfZone
      let span = zone.span(at: from)
      let east = span.offset
      let candidate = (from + east - offset).roundedUp(to: period) + offset - east
      guard candidate >= span.end else { return candidate }
      // The offset changes before the candidate: count again from the change.
      from = span.end
    }
    return nil
  }

  private static func last(
    notAfter end: Int, every period: Int, offset: Int, in zone: TimeZoneRules,
    spending budget: inout Int
  ) -> Int? {
    var upTo = end
    for _ in 0..<spansMax {
      budget -= CronPattern.costOfZone
      let span = zone.span(at: upTo)
      let east = span.offset
      let candidate = (upTo + east - offset).roundedDown(to: period) + offset - east
      guard candidate < span.start else { return candidate }
      upTo = span.start - 1
    }
    return nil
  }
}

extension Int {
  /// The greatest multiple that is not greater than this.
  func roundedDown(to multiple: Int) -> Int {
    let rest = self % multiple
    return self - (rest < 0 ? rest + multiple : rest)
  }

  func roundedUp(to multiple: Int) -> Int { -(-self).roundedDown(to: multiple) }
}
