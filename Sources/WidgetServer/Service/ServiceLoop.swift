import Glibc
import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTimeZones

/// The core of the daemon: carries calls out, and orders the parts of the service.
///
/// The work of one turn of the loop is one group. Transports pass on calls as they read them. Each
/// call is applied at once, and its answer waits. When everything readable has been read, `endTurn`
/// makes the group durable, then sends the answers, then the changes. So no answer or change is
/// sent before it is durable, and callers of the same turn share one transaction.
///
/// If the transaction fails, the store is rolled back and the turn's calls are carried out again:
/// calls that change something get UNAVAILABLE, calls that only read get the state now. Nobody has
/// seen the first answers. On a full disk, removals are a group without the other changes.
///
/// Everything here is confined to the event loop; nothing is locked.
final class ServiceLoop {
  let context: ServiceContext
  let gate: LoopGate
  let log: any CommitLog
  let time: TimeKeeper
  let budgets: BudgetKeeper
  let policy: AccessPolicy
  let version: String
  let startTime: Timestamp

  let streams: WatchStreams
  let health: HealthWatches
  let providers: Providers
  let connections: Connections
  let incompleteRequests: IncompleteRequests
  let receivedBytes: ReceivedBytes
  let unsentBytes: UnsentBytes
  var unauthorizedCalls = UnauthorizedCalls()
  let blobs: Blobs
  let reloads: Reloads
  let preparations: KindPreparations
  let widgetCache = WidgetCache()

  let storage: StorageHealth
  private var deadlineTimer: Scheduled<Void>?
  private var memory = MemoryUpkeep()
  private var isMemoryLookScheduled = false
  /// Whether the store can no longer be used.
  private var isLogClosed = false
  /// The time at which the streams began to end, because the service stops.
  private var drainBegin: NIODeadline?
  /// See `WidgetServer.Configuration.releaseMemory`. Tests replace it.
  var releaseMemory: @Sendable (WidgetServer.ReleasedMemory) -> Void

  init(
    eventLoop: any EventLoop, log: any CommitLog, image: StoreImage,
    configuration: WidgetServer.Configuration, logger: Logger
  ) {
    let limits = configuration.limits
    let turn = Turn(
      eventLoop: eventLoop, remembersCalls: log.needsGroups, runningTime: image.runningTime,
      clock: { [clock = configuration.clock] in clock.now })
    context = ServiceContext(
      eventLoop: eventLoop, turn: turn,
      store: WidgetStore(
        image: image, limits: limits.store, isRevocable: log.needsGroups,
        timeZones: SystemTimeZones().rules),
      limits: limits, logger: logger, clock: configuration.clock)
    gate = LoopGate(eventLoop: eventLoop)
    self.log = log
    policy = configuration.policy
    version = configuration.version
    startTime = turn.now
    releaseMemory = configuration.releaseMemory
    let audience = ProviderAudience(context)
    storage = StorageHealth(context)
    streams = WatchStreams(
      context, storage, audience: audience, releaseMemory: configuration.releaseMemory)
    health = HealthWatches(context, storage)
    time = TimeKeeper(context, log: log, storage: storage, readers: streams.rounds)
    budgets = BudgetKeeper(
      context, log: log, storage: storage, stored: image.refreshBudgets)
    providers = Providers(context, audience: audience, budgets: budgets)
    connections = Connections(context, configuration.policy, configuration.subordinateUIDs)
    incompleteRequests = IncompleteRequests(context, policy)
    receivedBytes = ReceivedBytes(policy)
    unsentBytes = UnsentBytes(context, policy)
    blobs = Blobs(context, folder: configuration.blobFolder)
    reloads = Reloads(context)
    preparations = KindPreparations(context)
    turn.atStart = { [unowned self] in time.beginTurn() }
    turn.atEnd = { [unowned self] in endTurn() }
    storage.onChange = { [unowned self] in storageHasChanged() }
    connections.onClosed = { [unowned self] in scheduleMemoryLook() }
    providers.stale.awaitReturns()
    // This turn brings the widgets up to the present time, before the first reader comes.
    turn.open()
  }

  var turn: Turn { context.turn }

  /// The store takes changes again, or refuses them from now on.
  private func storageHasChanged() {
    health.tellAll()
    streams.rounds.storeHasChanged()
    guard storage.failure == nil else { return }
    providers.stale.retryNow()
    time.retryNow()
    budgets.retryNow()
  }

  // MARK: - The turn

