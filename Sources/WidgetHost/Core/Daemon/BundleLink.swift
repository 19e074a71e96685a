import WidgetBundle
import WidgetClient
import WidgetModel

/// A bundle's conversation with the daemon: first a session that registers the kinds, then the
/// widgets, then the watch. Calls of the bundle's steps are made one after the other, in any phase.
///
/// A value that holds the progress of the conversation, and decides the next step.
/// `DaemonConversation` makes the calls.
struct BundleLink: Sendable {
  enum SessionPhase: Hashable, Sendable {
    /// Waits for the host's session, the bundle's own widget, or a deadline.
    case none
    /// The former version's acknowledgements are sent, so that its events do not come again.
    case flushing(Set<CallID>)
    case open(SessionID)
    /// The daemon has refused the kinds.
    case resting
  }

  enum Work: Hashable, Sendable {
    case none
    case kinds(CallID)
    case listing(CallID)
    /// Asks for the owners of fields before the first declaration of this host.
    case remembering(CallID, known: [Widget])
    case owning(CallID)
    /// Asks for the kinds and owners of the widgets, because one of them has another kind.
    case inspecting(CallID, refusal: Failure)
    /// Asks which values go with the bundle's widgets whose kind the file has changed.
    case counting(CallID, specs: [WidgetSpec])
    /// Removes these widgets.
    case clearing(CallID)
    /// Asks which values go with the widgets that the file no longer has, one set after the other.
    case foreseeing(CallID, known: [Widget], sets: [String], results: [ApplyResult])
    /// Asks for the owners of fields, because events or actions may have set values of these widgets.
    case attributing(CallID, known: [Widget], results: [ApplyResult])
    /// Removes widgets that the file no longer has, while others stay for a while.
    case removing(CallID, known: [Widget])
    /// The daemon has refused the kinds or widgets.
    case resting

    var isKinds: Bool { if case .kinds = self { true } else { false } }
    var isClearing: Bool { if case .clearing = self { true } else { false } }

    /// The call that waits for its answer.
    var call: CallID? {
      switch self {
      case .kinds(let id), .listing(let id), .owning(let id), .inspecting(let id, _),
        .counting(let id, _), .clearing(let id), .foreseeing(let id, _, _, _),
        .attributing(let id, _, _), .removing(let id, _), .remembering(let id, _):
        id
      case .none, .resting: nil
      }
    }
  }

  /// The next step of the link.
  enum Step: Hashable, Sendable {
    case declareKinds(SessionID)
    case declareWidgets
    case watch
  }

  let bundle: Bundle
  /// Whether the installer wrote the file.
  private let isInstalled: Bool
  private(set) var connection = SessionPhase.none
  private(set) var attempts = 0
  /// Whether the daemon has no room for the session so far. The client tries again by itself.
  private var isRefused = false
  private var connectAt: Duration?
  /// The version of the host's widgets that has the bundle's widget.
  private var standing: UInt64?
  /// The call that waits until the daemon has the kinds.
  private(set) var ready: CallID?
  private(set) var isRegistered = false

  private(set) var work = Work.none
  /// The failed attempts of the work in a row.
  private(set) var workAttempts = 0
  /// The waits in a row for a bundle that is about to give a widget up.
  private(set) var ownerWaits = 0
  /// The end of the wait after a failure, or for the owner of a widget.
  private var workAt: Duration?
  /// Whether the daemon has taken the widgets of this version at least once.
  private(set) var hasDeclared = false
  private var owesKinds = false
  private var owesWidgets = false
  /// The end of the wait for earlier bundles; nil before and after it.
  private var turnAt: Duration?
  /// Whether that wait is over, so that the bundle never waits for other bundles again.
  private var hasTurn = false

  /// The bundles from which the declaration under way takes over. Its question about the known
  /// widgets includes theirs.
  private(set) var inheriting: Set<String> = []
  /// The single widgets that the declaration under way takes over, with the sets of their bundles.
  private(set) var taking: [WidgetID: String] = [:]
  /// The single widgets that the last declaration was taking over, even if it was refused.
  private(set) var tried: Set<WidgetID> = []
  /// The widget of another owner that prevents the declaration under way.
  private(set) var rival: Circumstances.WidgetStanding?
  /// The fields that the file declares for the first time, and that have other values so far.
  private var takenFields: [BundleClaims.TakenField] = []
  /// The kinds with values that do not fit them any more, until the widgets of an earlier host are
  /// known.
  private var misfits: [KindResult] = []
  /// The widgets that wait for their removal, as they were told last. The kinds are also those of
  /// widgets whose time is over.
  private var toldHeld: (widgets: [Holds.Waiting], kinds: Set<KindName>) = ([], [])
  /// The values of others that go with the widgets which the declaration under way removes. The
  /// answer has them, too, but it can be lost.
  private var losses: [BundleClaims.KeptField] = []
  /// Whether widgets of former kinds were removed, so that a second refusal for kinds is shown.
  private(set) var isCleared = false

