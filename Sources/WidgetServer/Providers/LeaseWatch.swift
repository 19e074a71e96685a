import NIOCore

/// Decides when the lease of a silent provider is over.
///
/// A busy daemon may not have read frames that came in time. So an expired lease is checked twice,
/// with time to read in between. If the second check is late, the daemon was busy again, and the
/// check does not count. A daemon that is always busy repeats it only `lateLooksMax` times.
struct LeaseWatch {
  private var secondLookAt: NIODeadline?
  /// The number of second checks that were late, since the lease has expired.
  private var lateLooks = 0

  /// The time from the first check to the second.
  static let secondLook = TimeAmount.milliseconds(250)
  /// A second check with this delay is late.
  static let lateness = TimeAmount.milliseconds(50)
  /// The maximum number of late second checks that do not count.
  static let lateLooksMax = 10

  enum Verdict: Equatable {
    case lookAgain(at: NIODeadline)
    case isOver
  }

  /// Checks a lease that ends at `end`.
  mutating func look(at instant: NIODeadline, end: NIODeadline) -> Verdict {
    guard instant >= end else {
      (secondLookAt, lateLooks) = (nil, 0)
      return .lookAgain(at: end)
    }
    if let secondLookAt {
      if instant < secondLookAt { return .lookAgain(at: secondLookAt) }
      let isLate = instant >= secondLookAt + LeaseWatch.lateness
      guard isLate, lateLooks < LeaseWatch.lateLooksMax else { return .isOver }
      lateLooks += 1
    }
    let next = instant + LeaseWatch.secondLook
    secondLookAt = next
    return .lookAgain(at: next)
  }
}
