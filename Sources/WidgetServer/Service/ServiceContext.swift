import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

/// The shared parts of the service: the store, the turn, the limits, the counters and the log.
/// Other parts read them, and change them only with the methods here. Other state is private to its
/// part.
///
/// Confined to `eventLoop`.
final class ServiceContext {
  let eventLoop: any EventLoop
  let turn: Turn
  let work: WorkQueue
  let disposals: KindDisposals
  let upkeep: StreamUpkeep
  let pause = ChangePause()
  let clock: ServiceClock
  let codec = WireCodec()
  let counters = Counters()
  /// The start of the service.
  private(set) var startedAt = NIODeadline.now()
  /// All changes go through the methods of the context.
  private(set) var store: WidgetStore
  private(set) var limits: ServerLimits
  private(set) var logger: Logger
  private(set) var recentErrors = RecentErrors()
  private var reportedFailures = ReportedFailures()
  private(set) var streamAccounts = StreamAccounts()
  private var peerLines = PeerLines()
  private var peerLineTimer: Scheduled<Void>?
  private(set) var phase = Phase.serving
  /// The message that is being carried out, if it was decoded before.
  private var decoded: (any WireMessage)?
  /// The user of the last command that could replace or remove kinds.
  private var kindsUID: UInt32 = 0
  /// The compiled kinds that commands of the group have replaced or removed, by user.
  private var dropped: [UInt32: DroppedKinds] = [:]
  /// The last event of the process that handed its connections over.
  private var formerSequence: UInt64?
  /// The event after which this process began.
  private let sequenceAtStart: UInt64
  /// The number of rows of refresh budgets that the turn will store.
  private var budgetRows = 0
  /// The number of rows of answers that the turn will store for repeated requests.
  private var answerRows = 0
  /// Counts the possible changes of providers' kinds.
  private(set) var kindsVersion: UInt64 = 0

  enum Phase {
    case serving
    /// The connections are being prepared for another process: guests open no more streams.
    case handingOver
    case draining
  }

  init(
    eventLoop: any EventLoop, turn: Turn, store: consuming WidgetStore, limits: ServerLimits,
    logger: Logger, clock: ServiceClock = .real
  ) {
    self.clock = clock
    self.eventLoop = eventLoop
    self.turn = turn
    work = WorkQueue(turn: turn)
    disposals = KindDisposals(in: work)
    upkeep = StreamUpkeep(in: work)
    sequenceAtStart = store.lastEventSequence
    self.store = store
    self.limits = limits
    self.logger = logger
  }

  // MARK: - Phases

  /// Guests open no more streams from now on.
  func prepareHandover() { phase = .handingOver }

  /// From now on, the service opens and changes nothing. Its streams end in slices.
  func beginDraining() { phase = .draining }
  /// The same, and no slices follow.
  func drain() {
    phase = .draining
    upkeep.stop()
  }

  /// Continues the numbers of the process that handed its connections over.
  func follow(_ handover: Handover) {
    streamAccounts.continueIDs(after: handover.lastSubscriptionID)
    formerSequence = handover.lastSequence
  }

  /// Moves the start of the service, for tests.
  func moveStart(by delay: TimeAmount) { startedAt = startedAt + delay }

  // MARK: - Settings

  /// Puts new limits and a new log level in force.
  func reconfigure(_ limits: ServerLimits, _ level: Logger.Level) {
    self.limits = limits
    store.limits = limits.store
    setLogLevel(level)
  }

  func setLogLevel(_ level: Logger.Level) { logger.logLevel = level }

  // MARK: - Commands

