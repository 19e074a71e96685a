import WidgetBundle
import WidgetClient
import WidgetModel

/// The host's conversation with the daemon: the host's session, which decides whether bundles run,
/// a conversation for each bundle, and the remains of earlier bundles.
///
/// A value without I/O. Its input is the daemon's news and answers, with the time as an argument.
/// Its output is calls, sessions and watches to open, and news for the bundles. It never blocks:
/// each wait has a deadline, and `nextDeadline` is the first one. A cancelled call is forgotten, so
/// a late answer changes nothing. Each wait after a failure is at least
/// `HostLimits.daemonWaitInitial`.
struct DaemonConversation: Sendable {
  enum Output: Sendable {
    case effect(DaemonEffect)
    /// News for the instance of a bundle.
    case tell(BundleInput, generation: UInt64)
    /// The daemon has taken a bundle's kinds and widgets, or refused them.
    case declared(generation: UInt64, refusal: String?)
    /// Retry the version of this bundle that the daemon has refused.
    case retry(id: String)
    /// The daemon refuses a bundle, and others have kinds or widgets that it declares.
    case blocked(id: String, by: Set<String>)
    /// The bundles that the daemon has, from an earlier host perhaps.
    case remembered([HostState.Remembered])
    /// Somebody sent an event to a widget of the host.
    case event(Event)
    /// A client asks for a snapshot of a bundle's kind.
    case preview(SnapshotQuestion, generation: UInt64, SessionID)
    case report(String)
    case note(String)
    /// The daemon takes this host, or cannot be reached: print the held reports.
    case release
    /// Print this before the held reports.
    case reportNow(String)
    /// Another host serves the daemon: drop the held reports.
    case discard
    /// A field of a bundle's file has no effect, or a value is gone with its widget.
    case kept(BundleClaims.KeptField, bundle: String)
    /// The daemon does not accept this host. `stop` must follow.
    case refused(Failure)
    /// The conversation is over.
    case ended
  }

  /// The receiver of a session's news.
  enum SessionOwner: Hashable, Sendable {
    case host
    case bundle(UInt64)
  }

  /// The purpose of a call.
  enum Purpose: Hashable, Sendable {
    /// Nobody waits for the answer.
    case nothing
    case hostReady
    case hostKinds
    case standing
    case goodbye
    case closing
    case trace
    case flush(UInt64)
    case ready(UInt64)
    case work(UInt64)
    case bundle(UInt64)
    case look(RestHolder)
    case withdrawal(String)
    case mark(String)
  }

  let limits: HostLimits
  var outputs: [Output] = []
  private var lastNumber: UInt64 = 0
  /// The calls without an answer.
  private(set) var purposes: [CallID: Purpose] = [:]
  var sessions: [SessionID: SessionOwner] = [:]
  var watches: [WatchID: UInt64] = [:]

  var host = HostSession()
  var standing = StandingWork()
  /// The bundles' conversations, by generation.
  var links: [UInt64: BundleLink] = [:]
  /// The sessions of bundles' earlier versions, by bundle, until the next version's kinds are
  /// registered: so nobody sees their widgets without a provider in between.
  var retiring: [String: [SessionID]] = [:]
  /// The sessions that are being closed, with their bundles and the ends of the waits.
  var closings: [CallID: (bundle: String, end: Duration)] = [:]
  /// The remains of removed bundles, by bundle.
  var withdrawals: [String: Withdrawal] = [:]
  var marks: [String: Mark] = [:]
  var rests: [RestHolder: Rest] = [:]
  /// The fields that were reported as kept by their owners, by bundle.
  var toldKept: [String: Set<BundleClaims.KeptField>] = [:]
  /// Widgets that a bundle's file no longer has, and that stay for a while.
  var holds: [WidgetID: Hold] = [:]
  /// The kinds of the widgets that this host has declared for each bundle.
  var declaredKinds: [String: Set<KindName>] = [:]
  /// The fields that each bundle's file declared last, by widget.
  var declaredFields: [String: [WidgetID: Set<String>]] = [:]
  var traces: TraceQueue
  var refusals: ChangeRefusals
  var stopping: Stopping?

  /// The end: the last declaration, the bundles' sessions, the host's session, in this order.
  struct Stopping: Hashable, Sendable {
    enum Step: Hashable, Sendable { case declaring, closingBundles, closingHost, ended }
    var step = Step.declaring
    let end: Duration
  }