  /// Ends the turn after opening the requested streams, and sends the changes without waiting for
  /// the next round. Refuses the streams that are not open after a while. Readers that a round
  /// leaves out get the events in further turns, for a bounded time.
  func finishTurnAndRound() {
    let openings = context.work.slice(of: ServiceLoop.lastOpeningsMax)
    let events = context.work.slice(of: ServiceLoop.lastEventsMax)
    repeat {
      streams.rounds.hurry()
      turn.open()
      turn.finish()
    } while (turn.hasOpenings && !openings.isOver)
      || (streams.rounds.hasUnsentEvents && !events.isOver)
    turn.refuseOpenings(.shuttingDown)
  }

  private func endTurn() {
    guard !isLogClosed else { return endTurnWithoutLog() }
    context.work.serve()
    providers.stale.mark()
    time.settleActivities()
    commit()
    pauseIfBehind()
    budgets.save()
    // Unary calls do not wait for changes by time.
    turn.sendAnswers()
    if storage.takeProbe() { time.reserve() }
    time.advance()
    providers.askForTimelines(context.takeRefreshes())
    providers.stale.groupEnded()
    turn.carryOutDurable()
    openStreams()
    providers.serve()
    streams.rounds.sendIfDue()
    time.setTimer()
    turn.sendAnswers()
    streams.rounds.endTurn()
    turn.close(
      hasMore: context.work.hasMore || streams.rounds.hasMore || providers.hasMore
        || providers.stale.hasMore || time.hasMore || budgets.hasMore
        || context.store.hasForgottenRemovals)
    scheduleStoreDeadline()
    scheduleMemoryLook()
  }

  /// Ends what is left of the streams, and refuses calls that came after the end of the store.
  private func endTurnWithoutLog() {
    context.work.serve()
    turn.sendAnswers()
    turn.carryOutDurable()
    turn.sendAnswers()
    turn.close(hasMore: context.work.hasMore)
  }

  /// Gives memory back some time after a load, or during a long one. Call it when something has used
  /// or freed memory.
  func scheduleMemoryLook() {
    guard !isMemoryLookScheduled, memory.isDue(at: context.counters.work) else { return }
    isMemoryLookScheduled = true
    context.schedule(at: .now() + MemoryUpkeep.period) { [weak self] in
      guard let self else { return }
      isMemoryLookScheduled = false
      lookAtMemory()
      scheduleMemoryLook()
    }
  }

  /// Gives memory back, if it is time.
  func lookAtMemory() {
    switch memory.look(at: context.counters.work) {
    case .nothing: break
    case .freed: releaseMemory(.freed)
    case .freedAndCaches:
      context.store.forgetRecentExpressions()
      widgetCache.removeAll()
      releaseMemory(.freedAndCode)
    }
  }

  /// Opens streams until the turn's time for openings is over.
  private func openStreams() {
    guard turn.hasOpenings else { return }
    let slice = context.work.slice(of: ServiceLoop.openingsMax)
    var now = slice.start
    turn.openings.beginRound()
    while now < slice.end, let opening = turn.openings.next(at: now) {
      context.work.charge(opening.share) { opening.begin(nil) }
      now = slice.clock()
    }
    turn.openings.endRound(at: now)
  }

  /// The time that a turn may take to open streams.
  private static let openingsMax = TimeAmount.milliseconds(2)
  /// The time to open the last streams, before the connections are handed over.
  private static let lastOpeningsMax = TimeAmount.milliseconds(500)
  /// The time to send the last events, before the connections are handed over.
  static let lastEventsMax = TimeAmount.seconds(1)

  private func commit() {
    var onlyRemoves = false
    if log.needsGroups, context.store.hasPendingGroup {
      onlyRemoves = turn.onlyRemoves
      do throws(StorageError) { try append(onlyRemoves: onlyRemoves) } catch {
        takeBackTurn(because: error)
        onlyRemoves = true
      }
    }
    context.commitGroup(
      retaining: min(streams.retainedRevision, providers.retainedRevision),
      onlyRemoved: onlyRemoves)
    time.groupEnded()
    turn.groupEnded()
  }

  /// Lets changes wait until the log has caught up.
  private func pauseIfBehind() {
    guard log.isBehind, context.pause.begin() else { return }
    let pause = NIOLoopBound(context.pause, eventLoop: context.eventLoop)
    log.whenCaughtUp { [gate] in _ = gate.run { pause.value.end() } }
  }

  private func append(onlyRemoves: Bool) throws(StorageError) {
    let pending = context.store.pendingChanges(onlyRemoves: onlyRemoves)
    var group = pending.group
    group.runningTime = turn.runningTime
    // On a full disk, removals are stored without the budgets.
    if !onlyRemoves { budgets.add(to: &group) }
    let start = context.work.beginWrite()
    try log.append(group, writing: pending.widgets)
    budgets.groupEnded()
    context.work.endWrite(since: start)
    context.counters.countGroup()
    storage.stored(isSmall: onlyRemoves)
  }

