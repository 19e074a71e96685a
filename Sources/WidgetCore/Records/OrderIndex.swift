import WidgetModel

/// All widgets in display order: sorted (position, slot) pairs.
///
/// Between commands positions are unique (the slot only tells widgets apart while several swap
/// places). Positions are sparse, so moving a widget changes only its position. If there is no free
/// position between two neighbours, the store spreads all positions again. Look-up is O(log n);
/// changes move O(n) small pairs, and `move` only those between.
struct OrderIndex {
  struct Entry: Equatable, Comparable {
    var position: Int64
    var slot: Int32

    static func < (a: Entry, b: Entry) -> Bool { (a.position, a.slot) < (b.position, b.slot) }
  }

  /// The distance that new neighbours get: room for 32 halvings.
  static let stride: Int64 = 1 << 32

  private(set) var entries: [Entry] = []

  /// The position for a widget behind all others; nil if there is no room.
  var lastPosition: Int64? {
    let (sum, overflow) = (entries.last?.position ?? 0)
      .addingReportingOverflow(OrderIndex.stride)
    return overflow ? nil : sum
  }

  /// The position for a widget in front of all others; nil if there is no room.
  var firstPosition: Int64? {
    let (difference, overflow) = (entries.first?.position ?? 0)
      .subtractingReportingOverflow(OrderIndex.stride)
    return overflow ? nil : difference
  }

  /// The position of a rank, counted from 0, when all positions are spread again.
  static func spreadPosition(ofRank rank: Int) -> Int64 { Int64(rank + 1) * stride }

  mutating func insert(_ slot: Int32, at position: Int64) {
    let entry = Entry(position: position, slot: slot)
    if let last = entries.last, entry < last {
      entries.insert(entry, at: index(of: entry))
    } else {
      entries.append(entry)
    }
  }

  mutating func remove(_ slot: Int32, at position: Int64) {
    let entry = Entry(position: position, slot: slot)
    let index = index(of: entry)
    guard index < entries.count, entries[index] == entry else { return }
    entries.remove(at: index)
  }

  /// The same as `remove` and `insert`, but only the entries between the two positions move. If all
  /// positions are spread again, most widgets pass only a few others. O(log n + entries between).
  mutating func move(_ slot: Int32, from old: Int64, to position: Int64) {
    let former = Entry(position: old, slot: slot)
    let entry = Entry(position: position, slot: slot)
    var place = index(of: former)
    guard place < entries.count, entries[place] == former else {
      return insert(slot, at: position)
    }
    let target = index(of: entry)
    while place + 1 < target {
      entries[place] = entries[place + 1]
      place += 1
    }
    while place > target {
      entries[place] = entries[place - 1]
      place -= 1
    }
    entries[place] = entry
  }

  /// A free position right before or after that of a widget; nil if there is no room.
  func position(beside position: Int64, before: Bool) -> Int64? {
    let index = index(of: position)
    let neighbour = before ? index - 1 : index + 1
    guard entries.indices.contains(neighbour) else { return before ? firstPosition : lastPosition }
    let other = entries[neighbour].position
    let (distance, overflow) = position.subtractingReportingOverflow(other)
    let middle = overflow ? other / 2 + position / 2 : other + distance / 2
    return middle == other || middle == position ? nil : middle
  }

  /// The first index whose position is not less. O(log n).
  func index(of position: Int64) -> Int { index(of: Entry(position: position, slot: .min)) }

  private func index(of entry: Entry) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle] < entry { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