  /// The removed kinds that are declared again, until the daemon has them.
  private var restoredKinds: Set<KindName> = []
  /// Those that the declaration under way restores.
  private var restoringKinds: Set<KindName> = []
  /// The removed kinds that the daemon refuses to take again, while the session goes on.
  private(set) var lostKinds: Set<KindName> = []

  private(set) var watch: WatchID?
  private var watchAt: Duration?
  /// A refused bundle must watch again. It declares nothing meanwhile.
  private var owesWatch = false
  private var watchFailure: Failure?
  /// Declared kinds and widgets that somebody removed.
  private var restoration = Restoration()
  private var restoreAt: Duration?

  /// Calls that are to be made one after the other.
  private(set) var calls: [Effect] = []
  private(set) var calling: (id: CallID, effect: Effect)?

  init(_ bundle: Bundle, isInstalled: Bool = false) {
    self.bundle = bundle
    self.isInstalled = isInstalled
  }

  /// Whether widgets that the file lacks go at once. Later declarations lack only widgets of bundles
  /// that somebody has edited.
  var removesAtOnce: Bool { isInstalled && !hasDeclared }

  /// Whether the bundle can remove its widgets, and lets other bundles take them over.
  var canDeclare: Bool { isRegistered && work != .resting }

  /// Whether the instance serves the widgets of the bundle's kinds, now or soon. A bundle that the
  /// daemon refuses serves them only while its watch continues, or begins again.
  var isServing: Bool {
    watch != nil || (work == .resting && session != nil && (watchAt != nil || owesWatch))
      || (connection != .resting && work != .resting && !isRefused)
  }

  /// The kinds whose widgets the instance serves, now or soon.
  var servedKinds: Set<KindName> {
    isServing ? Set(bundle.kinds.map(\.kind.name)).subtracting(lostKinds) : []
  }

  var session: SessionID? {
    if case .open(let session) = connection { session } else { nil }
  }

  /// The bundle needs the widgets of its kinds. Widgets of other kinds are watched to restore
  /// them.
  var kinds: [KindName] {
    Set(bundle.kinds.map(\.kind.name) + bundle.widgets.map(\.kind)).subtracting(lostKinds)
      .sorted { $0.rawValue < $1.rawValue }
  }

  // MARK: The session

  /// Whether a session can begin, as far as the link knows.
  var canConnect: Bool { connection == .none && connectAt == nil }

  /// The version of the host's widgets that the daemon must have before the session begins.
  mutating func needed(standing version: UInt64) -> UInt64 {
    let needed = standing ?? version
    standing = needed
    return needed
  }

  /// Delays the session until these calls are answered.
  mutating func flush(_ calls: [CallID]) { connection = .flushing(Set(calls)) }

  /// A call is over. Returns whether it was the last to wait for.
  mutating func flushed(_ call: CallID) -> Bool {
    guard case .flushing(var calls) = connection else { return false }
    calls.remove(call)
    connection = .flushing(calls)
    return calls.isEmpty
  }

  mutating func open(_ session: SessionID) { connection = .open(session) }

  mutating func refused() { isRefused = true }

  /// The daemon has opened the session. `call` waits until it has the kinds.
  mutating func opened(waitingFor call: CallID) {
    forgetWork()
    attempts = 0
    isRefused = false
    ready = call
  }

  /// The call that waits for the kinds is answered.
  mutating func readyAnswered() { ready = nil }

  /// The daemon has the kinds.
  mutating func registered() {
    isRegistered = true
    owesWidgets = true
  }

  /// The host has lost its session. The bundle's session begins after the host's next one.
  mutating func suspend() {
    connection = .none
    standing = nil
  }

  /// The session has ended.
  mutating func ended() {
    forgetWork()
    connection = .none
    isRefused = false
    attempts += 1
  }

  mutating func connect(at deadline: Duration) { connectAt = deadline }

  /// The daemon refuses the session, until somebody or something changes.
  mutating func restConnection() { connection = .resting }

  mutating func endConnectionRest() { connection = .none }

  // MARK: Kinds and widgets

