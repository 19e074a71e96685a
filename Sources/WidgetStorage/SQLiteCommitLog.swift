import CSQLite
import Glibc
public import WidgetCore
public import WidgetModel
import WidgetProto

/// A commit log in an SQLite database, the file `widgetd.db` of a state directory.
///
/// The database is in WAL mode: a group is one transaction, written to the end of one file. With
/// `Durability.process` nothing waits for the disk, but the database is consistent after a power
/// cut. With `.power` every group waits. Another thread moves the content of the write-ahead log to
/// the database. Near `walPagesMax`, `isBehind` asks for a pause of the changes, so that the thread
/// catches up. An append waits for the thread only if the log reaches `walPagesMax`: for the end of
/// the running pass, and for the pages since the start of that pass. So the wait takes at most as
/// long as the disk needs for `walPagesMax` pages and one group, in the log and in the database. If
/// another program has read the database for long, the log can have many more pages. So all waits
/// of an append end `checkpointWaitMax` after the beginning of the first one. On a full disk, each
/// of two further waits takes up to `furtherWaitMin`, even if this time is over.
///
/// **Epochs.** The epoch is made with the database, and survives restarts and kills. It changes in
/// one case: the last daemon ran with `Durability.process`, did not close its log, and the machine
/// has been booted since. Then visible groups can be missing, and their revisions would be used
/// again. `isHistoryCut` tells.
///
/// Invariants: between calls no transaction is open, and `saved` equals the state row.
public final class SQLiteCommitLog: CommitLog {
  /// The settings.
  public struct Options: Hashable, Sendable {
    /// The events that an appended group survives.
    public var durability = Durability.process
    /// The maximum number of kept answers to requests; not less than the store's limit.
    public var requestsKeptMax = 4_096
    /// The maximum size of kept answers, in bytes; not less than the store's limit.
    public var requestBytesKeptMax = 4 << 20
    /// The number of new pages in the write-ahead log after which they are moved to the database.
    public var checkpointPages = 1_000
    /// The number of pages in the write-ahead log from which an append waits until they have been
    /// moved. The log can have more pages by those of one group. Its file keeps this size.
    public var walPagesMax = 8_000
    /// The maximum time that an append waits for checkpoints, in up to three waits. An append must
    /// end long before the daemon's watchdog.
    public var checkpointWaitMax = Duration.seconds(5)
    /// The minimum time that the second and the third wait may each take. Otherwise a short rest of
    /// `checkpointWaitMax` would make a pass late, although the thread makes progress.
    public var furtherWaitMin = Duration.seconds(1)
    /// The wait for another program that has locked the database: a backup, a query.
    public var busyTimeout = Duration.seconds(2)
    /// The size of SQLite's cache while groups are appended. It has room for the replacement of several
    /// rows of 1 MiB. With half of it, SQLite reads each page of such a row again and again.
    public var cacheBytes = 8 << 20
    /// The space to reserve on the disk for groups that only remove; 0 for none. The default covers
    /// the write-ahead log at a checkpoint, and the removal of a kind with 1,000 widgets of 4 KiB.
    public var reserveBytes = 8 << 20
    /// The maximum time that closing waits until the data of removed files is saved.
    public var copyWaitMax = Duration.seconds(5)

    public init() {}

    /// The same for a file system of this size: the write-ahead log takes at most a quarter of a
    /// small one.
    func fitted(toDiskBytes bytes: Int) -> Options {
      let pages = bytes / Opening.pageBytes
      var options = self
      options.walPagesMax = min(walPagesMax, max(Options.walPagesMin, pages / 4))
      options.checkpointPages = min(checkpointPages, max(Options.walPagesMin / 4, pages / 16))
      return options
    }

    /// The size of the file system of a folder. Nil if it is unknown.
    fileprivate static func diskBytes(of path: String) -> Int? {
      var disk = statvfs()
      guard statvfs(path, &disk) == 0, disk.f_blocks > 0 else { return nil }
      let (bytes, isLarge) = UInt64(disk.f_blocks).multipliedReportingOverflow(
        by: UInt64(disk.f_frsize))
      return isLarge ? nil : Int(clamping: bytes)
    }

    /// The bound of the log on the smallest file system: 1 MiB.
    private static let walPagesMin = 256
  }

