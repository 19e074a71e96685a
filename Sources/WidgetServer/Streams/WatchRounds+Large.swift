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
  func postponeChanges(
    of group: WatchGroup, fromRevision: Revision, fromSequence: UInt64, _ slice: TimeSlice,
    at instant: NIODeadline
  ) {
    _ = hurryTheme(to: group, since: fromRevision)
    var (events, end) = ([EncodedMessage](), sentSequence)
    if group.filter.wantsEvents, fromSequence != sentSequence {
      // After the slice, each member gets the events in parts, before the changes.
      end = fromSequence
      if !slice.isOver {
        (events, end) = frames.eventMessages(group, after: fromSequence, limit: .max)
      }
    }
    for subscription in group.members where subscription.isCaughtUp && !subscription.isFinished {
      let getsEvents = subscription.sink.isWritable
      if getsEvents { deliver(events, to: subscription, at: instant, isChange: false) }
      // Begins a `batch_delay`.
      _ = subscription.holdsBack(at: instant, isHurried: instant < hurriesUntil)
      subscription.fallBehind(at: fromRevision, getsEvents ? end : fromSequence)
      markReady(subscription)
    }
  }
}
