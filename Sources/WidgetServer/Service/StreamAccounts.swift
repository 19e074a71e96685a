import WidgetProto

/// Numbers the open streams, and counts them and the memory of their selectors for each user. A
/// stream that waits to be opened counts, too; see `StreamReservation`. So does a stream that waits
/// to be taken over; see `UntakenStreams`.
struct StreamAccounts {
  /// The id of the stream that was opened last. Streams and sessions share the numbers.
  private(set) var lastID: UInt64 = 0
  private var countByUID: [UInt32: Int] = [:]
  private var selectorBytesByUID: [UInt32: Int] = [:]
  /// The streams of users who may only ask for health.
  private(set) var unauthorizedCount = 0
  private var unauthorizedCountByUID: [UInt32: Int] = [:]
  /// The bytes of the waiting requests of these users. Their open streams have no filters.
  private var unauthorizedBytes = 0

  /// The highest number of streams of one user.
  var highestCount: Int { countByUID.values.max() ?? 0 }
  /// The highest memory of the selectors of one user's streams, in bytes.
  var highestSelectorBytes: Int { selectorBytesByUID.values.max() ?? 0 }
  /// The number of streams of all users.
  var count: Int { countByUID.values.reduce(0, +) }

  /// The number of one user's streams.
  func count(of uid: UInt32) -> Int { countByUID[uid, default: 0] }

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
    guard countByUID[uid, default: 0] < limits.subscriptionsPerUIDMax else {
      throw .quotaExceeded("subscriptions_per_uid_max", limits.subscriptionsPerUIDMax)
    }
    let bytes = selectorBytesByUID[uid, default: 0] + selectorBytes
    guard selectorBytes == 0 || bytes <= limits.selectorMemoryBytesPerUIDMax else {
      throw .quotaExceeded(
        "selector_memory_bytes_per_uid_max", limits.selectorMemoryBytesPerUIDMax)
    }
    if level == .nothing { try checkUnauthorized(for: uid, bytes: selectorBytes, limits) }
  }

  private func checkUnauthorized(
    for uid: UInt32, bytes: Int, _ limits: ServerLimits
  ) throws(RPCStatus) {
    guard unauthorizedCountByUID[uid, default: 0] < limits.subscriptionsUnauthorizedPerUIDMax
    else {
      throw .quotaExceeded(
        "subscriptions_unauthorized_per_uid_max", limits.subscriptionsUnauthorizedPerUIDMax)
    }
    guard unauthorizedCount < limits.subscriptionsUnauthorizedMax else {
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
    countByUID[uid, default: 0] += 1
    if selectorBytes > 0 { selectorBytesByUID[uid, default: 0] += selectorBytes }
    guard level == .nothing else { return }
    unauthorizedCount += 1
    unauthorizedCountByUID[uid, default: 0] += 1
    unauthorizedBytes += selectorBytes
  }

  mutating func close(of uid: UInt32, _ level: AccessPolicy.Level, selectorBytes: Int) {
    if level == .nothing {
      unauthorizedCount -= 1
      unauthorizedBytes -= selectorBytes
      StreamAccounts.subtract(1, from: &unauthorizedCountByUID[uid])
    }
    StreamAccounts.subtract(1, from: &countByUID[uid])
    StreamAccounts.subtract(selectorBytes, from: &selectorBytesByUID[uid])
  }

  private static func subtract(_ amount: Int, from total: inout Int?) {
    let rest = (total ?? amount) - amount
    total = rest > 0 ? rest : nil
  }
}
