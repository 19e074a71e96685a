import HeapModule

/// A queue that shares time among its members by their cost so far: fair queuing.
///
/// The queue's clock counts cost. A piece of work starts at the cost of its member so far, and
/// finishes at its start and its expected cost. The piece that finishes first is first. So a small
/// piece does not wait for the large pieces of other members, however many these are: it waits only
/// if its member has used its share. The order of starts would not do that. If many members start
/// at the same cost, a member with a slightly higher cost would wait for all of them.
///
/// A member that was away begins at the queue's clock: it keeps no credit. A member that was alone
/// has no debt.
///
/// Sources: Demers, Keshav, Shenker, "Analysis and Simulation of a Fair Queueing Algorithm", 1989,
/// for the order. Goyal, Vin, Cheng, "Start-time Fair Queuing", 1996, for the clock.
struct FairQueue<Member> {
  /// The cost of a member so far, on the queue's clock.
  struct Account {
    fileprivate var used: UInt64 = 0
    /// The start of the piece that waits, or that is done after it has waited.
    fileprivate var start: UInt64?
    /// The queue's `departures` when the cost was counted.
    fileprivate var countedAt: UInt64?
    /// The expected cost of the member's next piece. A higher cost counts at once, and a lower cost
    /// gradually: a member does not get ahead of others with a small piece before each large one.
    fileprivate(set) var expected: UInt64

    /// - Parameter expected: the expected cost of the first piece.
    init(expected: UInt64 = 0) { self.expected = expected }

    /// Whether a small cost has to be counted too.
    func counts(above small: UInt64) -> Bool { start != nil || expected > small }
  }

  private struct Entry: Comparable {
    let finish: UInt64
    let arrival: UInt64
    let start: UInt64
    let member: Member

    static func < (a: Entry, b: Entry) -> Bool {
      (a.finish, a.arrival) < (b.finish, b.arrival)
    }
    static func == (a: Entry, b: Entry) -> Bool { a.arrival == b.arrival }
  }

  private var entries = Heap<Entry>()
  private var clock: UInt64 = 0
  private var arrivals: UInt64 = 0
  /// How often the queue has moved on: with each piece that it gives out, and with work that did not
  /// wait.
  private var departures: UInt64 = 0

  /// While others wait, the clock advances at least by this fraction of what their shares do.
  /// Otherwise newcomers that leave after one piece would all begin at the same clock, before a
  /// member with larger pieces.
  private static var drift: UInt64 { 8 }

  var isEmpty: Bool { entries.isEmpty }
  /// The number of waiting members.
  var count: Int { entries.count }

  /// Adds a member that does not wait yet. A member that returns at once keeps its place.
  mutating func add(_ member: Member, _ account: inout Account) {
    arrivals += 1
    let returns = account.countedAt == departures
    let start = returns ? account.used : max(clock, account.used)
    account.start = start
    entries.insert(
      Entry(
        finish: start &+ account.expected, arrival: arrivals, start: start, member: member))
  }

  /// The member that is next.
  var first: Member? { entries.min?.member }

  /// Removes the member that is next.
  mutating func next() -> Member? {
    guard let entry = entries.popMin() else { return nil }
    departures += 1
    clock = max(clock, entry.start)
    return entry.member
  }

  /// Adds the cost of a member's work. The caller chooses the unit.
  ///
  /// While no other member waits, the clock advances with the member. So work that delayed nobody
  /// is no debt later.
  ///
  /// - Parameter isPiece: Whether the work is the piece that `next` has given out, or one like it
  ///   that did not wait. Other work leaves the member waiting.
  mutating func charge(_ cost: UInt64, to account: inout Account, isPiece: Bool = true) {
    // The clock advances with this work, so members that were counted before it were away.
    if entries.isEmpty { departures += 1 }
    account.used = (account.start ?? max(clock, account.used)) &+ cost
    if isPiece {
      account.start = nil
      account.countedAt = departures
      account.expected = max(cost, account.expected / 2 &+ cost / 2)
    } else if account.start != nil {
      account.start = account.used
    }
    if entries.isEmpty {
      clock = max(clock, account.used)
    } else {
      clock &+= cost / (Self.drift * UInt64(entries.count + 1))
    }
  }

  /// Whether a member would still wait longer than a new one.
  func remembers(_ account: Account) -> Bool { account.used > clock }
}
