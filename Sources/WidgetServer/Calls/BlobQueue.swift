/// Decides which calls about blobs are carried out, and which wait: one call of each user, and few
/// calls of clients together. So the pieces that wait for a slow disk take little memory, and the calls
/// of one user keep their order. The others wait as received bytes of their connections.
///
/// A value: it knows no thread and no connection.
struct BlobQueue {
  /// The maximum number of calls of clients under way. Owners have a place beside them.
  static let clientCallsMax = 8

  private struct Waiting {
    let isOwner: Bool
    var order = RankedKeys<ObjectIdentifier, UInt64>()
    var resume: [ObjectIdentifier: () -> Void] = [:]
  }

  /// The number of calls under way of each user. More than one is possible only if a caller does not
  /// ask `holds`.
  private var counts: [UInt32: Int] = [:]
  private var clientCount = 0
  private var waiting: [UInt32: Waiting] = [:]
  private var lastRank: UInt64 = 0

  /// Whether calls are under way.
  var isBusy: Bool { !counts.isEmpty }

  /// Whether a call of a user has to wait.
  func holds(_ uid: UInt32, isOwner: Bool) -> Bool {
    counts[uid] != nil || (!isOwner && clientCount >= BlobQueue.clientCallsMax)
  }

  mutating func begin(_ uid: UInt32, isOwner: Bool) {
    counts[uid, default: 0] += 1
    if !isOwner { clientCount += 1 }
  }

  /// Ends a call. Returns the users whose calls may go on.
  mutating func end(_ uid: UInt32, isOwner: Bool) -> [UInt32] {
    let count = counts[uid, default: 1] - 1
    counts[uid] = count > 0 ? count : nil
    let wasFull = clientCount >= BlobQueue.clientCallsMax
    if !isOwner { clientCount -= 1 }
    if wasFull, !isOwner { return Array(waiting.keys) }
    return waiting[uid] == nil ? [] : [uid]
  }

  /// Lets a connection or a call wait. It keeps its place if it waits already.
  mutating func wait(
    _ owner: AnyObject, of uid: UInt32, isOwner: Bool, _ resume: @escaping () -> Void
  ) {
    let id = ObjectIdentifier(owner)
    var user = waiting.removeValue(forKey: uid) ?? Waiting(isOwner: isOwner)
    if user.resume.updateValue(resume, forKey: id) == nil {
      lastRank += 1
      user.order.set(id, to: lastRank)
    }
    waiting[uid] = user
  }

  mutating func forget(_ owner: AnyObject, of uid: UInt32) {
    remove(ObjectIdentifier(owner), of: uid)
  }

  /// Removes the one of the user's that has waited longest, unless calls of the user have to wait.
  mutating func next(of uid: UInt32) -> (() -> Void)? {
    guard let user = waiting[uid], !holds(uid, isOwner: user.isOwner), let first = user.order.first
    else { return nil }
    remove(first.key, of: uid)
    return user.resume[first.key]
  }

  /// Removes all that wait.
  mutating func removeAll() -> [() -> Void] {
    let all = waiting.values.flatMap { Array($0.resume.values) }
    waiting.removeAll()
    return all
  }

  private mutating func remove(_ id: ObjectIdentifier, of uid: UInt32) {
    waiting[uid]?.order.remove(id)
    waiting[uid]?.resume[id] = nil
    if waiting[uid]?.resume.isEmpty == true { waiting[uid] = nil }
  }
}
