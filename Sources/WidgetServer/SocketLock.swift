import Glibc

/// Makes sure that one daemon at a time uses a socket path, and that a socket file that a dead one
/// left behind is no obstacle.
///
/// The lock is an `flock` on `<socket>.lock`. The kernel drops it when its holder ends, however it
/// ends; so whoever holds the lock may remove the socket file, and nobody else ever does.
final class SocketLock: Sendable {
  private let socketPath: String
  private let descriptor: CInt

  /// Takes the lock, creating the socket's folder if it is missing.
  init(socketPath: String) throws(SocketError) {
    guard !socketPath.isEmpty, socketPath.utf8.count <= SocketLock.pathBytesMax else {
      throw .pathTooLong(socketPath)
    }
    self.socketPath = socketPath
    try SocketLock.checkIsSocketOrNothing(socketPath)
    if let slash = socketPath.lastIndex(of: "/"), slash != socketPath.startIndex {
      let folder = String(socketPath[..<slash])
      if mkdir(folder, 0o755) != 0, errno != EEXIST {
        throw .cannotUse(folder, reason: String(cString: strerror(errno)))
      }
    }
    let path = socketPath + ".lock"
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .cannotUse(path, reason: String(cString: strerror(errno))) }
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

  /// What NIO takes, which is what the shortest `sockaddr_un` of any system has room for.
  static let pathBytesMax = 103

  private static func holder(_ file: CInt) -> String {
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = pread(file, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(0, count)).prefix { $0 != 10 }, as: UTF8.self)
  }

  /// Removes a socket file that nobody listens on. Refuses to remove anything that is no socket.
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
      throw .cannotUse(path, reason: "there is a file of that name that is no socket")
    }
    return true
  }

  /// Whether somebody accepts connections there: a program that does not know this lock.
  private var isServed: Bool {
    let probe = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
    guard probe >= 0 else { return true }
    defer { Glibc.close(probe) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { path in
      path.copyBytes(from: socketPath.utf8.prefix(path.count - 1))
    }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(probe, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    return result == 0 || errno != ECONNREFUSED
  }

  /// Lets the client group, if there is one, connect.
  func setMode(_ mode: UInt16, clientGID: UInt32?) throws(SocketError) {
    if let clientGID, chown(socketPath, uid_t.max, clientGID) != 0 {
      throw .cannotUse(
        socketPath,
        reason: "cannot give it to group \(clientGID): "
          + String(cString: strerror(errno)))
    }
    guard chmod(socketPath, mode_t(mode)) == 0 else {
      throw .cannotUse(socketPath, reason: String(cString: strerror(errno)))
    }
  }

  /// Gives the path up. The lock goes last: until then nobody else can have bound the path.
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
      "\(path) cannot be used: \(reason). Mend that, or choose another path with --socket."
    }
  }
}
