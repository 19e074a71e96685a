import Glibc

/// The file of an arrangement. It is written as a whole or not at all, and never overwrites changes
/// that the user has not seen.
struct ArrangementFile: Hashable, Sendable {
  let path: String

  /// The marks that distinguish two states of a file.
  struct Version: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    init(_ status: stat) {
      device = UInt64(status.st_dev)
      inode = UInt64(status.st_ino)
      size = Int64(status.st_size)
      seconds = status.st_mtim.tv_sec
      nanoseconds = status.st_mtim.tv_nsec
    }
  }

  enum Outcome: Hashable, Sendable {
    case written
    /// The file exists, and is not the version that may be replaced.
    case exists(Version)
    case failed(String)
  }

  /// The error of a system call.
  private struct Refusal: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    static func last() -> Refusal { Refusal(String(cString: strerror(errno))) }
  }

  private static let linksMax = 40

  /// Writes the file atomically. Makes its folder if that is missing.
  ///
  /// Changes of other programs stay: a file is replaced only if it is the version that the caller
  /// has seen. Of several writers, one at a time checks the version and writes.
  ///
  /// - Parameter replaced: The version that may be replaced. Nil: the file must not exist.
  func write(_ text: String, replacing replaced: Version? = nil) -> Outcome {
    do throws(Refusal) {
      let target = try ArrangementFile.target(of: path)
      let folder = ArrangementFile.folder(of: target)
      try ArrangementFile.make(folder)
      let lock = try ArrangementFile.lock(folder)
      defer {
        // A child that is being started may have a copy of the descriptor, so the lock is released
        // first.
        flock(lock, LOCK_UN)
        close(lock)
      }
      var status = stat()
      let isThere = lstat(target, &status) == 0
      guard isThere || errno == ENOENT else { throw .last() }
      if isThere, Version(status) != replaced { return .exists(Version(status)) }
      let temporary = try ArrangementFile.temporary(
        for: target, text, mode: isThere ? status.st_mode & 0o777 : nil)
      guard rename(temporary, target) == 0 else {
        let refusal = Refusal.last()
        unlink(temporary)
        throw refusal
      }
      return .written
    } catch {
      return .failed(error.reason)
    }
  }

  /// The file at the end of symbolic links. It may be missing, and so may its folder.
  private static func target(of path: String) throws(Refusal) -> String {
    var target = path
    for _ in 0..<linksMax {
      var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = readlink(target, &bytes, bytes.count)
      guard count > 0 else { return target }
      let end = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
      target = end.hasPrefix("/") ? end : folder(of: target) + "/" + end
    }
    throw Refusal(String(cString: strerror(ELOOP)))
  }

  /// Locks a folder against other writers until the descriptor is closed.
  private static func lock(_ folder: String) throws(Refusal) -> CInt {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .last() }
    // Some file systems have no locks for folders. Then two writers at a time may still meet.
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return descriptor }
    close(descriptor)
    throw Refusal("another program is writing to \(folder); press w again")
  }

  /// A new file beside the target, with the text on the disk.
  private static func temporary(
    for target: String, _ text: String, mode: mode_t?
  ) throws(Refusal) -> String {
    let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    let temporary = "\(target).\(number).new"
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw .last() }
    var failure: CInt = 0
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Glibc.write(file, rest.baseAddress, rest.count)
        if count > 0 {
          rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        } else if errno != EINTR {
          failure = errno
          return
        }
      }
    }
    if failure == 0, let mode, fchmod(file, mode) != 0 { failure = errno }
    if failure == 0, fsync(file) != 0 { failure = errno }
    if close(file) != 0, failure == 0 { failure = errno }
    guard failure == 0 else {
      unlink(temporary)
      throw Refusal(String(cString: strerror(failure)))
    }
    return temporary
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes a folder and its parents.
  private static func make(_ folder: String) throws(Refusal) {
    if mkdir(folder, 0o755) == 0 || errno == EEXIST { return }
    guard errno == ENOENT else { throw .last() }
    let outer = self.folder(of: folder)
    guard outer != folder else { throw Refusal(String(cString: strerror(ENOENT))) }
    try make(outer)
    if mkdir(folder, 0o755) != 0, errno != EEXIST { throw .last() }
  }
}
