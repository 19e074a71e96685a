package import WidgetModel

/// The next date of each slot, and the earliest of all dates.
///
/// A heap that knows the place of each slot. So a slot has at most one date, and a changed or
/// cancelled date leaves nothing behind that somebody would have to drop later.
///
/// Invariants: no appointment is earlier than its parent in `heap`; `places` has the place of each
/// appointment, and -1 for all other slots.
package struct Agenda {
  private var heap: [Appointment] = []
  private var places: [Int32] = []

  private struct Appointment {
    var date: Timestamp
    var slot: Int32

    /// The slot decides between equal dates, so the order does not depend on the history.
    static func < (a: Appointment, b: Appointment) -> Bool {
      a.date == b.date ? a.slot < b.slot : a.date < b.date
    }
  }

  package init() {}

  /// The number of slots with a date.
  package var count: Int { heap.count }

  /// The earliest date; nil if there is none. O(1).
  package var firstDate: Timestamp? { heap.first?.date }

  /// The date of a slot; nil if it has none. O(1).
  package func date(of slot: Int32) -> Timestamp? {
    place(of: slot).map { heap[$0].date }
  }

  /// Sets or cancels the date of a slot. O(log of all), or O(1) if the date is the same.
  package mutating func set(_ slot: Int32, to date: Timestamp?) {
    guard let place = place(of: slot) else {
      if let date { insert(Appointment(date: date, slot: slot)) }
      return
    }
    guard let date else { return remove(at: place) }
    guard heap[place].date != date else { return }
    heap[place].date = date
    settle(place)
  }

  /// Removes the earliest date if it has come. Returns its slot. O(log of all).
  package mutating func popDue(at now: Timestamp) -> Int32? {
    guard let first = heap.first, first.date <= now else { return nil }
    remove(at: 0)
    return first.slot
  }

  // MARK: - The heap

  private func place(of slot: Int32) -> Int? {
    guard Int(slot) < places.count, places[Int(slot)] >= 0 else { return nil }
    return Int(places[Int(slot)])
  }

  private mutating func insert(_ appointment: Appointment) {
    let missing = Int(appointment.slot) + 1 - places.count
    if missing > 0 { places.append(contentsOf: repeatElement(-1, count: missing)) }
    heap.append(appointment)
    settle(heap.count - 1)
  }

  private mutating func remove(at place: Int) {
    places[Int(heap[place].slot)] = -1
    let last = heap.removeLast()
    guard place < heap.count else { return }
    heap[place] = last
    settle(place)
  }

  /// Moves the appointment at a place up or down to where it belongs.
  private mutating func settle(_ start: Int) {
    let appointment = heap[start]
    var place = start
    while place > 0, case let parent = (place - 1) / 2, appointment < heap[parent] {
      put(heap[parent], at: place)
      place = parent
    }
    guard place == start else { return put(appointment, at: place) }
    while 2 * place + 1 < heap.count {
      var child = 2 * place + 1
      if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
      guard heap[child] < appointment else { break }
      put(heap[child], at: place)
      place = child
    }
    put(appointment, at: place)
  }

  private mutating func put(_ appointment: Appointment, at place: Int) {
    heap[place] = appointment
    places[Int(appointment.slot)] = Int32(place)
  }
}
