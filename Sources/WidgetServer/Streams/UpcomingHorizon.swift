import HeapModule
import WidgetModel

/// The date until which readers know the content of widgets, because they got its entries in
/// advance.
///
/// Until that date, the daemon need not wake for the changes that time makes to these widgets.
struct UpcomingHorizon {
  /// False if readers may know less than the horizon. Then each change has to be sent at its date.
  private(set) var isKnown = true
  private var dates: [WidgetID: Timestamp] = [:]
  private var next = Heap<Appointment>()

  private struct Appointment: Comparable {
    let date: Timestamp
    let id: WidgetID
    static func < (a: Appointment, b: Appointment) -> Bool { a.date < b.date }
  }

  /// Notes that readers may know less than the horizon.
  mutating func forget() { isKnown = false }

  /// A widget's entries are known until a date; nil for all of them.
  mutating func set(_ id: WidgetID, _ date: Timestamp?) {
    guard dates[id] != date else { return }
    dates[id] = date
    if let date { next.insert(Appointment(date: date, id: id)) }
    guard next.count > 2 * dates.count + 64 else { return }
    next = Heap(dates.map { Appointment(date: $0.value, id: $0.key) })
  }

  mutating func remove(_ id: WidgetID) { dates[id] = nil }

  /// The first date at which readers need more entries; nil if there is none.
  mutating func date() -> Timestamp? {
    while let first = next.min {
      if dates[first.id] == first.date { return first.date }
      next.removeMin()
    }
    return nil
  }
}