  /// Applies a caller's command as a part of the turn.
  func apply(
    _ command: Command, by peer: Peer, client: String = ""
  ) throws(RPCStatus) -> Commit {
    switch command {
    case .applyKinds, .deleteKind: kindsMayHaveChanged()
    default: break
    }
    do throws(StoreError) {
      return try commit(command, by: Caller(uid: peer.uid, pid: peer.pid, client: client))
    } catch {
      if case .reducerFailed(let id, _, let failure) = error { show(failure, on: id, to: peer) }
      throw RPCStatus(error, of: command) { id in
        store.widget(id).map {
          WidgetSpec(
            id: id, kind: $0.kind, parameters: $0.parameters, data: $0.data,
            timeline: store.storedTimeline(of: id))
        }
      }
    }
  }

  /// Shows the failure of a reducer as the error of its widget, because the sender of the event may
  /// be a bar that shows no errors. The log has each failure once.
  private func show(_ failure: ReducerFailure, on id: WidgetID, to peer: Peer) {
    // If the widget's owner has no room for the error, only the log has it.
    _ = try? commit(.markFailure(id, failure), by: Caller(uid: 0, pid: 0, client: ""))
    guard reportedFailures.add(failure.mark.message, of: id) else { return }
    log(
      .warning, "widget \(id): \(failure.mark.message)", about: "reducers", of: peer.uid,
      ["widget_id": "\(id)", "event": "\(failure.event)", "place": "\(failure.place)"])
  }

  /// Applies a command as a part of the turn, and counts its commit.
  @discardableResult
  func commit(_ command: Command, by caller: Caller) throws(StoreError) -> Commit {
    switch command {
    case .applyKinds, .deleteKind: kindsUID = caller.uid
    default: break
    }
    defer {
      takeDroppedKinds()
      noteRows()
    }
    let commit = try store.apply(command, by: caller, at: turn.now)
    if commit.isChange { counters.countCommit() }
    return commit
  }

  /// Lets the slice and the turn under way count the rows that the group will write.
  private func noteRows() {
    work.noteRows(
      count: store.pendingRows + budgetRows + answerRows, bytes: store.pendingBytes)
  }

  /// Lets the slice and the turn under way count the rows of refresh budgets.
  func noteBudgetRows(_ count: Int) {
    budgetRows += count
    noteRows()
  }

  /// The rows of refresh budgets are stored, or wait for another attempt.
  func forgetBudgetRows() {
    guard budgetRows > 0 else { return }
    budgetRows = 0
    noteRows()
  }

  private func takeDroppedKinds() {
    guard store.hasDroppedKinds else { return }
    dropped[kindsUID, default: DroppedKinds()].add(store.takeDroppedKinds())
  }

  /// Carries out a message that is decoded, and whose kinds are compiled.
  func carryOut(_ message: any WireMessage, _ compiled: CompiledKinds, _ body: () -> Void) {
    decoded = message
    store.use(compiled)
    body()
    decoded = nil
    store.use(nil)
  }

  func kindsMayHaveChanged() {
    kindsVersion += 1
    reportedFailures = ReportedFailures()
  }

  /// Lets the store forget events that a provider has handled. Does nothing while the store takes no
  /// changes: the events then come again after a restart.
  func acknowledge(_ sequence: UInt64, by caller: Caller, _ provider: String) {
    _ = try? store.apply(
      .acknowledge(provider: provider, through: sequence), by: caller, at: turn.now)
  }

  /// Keeps the answer for a repeated request, as a part of the turn's group.
  func remember(requestID: String, of uid: UInt32, fingerprint: UInt64, response: [UInt8]) {
    store.remember(
      requestID: requestID, of: uid, fingerprint: fingerprint, response: response,
      at: turn.runningTime)
    answerRows += 1
    noteRows()
  }

  /// Caches a family's content while it has readers. `dropContent` ends it.
  func keepContent(of family: Family) { store.keepContent(of: family) }

  /// Returns whether the family has no more readers. Its content then waits for `evictContents`.
  func dropContent(of family: Family) -> Bool { store.dropContent(of: family) }

  /// Evicts content that waits, from a slot on. Returns the next slot; nil at the end.
  func evictContents(from slot: Int, _ slice: TimeSlice) -> Int? {
    store.evictContents(from: slot) { slice.isOver }
  }