  /// Counters since the log was opened, and gauges.
  public struct Statistics: Hashable, Sendable {
    public var groups: UInt64 = 0
    public var failedGroups: UInt64 = 0
    public var checkpoints: UInt64 = 0
    public var failedCheckpoints: UInt64 = 0
    /// The number of times that changes should pause for a checkpoint.
    public var checkpointPauses: UInt64 = 0
    /// The number of appends that waited for a checkpoint.
    public var checkpointWaits: UInt64 = 0
    /// The number of pages in the write-ahead log, including moved ones until it begins again.
    public var walPages = 0
  }

  public static let databaseFileName = "widgetd.db"

  /// The name of the theme's row.
  static let themeRow = "overrides"

  public let options: Options
  /// The database file.
  public let path: String
  /// Whether opening found that the latest groups may be missing. Then the epoch is new.
  public let isHistoryCut: Bool
  /// The stored revisions that were missing at opening, if they are known.
  public let lostRevisions: ClosedRange<Revision>?
  /// Problems at opening with files other than the database, and with the folders above it.
  public let notices: [String]

  let codec: WireCodec
  private(set) var open: Open?
  private(set) var saved: SavedState
  private var counters = Statistics()
  private var pacer: CheckpointPacer
  /// The checkpoint for which changes pause, or the last one.
  private var pauseTicket: UInt64 = 0
  /// The last checkpoint that was late; 0 if there was none.
  private var lateTicket: UInt64 = 0
  private var reserve: Reserve
  private let onLateCheckpoint: @Sendable (_ logBytes: Int) -> Void

  /// The state between opening and closing.
  struct Open {
    /// Keeps the lock.
    let directory: StateDirectory
    let connection: DatabaseConnection
    let writer: GroupWriter
    let checkpointer: Checkpointer
    let files: OpenFiles
    let mark: StoreMark?
  }

  /// Whether the last check found that the files were removed.
  private var isRemoved = false

  /// Opens the database, and creates it if it is missing.
  ///
  /// - Parameters:
  ///   - directory: Kept, and so locked, until the log is closed or deallocated.
  ///   - newEpoch: The epoch of a history that begins here; random, and not 0. Used only if the
  ///     database is new or its history is cut.
  ///   - onCheckpointFailure: Called on another thread when moving data to the database fails.
  ///     Nothing is lost by it, but the write-ahead log grows.
  ///   - onLateCheckpoint: Called with the size of the write-ahead log when an append goes on before
  ///     the end of a checkpoint, because the time of its wait is over. Nothing is lost by it, but
  ///     the log grows.
  public convenience init(
    directory: StateDirectory, options: Options = Options(), newEpoch: UInt64,
    onCheckpointFailure: @escaping @Sendable (StorageError) -> Void,
    onLateCheckpoint: @escaping @Sendable (_ logBytes: Int) -> Void = { _ in }
  ) throws(StorageError) {
    try self.init(
      directory: directory, options: options, newEpoch: newEpoch, schema: .current,
      bootID: SavedState.currentBoot(), onCheckpointFailure: onCheckpointFailure,
      onLateCheckpoint: onLateCheckpoint)
  }

  init(
    directory: StateDirectory, options: Options, newEpoch: UInt64, schema: Schema, bootID: String?,
    onCheckpointFailure: @escaping @Sendable (StorageError) -> Void,
    onLateCheckpoint: @escaping @Sendable (_ logBytes: Int) -> Void = { _ in }
  ) throws(StorageError) {
    path = directory.path + "/" + SQLiteCommitLog.databaseFileName
    guard directory.isLocked else { throw .closed(path: path) }
    let disk = Options.diskBytes(of: directory.path)
    let options = disk.map { options.fitted(toDiskBytes: $0) } ?? options
    self.options = options
    self.onLateCheckpoint = onLateCheckpoint
    let codec = WireCodec(limits: SQLiteCommitLog.wireLimits)
    self.codec = codec
    reserve = Reserve(
      path: directory.path + "/" + Reserve.fileName, bytes: options.reserveBytes)
    let epoch = newEpoch == 0 ? 1 : newEpoch
    let (opening, session): (Opening, Opening.Session)
    do throws(StorageError) {
      (opening, session) = try SQLiteCommitLog.begin(path, options, schema, bootID, epoch: epoch)
    } catch {
      // On a full disk, the store must still open with the existing data.
      guard case .full = error else { throw error }
      reserve.release()
      (opening, session) = try SQLiteCommitLog.begin(path, options, schema, bootID, epoch: epoch)
    }
    saved = session.saved
    lostRevisions = session.lostRevisions
    notices = directory.notices + session.notices
    pacer = CheckpointPacer(everyPages: options.checkpointPages, pagesMax: options.walPagesMax)
    isHistoryCut = session.isHistoryCut
    open = try Open(
      directory: directory, connection: opening.connection,
      writer: GroupWriter(
        path: path, connection: opening.connection, codec: codec,
        requests: opening.requestWindow()),
      checkpointer: Checkpointer(
        path: path, busyTimeoutMilliseconds: options.busyTimeout.milliseconds,
        onFailure: onCheckpointFailure),
      files: OpenFiles(path: path), mark: session.mark)
    reserve.hold()
    // A killed daemon leaves them.
    for suffix in ["", "-journal", "-wal"] {
      let unfinished = Checkpointer.temporaryCopy(of: path) + suffix
      if StoreCopies.exists(unfinished) { FileCalls.unlink(unfinished) }
    }
  }

