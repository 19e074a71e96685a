import WidgetCore
import WidgetModel

/// A date for each key, and the first of all dates. A change takes O(log of all).
///
/// It keeps nothing of former dates, so no step has to drop thousands of them.
struct DateQueue<Key: Hashable> {
  /// The slot of each key in `agenda`.
  private var slots: [Key: Int32] = [:]
  /// The slots of removed keys.
  private var freeSlots: [Int32] = []
  private var agenda = Agenda()

  /// The number of dates.
  var count: Int { agenda.count }

  subscript(key: Key) -> Timestamp? { slots[key].flatMap { agenda.date(of: $0) } }

  mutating func set(_ key: Key, to date: Timestamp) {
    if let slot = slots[key] { return agenda.set(slot, to: date) }
    // Without a free slot, the used ones are those below the number of keys.
    let slot = freeSlots.popLast() ?? Int32(slots.count)
    slots[key] = slot
    agenda.set(slot, to: date)
  }

  /// Returns whether there was a date.
  @discardableResult
  mutating func remove(_ key: Key) -> Bool {
    guard let slot = slots.removeValue(forKey: key) else { return false }
    agenda.set(slot, to: nil)
    freeSlots.append(slot)
    return true
  }

  /// The first date; nil if there is none.
  func first() -> Timestamp? { agenda.firstDate }
}
