public import WidgetBundle
import WidgetExpression
public import WidgetModel

/// A running bundle: the state machine of its sources, triggers and actions.
///
/// A value without I/O, clock or randomness. Inputs come with the time; outputs are effects.
/// `nextDeadline` says when the instance next needs the time. The number of widgets or `HostLimits`
/// bounds everything in it.
public struct BundleInstance: Sendable {
  public let bundle: Bundle
  public let generation: UInt64
  public let permissions: BundlePermissions
  let limits: HostLimits
  /// The user of the host.
  let hostUID: UInt32
  let kinds: [KindName: KindFacts]
  /// Whether sources and steps give their stub values, without effects outside.
  let isStub: Bool
  /// Whether this is a preview, in which triggers do not fire; see `preview`.
  let isPreview: Bool
  /// Whether a former version of the bundle ran in this process, so the log has its failures.
  let isReload: Bool
  /// Whether a source is read at multiples of its interval, so the host must follow the clock.
  let hasAlignedSources: Bool

  /// The time of this round.
  private(set) var now = HostTime(wall: .epoch, uptime: .zero)
  /// The problem of the bundle's file now, while this version keeps running.
  private(set) var problem: String?
  /// The problem, for widgets of other owners; nil for the same words.
  private(set) var problemOfOthers: String?
  /// The time since which the bundle's folder is missing; nil if it is not missing.
  private(set) var absentSince: Timestamp?
  /// When the problem began. Nil unless the folder is or was missing. Without a time, the daemon
  /// gives a new error the age of the former error.
  private(set) var problemSince: Timestamp?
  /// The problems of other bundles, by the set of their widgets. Some of these widgets can have kinds
  /// of this bundle.
  private(set) var ownerTroubles: [String: BundleTrouble] = [:]
  /// The sets of the bundles that have declared their widgets since this host began. These bundles
  /// know which of their widgets wait for their removal.
  private(set) var declaredSets: Set<String> = []

  // The parts. Each has private state, which only its functions change. The extensions of this type
  // connect the parts, and have no state.

  var widgets = WidgetTable()
  /// The widgets that wait for their removal. See `BundleInstance+Waiting`.
  var waiting: Set<WidgetID> = []
  /// The waiting widgets that are being removed.
  var ending: Set<WidgetID> = []
  var standing = StandingFailures()
  /// Widgets of the bundle's kinds from other owners.
  var others = OtherWidgets()
  var sources = SourceTable()
  var audience = Audience()
  var runs = RunTable()
  var queues = TriggerQueues()
  var duties = Duties()
  var chains = EventChains()
  var senders = EventSenders()
  var outcomes = PendingOutcomes()
  var told = ToldOutcomes()
  var requests: RequestTable
  var timers = Timers()
  var clock = ClockSteps()
  var allowances: Allowances
  var numbers: SeededNumbers
  var effects = EffectQueue()
  var traceBuffer: TraceBuffer

  /// An event on its way through the daemon.
  public struct SentEvent: Hashable, Sendable {
    let widgetID: WidgetID
    let name: String
  }

  /// - Parameters:
  ///   - generation: a number that no other start of a bundle has.
  ///   - folder: the bundle's, absolute, without symbolic links.
  ///   - isReload: whether a former version of the bundle ran in this process.
  ///   - hostUID: the user of the host.
  public init(
    _ bundle: Bundle, generation: UInt64, folder: String, home: String,
    programFolders: [String] = BundlePermissions.systemFolders,
    limits: HostLimits = HostLimits(), isStub: Bool = false, isReload: Bool = false,
    hostUID: UInt32 = 0, seed: UInt64
  ) {
    self.bundle = bundle
    self.isReload = isReload
    hasAlignedSources = bundle.hasAlignedSources
    isPreview = false
    self.generation = generation
    permissions = BundlePermissions(
      bundle, folder: folder, home: home, programFolders: programFolders)
    self.limits = limits
    self.hostUID = hostUID
    self.isStub = isStub
    requests = RequestTable(generation: generation, limits: limits)
    traceBuffer = TraceBuffer(limits)
    allowances = Allowances(limits)
    numbers = SeededNumbers(seed: seed)
    kinds = Dictionary(bundle.kinds.map { ($0.kind.name, KindFacts($0)) }) { first, _ in first }
  }

