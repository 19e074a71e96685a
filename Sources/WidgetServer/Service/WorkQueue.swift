import NIOCore

/// Work that comes in parts, such as the calls that a connection has sent.
///
/// Confined to the event loop.
protocol SlicedWork: AnyObject {
  var share: WorkShare { get }

  /// Does some of the work, at least one part.
  ///
  /// - Returns: Whether work is left that can be done at once. If not, the workload submits itself
  ///   again later.
  func work(_ slice: TimeSlice) -> Bool

  /// Drops the work, because the service stops.
  func abandon()
}

/// The owner of a workload, and the workload's cost so far.
final class WorkShare {
  let uid: UInt32
  fileprivate var account = FairQueue<any SlicedWork>.Account(expected: WorkQueue.expectedAtFirst)
  fileprivate var state = State.idle

  fileprivate enum State { case idle, waiting, working }

  init(uid: UInt32) { self.uid = uid }
}

/// A piece of the loop's time.
struct TimeSlice {
  let start: NIODeadline
  let end: NIODeadline
  let clock: () -> NIODeadline

  var isOver: Bool { clock() >= end }
}

/// Shares the loop's time: among users, and among the workloads of each user.
///
/// If no workload waits, a new one is done at once. Otherwise the workload with the lowest cost and
/// the shortest slice gets the next slice of time. One pass of the loop has a bound, so that it
/// reads again soon. A peer with little work waits for about one turn, however much others have
/// sent. A slice that is longer than `longMin` has a separate pass. Otherwise the answers of the
/// pass would wait for the slice.
///
/// Confined to the event loop.
final class WorkQueue {
  private let turn: Turn
  /// The time. Tests replace it.
  var clock: () -> NIODeadline = { .now() }
  private var users: [UInt32: User] = [:]
  private var queue = FairQueue<UInt32>()
  /// The time spent on work since the loop has read.
  private var spent = TimeAmount.zero
  /// The time that the daemon has used for itself, outside of slices, since the loop has read.
  private var ownTime = TimeAmount.zero
  /// The pass of the loop in which it was spent.
  private var spentPass: UInt64?
  /// Whether a workload works.
  private var isInSlice = false
  /// Whether slices of this pass have started tasks.
  private var hasStartedTasks = false
  private(set) var taskCosts = TaskCosts()
  /// The expected time of the tasks that the present slice has started, or the rounds since the
  /// last slice.
  private(set) var owed = TimeAmount.zero
  /// The time of the present slice that the daemon has used for itself.
  private var uncharged = TimeAmount.zero
  /// The time of all slices so far.
  private var worked = TimeAmount.zero
  /// The rows that the group will write: their number, and their size in bytes.
  private var rows = (count: 0, bytes: 0)
  /// The same at the start of the present slice.
  private var rowsAtStart = (count: 0, bytes: 0)
  private(set) var rowCosts = RowCosts()
  /// The time, including the tasks that the present slice has started, and the time to write its
  /// rows. A slice also ends when its group is full.
  private lazy var clockOfSlice: () -> NIODeadline = { [unowned self] in
    isGroupFull ? .distantFuture : clock() + owed + timeOfRows - uncharged
  }
  /// The expected time to write the rows of the present slice.
  private var timeOfRows: TimeAmount {
    rowCosts.time(count: rows.count - rowsAtStart.count, bytes: rows.bytes - rowsAtStart.bytes)
  }

  private struct User {
    var account = FairQueue<UInt32>.Account(expected: WorkQueue.expectedAtFirst)
    var workloads = FairQueue<any SlicedWork>()
    /// Whether the user is in `queue`.
    var isWaiting = false
  }

  /// The time that the turns of one pass of the loop may spend on work.
  static let turnMax = TimeAmount.milliseconds(4)
  /// The same for a pass that has started tasks, while several workloads wait. A call over gRPC takes
  /// several passes, because its tasks run after the work of a pass.
  static let turnWithTasksMax = TimeAmount.milliseconds(2)
  /// The part of that time that one workload gets before the next.
  static let sliceMax = TimeAmount.milliseconds(1)
  /// A workload whose slices are longer than this has a separate pass. Slices are longer than
  /// `sliceMax` if a part is, such as a costly call.
  static let longMin = TimeAmount.milliseconds(2)
  /// A group whose rows have more bytes takes no more work. So it has at most so many bytes, and the
  /// rows of one part of work.
  static let rowBytesMax = 512 << 10
  /// The expected cost of the first slice of a workload or user, in nanoseconds.
  fileprivate static let expectedAtFirst = UInt64(sliceMax.nanoseconds)
  /// With more users than this, those without waiting work are forgotten.
  private static let usersMax = 64

