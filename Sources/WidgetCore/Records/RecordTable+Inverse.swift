import WidgetModel

extension RecordTable {
  /// How to take back a change. `chunk` is the former revision of the slot's chunk.
  enum Inverse {
    /// A record was changed, perhaps several times. `with` is the record before.
    case replace(slot: Int32, with: Record, chunk: Revision)
    /// A record was inserted into a slot.
    case remove(slot: Int32, chunk: Revision)
    /// A record was removed from a slot.
    case restore(slot: Int32, Record, chunk: Revision)
    /// The record in a slot must be stored again, although it has not changed.
    case storeAgain(slot: Int32)
  }
}
