import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// The first half of a round: readers that are caught up get its changes, as long as there is time.
///
/// The others fall behind, and the second half serves them, in this turn or later ones. A reader
/// falls behind at most once for each time that it has caught up. So rounds without time cost
/// little, however many readers there are.
extension WatchRounds {
  /// The part of the history that a round sends.
  struct Round {
    /// The readers that are caught up have everything up to here.
    let fromRevision: Revision
    let fromSequence: UInt64
    /// Whether the theme has changed.
    let hasTheme: Bool
    let instant: NIODeadline
    let slice: TimeSlice
  }

  /// The number of members that get a round before the next look at the clock. A look costs as much
  /// as a part of a delivery.
  static var membersPerLook: Int { 16 }

  func broadcast(_ round: Round) {
    if round.hasTheme { beginThemeSearch() }
    let isLarge = isLargeRound(since: round.fromRevision)
    var isOver = false
    visitGroups { group in
      guard !isLarge || !group.readsAllChanges else { return }
      isOver = isOver || round.slice.isOver
      if isOver { postpone(group, round) } else { broadcast(round, to: group) }
    }
    guard isLarge else { return }
    visitGroups { group in
      if group.readsAllChanges { postponeChanges(of: group, round) }
    }
  }

  /// Visits the groups with members that are caught up.
  private func visitGroups(_ body: (WatchGroup) -> Void) {
    roster.beginRound()
    while let group = roster.next() {
      body(group)
      if !group.members.hasCurrent { roster.endCurrent(group) }
    }
  }

  private func broadcast(_ round: Round, to group: WatchGroup) {
    var messages: [EncodedMessage] = []
    if group.filter.wantsEvents, round.fromSequence != sentSequence {
      let (events, end) = frames.eventMessages(group, after: round.fromSequence, limit: .max)
      guard end >= sentSequence else { return postpone(group, round) }
      messages = events
    }
    let eventCount = messages.count
    if group.filter.wantsState, round.fromRevision != sentRevision {
      guard !costsTooMuch(group, since: round.fromRevision),
        let changes = frames.changeMessages(group, since: round.fromRevision)
      else {
        // The changes cannot be sent to all members at once. Each member gets them in parts, or an
        // error.
        return postpone(group, round)
      }
      messages += changes
    }
    guard !messages.isEmpty || round.hasTheme else { return }
    let hasChanges = messages.count > eventCount
    let isHurried = group.isHurried(at: round.instant)
    var visited = 0
    group.members.beginRound()
    while let subscription = group.members.next() {
      visited += 1
      if visited % WatchRounds.membersPerLook == 0, round.slice.isOver {
        return postpone(group, round, from: subscription, hasChanges: hasChanges)
      }
      guard !messages.isEmpty || lacksTheme(subscription) else { continue }
      let isTooEarly =
        hasChanges && subscription.holdsBack(at: round.instant, isHurried: isHurried)
      guard subscription.sink.isWritable, !isTooEarly else {
        context.counters.countReaderBehind()
        if subscription.sink.isWritable {
          postpone(subscription, at: round.fromRevision, round.fromSequence)
        } else {
          leaveBehind(subscription, at: round.fromRevision, round.fromSequence)
        }
        continue
      }
      // The theme comes before the changes of its revision.
      if lacksTheme(subscription) { sendTheme(to: subscription) }
      deliver(messages, to: subscription, at: round.instant, isChange: hasChanges)
    }
  }

  // MARK: - Later turns

  /// Has a group's members served one by one.
  private func postpone(_ group: WatchGroup, _ round: Round) {
    group.members.beginRound()
    guard let first = group.members.next() else { return }
    postpone(group, round, from: first, hasChanges: round.fromRevision != sentRevision)
  }

  /// Has one member, and those that the round has not visited, served one by one.
  ///
  /// Does not look at the clock: a member takes a fraction of a microsecond, and is then behind. The
  /// next rounds do not visit the member before it was served, and a service takes much longer. So
  /// this is a small part of the cost of the services, for any number of members. A member waits in
  /// the line of its user behind earlier members, and no later one overtakes it.
  private func postpone(
    _ group: WatchGroup, _ round: Round, from first: Subscription, hasChanges: Bool
  ) {
    let isHurried = group.isHurried(at: round.instant)
    var next: Subscription? = first
    while let subscription = next {
      // Begins a `batch_delay`.
      if hasChanges { _ = subscription.holdsBack(at: round.instant, isHurried: isHurried) }
      postpone(subscription, at: round.fromRevision, round.fromSequence)
      next = group.members.next()
    }
  }

  /// Has a reader that is caught up served by itself, in this turn or a later one.
  func postpone(_ subscription: Subscription, at revision: Revision, _ sequence: UInt64) {
    leaveBehind(subscription, at: revision, sequence)
    markReady(subscription)
    keepRemovals(since: revision)
  }

  /// Keeps the removals after a revision for a reader that waits for a later turn, or for the end of
  /// its delay. Removals that are forgotten already do not come back.
  func keepRemovals(since revision: Revision, delayedUntil: NIODeadline? = nil) {
    guard revision >= context.store.compactRevision else { return }
    postponed.postpone(
      at: revision, removalCount: context.store.removalCount, delayedUntil: delayedUntil)
  }

  /// A round leaves out a reader that is caught up.
  func leaveBehind(_ subscription: Subscription, at revision: Revision, _ sequence: UInt64) {
    subscription.fallBehind(at: revision, sequence)
    subscription.group.members.endCurrent(subscription)
  }

  /// A reader that was behind has everything up to the last round.
  func caughtUp(_ subscription: Subscription) {
    subscription.group.members.makeCurrent(subscription)
    roster.makeCurrent(subscription.group)
  }
}
