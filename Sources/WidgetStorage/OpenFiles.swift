import CSQLite
import Glibc

/// Whether the files of an open database are still at their paths.
///
/// SQLite continues to use a removed file. Its writes are lost when the file is closed.
struct OpenFiles {
  private struct Identity: Equatable {
    let device: dev_t
    let inode: ino_t

    init(_ status: stat) {
      device = status.st_dev
      inode = status.st_ino
    }
  }

  private let path: String
  private let logPath: String
  private let database: Identity
  private let log: Identity

  /// The files at this moment. Call it after the database and its log are open.
  init(path: String) throws(StorageError) {
    self.path = path
    logPath = StoreFiles.resolved(path) + "-wal"
    var status = stat()
    guard stat(path, &status) == 0 else { throw StorageError(errno: errno, path: path) }
    database = Identity(status)
    guard stat(logPath, &status) == 0 else { throw StorageError(errno: errno, path: logPath) }
    log = Identity(status)
  }

  /// The loss of the files; nil if they are still there. Two system calls.
  func loss(on connection: DatabaseConnection) -> String? {
    if let loss = OpenFiles.loss(of: path, database, isEmpty: { true }) { return loss }
    return OpenFiles.loss(of: logPath, log) {
      guard connection.walPages > 0 else { return false }
      // If another program has moved all of the log to the database, SQLite knows it.
      var pages: Int32 = 0
      let code = sqlite3_wal_checkpoint_v2(
        connection.handle, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, nil)
      return code & 0xff == SQLITE_IOERR || pages > 0
    }.map { "its write-ahead log \($0)" }
  }

  /// The size of the write-ahead log, in bytes; 0 if it is missing.
  var logBytes: Int {
    var status = stat()
    return stat(logPath, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Gives an emptied write-ahead log space to write to. SQLite takes zeros for the end of the log.
  func allocateLog(_ bytes: Int) {
    guard bytes > 0, let descriptor = try? openPlainFile(logPath, O_RDWR) else { return }
    defer { _ = Glibc.close(descriptor) }
    _ = FileCalls.allocate(descriptor, logPath, bytes)
  }

  private static func loss(
    of path: String, _ identity: Identity, isEmpty: () -> Bool
  ) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else { return errno == ENOENT ? "was removed" : nil }
    if Identity(status) != identity { return "was replaced" }
    return status.st_size == 0 && isEmpty() ? "was emptied" : nil
  }
}