  /// Takes the next step; nil if there is none now.
  ///
  /// - Parameter declarationsWait: Whether the bundle's widgets wait for another bundle.
  mutating func nextStep(declarationsWait: Bool) -> Step? {
    if owesWatch, work == .resting, isRegistered, session != nil {
      owesWatch = false
      return .watch
    }
    guard isRegistered, work == .none, workAt == nil, let session else { return nil }
    if owesKinds {
      owesKinds = false
      restoringKinds = restoredKinds
      return .declareKinds(session)
    }
    if owesWidgets {
      guard !declarationsWait else { return nil }
      (owesWidgets, turnAt) = (false, nil)
      return .declareWidgets
    }
    return watch == nil && watchAt == nil && !kinds.isEmpty ? .watch : nil
  }

  /// Whether the widgets are about to be declared for the first time, without a wait after a failure,
  /// or for another bundle. Two bundles that wait for each other would stand still.
  var isAboutToDeclare: Bool {
    !hasDeclared && attempts == 0 && !isRefused && workAttempts == 0 && ownerWaits == 0
      && work != .resting && connection != .resting
  }

  /// Whether the daemon has neither taken nor refused this version yet.
  var awaitsAnswer: Bool {
    !hasDeclared && !isRefused && work != .resting && connection != .resting
  }

  /// Whether the widgets could be declared now, but still wait for the widgets of an earlier
  /// bundle. The wait is short, because a stuck earlier bundle must not prevent this one from
  /// running.
  mutating func waitsForTurn(at uptime: Duration, atMost wait: Duration) -> Bool {
    guard isRegistered, work == .none, owesWidgets, !hasTurn else { return false }
    turnAt = turnAt ?? uptime + wait
    return true
  }

  mutating func begin(_ work: Work) { self.work = work }

  /// Begins a declaration that takes over from these bundles.
  mutating func declare(inheriting: Set<String>) { self.inheriting = inheriting }

  /// The declaration takes over these widgets from other bundles.
  mutating func take(_ widgets: [WidgetID: String]) { taking = widgets }

  /// The declaration under way could take over these widgets.
  mutating func tries(_ widgets: Set<WidgetID>) { tried = widgets }

  /// A widget of another owner prevents the declaration under way; nil if there is none.
  mutating func meets(_ rival: Circumstances.WidgetStanding?) { self.rival = rival }

  /// Takes over from a further bundle, with the next declaration.
  mutating func inherit(_ id: String) {
    inheriting.remove(id)
    declareAgain()
  }

  /// Whether widgets were told that wait for their removal.
  var hasToldHeld: Bool { !toldHeld.kinds.isEmpty }

  /// - Parameter widgets: the widgets that wait for their removal, in order.
  /// - Returns: whether the widgets, their times or the kinds differ from the last ones.
  mutating func tell(held widgets: [Holds.Waiting], of kinds: Set<KindName>) -> Bool {
    defer { toldHeld = (widgets, kinds) }
    return widgets != toldHeld.widgets || kinds != toldHeld.kinds
  }

  /// Declares the widgets again, because the time of widgets that the file no longer has is over.
  mutating func declareAgain() { owesWidgets = true }

  /// The work is answered. Returns it.
  mutating func endWork() -> Work {
    defer { work = .none }
    return work
  }

  /// The widgets are being declared.
  mutating func own(_ call: CallID, taking fields: [BundleClaims.TakenField]) {
    work = .owning(call)
    takenFields = fields
  }

  /// The widgets are declared. Returns the fields that the file declares for the first time, and
  /// that had other values.
  mutating func owned() -> [BundleClaims.TakenField] {
    (workAttempts, ownerWaits) = (0, 0)
    isCleared = false
    hasDeclared = true
    defer { takenFields = [] }
    return takenFields
  }

  /// The daemon has taken the kinds. Those that were removed meanwhile are declared again.
  mutating func kindsDeclared() {
    restoredKinds.subtract(restoringKinds)
    (workAttempts, restoringKinds, lostKinds) = (0, [], [])
  }

  /// Keeps what the daemon said about values that do not fit, because it says this only once.
  mutating func keep(misfits results: [KindResult]) { misfits += results }

  mutating func takeMisfits() -> [KindResult] {
    defer { misfits = [] }
    return misfits
  }

  /// The next call removes these values of others.
  mutating func expect(_ fields: [BundleClaims.KeptField]) { losses += fields }

  /// These widgets still exist.
  mutating func keepLosses(without ids: Set<WidgetID>) {
    losses.removeAll { ids.contains($0.widget) }
  }

  /// The widgets are removed.
  mutating func takeLosses() -> [BundleClaims.KeptField] {
    defer { losses = [] }
    return losses
  }

  /// The widgets of former kinds are removed.
  mutating func cleared() {
    isCleared = true
    owesWidgets = true
  }

