import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Sends streams their missing changes. Caught-up readers get the changes since the last round, the
/// others as much as they take.
///
/// The first change is sent at once. Changes that follow it closely are sent together, at most once
/// in `frameIntervalMicroseconds`. A round with many readers takes longer than that, so rounds also
/// take at most half of the time. Otherwise each round would carry one change.
final class WatchRounds {
  let context: ServiceContext
  let storage: StorageHealth
  let frames: FrameMaker
  private let evictions: ContentEvictions
  private var groups: [KeptHash<WatchGroup.Filter>: WatchGroup] = [:]
  /// All groups. The current ones have members that are caught up.
  var roster = RoundMembers<WatchGroup>()
  /// Streams that are behind and may be able to take more.
  private let ready = UserLines<ReadyPlace>()
  /// The revision up to which a caught-up reader has all changes.
  private(set) var sentRevision: Revision
  private(set) var sentSequence: UInt64
  /// The readers that rounds left to later turns.
  var postponed = PostponedReaders()
  /// `store.readingCost` at the start of this half of the round.
  private var costStart = 0
  /// Whether this round is short, because others wait.
  private(set) var isShort = false
  /// Whether the last round has left readers to later turns.
  private var readersWait = false
  private var nextRoundAt = NIODeadline.uptimeNanoseconds(0)
  /// The start of the round in this turn; nil if there was none.
  private var roundStart: NIODeadline?
  /// The expected time of the tasks that the round in this turn has started. They run after the
  /// turn.
  private var tasksOfRound = TimeAmount.zero
  /// The time that rounds have taken in a pass of the loop, and the pass.
  private var spent = TimeAmount.zero
  private var spentPass: UInt64?
  /// The groups whose members have a `batch_delay`.
  var batchDelays = RoundMembers<BatchDelays>()
  /// The search for readers that lack the theme; nil if none is under way.
  var themeSearch: MemberSearch?
  /// The search for readers that lack the state of the store; nil if none is under way.
  var storeSearch: MemberSearch?
  /// The first group that the next event hurries.
  var hurryStart = 0
  /// The time after an event in which its effects are expected. Somebody who clicks looks at them.
  var eventEffectsMax = TimeAmount.seconds(1)
  private var timer: Scheduled<Void>?
  /// Ends a stream that cannot be served.
  var onFailure: (Subscription, RPCStatus) -> Void = { _, _ in }

  init(
    _ context: ServiceContext, _ storage: StorageHealth,
    releaseMemory: @escaping @Sendable (WidgetServer.ReleasedMemory) -> Void
  ) {
    self.context = context
    self.storage = storage
    frames = FrameMaker(context, releaseMemory: releaseMemory)
    evictions = ContentEvictions(context)
    sentRevision = context.store.revision
    sentSequence = context.store.lastEventSequence
  }

  /// Whether some streams could take more.
  var hasMore: Bool { !ready.isEmpty || themeSearch != nil || storeSearch != nil }
  /// Whether streams that could take more lack events. O(streams that wait to be served).
  var hasUnsentEvents: Bool {
    ready.contains { $0.subscription?.lacksEvents(through: sentSequence) ?? false }
  }
  /// The store keeps all removals after this revision: readers get them in a round, or soon after it.
  var retainedRevision: Revision { min(sentRevision, postponed.revision ?? .max) }
  /// The number of different filters.
  var groupCount: Int { groups.count }
  /// The number of change frames that are kept for late streams.
  var keptChangeCount: Int { roster.all.reduce(0) { $0 + $1.changes.count } }

  // MARK: - Members

  /// The group of all streams with the same filter. A new group begins with its first member.
  func group(_ filter: WatchGroup.Filter) -> WatchGroup {
    let key = KeptHash(filter)
    return groups[key] ?? WatchGroup(key)
  }

