import Glibc
import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTimeZones

/// The daemon's heart: owns the store, the commit log and all streams, on one event loop.
///
/// Work of one turn of the loop is one group. Transports hand in calls as they read them; each is
/// applied at once and its answer kept back. When everything readable has been read, `endTurn`
/// makes the group durable, then sends the answers, then the changes. So an answer or a change is
/// never sent before it is durable, and callers of the same turn share one transaction.
///
/// If the transaction fails, the store is rolled back and the turn's calls are answered again:
/// calls that change something with UNAVAILABLE, calls that only read with the state now. Nobody
/// has seen the first answers.
///
/// Everything here is confined to `eventLoop`; nothing is locked.
final class ServiceLoop {
  let eventLoop: any EventLoop
  let gate: LoopGate
  let codec = WireCodec()
  let log: any CommitLog
  let policy: AccessPolicy
  var limits: ServerLimits
  var logger: Logger
  var counters = Counters()
  var recentErrors = RecentErrors()
  let startTime: Timestamp
  var startedAt = NIODeadline.now()
  let version: String
  /// Carries out `AdminService.Reload`: which settings are in force, which need a restart.
  var onReload: @Sendable () async -> WidgetServer.ReloadOutcome = { .init() }

  /// See `WidgetServer.Configuration.releaseMemory`.
  var releaseMemory: @Sendable () -> Void = {}
  var nextReleaseAt = NIODeadline.uptimeNanoseconds(0)

  var store: WidgetStore
  /// Encoded answers to GetWidget, by slot of a small table; see `cachedWidget`.
  var widgetCache = [CachedWidget?](repeating: nil, count: ServiceLoop.widgetCacheCount)

  // Streams.
  var groups: [WatchGroup.Filter: WatchGroup] = [:]
  var subscriptions: [UInt64: Subscription] = [:]
  var subscriptionsByUID: [UInt32: Int] = [:]
  var lastSubscriptionID: UInt64 = 0
  /// Calls of Reload that are not answered yet, by a number of their own.
  var reloads: [UInt64: (call: UInt32, responder: any CallResponder)] = [:]
  var lastReload: UInt64 = 0
  /// Calls about bundles that the host has not answered yet, by the number of its request.
  var bundleCalls: [UInt64: BundleCall] = [:]
  var lastBundleCall: UInt64 = 0
  var healthWatches: [ObjectIdentifier: HealthWatch] = [:]
  var providers = ProviderTable()
  /// The selectors of all streams that count as watchers.
  var watchedSelectors = WatchedSelectors()
  var watched = WatchedWidgets()
  var audienceTimer: Scheduled<Void>?
  var audienceTimerAt = NIODeadline.uptimeNanoseconds(0)
  var blobs = BlobTable(folder: "/tmp")
  private var blobTimer: Scheduled<Void>?
  /// The theme, encoded for streams.
  var themeFrame: (revision: Revision, message: EncodedMessage)?
  /// All that a caught-up reader has been sent.
  var sentRevision: Revision
  var sentSequence: UInt64
  /// Streams that are behind and may be able to take more.
  var ready: [Subscription] = []
  /// Streams asked for in this turn. They open when the turn's group is durable.
  var openings: [() -> Void] = []
  /// `store.readingCost` at the start of this half of the round.
  var roundCostStart = 0
  private var nextRoundAt = NIODeadline.uptimeNanoseconds(0)
  private var roundTimer: Scheduled<Void>?
  private var deadlineTimer: Scheduled<Void>?

  // Connections.
  var connectionCount = 0
  var connectionsByUID: [UInt32: Int] = [:]
  var connections: [ObjectIdentifier: any ServerConnection] = [:]
  var drained: EventLoopPromise<Void>?
  var drainTimer: Scheduled<Void>?
  var waitsForOthersOnly = false
  /// The last event of the process that handed its connections over.
  var formerSequence: UInt64?
  /// The event after which this process began.
  let sequenceAtStart: UInt64