  private func takeBackTurn(because first: StorageError) {
    let users = turn.callers
    let uid = users.count == 1 ? users.first : nil
    var failure = first
    storage.failed(failure, of: uid)
    takeBackGroup()
    for removals in turn.removals {
      guard case .full = failure else { break }
      turn.repeatCalls(after: failure, storing: removals)
      do throws(StorageError) {
        if context.store.hasPendingGroup { try append(onlyRemoves: true) }
        return
      } catch {
        takeBackGroup()
        guard case .full = error else {
          failure = error
          storage.failed(failure, of: uid)
          break
        }
      }
    }
    turn.repeatCalls(after: failure)
  }

  private func takeBackGroup() {
    context.counters.countFailedGroup()
    context.rollbackGroup()
    providers.groupFailed()
    time.groupFailed()
    budgets.groupFailed()
    // Widgets encoded from a rolled-back state are invalid.
    widgetCache.removeAll()
    streams.rounds.forgetFrames()
    turn.discardAnswers()
  }

  /// Finds out whether the store's files are still there.
  func checkStore() {
    storage.check(log)
  }

  private func scheduleStoreDeadline() {
    guard deadlineTimer == nil, let deadline = context.store.nextDeadline else { return }
    let delay = deadline.duration(since: turn.runningTime)
    deadlineTimer = context.schedule(in: .nanoseconds(max(0, delay.nanoseconds) + 1_000_000)) {
      self.deadlineTimer = nil
      self.turn.open()
    }
  }

  // MARK: - The end

  /// Opens and changes nothing more, and ends the streams in slices of their users' time. Succeeds
  /// when they have ended, or after half of `drain_milliseconds`.
  func streamsEnded() -> EventLoopFuture<Void> {
    drainBegin = .now()
    context.beginDraining()
    turn.refuseOpenings(.shuttingDown)
    endPreparations()
    turn.finish()
    // At once: a provider must see the end of its session, and no refusals before it.
    providers.endAll()
    let ending = StreamEnding(context)
    streams.endAll(in: ending)
    health.endAll(in: ending)
    return ending.ended(within: .nanoseconds(drainMax.nanoseconds / 2))
  }

  /// Flushes and closes every connection. Succeeds when all are closed, or when the rest of
  /// `drain_milliseconds` is over. At least half of it is left, however late the loop is.
  func connectionsClosed() -> EventLoopFuture<Void> {
    let spent = drainBegin.map { (NIODeadline.now() - $0).nanoseconds } ?? 0
    let left = drainMax.nanoseconds - min(spent, drainMax.nanoseconds / 2)
    return connections.closeAll(within: .nanoseconds(left))
  }

  private var drainMax: TimeAmount { .milliseconds(Int64(context.limits.drainMilliseconds)) }

  /// Ends everything that is left: the turn, all streams, the log. Call once, before the loop ends.
  func close() {
    context.pause.endForGood()
    context.drain()
    // No later turn would open them.
    turn.refuseOpenings(.shuttingDown)
    endPreparations()
    turn.finish()
    context.work.abandonAll()
    streams.endAll()
    providers.endAll()
    health.endAll()
    saveBudgetsAtEnd()
    do throws(StorageError) {
      if log.needsGroups, var last = context.store.closingGroup() {
        last.runningTime = turn.runningTime
        try log.append(last)
      }
    } catch {
      // Because the numbers are skipped, readers of events will get a gap although no event is
      // missing.
      context.logger.warning(
        "event numbers are left out at the next start", metadata: ["error": "\(error)"])
    }
    closeLog()
  }

  /// Succeeds when no message waits for its kinds, or after `drain_milliseconds`.
  func preparationsEnded() -> EventLoopFuture<Void> {
    preparations.ended(within: .milliseconds(Int64(context.limits.drainMilliseconds)))
  }

  /// Ends the messages whose kinds are being compiled. Call it after the drain, which refuses them.
  /// Lets no more messages wait.
  func endPreparations() {
    preparations.end()
    connections.endPreparations()
  }

  /// Stores what is left of the budgets, exactly.
  func saveBudgetsAtEnd() {
    do throws(StorageError) { try budgets.saveAtEnd() } catch {
      context.logger.warning(
        "kinds have fewer refreshes left at the next start", metadata: ["error": "\(error)"])
    }
  }

  /// Stops the timers, and gives up the store.
  func closeLog() {
    isLogClosed = true
    streams.rounds.cancelTimer()
    streams.cancelTimers()
    health.cancelTimers()
    turn.cancelTimer()
    deadlineTimer?.cancel()
    time.close()
    providers.cancelTimers()
    incompleteRequests.cancelTimer()
    context.writePeerLines()
    blobs.removeAll()
    do throws(StorageError) { try log.close() } catch {
      context.logger.error("the store was not closed well", metadata: ["error": "\(error)"])
    }
  }
}
