import WidgetProto

/// Numbers the open streams, and counts them and the memory of their selectors for each user and for
/// all users. A stream that waits to be opened counts, too; see `StreamReservation`. So does a stream
/// that waits to be taken over; see `UntakenStreams`.
///
/// A part of the limits for all users is reserved for owners, so that other users cannot lock them
/// out.
struct StreamAccounts {
  /// The id of the stream that was opened last. Streams and sessions share the numbers.
  private(set) var lastID: UInt64 = 0
  private var counts = UserTotals()
  private var selectors = UserTotals()
  /// The streams of users who may only ask for health.
  private var unauthorized = UserTotals()
  /// The bytes of the waiting requests of these users. Their open streams have no filters.
  private var unauthorizedBytes = 0

  /// The most streams that are reserved for owners: as many as one connection may have by default.
  private static let reservedMax = 1_024

  /// The streams of `subscriptions_max` that are reserved for owners: 1,024, or an eighth if that is
  /// less.
  static func reserved(of subscriptionsMax: Int) -> Int { min(reservedMax, subscriptionsMax / 8) }

  /// The bytes of `selector_memory_bytes_total_max` that are reserved for owners.
  static func reservedBytes(of bytesMax: Int) -> Int { bytesMax / 8 }

  /// The highest number of streams of one user.
  var highestCount: Int { counts.highest }
  /// The highest memory of the selectors of one user's streams, in bytes.
  var highestSelectorBytes: Int { selectors.highest }
  /// The number of streams of all users.
  var count: Int { counts.sum }
  /// The memory of the selectors of all users' streams, in bytes.
  var selectorBytes: Int { selectors.sum }
  /// The number of streams of users who may only ask for health.
  var unauthorizedCount: Int { unauthorized.sum }

  /// The number of one user's streams.
  func count(of uid: UInt32) -> Int { counts[uid] }

  mutating func takeID() -> UInt64 {
    lastID += 1
    return lastID
  }

  /// Continues the numbers of a former process.
  mutating func continueIDs(after id: UInt64) { lastID = max(lastID, id) }

  /// Refuses a stream that exceeds a limit.
  ///
  /// - Parameter selectorBytes: The memory of its filter: the compiled expression and the other terms.
  ///   For a stream that waits to be opened, the memory of its request.
  func check(
    for uid: UInt32, _ level: AccessPolicy.Level, selectorBytes: Int, _ limits: ServerLimits
  ) throws(RPCStatus) {
    guard counts[uid] < limits.subscriptionsPerUIDMax else {
      throw .quotaExceeded("subscriptions_per_uid_max", limits.subscriptionsPerUIDMax)
    }
    let (streamsMax, bytesMax) = (limits.subscriptionsMax, limits.selectorMemoryBytesTotalMax)
    let isOwner = level == .owner
    guard counts.sum < streamsMax - (isOwner ? 0 : StreamAccounts.reserved(of: streamsMax)) else {
      throw .quotaExceeded("subscriptions_max", streamsMax)
    }
    if selectorBytes > 0 {
      guard selectors[uid] + selectorBytes <= limits.selectorMemoryBytesPerUIDMax else {
        throw .quotaExceeded(
          "selector_memory_bytes_per_uid_max", limits.selectorMemoryBytesPerUIDMax)
      }
      let reserved = isOwner ? 0 : StreamAccounts.reservedBytes(of: bytesMax)
      guard selectors.sum + selectorBytes <= bytesMax - reserved else {
        throw .quotaExceeded("selector_memory_bytes_total_max", bytesMax)
      }
    }
    if level == .nothing { try checkUnauthorized(for: uid, bytes: selectorBytes, limits) }
  }

  private func checkUnauthorized(
    for uid: UInt32, bytes: Int, _ limits: ServerLimits
  ) throws(RPCStatus) {
    guard unauthorized[uid] < limits.subscriptionsUnauthorizedPerUIDMax else {
      throw .quotaExceeded(
        "subscriptions_unauthorized_per_uid_max", limits.subscriptionsUnauthorizedPerUIDMax)
    }
    guard unauthorized.sum < limits.subscriptionsUnauthorizedMax else {
      throw .quotaExceeded("subscriptions_unauthorized_max", limits.subscriptionsUnauthorizedMax)
    }
    guard bytes == 0 || unauthorizedBytes + bytes <= limits.incompleteBytesUnauthorizedMax else {
      throw .quotaExceeded(
        "incomplete_bytes_unauthorized_max", limits.incompleteBytesUnauthorizedMax)
    }
  }

  /// Counts one more stream, if its user may have one more; see `check`.
  mutating func open(
    for uid: UInt32, _ level: AccessPolicy.Level, selectorBytes: Int, _ limits: ServerLimits
  ) throws(RPCStatus) {
    try check(for: uid, level, selectorBytes: selectorBytes, limits)
    add(for: uid, level, selectorBytes: selectorBytes)
  }

  /// Counts one more stream, whatever the limits are: a former process opened it.
  mutating func add(for uid: UInt32, _ level: AccessPolicy.Level, selectorBytes: Int) {
    counts.add(1, of: uid)
    selectors.add(selectorBytes, of: uid)
    guard level == .nothing else { return }
    unauthorized.add(1, of: uid)
    unauthorizedBytes += selectorBytes
  }

  mutating func close(of uid: UInt32, _ level: AccessPolicy.Level, selectorBytes: Int) {
    if level == .nothing {
      unauthorized.subtract(1, of: uid)
      unauthorizedBytes -= selectorBytes
    }
    counts.subtract(1, of: uid)
    selectors.subtract(selectorBytes, of: uid)
  }
}

/// A number for each user, and their sum.
private struct UserTotals {
  private(set) var sum = 0
  private var byUID: [UInt32: Int] = [:]

  var highest: Int { byUID.values.max() ?? 0 }

  subscript(uid: UInt32) -> Int { byUID[uid, default: 0] }

  mutating func add(_ amount: Int, of uid: UInt32) {
    guard amount > 0 else { return }
    byUID[uid, default: 0] += amount
    sum += amount
  }

  /// The number of a user does not get below 0.
  mutating func subtract(_ amount: Int, of uid: UInt32) {
    let former = self[uid]
    let rest = max(0, former - amount)
    byUID[uid] = rest > 0 ? rest : nil
    sum -= former - rest
  }
}
