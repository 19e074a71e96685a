import HeapModule
import WidgetModel

/// A date for each key, and the first of all dates. A change takes O(log of all) on average.
struct DateQueue<Key: Hashable> {
  private var dates: [Key: Timestamp] = [:]
  /// All dates, and former ones.
  private var next = Heap<Appointment>()

  private struct Appointment: Comparable {
    let date: Timestamp
    let key: Key
    static func < (a: Appointment, b: Appointment) -> Bool { a.date < b.date }
  }

  var count: Int { dates.count }

  subscript(key: Key) -> Timestamp? { dates[key] }

  mutating func set(_ key: Key, to date: Timestamp) {
    guard dates.updateValue(date, forKey: key) != date else { return }
    next.insert(Appointment(date: date, key: key))
    forgetFormer()
  }

  /// Returns whether there was a date.
  @discardableResult
  mutating func remove(_ key: Key) -> Bool {
    guard dates.removeValue(forKey: key) != nil else { return false }
    forgetFormer()
    return true
  }

  /// The first date; nil if there is none.
  mutating func first() -> Timestamp? {
    while let first = next.min {
      if dates[first.key] == first.date { return first.date }
      next.removeMin()
    }
    return nil
  }

  /// Bounds the memory of former dates.
  private mutating func forgetFormer() {
    guard next.count > 2 * dates.count + 64 else { return }
    next = Heap(dates.map { Appointment(date: $0.value, key: $0.key) })
  }
}
