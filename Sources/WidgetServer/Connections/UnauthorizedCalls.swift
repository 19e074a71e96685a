import WidgetProto

/// Counts the open calls over gRPC of users who may only ask for health. A peer that does not take
/// an answer keeps the stream of its call open, and a stream takes more memory than an answer.
struct UnauthorizedCalls {
  /// The number of open calls.
  private(set) var count = 0
  private var countByUID: [UInt32: Int] = [:]

  /// Counts one more call. Returns the refusal if a limit forbids the call; then nothing is counted.
  mutating func begin(of uid: UInt32, _ limits: ServerLimits) -> RPCStatus? {
    guard countByUID[uid, default: 0] < limits.subscriptionsUnauthorizedPerUIDMax else {
      return .quotaExceeded(
        "subscriptions_unauthorized_per_uid_max", limits.subscriptionsUnauthorizedPerUIDMax)
    }
    guard count < limits.subscriptionsUnauthorizedMax else {
      return .quotaExceeded("subscriptions_unauthorized_max", limits.subscriptionsUnauthorizedMax)
    }
    count += 1
    countByUID[uid, default: 0] += 1
    return nil
  }

  mutating func end(of uid: UInt32) {
    count -= 1
    let rest = countByUID[uid, default: 0] - 1
    countByUID[uid] = rest > 0 ? rest : nil
  }
}
