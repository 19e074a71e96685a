/// How long a store has run, in all its processes together: a time that no step of a clock changes.
///
/// Ages are counted in it. While the daemon is stopped, or the machine sleeps, it stands still.
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
