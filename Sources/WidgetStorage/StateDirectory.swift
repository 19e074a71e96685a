import Glibc

/// The directory of a daemon's state, locked while this object exists.
///
/// The lock is an advisory one on the file `widgetd.lock`. The kernel releases it whenever the
/// process ends, so a stale lock is impossible. The file names the process, and is never removed:
/// its removal could take away the lock of another process that opened the file just before.
public final class StateDirectory {
  /// The given path, without slashes at the end.
  public let path: String
  /// Folders above the directory whose safety only the administrator knows, in words.
  let notices: [String]
  private var lock: Int32?

  static let lockFileName = "widgetd.lock"

  /// Takes the lock. Creates missing directories, accessible only to this user. Existing
  /// directories keep their permissions.
  ///
  /// Throws `unsafe` for a directory that other users own or can write to, and for one that they
  /// could replace (`ParentFolders`). They could replace the store, or put links in the place of
  /// its files. Throws `locked` if another daemon uses the directory, else `readOnly`, `full` or
  /// `cannotOpen`.
  ///
  /// - Parameter isRepair: Whether root may use the directory of another user, for a command beside
  ///   the daemon.
  public convenience init(path: String, isRepair: Bool = false) throws(StorageError) {
    try self.init(path: path, isRepair: isRepair, beforeMaking: {})
  }

  /// - Parameter beforeMaking: Called after the check of the folders above, before missing
  ///   directories are made.
  init(path: String, isRepair: Bool = false, beforeMaking: () -> Void) throws(StorageError) {
    var path = path
    while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw .cannotOpen(path: path, detail: "not a valid path")
    }
    self.path = path
    let owner = isRepair && geteuid() == 0 ? StateDirectory.owner(of: path) : nil
    let folders = ParentFolders(trusting: owner)
    try folders.check(above: path)
    beforeMaking()
    try StateDirectory.makeDirectories(path)
    // Another user may have made a missing folder since the first check. A checked folder cannot be
    // replaced by others any more.
    notices = try folders.check(above: path).map { shared in
      "\(shared.path): the members of group \(shared.group) can write to this folder above the"
        + " state directory, and could replace the store; if you do not trust them,"
        + " run `chmod g-w \(shared.path)`, or choose another state directory"
    }
    try StateDirectory.checkOwner(of: path, isRepair: isRepair)
    lock = try StateDirectory.takeLock(path + "/" + StateDirectory.lockFileName)
  }

  deinit { release() }

  /// Releases the directory for other daemons. Does nothing the second time.
  public func release() {
    guard let descriptor = lock else { return }
    // Closing alone is not enough: a child process that starts at this moment has a copy of the
    // descriptor until it runs its program.
    _ = flock(descriptor, LOCK_UN)
    // The descriptor is gone even if close reports an error.
    _ = Glibc.close(descriptor)
    lock = nil
  }

  /// Whether `release` has not been called.
  public var isLocked: Bool { lock != nil }

  private static func makeDirectories(_ path: String) throws(StorageError) {
    var made = ""
    for (index, part) in path.split(separator: "/", omittingEmptySubsequences: false).enumerated() {
      made += index == 0 ? "\(part)" : "/\(part)"
      guard !part.isEmpty, part != ".", part != ".." else { continue }
      guard mkdir(made, 0o700) != 0 else { continue }
      // For an existing directory, the error may differ from EEXIST, for example on a read-only
      // file system. The first use shows whether the directory is usable.
      let code = errno
      var status = stat()
      guard stat(made, &status) == 0 else { throw StorageError(errno: code, path: made) }
      guard status.st_mode & S_IFMT == S_IFDIR else {
        throw .cannotOpen(path: made, detail: "not a directory")
      }
    }
  }

  /// The owner of a directory; nil if it is missing.
  private static func owner(of path: String) -> uid_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_uid : nil
  }

  private static func checkOwner(of path: String, isRepair: Bool) throws(StorageError) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw StorageError(errno: errno, path: path) }
    let user = geteuid()
    guard status.st_uid == user || status.st_uid == 0 || (user == 0 && isRepair) else {
      throw .unsafe(
        path: path,
        detail: "it belongs to user \(status.st_uid), and this program runs as user \(user);"
          + " run it as user \(status.st_uid), or choose another state directory")
    }
    guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
      throw .unsafe(
        path: path,
        detail: "other users can write to it; run `chmod go-w \(path)`, and check its files")
    }
  }

  private static func takeLock(_ path: String) throws(StorageError) -> Int32 {
    let descriptor = try openPlainFile(path, O_RDWR | O_CREAT, 0o600)
    giveToFolderOwner(descriptor, path)
    do throws(StorageError) {
      while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
        switch errno {
        case EINTR: continue
        case EWOULDBLOCK: throw .locked(path: path, pid: readHolder(descriptor))
        default: throw StorageError(errno: errno, path: path)
        }
      }
      try writeHolder(descriptor, path)
    } catch {
      _ = Glibc.close(descriptor)
      throw error
    }
    return descriptor
  }

  /// The process in the lock file.
  private static func readHolder(_ descriptor: Int32) -> Int32? {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else { return nil }
    let digits = bytes[..<count].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return Int32(String(decoding: digits, as: UTF8.self))
  }

  private static func writeHolder(_ descriptor: Int32, _ path: String) throws(StorageError) {
    let text = Array("\(getpid())\n".utf8)
    guard FileCalls.truncate(descriptor, path, to: 0) == 0,
      FileCalls.write(text, to: descriptor, path) == text.count
    else { throw StorageError(errno: errno, path: path) }
  }
}

/// Gives a file that root has just created to the owner of its folder. Otherwise the daemon's user
/// could not use it, because root may have run the daemon, or a command, by hand.
///
/// Only for an empty file with one name: the owner of the folder could have put a link there.
func giveToFolderOwner(_ descriptor: Int32, _ path: String) {
  var status = stat()
  let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
  guard geteuid() == 0, fstat(descriptor, &status) == 0, status.st_size == 0, status.st_uid == 0,
    status.st_nlink == 1, stat(folder, &status) == 0
  else { return }
  _ = fchown(descriptor, status.st_uid, status.st_gid)
}

extension StorageError {
  /// The error for a failed system call.
  init(errno code: Int32, path: String) {
    switch code {
    case ENOSPC, EDQUOT, EFBIG: self = .full(path: path)
    case EROFS: self = .readOnly(path: path)
    case EIO: self = .inputOutput(path: path, detail: StorageError.text(code))
    default: self = .cannotOpen(path: path, detail: StorageError.text(code))
    }
  }

  /// The C library's text for an error number.
  static func text(_ code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    let text = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: text, as: UTF8.self)
  }
}
