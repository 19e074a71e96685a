import NIOCore

/// Decides which refused connections are logged: at most one a second for each user.
///
/// A user who connects again and again would otherwise fill the journal, and the journal would drop
/// other messages.
struct RefusalLog {
  static let period = TimeAmount.seconds(1)
  /// With more users than this, those whose second is over are forgotten.
  static let usersMax = 64

  private struct User {
    var loggedAt: NIODeadline
    var unlogged = 0
  }

  private var users: [UInt32: User] = [:]

  /// Notes a refusal. Returns nil if it is not to be logged, else the number of refusals of this
  /// user that were not logged before it.
  mutating func note(uid: UInt32, at now: NIODeadline) -> Int? {
    if let user = users[uid], now < user.loggedAt + RefusalLog.period {
      users[uid]?.unlogged += 1
      return nil
    }
    let unlogged = users[uid]?.unlogged ?? 0
    if users.count >= RefusalLog.usersMax {
      users = users.filter { now < $0.value.loggedAt + RefusalLog.period }
    }
    users[uid] = User(loggedAt: now)
    return unlogged
  }
}
