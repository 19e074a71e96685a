/// How much each user has of something whose limits count all users together.
///
/// If a limit is exceeded, the user with the most gives something up. So a user with less than an
/// equal share of the limit loses nothing to others.
///
/// Invariants: `count` and `bytes` are the sums over all users; a user with nothing has no share.
struct UserShares: Equatable {
  private struct Share: Equatable {
    var count = 0
    var bytes = 0
  }

  private var shares: [UInt32: Share] = [:]
  private(set) var count = 0
  private(set) var bytes = 0

  mutating func add(_ size: Int, of uid: UInt32) {
    shares[uid, default: Share()].count += 1
    shares[uid, default: Share()].bytes += size
    count += 1
    bytes += size
  }

  mutating func remove(_ size: Int, of uid: UInt32) {
    guard var share = shares[uid] else { return }
    share.count -= 1
    share.bytes -= size
    shares[uid] = share.count > 0 ? share : nil
    count -= 1
    bytes -= size
  }

  /// The users with the most, if all together exceed a limit. Empty if they do not. O(users).
  func largest(countMax: Int, bytesMax: Int) -> Set<UInt32> {
    if count > countMax { return largest(by: \.count) }
    if bytes > bytesMax { return largest(by: \.bytes) }
    return []
  }

  private func largest(by size: KeyPath<Share, Int>) -> Set<UInt32> {
    let most = shares.values.lazy.map { $0[keyPath: size] }.max()
    return Set(shares.filter { $0.value[keyPath: size] == most }.keys)
  }
}