  func add(_ subscription: Subscription) {
    let group = subscription.group
    if groups.updateValue(group, forKey: group.key) == nil {
      roster.add(group)
      group.filter.contentFamily.map { context.keepContent(of: $0) }
    }
    group.members.add(subscription)
    frames.horizons.update(group)
    if subscription.delaysChanges { beginDelays(of: group) }
  }

  func remove(_ subscription: Subscription) {
    let group = subscription.group
    group.members.remove(subscription)
    if subscription.delaysChanges { endDelays(of: group) }
    if group.isEmpty, groups.removeValue(forKey: group.key) != nil {
      roster.remove(group)
      frames.horizons.remove(group)
      group.filter.contentFamily.map { evictions.dropContent(of: $0, by: subscription.uid) }
      // Without readers there are no rounds, which would end the protection.
      if groups.isEmpty { postponed = PostponedReaders() }
    }
  }

  private func beginDelays(of group: WatchGroup) {
    let delays = group.batchDelays ?? BatchDelays(group)
    delays.count += 1
    guard group.batchDelays == nil else { return }
    group.batchDelays = delays
    batchDelays.add(delays)
  }

  private func endDelays(of group: WatchGroup) {
    guard let delays = group.batchDelays else { return }
    delays.count -= 1
    guard delays.count == 0 else { return }
    group.batchDelays = nil
    batchDelays.remove(delays)
  }

  /// The date until which readers need no change that time makes: now if some get each change at
  /// its date, else the date when their upcoming entries run out. Nil if no reader needs any.
  func horizon(_ nextDate: Timestamp) -> Timestamp? { frames.horizons.date(nextDate) }

  /// Notes that members of a group may know less than its horizon.
  func forgetHorizon(of group: WatchGroup) {
    group.horizon.forget()
    frames.horizons.update(group)
  }

  /// Lets a stream be served at the end of this turn.
  func markReady(_ subscription: Subscription) {
    guard let place = subscription.becomeReady() else { return }
    ready.add(place, of: subscription.uid)
    if isPassSpent { context.turn.open(afterPass: spentPass) } else { context.turn.open() }
  }

  /// Whether the rounds of this pass of the loop have had their time. A stream over gRPC asks for
  /// more in the same pass, and the loop would not read any more.
  private var isPassSpent: Bool {
    spent >= WatchRounds.servingMax && spentPass != nil && spentPass == context.turn.loopPass?()
  }

  /// A transport takes more again.
  func becameWritable(_ subscription: Subscription) {
    if subscription.hasMore || subscription.lacksStore(at: storage.version) {
      markReady(subscription)
    }
  }

  /// Forgets messages encoded from a rolled-back state.
  func forgetFrames() {
    for group in roster.all { group.forgetFrames() }
    frames.forgetEncoded()
  }

  // MARK: - When

  /// Sends the changes, if the pace allows it. Sets a timer if it does not.
  func sendIfDue() {
    let hasNews =
      context.store.revision != sentRevision || context.store.lastEventSequence != sentSequence
    guard hasNews || hasMore else { return }
    // Without readers, nobody waits for a round or its timer.
    guard !groups.isEmpty || hasMore else {
      sentRevision = context.store.revision
      sentSequence = context.store.lastEventSequence
      return
    }
    guard !isPassSpent else { return context.turn.open(afterPass: spentPass) }
    let instant = NIODeadline.now()
    if hasNews, hasMore || instant >= nextRoundAt {
      nextRoundAt = instant + .microseconds(Int64(context.limits.frameIntervalMicroseconds))
      roundStart = instant
      cancelTimer()
      send(at: instant)
    } else if hasNews {
      guard timer == nil else { return }
      timer = context.schedule(at: nextRoundAt) {
        self.timer = nil
        self.context.turn.open()
      }
    } else {
      send(at: instant)
    }
  }

