import WidgetBundle
import WidgetModel

/// Widgets that a bundle's file no longer has, or that a bundle with a former id had. The edit may
/// be a slip, so widgets on which users, events or actions have set values stay for a while, stale.
/// Meanwhile, another bundle can take them over.
struct Holds: Sendable {
  /// A widget that stays for a while, and the time of its removal, as its error has it.
  struct Waiting: Hashable, Sendable {
    let id: WidgetID
    let end: Timestamp
    /// The same time on the clock of deadlines.
    let deadline: Duration
    /// Whether the time runs. It does not run while a version with the widget is loaded or refused,
    /// or while another bundle takes the widget over. The promise stays: if the bundle is removed
    /// meanwhile, its widgets stay until this time.
    var runs = true
    /// Whether the time stands still because of the bundle's file, so that no error has it.
    var isPaused = false
  }

  /// The parts of the error of a widget that waits.
  struct Cause: Hashable, Sendable {
    /// The change of the file: `the file of bundle a no longer has this widget`.
    let change: String
    /// Whether the file has the id, with another kind. The bundle then needs the id, so no other
    /// bundle can take the widget over.
    let isDeclared: Bool
    /// The values of users, for people.
    let values: String

    /// - Parameter end: nil while the time stands still.
    func words(by end: Timestamp?) -> String {
      "\(change); \(Holds.advice(by: end, isDeclared: isDeclared)): \(values)"
    }

    /// The change of the file in such an error, and the next step with its time.
    static func change(of error: WidgetError) -> String {
      let end = error.message.firstRange(of: ", or ")?.lowerBound ?? error.message.endIndex
      return String(error.message[..<end])
    }

    /// Whether an error says that a widget waits for its removal.
    ///
    /// - Parameter bundle: the bundle whose file lacks the widget; nil for any.
    static func has(_ error: WidgetError, of bundle: String? = nil) -> Bool {
      let file = "the file of bundle " + (bundle.map { "\($0) " } ?? "")
      let recalled =
        "the daemon refuses the file of bundle " + (bundle.map { "\($0), which has" } ?? "")
      return error.reason == BundleInstance.invalid
        && (error.message.hasPrefix(file) || error.message.hasPrefix(recalled))
    }
  }

  private struct Hold: Sendable {
    enum Phase: Hashable, Sendable {
      case waiting(until: Duration)
      /// Another bundle is declaring the widget.
      case taking(until: Duration)
      /// The widget is removed with the next declaration.
      case over
      /// A version that has the widget is loaded, but has not declared its widgets yet. If the next
      /// version lacks the widget, too, its time begins again.
      case undone
      /// The daemon refuses a version that has the widget again.
      case recalled
    }

    let set: String
    let kind: KindName
    /// The end of the time without a delay.
    var firstEnd: Duration
    var phase: Phase
    var cause: Cause?
    /// The end that the widget's error has, also on the wall clock. The error stays if the clock is
    /// set.
    var shown: (end: Duration, time: Timestamp)?
    /// Whether the time stands still because nobody knows the widgets of the bundle's file.
    var isPaused = false
    /// Whether an earlier pause has given the widget its whole time again.
    var isProlonged = false
    /// The time that is left after the pause; nil for the whole time.
    var left: Duration?
    /// The beginning of the wait, as the error has it.
    var since: Timestamp?
    /// The error that the host has set last.
    var error: WidgetError?
    /// Whether the widget had such an error, as the daemon has told last.
    var isMarked = false
    /// Whether somebody has cleared the error since, so that it must be set again.
    var isCleared = false
    /// The words of a recalled widget's error.
    var recallWords: String?
    /// Whether somebody else had made the widget stale before. The widget then stays stale
    /// afterwards.
    let wasStale: Bool
    /// The errors that are not about bundles. They stay.
    var rest: [WidgetError]

    /// The time at which the widget is removed; nil if nothing waits for it.
    var end: Duration? { if case .waiting(let end) = phase { end } else { nil } }
  }

