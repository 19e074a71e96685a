import NIOCore

/// When a provider that says nothing is given up.
///
/// A daemon that was busy has not read what came meanwhile, and would take for silent who spoke in time.
/// So nobody is given up at first sight: a moment later it is looked again, and what has come is read until
/// then. If even that look is late, the daemon was busy again, and it does not count.
struct LeaseWatch {
  private var secondLookAt: NIODeadline?

  /// How long after the first look the second comes.
  static let secondLook = TimeAmount.milliseconds(250)
  /// From when on a second look is late.
  static let lateness = TimeAmount.milliseconds(50)

  enum Verdict: Equatable {
    case lookAgain(at: NIODeadline)
    case isOver
  }

  /// Looks whether somebody is to be given up who has time until `end`.
  mutating func look(at instant: NIODeadline, end: NIODeadline) -> Verdict {
    guard instant >= end else {
      secondLookAt = nil
      return .lookAgain(at: end)
    }
    if let secondLookAt {
      if instant < secondLookAt { return .lookAgain(at: secondLookAt) }
      if instant < secondLookAt + LeaseWatch.lateness { return .isOver }
    }
    let next = instant + LeaseWatch.secondLook
    secondLookAt = next
    return .lookAgain(at: next)
  }
}
