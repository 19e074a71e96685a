import Glibc
import WidgetCore
import WidgetModel

/// The steps from a path to a database that groups can be appended to.
///
/// It changes a file only after it knows that the file is a database of this application, in a
/// version that this program knows.
struct Opening {
  let connection: DatabaseConnection
  private let files: StoreFiles
  private let loss: StoreFiles.Loss
  private let boot: String
  private let options: SQLiteCommitLog.Options

  /// Opens and, if need be, creates or upgrades the database.
  init(
    path: String, options: SQLiteCommitLog.Options, schema: Schema, bootID: String?
  ) throws(StorageError) {
    self.options = options
    boot = bootID ?? SavedState.unknownBoot
    files = try StoreFiles(path: path)
    try files.check()
    try Opening.makeFile(path)
    connection = try DatabaseConnection(
      path: path, busyTimeoutMilliseconds: options.busyTimeout.milliseconds)
    let version = try schema.version(of: connection)
    // A damaged number of groups would pass for lost groups.
    if version >= Schema.versionWithStateChecksum { _ = try SavedState(from: connection) }
    // Nothing is written before this check, so an incomplete store stays as it is.
    loss = try files.compare(StoreFiles.Standing(connection, version: version), boot: boot)
    // Detects some damage at the first access rather than later.
    try connection.execute("PRAGMA cell_size_check = ON")
    try connection.execute("PRAGMA trusted_schema = OFF")
    try connection.execute("PRAGMA cache_size = \(-(options.cacheBytes >> 10))")
    let mode = try connection.text("PRAGMA journal_mode = WAL")
    guard mode == "wal" else {
      throw .cannotOpen(
        path: path, detail: "its file system has no shared memory for write-ahead logging")
    }
    // Otherwise SQLite would shorten a log that begins again, while a group waits.
    try connection.execute(
      "PRAGMA journal_size_limit = \(options.walPagesMax * Opening.pageBytes)")
    connection.watchLog()
    try connection.execute("PRAGMA synchronous = FULL")
    // Loading reads all rows, but does not check the links between pages.
    if files.wasOpen { try Opening.checkPages(of: connection) }
    try schema.migrate(connection, from: version)
  }

  private static func checkPages(of connection: DatabaseConnection) throws(StorageError) {
    let found = try connection.text("PRAGMA quick_check(1)")
    guard found == "ok" else { throw .corrupt(path: connection.path, detail: found) }
  }

  /// SQLite's page size for a new database.
  static let pageBytes = 4_096

  /// Begins a session. Its writes are on disk before any group is.
  func begin(newEpoch: UInt64) throws(StorageError) -> Session {
    let durability = options.durability
    var saved = try SavedState(from: connection)
    let before = saved
    var lost: ClosedRange<Revision>?
    var isCut = false
    if case .permitted(let revisions) = loss { (isCut, lost) = (true, revisions) }
    isCut = saved.begin(
      durability: durability, newEpoch: newEpoch, bootID: boot, isCut: isCut)
    if saved != before {
      try connection.transaction { () throws(StorageError) in try saved.write(on: connection) }
    }
    switch durability {
    case .process: try connection.execute("PRAGMA synchronous = NORMAL")
    case .power: break
    }
    var session = Session(saved: saved, isHistoryCut: isCut, lostRevisions: lost)
    if files.mark == .damaged {
      session.notices.append("\(files.markPath): was damaged, and is written again")
    }
    do throws(StorageError) {
      session.mark = try StoreMark(
        path: files.markPath, replacing: files.mark,
        content: StoreMark.Content(
          storeID: saved.storeID, isOpen: true, durability: durability, boot: boot,
          groups: saved.groups, revision: saved.revision))
    } catch {
      // The store works without its mark, but then nobody notices if the store is removed.
      session.notices.append("a removed store would not be noticed: \(error)")
    }
    return session
  }

  /// The initial state of a session.
  struct Session {
    var saved: SavedState
    var isHistoryCut: Bool
    var lostRevisions: ClosedRange<Revision>?
    /// nil if the mark cannot be written.
    var mark: StoreMark?
    var notices: [String] = []
  }

