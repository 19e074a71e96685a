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
    case declared(generation: UInt64, refusal: String?, isLimit: Bool)
    /// Retry the version of this bundle that the daemon has refused.
    case retry(id: String)
    /// The refusal of this bundle has new words, because the file of another bundle has changed.
    case reworded(id: String, refusal: String)
    /// The daemon refuses a bundle, and others have kinds or widgets that it declares.
    case blocked(id: String, by: Set<String>)
    /// The bundles that the daemon has, from an earlier host perhaps, and the marks of bundles that
    /// earlier hosts have removed.
    case remembered([HostState.Remembered], removals: [String])
    /// The daemon has this host as the one that shows bundles, or has it no more.
    case attendance(isAway: Bool)
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
    /// The log has this line about a value that a bundle's file has replaced, or that does not fit
    /// its kinds and is not kept. The bundle's widget shows it, too.
    case loss(String, bundle: String)
    /// The daemon has dropped events of a bundle, which had numbers in this range.
    case dropped(ClosedRange<UInt64>, generation: UInt64)
    /// The edits of a bundle's file that have no effect, because somebody else has set the fields.
    case edits([BundleClaims.KeptField], generation: UInt64)
    /// The widgets that a bundle's file lacks, and that wait for their removal. The kinds are also
    /// those of widgets whose time is over, until these are removed.
    case held([Holds.Waiting], kinds: Set<KindName>, generation: UInt64)
    /// The registered kinds of programs.
    case programKinds(Set<KindName>)
    /// The daemon has nothing of further removed bundles, so their marks can go.
    case removalsConfirmed
    /// The daemon does not accept this host. `stop` must follow.
    case refused(Failure)
    /// The conversation is over.
    case ended
  }

  let limits: HostLimits
  private(set) var stopping: Stopping?

  // The parts. Each has private state, which only its functions change. The extensions of this type
  // connect the parts, and have no state.

  var exchange = Exchange()
  var host = HostSession()
  var standing = StandingWork()
  var links = BundleLinks()
  var ending = EndingSessions()
  var declarations = BundleDeclarations()
  var holds = Holds()
  var heldChanges = HeldChanges()
  /// The widgets that wait for their removal, as the instances were told last.
  var toldWaiting: [UInt64: Set<WidgetID>] = [:]
  /// Those of them whose time is over, as the instances were told last.
  var toldEnding: [UInt64: Set<WidgetID>] = [:]
  /// The declarations that remove widgets whose time is over, by generation. Each waits for the
  /// changes of the instances that end the widgets' actions, at most until its time.
  var endings: [UInt64: (servers: Set<UInt64>, latest: Duration)] = [:]
  var withdrawals = Withdrawals()
  var marks = Marks()
  var unmarks = Unmarks()
  var rests = Rests()
  var traces: TraceQueue
  var refusals: ChangeRefusals
  /// The lines about widgets whose time has begun, while another bundle may take them over.
  var unsaidHolds: [WidgetID: String] = [:]
  /// The bundles whose file has a mistake now.
  private(set) var broken: Set<String> = []
  /// The bundles whose file is missing now.
  private(set) var missing: Set<String> = []
  /// The times at which missing bundles are removed. A bundle without a time stays.
  private(set) var removals: [String: Duration] = [:]

  init(limits: HostLimits) {
    self.limits = limits
    traces = TraceQueue(limits)
    refusals = ChangeRefusals(limits)
  }

  var isStopped: Bool { stopping != nil }

  // MARK: Outputs

  mutating func takeOutputs() -> [Output] { exchange.takeOutputs() }

  mutating func put(_ output: Output) { exchange.put(output) }

  mutating func report(_ text: String) { put(.report(text)) }

  @discardableResult
  mutating func call(_ call: DaemonCall, for purpose: Exchange.Purpose = .nothing) -> CallID {
    exchange.call(call, for: purpose)
  }

  mutating func cancel(_ id: CallID?) {
    if let id { exchange.cancel(id) }
  }

  /// Closes a session. Its news is ignored from now on.
  mutating func close(_ session: SessionID, of bundle: String, at now: HostTime) {
    exchange.leave(session)
    ending.close(
      with: call(.close(session), for: .closing), of: bundle,
      until: now.uptime + limits.closeWaitMax)
  }

  // MARK: Inputs

  mutating func handle(_ input: DaemonInput, at now: HostTime) {
    switch input {
    case .session(let id, let news):
      switch exchange.owner(of: id) {
      case nil: return
      case .host: heard(news, id, at: now)
      case .bundle(let generation): heard(news, generation, id, at: now)
      }
    case .sessionEnded(let id, let failure):
      switch exchange.owner(of: id) {
      case nil: return
      case .host: hostEnded(id, failure, at: now)
      case .bundle(let generation): ended(id, failure, generation, at: now)
      }
    case .watch(let id, let news):
      guard let generation = exchange.bundle(of: id) else { return }
      heard(news, generation, at: now)
    case .watchEnded(let id, let failure):
      guard let generation = exchange.watchEnded(id) else { return }
      watchEnded(failure, generation, at: now)
    case .answered(let id, let result):
      guard let purpose = exchange.end(id) else { return }
      answered(id, purpose, result, at: now)
    }
  }

  private mutating func answered(
    _ id: CallID, _ purpose: Exchange.Purpose, _ result: Result<DaemonAnswer, Failure>,
    at now: HostTime
  ) {
    noteRefusal(purpose, result, at: now)
    switch purpose {
    case .nothing: break
    case .hostReady: hostReady(result, at: now)
    case .hostKinds:
      if case .failure(let failure) = result { report(failure.message) }
      // The daemon does not report widgets that are removed while they have no provider.
      standing.declareAgain()
    case .standing: standingAnswered(result, at: now)
    case .goodbye: stopping?.declared()
    case .closing: ending.closed(id)
    case .trace: traces.sent(result, at: now.uptime)
    case .flush(let generation): flushed(id, generation)
    case .ready(let generation): ready(result, generation, at: now)
    case .work(let generation): workAnswered(result, generation, at: now)
    case .bundle(let generation): bundleAnswered(result, generation)
    case .look(let holder): looked(result, holder, at: now)
    case .withdrawal(let bundle): withdrawalAnswered(result, bundle, at: now)
    case .mark: markAnswered(result, at: now)
    case .unmark(let bundle): unmarkAnswered(result, bundle, at: now)
    case .held(let id): heldAnswered(result, id, at: now)
    case .registeredKinds: kindsAnswered(result)
    }
  }

  /// Reports that the daemon refuses changes for now, and notes that it takes them. Only an updated
  /// widget shows that: other calls may have changed nothing.
  private mutating func noteRefusal(
    _ purpose: Exchange.Purpose, _ result: Result<DaemonAnswer, Failure>, at now: HostTime
  ) {
    switch (purpose, result) {
    case (.bundle, .success(.revision)): refusals.taken()
    case (.bundle, .failure(let failure)), (.work, .failure(let failure)),
      (.standing, .failure(let failure)), (.withdrawal, .failure(let failure)),
      (.mark, .failure(let failure)), (.unmark, .failure(let failure)),
      (.held, .failure(let failure)), (.nothing, .failure(let failure)):
      if let line = refusals.refused(failure, at: now.uptime) { report(line) }
    default: break
    }
  }

  /// Begins the work that can begin now. Call it after the outputs of each change have been
  /// handled. Call it again after its outputs, until there are none.
  mutating func settle(at now: HostTime) {
    guard stopping == nil else { return proceedStopping(at: now) }
    closeRetired(at: now)
    tellResumed()
    proceedWithdrawals()
    proceedStanding()
    proceedMarks()
    pauseHolds(at: now)
    followRemovals()
    showHolds(at: now)
    reportHolds()
    changeHeld()
    for generation in links.generations {
      proceed(generation, at: now)
      tellHolds(generation)
    }
    if let event = traces.next(at: now.uptime) {
      call(
        .send(event.widget, name: "traced", payload: event.payload, force: true), for: .trace)
    }
  }

  // MARK: Time

  /// The time of the next `tick`; nil if nothing waits.
  var nextDeadline: Duration? {
    if let stopping { return stopping.deadline }
    var deadlines = [
      host.nextDeadline, standing.nextDeadline, traces.deadline, refusals.deadline,
      ending.nextDeadline, holds.nextDeadline, rests.nextDeadline,
    ]
    deadlines += links.all.map(\.nextDeadline)
    deadlines.append(endings.values.map(\.latest).min())
    if host.isHolding {
      deadlines += [
        withdrawals.nextDeadline, marks.nextDeadline, unmarks.nextDeadline,
        heldChanges.nextDeadline,
      ]
    }
    return deadlines.compactMap(\.self).min()
  }

  mutating func setUnread(
    broken: Set<String>, missing: Set<String>, removals: [String: Duration]
  ) {
    if removals != self.removals { holds.outdateEnds() }
    (self.broken, self.missing, self.removals) = (broken, missing, removals)
  }

  /// Time has passed.
  mutating func tick(at now: HostTime) {
    if let stopping {
      if let deadline = stopping.deadline, deadline <= now.uptime { end() }
      return
    }
    tickHost(at: now)
    if let line = refusals.tick(at: now.uptime) { put(.note(line)) }
    for call in ending.tick(at: now.uptime) { exchange.end(call) }
    endHolds(at: now)
    for generation in links.generations { tick(generation, at: now) }
    tickRests(at: now)
    withdrawals.tick(at: now.uptime)
    marks.tick(at: now.uptime)
    unmarks.tick(at: now.uptime)
    heldChanges.tick(at: now.uptime)
  }

  // MARK: The end

  /// Ends everything. `ended` follows, at the latest after `HostLimits.closeWaitMax`.
  ///
  /// - Parameter last: the widgets that show how the host and its bundles ended.
  mutating func stop(_ last: [WidgetSpec], at now: HostTime) {
    guard stopping == nil else { return }
    let isServing = host.isServing
    stopping = Stopping(declares: isServing, until: now.uptime + limits.closeWaitMax)
    for generation in links.generations { close(generation) }
    for holder in rests.holders { cancelRest(holder) }
    exchange.cancelAll(but: ending.calls)
    // If somebody stopped the daemon first, all its widgets have stopped too.
    guard isServing else { return }
    let specs = standing.declaration(last, keeping: withdrawals.heirs)
    call(.declare(specs, set: HostState.provider), for: .goodbye)
  }

  private mutating func proceedStopping(at now: HostTime) {
    if stopping?.step == .closingBundles {
      for bundle in ending.retiredBundles { closeRetired(bundle, at: now) }
      guard ending.isClosed else { return }
      stopping?.closedBundles()
      if let session = host.leave() { close(session, of: "", at: now) }
    }
    if stopping?.step == .closingHost, ending.isClosed { end() }
  }

  private mutating func end() {
    exchange.cancelAll()
    ending.giveUp()
    stopping?.finish()
    put(.ended)
  }
}
