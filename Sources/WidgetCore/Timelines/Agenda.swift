import HeapModule
import WidgetModel

/// The next changes of widgets by time: at least one appointment for the due date of each widget.
/// Appointments that are no longer true are dropped when their time comes, or when there are too
/// many.
struct Agenda {
  private var appointments = Heap<Appointment>()

  /// A time at which something happens to a widget.
  private struct Appointment: Comparable {
    let date: Timestamp
    let slot: Int32
    let createdRevision: Revision

    static func < (a: Appointment, b: Appointment) -> Bool { a.date < b.date }

    /// Whether the widget still exists, and this is still its due date.
    func isTrue(_ slots: [Record?], _ due: (Record) -> Timestamp?) -> Bool {
      guard let record = slots[Int(slot)] else { return false }
      return record.createdRevision == createdRevision && due(record) == date
    }
  }

  /// The date of the next appointment, which may have been cancelled.
  var nextDate: Timestamp? { appointments.min?.date }

  /// The date of the next true appointment. Drops the others before it.
  mutating func nextTrueDate(
    of slots: [Record?], due: (Record) -> Timestamp?
  ) -> Timestamp? {
    while let next = appointments.min {
      if next.isTrue(slots, due) { return next.date }
      appointments.removeMin()
    }
    return nil
  }

  /// Adds a date for a widget. `due` returns the current date of a widget.
  mutating func add(
    _ date: Timestamp, _ record: Record, in slot: Int32, of slots: [Record?], widgets: Int,
    due: (Record) -> Timestamp?
  ) {
    appointments.insert(
      Appointment(date: date, slot: slot, createdRevision: record.createdRevision))
    // If most appointments are cancelled, keeps only the true ones.
    guard appointments.count > 2 * widgets + 1_024 else { return }
    var kept: [Appointment] = []
    for appointment in appointments.unordered where appointment.isTrue(slots, due) {
      kept.append(appointment)
    }
    appointments = Heap(kept)
  }

  /// Removes the next widget that is due at a time. Returns its slot.
  mutating func popDue(
    at now: Timestamp, of slots: [Record?], due: (Record) -> Timestamp?
  ) -> Int? {
    while let next = appointments.min, next.date <= now {
      appointments.removeMin()
      if next.isTrue(slots, due) { return Int(next.slot) }
    }
    return nil
  }
}