  /// An instance of the same bundle that only reads sources.
  init(previewOf other: BundleInstance, generation: UInt64, seed: UInt64) {
    bundle = other.bundle
    self.generation = generation
    permissions = other.permissions
    limits = other.limits
    hostUID = other.hostUID
    isStub = other.isStub
    requests = RequestTable(generation: generation, limits: limits)
    traceBuffer = TraceBuffer(limits)
    allowances = Allowances(limits)
    numbers = SeededNumbers(seed: seed)
    kinds = other.kinds
    isPreview = true
    isReload = true
    hasAlignedSources = other.hasAlignedSources
  }

  /// The latest time of the next `tick`.
  public var nextDeadline: Duration? { timers.next }

  /// The number of the bundle's own widgets of its kinds, without those that wait for removal.
  public var widgetCount: Int {
    let leaving = waiting.count { widgets[$0] != nil && !others.contains($0) }
    return widgets.count - others.ids.count - leaving
  }

  /// The facts that the widget `bundle/ID` depends on.
  var summary: [UInt64] {
    [
      UInt64(widgets.count), UInt64(waiting.count), standing.version, others.version,
      UInt64(sources.unwatchedCount),
    ]
  }

  /// Handles an input, and returns the effects.
  public mutating func handle(_ input: BundleInput, at now: HostTime) -> [Effect] {
    begin(at: now)
    followClock()
    take(input)
    fireTimers()
    return finish()
  }

  /// Shows the error of the bundle's file on all widgets, or clears it.
  ///
  /// - Parameters:
  ///   - words: the error for widgets of other owners; nil for the same error.
  ///   - isAbsent: whether the bundle's folder is missing, so that its widgets are stale.
  ///   - since: when the problem began, if the folder was missing before this version.
  public mutating func setProblem(
    _ problem: String?, forOthers words: String? = nil, isAbsent: Bool = false,
    since: Timestamp? = nil, at now: HostTime
  ) -> [Effect] {
    begin(at: now)
    if isAbsent, absentSince == nil { for id in sortedIDs { noteFormerStaleness(id) } }
    if problem == nil {
      problemSince = nil
    } else if let since {
      problemSince = since
    } else if isAbsent != (absentSince != nil) {
      problemSince = now.wall
    }
    self.problem = problem
    problemOfOthers = words
    absentSince = isAbsent ? absentSince ?? now.wall : nil
    for id in sortedIDs {
      widgets.touch(id)
      showStaleness(id)
    }
    return finish()
  }

  /// Shows the problems of bundles on their widgets of this bundle's kinds, or clears them.
  ///
  /// - Parameters:
  ///   - all: the present problems of all bundles, by the set of their widgets.
  ///   - declared: the sets of the bundles that have declared their widgets since this host began.
  mutating func setOwnerTroubles(
    _ all: [String: BundleTrouble], declared: Set<String>, at now: HostTime
  ) -> [Effect] {
    var troubles = all
    troubles[HostState.provider(of: bundle.id)] = nil
    guard troubles != ownerTroubles || declared != declaredSets else { return [] }
    begin(at: now)
    for id in sortedIDs where ownerTrouble(of: id)?.makesStale != true {
      noteFormerStaleness(id)
    }
    let before = (troubles: ownerTroubles, declared: declaredSets)
    (ownerTroubles, declaredSets) = (troubles, declared)
    for id in sortedIDs {
      guard let set = others.set(of: id),
        before.troubles[set] != troubles[set]
          || before.declared.contains(set) != declared.contains(set)
      else { continue }
      widgets.touch(id)
      showStaleness(id)
    }
    return finish()
  }