  // MARK: - Groups

  /// Ends the group of the turn, which is durable.
  ///
  /// - Parameter onlyRemoved: Whether the group was made with `onlyRemoves`.
  func commitGroup(retaining retained: Revision, onlyRemoved: Bool = false) {
    store.commitGroup(at: turn.runningTime, retaining: retained, onlyRemoved: onlyRemoved)
    answerRows = 0
    noteRows()
    // Only now, because the group could have been taken back.
    for (uid, kinds) in dropped { disposals.add(kinds, of: uid) }
    dropped.removeAll()
  }

  /// Takes the group of the turn back, which could not be made durable.
  func rollbackGroup() {
    store.rollbackGroup()
    answerRows = 0
    noteRows()
    takeDroppedKinds()
  }

  /// The widgets whose providers are to be asked for new data. Each is returned once.
  func takeRefreshes() -> [WidgetID] { store.takeRefreshes() }

  // MARK: - Time in the store

  /// Ends and removes the activities that are due at the time of the turn.
  func settleActivities(
    costMax: Int, widgetsMax: Int, _ slice: TimeSlice
  ) -> WidgetStore.Advance {
    defer { noteRows() }
    let bytesMax = clock.isFake ? .max : WorkQueue.rowBytesMax
    return store.settleActivities(
      to: turn.now, costMax: costMax, widgetsMax: widgetsMax, bytesMax: bytesMax
    ) { slice.isOver }
  }

  /// Makes some widgets of lost providers stale.
  func abandon(
    _ walk: inout Abandonment, widgetsMax: Int, _ slice: TimeSlice
  ) -> WidgetStore.Advance {
    defer { noteRows() }
    return store.abandon(
      &walk, at: turn.now, widgetsMax: widgetsMax, bytesMax: WorkQueue.rowBytesMax
    ) { slice.isOver }
  }

  /// Updates widgets to the time of the turn.
  func advance(costMax: Int, _ slice: TimeSlice) -> WidgetStore.Advance {
    store.advance(to: turn.now, costMax: costMax) { slice.isOver }
  }

  /// Updates embeds after changes of the embedded widgets.
  func settleEmbeds(costMax: Int, _ slice: TimeSlice) -> WidgetStore.Advance {
    store.settleEmbeds(at: turn.now, costMax: costMax) { slice.isOver }
  }

  /// Handles a system clock that was set back, to the time of the turn.
  func clockWentBack() { store.clockWentBack(to: turn.now) }

  /// Adds revisions for changes by time to the group of the turn.
  func reserveRevisions() { store.reserveRevisions() }

  /// The next date when the store has work even without readers.
  func nextDuty() -> Timestamp? { store.nextDuty() }

  // MARK: - Messages

  func decode<M: WireMessage>(
    _ type: M.Type, _ payload: UnsafeRawBufferPointer
  ) throws(RPCStatus) -> M {
    if let decoded, let message = decoded as? M { return message }
    do throws(WireError) { return try codec.decode(type, from: payload) } catch {
      throw RPCStatus(error)
    }
  }

  /// Decodes a request whose values have a quota together. Refuses a request that is far above the
  /// quota before its values are read, because sorting 100,000 keys takes longer than a turn.
  func decode<M: WireMessage>(
    _ type: M.Type, _ payload: UnsafeRawBufferPointer, quota limit: String, _ maximum: Int
  ) throws(RPCStatus) -> M {
    // A value takes at most twice its cost on the wire. The rest of the request is small.
    guard payload.count <= 2 * maximum + ServiceContext.requestRestBytesMax else {
      throw .quotaExceeded(limit, maximum)
    }
    do throws(WireError) {
      return try codec.decode(
        type, from: payload, entriesMax: maximum / Value.costBytesMin)
    } catch {
      if case .budgetExceeded = error { throw .quotaExceeded(limit, maximum) }
      throw RPCStatus(error)
    }
  }

