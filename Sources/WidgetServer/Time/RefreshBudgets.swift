import WidgetCore
import WidgetModel

/// The remaining calls of RefreshWidgets for the widgets of each kind.
///
/// Each kind has a number of calls that comes back evenly over an hour of running time, so nobody
/// gains calls by setting the clock. A value: the time is an argument.
///
/// The stored number is lower than the remaining number, so that not every call has to be stored.
/// After a crash, a kind has at most `1 / slices` of its calls fewer, and never more. At an orderly
/// end, the remaining number is stored.
struct RefreshBudgets {
  /// The remaining calls at a time.
  private struct Level: Hashable {
    var left: Double
    var at: RunningTime
    var capacity: Int

    func left(_ capacity: Int, _ now: RunningTime) -> Double {
      // A stored time in the future changes nothing.
      let seconds = max(0, now.duration(since: at) / .seconds(1))
      return min(Double(capacity), left + seconds * Double(capacity) / RefreshBudgets.hour)
    }
  }

  /// The levels of kinds with used calls.
  private var used: [KindName: Level] = [:]
  /// The stored levels.
  private var stored: [KindName: Level] = [:]
  /// The kinds with fewer calls left than the stored level promises.
  private var unstored: Set<KindName> = []
  /// Further such kinds, which wait because the store has refused their levels. They are in `stored`,
  /// too, although they are not stored.
  private var late: Set<KindName> = []
  /// The level of each kind before the first call of the turn; nil for a full budget.
  private var former: [KindName: Level?] = [:]
  /// The kinds with a full budget that still have a stored level.
  private var unremoved: Set<KindName> = []
  /// The number of levels at which those of full budgets are looked for.
  private var usedMax = RefreshBudgets.usedMin

  /// The number of levels above which those of removed kinds are dropped; nil before the first time.
  private var removedFrom: Int?

  /// The levels to store, and the kinds whose stored levels to remove.
  struct Changes: Hashable {
    var upserts: [RefreshBudgetImage] = []
    var deletions: [KindName] = []

    var isEmpty: Bool { upserts.isEmpty && deletions.isEmpty }
  }

  /// The number of kinds with used calls.
  var count: Int { used.count }
  /// The number of kinds whose levels need storing with their calls.
  var unstoredCount: Int { unstored.count }
  /// Whether levels need storing. Levels that are only to be removed wait for others.
  var needsStoring: Bool { !(unstored.isEmpty && late.isEmpty) }

  /// The maximum number of stored levels that one write removes, because no call pays for it. A
  /// write of more levels removes as many as it writes. So the stored levels of removed kinds do not
  /// add up.
  static let deletionsMax = 64
  /// The same for levels that waited for the store.
  static let lateMax = 64
  /// The minimum number of levels at which those of full budgets are looked for.
  static let usedMin = 256
  private static let hour = 3_600.0
  /// The number of writes in which a full budget can be used up.
  private static let slices = 16.0

  /// The budgets of an earlier run.
  init(_ images: [RefreshBudgetImage] = []) {
    for image in images {
      // The capacity of the kind counts from its next use.
      let level = Level(
        left: Double(image.leftThousandths) / 1_000,
        at: RunningTime(elapsed: .seconds(image.seconds)), capacity: 0)
      used[image.kind] = level
      stored[image.kind] = level
    }
  }

  /// The remaining budget of a kind.
  ///
  /// - Parameter clock: the time of the system's clock, for `nextTime`.
  func budget(
    of kind: KindName, capacity: Int, at now: RunningTime, clock: Timestamp
  ) -> RefreshBudget {
    let left = left(kind, capacity, now)
    var budget = RefreshBudget(kind: kind, remaining: Int(left), capacity: capacity)
    if left < Double(capacity) {
      let missing = left.rounded(.down) + 1 - left
      budget.nextTime = clock.advanced(
        by: .milliseconds(
          Int64((missing * RefreshBudgets.hour / Double(capacity) * 1_000).rounded(.up))))
    }
    return budget
  }

  /// Takes one call. Returns whether there was one.
  mutating func take(_ kind: KindName, capacity: Int, at now: RunningTime) -> Bool {
    settle(kind, at: now)
    let left = left(kind, capacity, now)
    guard left >= 1 else { return false }
    let level = Level(left: left - 1, at: now, capacity: capacity)
    if former.index(forKey: kind) == nil { former.updateValue(used[kind], forKey: kind) }
    used[kind] = level
    let promised = stored[kind]?.left(capacity, now) ?? Double(capacity)
    unremoved.remove(kind)
    let isLate = late.remove(kind) != nil
    if isLate || promised > level.left { unstored.insert(kind) }
    if used.count > usedMax { dropFull(at: now) }
    return true
  }

  /// Takes back the calls since `keepCalls`, because they are repeated.
  mutating func takeBack() {
    for (kind, level) in former { used[kind] = level }
    former.removeAll()
  }

  /// The calls of the turn are final.
  mutating func keepCalls() {
    if !former.isEmpty { former.removeAll(keepingCapacity: former.count < 256) }
  }