  /// The problem of the bundle that has a widget, if this is another bundle.
  func ownerTrouble(of id: WidgetID) -> BundleTrouble? {
    others.set(of: id).flatMap { ownerTroubles[$0] }
  }

  /// Interrupts the actions of widgets of other kinds than these, because the instance ends, and
  /// nobody continues them. So no optimistic value stays.
  ///
  /// - Returns: the effects. The instance does not hear whether the changes among them are made.
  mutating func interruptRuns(but kinds: Set<KindName>, at now: HostTime) -> [Effect] {
    begin(at: now)
    for id in sortedIDs where widgets[id].map({ !kinds.contains($0.heard.kind) }) == true {
      interruptRuns(of: id)
    }
    tellOutcomes()
    for id in widgets.touchedIDs { flush(id, isForced: true) }
    widgets.endRound()
    return effects.takeAll(after: takeTrace())
  }

  /// Ends all work under way. The instance takes no input afterwards.
  public mutating func stop() -> [Effect] {
    timers.cancelAll()
    return requests.endAll().map { .cancel($0) }
  }

  // MARK: One round

  private mutating func begin(at now: HostTime) {
    self.now = now
    allowances.refill(at: now.uptime)
  }

  private mutating func finish() -> [Effect] {
    // A change can turn sources on, and these make further changes. Check once: the daemon sends
    // the changes back, and then the rest is checked.
    for id in widgets.touchedIDs {
      lookAtConditions(id)
      lookAtInputs(id)
    }
    startWaiting()
    tellOutcomes()
    for id in widgets.touchedIDs {
      showMark(id)
      flush(id, isForced: false)
    }
    widgets.endRound()
    acknowledgeEvents()
    answerQuestions()
    return effects.takeAll(after: takeTrace())
  }

  private mutating func take(_ input: BundleInput) {
    switch input {
    case .tick: break
    case .snapshot(let all): take(snapshot: all)
    case .widget(let widget): take(widget, isAnew: false)
    case .waiting(let ids): take(waiting: ids)
    case .ending(let ids): take(ending: ids)
    case .removed(let id): remove(id)
    case .opened(let epoch, let tellsAudience):
      let isFirst = duties.begin(epoch: epoch)
      told.begin(epoch: epoch)
      senders.removeAll()
      beginAudience(isTold: tellsAudience)
      if !isFirst { restoreVolatileData() }
    case .audience(let attached, let detached): take(attached: attached, detached: detached)
    case .event(let event): take(event)
    case .asked(let id, let isRefresh): asked(about: id, isRefresh: isRefresh)
    case .unasked(let id):
      duties.forgetQuestion(about: id)
      audience.remove(id)
    case .bytes(let request, let bytes): take(bytes, for: request)
    case .line(let request, let bytes): take(line: bytes, for: request)
    case .web(let request, let answer): take(answer, for: request)
    case .value(let request, let value): take(value, for: request)
    case .absent(let request, let failure):
      guard case .continuous(let id, let index)? = requests[request] else { return }
      serviceIsAbsent(id, index, failure)
    case .present(let request):
      guard case .continuous(let id, let index)? = requests[request] else { return }
      serviceIsPresent(id, index)
    case .progress(let request, let progress): take(progress: progress, of: request)
    case .sent(let request, let revision): take(sent: request, revision)
    case .emitted(let request, let sequence):
      noteSender(of: sequence, by: request)
      take(sent: request, 0)
    case .led(let sent, let names): take(chain: names, of: sent)
    case .unled(let name, let names): retract(name: name, names: names)
    case .fetched(let request, let widget):
      guard case .event(let event)? = requests.end(request) else { return }
      take(widget, isAnew: false)
      act(on: event)
    case .fileChanged(let request):
      guard case .watch(let id, let index)? = requests[request] else { return }
      watchReports(id, index)
    case .unwatched(let request, let failure):
      guard case .watch(let id, let index)? = requests[request] else { return }
      watchReports(id, index, failure)
    case .failed(let request, let failure): take(failure, for: request)
    }
  }

