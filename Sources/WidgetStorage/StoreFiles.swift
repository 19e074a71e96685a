import CSQLite
import Glibc
import WidgetCore
import WidgetModel

/// The files of a store before SQLite opens them, compared with the mark.
///
/// SQLite treats an empty file as a new database, and overwrites a write-ahead log beside it. So
/// files that do not match are refused here, and not changed.
struct StoreFiles {
  /// The database.
  let path: String
  let mark: StoreMark.Found
  /// The database's size; nil if it is missing.
  private let size: Int?
  private let log: WriteAheadLogFile
  /// A value that changes if the database is written or replaced.
  private let stamp: Stamp?

  private struct Stamp: Equatable {
    let inode: ino_t
    let size: off_t
    let seconds: Int
    let nanoseconds: Int
  }

  /// Whether there is a database or a log.
  var isThere: Bool { (size ?? 0) > 0 || hasLog }
  /// Whether there is a write-ahead log that is not empty.
  var hasLog: Bool { (log.size ?? 0) > 0 }

  /// The files, for people.
  var summary: String {
    "\(path) has \(size ?? 0) bytes"
      + (hasLog ? ", its write-ahead log \(log.size ?? 0)" : ", and no write-ahead log")
  }

  /// Whether nothing was written since the other one.
  func isSame(as other: StoreFiles) -> Bool { stamp == other.stamp && hasLog == other.hasLog }

  /// SQLite keeps the log beside the target of a link.
  let logPath: String
  var markPath: String { StoreFiles.markPath(besides: path) }

  /// The target of a path; the path itself if the file is missing.
  static func resolved(_ path: String) -> String {
    guard let whole = realpath(path, nil) else { return path }
    defer { free(whole) }
    return String(cString: whole)
  }

  static func markPath(besides path: String) -> String {
    (path.lastIndex(of: "/").map { String(path[...$0]) } ?? "") + StoreMark.fileName
  }

  /// Whether the last process ended without closing the store.
  var wasOpen: Bool {
    if case .mark(let content) = mark, content.isOpen { return true }
    return hasLog
  }

  /// Looks at the files. Changes nothing.
  ///
  /// - Parameter withMark: false for a file that is not a store, but a copy of one.
  init(path: String, withMark: Bool = true) throws(StorageError) {
    self.path = path
    mark = withMark ? try StoreMark.read(StoreFiles.markPath(besides: path)) : .none
    var status = stat()
    let isHere = stat(path, &status) == 0
    // A folder without search permission is not a missing store.
    guard isHere || errno == ENOENT || errno == ENOTDIR else {
      throw StorageError(errno: errno, path: path)
    }
    size = isHere ? Int(status.st_size) : nil
    stamp =
      isHere
      ? Stamp(
        inode: status.st_ino, size: status.st_size, seconds: status.st_mtim.tv_sec,
        nanoseconds: status.st_mtim.tv_nsec) : nil
    logPath = StoreFiles.resolved(path) + "-wal"
    log = try WriteAheadLogFile(logPath)
  }

  /// Throws if SQLite must not open the files.
  func check() throws(StorageError) {
    let hasDatabase = (size ?? 0) > 0
    guard case .mark(let content) = mark else {
      guard !hasDatabase else { return }
      if mark == .damaged { throw missing }
      guard log.size == nil || log.size == 0 else {
        throw .lost(
          path: path,
          detail: "\(size == nil ? "is missing" : "is empty"), but its write-ahead log \(logPath)"
            + " is here, and is left alone. Put the database back, or move the log away to start"
            + " empty")
      }
      return
    }
    guard hasDatabase else { throw missing }
    if let id = storeIDInFile, id != content.storeID { throw other }
  }

  private var missing: StorageError {
    let isLogHere = (log.size ?? 0) > 0
    return .lost(
      path: path,
      detail: "\(size == nil ? "is missing" : "is empty"), but a store was in use here"
        + (isLogHere ? "; its write-ahead log \(logPath) is left alone" : "")
        + ". Put the file back, or restore a backup with `\(StorageError.restore("FILE", to: path))`. To start empty,"
        + " remove \(markPath)\(isLogHere ? " and move the log away" : "")")
  }

  private var other: StorageError {
    .lost(
      path: path,
      detail: "belongs to another store than the one that was in use here. Put the right file back,"
        + " or restore a backup with `\(StorageError.restore("FILE", to: path))`. To use this file, remove \(markPath)"
    )
  }

