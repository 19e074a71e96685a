/// Counts the connections of each user, and decides whether a user may open one more.
///
/// Some connections are reserved for owners, so that other users cannot lock them out. Users who
/// may only ask for health share a small number.
struct ConnectionShares {
  /// All connections.
  private(set) var count = 0
  /// Connections of users who may only ask for health.
  private(set) var unauthorizedCount = 0
  private var countByUID: [UInt32: Int] = [:]
  private var unauthorizedCountByUID: [UInt32: Int] = [:]
  private let files: OpenFiles

  /// A reached limit and its value.
  struct Refusal: Hashable {
    let limit: String
    let maximum: Int
    /// Set if the open files of the process allow no more than `maximum`, which is lower than the
    /// limit.
    var shortage: OpenFiles.Shortage?
  }

  /// The most connections that are kept for owners.
  private static let reservedMax = 64

  /// The connections of `connections_max` that are reserved for owners: 64, or an eighth if that is
  /// less.
  static func reserved(of connectionsMax: Int) -> Int { min(reservedMax, connectionsMax / 8) }

  /// - Parameter files: The open files that the process may have.
  init(files: OpenFiles = .unlimited) { self.files = files }

  /// The highest number of connections of one user.
  var highestCount: Int { countByUID.values.max() ?? 0 }

  /// Counts one more connection, or returns the limit that it exceeds.
  mutating func admit(
    _ uid: UInt32, _ level: AccessPolicy.Level, _ limits: ServerLimits
  ) -> Refusal? {
    if let refusal = refusal(of: uid, level, limits) { return refusal }
    count += 1
    countByUID[uid, default: 0] += 1
    if level == .nothing {
      unauthorizedCount += 1
      unauthorizedCountByUID[uid, default: 0] += 1
    }
    return nil
  }

  /// The limit that one more connection exceeds; nil for none.
  func refusal(
    of uid: UInt32, _ level: AccessPolicy.Level, _ limits: ServerLimits
  ) -> Refusal? {
    let most = files.connections(limits)
    let connectionsMax = most - (level == .owner ? 0 : ConnectionShares.reserved(of: most))
    if count >= connectionsMax {
      return Refusal(
        limit: "connections_max", maximum: connectionsMax,
        shortage: most < limits.connectionsMax ? files.shortage(limits) : nil)
    }
    if countByUID[uid, default: 0] >= limits.connectionsPerUIDMax {
      return Refusal(limit: "connections_per_uid_max", maximum: limits.connectionsPerUIDMax)
    }
    guard level == .nothing else { return nil }
    if unauthorizedCount >= limits.connectionsUnauthorizedMax {
      return Refusal(
        limit: "connections_unauthorized_max", maximum: limits.connectionsUnauthorizedMax)
    }
    if unauthorizedCountByUID[uid, default: 0] >= limits.connectionsUnauthorizedPerUIDMax {
      return Refusal(
        limit: "connections_unauthorized_per_uid_max",
        maximum: limits.connectionsUnauthorizedPerUIDMax)
    }
    return nil
  }

  /// Stops counting a connection.
  mutating func release(_ uid: UInt32, _ level: AccessPolicy.Level) {
    count -= 1
    ConnectionShares.decrease(&countByUID, uid)
    guard level == .nothing else { return }
    unauthorizedCount -= 1
    ConnectionShares.decrease(&unauthorizedCountByUID, uid)
  }

  private static func decrease(_ counts: inout [UInt32: Int], _ uid: UInt32) {
    let remaining = counts[uid, default: 1] - 1
    counts[uid] = remaining > 0 ? remaining : nil
  }
}
