import Glibc

/// The directory that holds a daemon's state, locked for as long as this object lives.
///
/// The lock is an advisory one on the file `widgetd.lock`; the kernel drops it when the process
/// ends, however that happens, so no stale lock is ever left behind. The file names the process and
/// is never removed: whoever removed it could take away the lock of another process that opened the
/// file just before.
public final class StateDirectory {
  /// As given, without slashes at the end.
  public let path: String
  private var lock: Int32?

  static let lockFileName = "widgetd.lock"

  /// Takes the lock. Directories that are missing are made, accessible to this user alone; the
  /// permissions of one that exists are left as they are.
  ///
  /// Throws `locked` if another daemon has the directory, else `readOnly`, `full` or `cannotOpen`.
  public init(path: String) throws(StorageError) {
    var path = path
    while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw .cannotOpen(path: path, detail: "not a valid path")
    }
    self.path = path
    try StateDirectory.makeDirectories(path)
    lock = try StateDirectory.takeLock(path + "/" + StateDirectory.lockFileName)
  }

  deinit { release() }

  /// Lets other daemons have the directory. Does nothing the second time.
  public func release() {
    guard let descriptor = lock else { return }
    // Closing alone is not enough: a child that this process starts at this moment has a copy of the
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
      // What exists may be refused with another error than EEXIST, on a read-only file system for
      // example; whether it is usable shows when it is used.
      let code = errno
      var status = stat()
      guard stat(made, &status) == 0 else { throw StorageError(errno: code, path: made) }
      guard status.st_mode & S_IFMT == S_IFDIR else {
        throw .cannotOpen(path: made, detail: "not a directory")
      }
    }
  }

  private static func takeLock(_ path: String) throws(StorageError) -> Int32 {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw StorageError(errno: errno, path: path) }
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

  /// The process that the lock file names.
  private static func readHolder(_ descriptor: Int32) -> Int32? {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else { return nil }
    let digits = bytes[..<count].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return Int32(String(decoding: digits, as: UTF8.self))
  }

  private static func writeHolder(_ descriptor: Int32, _ path: String) throws(StorageError) {
    let text = Array("\(getpid())\n".utf8)
    guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, text, text.count, 0) == text.count
    else { throw StorageError(errno: errno, path: path) }
  }
}

/// Gives a file that root has just made to the owner of its folder. Else the daemon's user could not
/// use it: root may have run the daemon, or a command, by hand.
///
/// Only an empty file with one name: the owner of the folder could have put a link there.
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

  /// What the C library says about an error number.
  static func text(_ code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    let text = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: text, as: UTF8.self)
  }
}