  /// Drops the levels of kinds with a full budget, which need none. The number of levels at which that
  /// happens doubles, so that a call costs O(1) on average.
  private mutating func dropFull(at now: RunningTime) {
    for (kind, level) in used where !isUsed(level, at: now) { drop(kind) }
    usedMax = max(RefreshBudgets.usedMin, 2 * used.count)
  }

  /// Drops the oldest levels of removed kinds if there are more than twice as many levels as kinds
  /// can be declared. Levels of half that number of removed kinds stay. So a call costs O(1) on
  /// average, as with `dropFull`.
  ///
  /// Call it only after `keepCalls`, when the removal of kinds is final: a kind that comes back
  /// keeps its level.
  ///
  /// - Parameter isDeclared: Whether a kind is not removed.
  mutating func dropRemoved(kindsMax: Int, isDeclared: (KindName) -> Bool) {
    guard used.count > max(removedFrom ?? 0, 2 * kindsMax) else { return }
    let removed = used.filter { !isDeclared($0.key) }
      .sorted { ($1.value.at, $1.key.rawValue) < ($0.value.at, $0.key.rawValue) }
    for (kind, _) in removed.dropFirst(kindsMax / 2) { drop(kind) }
    removedFrom = used.count + max(1, kindsMax / 2)
  }

  private mutating func drop(_ kind: KindName) {
    used[kind] = nil
    unstored.remove(kind)
    late.remove(kind)
    if stored.removeValue(forKey: kind) != nil { unremoved.insert(kind) }
  }

  /// The changes to store. They count as stored from now on. Some of the levels that waited may be
  /// left. O(changes).
  mutating func takeChanges(at now: RunningTime) -> Changes {
    let kinds = unstored.union(late.prefix(RefreshBudgets.lateMax))
    return takeChanges(of: kinds, at: now, deletionsMax: RefreshBudgets.deletionsMax) {
      max(1, Double($0.capacity) / RefreshBudgets.slices)
    }
  }

  /// The changes to store at an orderly end, without a reserve for further calls. O(all).
  mutating func takeLastChanges(at now: RunningTime) -> Changes {
    let kinds = used.filter { stored[$0.key] != $0.value }.keys
    // After a failed write, `stored` has levels that are not stored.
    let all = unstored.union(late).union(kinds)
    return takeChanges(of: all, at: now, deletionsMax: .max) { _ in 0 }
  }

  private mutating func takeChanges(
    of kinds: Set<KindName>, at now: RunningTime, deletionsMax: Int,
    reserving reserve: (Level) -> Double
  ) -> Changes {
    var changes = Changes()
    unstored.removeAll()
    late.subtract(kinds)
    for kind in kinds {
      guard let level = used[kind], isUsed(level, at: now) else {
        drop(kind)
        continue
      }
      let kept = Level(
        left: max(0, level.left - reserve(level)), at: level.at, capacity: level.capacity)
      stored[kind] = kept
      changes.upserts.append(image(of: kind, kept))
    }
    changes.upserts.sort { $0.kind.rawValue.precedesByBytes($1.kind.rawValue) }
    changes.deletions = Array(unremoved.prefix(max(deletionsMax, changes.upserts.count)))
    unremoved.subtract(changes.deletions)
    return changes
  }

  private func image(of kind: KindName, _ level: Level) -> RefreshBudgetImage {
    // The time is stored in whole seconds. So calls that came back in the rest of the second would
    // come back twice after a restart, and are subtracted. If the level is lower than these calls, it
    // counts from the next second.
    let (seconds, attoseconds) = level.at.elapsed.components
    let rest = Double(attoseconds) / 1e18 * Double(level.capacity) / RefreshBudgets.hour
    let isLess = level.left < rest
    return RefreshBudgetImage(
      kind: kind, leftThousandths: Int64(((level.left - (isLess ? 0 : rest)) * 1_000).rounded()),
      seconds: seconds + (isLess ? 1 : 0))
  }

  /// Notes that changes could not be stored.
  mutating func storingFailed(_ changes: Changes) {
    unstored.formUnion(changes.upserts.map(\.kind))
    unremoved.formUnion(changes.deletions.filter { stored[$0] == nil })
  }

  /// Lets all levels wait that need storing, because the store takes no changes.
  mutating func postpone() {
    late.formUnion(unstored)
    unstored.removeAll()
  }

  /// Lets calls come back from now on if the level's time is in the future: an earlier version
  /// stored the time of the clock.
  private mutating func settle(_ kind: KindName, at now: RunningTime) {
    if let level = used[kind], level.at > now { used[kind]?.at = now }
    if let level = stored[kind], level.at > now { stored[kind]?.at = now }
  }

  private func left(_ kind: KindName, _ capacity: Int, _ now: RunningTime) -> Double {
    used[kind]?.left(capacity, now) ?? Double(capacity)
  }

  /// Whether a kind's budget is not full.
  private func isUsed(_ level: Level, at now: RunningTime) -> Bool {
    now.duration(since: level.at) < .seconds(RefreshBudgets.hour)
  }
}