  private mutating func take(sent request: RequestID, _ revision: Revision) {
    switch requests.end(request) {
    case .patch(let id):
      widgets.answered(id, request, revision: revision)
      noteTakenChange(id)
    case .run(let run): stepSucceeded(run, .null)
    default: break
    }
  }

  private mutating func take(_ bytes: [UInt8], for request: RequestID) {
    switch requests.end(request) {
    case .source(let id, let index): sourceRead(id, index, bytes)
    case .run(let run): stepRead(run, bytes)
    default: break
    }
  }

  private mutating func take(_ value: Value, for request: RequestID) {
    if case .continuous(let id, let index)? = requests[request] {
      sources.gave(id, index)
      return deliver(id, index, value)
    }
    switch requests.end(request) {
    case .source(let id, let index): sourceGave(id, index, value)
    case .run(let run): stepSucceeded(run, value)
    default: break
    }
  }

  private mutating func take(_ answer: WebAnswer, for request: RequestID) {
    switch requests.end(request) {
    case .source(let id, let index): sourceAnswered(id, index, answer)
    case .run(let run): stepAnswered(run, answer)
    default: break
    }
  }

  /// Sets the progress in the status that shows the work as running.
  private mutating func take(progress: Double, of request: RequestID) {
    let place: (id: WidgetID, name: String)?
    switch requests[request] {
    case .source(let id, let index): place = source(id, index).map { (id, $0.name) }
    case .run(let run):
      place = runs[run].flatMap { run in
        run.frames.last { !$0.action.name.isEmpty }.map { (run.widgetID, $0.action.name) }
      }
    default: place = nil
    }
    guard let place, status(place.id, place.name) == .running else { return }
    changeStatus(place.id, place.name) { $0["progress"] = .double(progress) }
    tellLife(.progress, of: place.name, place.id, ["progress": .double(progress)])
  }

  private mutating func take(line: [UInt8], for request: RequestID) {
    guard case .continuous(let id, let index)? = requests[request] else { return }
    sources.gave(id, index)
    deliver(id, index, line)
  }

  private mutating func take(_ failure: Failure, for request: RequestID) {
    switch requests.end(request) {
    case .source(let id, let index):
      let asked = readingTime(id, index)
      sources.ended(id, index)
      sourceFailed(id, index, failure.ofInput, asked: asked)
      readAgainIfWanted(id, index)
    case .continuous(let id, let index): continuousEnded(id, index, failure)
    case .patch(let id): changeRefused(id, request, failure)
    case .run(let run): stepFailed(run, failure)
    case .event(let event):
      switch failure.code {
      case "NOT_FOUND": break
      case "FAILED_PRECONDITION": noteLost(event)
      // The steps run with the known data, which is better than no run.
      default: act(on: event)
      }
    case .watch, .notice, nil: break
    }
  }

