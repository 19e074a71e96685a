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
  /// The other groups that take upcoming entries.
  private var withHorizon: Set<ObjectIdentifier> = []
  /// The horizons of these groups, without those that never end.
  private var dates = DateQueue<ObjectIdentifier>()
  /// The first changes in the embeds of widgets whose readers got no change when these dates may have
  /// moved. They count for all groups, so they also count for the widgets around these.
  private var embeds = DateQueue<WidgetID>()

  /// Whether a group has a horizon.
  var areNeeded: Bool { !withHorizon.isEmpty }

  /// Takes the present horizon of a group, if it has members.
  func update(_ group: WatchGroup) {
    guard group.filter.wantsState, !group.isEmpty else { return }
    let id = ObjectIdentifier(group)
    guard group.filter.upcomingEntries > 0, group.horizon.isKnown else {
      withoutHorizon.insert(id)
      withHorizon.remove(id)
      dates.remove(id)
      return
    }
    withoutHorizon.remove(id)
    withHorizon.insert(id)
    guard let date = group.horizon.date(), date < .latest else {
      dates.remove(id)
      return
    }
    dates.set(id, to: date)
  }

  func remove(_ group: WatchGroup) {
    let id = ObjectIdentifier(group)
    withoutHorizon.remove(id)
    withHorizon.remove(id)
    dates.remove(id)
  }

  /// The embeds of a widget change at a date; nil for never, or if the horizons of all its groups know
  /// the date.
  func setEmbeds(of id: WidgetID, changingAt date: Timestamp?) {
    guard let date else {
      embeds.remove(id)
      return
    }
    embeds.set(id, to: date)
  }

  /// `nextDate` if some readers get each change at its date, else the date when the upcoming entries
  /// of some readers run out, or embeds change. Nil if no reader needs a change.
  func date(_ nextDate: Timestamp) -> Timestamp? {
    guard withoutHorizon.isEmpty else { return nextDate }
    guard areNeeded, let date = [dates.first(), embeds.first()].compactMap({ $0 }).min() else {
      return nil
    }
    return max(date, nextDate)
  }
}
