/// A rank for each key, and the key with the lowest rank. A change takes O(log of all), and the
/// lowest rank O(1).
///
/// A binary heap that knows the place of each key. So it keeps no former ranks, and no change ever
/// takes longer to remove them. Use it if one change must be short, and not only the average.
///
/// Invariants: no entry has a lower rank than its parent; `places` has the index of each entry.
struct RankedKeys<Key: Hashable, Rank: Comparable> {
  private struct Entry {
    let key: Key
    var rank: Rank
  }

  private var entries: [Entry] = []
  private var places: [Key: Int] = [:]

  var count: Int { entries.count }

  /// The key with the lowest rank; nil if there are no keys.
  var first: (key: Key, rank: Rank)? { entries.first.map { (key: $0.key, rank: $0.rank) } }

  mutating func set(_ key: Key, to rank: Rank) {
    guard let place = places[key] else {
      entries.append(Entry(key: key, rank: rank))
      places[key] = entries.count - 1
      _ = rise(from: entries.count - 1)
      return
    }
    entries[place].rank = rank
    settle(place)
  }

  mutating func remove(_ key: Key) {
    guard let place = places.removeValue(forKey: key) else { return }
    let last = entries.removeLast()
    guard place < entries.count else { return }
    entries[place] = last
    places[last.key] = place
    settle(place)
  }

  // MARK: - The heap

  private mutating func settle(_ place: Int) { sink(from: rise(from: place)) }

  /// Moves an entry before parents of a higher rank. Returns its place.
  private mutating func rise(from start: Int) -> Int {
    var place = start
    while place > 0 {
      let parent = (place - 1) / 2
      guard entries[place].rank < entries[parent].rank else { break }
      exchange(place, parent)
      place = parent
    }
    return place
  }

  /// Moves an entry behind children of a lower rank.
  private mutating func sink(from start: Int) {
    var place = start
    while 2 * place + 1 < entries.count {
      var child = 2 * place + 1
      if child + 1 < entries.count, entries[child + 1].rank < entries[child].rank { child += 1 }
      guard entries[child].rank < entries[place].rank else { return }
      exchange(place, child)
      place = child
    }
  }

  private mutating func exchange(_ a: Int, _ b: Int) {
    entries.swapAt(a, b)
    places[entries[a].key] = a
    places[entries[b].key] = b
  }
}
