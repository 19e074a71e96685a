import CSQLite
import Glibc

/// Moves what is in the write-ahead log to its place in the database, on a thread and connection of
/// its own, so that the thread that appends does not wait for it.
///
/// A pass is a passive checkpoint: it never holds off the writer. While the writer goes on, the log
/// cannot begin again and so grows; `checkpointAndWait`, called by the writer, is a pass without a
/// writer, after which it does.
///
/// Thread-safe but for `removeLogOnClose`: everything that changes is guarded by the mutex, and the connection is used by the
/// thread alone.
final class Checkpointer: @unchecked Sendable {
  /// What it has done so far.
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
  private var guardedCounters = Counters()

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - path: A database in WAL mode.
  ///   - onFailure: Called on the thread when a pass fails in another way than the last one. Nothing is
  ///     lost; the log grows.
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
    pthread_cond_init(condition, nil)
    // Until it has read something, a connection does not know that there is a log.
    _ = try connection.number("SELECT count(*) FROM sqlite_schema")
    try start()
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// What it has done so far.
  var counters: Counters { locked { guardedCounters } }

  /// Asks for a pass. Returns at once.
  func checkpoint() {
    locked {
      requested += 1
      pthread_cond_broadcast(condition)
    }
  }

  /// Asks for a pass that begins after this call, and waits for its end.
  func checkpointAndWait() {
    locked {
      // A pass that is under way takes in what was requested before it began; this one is new.
      requested += 1
      let ticket = requested
      pthread_cond_broadcast(condition)
      while completed < ticket, !isStopping { pthread_cond_wait(condition, mutex) }
    }
  }

  /// Ends the thread and waits for its end. Does nothing the second time.
  func stop() {
    let thread: pthread_t? = locked {
      isStopping = true
      pthread_cond_broadcast(condition)
      defer { self.thread = nil }
      return self.thread
    }
    guard let thread else { return }
    pthread_join(thread, nil)
  }

  /// Call after `stop`: the connection may then be the last one to close.
  func removeLogOnClose() throws(StorageError) { try connection.removeLogOnClose(true) }

  private func start() throws(StorageError) {
    // The daemon's signals are for its own threads: this one inherits a mask that blocks all.
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
    // Each refused change asks for a pass on a full disk. The same failure is told of once.
    var told: StorageError?
    while let ticket = nextTicket() {
      var failure: StorageError?
      do throws(StorageError) { try pass() } catch { failure = error }
      locked {
        completed = ticket
        guardedCounters.passes += 1
        if failure != nil { guardedCounters.failures += 1 }
        pthread_cond_broadcast(condition)
      }
      if let failure, failure != told { onFailure(failure) }
      told = failure
    }
  }

  /// Waits for a request; nil to stop.
  private func nextTicket() -> UInt64? {
    locked {
      while completed == requested, !isStopping { pthread_cond_wait(condition, mutex) }
      return isStopping ? nil : requested
    }
  }

  /// A passive checkpoint is refused as busy, without waiting, if it meets the writer in the middle
  /// of announcing a group; so it is tried again.
  private func pass() throws(StorageError) {
    var code = SQLITE_BUSY
    for attempt in 0..<Checkpointer.attemptsMax where code & 0xff == SQLITE_BUSY {
      if attempt > 0 { sqlite3_sleep(1) }
      code = sqlite3_wal_checkpoint_v2(
        connection.handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }
    try connection.check(code)
  }

  /// How often a pass is tried, a millisecond apart.
  private static let attemptsMax = 50

  private func locked<R>(_ body: () -> R) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }
}

/// When to ask for a checkpoint, and when to wait for one, by the length of the write-ahead log.
///
/// The log grows with each group until it begins again, which it does with the first group after
/// all of it has been moved.
struct CheckpointPacer {
  let everyPages: Int
  let pagesMax: Int
  private var askedAt = 0
  private var waitedAt = 0

  init(everyPages: Int, pagesMax: Int) {
    self.everyPages = max(1, everyPages)
    self.pagesMax = max(1, pagesMax)
  }

  /// After a group: whether to ask.
  mutating func isDue(atPages pages: Int) -> Bool {
    if pages < askedAt { askedAt = 0 }
    guard pages - askedAt >= everyPages else { return false }
    askedAt = pages
    return true
  }

  /// Before a group: whether to wait. While checkpoints fail, this is so once in `everyPages`
  /// pages, and the log grows.
  mutating func mustWait(atPages pages: Int) -> Bool {
    if pages < waitedAt { waitedAt = 0 }
    guard pages >= pagesMax, waitedAt == 0 || pages - waitedAt >= everyPages else { return false }
    waitedAt = pages
    return true
  }
}
