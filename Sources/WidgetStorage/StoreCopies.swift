import CSQLite
import Glibc
import WidgetCore
import WidgetModel

/// The reason why a backup was not written or not restored.
public struct StoreCopyError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Sendable { case missing, exists, inUse, damaged, noAccess, full, other }

  public let kind: Kind
  public let description: String

  init(_ kind: Kind, _ description: String) {
    (self.kind, self.description) = (kind, description)
  }

  init(_ error: StorageError) {
    let kind: Kind =
      switch error {
      case .corrupt, .incompatible, .foreign, .lost, .removed: .damaged
      case .locked, .busy: .inUse
      case .cannotOpen, .readOnly, .unsafe: .noAccess
      case .full: .full
      case .inputOutput, .unrepresentable, .closed, .unexpected: .other
      }
    if case .locked(let path, let pid) = error {
      let process = pid.map { ", process \($0)" } ?? ""
      self.init(kind, "\(path): in use by the daemon\(process); stop the daemon, and try again")
    } else {
      self.init(kind, "\(error)")
    }
  }
}

/// Backups of a store: a database in one file, without a log.
public enum StoreCopies {
  /// The content of a backup.
  public struct Summary: Hashable, Sendable {
    public var revision: UInt64
    public var widgets: Int
    public var bytes: Int
    /// The path of the former database after restoring; nil if there was none.
    public var former: String?
  }

  /// Writes all stored data to a new file. A daemon can continue to use the store: the copy is of
  /// one moment. The file gets its name only when it is complete, checked and on disk.
  public static func backUp(
    stateDirectory: String, to file: String
  ) throws(StoreCopyError) -> Summary {
    let path = stateDirectory + "/" + SQLiteCommitLog.databaseFileName
    guard !exists(file) else {
      throw StoreCopyError(
        .exists, "\(file) already exists; choose another name, or remove the file")
    }
    let isThere = try storing { () throws(StorageError) in
      let files = try StoreFiles(path: path)
      return files.isThere || files.mark != .none
    }
    guard isThere else {
      throw StoreCopyError(.missing, "\(path): there is no store; check the state directory")
    }
    let folder = folder(of: file)
    guard exists(folder) else {
      throw StoreCopyError(
        .missing, "\(file): there is no folder \(folder); create it, or choose another path")
    }
    let temporary = file + ".part"
    return try storing { () throws(StorageError) in
      var files = try StoreFiles(path: path)
      for _ in 0..<3 {
        try files.check()
        let opened = try ReadingConnection(files)
        try check(opened.connection, files)
        try copy(opened.connection, to: temporary)
        let now = try StoreFiles(path: path)
        guard opened.isFrozen, !now.isSame(as: files) else {
          let summary = try verified(temporary)
          try publish(temporary, as: file)
          return summary
        }
        files = now
      }
      FileCalls.unlink(temporary)
      throw .busy(path: path)
    }
  }

  /// Replaces a store that no daemon has open with a backup. The former database stays beside it
  /// under another name.
  ///
  /// The restored store has a new history, so readers begin again.
  ///
  /// - Parameters:
  ///   - epoch: The epoch of the new history; random, and not 0.
  ///   - name: The end of the former database's new name. If a file has this name, a number follows.
  public static func restore(
    _ file: String, stateDirectory: String, epoch: UInt64, name: String
  ) throws(StoreCopyError) -> Summary {
    let isThere = try storing { () throws(StorageError) in
      try StoreFiles(path: file, withMark: false).isThere
    }
    guard isThere else {
      throw StoreCopyError(
        .missing, "\(file): there is no such file, or it is empty; check the path of the backup")
    }
    try checkBackup(file)
    return try storing { () throws(StorageError) in
      let source = try StoreFiles(path: file, withMark: false)
      let directory = try StateDirectory(path: stateDirectory, isRepair: true)
      defer { directory.release() }
      let path = directory.path + "/" + SQLiteCommitLog.databaseFileName
      let temporary = path + ".restoring"
      try copy(
        ReadingConnection(source).connection, to: temporary, givingItToFolderOwner: true)
      var summary = try verified(temporary)
      do throws(StorageError) {
        let content = try beginHistory(of: temporary, epoch: epoch)
        try sync(temporary)
        let former = try moveAway(path, to: freeName(path + ".before-restore-" + name))
        // From here to the mark, a daemon would refuse to start, and report the reason.
        guard FileCalls.rename(temporary, to: path) == 0 else {
          throw StorageError(errno: errno, path: path)
        }
        syncFolder(of: path)
        let mark = StoreFiles.markPath(besides: path)
        if let content {
          _ = try StoreMark(path: mark, replacing: .none, content: content)
        } else {
          FileCalls.unlink(mark)
        }
        summary.former = former
        return summary
      } catch {
        FileCalls.unlink(temporary)
        throw error
      }
    }
  }

  // MARK: - Steps

  /// Checks that the file is a database of a known version, before anything is created.
  private static func checkBackup(_ file: String) throws(StoreCopyError) {
    do throws(StorageError) {
      let source = try StoreFiles(path: file, withMark: false)
      _ = try Schema.current.version(of: ReadingConnection(source).connection)
    } catch {
      guard case .corrupt(_, let detail) = error else { throw StoreCopyError(error) }
      throw StoreCopyError(
        .damaged,
        "\(file): cannot be restored (\(detail)); the store was not changed. Choose another backup")
    }
  }

