import WidgetProto

/// Numbers the open streams, and counts them for each user.
struct StreamAccounts {
  /// The id of the stream that was opened last. Streams and sessions share the numbers.
  private(set) var lastID: UInt64 = 0
  private var countByUID: [UInt32: Int] = [:]

  /// The highest number of streams of one user.
  var highestCount: Int { countByUID.values.max() ?? 0 }
  /// The number of streams of all users.
  var count: Int { countByUID.values.reduce(0, +) }

  mutating func takeID() -> UInt64 {
    lastID += 1
    return lastID
  }

  /// Continues the numbers of a former process.
  mutating func continueIDs(after id: UInt64) { lastID = max(lastID, id) }

  /// Counts one more stream, if its user may have one more.
  mutating func open(for uid: UInt32, limit: Int) throws(RPCStatus) {
    guard countByUID[uid, default: 0] < limit else {
      throw .quotaExceeded("subscriptions_per_uid_max", limit)
    }
    countByUID[uid, default: 0] += 1
  }

  mutating func close(of uid: UInt32) {
    let remaining = countByUID[uid, default: 1] - 1
    countByUID[uid] = remaining > 0 ? remaining : nil
  }
}