  private static func begin(
    _ path: String, _ options: Options, _ schema: Schema, _ bootID: String?, epoch: UInt64
  ) throws(StorageError) -> (Opening, Opening.Session) {
    let opening = try Opening(path: path, options: options, schema: schema, bootID: bootID)
    return (opening, try opening.begin(newEpoch: epoch))
  }

  deinit { open?.checkpointer.stop() }

  /// A stored widget can have more bytes than one message of a client.
  static let wireLimits = WireLimits(arenaBytesMax: 512 << 20, depthMax: 80)

  public var name: String { "sqlite" }
  public var needsGroups: Bool { true }

  /// Counters and gauges. O(1).
  public var statistics: Statistics {
    var result = counters
    guard let open else { return result }
    let checkpoints = open.checkpointer.counters
    result.checkpoints = checkpoints.passes
    result.failedCheckpoints = checkpoints.failures
    result.walPages = open.connection.walPages
    return result
  }

  // MARK: - Loading

  /// Reads everything, which also checks that all of it can be read.
  public func load() throws(StorageError) -> StoreImage {
    guard let open else { throw .closed(path: path) }
    let loaded = try Loader(connection: open.connection, codec: codec, saved: saved).load()
    // The next group with answers removes the rows, because opening should not need to write.
    open.writer.passRequests(through: loaded.expiredThrough)
    sqlite3_db_release_memory(open.connection.handle)
    return loaded.image
  }

  // MARK: - Appending

  public func append(_ group: CommitGroup) throws(StorageError) {
    try append(group, writing: PendingWidgets())
  }

  public func append(
    _ group: CommitGroup, writing widgets: PendingWidgets
  ) throws(StorageError) {
    guard let open else { throw .closed(path: path) }
    do throws(StorageError) { try check() } catch {
      counters.failedGroups += 1
      throw error
    }
    var wait = CheckpointWait(
      timeMax: options.checkpointWaitMax, furtherMin: options.furtherWaitMin)
    if pacer.mustWait(atPages: open.connection.walPages) {
      counters.checkpointWaits += 1
      waitForCheckpoint(open, &wait)
    }
    do throws(StorageError) {
      do throws(StorageError) { try open.writer.store(group, widgets, after: saved) } catch {
        guard case .full = error else { throw error }
        try storeOnFullDisk(group, widgets, open, &wait)
      }
    } catch {
      counters.failedGroups += 1
      throw error
    }
    counters.groups += 1
    saved.accept(group)
    open.mark?.note(groups: saved.groups, revision: saved.revision)
    reserve.groupAppended()
    let pages = open.connection.walPages
    let (isDue, isPauseDue) = (pacer.isDue(atPages: pages), pacer.isPauseDue(atPages: pages))
    guard isDue || isPauseDue else { return }
    let ticket = open.checkpointer.checkpoint()
    guard isPauseDue else { return }
    counters.checkpointPauses += 1
    pauseTicket = ticket
  }

  public var isBehind: Bool {
    guard pauseTicket > 0, let open else { return false }
    guard open.checkpointer.hasEnded(pauseTicket) else { return true }
    pauseTicket = 0
    return false
  }

  public func whenCaughtUp(_ body: @escaping @Sendable () -> Void) {
    guard pauseTicket > 0, let open else { return body() }
    open.checkpointer.whenEnded(pauseTicket, body)
  }

