import NIOCore

/// Counts the received bytes that wait for the time of their user. While there are many, the reads
/// of the user are small. Otherwise a user could fill the daemon's memory with one large read on
/// each connection.
///
/// A connection with waiting bytes reads nothing more. So a user has at most the limit, and a small
/// read on each other connection. Nobody is refused, and no connection waits for room: the rest of
/// the calls stays in the sockets of their senders. Owners do not count for the limit of all
/// clients. Users who may only ask for health have few connections.
///
/// Confined to the event loop.
final class ReceivedBytes {
  /// The bytes above which reads are small.
  struct Limits {
    var ofUser = 16 << 20
    var ofClients = 64 << 20
  }

  /// Tests replace them.
  var limits = Limits()
  private let policy: AccessPolicy
  private var bytesByUID: [UInt32: Int] = [:]
  private var bytesOfClients = 0

  init(_ policy: AccessPolicy) { self.policy = policy }

  /// The account of a new connection.
  func account(of peer: Peer) -> ReceivedAccount {
    ReceivedAccount(of: peer.uid, policy.level(of: peer), in: self)
  }

  /// The buffers for the reads of a new connection. Call on the event loop.
  func buffers(for peer: Peer, on eventLoop: any EventLoop) -> ReadBuffers {
    ReadBuffers(
      uid: peer.uid, isClient: policy.level(of: peer) == .client,
      received: NIOLoopBound(self, eventLoop: eventLoop))
  }

  /// The received bytes of a user that wait.
  func bytes(of uid: UInt32) -> Int { bytesByUID[uid, default: 0] }

  /// Whether the reads of a user have to be small.
  func isFull(for uid: UInt32, isClient: Bool) -> Bool {
    bytes(of: uid) >= limits.ofUser || isClient && bytesOfClients >= limits.ofClients
  }

  fileprivate func change(_ bytes: Int, for account: ReceivedAccount) {
    let ofUser = self.bytes(of: account.uid) + bytes
    bytesByUID[account.uid] = ofUser > 0 ? ofUser : nil
    if account.level == .client { bytesOfClients += bytes }
  }
}

/// The received bytes of one connection that wait. Confined to the event loop.
public final class ReceivedAccount {
  fileprivate let uid: UInt32
  fileprivate let level: AccessPolicy.Level
  private let all: ReceivedBytes
  private var bytes = 0

  fileprivate init(of uid: UInt32, _ level: AccessPolicy.Level, in all: ReceivedBytes) {
    self.uid = uid
    self.level = level
    self.all = all
  }

  /// Notes that what was read waits.
  ///
  /// - Parameter bytes: the memory of the read, which may be larger than its content.
  public func add(_ bytes: Int) {
    self.bytes += bytes
    all.change(bytes, for: self)
  }

  /// Notes that nothing waits any more.
  public func clear() {
    guard bytes > 0 else { return }
    all.change(-bytes, for: self)
    bytes = 0
  }
}
