import Logging
import NIOCore

/// Counts the bytes that connections have not sent, because their peers do not read. Otherwise a
/// user could fill the daemon's memory with answers on many connections.
///
/// While a user is above a limit, the user's connections with unsent bytes make no more output and
/// read nothing. So no answer is lost: the calls wait in the sockets of their senders. Connections of
/// gRPC continue to read, because they must get the peer's window updates. Their calls wait in the
/// daemon, as incomplete requests. If all clients together are above `unsent_bytes_max`, only users
/// with more than an equal share wait. Owners do not count for it. Users who may only ask for health
/// have a total of their own, so they do not stop clients.
///
/// Processes of one user can have different levels, because each process has its groups. All
/// connections of the user count for the limit of the user. Only the connections of one level count
/// for the total of this level, and only they wait for it.
///
/// A connection with few unsent bytes does not wait for the others of its user: its peer reads. For
/// such connections, there is a reserve of a quarter of each limit.
///
/// Confined to the event loop.
final class UnsentBytes {
  private let context: ServiceContext
  private let policy: AccessPolicy
  private var users: [UInt32: User] = [:]
  /// Levels of users who wait.
  private var waiting: [ObjectIdentifier: UserLevel] = [:]
  /// Connections of waiting users that have few unsent bytes again.
  private var freed: [UnsentAccount] = []
  private var ofClients = Total()
  /// The total of users who may only ask for health.
  private var ofUnauthorized = Total()
  private var isLookScheduled = false

  /// The bytes of all connections of a level.
  private struct Total {
    private(set) var bytes = 0
    /// The number of users with unsent bytes of this level.
    private(set) var userCount = 0

    /// Adds the change of a user who had this many bytes of the level.
    mutating func add(_ change: Int, to bytesOfUser: Int) {
      bytes += change
      if bytesOfUser == 0 { userCount += 1 }
      if bytesOfUser + change == 0 { userCount -= 1 }
    }
  }

  fileprivate final class User {
    let uid: UInt32
    var bytes = 0
    /// Those with open connections. An owner has one, and other users have at most two.
    var levels: [UserLevel] = []

    init(uid: UInt32) { self.uid = uid }
  }

  /// The connections of a user that have the same level.
  fileprivate final class UserLevel {
    let user: User
    let level: AccessPolicy.Level
    var bytes = 0
    var isWaiting = false
    /// Whether the reserve is used up. Then connections with few unsent bytes wait, too.
    var isFull = false
    var accounts: [ObjectIdentifier: UnsentAccount] = [:]

    init(_ level: AccessPolicy.Level, of user: User) {
      self.user = user
      self.level = level
    }
  }

  init(_ context: ServiceContext, _ policy: AccessPolicy) {
    self.context = context
    self.policy = policy
  }

  /// The account of a new connection.
  func account(of peer: Peer) -> UnsentAccount {
    let user = users[peer.uid] ?? User(uid: peer.uid)
    users[peer.uid] = user
    let connections = connections(of: user, at: policy.level(of: peer))
    let account = UnsentAccount(of: connections, pid: peer.pid, in: self)
    connections.accounts[ObjectIdentifier(account)] = account
    return account
  }

  private func connections(of user: User, at level: AccessPolicy.Level) -> UserLevel {
    if let known = user.levels.first(where: { $0.level == level }) { return known }
    let new = UserLevel(level, of: user)
    user.levels.append(new)
    // The user can be above its limit by the connections of another level.
    _ = stopIfAbove(new)
    return new
  }

  /// The unsent bytes of a user.
  func bytes(of uid: UInt32) -> Int { users[uid]?.bytes ?? 0 }

  /// The new limits may allow more.
  func limitsChanged() { if !waiting.isEmpty { scheduleLook() } }

  fileprivate func change(
    _ account: UnsentAccount, of connections: UserLevel, from before: Int
  ) {
    let change = account.bytes - before
    switch connections.level {
    case .owner: break
    case .client: ofClients.add(change, to: connections.bytes)
    case .nothing: ofUnauthorized.add(change, to: connections.bytes)
    }
    let user = connections.user
    connections.bytes += change
    user.bytes += change
    if change < 0 {
      guard !waiting.isEmpty else { return }
      if connections.isWaiting, before >= fewMax, account.bytes < fewMax { freed.append(account) }
      scheduleLook()
    } else {
      var begins = false
      for level in user.levels { begins = stopIfAbove(level) || begins }
      if begins { logWaiting(user) }
    }
  }

  /// Lets the connections wait if a limit is reached. Returns whether they did not wait before.
  private func stopIfAbove(_ connections: UserLevel) -> Bool {
    let begins =
      !connections.isWaiting && isAbove(connections, context.limits.unsentBytesPerUIDMax)
    if begins {
      connections.isWaiting = true
      waiting[ObjectIdentifier(connections)] = connections
    }
    if connections.isWaiting, !connections.isFull { connections.isFull = isFull(connections, 4) }
    return begins
  }

  /// A connection of a waiting user continues while it has fewer unsent bytes.
  fileprivate var fewMax: Int { max(1, context.limits.unsentBytesPerUIDMax / 1_024) }

  /// Whether a part of a limit is used in addition to the limit.
  private func isFull(_ connections: UserLevel, _ part: Int) -> Bool {
    let ofUserMax = context.limits.unsentBytesPerUIDMax
    if connections.user.bytes >= ofUserMax + ofUserMax / part { return true }
    guard let (total, max) = sharedTotal(of: connections.level) else { return false }
    return total.bytes >= max + max / part
  }

