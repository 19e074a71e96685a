import NIOCore
import WidgetCore
import WidgetModel

/// Rounds with very many changes, such as those of one command for all widgets.
extension WatchRounds {
  /// Whether the changes after a cursor are too many to be encoded in one step. Members of groups then
  /// get them in parts, which they share.
  func isLargeRound(since cursor: Revision) -> Bool {
    let (limits, factor) = (context.limits, WatchRounds.largeRoundFactor)
    guard context.store.hasChanges(since: cursor, moreThan: limits.eagerChangesMax, taking: .none)
    else {
      return false
    }
    return context.store.hasChanges(
      since: cursor, moreThan: factor * limits.eagerChangesMax,
      orBytes: factor * limits.eagerBytesMax, taking: .none)
      // The store could forget some of so many removals before a member gets them.
      && !context.store.mayForgetRemovals(since: cursor)
  }

  /// Sends a group the events of a round, and has each member get the changes in parts.
  func postponeChanges(of group: WatchGroup, _ round: Round) {
    var (events, end) = ([EncodedMessage](), sentSequence)
    var isOver = round.slice.isOver
    if group.filter.wantsEvents, round.fromSequence != sentSequence {
      // After the slice, each member gets the events in parts, before the changes.
      end = round.fromSequence
      if !isOver {
        (events, end) = frames.eventMessages(group, after: round.fromSequence, limit: .max)
      }
    }
    let isHurried = group.isHurried(at: round.instant)
    var visited = 0
    group.members.beginRound()
    while let subscription = group.members.next() {
      visited += 1
      if !isOver, visited % WatchRounds.membersPerLook == 0 { isOver = round.slice.isOver }
      // After the slice, the events of a group wait for the service of each member, too.
      let getsEvents = subscription.sink.isWritable && !(isOver && !events.isEmpty)
      if getsEvents { deliver(events, to: subscription, at: round.instant, isChange: false) }
      guard !subscription.isFinished else { continue }
      // Begins a `batch_delay`.
      _ = subscription.holdsBack(at: round.instant, isHurried: isHurried)
      postpone(subscription, at: round.fromRevision, getsEvents ? end : round.fromSequence)
    }
  }
}
