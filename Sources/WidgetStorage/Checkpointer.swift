import CSQLite
import Glibc

/// Moves the content of the write-ahead log to the database. It uses a separate thread and
/// connection, so that the appending thread does not wait.
///
/// A pass is a passive checkpoint: it never blocks the writer. While the writer appends, the log
/// cannot begin again, so it grows. The writer calls `waitForEnd` for a pass without a writer, after
/// which the log can begin again.
///
/// The thread also saves a store whose files were removed, because only a connection from before
/// can read them.
///
/// Thread-safe except for `removeLogOnClose`: the mutex guards all mutable state, and only the
/// thread uses the connection.
final class Checkpointer: @unchecked Sendable {
  /// The work so far.
  struct Counters {
    var passes: UInt64 = 0
    var failures: UInt64 = 0
  }

  private let connection: DatabaseConnection
  private let onFailure: @Sendable (StorageError) -> Void
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  // Guarded by the mutex.
  private var thread: pthread_t?
  private var requested: UInt64 = 0
  private var completed: UInt64 = 0
  private var isStopping = false
  private var waiting: [(ticket: UInt64, body: @Sendable () -> Void)] = []
  private var guardedCounters = Counters()
  private var guardedCopy: SavedCopy?
  /// The file of a copy that has not begun.
  private var requestedCopy: String?
  /// Changes when the copy under way is no longer needed.
  private var copyNumber: UInt64 = 0
  /// The end of the time for the copy at a stop.
  private var copyDeadline: ContinuousClock.Instant?
  /// The number of the copy that the thread writes. Only the thread uses it.
  private var writtenCopy: UInt64 = 0

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - path: A database in WAL mode.
  ///   - onFailure: Called on the thread when a pass fails with another error than the last one.
  ///     Nothing is lost, but the log grows.
  init(
    path: String, busyTimeoutMilliseconds: Int32,
    onFailure: @escaping @Sendable (StorageError) -> Void
  ) throws(StorageError) {
    connection = try DatabaseConnection(
      path: path, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
    self.onFailure = onFailure
    mutex = .allocate(capacity: 1)
    condition = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
    // A connection does not know about the log before its first read.
    _ = try connection.number("SELECT count(*) FROM sqlite_schema")
    try start()
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// The work so far.
  var counters: Counters { locked { guardedCounters } }

  /// Asks for a pass that begins after this call. Returns its ticket at once.
  @discardableResult
  func checkpoint() -> UInt64 {
    locked {
      requested += 1
      pthread_cond_broadcast(condition)
      return requested
    }
  }

  /// Whether the pass of a ticket has ended.
  func hasEnded(_ ticket: UInt64) -> Bool { locked { completed >= ticket || isStopping } }

  /// Calls a closure once when the pass of a ticket has ended: on the thread, or now. The closure may
  /// be dropped at a stop.
  func whenEnded(_ ticket: UInt64, _ body: @escaping @Sendable () -> Void) {
    let isOver = locked {
      guard completed < ticket, !isStopping else { return true }
      waiting.append((ticket, body))
      return false
    }
    if isOver { body() }
  }

  /// Asks for a pass that begins after this call, and waits for its end. Returns whether it has
  /// ended.
  @discardableResult
  func checkpointAndWait() -> Bool { waitForEnd(of: checkpoint()) }

  /// Waits for the end of the pass of a ticket. Returns whether it has ended.
  ///
  /// - Parameter timeMax: The maximum time of the wait; nil for none.
  func waitForEnd(of ticket: UInt64, timeMax: Duration? = nil) -> Bool {
    let end = timeMax.map { Checkpointer.monotonicTime(in: $0) }
    return locked {
      while completed < ticket, !isStopping {
        guard var end else {
          pthread_cond_wait(condition, mutex)
          continue
        }
        guard pthread_cond_timedwait(condition, mutex, &end) != ETIMEDOUT else { break }
      }
      return completed >= ticket || isStopping
    }
  }

  private static func monotonicTime(in delay: Duration) -> timespec {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    let (seconds, attoseconds) = delay.components
    let nanoseconds = time.tv_nsec + Int(attoseconds / 1_000_000_000)
    time.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
    time.tv_nsec = nanoseconds % 1_000_000_000
    return time
  }

  /// Ends the thread and waits for its end. Does nothing the second time.
  ///
  /// - Parameter copyWaitMax: The time that a copy under way still has.
  func stop(copyWaitMax: Duration = .zero) {
    let thread: pthread_t? = locked {
      isStopping = true
      copyDeadline = ContinuousClock.now + copyWaitMax
      pthread_cond_broadcast(condition)
      defer { self.thread = nil }
      return self.thread
    }
    guard let thread else { return }
    pthread_join(thread, nil)
  }

  /// Call after `stop`: the connection may then be the last one to close.
  func removeLogOnClose() throws(StorageError) { try connection.removeLogOnClose(true) }

  // MARK: - Copies

  /// The copy that was begun last; nil if there is none.
  var copy: SavedCopy? { locked { guardedCopy } }

  /// Lets the thread write all stored data to a new file. Returns at once.
  func beginCopy(to file: String) {
    locked {
      copyNumber += 1
      if isStopping {
        guardedCopy = .failed(reason: Checkpointer.stopReason)
      } else {
        (guardedCopy, requestedCopy) = (.underWay(path: file), file)
        pthread_cond_broadcast(condition)
      }
    }
  }

  /// Ends a copy under way. A complete copy stays.
  func endCopy() {
    locked {
      copyNumber += 1
      (guardedCopy, requestedCopy) = (nil, nil)
    }
  }

  /// Writes the copy under another name until it is complete and on disk. So no part of a copy
  /// looks like a store.
  private func writeCopy(to file: String, number: UInt64) {
    writtenCopy = number
    sqlite3_progress_handler(
      connection.handle, Checkpointer.stepsPerLook,
      { context in
        guard let context else { return 0 }
        return Unmanaged<Checkpointer>.fromOpaque(context).takeUnretainedValue().isCopyOver ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
    var result = SavedCopy.saved(path: file)
    let temporary = Checkpointer.temporaryCopy(of: connection.path)
    do throws(StorageError) {
      try StoreCopies.copy(connection, to: temporary, givingItToFolderOwner: true)
      try StoreCopies.publish(temporary, as: file)
    } catch {
      result = .failed(reason: isCopyOver ? Checkpointer.stopReason : "\(error)")
    }
    sqlite3_progress_handler(connection.handle, 0, nil, nil)
    sqlite3_db_release_memory(connection.handle)
    locked {
      if copyNumber == number { guardedCopy = result }
    }
  }

  /// Whether the thread must give up the copy. SQLite asks while it writes the copy.
  private var isCopyOver: Bool {
    locked {
      copyNumber != writtenCopy || (copyDeadline.map { $0 <= ContinuousClock.now } ?? false)
    }
  }

  /// The name of a copy that is not complete.
  static func temporaryCopy(of path: String) -> String { path + ".saving" }

  private static let stopReason = "the daemon stopped before the copy was complete"
  /// The steps of SQLite between two looks at `isCopyOver`: less than 100 rows.
  private static let stepsPerLook: Int32 = 200

  // MARK: - The thread

  private enum Work {
    case pass(ticket: UInt64)
    case copy(file: String, number: UInt64)
  }

  private func start() throws(StorageError) {
    // The daemon's other threads handle the signals. This thread inherits a mask that blocks all.
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    let context = Unmanaged.passRetained(self)
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Checkpointer>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, context.toOpaque())
    guard code == 0 else {
      context.release()
      throw .cannotOpen(path: connection.path, detail: "no thread: \(StorageError.text(code))")
    }
    self.thread = thread
  }

  private func run() {
    // On a full disk each refused change asks for a pass. The same failure is reported once.
    var told: StorageError?
    while let work = nextWork() {
      switch work {
      case .copy(let file, let number): writeCopy(to: file, number: number)
      case .pass(let ticket):
        let failure = runPass(ticket)
        if let failure, failure != told { onFailure(failure) }
        told = failure
      }
    }
  }

  /// Makes a pass, and tells its end.
  private func runPass(_ ticket: UInt64) -> StorageError? {
    var failure: StorageError?
    do throws(StorageError) { try pass() } catch { failure = error }
    let ended = locked {
      completed = ticket
      guardedCounters.passes += 1
      if failure != nil { guardedCounters.failures += 1 }
      pthread_cond_broadcast(condition)
      let ended = waiting.filter { $0.ticket <= ticket }
      waiting.removeAll { $0.ticket <= ticket }
      return ended
    }
    for (_, body) in ended { body() }
    return failure
  }

  /// Waits for a request; nil to stop. Changes may wait for a pass, so passes come before copies.
  private func nextWork() -> Work? {
    locked {
      while completed == requested, requestedCopy == nil, !isStopping {
        pthread_cond_wait(condition, mutex)
      }
      if completed != requested, !isStopping { return Work.pass(ticket: requested) }
      guard let file = requestedCopy else { return nil }
      requestedCopy = nil
      return Work.copy(file: file, number: copyNumber)
    }
  }

  /// A passive checkpoint fails as busy, without waiting, if the writer is announcing a group. So
  /// it is retried.
  private func pass() throws(StorageError) {
    var code = SQLITE_BUSY
    for attempt in 0..<Checkpointer.attemptsMax where code & 0xff == SQLITE_BUSY {
      if attempt > 0 { sqlite3_sleep(1) }
      code = sqlite3_wal_checkpoint_v2(
        connection.handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }
    try connection.check(code)
  }

  /// The number of attempts of a pass, a millisecond apart.
  private static let attemptsMax = 50

  private func locked<R>(_ body: () -> R) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }
}

/// Decides by the length of the write-ahead log when to ask for a checkpoint, when changes should
/// pause until it has ended, and when to wait for it.
///
/// The log grows with each group. It begins again with the first group after all of it has been
/// moved.
struct CheckpointPacer {
  let everyPages: Int
  let pagesMax: Int
  /// The length from which changes pause. The groups that are under way have room for the rest.
  private let pauseFrom: Int
  private var askedAt = 0
  private var pausedAt = 0
  private var waitedAt = 0

  init(everyPages: Int, pagesMax: Int) {
    self.everyPages = max(1, everyPages)
    self.pagesMax = max(1, pagesMax)
    pauseFrom = max(1, pagesMax / 4 * 3)
  }

  /// After a group: whether to ask for a checkpoint.
  mutating func isDue(atPages pages: Int) -> Bool {
    if pages < askedAt { askedAt = 0 }
    guard pages - askedAt >= everyPages else { return false }
    askedAt = pages
    return true
  }

  /// After a group: whether changes should pause for a checkpoint.
  mutating func isPauseDue(atPages pages: Int) -> Bool {
    isDue(&pausedAt, atPages: pages, from: pauseFrom)
  }

  /// Before a group: whether to wait for a checkpoint.
  mutating func mustWait(atPages pages: Int) -> Bool {
    isDue(&waitedAt, atPages: pages, from: pagesMax)
  }

  /// While checkpoints fail, this is true once in `everyPages` pages, and the log grows.
  private func isDue(_ last: inout Int, atPages pages: Int, from pagesMin: Int) -> Bool {
    if pages < last { last = 0 }
    guard pages >= pagesMin, last == 0 || pages - last >= everyPages else { return false }
    last = pages
    return true
  }
}

/// The time in which one append may wait for checkpoints. All its waits end at the same time. But
/// each wait after the first one has a minimum.
///
/// A value: the caller passes in the time.
struct CheckpointWait {
  let timeMax: Duration
  let furtherMin: Duration
  /// The end of the time. Nil before the first wait.
  private var end: ContinuousClock.Instant?
  /// Whether a checkpoint was late.
  var isLate = false

  init(timeMax: Duration, furtherMin: Duration) {
    self.timeMax = timeMax
    self.furtherMin = furtherMin
  }

  /// Begins a wait. Returns its maximum.
  mutating func begin(at now: ContinuousClock.Instant = .now) -> Duration {
    guard let end = self.end else {
      self.end = now + timeMax
      return timeMax
    }
    return max(furtherMin, end - now)
  }
}