  /// The total of a level, and its maximum. nil for owners.
  private func sharedTotal(of level: AccessPolicy.Level) -> (Total, Int)? {
    let max = context.limits.unsentBytesMax
    return switch level {
    case .owner: nil
    case .client: (ofClients, max)
    case .nothing: (ofUnauthorized, Swift.max(1, max / UnsentBytes.unauthorizedPart))
    }
  }

  /// Users who may only ask for health have this part of `unsent_bytes_max` together.
  private static let unauthorizedPart = 16

  /// Programs of the user may wait for the one that does not read, so the log has to name it.
  private func logWaiting(_ user: User) {
    let waiting = user.levels.filter(\.isWaiting)
    let accounts = waiting.flatMap { Array($0.accounts.values) }
    guard let most = accounts.max(by: { $0.bytes < $1.bytes }) else { return }
    let bytes = waiting.reduce(0) { $0 + $1.bytes }
    context.log(
      .warning,
      "connections of a user wait, because programs do not read \(bytes) bytes of output; "
        + "\(Peer.words(forProcess: most.pid)) has most of them: end it, or let it read",
      about: "unsent output", of: user.uid, ["pid": "\(most.pid)", "bytes": "\(bytes)"])
  }

  private func isAbove(_ connections: UserLevel, _ ofUserMax: Int) -> Bool {
    if connections.user.bytes >= ofUserMax { return true }
    guard let (total, max) = sharedTotal(of: connections.level) else { return false }
    return total.bytes >= max && connections.bytes >= max / Swift.max(1, total.userCount)
  }

  fileprivate func close(_ account: UnsentAccount, of connections: UserLevel) {
    connections.accounts[ObjectIdentifier(account)] = nil
    guard connections.accounts.isEmpty else { return }
    waiting[ObjectIdentifier(connections)] = nil
    let user = connections.user
    user.levels.removeAll { $0 === connections }
    if user.levels.isEmpty { users[user.uid] = nil }
  }

  /// The look comes later, because the connection whose bytes were sent is in the middle of its
  /// work.
  private func scheduleLook() {
    guard !isLookScheduled else { return }
    isLookScheduled = true
    context.eventLoop.assumeIsolated().execute { [weak self] in self?.look() }
  }

  /// Lets users continue if they have room again, each connection in a slice of its user. A quarter
  /// of the limit has to be free, or half of the reserve. Otherwise each answer would stop and start
  /// a user's connections.
  private func look() {
    isLookScheduled = false
    let max = context.limits.unsentBytesPerUIDMax
    let freed = self.freed
    self.freed.removeAll(keepingCapacity: true)
    for connections in Array(waiting.values) {
      let wasFull = connections.isFull
      if wasFull { connections.isFull = isFull(connections, 8) }
      if !isAbove(connections, max - max / 4) {
        (connections.isWaiting, connections.isFull) = (false, false)
        waiting[ObjectIdentifier(connections)] = nil
        for account in connections.accounts.values { account.tellLater(context.upkeep) }
      } else if wasFull, !connections.isFull {
        for account in connections.accounts.values where account.hasRoom {
          account.tellLater(context.upkeep)
        }
      }
    }
    for account in freed where account.isWaiting && account.hasRoom {
      account.tellLater(context.upkeep)
    }
  }
}

/// The unsent bytes of one connection. Confined to the event loop.
public final class UnsentAccount {
  /// The connections of the same user and level.
  private let connections: UnsentBytes.UserLevel
  private let all: UnsentBytes
  fileprivate let pid: UInt32
  fileprivate private(set) var bytes = 0
  private var isClosed = false
  /// Whether the connection waits for a slice, in which it is told that there is room.
  private var isToBeTold = false
  /// Is called when there is room again.
  public var onRoom: () -> Void = {}

  fileprivate init(
    of connections: UnsentBytes.UserLevel, pid: UInt32, in all: UnsentBytes
  ) {
    self.connections = connections
    self.pid = pid
    self.all = all
  }

  /// Whether the connection may have more unsent bytes.
  public var hasRoom: Bool {
    !connections.isWaiting || !connections.isFull && bytes < all.fewMax
  }

  /// Whether the user is above a limit that counts for this connection. Then only connections with
  /// few unsent bytes go on.
  public var isUserWaiting: Bool { connections.isWaiting }

  /// Whether the connection is open and its user is above a limit.
  fileprivate var isWaiting: Bool { !isClosed && connections.isWaiting }

  /// Tells the connection in a later slice that there is room, if there still is. If the room is
  /// gone by then, the next look tells the connection.
  fileprivate func tellLater(_ upkeep: StreamUpkeep) {
    guard !isToBeTold else { return }
    isToBeTold = true
    upkeep.add(of: connections.user.uid) { [self] in
      isToBeTold = false
      if !isClosed, hasRoom { onRoom() }
    }
  }

  /// Notes how many bytes of the connection are not sent now.
  public func hold(_ bytes: Int) {
    let before = self.bytes
    guard bytes != before, !isClosed else { return }
    self.bytes = bytes
    all.change(self, of: connections, from: before)
  }

  /// The connection has ended.
  public func close() {
    hold(0)
    guard !isClosed else { return }
    isClosed = true
    all.close(self, of: connections)
  }
}
