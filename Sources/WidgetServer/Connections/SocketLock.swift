import Glibc

/// Makes sure that only one daemon uses a socket path, and removes the socket file of a dead
/// daemon.
///
/// The lock is an `flock` on `<socket>.lock`. The kernel drops it when its holder ends, for any
/// reason. So only the holder removes the socket file.
final class SocketLock: Sendable {
  private let socketPath: String
  private let descriptor: CInt
  /// The socket's folder, if it was missing.
  let createdFolder: String?

  /// Takes the lock, creating the socket's folder if it is missing.
  init(socketPath: String) throws(SocketError) {
    guard !socketPath.isEmpty, socketPath.utf8.count <= SocketLock.pathBytesMax else {
      throw .pathTooLong(socketPath)
    }
    self.socketPath = socketPath
    try SocketLock.checkIsSocketOrNothing(socketPath)
    var created: String?
    if let slash = socketPath.lastIndex(of: "/"), slash != socketPath.startIndex {
      let folder = String(socketPath[..<slash])
      if mkdir(folder, 0o755) == 0 {
        created = folder
      } else if errno != EEXIST {
        throw .cannotUse(folder, reason: SocketLock.reason(errno, at: folder))
      }
    }
    createdFolder = created
    let path = socketPath + ".lock"
    // In a folder that others can write, the name may be their link to another file.
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else {
      throw .cannotUse(path, reason: SocketLock.reason(errno, at: path))
    }
    if let reason = SocketLock.foreignness(of: file) {
      Glibc.close(file)
      throw .cannotUse(path, reason: reason)
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      let holder = SocketLock.holder(file)
      Glibc.close(file)
      throw .inUse(socketPath, pid: holder)
    }
    let text = "\(getpid())\n"
    _ = ftruncate(file, 0)
    _ = text.withCString { pwrite(file, $0, strlen($0), 0) }
    descriptor = file
  }

  deinit { Glibc.close(descriptor) }

  /// The reason why the lock file or its folder cannot be made.
  private static func reason(_ error: CInt, at path: String) -> String {
    switch error {
    case ELOOP: return "it is a link"
    case ENOENT:
      let folder = path.lastIndex(of: "/").map { path[..<$0] } ?? "."
      return folder.isEmpty || access(String(folder), F_OK) == 0
        ? "its file system takes no new files, like /proc" : "the folder above it does not exist"
    default: return String(cString: strerror(error))
    }
  }

  /// The reason not to write to an existing lock file; nil if there is none.
  private static func foreignness(of file: CInt) -> String? {
    var status = stat()
    guard fstat(file, &status) == 0 else { return String(cString: strerror(errno)) }
    if status.st_mode & S_IFMT != S_IFREG { return "it is not a plain file" }
    if status.st_uid != geteuid() { return "it belongs to user \(status.st_uid)" }
    if status.st_nlink > 1 { return "it has a second hard link" }
    return nil
  }

  /// The longest path that NIO takes: `SocketAddress.init(unixDomainSocketPath:)` of swift-nio 2.101.2
  /// keeps to the shortest `sockaddr_un` of any system (https://github.com/apple/swift-nio/issues/1770).
  static let pathBytesMax = 103

