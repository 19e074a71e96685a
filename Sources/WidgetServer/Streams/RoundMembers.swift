/// A member of a `RoundMembers`, which sets its place.
protocol RoundMember: AnyObject {
  /// The index in the list.
  var place: Int { get set }
}

/// A list without an order. Its members are *current* or not, and a round visits only the current
/// ones.
///
/// The list can change during a round: members come and go, and become current or not. The round
/// visits no member twice, and misses no member that stays current. Each change takes the same time
/// in a list of any size, so a round costs nothing for members that are not current.
///
/// Invariant: first come the current members that the round has not visited, then the other current
/// members, then the rest. Each member is at its place.
struct RoundMembers<Member: RoundMember> {
  private(set) var all: [Member] = []
  private(set) var currentCount = 0
  private var unvisitedCount = 0

  var isEmpty: Bool { all.isEmpty }
  var hasCurrent: Bool { currentCount > 0 }
  /// The members that are not current.
  var others: ArraySlice<Member> { all[currentCount...] }

  // MARK: - Members

  /// Adds a member, which is not current.
  mutating func add(_ member: Member) {
    member.place = all.count
    all.append(member)
  }

  mutating func remove(_ member: Member) {
    guard contains(member) else { return }
    endCurrent(member)
    exchange(member.place, all.count - 1)
    all.removeLast()
  }

  /// The round under way does not visit the member.
  mutating func makeCurrent(_ member: Member) {
    guard contains(member), member.place >= currentCount else { return }
    exchange(member.place, currentCount)
    currentCount += 1
  }

  mutating func endCurrent(_ member: Member) {
    guard contains(member), member.place < currentCount else { return }
    if member.place < unvisitedCount {
      unvisitedCount -= 1
      exchange(member.place, unvisitedCount)
    }
    currentCount -= 1
    exchange(member.place, currentCount)
  }

  private func contains(_ member: Member) -> Bool {
    all.indices.contains(member.place) && all[member.place] === member
  }

  private mutating func exchange(_ a: Int, _ b: Int) {
    guard a != b else { return }
    all.swapAt(a, b)
    all[a].place = a
    all[b].place = b
  }

  // MARK: - A round

  /// Begins a round with all current members.
  mutating func beginRound() { unvisitedCount = currentCount }

  /// The next member of the round; nil if there is none.
  mutating func next() -> Member? {
    guard unvisitedCount > 0 else { return nil }
    unvisitedCount -= 1
    return all[unvisitedCount]
  }
}
