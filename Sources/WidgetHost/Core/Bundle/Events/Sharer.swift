import WidgetModel

/// Whose share of the bundle's limits some work counts for.
enum Sharer: Hashable, Sendable {
  /// The bundle itself: sources, and triggers that fire because of the time.
  case bundle
  /// The user who sent the event, or the first one of the events that led to it.
  case user(UInt32)
  /// The host, for its events that no known user has caused.
  case host

  /// Finds the one who gives a place to a newcomer: the last one of the sharer with the most places.
  ///
  /// - Parameter sharers: the sharers of the taken places, the oldest first.
  /// - Returns: an index in `sharers`; nil if the newcomer would then have more than that sharer.
  static func loser(among sharers: [Sharer], for newcomer: Sharer) -> Int? {
    var counts: [Sharer: Int] = [:]
    for sharer in sharers { counts[sharer, default: 0] += 1 }
    guard let most = most(counts, for: newcomer) else { return nil }
    return sharers.lastIndex { counts[$0] == most }
  }

  /// The number of places of the sharers who give one to a newcomer; nil if nobody does.
  static func most(_ counts: [Sharer: Int], for newcomer: Sharer) -> Int? {
    counts.values.max().flatMap { counts[newcomer, default: 0] + 1 < $0 ? $0 : nil }
  }
}

extension BundleInstance {
  /// Whose share the work for an event counts for.
  ///
  /// Any client can claim the name of the host. So the event of another user counts for this user,
  /// who would have two shares otherwise.
  func sharer(of event: Event?) -> Sharer {
    guard let event else { return .bundle }
    if let uid = user(behind: event) { return .user(uid) }
    return event.origin.uid == hostUID ? .host : .user(event.origin.uid)
  }
}
