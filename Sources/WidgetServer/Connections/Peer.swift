import Glibc

/// The process at the other end of a connection, as the kernel reports it.
public struct Peer: Hashable, Sendable {
  public var uid: UInt32
  public var gid: UInt32
  /// 0 if the process is in a PID namespace that the daemon does not see. Many processes have this
  /// id, so `isSameProcess` compares them.
  public var pid: UInt32
  /// All supplementary groups.
  public var groups: [UInt32]
  /// The kernel's number of a process whose `pid` is 0. 0 if unknown.
  var hiddenProcess: UInt64 = 0

  public init(uid: UInt32, gid: UInt32, pid: UInt32, groups: [UInt32] = []) {
    self.uid = uid
    self.gid = gid
    self.pid = pid
    self.groups = groups
  }

  /// Whether both are surely one process.
  func isSameProcess(as other: Peer) -> Bool {
    guard pid == other.pid else { return false }
    return pid > 0 || hiddenProcess > 0 && hiddenProcess == other.hiddenProcess
  }

  /// A process in words.
  static func words(forProcess pid: UInt32) -> String {
    pid > 0 ? "process \(pid)" : "a process in another PID namespace"
  }

  /// The process itself.
  public static var current: Peer {
    Peer(uid: geteuid(), gid: getegid(), pid: UInt32(clamping: getpid()))
  }

  /// Asks the kernel about a connected Unix socket. nil if it does not know.
  init?(socket: CInt) {
    // glibc hides `struct ucred` without _GNU_SOURCE; its layout is the kernel's.
    var credentials: (pid: Int32, uid: UInt32, gid: UInt32) = (0, 0, 0)
    var length = socklen_t(MemoryLayout.size(ofValue: credentials))
    guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
      return nil
    }
    self.init(
      uid: credentials.uid, gid: credentials.gid, pid: UInt32(clamping: credentials.pid),
      groups: Peer.supplementaryGroups(of: socket))
    if pid == 0 {
      hiddenProcess = Peer.hiddenProcess(Peer.processNumber(of: socket), own: Peer.ownNumber)
    }
  }

  /// The number of a process in the file system of pidfds (Linux 6.9 and later); 0 if unknown.
  /// In earlier kernels, all pidfds have one number, and so has that of this process.
  static func hiddenProcess(_ number: UInt64?, own: UInt64?) -> UInt64 {
    guard let own, let number, number != own else { return 0 }
    return number
  }

  /// The number of this process; nil if the kernel does not tell it.
  static let ownNumber: UInt64? = {
    var pair: [CInt] = [-1, -1]
    guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0 else { return nil }
    defer { for descriptor in pair { Glibc.close(descriptor) } }
    return processNumber(of: pair[0])
  }()

  /// The number of the process at the other end of a socket; nil if the kernel does not tell it.
  static func processNumber(of socket: CInt) -> UInt64? {
    let peerPidfd: CInt = 77  // SO_PEERPIDFD, which glibc does not name in every version
    var descriptor: CInt = -1
    var length = socklen_t(MemoryLayout<CInt>.size)
    guard getsockopt(socket, SOL_SOCKET, peerPidfd, &descriptor, &length) == 0, descriptor >= 0
    else { return nil }
    defer { Glibc.close(descriptor) }
    var file = stat()
    return fstat(descriptor, &file) == 0 ? UInt64(file.st_ino) : nil
  }

  /// The groups the peer had when it connected (Linux 4.13 and later); empty if unknown.
  private static func supplementaryGroups(of socket: CInt) -> [UInt32] {
    let peerGroups: CInt = 59  // SO_PEERGROUPS, which glibc does not name in every version
    var groups = [UInt32](repeating: 0, count: 64)
    while true {
      var length = socklen_t(groups.count * MemoryLayout<UInt32>.size)
      if getsockopt(socket, SOL_SOCKET, peerGroups, &groups, &length) == 0 {
        return Array(groups.prefix(Int(length) / MemoryLayout<UInt32>.size))
      }
      let needed = Int(length) / MemoryLayout<UInt32>.size
      guard errno == ERANGE, needed > groups.count else { return [] }
      groups = [UInt32](repeating: 0, count: needed)
    }
  }
}

/// The access rules.
///
/// The daemon's user and root may do everything. Members of the client group, if there is one, may
/// read, watch and send events. Everyone else may only ask for health.
public struct AccessPolicy: Hashable, Sendable {
  /// The users with full access.
  public var ownerUIDs: Set<UInt32>
  /// The group whose members are clients; nil for none.
  public var clientGID: UInt32?

  /// The highest access of a peer.
  public enum Level: UInt8, Comparable, Sendable {
    case nothing
    /// Read, watch, send events.
    case client
    /// Everything.
    case owner

    public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
  }

  public init(ownerUIDs: Set<UInt32>, clientGID: UInt32?) {
    self.ownerUIDs = ownerUIDs
    self.clientGID = clientGID
  }

  /// The policy of a daemon that runs as the current user.
  public static func current(clientGID: UInt32?) -> AccessPolicy {
    AccessPolicy(ownerUIDs: [0, geteuid()], clientGID: clientGID)
  }

  public func level(of peer: Peer) -> Level {
    if ownerUIDs.contains(peer.uid) { return .owner }
    if let clientGID, peer.gid == clientGID || peer.groups.contains(clientGID) { return .client }
    return .nothing
  }
}
