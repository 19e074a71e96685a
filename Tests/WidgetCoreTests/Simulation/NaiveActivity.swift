import WidgetModel

@testable import WidgetCore

/// An activity, with dates in seconds. A clock that is set does not move them.
struct NaiveActivity {
  private let start: Int64
  private let expires: Int64
  private(set) var stale: Int64?
  private(set) var end: Int64?
  private(set) var dismissal: Int64?
  private var hasExpired = false
  private(set) var isStale = false

  enum Passage {
    case nothing, expired, dismissed
  }

  init(startedAt now: Int64, lifetime: Int64, staleAfter: Int64?) {
    (start, expires) = (now, now + lifetime)
    stale = staleAfter.map { now + $0 }
  }

  mutating func update(at now: Int64, staleAfter: Int64?) {
    (stale, isStale) = (staleAfter.map { now + $0 }, false)
  }

  mutating func finish(at now: Int64, stay: Int64) {
    (stale, end, dismissal, isStale) = (nil, now, now + stay, false)
  }

  mutating func advance(to now: Int64) -> Passage {
    if let date = stale, date <= now { (stale, isStale) = (nil, true) }
    var passage = Passage.nothing
    if end == nil, expires <= now {
      (stale, isStale, hasExpired) = (nil, true, true)
      (end, dismissal) = (expires, expires + 4 * 3_600)
      passage = .expired
    }
    return dismissal.map { $0 <= now } ?? false ? .dismissed : passage
  }

  func isEqual(to activity: Activity, isStale: Bool) -> Bool {
    func time(_ seconds: Int64) -> Timestamp {
      Timestamp(seconds: seconds, nanoseconds: 0) ?? .epoch
    }
    let state: Activity.State = hasExpired ? .expired : end == nil ? .active : .ended
    return isStale == self.isStale
      && activity
        == Activity(
          state: state, startTime: time(start), expireTime: time(expires),
          staleTime: stale.map(time), endTime: end.map(time), dismissTime: dismissal.map(time))
  }
}
