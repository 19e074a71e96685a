import NIOCore

/// Decides when the memory of a load is given back to the system: once after the load, when the
/// daemon is quiet.
///
/// malloc keeps the freed memory of calls, streams and connections. The code pages of a burst stay
/// resident. A value: the caller passes the amount of work so far, in calls and in pages of memory.
struct MemoryUpkeep {
  /// The interval of checks.
  static let period = TimeAmount.seconds(15)
  /// The minimum amount of work after which memory can be given back.
  static let workMin: UInt64 = 2_000
  /// The maximum amount of work in a quiet period.
  static let quietWorkMax: UInt64 = 500

  private var workAtRelease: UInt64 = 0
  private var workAtLook: UInt64 = 0

  /// Whether to check after a period. An idle daemon does not check, and sleeps.
  func isDue(at work: UInt64) -> Bool { work - workAtRelease >= MemoryUpkeep.workMin }

  /// Checks the work after a period. Returns whether to give memory back now.
  mutating func look(at work: UInt64) -> Bool {
    let recentWork = work - workAtLook
    workAtLook = work
    guard isDue(at: work), recentWork <= MemoryUpkeep.quietWorkMax else { return false }
    workAtRelease = work
    return true
  }
}