  /// The fate of a widget that the file lacks.
  enum Fate: Hashable, Sendable {
    /// Its time has begun.
    case begins
    /// Its time has begun again, because a version with the widget was loaded meanwhile.
    case beginsAgain
    /// Its time has begun before.
    case waits
    /// Its time is over.
    case goes
  }

  private var holds: [WidgetID: Hold] = [:]
  /// Whether the problems that the errors of widgets show may have changed.
  private var areErrorsOutdated = false
  /// Whether times may end before the removal of their missing bundles.
  private var areEndsOutdated = false

  // MARK: Reading

  var isEmpty: Bool { holds.isEmpty }

  /// The widgets of a bundle whose time runs, in order.
  func waiting(of claims: BundleClaims) -> [WidgetID] {
    holds.filter { claims.has($0.value.set) && $0.value.end != nil }.keys
      .sorted(by: WidgetID.inOrder)
  }

  /// The widgets of a bundle that stay for a while, with the ends that their errors have had last, in
  /// order.
  func shown(of claims: BundleClaims) -> [Waiting] {
    holds.compactMap { id, hold -> Waiting? in
      guard claims.has(hold.set), hold.phase != .over, let shown = hold.shown else { return nil }
      return Waiting(
        id: id, end: shown.time, deadline: shown.end, runs: hold.end != nil,
        isPaused: hold.isPaused)
    }.sorted { WidgetID.inOrder($0.id, $1.id) }
  }

  /// Whether widgets of a set stay for a while.
  func has(_ set: String) -> Bool { holds.values.contains { $0.set == set } }

  /// The set of a widget that stays for a while; nil for other widgets.
  func set(of id: WidgetID) -> String? { holds[id]?.set }

  /// The kind of a widget that stays for a while; nil for other widgets.
  func kind(of id: WidgetID) -> KindName? { holds[id]?.kind }

  /// Whether another bundle that declares the widget with the same kind can take it over.
  func offers(_ widget: Widget) -> Bool {
    guard let hold = holds[widget.id], hold.end != nil else { return false }
    return hold.set == widget.applySet && hold.kind == widget.kind
  }

  /// Whether the widget has moved to another set, so that nobody removes it.
  func isOutdated(by widget: Widget) -> Bool {
    guard let hold = holds[widget.id], hold.set != widget.applySet else { return false }
    if case .taking = hold.phase { return false }
    return true
  }

  /// All widgets that stay for a while.
  var ids: Set<WidgetID> { Set(holds.keys) }

  /// The widgets of a bundle whose time runs, with their kinds.
  func offered(by claims: BundleClaims) -> [(id: WidgetID, kind: KindName)] {
    waiting(of: claims).compactMap { id in holds[id].map { (id, $0.kind) } }
  }

  /// The widgets of a bundle that stay for a while.
  func widgets(of claims: BundleClaims) -> Set<WidgetID> {
    Set(holds.filter { claims.has($0.value.set) }.keys)
  }

  /// The kinds of these widgets.
  func kinds(of claims: BundleClaims) -> Set<KindName> {
    Set(holds.values.filter { claims.has($0.set) }.map(\.kind))
  }

  // MARK: The life of a hold

  /// The file lacks a widget.
  mutating func leave(_ widget: Widget, until end: Duration) -> Fate {
    let hold = holds[widget.id].flatMap { $0.set == widget.applySet ? $0 : nil }
    switch hold?.phase {
    case .waiting, .taking: return .waits
    case .over: return .goes
    case .undone, .recalled, nil:
      areEndsOutdated = true
      let rest = Holds.rest(of: widget)
      // A host that makes a widget stale sets such an error, too.
      let hasProblem = rest.count < widget.error?.all.count ?? 0
      holds[widget.id] = Hold(
        set: widget.applySet, kind: widget.kind, firstEnd: end, phase: .waiting(until: end),
        wasStale: hold?.wasStale ?? (widget.isStale && !hasProblem), rest: rest)
      return hold == nil ? .begins : .beginsAgain
    }
  }