  /// Repeats the work at a time.
  mutating func retryWork(isKinds: Bool, at deadline: Duration) {
    owe(isKinds: isKinds)
    workAttempts += 1
    workAt = deadline
  }

  /// Declares the widgets after a wait, because a bundle is about to give one of them up.
  mutating func waitForOwner(at deadline: Duration) {
    owe(isKinds: false)
    ownerWaits += 1
    workAt = deadline
  }

  /// The daemon refuses the kinds or widgets, until somebody or something changes.
  mutating func restWork(isKinds: Bool) {
    owe(isKinds: isKinds)
    (workAttempts, ownerWaits) = (0, 0)
    work = .resting
    if isKinds { lostKinds = restoredKinds }
  }

  mutating func endWorkRest() { work = .none }

  private mutating func owe(isKinds: Bool) {
    if isKinds { owesKinds = true }
    // Widgets follow their kinds, because the daemon may have removed both.
    owesWidgets = true
  }

  /// Forgets the declarations and watches under way, because the session begins again or is over.
  mutating func forgetWork() {
    ready = nil
    isRegistered = false
    (work, workAttempts, ownerWaits, workAt) = (.none, 0, 0, nil)
    (owesKinds, owesWidgets) = (false, false)
    (restoredKinds, restoringKinds, lostKinds) = ([], [], [])
    (watch, watchAt, owesWatch) = (nil, nil, false)
    restoration.settle()
    restoreAt = nil
  }

  // MARK: The watch

  mutating func watch(_ id: WatchID) { (watch, owesWatch) = (id, false) }

  /// Ends the watch. Returns it.
  mutating func takeWatch() -> WatchID? {
    defer { (watch, watchAt, owesWatch) = (nil, nil, false) }
    return watch
  }

  /// The watch has ended. Returns whether the reason differs from the last one.
  mutating func watchEnded(_ failure: Failure, retryAt deadline: Duration) -> Bool {
    defer { watchFailure = failure }
    watch = nil
    watchAt = deadline
    return failure != watchFailure
  }

  /// Declares widgets or kinds again after a wait, because somebody removed them.
  mutating func lost(
    _ ids: Set<WidgetID>, kinds: Set<KindName>, at uptime: Duration, _ limits: HostLimits
  ) {
    restoration.lost(ids, kinds: kinds, at: uptime, limits)
    if restoreAt == nil { restoreAt = uptime + restoration.wait(limits) }
  }

  /// The daemon has a widget with the id of a declared one, from the bundle or from somebody else.
  mutating func see(
    _ id: WidgetID, isOwn: Bool, at uptime: Duration, _ limits: HostLimits
  ) {
    guard isOwn else {
      restoration.taken(id, at: uptime, limits)
      if restoreAt == nil { restoreAt = uptime + restoration.wait(limits) }
      return
    }
    guard !restoration.isComplete else { return }
    restoration.found(id)
    if restoration.isComplete { restoreAt = nil }
  }

  // MARK: Time

  /// The first deadline; nil if nothing waits.
  var nextDeadline: Duration? {
    [connectAt, workAt, watchAt, restoreAt, turnAt].compactMap { $0 }.min()
  }

  /// Time has passed. Returns the removed widgets and kinds that are declared again now; nil if nothing
  /// is declared again.
  mutating func tick(at uptime: Duration) -> (ids: [WidgetID], kinds: [KindName])? {
    func isDue(_ deadline: Duration?) -> Bool { deadline.map { $0 <= uptime } ?? false }
    if isDue(connectAt) { connectAt = nil }
    if isDue(workAt) { workAt = nil }
    if isDue(turnAt) { (turnAt, hasTurn) = (nil, true) }
    if isDue(watchAt) {
      // The daemon may refuse the declaration that comes first.
      (watchAt, owesWatch) = (nil, true)
      owesWidgets = true
    }
    guard isDue(restoreAt) else { return nil }
    restoreAt = nil
    let missing = restoration.begin(at: uptime)
    restoredKinds.formUnion(missing.kinds)
    restoringKinds.subtract(missing.kinds)
    owe(isKinds: !missing.kinds.isEmpty)
    return missing
  }

  // MARK: Calls of the bundle's steps

  /// Makes a call after the earlier ones.
  mutating func add(_ call: Effect) { calls.append(call) }

  /// The next call to make; nil if an earlier one is not answered.
  mutating func nextCall() -> Effect? {
    guard calling == nil, !calls.isEmpty else { return nil }
    return calls.removeFirst()
  }

  mutating func call(_ effect: Effect, as id: CallID) { calling = (id, effect) }

  /// The call is answered. Returns it.
  mutating func callAnswered() -> Effect? {
    defer { calling = nil }
    return calling?.effect
  }
}
