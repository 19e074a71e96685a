import NIOCore

/// Providers without a session whose widgets become stale: those whose session ended, and those of
/// the former process that did not come back in time.
struct LostProviders {
  /// Lost providers whose widgets are not stale yet.
  private(set) var abandoned: Set<String> = []
  /// Lost providers whose widgets become stale in the turn under way.
  private var inTurn: Set<String> = []
  /// The time of the retry after the turn's group failed.
  private var retryAt: NIODeadline?
  /// Providers that had sessions before the daemon started, and have not come back.
  private var absent: Set<String> = []
  private var absenceWatch = LeaseWatch()

  /// The time after the start in which a provider can come back.
  static let returnTime = TimeAmount.seconds(15)
  /// The pause after a failed group.
  static let retryPause = TimeAmount.seconds(1)

  // MARK: - Gone and back

  mutating func lose(_ provider: String) { abandoned.insert(provider) }

  func isLost(_ provider: String) -> Bool { abandoned.contains(provider) }

  mutating func comeBack(_ provider: String) { absent.remove(provider) }

  /// Names the providers of the process before.
  mutating func await(_ providers: Set<String>) { absent = providers }

  /// Checks whether the time to come back is over.
  ///
  /// - Returns: what to do next; nil if no provider is absent.
  mutating func lookAtAbsent(at instant: NIODeadline, start: NIODeadline) -> LeaseWatch.Verdict? {
    guard !absent.isEmpty else { return nil }
    let verdict = absenceWatch.look(at: instant, end: start + LostProviders.returnTime)
    if case .isOver = verdict {
      abandoned.formUnion(absent)
      absent.removeAll()
    }
    return verdict
  }

  // MARK: - A turn

  var waitsForRetry: Bool { retryAt != nil }

  mutating func retryNow() { retryAt = nil }

  /// The providers whose widgets this turn makes stale.
  mutating func takeAll(at instant: NIODeadline) -> Set<String> {
    if let retryAt, instant < retryAt { return [] }
    retryAt = nil
    return take(abandoned)
  }

  mutating func take(_ providers: Set<String>) -> Set<String> {
    abandoned.subtract(providers)
    inTurn.formUnion(providers)
    return providers
  }

  mutating func groupEnded() { inTurn.removeAll() }

  /// The turn's group was taken back. Returns whether to try again after `retryPause`.
  mutating func groupFailed(at instant: NIODeadline) -> Bool {
    guard !inTurn.isEmpty else { return false }
    abandoned.formUnion(inTurn)
    inTurn.removeAll()
    retryAt = instant + LostProviders.retryPause
    return true
  }
}