  /// The sizes of the kept answers. O(answers).
  func requestWindow() throws(StorageError) -> RequestWindow {
    let first = try connection.number("SELECT min(sequence) FROM requests")
    var window = RequestWindow(
      countMax: options.requestsKeptMax, bytesMax: options.requestBytesKeptMax,
      floor: max(0, first - 1))
    let rows = try Statement(
      """
      SELECT sequence, length(CAST(request_id AS BLOB)) + length(response) FROM requests ORDER BY sequence
      """, on: connection)
    while try rows.step() {
      guard rows.number(0) == window.next else {
        throw .corrupt(path: connection.path, detail: "answer \(window.next) is missing")
      }
      window.append(bytes: Int(rows.number(1)))
    }
    return window
  }

  /// Creates an empty file that only this user may read, if the file is missing. SQLite gives its
  /// other files the same permissions.
  private static func makeFile(_ path: String) throws(StorageError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StorageError(errno: errno, path: path) }
    defer { _ = Glibc.close(descriptor) }
    try checkIsPlain(descriptor, path)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw StorageError(errno: errno, path: path) }
    // A new file; an existing file keeps its owner.
    if status.st_size == 0 { giveToFolderOwner(descriptor, path) }
    // SQLite would treat some files that are too short as an empty database.
    guard status.st_size == 0 || status.st_size >= 512 else {
      throw .corrupt(path: path, detail: "\(status.st_size) bytes are too few for a database")
    }
  }
}

/// The prepared statements for appending.
struct Statements {
  let begin: Statement
  let commit: Statement
  let rollback: Statement
  let deleteWidget: Statement
  let upsertWidget: Statement
  let deleteKind: Statement
  let upsertKind: Statement
  let insertTombstone: Statement
  let dropTombstones: Statement
  let dropEvents: Statement
  let insertEvent: Statement
  let dropLoss: Statement
  let upsertLoss: Statement
  let insertRequest: Statement
  let dropRequests: Statement
  let updateState: Statement

  init(_ connection: DatabaseConnection) throws(StorageError) {
    func prepare(_ sql: String) throws(StorageError) -> Statement {
      try Statement(sql, on: connection)
    }
    begin = try prepare("BEGIN IMMEDIATE")
    commit = try prepare("COMMIT")
    rollback = try prepare("ROLLBACK")
    deleteWidget = try prepare("DELETE FROM widgets WHERE id = ?1")
    upsertWidget = try prepare(
      "INSERT OR REPLACE INTO widgets (id, body, checksum) VALUES (?1, ?2, ?3)")
    deleteKind = try prepare("DELETE FROM kinds WHERE name = ?1")
    upsertKind = try prepare(
      "INSERT OR REPLACE INTO kinds (name, body, is_attended, checksum) VALUES (?1, ?2, ?3, ?4)")
    insertTombstone = try prepare(
      "INSERT OR REPLACE INTO tombstones (revision, id, body, checksum) VALUES (?1, ?2, ?3, ?4)")
    dropTombstones = try prepare("DELETE FROM tombstones WHERE revision <= ?1")
    dropEvents = try prepare("DELETE FROM events WHERE kind = ?1 AND sequence < ?2")
    insertEvent = try prepare(
      "INSERT OR REPLACE INTO events (kind, sequence, body, checksum) VALUES (?1, ?2, ?3, ?4)")
    dropLoss = try prepare("DELETE FROM lost_events WHERE kind = ?1")
    upsertLoss = try prepare(
      "INSERT OR REPLACE INTO lost_events (kind, first, last, checksum) VALUES (?1, ?2, ?3, ?4)")
    insertRequest = try prepare(
      """
      INSERT INTO requests (sequence, uid, request_id, fingerprint, response, expires_seconds,
        expires_nanoseconds, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
      """)
    dropRequests = try prepare("DELETE FROM requests WHERE sequence <= ?1")
    updateState = try prepare(
      """
      UPDATE state SET revision = ?1, compact_revision = ?2, event_sequence_ceiling = ?3,
        group_count = ?4, running_nanoseconds = ?5, checksum = ?6
      """)
  }
}