  init(limits: HostLimits) {
    self.limits = limits
    traces = TraceQueue(limits)
    refusals = ChangeRefusals(limits)
  }

  var isStopped: Bool { stopping != nil }

  mutating func takeOutputs() -> [Output] {
    defer { outputs.removeAll(keepingCapacity: true) }
    return outputs
  }

  // MARK: Effects

  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  @discardableResult
  mutating func call(_ call: DaemonCall, for purpose: Purpose = .nothing) -> CallID {
    let id = CallID(number: nextNumber())
    purposes[id] = purpose
    outputs.append(.effect(.call(id, call)))
    return id
  }

  mutating func cancel(_ id: CallID?) {
    guard let id, purposes.removeValue(forKey: id) != nil else { return }
    outputs.append(.effect(.cancel(id)))
  }

  mutating func open(_ request: SessionRequest, for owner: SessionOwner) -> SessionID {
    let id = SessionID(number: nextNumber())
    sessions[id] = owner
    outputs.append(.effect(.open(id, request)))
    return id
  }

  /// Closes a session. Its news is ignored from now on.
  mutating func close(_ session: SessionID, of bundle: String, at now: HostTime) {
    sessions[session] = nil
    closings[call(.close(session), for: .closing)] = (bundle, now.uptime + limits.closeWaitMax)
  }

  // MARK: Inputs

  mutating func handle(_ input: DaemonInput, at now: HostTime) {
    switch input {
    case .session(let id, let news):
      switch sessions[id] {
      case nil: return
      case .host: heard(news, id, at: now)
      case .bundle(let generation): heard(news, generation, id, at: now)
      }
    case .sessionEnded(let id, let failure):
      guard let owner = sessions[id] else { return }
      switch owner {
      case .host: hostEnded(id, failure, at: now)
      case .bundle(let generation): ended(id, failure, generation, at: now)
      }
    case .watch(let id, let news):
      guard let generation = watches[id] else { return }
      heard(news, generation, at: now)
    case .watchEnded(let id, let failure):
      guard let generation = watches.removeValue(forKey: id) else { return }
      watchEnded(failure, generation, at: now)
    case .answered(let id, let result):
      guard let purpose = purposes.removeValue(forKey: id) else { return }
      answered(id, purpose, result, at: now)
    }
  }

  private mutating func answered(
    _ id: CallID, _ purpose: Purpose, _ result: Result<DaemonAnswer, Failure>, at now: HostTime
  ) {
    noteRefusal(purpose, result, at: now)
    switch purpose {
    case .nothing: break
    case .hostReady: hostReady(result, at: now)
    case .hostKinds:
      if case .failure(let failure) = result { report(failure.message) }
      // The daemon does not report widgets that are removed while they have no provider.
      standing.version += 1
    case .standing: standingAnswered(result, at: now)
    case .goodbye: stopping?.step = .closingBundles
    case .closing: closings[id] = nil
    case .trace: traces.sent(result, at: now.uptime)
    case .flush(let generation): flushed(id, generation)
    case .ready(let generation): ready(result, generation, at: now)
    case .work(let generation): workAnswered(result, generation, at: now)
    case .bundle(let generation): bundleAnswered(result, generation)
    case .look(let holder): looked(result, holder, at: now)
    case .withdrawal(let bundle): withdrawalAnswered(result, bundle, at: now)
    case .mark(let bundle): markAnswered(result, bundle, at: now)
    }
  }

  /// Reports that the daemon refuses changes for now, and notes that it takes them. Only an updated
  /// widget shows that: other calls may have changed nothing.
  private mutating func noteRefusal(
    _ purpose: Purpose, _ result: Result<DaemonAnswer, Failure>, at now: HostTime
  ) {
    switch (purpose, result) {
    case (.bundle, .success(.revision)): refusals.taken()
    case (.bundle, .failure(let failure)), (.work, .failure(let failure)),
      (.standing, .failure(let failure)), (.withdrawal, .failure(let failure)),
      (.mark, .failure(let failure)), (.nothing, .failure(let failure)):
      if let line = refusals.refused(failure, at: now.uptime) { report(line) }
    default: break
    }
  }

  mutating func report(_ text: String) { outputs.append(.report(text)) }

