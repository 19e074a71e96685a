import WidgetCore
import WidgetModel
import WidgetProto

/// The entries that readers get in advance, and the dates until which they know their widgets.
extension FrameMaker {
  /// The upcoming entries of widgets, if the group takes them. Widgets that cost too much are left
  /// out: their readers get each change at its date.
  func upcomingMessages(_ group: WatchGroup, of changes: [WidgetChange]) -> [EncodedMessage] {
    let limit = group.filter.upcomingEntries
    guard limit > 0 else { return [] }
    defer { horizons.update(group) }
    let costStart = context.store.readingCost
    var found: [UpcomingEntries] = []
    for change in changes {
      let id: WidgetID
      switch change {
      case .added(let widget, _): id = widget.id
      case .updated(let update): id = update.id
      case .removed(let removed, _):
        group.horizon.remove(removed)
        continue
      }
      guard restOfBudget(since: costStart) >= 0,
        let page = context.store.upcoming(
          of: id, at: context.turn.now, limit: limit, taking: group.content)
      else {
        // A widget that is left out takes no more than a look, because there can be many.
        let date = embeddedDate(of: id, for: group, since: costStart)
        setHorizon(group, id, [context.store.nextTime(of: id), date])
        continue
      }
      // The next content of embeds and stacks is not sent in advance.
      let isUnknown = page.hasMore || page.entries.isEmpty
      let last = isUnknown ? page.entries.last?.entry.date ?? page.status?.nextTime : nil
      let date = embeddedDate(of: id, for: group, since: costStart)
      setHorizon(group, id, [last, page.newEmbedDate, date])
      if !page.entries.isEmpty {
        found.append(UpcomingEntries(id: id, entries: page.entries, more: page.hasMore))
      }
    }
    guard !found.isEmpty else { return [] }
    let isFake = context.clock.isFake
    // Entries that do not fit into a frame are left out, too.
    let messages = split(found, .all) { piece, _ in
      WatchWidgetsResponse.upcoming(WatchUpcoming(widgets: Array(piece), hasFakeClock: isFake))
    }
    if messages == nil {
      for entries in found {
        group.horizon.set(entries.id, context.turn.now, within: horizonBudget)
      }
    }
    return messages ?? []
  }

  func upcomingMessages(_ group: WatchGroup, of widgets: [Widget]) -> [EncodedMessage] {
    guard group.filter.upcomingEntries > 0 else { return [] }
    return upcomingMessages(group, of: widgets.map { .added($0, nil) })
  }

  /// The steps that are left for the upcoming entries of one frame; negative if they are spent.
  private func restOfBudget(since costStart: Int) -> Int {
    context.limits.store.contentCostMax - (context.store.readingCost - costStart)
  }

  /// The date until which members know the embeds of a widget; nil for any date. If the search costs
  /// too much, members get each change at its date.
  private func embeddedDate(
    of id: WidgetID, for group: WatchGroup, since costStart: Int
  ) -> Timestamp? {
    // A forgotten horizon takes no dates.
    guard group.horizon.isKnown else { return nil }
    let date = context.store.embeddedDate(
      of: id, knowing: &embeddedDates, costMax: restOfBudget(since: costStart))
    switch date {
    case .never: return nil
    case .at(let date): return date
    case .unknown: return context.turn.now
    }
  }

  /// Members know a widget until the first of some dates.
  private func setHorizon(_ group: WatchGroup, _ id: WidgetID, _ dates: [Timestamp?]) {
    guard let first = dates.compactMap({ $0 }).min() else {
      return group.horizon.remove(id)
    }
    group.horizon.set(id, first, within: horizonBudget)
  }
}