  init(turn: Turn) { self.turn = turn }

  /// Whether work waits for the next turn.
  var hasMore: Bool { !queue.isEmpty }

  /// Whether this pass of the loop has done work.
  var hasWorked: Bool { spent > .zero }

  /// Works at once if no workload waits or works, and the turn has time left. Otherwise the workload
  /// waits for its slice.
  func submit(_ workload: any SlicedWork) {
    guard let slice = begin(workload) else { return }
    end(workload, slice, hasMore: workload.work(slice))
  }

  /// Returns the slice in which a workload works at once; then it has to call `end`. Returns nil if
  /// the workload has to wait.
  func begin(_ workload: any SlicedWork) -> TimeSlice? {
    let share = workload.share
    guard share.state == .idle else { return nil }
    renewTime()
    // In another slice, the time would count twice.
    guard !hasMore, !isInSlice, !isGroupFull, fits(share) else {
      enqueue(workload)
      return nil
    }
    return begin(share)
  }

  /// Whether the pass has time for the next slice of a workload. If the pass has done nothing else,
  /// nobody waits for its end.
  private func fits(_ share: WorkShare) -> Bool {
    guard spent > .zero else { return true }
    let expected = TimeAmount.nanoseconds(Int64(clamping: share.account.expected))
    return spent < passMax && expected <= WorkQueue.longMin
      && spent + expected <= passMax + WorkQueue.sliceMax
  }

  /// The time of this pass for work: what the daemon itself leaves, but at least one slice.
  private var passMax: TimeAmount { max(passMaxWithOwn - ownTime, WorkQueue.sliceMax) }

  /// The time of this pass. One client alone gets all of it, so that its changes share a group and
  /// frames.
  private var passMaxWithOwn: TimeAmount {
    guard hasStartedTasks, let uid = queue.first else { return WorkQueue.turnMax }
    let severalWait = queue.count > 1 || (users[uid]?.workloads.count ?? 0) > 1
    return severalWait ? WorkQueue.turnWithTasksMax : WorkQueue.turnMax
  }

  private func begin(_ share: WorkShare) -> TimeSlice {
    share.state = .working
    isInSlice = true
    (owed, uncharged) = (.zero, .zero)
    rowsAtStart = rows
    let start = clock()
    return TimeSlice(start: start, end: start + WorkQueue.sliceMax, clock: clockOfSlice)
  }

  /// Counts the cost of a slice. If work is left, the workload waits for its next slice.
  func end(_ workload: any SlicedWork, _ slice: TimeSlice, hasMore: Bool) {
    let share = workload.share
    isInSlice = false
    let time = clock() - slice.start - uncharged
    let cost = time + owed + timeOfRows
    hasStartedTasks = hasStartedTasks || owed > .zero
    owed = .zero
    // `runTask` counts the rest of its time as that of tasks.
    worked = worked + time + uncharged
    spent = spent + cost + uncharged
    charge(share, cost)
    share.state = .idle
    if hasMore { enqueue(workload) }
  }

  /// Runs work of the daemon itself, such as changes by time. Its time does not count for the slice
  /// in which it runs: a small call that opens a turn would wait like a costly one later. The pass
  /// has less time for other work, so that it does not become longer.
  func withoutCharge(_ body: () -> Void) {
    renewTime()
    let start = clock()
    body()
    let time = clock() - start
    if isInSlice { uncharged = uncharged + time } else { ownTime = ownTime + time }
  }

  /// Works in one of the next turns.
  func enqueue(_ workload: any SlicedWork) {
    let share = workload.share
    guard share.state == .idle else { return }
    share.state = .waiting
    users[share.uid, default: User()].workloads.add(workload, &share.account)
    wait(for: share.uid)
    turn.open()
  }

  /// Works as long as the turn may. Called when everything readable was read.
  func serve() {
    renewTime()
    while spent < passMax, !isGroupFull, let uid = queue.first {
      if let workload = users[uid]?.workloads.first, !fits(workload.share) { break }
      _ = queue.next()
      guard let workload = users[uid]?.workloads.next() else { continue }
      users[uid]?.isWaiting = false
      let slice = begin(workload.share)
      end(workload, slice, hasMore: workload.work(slice))
      wait(for: uid)
    }
    if turn.loopPass == nil {
      (spent, ownTime, hasStartedTasks) = (.zero, .zero, false)
      taskCosts.endPass()
    }
    if users.count > WorkQueue.usersMax {
      users = users.filter { $0.value.isWaiting || queue.remembers($0.value.account) }
    }
  }