  /// A version is loaded that has some of the widgets again.
  mutating func suspend(_ claims: BundleClaims) {
    for spec in claims.bundle.widgets {
      guard let id = spec.id, let hold = holds[id], hold.kind == spec.kind, claims.has(hold.set)
      else { continue }
      holds[id]?.phase = .undone
    }
  }

  /// The daemon refuses a version that has the widget again, so the widget stays.
  mutating func recall(_ id: WidgetID, saying words: String) {
    if holds[id]?.phase != .recalled { holds[id]?.since = nil }
    holds[id]?.phase = .recalled
    holds[id]?.recallWords = words
  }

  /// Another bundle declares the widgets. Their time stands still.
  mutating func take(_ ids: Set<WidgetID>) {
    for id in ids {
      if case .waiting(let end)? = holds[id]?.phase { holds[id]?.phase = .taking(until: end) }
    }
  }

  /// The other bundle has not taken the widgets over.
  mutating func giveBack(_ ids: Set<WidgetID>) {
    for id in ids {
      if case .taking(let end)? = holds[id]?.phase { holds[id]?.phase = .waiting(until: end) }
    }
    // Problems may have changed meanwhile.
    outdateErrors()
  }

  /// The file has the widget, or the widget goes.
  ///
  /// - Returns: whether it stayed for a while.
  @discardableResult
  mutating func end(_ id: WidgetID) -> Bool { holds.removeValue(forKey: id) != nil }

  /// Forgets the other widgets of a bundle, because they are gone, or because it has them.
  mutating func keep(only ids: Set<WidgetID>, of claims: BundleClaims) {
    holds = holds.filter { id, hold in !claims.has(hold.set) || ids.contains(id) }
  }

  /// The bundle has declared its widgets, so the widgets whose time is over are gone.
  mutating func declared(_ claims: BundleClaims) {
    holds = holds.filter { !claims.has($0.value.set) || $0.value.phase != .over }
  }

  /// Removes the widgets of these sets.
  mutating func forget(_ sets: Set<String>) {
    holds = holds.filter { !sets.contains($0.value.set) }
  }

  /// Forgets the widgets of other sets, because nobody is left to remove them.
  mutating func forgetAll(but sets: Set<String>) {
    holds = holds.filter { sets.contains($0.value.set) }
  }

  // MARK: The errors of widgets

  /// The errors of a widget that are not about bundles.
  static func rest(of widget: Widget) -> [WidgetError] {
    widget.error?.all.filter { $0.reason != BundleInstance.invalid } ?? []
  }

  /// The daemon has told a widget that may wait. Programs can have changed its errors. If the error
  /// of the wait was there and is gone, it is set again, once for each time.
  mutating func hear(_ widget: Widget) {
    guard let hold = holds[widget.id], hold.set == widget.applySet else { return }
    let isMarked = widget.error?.all.contains { Holds.Cause.has($0) } ?? false
    holds[widget.id]?.rest = Holds.rest(of: widget)
    holds[widget.id]?.isMarked = isMarked
    guard hold.isMarked, !isMarked else { return }
    holds[widget.id]?.error = nil
    holds[widget.id]?.isCleared = true
  }

  /// Ends a wait: the widget is fresh and has no errors about bundles. Instances and `Marks` then
  /// set the errors that still apply.
  ///
  /// - Parameter rest: the other errors of the widget; nil for the last known ones.
  func freshening(_ id: WidgetID, keeping rest: [WidgetError]? = nil) -> WidgetPatch {
    WidgetPatch(
      isStale: holds[id]?.wasStale == true ? nil : false,
      error: .some(WidgetError(joining: rest ?? holds[id]?.rest ?? [])))
  }

  /// Whether a change that says that the widget waits still applies.
  func saysWaiting(_ id: WidgetID) -> Bool {
    switch holds[id]?.phase {
    case .waiting, .taking, .recalled: true
    case .over, .undone, nil: false
    }
  }