  /// The maximum size of a request without the values that have a quota, in bytes.
  private static let requestRestBytesMax = 64 << 10

  /// Encodes a message for streams. Returns nil if it is larger than `limit` or cannot be encoded.
  func encode<M: WireMessage>(
    _ message: M, mask: ReadMask = .all, atMost limit: Int = FrameHeader.frameDataBytesMax
  ) -> EncodedMessage? {
    do throws(WireError) {
      let encoded: EncodedMessage? = try codec.withEncoded(message, mask: mask) { packed in
        guard packed.byteCount <= limit else { return nil }
        return EncodedMessage(byteCount: packed.byteCount) { packed.pack(into: $0) }
      }
      if encoded != nil { counters.countEncodedFrame() }
      return encoded
    } catch {
      logger.debug("a frame cannot be encoded", metadata: ["error": "\(error)"])
      return nil
    }
  }

  // MARK: - Streams

  /// Counts one more stream, if its user may have one more. Keeps the compiled expression of its
  /// selector. All users who may only ask for health share a small number.
  ///
  /// - Parameters:
  ///   - termBytes: The memory of the other terms of its filter.
  ///   - isTakenOver: Whether a former process opened it. Then no quota refuses it.
  func openStream(
    of peer: Peer, _ level: AccessPolicy.Level = .client, selecting selector: Selector = Selector(),
    termBytes: Int = 0, isTakenOver: Bool = false
  ) throws(RPCStatus) {
    guard phase != .draining else { throw .shuttingDown }
    let selectorBytes = store.expressionBytes(of: selector) + selector.idSetBytes + termBytes
    if isTakenOver {
      streamAccounts.add(for: peer.uid, level, selectorBytes: selectorBytes)
    } else {
      try streamAccounts.open(for: peer.uid, level, selectorBytes: selectorBytes, limits)
    }
    store.keepExpression(of: selector)
  }

  /// Counts a stream of a former process that is not taken over yet. `releaseStream` ends this.
  func countUntakenStream(of uid: UInt32, _ level: AccessPolicy.Level) {
    streamAccounts.add(for: uid, level, selectorBytes: 0)
  }

  /// Refuses a stream that `openStream` would refuse.
  func checkStream(
    of peer: Peer, _ level: AccessPolicy.Level, selecting selector: Selector, termBytes: Int
  ) throws(RPCStatus) {
    let selectorBytes = store.expressionBytes(of: selector) + selector.idSetBytes + termBytes
    try streamAccounts.check(for: peer.uid, level, selectorBytes: selectorBytes, limits)
  }

  /// Counts a stream that waits to be opened, if its user may have one more.
  ///
  /// - Parameter bytes: The memory of its request.
  func reserveStream(
    of peer: Peer, _ level: AccessPolicy.Level, bytes: Int
  ) throws(RPCStatus) {
    guard phase != .draining else { throw .shuttingDown }
    try streamAccounts.open(for: peer.uid, level, selectorBytes: bytes, limits)
  }

  /// Stops counting a stream that waited.
  func releaseStream(of uid: UInt32, _ level: AccessPolicy.Level, bytes: Int) {
    streamAccounts.close(of: uid, level, selectorBytes: bytes)
  }

  /// The number of a new stream.
  func takeStreamID() -> UInt64 { streamAccounts.takeID() }

  /// Stops counting a stream.
  func closeStream(
    of uid: UInt32, _ level: AccessPolicy.Level = .client,
    selecting selector: Selector = Selector(), termBytes: Int = 0
  ) {
    let selectorBytes = store.dropExpression(of: selector) + selector.idSetBytes + termBytes
    streamAccounts.close(of: uid, level, selectorBytes: selectorBytes)
  }

  /// The cursor of a reader that had all events up to a number. The events of this process begin
  /// after `sequenceAtStart`, which skips numbers. If the reader had the last event of the process
  /// that handed over, its cursor becomes `sequenceAtStart`, so that it gets no gap for the skipped
  /// numbers.
  func eventCursor(after sequence: UInt64) -> UInt64 {
    sequence == formerSequence ? max(sequence, sequenceAtStart) : sequence
  }