  /// Resets the count if the loop has read. Tasks of a pass, such as calls over gRPC, can open more
  /// turns in the same pass. These turns share the time. Otherwise the loop would not read any
  /// more.
  private func renewTime() {
    let pass = turn.loopPass?()
    guard pass != spentPass else { return }
    (spent, ownTime, spentPass, hasStartedTasks) = (.zero, .zero, pass, false)
    taskCosts.endPass()
  }

  // MARK: - Tasks

  /// Notes that the present part of a slice starts tasks. They run after the slice, and belong to
  /// its cost. This is true of slices of workloads, and of the slices that `slice(of:)` returns.
  ///
  /// - Parameter parts: the cost of the tasks, compared with those of a usual part.
  func expectTasks(parts: Int64 = 1) {
    taskCosts.count(parts: parts)
    owed = owed + .nanoseconds(taskCosts.average.nanoseconds * parts)
  }

  /// Runs a part of a task, and counts its time.
  func runTask(_ body: () -> Void) {
    let (start, workedBefore) = (clock(), worked)
    body()
    // A task can submit work, which is done in a slice.
    taskCosts.count(clock() - start - (worked - workedBefore))
  }

  // MARK: - Rows

  private var isGroupFull: Bool { rows.bytes > WorkQueue.rowBytesMax }

  /// Notes the rows that the group will write now; none after its end. The time to write the rows of
  /// a slice belongs to its cost.
  func noteRows(count: Int, bytes: Int) { rows = (count, bytes) }

  /// Call before the group is written. Returns the start of the write; nil if its time does not
  /// matter.
  func beginWrite() -> NIODeadline? { rows.bytes >= RowCosts.countedBytesMin ? clock() : nil }

  /// Notes that the group is written.
  func endWrite(since start: NIODeadline?) {
    guard let start else { return rowCosts.noteSmall() }
    rowCosts.note(count: rows.count, bytes: rows.bytes, clock() - start)
  }

  /// Drops all waiting work.
  func abandonAll() {
    // The end of a workload can make room for another user, who then waits, too.
    while let uid = users.first(where: { $0.value.workloads.count > 0 })?.key {
      while let workload = users[uid]?.workloads.next() {
        workload.share.state = .idle
        workload.abandon()
      }
    }
    for uid in users.keys { users[uid]?.isWaiting = false }
    queue = FairQueue()
  }

  /// The time, including the tasks that were started.
  var time: NIODeadline { clock() + owed }

  /// A slice of time that begins now, for work at the end of a turn. The tasks that it starts count
  /// twice, for the same reason as for `turnWithTasksMax`.
  func slice(of duration: TimeAmount) -> TimeSlice {
    let clock: () -> NIODeadline = { [unowned self] in self.clock() + owed + owed }
    let start = clock()
    return TimeSlice(start: start, end: start + duration, clock: clock)
  }

  /// Runs a closure for a workload, and counts its cost.
  func charge(_ share: WorkShare, _ body: () -> Void) {
    let start = time
    body()
    charge(share, time - start, isSlice: false)
  }

  private func charge(_ share: WorkShare, _ cost: TimeAmount, isSlice: Bool = true) {
    guard cost >= WorkQueue.costMin || share.account.counts(above: WorkQueue.costMinNanoseconds)
    else { return }
    let nanoseconds = UInt64(clamping: cost.nanoseconds)
    var user = users.removeValue(forKey: share.uid) ?? User()
    user.workloads.charge(nanoseconds, to: &share.account, isPiece: isSlice)
    queue.charge(nanoseconds, to: &user.account, isPiece: isSlice)
    users[share.uid] = user
  }

  /// Puts a user with waiting workloads into the queue.
  private func wait(for uid: UInt32) {
    guard var user = users[uid], !user.isWaiting, !user.workloads.isEmpty else { return }
    queue.add(uid, &user.account)
    user.isWaiting = true
    users[uid] = user
  }

  /// The minimum cost that is counted.
  private static let costMin = TimeAmount.microseconds(20)
  private static let costMinNanoseconds = UInt64(costMin.nanoseconds)
}