  /// The daemon has refused the error of a widget. It is set again with the next change.
  mutating func forgetError(of id: WidgetID) { holds[id]?.error = nil }

  /// The daemon is back, and may not have the errors.
  mutating func forgetErrors() {
    for id in holds.keys {
      holds[id]?.error = nil
      holds[id]?.isMarked = false
    }
    areErrorsOutdated = true
  }

  /// Notes the cause of a hold, for the widget's error.
  mutating func set(_ cause: Cause, of id: WidgetID) { holds[id]?.cause = cause }

  /// The widgets whose errors somebody has cleared, or do not have the end of their time, in order.
  private var unshown: [WidgetID] {
    holds.filter { _, hold in
      hold.isCleared || hold.cause != nil && hold.end != nil && hold.end != hold.shown?.end
    }.keys.sorted(by: WidgetID.inOrder)
  }

  /// Problems of bundles may have changed.
  mutating func outdateErrors() { (areErrorsOutdated, areEndsOutdated) = (true, true) }

  /// The removals of missing bundles have changed.
  mutating func outdateEnds() { areEndsOutdated = true }

  /// Whether times may end before the removal of their missing bundles.
  mutating func takeOutdatedEnds() -> Bool {
    defer { areEndsOutdated = false }
    return areEndsOutdated
  }

  /// The widgets whose errors may have to change, in order.
  mutating func takeUnshown() -> [WidgetID] {
    defer { areErrorsOutdated = false }
    return areErrorsOutdated ? holds.keys.sorted(by: WidgetID.inOrder) : unshown
  }

  /// Shows why a widget stays, with the end of its time.
  ///
  /// - Parameter others: the problems of bundles that the widget shows, too.
  /// - Returns: the new error of the widget; nil if it does not change.
  mutating func show(
    _ id: WidgetID, beside others: [WidgetError], at now: HostTime
  ) -> WidgetError? {
    holds[id]?.isCleared = false
    guard let text = words(of: id, at: now) else { return nil }
    // Without a time, the error would continue the age of a former problem.
    let since = holds[id]?.since ?? now.wall
    holds[id]?.since = since
    let own = WidgetError(reason: BundleInstance.invalid, message: text, since: since)
    let errors = [own] + others + (holds[id]?.rest ?? [])
    let error = WidgetError(joining: Array(errors.prefix(BundleInstance.errorsMax)))
    guard error != holds[id]?.error else { return nil }
    holds[id]?.error = error
    return error
  }

  private mutating func words(of id: WidgetID, at now: HostTime) -> String? {
    guard let hold = holds[id] else { return nil }
    if hold.phase == .recalled { return hold.recallWords }
    guard let cause = hold.cause, let end = hold.end else { return nil }
    let time =
      if let shown = hold.shown, shown.end == end { shown.time } else {
        Holds.time(of: end, at: now)
      }
    holds[id]?.shown = (end, time)
    return cause.words(by: hold.isPaused ? nil : time)
  }

  /// An end on the wall clock.
  static func time(of end: Duration, at now: HostTime) -> Timestamp {
    now.wall.advanced(by: end - now.uptime).wholeSeconds
  }

  /// The next step for the user of a widget that waits, and what happens without it. The time of
  /// day stays true, whenever it is read.
  ///
  /// - Parameters:
  ///   - end: nil while the time stands still.
  ///   - isDeclared: see `Cause`.
  static func advice(by end: Timestamp?, isDeclared: Bool) -> String {
    let time = end.map { HostState.endPrefix + RFC3339.text($0) } ?? ""
    return "undo that\(time), or "
      + (isDeclared
        ? "the widget is removed"
        : "\(WidgetOffer.advice); otherwise it is removed")
      + " with the values that users, events or actions have set"
  }

  // MARK: Time

  var nextDeadline: Duration? { holds.values.compactMap(\.end).min() }

  /// The end of a widget's time; nil if its time does not run.
  func end(of id: WidgetID) -> Duration? { holds[id]?.end }

