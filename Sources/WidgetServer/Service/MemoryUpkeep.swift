import NIOCore

/// Decides when the memory of a load is given back to the system: after the load, when the daemon
/// is quiet. If the daemon does not become quiet, a part is given back after some minutes.
///
/// malloc keeps the freed memory of calls, streams and connections. The code pages of a burst stay
/// resident. `malloc_trim` stops the event loop while it gives pages back: about 9 ms for 390 MiB in
/// pieces of 22 KiB, and at most 2 ms if nearly all of it was given back before. So a daemon under
/// load does this rarely, and only after much work.
///
/// A value: the caller passes the amount of work so far, in calls and in pages of memory.
struct MemoryUpkeep {
  /// What to give back.
  enum Release: Equatable {
    case nothing
    /// Freed memory. The caches and the pages of code stay, because they are in use.
    case freed
    /// Freed memory, the caches, and the pages of code.
    case freedAndCaches
  }

  /// The interval of checks.
  static let period = TimeAmount.seconds(15)
  /// The minimum amount of work after which memory can be given back.
  static let workMin: UInt64 = 2_000
  /// The maximum amount of work in a quiet period.
  static let quietWorkMax: UInt64 = 500
  /// The minimum number of checks between two releases, if no period is quiet: two minutes.
  static let busyChecksMin = 8
  /// The minimum amount of work between two releases, if no period is quiet: some 80 MiB.
  static let busyWorkMin: UInt64 = 20_000

  private var workAtRelease: UInt64 = 0
  private var workAtLook: UInt64 = 0
  /// The number of checks since the last release.
  private var checks = 0
  /// Whether the last release left the caches.
  private var hasCaches = false

  /// Whether to check after a period. An idle daemon does not check, and sleeps.
  func isDue(at work: UInt64) -> Bool {
    hasCaches || work - workAtRelease >= MemoryUpkeep.workMin
  }

  /// Checks the work after a period. Returns what to give back now.
  mutating func look(at work: UInt64) -> Release {
    let isQuiet = work - workAtLook <= MemoryUpkeep.quietWorkMax
    workAtLook = work
    guard isDue(at: work) else { return .nothing }
    checks += 1
    let isLate =
      checks >= MemoryUpkeep.busyChecksMin && work - workAtRelease >= MemoryUpkeep.busyWorkMin
    guard isQuiet || isLate else { return .nothing }
    workAtRelease = work
    checks = 0
    hasCaches = !isQuiet
    return isQuiet ? .freedAndCaches : .freed
  }
}
