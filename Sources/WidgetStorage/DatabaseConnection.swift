import CSQLite
import Glibc

/// A connection to a database file. It opens the file, runs statements, and converts SQLite's
/// result codes to errors.
///
/// Only one thread may use it at a time, and SQLite is configured for that.
final class DatabaseConnection {
  let handle: OpaquePointer
  let path: String
  /// The number of pages in the write-ahead log since the last commit, if `watchLog` was called.
  /// Pages that were moved count until the log begins again.
  private(set) var walPages = 0

  /// Opens an existing file. Does not read it yet.
  init(path: String, busyTimeoutMilliseconds: Int32) throws(StorageError) {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    guard let opened else { throw .unexpected(path: path, detail: "no memory for a connection") }
    handle = opened
    self.path = path
    guard code == SQLITE_OK else { throw error(code) }
    try check(sqlite3_busy_timeout(handle, busyTimeoutMilliseconds))
    try check(csqlite_set_defensive(handle, 1))
    // The file does not change before it is known to be a store.
    try removeLogOnClose(false)
  }

  /// Opens a file and its write-ahead log read-only, while another program may write.
  init(reading path: String) throws(StorageError) {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    guard let opened else { throw .unexpected(path: path, detail: "no memory for a connection") }
    handle = opened
    self.path = path
    guard code == SQLITE_OK else { throw error(code) }
    try check(sqlite3_busy_timeout(handle, 2_000))
    try check(csqlite_set_defensive(handle, 1))
    try removeLogOnClose(false)
  }

  /// Opens a file read-only without its write-ahead log, and without locks. Only for a file that no
  /// program changes.
  init(frozen path: String) throws(StorageError) {
    var uri = "file:"
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "%"): uri += "%25"
      case UInt8(ascii: "?"): uri += "%3f"
      case UInt8(ascii: "#"): uri += "%23"
      default: uri.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
    var opened: OpaquePointer?
    let flags =
      SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_URI
    let code = sqlite3_open_v2(uri + "?immutable=1", &opened, flags, nil)
    guard let opened else { throw .unexpected(path: path, detail: "no memory for a connection") }
    handle = opened
    self.path = path
    guard code == SQLITE_OK else { throw error(code) }
    try check(csqlite_set_defensive(handle, 1))
  }

  deinit { sqlite3_close_v2(handle) }

  /// Whether closing the last connection moves the write-ahead log into the database and removes
  /// it.
  func removeLogOnClose(_ isOn: Bool) throws(StorageError) {
    try check(csqlite_set_checkpoint_on_close(handle, isOn ? 1 : 0))
  }

  /// Keeps `walPages` up to date, and turns automatic checkpoints off.
  func watchLog() {
    sqlite3_wal_hook(
      handle,
      { context, _, _, pages in
        guard let context else { return SQLITE_OK }
        Unmanaged<DatabaseConnection>.fromOpaque(context).takeUnretainedValue().walPages = Int(
          pages)
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Gives the room of the write-ahead log back, if all of it is in the database and nobody reads
  /// it. Does not wait for readers.
  ///
  /// - Parameter milliseconds: The timeout to set again.
  func emptyLog(busyTimeoutMilliseconds milliseconds: Int32) {
    sqlite3_busy_timeout(handle, 0)
    sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    sqlite3_busy_timeout(handle, milliseconds)
  }

  /// Runs SQL text without parameters or results.
  func execute(_ sql: String) throws(StorageError) {
    try check(sqlite3_exec(handle, sql, nil, nil, nil))
  }

  /// The first column of the first row, as a number; 0 if there is no row.
  func number(_ sql: String) throws(StorageError) -> Int64 {
    let statement = try Statement(sql, on: self)
    return try statement.step() ? statement.number(0) : 0
  }

  /// The first column of the first row, as text.
  func text(_ sql: String) throws(StorageError) -> String {
    let statement = try Statement(sql, on: self)
    return try statement.step() ? statement.text(0) : ""
  }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Runs `body` in a transaction. If `body` throws, takes its changes back.
  func transaction(_ body: () throws(StorageError) -> Void) throws(StorageError) {
    try execute("BEGIN IMMEDIATE")
    do throws(StorageError) {
      try body()
      try execute("COMMIT")
    } catch {
      if isInTransaction { try execute("ROLLBACK") }
      throw error
    }
  }

  @inline(__always)
  func check(_ code: Int32) throws(StorageError) {
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// The error for a result code that this connection has just returned.
  func error(_ code: Int32) -> StorageError {
    let detail = "\(String(cString: sqlite3_errmsg(handle))), code \(code)"
    switch code & 0xff {
    case SQLITE_FULL: return .full(path: path)
    case SQLITE_READONLY: return .readOnly(path: path)
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: return .corrupt(path: path, detail: detail)
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: return .busy(path: path)
    case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
      return .cannotOpen(path: path, detail: detail)
    case SQLITE_IOERR, SQLITE_NOMEM:
      let system = csqlite_last_errno(handle)
      guard code & 0xff == SQLITE_IOERR, system != 0 else {
        return .inputOutput(path: path, detail: detail)
      }
      let error = StorageError(errno: system, path: path)
      if case .cannotOpen(_, let text) = error {
        return .inputOutput(path: path, detail: "\(text), code \(code)")
      }
      return error
    case SQLITE_TOOBIG: return .unrepresentable(path: path, detail: detail)
    default: return .unexpected(path: path, detail: detail)
    }
  }
}