  /// The widgets whose time is over now, in order.
  func due(at uptime: Duration) -> [WidgetID] {
    holds.filter { $0.value.end.map { $0 <= uptime } ?? false }.keys.sorted(by: WidgetID.inOrder)
  }

  /// Whether a widget can stay beyond this time, if delays of its end are at most `longest`.
  func canStay(_ id: WidgetID, beyond uptime: Duration, longest: Duration) -> Bool {
    guard let hold = holds[id], hold.end != nil else { return false }
    return hold.firstEnd + longest > uptime
  }

  /// Delays the end of a widget's time, at most by `longest` after its first end.
  mutating func delay(_ id: WidgetID, until end: Duration, longest: Duration) {
    guard let hold = holds[id], hold.end != nil else { return }
    holds[id]?.phase = .waiting(until: min(end, hold.firstEnd + longest))
  }

  /// Lets the time of some widgets stand still, and the time of all others run. After its first
  /// pause, a widget has its whole time again. After each further pause, the rest of it runs.
  ///
  /// - Parameter isPaused: whether the time of a widget in a set stands still.
  mutating func pause(
    at uptime: Duration, whole: Duration, _ isPaused: (WidgetID, String) -> Bool
  ) {
    for (id, known) in holds {
      guard isPaused(id, known.set) != known.isPaused else { continue }
      var hold = known
      hold.isPaused.toggle()
      areErrorsOutdated = true
      if hold.isPaused {
        hold.left = hold.isProlonged ? hold.end.map { max($0 - uptime, .zero) } : nil
      } else if let before = hold.end {
        let end = hold.left.map { uptime + $0 } ?? max(before, uptime + whole)
        hold.firstEnd += end - before
        hold.phase = .waiting(until: end)
        hold.isProlonged = true
      }
      holds[id] = hold
    }
  }

  /// Moves the ends of widgets whose bundles cannot remove them now: the daemon is away, it refuses
  /// the bundle, or the bundle's file has a mistake. Such a pause does not count as a delay.
  ///
  /// - Parameters:
  ///   - sets: the sets of the widgets; nil for all.
  ///   - kept: widgets of these sets whose ends stay.
  ///   - deadline: Ends after this time stay.
  mutating func postpone(
    _ sets: Set<String>? = nil, but kept: Set<WidgetID> = [], dueAt deadline: Duration,
    until end: Duration
  ) {
    var moved: [WidgetID: Hold] = [:]
    for (id, hold) in holds where (sets?.contains(hold.set) ?? true) && !kept.contains(id) {
      var hold = hold
      let before: Duration
      switch hold.phase {
      case .waiting(let known):
        before = known
        hold.phase = .waiting(until: end)
      case .taking(let known):
        before = known
        hold.phase = .taking(until: end)
      case .over, .undone, .recalled: continue
      }
      guard before <= deadline, before < end else { continue }
      hold.firstEnd += end - before
      moved[id] = hold
    }
    for (id, hold) in moved { holds[id] = hold }
  }

  /// The bundles of these sets cannot remove the widgets whose time is over, or must not remove them
  /// now. Their time continues.
  ///
  /// - Parameter kept: widgets of these sets whose time stays over.
  mutating func resume(_ sets: Set<String>, but kept: Set<WidgetID> = [], until end: Duration) {
    areEndsOutdated = true
    for (id, hold) in holds
    where hold.phase == .over && sets.contains(hold.set) && !kept.contains(id) {
      holds[id]?.firstEnd = end
      holds[id]?.phase = .waiting(until: end)
      // A change that says so may have been dropped meanwhile.
      holds[id]?.error = nil
    }
  }

  /// Ends the time of widgets.
  ///
  /// - Returns: the sets of these widgets. Their bundles must declare their widgets again.
  mutating func tick(at uptime: Duration) -> Set<String> {
    var sets: Set<String> = []
    for (id, hold) in holds {
      guard let end = hold.end, end <= uptime else { continue }
      holds[id]?.phase = .over
      sets.insert(hold.set)
    }
    return sets
  }
}
