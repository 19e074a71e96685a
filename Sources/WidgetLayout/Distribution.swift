/// The length that an element wants, and how far it shrinks, in three steps.
struct Extent: Hashable {
  /// The length of the whole content.
  var ideal: Int
  /// The width to which it shrinks first: text can be wrapped or cut.
  var firm: Int
  /// The width to which it shrinks only for elements of the same importance: controls.
  var least: Int

  static let zero = Extent(ideal: 0, firm: 0, least: 0)

  init(ideal: Int, firm: Int, least: Int) {
    self.ideal = ideal
    self.firm = min(firm, ideal)
    self.least = min(least, self.firm)
  }

  init(fixed: Int) { self.init(ideal: fixed, firm: fixed, least: fixed) }

  static func + (a: Extent, b: Extent) -> Extent {
    Extent(ideal: a.ideal + b.ideal, firm: a.firm + b.firm, least: a.least + b.least)
  }

  static func + (a: Extent, room: Int) -> Extent { a + Extent(fixed: room) }

  /// The larger one of both, for each of the three lengths.
  mutating func formMax(_ other: Extent) {
    ideal = max(ideal, other.ideal)
    firm = max(firm, other.firm)
    least = max(least, other.least)
  }

  /// Sets the length. Text in it still gives way before controls are cut.
  mutating func fix(at length: Int) {
    self = Extent(ideal: length, firm: length, least: least)
  }

  func clamped(least low: Int, most high: Int?) -> Extent {
    let clamp = { (value: Int) in min(max(value, low), high ?? .max) }
    return Extent(ideal: clamp(ideal), firm: clamp(firm), least: clamp(least))
  }
}

/// Shares room among neighbours.
enum Distribution {
  /// Divides a length among elements with gaps between them.
  ///
  /// The sum never exceeds the length. If the length is too small, the largest elements shrink
  /// first, so that small ones stay whole. They shrink to `firm`, then to `least`. After that the
  /// gaps go, and then all elements shrink further.
  ///
  /// - Returns: The lengths, and the remaining gap.
  static func shrink(_ extents: [Extent], to length: Int, gap: Int) -> (lengths: [Int], gap: Int) {
    guard !extents.isEmpty else { return ([], gap) }
    let gaps = extents.count - 1
    let (ideal, firm, least) = extents.reduce(into: (0, 0, 0)) {
      $0.0 += $1.ideal
      $0.1 += $1.firm
      $0.2 += $1.least
    }
    let room = length - gaps * gap
    if ideal <= room { return (extents.map(\.ideal), gap) }
    if firm <= room {
      return (level(extents.map(\.ideal), floors: extents.map(\.firm), to: room), gap)
    }
    if least <= room {
      return (level(extents.map(\.firm), floors: extents.map(\.least), to: room), gap)
    }
    let smaller = gaps > 0 ? max(0, min(gap, (length - least) / gaps)) : gap
    let rest = max(0, length - gaps * smaller)
    if least <= rest {
      // The room without the gaps.
      return (level(extents.map(\.firm), floors: extents.map(\.least), to: rest), smaller)
    }
    return (level(extents.map(\.least), floors: extents.map { _ in 0 }, to: rest), smaller)
  }

  /// The lengths, with the largest ones cut to one level, so that their sum is exactly `room`.
  ///
  /// - Precondition: the floors take no more, and the lengths no less than that.
  static func level(_ lengths: [Int], floors: [Int], to room: Int) -> [Int] {
    var low = 0
    var high = lengths.max() ?? 0
    // A binary search for the highest level with which the lengths fit.
    while low < high {
      let middle = (low + high + 1) / 2
      var taken = 0
      for index in lengths.indices { taken += max(min(lengths[index], middle), floors[index]) }
      if taken <= room { low = middle } else { high = middle - 1 }
    }
    var result = lengths
    for index in result.indices { result[index] = max(min(lengths[index], low), floors[index]) }
    var rest = room - result.reduce(0, +)
    for index in result.indices where rest > 0 && result[index] < lengths[index] {
      result[index] += 1
      rest -= 1
    }
    return result
  }

  /// Adds room to lengths in proportion to their shares, none beyond its most.
  static func grow(_ lengths: inout [Int], by spare: Int, shares: [Double], most: [Int?]) {
    var spare = spare
    var open = lengths.indices.filter { shares[$0] > 0 }
    while spare > 0, !open.isEmpty {
      let total = open.reduce(0) { $0 + shares[$1] }
      var given = 0
      var before = 0.0
      var full: Set<Int> = []
      // The sums are rounded, and not the shares, so that all room is used.
      for index in open {
        let start = (before / total * Double(spare)).nearest
        before += shares[index]
        let end = (min(before / total, 1) * Double(spare)).nearest
        let limit = most[index].map { max(0, $0 - lengths[index]) } ?? .max
        if end - start >= limit { full.insert(index) }
        let more = min(end - start, limit)
        lengths[index] += more
        given += more
      }
      spare -= given
      open.removeAll { full.contains($0) }
      if given == 0, full.isEmpty { break }
    }
  }

  /// Lengths that use all of the room, as equal as their floors allow.
  static func equal(_ extents: [Extent], to room: Int) -> [Int]? {
    let floors = extents.map(\.firm)
    guard floors.reduce(0, +) <= room else { return nil }
    return level(extents.map { _ in max(room, 0) }, floors: floors, to: room)
  }
}