  // The turn.
  private var isTurnOpen = false
  /// Opens a turn that resumes the work of the last one.
  private var nextTurnTimer: Scheduled<Void>?
  private var turnCalls: [TurnCall] = []
  private var touched: [any TurnParticipant] = []
  /// The time of the turn; the same for everything in it.
  private(set) var now: Timestamp
  /// Set while the calls of a failed turn are answered again.
  private(set) var storageFailure: StorageError?
  private var isStorageFailing = false
  var isDraining = false
  /// Set while the connections are being made ready to be handed over: guests open no more streams.
  var isHandingOver = false

  /// A call of this turn, so that it can be answered again.
  struct TurnCall {
    let peer: Peer
    let again: () -> Void
  }

  static let widgetCacheCount = 64

  struct CachedWidget {
    let id: WidgetID
    let revision: Revision
    let response: [UInt8]
  }

  init(
    eventLoop: any EventLoop, log: any CommitLog, image: StoreImage, policy: AccessPolicy,
    limits: ServerLimits, logger: Logger, version: String
  ) {
    self.eventLoop = eventLoop
    gate = LoopGate(eventLoop: eventLoop)
    self.log = log
    self.policy = policy
    self.limits = limits
    self.logger = logger
    self.version = version
    store = WidgetStore(
      image: image, limits: limits.store, isRevocable: log.needsGroups,
      timeZones: SystemTimeZones().rules)
    sentRevision = store.revision
    sentSequence = store.lastEventSequence
    sequenceAtStart = store.lastEventSequence
    now = ServiceLoop.wallClock()
    startTime = now
    awaitProviders()
  }