  /// Waits for a checkpoint, as long as the append may wait. Returns whether it has ended.
  @discardableResult
  private func waitForCheckpoint(_ open: Open, _ wait: inout CheckpointWait) -> Bool {
    let ticket = open.checkpointer.checkpoint()
    guard !open.checkpointer.waitForEnd(of: ticket, timeMax: wait.begin()) else { return true }
    lateTicket = ticket
    if !wait.isLate { onLateCheckpoint(open.connection.walPages * Opening.pageBytes) }
    wait.isLate = true
    return false
  }

  /// Writes a group again after the disk was full.
  ///
  /// The log may occupy all of the remaining room, and can only begin again after a checkpoint, for
  /// which the checkpointer's thread can be late. A group that frees room also gets the reserve.
  private func storeOnFullDisk(
    _ group: CommitGroup, _ widgets: PendingWidgets, _ open: Open, _ wait: inout CheckpointWait
  ) throws(StorageError) {
    // After a late checkpoint, no further group waits until it has ended: a turn can have several.
    guard open.checkpointer.hasEnded(lateTicket), waitForCheckpoint(open, &wait) else {
      throw .full(path: path)
    }
    do throws(StorageError) { try open.writer.store(group, widgets, after: saved) } catch {
      guard case .full = error, group.freesRoom(widgets: widgets.count),
        reserve.mayFit(group, widgets: widgets.count)
      else { throw error }
      let (logBytes, heldBytes) = (open.files.logBytes, reserve.heldBytes)
      reserve.release()
      guard waitForCheckpoint(open, &wait) else {
        // The log cannot be emptied during the checkpoint. So it would keep the reserve's space.
        reserve.takeBack(heldBytes)
        throw error
      }
      do throws(StorageError) { try open.writer.store(group, widgets, after: saved) } catch {
        // The attempt has written to the log, into the space of the reserve. Give back only that:
        // small changes need the log's own space.
        open.connection.emptyLog(busyTimeoutMilliseconds: options.busyTimeout.milliseconds)
        open.files.allocateLog(logBytes)
        reserve.takeBack(heldBytes)
        if case .full = error { reserve.noteTooLarge(group, widgets: widgets.count) }
        throw error
      }
    }
  }

  // MARK: - Removed files

  /// Throws `removed` if the files are no longer the ones that were opened. Two system calls. The
  /// first time, begins to save all stored data to a new file: removed files can be read while they
  /// are open.
  public func check() throws(StorageError) {
    guard let open else { return }
    guard let loss = open.files.loss(on: open.connection) else {
      if isRemoved { open.checkpointer.endCopy() }
      isRemoved = false
      return
    }
    let file = isRemoved ? nil : freeCopyName
    if let file { open.checkpointer.beginCopy(to: file) }
    isRemoved = true
    throw .removed(
      path: path, detail: loss, lastRevision: saved.revision,
      copy: open.checkpointer.copy
        ?? .failed(reason: "there are \(SQLiteCommitLog.copiesMax) copies of it already"))
  }

  /// A name for a copy of this revision; nil if there are too many.
  private var freeCopyName: String? {
    let name = "\(path).saved-\(saved.revision)"
    return (1...SQLiteCommitLog.copiesMax).lazy.map { $0 == 1 ? name : "\(name)-\($0)" }
      .first { !StoreCopies.exists($0) }
  }

  /// The maximum number of copies of one revision.
  private static let copiesMax = 9

  // MARK: - Closing

  /// Moves everything to the database file, so that the file is complete without a log, and closes
  /// it. Releases the state directory.
  public func close() throws(StorageError) {
    guard let open else { return }
    defer { self.open = nil }
    // Only a running thread can save the data of removed files.
    try? check()
    open.checkpointer.stop(copyWaitMax: options.copyWaitMax)
    // SQLite would remove files by their names, even if they are other files now.
    try check()
    let connection = open.connection
    try open.checkpointer.removeLogOnClose()
    try connection.removeLogOnClose(true)
    if connection.isInTransaction { try connection.execute("ROLLBACK") }
    if !saved.unsyncedBoot.isEmpty {
      saved.unsyncedBoot = ""
      try saved.write(on: connection)
    }
    // Also syncs, so that the data above is never on disk without the data before it.
    try connection.check(
      sqlite3_wal_checkpoint_v2(connection.handle, nil, SQLITE_CHECKPOINT_FULL, nil, nil))
    // Before the log is removed, because an open store without its log counts as a loss.
    open.mark?.close()
    try connection.check(
      sqlite3_wal_checkpoint_v2(connection.handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil))
  }
}
