import WidgetModel

/// Ids with reference counts.
///
/// The watches of one user can have half a million ids. So the ids are in parts. A dictionary copies
/// all of its entries when it grows, and gives no room back when they are removed. A part is small
/// enough to grow in one step, and to be replaced when most of its ids have gone.
struct CountedIDs {
  private var parts = Array(repeating: [WidgetID: Int](), count: CountedIDs.partCount)

  private static let partCount = 256
  /// A part with this room is not replaced until it is empty.
  private static let capacityMin = 16

  /// The number of ids for which there is room.
  var capacity: Int { parts.reduce(0) { $0 + $1.capacity } }
  /// The number of ids in the largest part.
  var largestPart: Int { parts.reduce(0) { max($0, $1.count) } }

  func contains(_ id: WidgetID) -> Bool { parts[CountedIDs.part(of: id)][id] != nil }

  mutating func add(_ id: WidgetID) { parts[CountedIDs.part(of: id)][id, default: 0] += 1 }

  mutating func remove(_ id: WidgetID) {
    let part = CountedIDs.part(of: id)
    guard let count = parts[part][id] else { return }
    parts[part][id] = count > 1 ? count - 1 : nil
    CountedIDs.giveBack(&parts[part])
  }

  private static func part(of id: WidgetID) -> Int { id.hashValue & (partCount - 1) }

  private static func giveBack(_ part: inout [WidgetID: Int]) {
    guard !part.isEmpty else {
      part = [:]
      return
    }
    guard part.capacity > capacityMin, part.count < part.capacity / 4 else { return }
    var smaller = [WidgetID: Int](minimumCapacity: 2 * part.count)
    for (id, count) in part { smaller[id] = count }
    part = smaller
  }
}
