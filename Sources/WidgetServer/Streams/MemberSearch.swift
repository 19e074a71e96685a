import NIOCore

/// The search for readers that lack something, over several turns.
///
/// It visits the groups that exist when it begins, and the members that a group has when it gets
/// there. Later readers get the same when their streams are opened.
struct MemberSearch {
  private var groups: ArraySlice<WatchGroup>
  private var members: ArraySlice<Subscription> = []
  /// Whether something has changed since the search began. The readers that it has visited may lack
  /// the change, so another search follows.
  var isOutdated = false

  init(_ groups: [WatchGroup]) { self.groups = groups[...] }

  mutating func next() -> Subscription? {
    while members.isEmpty {
      guard let group = groups.popFirst() else { return nil }
      members = group.members.all[...]
    }
    return members.popFirst()
  }
}

extension WatchRounds {
  /// Lets readers that lack something be served, as long as there is time. Returns the search for
  /// the next turn; nil if it has ended.
  func continueSearch(
    _ search: MemberSearch, for lacks: (Subscription) -> Bool
  ) -> MemberSearch? {
    var search = search
    let slice = context.work.slice(of: WatchRounds.searchMax)
    var visited = 0
    while let subscription = search.next() {
      if lacks(subscription) { markReady(subscription) }
      visited += 1
      if visited % WatchRounds.membersPerSearchLook == 0, slice.isOver { return search }
    }
    return search.isOutdated ? MemberSearch(roster.all) : nil
  }
}