  private static func storing<R>(
    _ body: () throws(StorageError) -> R
  ) throws(StoreCopyError) -> R {
    do throws(StorageError) { return try body() } catch { throw StoreCopyError(error) }
  }

  /// A backup of an incomplete store would look complete, so it is refused.
  private static func check(
    _ connection: DatabaseConnection, _ files: StoreFiles
  ) throws(StorageError) {
    let version = try Schema.current.version(of: connection)
    let standing = try StoreFiles.Standing(connection, version: version)
    _ = try files.compare(standing, boot: SavedState.currentBoot() ?? SavedState.unknownBoot)
  }

  /// Writes a database to a new file that only this user can read.
  static func copy(
    _ connection: DatabaseConnection, to file: String,
    givingItToFolderOwner isForFolder: Bool = false
  ) throws(StorageError) {
    FileCalls.unlink(file)
    let descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw StorageError(errno: errno, path: file) }
    if isForFolder { giveToFolderOwner(descriptor, file) }
    _ = Glibc.close(descriptor)
    do throws(StorageError) {
      let statement = try Statement("VACUUM INTO ?1", on: connection)
      try statement.bind(file, at: 1)
      try statement.run()
    } catch {
      FileCalls.unlink(file)
      // The connection's error is about the file that is read.
      if case .full = error { throw .full(path: file) }
      throw error
    }
  }

  /// Checks a copy, and removes it if it is damaged.
  private static func verified(_ file: String) throws(StorageError) -> Summary {
    let found = StoreInspection(file)
    var status = stat()
    if let wrong = found.findings.first(where: { $0.grade == .failure }) {
      FileCalls.unlink(file)
      throw .corrupt(path: file, detail: wrong.found)
    }
    guard stat(file, &status) == 0 else { throw StorageError(errno: errno, path: file) }
    return Summary(
      revision: found.revision, widgets: found.widgets, bytes: Int(status.st_size))
  }

  /// Gives a complete copy its name when it is on disk.
  static func publish(_ temporary: String, as file: String) throws(StorageError) {
    do throws(StorageError) {
      try sync(temporary)
      guard FileCalls.rename(temporary, to: file) == 0 else {
        throw StorageError(errno: errno, path: file)
      }
    } catch {
      FileCalls.unlink(temporary)
      throw error
    }
    syncFolder(of: file)
  }

  private static func sync(_ file: String) throws(StorageError) {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StorageError(errno: errno, path: file) }
    defer { _ = Glibc.close(descriptor) }
    guard FileCalls.flush(descriptor, file) == 0 else {
      throw StorageError(errno: errno, path: file)
    }
  }

  /// Makes a copy an independent store. Returns its mark; nil for a database of a version without
  /// marks.
  private static func beginHistory(
    of file: String, epoch: UInt64
  ) throws(StorageError) -> StoreMark.Content? {
    let connection = try DatabaseConnection(path: file, busyTimeoutMilliseconds: 0)
    let version = try Schema.current.version(of: connection)
    guard version > 0 else { return nil }
    try connection.transaction { () throws(StorageError) in
      let update = try Statement(
        """
        UPDATE state SET epoch = CASE epoch WHEN 0 THEN 0 ELSE ?1 END, unsynced_boot = '',
          event_sequence_ceiling = event_sequence_ceiling + ?2
        """, on: connection)
      try update.bind(epoch, at: 1)
      try update.bind(SavedState.eventSequenceReserve, at: 2)
      try update.run()
      if version >= Schema.versionWithStoreID {
        try connection.execute("UPDATE state SET store_id = lower(hex(randomblob(8)))")
      }
      if version >= Schema.versionWithStateChecksum {
        let columns = Schema.stateTable.columns
        try RowChecksum.register(on: connection)
        try connection.execute("UPDATE state SET checksum = row_checksum('state', \(columns))")
      }
    }
    guard version >= Schema.versionWithStoreID else { return nil }
    let standing = try StoreFiles.Standing(connection, version: version)
    return StoreMark.Content(
      storeID: standing.storeID ?? "", isOpen: false, durability: .process,
      boot: SavedState.currentBoot() ?? SavedState.unknownBoot, groups: standing.groups,
      revision: standing.revision)
  }

  /// Renames a database and its log. Returns the new name; nil if both are missing.
  private static func moveAway(_ path: String, to former: String) throws(StorageError) -> String? {
    var moved: String?
    for suffix in ["", "-wal"] where exists(path + suffix) {
      guard FileCalls.rename(path + suffix, to: former + suffix) == 0 else {
        throw StorageError(errno: errno, path: path + suffix)
      }
      moved = former
    }
    FileCalls.unlink(path + "-shm")
    return moved
  }

  /// A name that neither a database nor its log has: the path, or else the path with the first free
  /// number from 2 on. Nobody else makes such names, because the state directory is locked.
  private static func freeName(_ path: String) -> String {
    func isFree(_ name: String) -> Bool { !exists(name) && !exists(name + "-wal") }
    guard !isFree(path) else { return path }
    var number = 2
    while !isFree("\(path)-\(number)") { number += 1 }
    return "\(path)-\(number)"
  }

  /// The folder of a file, as its path has it.
  private static func folder(of file: String) -> String {
    guard let slash = file.lastIndex(of: "/") else { return "." }
    return slash == file.startIndex ? "/" : String(file[..<slash])
  }

  static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }
}
