extension String {
  /// The candidate that was probably meant; nil if none is near. The first one, if several are as
  /// near. Upper and lower case do not count. O(candidates · lengths).
  public func closest(among candidates: some Sequence<String>) -> String? {
    let bytes = Array(utf8.prefix(65))
    guard (1...64).contains(bytes.count) else { return nil }
    // The limit is one change in short words, and a third of the letters in long words.
    var best: (distance: Int, candidate: String)?
    for candidate in candidates {
      let other = Array(candidate.utf8.prefix(65))
      let allowed = Swift.max(1, Swift.min(bytes.count, other.count) / 3)
      guard other.count <= 64, abs(other.count - bytes.count) <= allowed else { continue }
      let distance = String.distance(bytes, other)
      guard distance <= allowed, distance < best?.distance ?? .max else { continue }
      best = (distance, candidate)
    }
    return best?.candidate
  }

  /// The number of bytes to insert, remove, change, or swap with their neighbour. O(lengths).
  private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    func lower(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }
    // Three rows of the table: the present one, and the two before it.
    var before = [Int](repeating: 0, count: b.count + 1)
    var previous = Array(0...b.count)
    var current = before
    for i in a.indices {
      current[0] = i + 1
      for j in b.indices {
        var cost = Swift.min(
          previous[j] + (lower(a[i]) == lower(b[j]) ? 0 : 1), previous[j + 1] + 1, current[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          cost = Swift.min(cost, before[j - 1] + 1)
        }
        current[j + 1] = cost
      }
      swap(&before, &previous)
      swap(&previous, &current)
    }
    return previous[b.count]
  }
}
