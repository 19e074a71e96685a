import WidgetModel

/// The date until which no reader of any group needs a change that time makes.
///
/// Every turn asks for it, and there can be thousands of groups. So the first date is known at any
/// time. Call `update` after each change of a group's horizon.
///
/// Confined to the event loop.
final class GroupHorizons {
  /// The groups whose members get each change at its date.
  private var withoutHorizon: Set<ObjectIdentifier> = []
  /// The horizons of the other groups that have one.
  private var dates = DateQueue<ObjectIdentifier>()

  /// Takes the present horizon of a group, if it has members.
  func update(_ group: WatchGroup) {
    guard group.filter.wantsState, !group.isEmpty else { return }
    let id = ObjectIdentifier(group)
    guard group.filter.upcomingEntries > 0, group.horizon.isKnown else {
      withoutHorizon.insert(id)
      dates.remove(id)
      return
    }
    withoutHorizon.remove(id)
    guard let date = group.horizon.date(), date < .latest else {
      dates.remove(id)
      return
    }
    dates.set(id, to: date)
  }

  func remove(_ group: WatchGroup) {
    let id = ObjectIdentifier(group)
    withoutHorizon.remove(id)
    dates.remove(id)
  }

  /// `nextDate` if some readers get each change at its date, else the date when the upcoming entries
  /// of some readers run out. Nil if no reader needs a change.
  func date(_ nextDate: Timestamp) -> Timestamp? {
    guard withoutHorizon.isEmpty else { return nextDate }
    return dates.first().map { max($0, nextDate) }
  }
}
