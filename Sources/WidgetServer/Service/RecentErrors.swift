import WidgetModel
import WidgetProto

/// The last errors that an administrator should see, for `GetStats`: errors of the daemon or its
/// surroundings, and exhausted quotas.
///
/// An error tends to repeat for every caller. So the same reason in the same area is one entry,
/// which counts and keeps the last message. So one frequent error cannot push out all others. At
/// most `countMax` entries are kept, in order of their last occurrence. They are only in memory and
/// begin again with the process; the journal keeps them longer.
struct RecentErrors {
  static let countMax = 16
  static let messageBytesMax = 1_024

  private(set) var entries: [RecentError] = []

  /// - Parameters:
  ///   - area: "storage", "connections", "settings", or a method's full name.
  ///   - uid: the user of the call or connection; nil if there is none, or several.
  /// - Returns: the number of occurrences, as far as remembered.
  @discardableResult
  mutating func add(
    _ code: StatusCode, _ reason: String, area: String, uid: UInt32? = nil, _ message: String,
    at time: Timestamp
  ) -> UInt64 {
    var entry = RecentError(
      time: time, code: code, reason: reason, area: area,
      message: message.wireSafe(bytesMax: RecentErrors.messageBytesMax), count: 1, peerUID: uid)
    if let index = entries.firstIndex(where: { $0.reason == reason && $0.area == area }) {
      entry.count += entries.remove(at: index).count
    } else if entries.count == RecentErrors.countMax {
      entries.removeFirst()
    }
    entries.append(entry)
    return entry.count
  }

  @discardableResult
  mutating func add(
    _ status: RPCStatus, area: String, uid: UInt32? = nil, at time: Timestamp
  ) -> UInt64 {
    add(
      status.code, status.errorInfo?.reason ?? status.code.name, area: area, uid: uid,
      status.message, at: time)
  }

  /// Whether an error like this is about the daemon, and not only about the call.
  static func isWorthKeeping(_ status: RPCStatus) -> Bool {
    switch status.code {
    case .internalError, .dataLoss, .unknown: true
    case .resourceExhausted: status.errorInfo?.reason == "QUOTA_EXCEEDED"
    // A storage error is kept once for each group, not for each call in the group.
    case .unavailable, .ok, .cancelled, .invalidArgument, .deadlineExceeded, .notFound,
      .alreadyExists, .permissionDenied, .failedPrecondition, .aborted, .outOfRange,
      .unimplemented, .unauthenticated:
      false
    }
  }
}

extension String {
  /// The text as a field can carry it: without NUL, and cut between scalars to a length.
  fileprivate func wireSafe(bytesMax: Int) -> String {
    var text = utf8.contains(0) ? String(filter { $0 != "\0" }) : self
    while text.utf8.count > bytesMax {
      // A scalar is at most four bytes, so this never drops too many.
      text.unicodeScalars.removeLast(max(1, (text.utf8.count - bytesMax) / 4))
    }
    return text
  }
}