  /// Ends the turn, after its messages were written.
  func endTurn() {
    guard let start = roundStart else { return }
    roundStart = nil
    let end = NIODeadline.now() + tasksOfRound
    guard end - start > WatchRounds.shortRoundMax else { return }
    let interval = TimeAmount.microseconds(Int64(context.limits.frameIntervalMicroseconds))
    nextRoundAt = max(nextRoundAt, end + min(end - start, interval * WatchRounds.pausesMax))
  }

  /// Lets the next round come without a pause.
  func hurry() { (nextRoundAt, spent) = (.uptimeNanoseconds(0), .zero) }

  func cancelTimer() {
    timer?.cancel()
    timer = nil
  }

  // MARK: - A round

  /// Sends every caught-up reader the changes since the last round, and every ready one its missing
  /// changes.
  ///
  /// Content for other families has a budget: each half of the round may spend `contentCostMax`.
  /// The time for readers that are behind has a bound, too. Readers for whom the budget or the time
  /// is not enough come first in the next turn.
  func send(at instant: NIODeadline) {
    let (start, owed) = (context.work.time, context.work.owed)
    isShort = context.work.hasMore || readersWait && context.work.hasWorked
    costStart = context.store.readingCost
    let (fromRevision, fromSequence) = (sentRevision, sentSequence)
    sentRevision = context.store.revision
    sentSequence = context.store.lastEventSequence
    if fromRevision != sentRevision || fromSequence != sentSequence {
      let round = Round(
        fromRevision: fromRevision, fromSequence: fromSequence,
        hasTheme: fromRevision < context.store.theme.revision, instant: instant,
        slice: context.work.slice(of: bound(WatchRounds.broadcastMax)))
      hurryEffects(round)
      broadcast(round)
    }
    searchForStore()
    searchForTheme()
    serveReady(at: instant)
    tasksOfRound = context.work.owed - owed
    spend(context.work.time - start)
  }

  private func spend(_ time: TimeAmount) {
    let pass = context.turn.loopPass?()
    spent = pass == spentPass ? spent + time : time
    spentPass = pass
  }

  /// The second half of a round: readers that are behind get their missing changes.
  private func serveReady(at instant: NIODeadline) {
    costStart = context.store.readingCost
    var leftOut: [ReadyPlace] = []
    let slice = context.work.slice(of: bound(WatchRounds.servingMax))
    var now = slice.start
    ready.beginRound()
    while now < slice.end, let place = ready.next(at: now) {
      if let subscription = place.subscription {
        if makesContent(subscription.group), isRoundSpent {
          leftOut.append(place)
        } else {
          subscription.beginServing()
          serve(subscription, slice, at: instant)
          if subscription.isCaughtUp, !subscription.isFinished { caughtUp(subscription) }
        }
      }
      now = slice.clock()
    }
    ready.endRound(at: now)
    leftOut.removeAll { $0.subscription == nil }
    postponed.endTurn(
      isLast: ready.isEmpty && leftOut.isEmpty, at: instant,
      removalCount: context.store.removalCount,
      tombstonesMax: context.limits.store.tombstonesMax)
    for place in leftOut.reversed() {
      if let subscription = place.subscription { ready.putBack(place, of: subscription.uid) }
    }
    readersWait = !ready.isEmpty
    // The shared frames of late readers are not needed any more.
    frames.forgetShared()
  }

  /// Whether this half of the round has spent its budget for content.
  private var isRoundSpent: Bool {
    context.store.readingCost - costStart > context.limits.store.contentCostMax
  }

  /// Whether testing the changed widgets, or making the content that a group lacks, exceeds the
  /// budget of the round.
  func costsTooMuch(_ group: WatchGroup, since cursor: Revision) -> Bool {
    if testsCostTooMuch(group, since: cursor) { return true }
    guard makesContent(group) else { return false }
    if group.filter.upcomingEntries > 0,
      context.store.hasChanges(
        since: cursor, moreThan: group.widgetsAtOnceMax, selecting: group.filter.selector,
        taking: group.content)
    {
      return true
    }
    return contentCostsTooMuch(group, since: cursor)
  }

