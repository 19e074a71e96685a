import NIOCore

/// A line of items for each user. Users get the same time, however many items they have.
///
/// Items are served in rounds. One user's items are served for `partMax`, and then those of the user
/// with the lowest cost so far; see `FairQueue`. A user alone gets the whole round.
///
/// Confined to the event loop. It is a class, because serving an item can add others.
final class UserLines<Item> {
  private final class Line {
    let uid: UInt32
    var items = CircularBuffer<Item>()
    /// The number of items that belong to the present round.
    var left = 0
    var account = FairQueue<UInt32>.Account()
    /// Whether the user is in `queue`.
    var isWaiting = false

    init(uid: UInt32) { self.uid = uid }
  }

  private var lines: [UInt32: Line] = [:]
  private var queue = FairQueue<UInt32>()
  /// The line that is served, and when that began.
  private var current: Line?
  private var partStart = NIODeadline.uptimeNanoseconds(0)
  /// The line of the last added item. Many items of a user come together.
  private var latest: Line?
  private(set) var count = 0

  /// The time for one user before the next.
  static var partMax: TimeAmount { .microseconds(500) }
  /// With more users than this, those without items are forgotten.
  private static var usersMax: Int { 64 }

  var isEmpty: Bool { count == 0 }
  /// The number of users whose cost is known.
  var userCount: Int { lines.count }

  /// Adds an item behind the others of its user.
  func add(_ item: Item, of uid: UInt32) {
    line(of: uid).items.append(item)
    count += 1
  }

  /// Returns an item that the round has given out: it is the first of its user in the next round.
  func putBack(_ item: Item, of uid: UInt32) {
    line(of: uid).items.prepend(item)
    count += 1
  }

  /// Whether an item fulfils a condition. O(items).
  func contains(where isSo: (Item) -> Bool) -> Bool {
    lines.values.contains { $0.items.contains(where: isSo) }
  }

  /// Removes all items, and forgets the users.
  func removeAll() -> [Item] {
    let items = lines.values.flatMap { Array($0.items) }
    lines = [:]
    queue = FairQueue()
    (current, latest) = (nil, nil)
    count = 0
    return items
  }

  private func line(of uid: UInt32) -> Line {
    if let latest, latest.uid == uid { return latest }
    let line = lines[uid] ?? Line(uid: uid)
    lines[uid] = line
    latest = line
    return line
  }

  // MARK: - A round

  /// Begins a round with all items. Items that are added later belong to the next round.
  func beginRound() {
    guard !isEmpty else { return }
    for line in lines.values where !line.items.isEmpty {
      line.left = line.items.count
      wait(line)
    }
  }

  /// The next item of the round; nil if there is none.
  func next(at now: NIODeadline) -> Item? {
    if let current {
      if current.left > 0, queue.isEmpty || now - partStart < Self.partMax { return take(current) }
      endPart(at: now)
    }
    guard let uid = queue.next(), let line = lines[uid] else { return nil }
    line.isWaiting = false
    current = line
    partStart = now
    return take(line)
  }

  /// Ends the round. Its other items are the first of the next round.
  func endRound(at now: NIODeadline) {
    endPart(at: now)
    guard lines.count > Self.usersMax else { return }
    latest = nil
    lines = lines.filter { !$0.value.items.isEmpty || queue.remembers($0.value.account) }
  }

  private func take(_ line: Line) -> Item? {
    line.left -= 1
    count -= 1
    return line.items.popFirst()
  }

  private func endPart(at now: NIODeadline) {
    guard let line = current else { return }
    current = nil
    queue.charge(UInt64(clamping: (now - partStart).nanoseconds), to: &line.account)
    if line.left > 0 { wait(line) }
  }

  private func wait(_ line: Line) {
    guard !line.isWaiting else { return }
    line.isWaiting = true
    queue.add(line.uid, &line.account)
  }
}
