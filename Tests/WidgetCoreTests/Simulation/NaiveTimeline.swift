import WidgetExpression
import WidgetModel

@testable import WidgetCore

/// The entry that a widget shows, according to the model.
enum NaiveWidget {
  case scheduled(NaiveSchedule, String)
  case train(NaiveTimeline)
}

/// A schedule whose entries are found minute by minute.
enum NaiveSchedule: Sendable {
  struct Local {
    let hour: Int
    let minute: Int
    /// From 0, Sunday.
    let weekday: Int
  }

  /// A period and an offset, in seconds.
  case every(Int64, Int64)
  case cron(@Sendable (Local) -> Bool)

  func last(notAfter now: Int64, in zone: TimeZoneRules) -> Timestamp {
    var minute = now - now % 60
    while !fits(minute + Int64(zone.offset(at: Int(minute)))) { minute -= 60 }
    return Timestamp(seconds: minute, nanoseconds: 0) ?? .epoch
  }

  private func fits(_ local: Int64) -> Bool {
    switch self {
    case .every(let period, let offset): return (local - offset) % period == 0
    case .cron(let holds):
      let days = local / 86_400
      let minutes = Int(local % 86_400) / 60
      // 1 January 1970 was a Thursday.
      return holds(
        Local(hour: minutes / 60, minute: minutes % 60, weekday: Int((days + 4) % 7)))
    }
  }
}

/// A timeline, the requests for a new one, and whether the widget is stale.
struct NaiveTimeline {
  let timeline: Timeline
  let setTime: Timestamp
  private(set) var attempts = 0
  private(set) var nextAttempt: Timestamp?
  private(set) var isStale = false
  private var wasStale = false
  /// Whether only the stale time has made it stale.
  private var isStaleByTime = false
  private var storedStale = false
  private(set) var refreshTime: Timestamp?

  init(_ timeline: Timeline, setAt time: Timestamp) {
    self.timeline = timeline
    setTime = time
  }

  func current(at time: Timestamp) -> TimelineEntry? {
    var best: TimelineEntry?
    for entry in timeline.entries where entry.date <= time {
      if best.map({ $0.date <= entry.date }) ?? true { best = entry }
    }
    return best
  }

  /// The time of the first request to the provider.
  private var wanted: Timestamp? {
    let time: Timestamp?
    switch timeline.policy {
    case .atEnd: time = timeline.entries.map(\.date).max()
    case .after: time = timeline.refreshTime
    case .never: time = nil
    }
    return time.map { max($0, setTime.advanced(by: .seconds(60))) }
  }

  mutating func advance(to time: Timestamp) -> (isAsked: Bool, becomesStale: Bool) {
    var becomesStale = false
    if let stale = timeline.staleTime, stale <= time, !wasStale {
      (wasStale, becomesStale, isStaleByTime) = (true, !isStale, !isStale)
      isStale = true
    }
    return (ask(at: time), becomesStale)
  }

  private mutating func ask(at time: Timestamp) -> Bool {
    let due = attempts == 0 ? wanted : nextAttempt
    refreshTime = due
    guard let due, due <= time else { return false }
    attempts += 1
    nextAttempt = time.advanced(by: pause)
    refreshTime = nextAttempt
    return true
  }

  /// The daemon's wait after the last request.
  private var pause: Duration {
    var seconds = 60
    for _ in 1..<max(attempts, 1) { seconds = min(2 * seconds, 3_600) }
    return .seconds(seconds)
  }

  /// No pause becomes longer. Returns whether the widget is fresh again, because its stale time is
  /// still to come.
  mutating func clockWentBack(to time: Timestamp) -> Bool {
    nextAttempt = nextAttempt.map { min($0, time.advanced(by: pause)) }
    guard let stale = timeline.staleTime, stale > time else { return false }
    let endsStaleness = isStale && isStaleByTime
    if endsStaleness { isStale = false }
    (wasStale, isStaleByTime) = (false, false)
    return endsStaleness
  }

  /// The widget has just got the timeline.
  mutating func place(at time: Timestamp) { refreshTime = wanted }

  /// The provider has answered with an error.
  mutating func fail(at time: Timestamp) {
    let staysStale = timeline.staleTime.map { $0 <= time } ?? false ? isStale : false
    if staysStale != isStale { isStaleByTime = false }
    isStale = staysStale
    storedStale = isStale
  }

  /// The provider has sent fresh data without a timeline, which also answers a request for one.
  mutating func answerWithoutTimeline() {
    let isWaiting = attempts > 0 && nextAttempt != nil
    guard isStale || isWaiting else { return }
    if isStale { (isStale, isStaleByTime) = (false, false) }
    if isWaiting { (nextAttempt, refreshTime) = (nil, nil) }
    storedStale = false
  }

  /// Only the timeline is stored, and whether the widget was stale at the last command.
  mutating func restart() {
    (attempts, nextAttempt, wasStale, isStale) = (0, nil, false, storedStale)
    isStaleByTime = false
  }
}