  private static func holder(_ file: CInt) -> String {
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = pread(file, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(0, count)).prefix { $0 != 10 }, as: UTF8.self)
  }

  /// Removes a socket file without a listener. Refuses to remove anything that is not a socket.
  func removeStaleSocket() throws(SocketError) {
    guard try SocketLock.checkIsSocketOrNothing(socketPath) else { return }
    guard !isServed else { throw .served(socketPath) }
    guard unlink(socketPath) == 0 else {
      throw .cannotUse(socketPath, reason: String(cString: strerror(errno)))
    }
  }

  /// Returns whether there is a socket; throws if there is something else.
  @discardableResult
  private static func checkIsSocketOrNothing(_ path: String) throws(SocketError) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return false }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw .cannotUse(path, reason: "there is a file of that name that is not a socket")
    }
    return true
  }

  /// Whether another program accepts connections there: a program that does not know this lock.
  private var isServed: Bool {
    let probe = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
    guard probe >= 0 else { return true }
    defer { Glibc.close(probe) }
    let result = withAddress { connect(probe, $0, $1) }
    return result == 0 || errno != ECONNREFUSED
  }

  /// Makes the socket. It takes connections only when its mode and group are set.
  ///
  /// - Parameters:
  ///   - mode: The permission bits of the file.
  ///   - clientGID: The group that may connect. Nil leaves the group as it is.
  ///   - whenBound: Called when the file is there, for tests.
  /// - Returns: The descriptor of the listening socket, which the caller owns.
  func listen(
    mode: UInt16, clientGID: UInt32?, backlog: CInt, whenBound: () -> Void = {}
  ) throws(SocketError) -> CInt {
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    let listener = socket(AF_UNIX, kind | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard listener >= 0 else { throw refusal() }
    var isBound = false
    do throws(SocketError) {
      guard withAddress({ bind(listener, $0, $1) }) == 0 else { throw refusal() }
      isBound = true
      whenBound()
      try protect(mode: mode, clientGID: clientGID)
      guard Glibc.listen(listener, backlog) == 0 else { throw refusal() }
      return listener
    } catch {
      if isBound { removeOwnSocket() }
      Glibc.close(listener)
      throw error
    }
  }

  /// Removes the socket that this process has made, and no other user's file in its place.
  private func removeOwnSocket() {
    var status = stat()
    guard lstat(socketPath, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK,
      status.st_uid == geteuid()
    else { return }
    unlink(socketPath)
  }

  /// Sets the mode and the group of the new socket, and never those of another file: in a folder that
  /// others can write, the name may lead to another file by now.
  private func protect(mode: UInt16, clientGID: UInt32?) throws(SocketError) {
    let file = open(socketPath, SocketLock.pathOnly | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else { throw refusal() }
    defer { Glibc.close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw refusal() }
    guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid(), status.st_nlink == 1
    else {
      throw .cannotUse(
        socketPath, reason: "another user has put another file in the place of the new socket")
    }
    if let clientGID, fchownat(file, "", uid_t.max, clientGID, SocketLock.emptyPath) != 0 {
      throw .groupRefused(socketPath, gid: clientGID, errno: errno)
    }
    // `fchmod` refuses a descriptor that is only a path.
    guard chmod("/proc/self/fd/\(file)", mode_t(mode)) == 0 else {
      throw refusal("cannot set its mode through /proc/self/fd, which must be there: ")
    }
  }

  /// O_PATH and AT_EMPTY_PATH, which glibc hides without _GNU_SOURCE; the same on all architectures
  /// of Swift.
  private static let pathOnly: CInt = 0o10_000_000
  private static let emptyPath: CInt = 0x1000

  private func refusal(_ prefix: String = "") -> SocketError {
    .cannotUse(socketPath, reason: prefix + String(cString: strerror(errno)))
  }

  private func withAddress<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { path in
      path.copyBytes(from: socketPath.utf8.prefix(path.count - 1))
    }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// Releases the path. The lock goes last: until then no other process can have bound the path.
  func release() {
    unlink(socketPath)
    flock(descriptor, LOCK_UN)
  }
}

/// Why a socket cannot be used.
public enum SocketError: Error, Hashable, Sendable, CustomStringConvertible {
  case pathTooLong(String)
  case inUse(String, pid: String)
  case served(String)
  case cannotUse(String, reason: String)
  /// The system does not let the daemon give the socket to the group.
  case groupRefused(String, gid: UInt32, errno: CInt)

  public var description: String {
    switch self {
    case .pathTooLong(let path):
      "\"\(path)\" cannot be a socket: 1 to \(SocketLock.pathBytesMax) bytes are allowed. Choose a "
        + "shorter path with --socket."
    case .inUse(let path, let pid):
      "another widgetd (process \(pid)) serves \(path) already. Stop it, or choose another path with "
        + "--socket."
    case .served(let path):
      "another program serves \(path) already. Stop it, or choose another path with --socket."
    case .cannotUse(let path, let reason):
      "\(path) cannot be used: \(reason). Fix the cause, or choose another path with "
        + "--socket."
    case .groupRefused(let path, gid: let gid, errno: EPERM):
      "widgetd cannot give \(path) to group \(gid): only root and members of the group may do "
        + "this. Add the daemon's user to the group, and start the daemon in a new session. Or "
        + "choose another group with --client-group."
    case .groupRefused(let path, gid: let gid, errno: let error):
      "widgetd cannot give \(path) to group \(gid): \(String(cString: strerror(error)))."
    }
  }
}