  // MARK: - Time

  @discardableResult
  func schedule(at deadline: NIODeadline, _ body: @escaping () -> Void) -> Scheduled<Void> {
    eventLoop.assumeIsolated().scheduleTask(deadline: deadline, body)
  }

  @discardableResult
  func schedule(in delay: TimeAmount, _ body: @escaping () -> Void) -> Scheduled<Void> {
    eventLoop.assumeIsolated().scheduleTask(in: delay, body)
  }

  // MARK: - Failures

  /// Keeps an error for `GetStats`.
  func keep(_ status: RPCStatus, area: String, uid: UInt32? = nil, at time: Timestamp) {
    recentErrors.add(status, area: area, uid: uid, at: time)
  }

  /// Counts and logs a call or stream that was refused or failed. Keeps it if the daemon is to blame.
  func note(_ method: Method, _ status: RPCStatus, of peer: Peer) {
    counters.countFailedCall()
    var level = Logger.Level.debug
    if RecentErrors.isWorthKeeping(status) {
      let count = recentErrors.add(status, area: method.fullName, uid: peer.uid, at: turn.now)
      // The occurrences 1, 2, 4, 8 and so on are warnings, so that a repeated failure does not fill
      // the journal.
      if count & (count - 1) == 0 { level = .warning }
    }
    guard logger.logLevel <= level else { return }
    var metadata: Logger.Metadata = [
      "method": "\(method.fullName)", "code": "\(status.code)",
      "reason": "\(status.errorInfo?.reason ?? "")", "revision": "\(store.revision)",
    ]
    if let id = status.errorInfo?.metadata["widget_id"] { metadata["widget_id"] = "\(id)" }
    if peer.pid > 0 { metadata["pid"] = "\(peer.pid)" }
    log(
      level, "a call failed: \(status.message)", about: "calls", of: peer.uid, metadata)
  }

  // MARK: - Lines about peers

  /// Logs a line that a peer can cause: all of them, if the level is debug or lower, else at a
  /// bounded rate. See `PeerLines`.
  ///
  /// - Parameter subject: Of the lines of one user about one subject, the last one stands for others.
  /// - Parameter uid: The user; nil if no single user is the cause.
  func log(
    _ level: Logger.Level, _ message: String, about subject: String, of uid: UInt32?,
    _ metadata: Logger.Metadata
  ) {
    guard logger.logLevel <= level else { return }
    var metadata = metadata
    if let uid { metadata["uid"] = "\(uid)" }
    let line = PeerLines.Line(
      uid: uid, subject: subject, level: level, message: message, metadata: metadata)
    if level <= .debug || peerLines.note(line, at: .now()) { return write(line) }
    schedulePeerLines()
  }

  /// Logs that a peer's connection is closed.
  func logClosing(_ peer: Peer, because reason: String) {
    var metadata: Logger.Metadata = ["reason": "\(reason)"]
    if peer.pid > 0 { metadata["pid"] = "\(peer.pid)" }
    log(.info, "closing a connection", about: "closing", of: peer.uid, metadata)
  }

  private func write(_ line: PeerLines.Line) {
    logger.log(level: line.level, "\(line.message)", metadata: line.metadata)
  }

  private func schedulePeerLines() {
    guard peerLineTimer == nil, let due = peerLines.nextDue else { return }
    peerLineTimer = schedule(at: due) { [weak self] in
      guard let self else { return }
      peerLineTimer = nil
      for line in peerLines.takeDue(at: .now()) { write(line) }
      schedulePeerLines()
    }
  }

  /// Writes the waiting lines, because the process ends.
  func writePeerLines() {
    peerLineTimer?.cancel()
    for line in peerLines.takeDue(at: .now() + PeerLines.period) { write(line) }
  }
}