  /// What time it is, for the state machine.
  static func wallClock() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec)) ?? .epoch
  }

  // MARK: - The turn

  /// Opens the turn if it is not open: its end comes when everything that is readable was read.
  func openTurn() {
    guard !isTurnOpen else { return }
    isTurnOpen = true
    now = ServiceLoop.wallClock()
    eventLoop.assumeIsolated().execute { self.endTurn() }
  }

  /// Ends the turn that is open now, if one is: everything that was read is done, durable and sent.
  func finishTurn() {
    if isTurnOpen { endTurn() }
  }

  /// The same, and sends what has changed without waiting for the next round.
  func finishTurnAndRound() {
    nextRoundAt = .uptimeNanoseconds(0)
    openTurn()
    finishTurn()
  }

  /// Takes in whose answers are to be sent at the end of the turn.
  func touch(_ participant: any TurnParticipant) { touched.append(participant) }

  /// Remembers how to do a call again, in case the turn's group fails.
  func remember(_ peer: Peer, again: @escaping () -> Void) {
    if log.needsGroups { turnCalls.append(TurnCall(peer: peer, again: again)) }
  }

  /// Whether calls have to be remembered at all.
  var remembersCalls: Bool { log.needsGroups }

  private func endTurn() {
    markAbandoned()
    commit()
    providers.abandonedInTurn.removeAll()
    for participant in touched { participant.flushResponses() }
    touched.removeAll(keepingCapacity: true)
    turnCalls.removeAll(keepingCapacity: true)
    let opening = openings
    openings.removeAll()
    for open in opening { open() }
    serveProviders()
    sendRoundIfDue()
    for participant in touched { participant.flushResponses() }
    touched.removeAll(keepingCapacity: true)
    isTurnOpen = false
    if !openings.isEmpty { openTurn() }
    if !ready.isEmpty || providers.hasMore { goOnLater() }
    scheduleStoreDeadline()
  }

  /// Schedules a turn for the work that this turn has left. The pause lets the loop read first:
  /// otherwise long work would starve all calls.
  private func goOnLater() {
    guard nextTurnTimer == nil, !isTurnOpen else { return }
    nextTurnTimer = eventLoop.assumeIsolated().scheduleTask(in: ServiceLoop.turnPause) {
      self.nextTurnTimer = nil
      self.openTurn()
    }
  }

  /// The pause for reads before a turn that only resumes work.
  private static var turnPause: TimeAmount { .microseconds(100) }

  private func commit() {
    if log.needsGroups, store.hasPendingGroup {
      do throws(StorageError) {
        try log.append(store.pendingGroup())
        counters.groups += 1
        if isStorageFailing {
          isStorageFailing = false
          logger.notice("the store takes changes again")
        }
      } catch {
        takeBackTurn(because: error)
      }
    }
    store.commitGroup(at: now, retaining: sentRevision)
  }

  private func takeBackTurn(because error: StorageError) {
    counters.groupsFailed += 1
    let users = Set(turnCalls.map(\.peer.uid))
    recentErrors.record(
      .storageFailed(error), area: "storage", uid: users.count == 1 ? users.first : nil, at: now)
    if !isStorageFailing {
      isStorageFailing = true
      logger.error(
        "changes are refused until the store works again", metadata: ["error": "\(error)"])
    }
    store.rollbackGroup()
    takeBackProviders()
    forgetEncodings()
    for participant in touched { participant.discardResponses() }
    storageFailure = error
    let calls = turnCalls
    turnCalls.removeAll()
    for call in calls { call.again() }
    storageFailure = nil
  }

  /// Forgets what was encoded from a state that never came to be.
  private func forgetEncodings() {
    for index in widgetCache.indices { widgetCache[index] = nil }
    for group in groups.values { group.forgetFrames() }
  }

  // MARK: - Rounds of frames

  /// Sends what has changed, at most once in `frameIntervalMicroseconds`: the first change at once,
  /// what follows it closely together.
  private func sendRoundIfDue() {
    let hasNews = store.revision != sentRevision || store.lastEventSequence != sentSequence
    guard hasNews || !ready.isEmpty else { return }
    let instant = NIODeadline.now()
    if hasNews, !ready.isEmpty || instant >= nextRoundAt {
      nextRoundAt = instant + .microseconds(Int64(limits.frameIntervalMicroseconds))
      roundTimer?.cancel()
      roundTimer = nil
      sendRound(at: instant)
    } else if hasNews {
      guard roundTimer == nil else { return }
      roundTimer = eventLoop.assumeIsolated().scheduleTask(deadline: nextRoundAt) {
        self.roundTimer = nil
        self.openTurn()
      }
    } else {
      sendRound(at: instant)
    }
  }

  private func scheduleStoreDeadline() {
    guard deadlineTimer == nil, let deadline = store.nextDeadline else { return }
    let delay = deadline.duration(since: now)
    deadlineTimer = eventLoop.assumeIsolated().scheduleTask(
      in: .nanoseconds(max(0, delay.nanoseconds) + 1_000_000)
    ) {
      self.deadlineTimer = nil
      self.openTurn()
    }
  }

  /// Schedules the timer for the next blob that expires; if there are no blobs, no timer.
  func scheduleBlobExpiry() {
    guard blobTimer == nil, let expiry = blobs.nextExpiry else { return }
    blobTimer = eventLoop.assumeIsolated().scheduleTask(deadline: expiry) {
      self.blobTimer = nil
      self.blobs.expire(at: .now())
      self.scheduleBlobExpiry()
    }
  }

  /// Ends everything: the turn, all streams, the log. Call once, before the loop ends.
  func close() {
    isDraining = true
    finishTurn()
    for subscription in Array(subscriptions.values) {
      finish(subscription, .shuttingDown)
    }
    endProviders()
    endHealthWatches()
    do throws(StorageError) {
      if log.needsGroups, let last = store.closingGroup() { try log.append(last) }
    } catch {
      // So readers of events will be told of a gap where none was.
      logger.warning(
        "event numbers are left out at the next start", metadata: ["error": "\(error)"])
    }
    closeLog()
  }

  /// Stops timers and gives the store up.
  func closeLog() {
    roundTimer?.cancel()
    nextTurnTimer?.cancel()
    deadlineTimer?.cancel()
    blobTimer?.cancel()
    audienceTimer?.cancel()
    blobs.removeAll()
    do throws(StorageError) { try log.close() } catch {
      logger.error("the store was not closed well", metadata: ["error": "\(error)"])
    }
  }
}

extension Duration {
  /// Whole nanoseconds, clamped to what an `Int64` holds.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return carried ? (seconds < 0 ? .min : .max) : sum
  }
}