  /// The daemon has refused a change, for now or for good.
  private mutating func changeRefused(_ id: WidgetID, _ request: RequestID, _ failure: Failure) {
    let lost = widgets.refused(id, request, isTransient: failure.isTransient)
    if lost?.error != nil { standing.set(id, isMarkRefused: true) }
    noteRefusedChange(id, failure)
    if failure.isTransient { timers.set(.release(id), at: now.uptime + limits.backoffInitial) }
    guard let lost, failure.code != "NOT_FOUND", let facts = facts(of: id) else { return }
    defer { followContent(id) }
    effects.append(.report("bundle \(bundle.id): widget \(id): \(failure.message)"))
    failOutcomes(of: id, failure)
    guard case .map(let told)? = lost.setData[BundleScope.statusKey] else { return }
    let known = widgets.statuses(of: id)
    let changed = told.entries.filter { known[$0.key] != $0.value }.map(\.key)
    let names = changed.filter { ![BundleScope.outcomesKey, BundleScope.pendingKey].contains($0) }
    let isStatusAlone = lost.setData.keys == [BundleScope.statusKey]
    // If the daemon refuses the outcomes alone, do nothing more.
    guard !isStatusAlone || !names.isEmpty else { return }
    tellAgain(told, of: id, after: failure)
    guard !isStatusAlone else { return }
    // The lost change held new statuses. The next change sets these to failures, so that clients
    // see the loss.
    for name in names {
      setFailure(
        id, name,
        ActionStatus(
          state: .failure, title: facts.failureTitle(name),
          message: "The daemon refuses the data: \(failure.message)", code: failure.code))
    }
  }

  private mutating func fireTimers() {
    for key in timers.due(at: now.uptime) {
      guard timers.end(key, at: now.uptime) else { continue }
      switch key {
      case .source(let id, let index): read(id, index, isAsked: false)
      case .trigger(let id, let trigger): tickTrigger(id, trigger)
      case .throttle(let key):
        if let event = queues.takeThrottled(key) {
          fire(key.trigger, of: key.widgetID, event)
        }
      case .delay(let run): delayIsOver(run)
      case .stub(let request):
        switch requests.end(request) {
        case .source(let id, let index): sourceStubbed(id, index)
        case .run(let run): stepStubbed(run)
        default: break
        }
      case .stale(let id, let index): armStaleness(id, index)
      case .dropped(let id): forgetFailure(id, .dropped, because: "are all taken again")
      case .outcomes(let id): forgetOutcomes(id)
      case .release(let id): widgets.release(id)
      case .quiet(let id, let index): quietIsOver(id, index)
      case .look(let id): widgets.touch(id)
      }
    }
  }

  /// The reason in the error of widgets whose bundle's file is broken.
  public static let invalid = WidgetOffer.reason

  // MARK: Shared by all parts

  var sortedIDs: [WidgetID] { widgets.ids }

  func facts(of id: WidgetID) -> KindFacts? { widgets[id].flatMap { kinds[$0.heard.kind] } }

  mutating func cancel(_ request: RequestID) {
    guard requests.end(request) != nil else { return }
    if timers.cancel(.stub(request)) { return }
    effects.append(.cancel(request))
  }

  private mutating func startWaiting() {
    while let next = requests.takeWaiter(but: runs.held(max: requests.effectsOfUserMax)) {
      switch next {
      case .source(let id, let index):
        if sources.leaveQueue(id, index) { read(id, index, isAsked: true) }
      case .run(let run):
        guard runs[run]?.wait == .turn else { continue }
        runs.resume(run)
        advance(run)
      }
    }
    while let next = requests.takePlace() {
      // A source that was turned off meanwhile asks again when it is turned on.
      guard let state = sources[next.id, next.index], state.isOn, state.request == nil else {
        continue
      }
      read(next.id, next.index, isAsked: false)
    }
  }

  mutating func flush(_ id: WidgetID, isForced: Bool) {
    guard let patch = widgets.takePatch(id, isForced: isForced) else { return }
    let request = requests.begin(.patch(id))
    widgets.sent(id, patch, as: request)
    effects.append(.patch(request, id, patch))
  }

  /// The wait before another attempt after this many failures in a row, shortened at random by up
  /// to half.
  mutating func backoff(_ attempts: Int) -> Duration {
    var delay = limits.backoffInitial
    for _ in 1..<max(1, min(attempts, 32)) where delay < limits.backoffMax { delay *= 2 }
    let jitter = Double(numbers.next() >> 11) / Double(1 << 53)
    return min(delay, limits.backoffMax) * (1 - 0.5 * jitter)
  }
}
