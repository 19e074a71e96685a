import Glibc

/// The process at the other end of a connection, as the kernel reports it.
public struct Peer: Hashable, Sendable {
  public var uid: UInt32
  public var gid: UInt32
  public var pid: UInt32
  /// All supplementary groups.
  public var groups: [UInt32]

  public init(uid: UInt32, gid: UInt32, pid: UInt32, groups: [UInt32] = []) {
    self.uid = uid
    self.gid = gid
    self.pid = pid
    self.groups = groups
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
