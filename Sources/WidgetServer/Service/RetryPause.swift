import NIOCore

/// The pause before the daemon retries a change of its own that the store refused.
///
/// Each failure in a row doubles the pause, up to `longest`: each attempt on a full disk makes others
/// wait. `end` ends the pause early, because the store takes changes again.
///
/// A value: the time is an argument.
struct RetryPause {
  static let shortest = TimeAmount.seconds(1)
  static let longest = TimeAmount.seconds(60)

  private var next = shortest
  private var endTime: NIODeadline?

  /// Whether a pause is on that nothing has ended.
  var isOn: Bool { endTime != nil }

  /// Whether the change has to wait. Ends a pause that is over.
  mutating func holds(at instant: NIODeadline) -> Bool {
    guard let endTime else { return false }
    if instant < endTime { return true }
    self.endTime = nil
    return false
  }

  /// Begins a pause after a failure. Returns its end.
  mutating func fail(at instant: NIODeadline) -> NIODeadline {
    let end = instant + next
    endTime = end
    next = min(next + next, RetryPause.longest)
    return end
  }

  /// The change is durable or no longer needed, so the next pause is the shortest one.
  mutating func succeed() { self = RetryPause() }

  /// Ends the pause. If the next attempt fails, too, the next pause is still the longer one.
  mutating func end() { endTime = nil }
}
