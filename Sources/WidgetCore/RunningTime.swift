/// The time that a store has run, in all its processes together. Steps of the clock do not change
/// it.
///
/// The store counts ages in this time. It stands still while the daemon is stopped or the machine
/// sleeps.
public struct RunningTime: Hashable, Comparable, Sendable {
  /// Since the store was made.
  public var elapsed: Duration

  public init(elapsed: Duration) { self.elapsed = elapsed }

  public static let zero = RunningTime(elapsed: .zero)

  public func advanced(by duration: Duration) -> RunningTime {
    RunningTime(elapsed: elapsed + duration)
  }

  /// Negative if the other one is later.
  public func duration(since other: RunningTime) -> Duration { elapsed - other.elapsed }

  public static func < (a: RunningTime, b: RunningTime) -> Bool { a.elapsed < b.elapsed }
}
