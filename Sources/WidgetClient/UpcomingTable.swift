import WidgetModel
import WidgetProto

/// The upcoming content of widgets, as far as the daemon has sent it.
struct UpcomingTable: Hashable, Sendable {
  private var entries: [WidgetID: ArraySlice<ShownEntry>] = [:]
  /// Whether the daemon has a fake clock. If so, this machine's clock does not match the dates.
  private(set) var hasFakeClock = false

  /// Takes the daemon's entries, in place of earlier entries of these widgets.
  mutating func take(_ frame: WatchUpcoming) {
    hasFakeClock = frame.hasFakeClock
    for widget in frame.widgets { entries[widget.id] = widget.entries[...] }
  }

  mutating func take(_ other: UpcomingTable) {
    hasFakeClock = other.hasFakeClock
    entries.merge(other.entries) { $1 }
  }

  mutating func drop(_ id: WidgetID) { entries[id] = nil }

  /// The earliest date of all entries; nil if there are none, or if the daemon's clock is fake.
  /// O(widgets).
  var nextDate: Timestamp? {
    hasFakeClock ? nil : entries.values.lazy.compactMap { $0.first?.entry.date }.min()
  }

  /// The content of a widget from now on.
  struct Flip: Hashable, Sendable {
    var id: WidgetID
    var shown: ShownEntry
    /// The date of the next entry that is known.
    var nextDate: Timestamp?
  }

  /// Takes the entries whose date has come: the newest one of each widget.
  mutating func takeDue(at now: Timestamp) -> [Flip] {
    guard let date = nextDate, date <= now else { return [] }
    var due: [Flip] = []
    for (id, rest) in entries {
      guard let place = rest.lastIndex(where: { $0.entry.date <= now }) else { continue }
      let left = rest[(place + 1)...]
      due.append(Flip(id: id, shown: rest[place], nextDate: left.first?.entry.date))
      entries[id] = left
    }
    return due
  }
}