  private func contentCostsTooMuch(_ group: WatchGroup, since cursor: Revision) -> Bool {
    isRoundSpent
      || context.store.hasChanges(
        since: cursor, moreThan: .max, selecting: group.filter.selector, taking: group.content)
  }

  /// Sends a stream its missing changes, as long as it takes them.
  private func serve(_ subscription: Subscription, _ slice: TimeSlice, at instant: NIODeadline) {
    let group = subscription.group
    var steps = 0
    while !subscription.isFinished, subscription.sink.isWritable {
      steps += 1
      // A long transfer must let other streams have their turn, even if it finds nothing to send.
      if steps > WatchRounds.stepsPerTurnMax || steps > 1 && slice.isOver
        || makesContent(group) && isRoundSpent
      {
        return markReady(subscription)
      }
      let step = subscription.next(
        through: sentSequence, theme: context.store.theme.revision, store: storage.version,
        at: instant)
      switch step {
      case .store: sendStore(to: subscription)
      case .theme: sendTheme(to: subscription)
      case .events(let cursor):
        let (messages, end) = frames.eventMessages(
          group, after: cursor, limit: WatchRounds.eventsPerFrameMax)
        subscription.sentEvents(through: end)
        deliver(messages, to: subscription, at: instant, isChange: false)
      case .changes(let cursor): sendChanges(since: cursor, to: subscription, at: instant)
      case .transfer(let transfer): send(transfer, to: subscription, at: instant)
      case .progress: return sendProgress(subscription)
      case .pause(let cursor):
        guard mayLackChanges(group, since: cursor) else {
          subscription.catchUpWithoutChanges(at: instant)
          continue
        }
        keepRemovals(since: cursor, delayedUntil: subscription.delayedUntil)
        return subscription.pause(context) { self.markReady(subscription) }
      case .nothing: return
      }
    }
  }

  /// Whether changes may wait for the members at a cursor. A round that leaves a reader out does not
  /// find out.
  private func mayLackChanges(_ group: WatchGroup, since cursor: Revision) -> Bool {
    needsTransfer(group, since: cursor) || hasManyRemovals(group, since: cursor)
      || frames.changeMessages(group, since: cursor)?.isEmpty != true
  }

  /// Sends a stream its changes at once, or begins a transfer if they are many.
  private func sendChanges(
    since cursor: Revision, to subscription: Subscription, at instant: NIODeadline
  ) {
    let group = subscription.group
    guard !needsTransfer(group, since: cursor), !hasManyRemovals(group, since: cursor) else {
      return subscription.transfer(
        .init(
          cursor: cursor, isSnapshot: false, startedAt: context.store.revision,
          chunkCount: context.store.chunkCount))
    }
    guard let messages = frames.changeMessages(group, since: cursor) else {
      return finishUnsendable(subscription, since: cursor)
    }
    subscription.catchUp()
    deliver(messages, to: subscription, at: instant, isChange: true)
  }

  /// Sends the next removals or the next chunk of a transfer, or its end. If much has changed
  /// meanwhile, the transfer begins another pass.
  private func send(
    _ transfer: StreamCursor.Transfer, to subscription: Subscription, at instant: NIODeadline
  ) {
    let group = subscription.group
    var transfer = transfer
    let removalsEnd = endOfNextRemovals(group, transfer)
    let isThrough = removalsEnd == nil && transfer.isThrough
    if isThrough, needsPass(group, transfer) {
      transfer.beginPass(at: context.store.revision, chunkCount: context.store.chunkCount)
      return subscription.transfer(transfer)
    }
    let messages =
      if let removalsEnd {
        frames.removalMessages(group, &transfer, through: removalsEnd)
      } else if isThrough {
        frames.finalMessages(group, transfer)
      } else {
        frames.chunkMessages(group, &transfer)
      }
    guard let messages else {
      return finishUnsendable(
        subscription, since: transfer.isSnapshot ? transfer.startedAt : transfer.cursor)
    }
    if isThrough { subscription.catchUp() } else { subscription.transfer(transfer) }
    deliver(messages, to: subscription, at: instant, isChange: isThrough)
  }

