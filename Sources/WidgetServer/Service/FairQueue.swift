import HeapModule

/// A queue that shares time among its members by their cost so far: start-time fair queuing.
///
/// The queue's clock counts cost. A member with a high cost returns behind members with a lower
/// cost. A member that was away begins at the queue's clock: it keeps no credit. A member that was
/// alone has no debt. Among equals, the member whose last piece of work cost least is first.
///
/// Source: Goyal, Vin, Cheng, "Start-time Fair Queuing", 1996.
struct FairQueue<Member> {
  /// The cost of a member so far, on the queue's clock.
  struct Account {
    fileprivate var used: UInt64 = 0
    /// The cost of the member's last piece of work.
    fileprivate(set) var last: UInt64 = 0
  }

  private struct Entry: Comparable {
    let start: UInt64
    let last: UInt64
    let arrival: UInt64
    let member: Member

    static func < (a: Entry, b: Entry) -> Bool {
      (a.start, a.last, a.arrival) < (b.start, b.last, b.arrival)
    }
    static func == (a: Entry, b: Entry) -> Bool { a.arrival == b.arrival }
  }

  private var entries = Heap<Entry>()
  private var clock: UInt64 = 0
  private var arrivals: UInt64 = 0

  var isEmpty: Bool { entries.isEmpty }
  /// The number of waiting members.
  var count: Int { entries.count }

  /// Adds a member that does not wait yet.
  mutating func add(_ member: Member, _ account: Account) {
    arrivals += 1
    entries.insert(
      Entry(
        start: max(clock, account.used), last: account.last, arrival: arrivals, member: member))
  }

  /// The member with the lowest cost.
  var first: Member? { entries.min?.member }

  /// Removes the member with the lowest cost.
  mutating func next() -> Member? {
    guard let entry = entries.popMin() else { return nil }
    clock = entry.start
    return entry.member
  }

  /// Adds the cost of a member's work. The caller chooses the unit.
  ///
  /// While no other member waits, the clock advances with the member. So work that delayed nobody
  /// is no debt later.
  mutating func charge(_ cost: UInt64, to account: inout Account) {
    account.used = max(clock, account.used) &+ cost
    account.last = cost
    if entries.isEmpty { clock = account.used }
  }

  /// Whether a member would still wait longer than a new one.
  func remembers(_ account: Account) -> Bool { account.used > clock }
}