  /// Begins the work that can begin now. Call it after the outputs of each change have been
  /// handled. Call it again after its outputs, until there are none.
  mutating func settle(at now: HostTime) {
    guard stopping == nil else { return proceedStopping(at: now) }
    closeRetired(at: now)
    proceedWithdrawals(at: now)
    proceedStanding(at: now)
    proceedMarks(at: now)
    for generation in links.keys.sorted() { proceed(generation, at: now) }
    if let event = traces.next(at: now.uptime) {
      call(
        .send(event.widget, name: "traced", payload: event.payload, force: true), for: .trace)
    }
  }

  // MARK: Time

  /// The time of the next `tick`; nil if nothing waits.
  var nextDeadline: Duration? {
    var next: Duration?
    func consider(_ deadline: Duration?) {
      guard let deadline else { return }
      next = min(next ?? deadline, deadline)
    }
    if let stopping {
      if stopping.step != .ended { consider(stopping.end) }
      return next
    }
    consider(host.retryAt)
    consider(host.restoreAt)
    consider(standing.retryAt)
    consider(traces.deadline)
    consider(refusals.deadline)
    for closing in closings.values { consider(closing.end) }
    for link in links.values { consider(link.nextDeadline) }
    for hold in holds.values { consider(hold.end) }
    for rest in rests.values {
      consider(rest.lookAt)
      consider(rest.end)
    }
    if host.isHolding {
      for withdrawal in withdrawals.values { consider(withdrawal.retryAt) }
      for mark in marks.values { consider(mark.retryAt) }
    }
    return next
  }

  /// Time has passed.
  mutating func tick(at now: HostTime) {
    func isDue(_ deadline: Duration?) -> Bool { deadline.map { $0 <= now.uptime } ?? false }
    if let stopping {
      if isDue(stopping.end), stopping.step != .ended { end() }
      return
    }
    if isDue(host.retryAt) {
      host.retryAt = nil
      connectHost()
    }
    if isDue(host.restoreAt) {
      host.restoreAt = nil
      restoreHost(at: now)
    }
    if isDue(standing.retryAt) { standing.retryAt = nil }
    if let line = refusals.tick(at: now.uptime) { outputs.append(.note(line)) }
    for (call, closing) in closings where isDue(closing.end) {
      closings[call] = nil
      purposes[call] = nil
    }
    endHolds(at: now)
    for generation in links.keys.sorted() { tick(generation, at: now) }
    for (holder, rest) in rests.sorted(by: { $0.key < $1.key }) {
      if isDue(rest.end) {
        endRest(holder)
      } else if isDue(rest.lookAt) {
        look(holder)
      }
    }
    for (id, withdrawal) in withdrawals where isDue(withdrawal.retryAt) {
      withdrawals[id]?.retryAt = nil
    }
    for (id, mark) in marks where isDue(mark.retryAt) { marks[id]?.retryAt = nil }
  }

  // MARK: The end

  /// Ends everything. `ended` follows, at the latest after `HostLimits.closeWaitMax`.
  ///
  /// - Parameter last: the widgets that show how the host and its bundles ended.
  mutating func stop(_ last: [WidgetSpec], at now: HostTime) {
    guard stopping == nil else { return }
    let isServing = host.isServing
    stopping = Stopping(end: now.uptime + limits.closeWaitMax)
    for generation in links.keys.sorted() { close(generation) }
    for holder in Array(rests.keys) { cancelRest(holder) }
    let kept = Set(closings.keys)
    for id in purposes.keys.sorted(by: { $0.number < $1.number }) where !kept.contains(id) {
      cancel(id)
    }
    // If somebody stopped the daemon first, all its widgets have stopped too.
    if isServing {
      let specs = last + standing.others(than: last)
      call(
        .declare(specs + standing.kept(leavingBundles, beside: specs), set: HostState.provider),
        for: .goodbye)
    } else {
      stopping?.step = .closingBundles
    }
  }

  private mutating func proceedStopping(at now: HostTime) {
    if stopping?.step == .closingBundles {
      for (bundle, sessions) in retiring.sorted(by: { $0.key < $1.key }) {
        for session in sessions { close(session, of: bundle, at: now) }
      }
      retiring = [:]
      guard closings.isEmpty else { return }
      stopping?.step = .closingHost
      if let session = host.session { close(session, of: "", at: now) }
      host.session = nil
    }
    if stopping?.step == .closingHost, closings.isEmpty { end() }
  }

  private mutating func end() {
    for id in purposes.keys.sorted(by: { $0.number < $1.number }) { cancel(id) }
    closings = [:]
    stopping?.step = .ended
    outputs.append(.ended)
  }
}