  /// The store's name in the database file, without its log; nil if it cannot be read.
  private var storeIDInFile: String? {
    // During a checkpoint, the file alone is not a complete database. Then the log has the name.
    guard let connection = try? DatabaseConnection(frozen: path),
      let id = try? connection.text("SELECT store_id FROM state"), !id.isEmpty
    else { return nil }
    return id
  }

  /// The state in a database.
  struct Standing {
    /// nil if the database is empty.
    var storeID: String?
    var groups: UInt64 = 0
    var revision: Revision = 0

    /// Reads a database that may be empty or of an earlier version.
    init(_ connection: DatabaseConnection, version: Int) throws(StorageError) {
      guard version > 0 else { return }
      guard version >= Schema.versionWithStoreID else {
        storeID = ""
        revision = UInt64(bitPattern: try connection.number("SELECT revision FROM state"))
        return
      }
      let row = try Statement("SELECT store_id, group_count, revision FROM state", on: connection)
      guard try row.step() else { return }
      storeID = row.text(0)
      groups = UInt64(bitPattern: row.number(1))
      revision = UInt64(bitPattern: row.number(2))
    }
  }

  /// The loss of a database that has a mark.
  enum Loss {
    case nothing
    /// The store continues with the existing data, as a new history. The revisions are nil if none
    /// is missing, or if they are unknown.
    case permitted(ClosedRange<Revision>?)
  }

  /// Compares a database and its log with the mark. Throws if required data is missing.
  func compare(_ standing: Standing, boot: String) throws(StorageError) -> Loss {
    guard case .mark(let content) = mark else {
      // If a user removes the mark, the store continues with the existing data.
      return (standing.storeID ?? "").isEmpty ? .nothing : .permitted(nil)
    }
    if let id = standing.storeID, id != content.storeID { throw other }
    guard standing.groups < content.groups else { return .nothing }
    if content.permitsLoss(at: boot) {
      return .permitted(
        standing.revision < content.revision ? standing.revision + 1...content.revision : nil)
    }
    let count = content.groups - standing.groups
    throw .lost(
      path: path,
      detail: "ends at revision \(standing.revision), and lacks the last"
        + " \(count == 1 ? "1 group" : "\(count) groups") of changes, up to revision"
        + " \(content.revision): \(cause(content)). \(remedy(content)), or restore a backup with"
        + " `\(StorageError.restore("FILE", to: path))`. To use the store without these changes, remove"
        + " \(markPath)")
  }

  private func cause(_ content: StoreMark.Content) -> String {
    content.isOpen
      ? "its write-ahead log \(logPath) \(log.fault)" : "the file is an older copy of the store"
  }

  private func remedy(_ content: StoreMark.Content) -> String {
    content.isOpen ? "Put the log back" : "Put the newer file back"
  }
}

/// The state of a write-ahead log, by its size and its header.
struct WriteAheadLogFile {
  /// nil if the file is missing.
  let size: Int?
  private let hasHeader: Bool

  /// - Throws: if it is not a plain file.
  init(_ path: String) throws(StorageError) {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      (size, hasHeader) = (nil, false)
      return
    }
    defer { _ = Glibc.close(descriptor) }
    try checkIsPlain(descriptor, path)
    var status = stat()
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = read(descriptor, &bytes, bytes.count)
    size = fstat(descriptor, &status) == 0 ? Int(status.st_size) : nil
    hasHeader = count == bytes.count && WriteAheadLogFile.isHeader(bytes)
  }

  /// The reason why changes in the log are lost.
  var fault: String {
    switch size {
    case nil: "is missing"
    case 0: "is empty"
    default: hasHeader ? "ends too early" : "is not a write-ahead log"
    }
  }

  /// The magic number and the checksum of the header, as in SQLite's description of its files.
  private static func isHeader(_ bytes: [UInt8]) -> Bool {
    func word(_ index: Int, _ isBigEndian: Bool) -> UInt32 {
      let word = bytes[index * 4..<index * 4 + 4].reduce(0) { $0 << 8 | UInt32($1) }
      return isBigEndian ? word : word.byteSwapped
    }
    let magic = word(0, true)
    guard magic & ~1 == 0x377f_0682 else { return false }
    var sums: (UInt32, UInt32) = (0, 0)
    for index in stride(from: 0, to: 6, by: 2) {
      sums.0 &+= word(index, magic & 1 == 1) &+ sums.1
      sums.1 &+= word(index + 1, magic & 1 == 1) &+ sums.0
    }
    return sums == (word(6, true), word(7, true))
  }
}