  /// The revision up to which removals are the next part of a transfer: those before its start come
  /// before the chunks, and many of those since come before its end. Nil if they are not next.
  func endOfNextRemovals(
    _ group: WatchGroup, _ transfer: StreamCursor.Transfer
  ) -> Revision? {
    if transfer.lacksRemovals { return transfer.startedAt }
    guard transfer.isThrough, transfer.removalParts < WatchRounds.removalPartsMax,
      hasManyRemovals(group, since: transfer.removals.revision)
    else { return nil }
    return context.store.revision
  }

  /// Whether the removals are too many to be sent at once. An expression tests each id that is used
  /// again.
  private func hasManyRemovals(_ group: WatchGroup, since cursor: Revision) -> Bool {
    let limit = context.limits.eagerChangesMax
    return context.store.hasRemovals(
      since: cursor, moreThan: group.filter.selector.expression.isEmpty ? limit : limit / 8)
  }

  /// Whether a transfer that has gone through all chunks goes through them again.
  func needsPass(_ group: WatchGroup, _ transfer: StreamCursor.Transfer) -> Bool {
    let (passes, cursor) = (transfer.passes, transfer.passStartedAt)
    guard passes >= WatchRounds.passesMax else { return needsTransfer(group, since: cursor) }
    // Expensive content never comes all at once. Expensive tests and very many widgets do only after
    // very many passes. A reader must not wait for a pause in the changes.
    return passes < WatchRounds.passesWithTestsMax && testsCostTooMuch(group, since: cursor)
      || passes < WatchRounds.largePassesMax
        && hasManyChanges(group, since: cursor, factor: WatchRounds.largeRoundFactor)
      || makesContent(group) && contentCostsTooMuch(group, since: cursor)
  }

  /// Whether a group's changes are too many to be sent at once.
  private func needsTransfer(_ group: WatchGroup, since cursor: Revision) -> Bool {
    hasManyChanges(group, since: cursor) || testsCostTooMuch(group, since: cursor)
  }

  /// Whether a group's changes exceed the limits for one step, times a factor.
  private func hasManyChanges(
    _ group: WatchGroup, since cursor: Revision, factor: Int = 1
  ) -> Bool {
    context.store.hasChanges(
      since: cursor, moreThan: factor * eagerChangesMax(group),
      orBytes: factor * context.limits.eagerBytesMax, selecting: group.filter.selector,
      taking: group.content)
  }

  /// Whether the group's expression costs too much to test all changed widgets at once.
  private func testsCostTooMuch(_ group: WatchGroup, since cursor: Revision) -> Bool {
    context.store.testsCostTooMuch(since: cursor, selecting: group.filter.selector)
  }

  /// Whether content has to be made for a group's members.
  private func makesContent(_ group: WatchGroup) -> Bool {
    group.makesContent || group.filter.upcomingEntries > 0
  }

  private func eagerChangesMax(_ group: WatchGroup) -> Int {
    min(context.limits.eagerChangesMax, group.widgetsAtOnceMax)
  }

  /// Ends a stream that cannot be served: its cursor is compacted, or a frame would be too large.
  private func finishUnsendable(_ subscription: Subscription, since cursor: Revision) {
    guard cursor < context.store.compactRevision else {
      return onFailure(subscription, .frameTooLarge)
    }
    context.counters.countCompactedReader()
    onFailure(
      subscription,
      RPCStatus(.revisionCompacted(compactRevision: context.store.compactRevision)))
  }

  func deliver(
    _ messages: [EncodedMessage], to subscription: Subscription, at instant: NIODeadline,
    isChange: Bool
  ) {
    guard !messages.isEmpty else { return }
    subscription.send(messages, at: instant, isChange: isChange)
    context.counters.countFrames(messages.count)
  }
}
