/// The copy of a store whose files were removed while they were open.
public enum SavedCopy: Hashable, Sendable {
  /// The copy is being written. The file gets this name when it is complete.
  case underWay(path: String)
  case saved(path: String)
  case failed(reason: String)
}

/// The reason why state could not be read or made durable.
///
/// Every case names its path, and its description says what to do next.
public enum StorageError: Error, Hashable, Sendable {
  /// The disk, the quota or the file size limit has no room.
  case full(path: String)
  /// The file or its file system cannot be written.
  case readOnly(path: String)
  /// The file is not a database, is damaged, or has content from another program.
  case corrupt(path: String, detail: String)
  /// Another program (not a daemon: that is `locked`) holds the database.
  case busy(path: String)
  /// Reading or writing failed.
  case inputOutput(path: String, detail: String)
  /// The database was written by a newer version.
  case incompatible(path: String, found: Int, supported: Int)
  /// The file is a database of another application.
  case foreign(path: String)
  /// Another daemon uses the state directory. `pid` is nil if the lock file does not name it.
  case locked(path: String, pid: Int32?)
  /// The directory or file cannot be opened or created.
  case cannotOpen(path: String, detail: String)
  /// Other users own the directory, or can write to it; or a file in it is not a plain file.
  case unsafe(path: String, detail: String)
  /// A widget that has no stored form.
  case unrepresentable(path: String, detail: String)
  /// The log has been closed.
  case closed(path: String)
  /// The stored data is missing, or replaced by another store. Nothing was changed.
  case lost(path: String, detail: String)
  /// The files were removed or replaced while they were open.
  case removed(path: String, detail: String, lastRevision: UInt64, copy: SavedCopy)
  /// An error that should not happen.
  case unexpected(path: String, detail: String)
}

extension StorageError {
  /// Whether the same call can succeed later without a repair of the stored data: space is freed,
  /// the other program ends, the file system becomes writable again.
  public var isTransient: Bool {
    switch self {
    case .full, .readOnly, .busy, .inputOutput, .locked: true
    case .corrupt, .incompatible, .foreign, .cannotOpen, .unsafe, .unrepresentable, .closed, .lost,
      .removed, .unexpected:
      false
    }
  }

  /// The file or directory of the error.
  public var path: String {
    switch self {
    case .full(let path), .readOnly(let path), .corrupt(let path, _), .busy(let path),
      .inputOutput(let path, _), .incompatible(let path, _, _), .foreign(let path),
      .locked(let path, _), .cannotOpen(let path, _), .unsafe(let path, _),
      .unrepresentable(let path, _), .closed(let path), .lost(let path, _),
      .removed(let path, _, _, _), .unexpected(let path, _):
      path
    }
  }

  /// A short, stable name for logs: `FULL`, `READ_ONLY`, …
  public var reason: String {
    switch self {
    case .full: "FULL"
    case .readOnly: "READ_ONLY"
    case .corrupt: "CORRUPT"
    case .busy: "BUSY"
    case .inputOutput: "INPUT_OUTPUT"
    case .incompatible: "INCOMPATIBLE"
    case .foreign: "FOREIGN"
    case .locked: "LOCKED"
    case .cannotOpen: "CANNOT_OPEN"
    case .unsafe: "UNSAFE"
    case .unrepresentable: "UNREPRESENTABLE"
    case .closed: "CLOSED"
    case .lost: "LOST"
    case .removed: "REMOVED"
    case .unexpected: "UNEXPECTED"
    }
  }
}

extension StorageError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .full(let path):
      "\(path): no space left; free some on its file system, or raise the quota or file size limit"
    case .readOnly(let path):
      "\(path): cannot be written; make the file and its file system writable"
    case .corrupt(let path, let detail):
      "\(path): damaged (\(detail)); nothing was changed. Restore a backup with `widgetctl"
        + " restore FILE`, or move it, its -wal and -shm files and store.mark away to start empty"
    case .busy(let path):
      "\(path): in use by another program; end that program and try again"
    case .inputOutput(let path, let detail):
      "\(path): reading or writing failed (\(detail)); check the disk and the kernel's log"
    case .incompatible(let path, let found, let supported):
      "\(path): has schema version \(found), and this version knows versions up to \(supported);"
        + " run the newer version, or move the file and store.mark away to start empty"
    case .foreign(let path):
      "\(path): is a database of another application; choose another state directory"
    case .locked(let path, let pid?):
      "\(path): in use by another daemon, process \(pid); stop it, or choose another state directory"
    case .locked(let path, nil):
      "\(path): in use by another daemon; stop it, or choose another state directory"
    case .cannotOpen(let path, let detail):
      "\(path): cannot be opened (\(detail)); check that it exists and who may use it"
    case .unsafe(let path, let detail):
      "\(path): not used, because \(detail)"
    case .unrepresentable(let path, let detail):
      "\(path): cannot hold this widget (\(detail)); nothing was written. Change the widget"
    case .closed(let path):
      "\(path): has been closed; open the log again"
    case .lost(let path, let detail):
      "\(path): \(detail)"
    case .removed(let path, let detail, let revision, .underWay(let copy)):
      "\(path): \(detail) while the daemon used it, so nothing more is stored. The daemon is saving"
        + " everything up to revision \(revision) to \(copy). When that file is there, stop the"
        + " daemon, run `\(StorageError.restore(copy, to: path))`, and restart the daemon"
    case .removed(let path, let detail, let revision, .saved(let copy)):
      "\(path): \(detail) while the daemon used it, so nothing more is stored. Everything up to"
        + " revision \(revision) is in \(copy): stop the daemon, run"
        + " `\(StorageError.restore(copy, to: path))`, and restart the daemon"
    case .removed(let path, let detail, let revision, .failed(let reason)):
      "\(path): \(detail) while the daemon used it, so nothing more is stored. It was at revision"
        + " \(revision), and could not be saved (\(reason)). Put the file back, or restart the"
        + " daemon with a backup"
    case .unexpected(let path, let detail):
      "\(path): unexpected result from SQLite (\(detail)); please report this as a bug"
    }
  }

  /// The command that puts a copy in the place of a database.
  static func restore(_ copy: String, to path: String) -> String {
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    return "widgetctl restore \(copy) --state-directory \(folder.isEmpty ? "/" : folder)"
  }
}
