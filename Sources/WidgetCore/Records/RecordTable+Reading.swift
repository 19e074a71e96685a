import WidgetModel

extension RecordTable {
  /// The number of records.
  var count: Int { index.count }

  /// All slots, including empty ones.
  var indices: Range<Int> { slots.indices }

  /// The record in a slot.
  subscript(slot: Int) -> Record? { slots[slot] }

  func slot(of id: WidgetID) -> Int? { index[id].map(Int.init) }

  /// Visits the records after a cursor, newest first, until the closure returns false. O(visits).
  func forEachRecord(changedSince cursor: Revision, _ body: (Record) -> Bool) {
    var slot = newest
    while slot >= 0, let record = slots[Int(slot)], record.revision > cursor {
      if !body(record) { return }
      slot = record.older
    }
  }
}
