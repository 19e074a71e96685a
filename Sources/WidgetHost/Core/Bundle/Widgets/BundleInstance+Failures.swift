import WidgetBundle
public import WidgetModel

// Failure is state: a failure marks its widget, where every client sees it, and the bundle, until
// there is a success. The log has it too. If the content shows a failure, there is no mark.

/// The cause of a failure.
enum FailureCause: Hashable, Sendable {
  /// A timer. It repeats failures, and the log needs only the first one.
  case time
  /// A request for a reading. Its sender must see in the log that the reading fails again.
  case request
  /// An event. Its sender looks at the widget.
  case event
}

/// A failure that the content of the bundle's widget does not show. A placeholder does not show it.
public struct BundleFailure: Hashable, Sendable {
  public var widgetID: WidgetID
  public var title: String
  public var message: String
  public var code: String
  public var since: Timestamp
}

extension BundleInstance {
  /// The reasons in the error of widgets whose source, or action, has failed.
  public static let sourceFailed = "SOURCE_FAILED"
  public static let actionFailed = "ACTION_FAILED"

  /// The failures that the content of the widgets does not show, the newest first.
  public var failures: [BundleFailure] {
    sortedIDs.flatMap { id in
      unshownEntries(id, countsPlaceholders: false).map(\.value).map { failure in
        BundleFailure(
          widgetID: id, title: failure.status.title, message: failure.status.message,
          code: failure.status.code, since: failure.since)
      }
    }.sorted { $0.since > $1.since }
  }

  // MARK: Failing and succeeding

  /// Remembers a failure.
  ///
  /// - Parameters:
  ///   - names: the sources and actions by whose status the author can show it.
  ///   - isCaught: the bundle handles the failure, so only the log has it.
  ///   - since: when it began; nil for now.
  /// - Returns: the status with the time of the first failure in a row, or of this failure if an
  ///   event has caused it.
  @discardableResult
  mutating func failed(
    _ id: WidgetID, _ key: FailureKey, _ status: ActionStatus, among names: Set<String> = [],
    isCaught: Bool = false, cause: FailureCause = .time, since: Timestamp? = nil
  ) -> ActionStatus {
    guard widgets[id] != nil else { return status }
    let known = standing[id, key]
    var status = status
    let beginning = cause == .event ? now.wall : known?.since ?? since ?? now.wall
    status.since = beginning
    let begun = cause == .event ? now.uptime : known?.begun ?? uptime(of: beginning)
    if case .source(let index) = key { status.makesStale = isOld(id, index, since: begun) }
    let failure = StandingFailure(
      status: status, names: names, isCaught: isCaught, begun: begun)
    showAgain(id)
    guard known != failure || cause != .time else { return status }
    // Report only a new code: a source that fails every second would fill the log.
    let reported = known ?? (key.isForm ? standing[id].first { $0.key.isForm }?.value : nil)
    let words = "\(place(id, key)): \(status.logMessage.withMarkedNewlines)"
    if reported?.status.code != status.code {
      effects.append(.report(words))
    } else if cause != .time || known?.isCleared == true, allowances.takeReport() {
      let last = key.isForm ? newestRefusal(id, like: key) : known
      let isSame = last?.status.message == status.message
      effects.append(.report(isSame ? "\(words) (again)" : words))
    }
    standing.set(id, key, failure)
    widgets.touch(id)
    if case .source(let index) = key, known == nil { armStaleness(id, index) }
    return status
  }

  /// The newest refusal of any form of an action. Lines of the log name the action, and not the
  /// form.
  private func newestRefusal(_ id: WidgetID, like key: FailureKey) -> StandingFailure? {
    guard case .form(let action, _) = key else { return nil }
    let refusals = standing[id].filter { entry in
      if case .form(action, _) = entry.key { true } else { false }
    }
    return refusals.max {
      ($0.value.begun, "\($0.key)") < ($1.value.begun, "\($1.key)")
    }?.value
  }

  /// Somebody has changed the errors of a widget: a client, or another part of the host.
  ///
  /// If only errors of the host were there, and all are gone, a client has cleared them. Their
  /// failures no longer count until they happen again. Otherwise the host sets its errors again.
  ///
  /// - Parameter before: the widget's error before the last message of the daemon.
  mutating func noteChangedErrors(_ id: WidgetID, after before: WidgetError?) {
    guard let before, let mark = standing.mark(of: id), let state = widgets[id],
      state.view.error != before
    else { return }
    let shown = state.view.error?.all ?? []
    guard !shown.isEmpty || !before.all.allSatisfy(BundleInstance.isMark) else {
      return clearFailures(id)
    }
    let isShown = mark.all.allSatisfy { one in shown.contains { $0.isSame(as: one) } }
    if !isShown { standing.set(id, mark: nil) }
  }

  /// Follows errors of others that somebody sets or removes while a change of the host is under way.
  /// That change was made before, so it undoes this.
  ///
  /// - Parameter before: the widget's error at the daemon before its last message.
  mutating func followErrorsOfOthers(_ id: WidgetID, after before: WidgetError?) {
    guard let state = widgets[id] else { return }
    let there = state.heard.error?.all ?? []
    // The daemon has carried out the change, and the answer is to come.
    let isOwn = state.unansweredErrors.contains { sent in
      (sent?.all ?? []).elementsEqual(there) { $0.isSame(as: $1) }
    }
    guard !isOwn else { return }
    func added(_ new: [WidgetError], to known: [WidgetError]) -> [WidgetError] {
      new.filter { one in
        !BundleInstance.isMark(one) && !known.contains { $0.isSame(as: one) }
      }
    }
    let (known, shown) = (before?.all ?? [], state.view.error?.all ?? [])
    let removed = added(known, to: there)
    let rest = shown.filter { one in !removed.contains { $0.isSame(as: one) } }
    let errors = rest + added(there, to: known + shown)
    guard errors != shown else { return }
    widgets.set(id, error: WidgetError(joining: Array(errors.prefix(BundleInstance.errorsMax))))
  }

  /// A client has cleared the errors of a widget. The failures in them no longer count. The next
  /// host, or version, learns that from the statuses.
  ///
  /// - Parameter names: the actions whose failures nobody has seen yet.
  mutating func clearFailures(_ id: WidgetID, but names: Set<String> = []) {
    for entry in unshownEntries(id) where entry.value.names.isDisjoint(with: names) {
      standing.clear(id, entry.key)
      effects.append(.note("\(place(id, entry.key)) no longer counts: its error was cleared"))
      guard let name = statusName(id, entry.key) else { continue }
      changeStatus(id, name) { $0[BundleInstance.clearedKey] = .bool(true) }
    }
  }

  /// The key of a failed status whose error a client has cleared.
  static let clearedKey = "cleared"
  /// The key of a failed status that the widget's error has, or had until a client cleared it.
  static let shownKey = "shown"

  /// Notes which failures the widget's error has. If the next host, or version, does not find such a
  /// failure in the error, a client has cleared it.
  private mutating func noteShown(_ id: WidgetID, _ entries: [FailureKey]) {
    for (key, failure) in standing[id] where !failure.isCleared {
      let isShown = entries.contains(key)
      guard let name = statusName(id, key), status(id, name) == .failure,
        isNoted(BundleInstance.shownKey, id, name) != isShown
      else { continue }
      changeStatus(id, name) { $0[BundleInstance.shownKey] = isShown ? Value.bool(true) : nil }
    }
  }

  /// The name of the status that has a failure; nil if no status has it.
  func statusName(_ id: WidgetID, _ key: FailureKey) -> String? {
    switch key {
    case .source(let index): source(id, index)?.name
    case .action(let name): refusedForm(of: name, id).isEmpty ? name : nil
    case .form(let action, let node): refusedForm(of: action, id) == node ? action : nil
    case .trigger, .dropped, .timeline, .content, .reducer, .changes: nil
    }
  }

  /// The node of the form whose refusal the status of an action has; empty if it has none.
  private func refusedForm(of action: String, _ id: WidgetID) -> String {
    ActionStatus.form(in: widgets.statuses(of: id)[action])
  }

  /// Sets the mark of a continuing failure again, if somebody cleared it.
  private mutating func showAgain(_ id: WidgetID) {
    guard standing.mark(of: id) != nil, widgets[id]?.view.error == nil else { return }
    standing.set(id, mark: nil)
    widgets.touch(id)
  }

  /// A source, an action or steps have succeeded.
  mutating func succeeded(_ id: WidgetID, _ key: FailureKey) {
    let isFirst = standing.works(id, key)
    var words = isFirst ? "works now" : "works again"
    if isFirst, isUnread(id, key) { words = "is not read, because the host runs with --stub" }
    forgetFailure(id, key, because: words)
  }

  /// Whether it is a source whose input the host does not read, because it runs with `--stub`.
  private func isUnread(_ id: WidgetID, _ key: FailureKey) -> Bool {
    guard isStub, case .source(let index) = key, let source = source(id, index) else {
      return false
    }
    switch source.input {
    case .file, .folder, .command, .http, .socket, .bus: return true
    case .timer, .constant: return source.stub != nil
    }
  }

  /// Forgets a failure.
  ///
  /// - Parameter words: the log's text after the name of the part.
  mutating func forgetFailure(_ id: WidgetID, _ key: FailureKey, because words: String) {
    guard standing.forget(id, key) else { return }
    effects.append(.note("\(place(id, key)) \(words)"))
    if case .source(let index) = key {
      timers.cancel(.stale(id, index))
      showStaleness(id)
    }
    widgets.touch(id)
  }

  /// For people: which part of which widget.
  func place(_ id: WidgetID, _ key: FailureKey) -> String {
    let what =
      switch key {
      case .source(let index): "source \(source(id, index)?.name ?? "?")"
      case .action(let name), .form(let name, _): "action \(name)"
      case .trigger(let index): triggerName(id, index)
      case .dropped: "its events"
      case .timeline: "its timeline"
      case .content: "its content"
      case .reducer: "a reducer"
      case .changes: "its changes"
      }
    return "bundle \(bundle.id): widget \(id): \(what)"
  }

  /// The title of steps without a name: `on press of add`.
  func triggerName(_ id: WidgetID, _ index: Int) -> String {
    guard let triggers = facts(of: id)?.kind.triggers, triggers.indices.contains(index) else {
      return "steps"
    }
    switch triggers[index].when {
    case .load: return "on load"
    case .every(let interval): return "on every \(DurationSyntax.seconds(interval))"
    case .event(let name, let nodeID): return "on \(name)" + (nodeID.map { " of \($0)" } ?? "")
    }
  }

  /// Follows the problem of the widget's timeline, which the daemon reports.
  mutating func followTimeline(_ id: WidgetID) {
    guard let state = widgets[id] else { return }
    let problem = state.view.timeline?.problem ?? ""
    guard problem != standing[id, .timeline]?.status.message ?? "" else { return }
    guard !problem.isEmpty else {
      return forgetFailure(id, .timeline, because: "works now")
    }
    let since = state.view.timeline?.problemSince
    failed(
      id, .timeline,
      ActionStatus(
        state: .failure, title: "Timeline failed", message: problem, code: "FAILED_PRECONDITION",
        since: since), since: since)
  }

  /// Follows the failures of the widget's content, which the daemon reports. The first one counts.
  mutating func followContent(_ id: WidgetID) {
    guard let state = widgets[id], !state.lacksStatuses else { return }
    var words = ""
    var since: Timestamp?
    if case .content(let node, let problem, let time)? = state.view.content?.failures.first {
      (words, since) = ("\(node): \(problem)", time)
    }
    guard words != standing[id, .content]?.status.message ?? "" else { return }
    guard !words.isEmpty else { return forgetFailure(id, .content, because: "works now") }
    failed(
      id, .content,
      ActionStatus(
        state: .failure, title: "Content failed", message: words, code: "FAILED_PRECONDITION",
        since: since), since: since)
  }

  /// Follows the failed reducers of the widget's kind, which the daemon reports.
  mutating func followReducers(_ id: WidgetID) {
    guard let state = widgets[id] else { return }
    let errors = state.reducerErrors.prefix(limits.failuresShownMax)
    for case .reducer(let message) in standing[id].keys
    where !errors.contains(where: { $0.message == message }) {
      forgetFailure(id, .reducer(message), because: "works now")
    }
    for error in errors where standing[id, .reducer(error.message)] == nil {
      failed(
        id, .reducer(error.message),
        ActionStatus(
          state: .failure, title: "Reducer failed", message: error.message,
          code: "FAILED_PRECONDITION", since: error.since), since: error.since)
    }
  }

  // MARK: Refused changes

  /// The daemon has refused a change of a widget for now. The host's log has one line for all
  /// widgets, so this adds none.
  mutating func noteRefusedChange(_ id: WidgetID, _ failure: Failure) {
    guard failure.refusal != nil, widgets[id] != nil else { return }
    let known = standing[id, .changes]
    var status = ActionStatus(
      state: .failure, title: "Update refused", message: failure.message, code: failure.code)
    status.since = known?.since ?? now.wall
    let refused = StandingFailure(status: status, names: [], isCaught: false)
    guard known != refused else { return }
    standing.set(id, .changes, refused)
    widgets.touch(id)
  }

  /// The daemon has taken a change of a widget.
  mutating func noteTakenChange(_ id: WidgetID) {
    if standing.forget(id, .changes) { widgets.touch(id) }
  }

  // MARK: The mark

  /// The failures that the widget's content does not show, and that no client has cleared, the newest
  /// first.
  ///
  /// - Parameter countsPlaceholders: whether a placeholder shows a failure. It does for the user of
  ///   the widget, but not for the bundle's administrator.
  private func unshownEntries(
    _ id: WidgetID, countsPlaceholders: Bool = true
  ) -> [(key: FailureKey, value: StandingFailure)] {
    let failures = standing[id]
    guard let state = widgets[id], !failures.isEmpty, let facts = facts(of: id) else { return [] }
    return failures.filter {
      !$0.value.isCleared && !facts.isTold($0.key, $0.value, on: state.view)
        && !(countsPlaceholders && $0.key.isMarkedByClients)
        && !(countsPlaceholders && facts.hasPlaceholder(for: $0.key, on: state.view))
    }.sorted { ($1.value.since, "\($0.key)") < ($0.value.since, "\($1.key)") }
  }

  /// Sets the widget's error to the problems of bundles and the failures, the newest first. The
  /// errors of others stay behind these.
  mutating func showMark(_ id: WidgetID) {
    guard let state = widgets[id] else { return }
    let isWaiting = waiting.contains(id)
    // The errors of a wait, which `Holds` sets. They come first, and must not be lost.
    let held = isWaiting ? state.view.error?.all.filter(BundleInstance.isProblem) ?? [] : []
    guard !isWaiting || !held.isEmpty else { return }
    let problems = isWaiting ? [] : problemMarks(id)
    let failures = shownEntries(id)
    noteShown(id, failures.map { $0.key })
    let marks = problems + failures.map { BundleInstance.mark($0.key, $0.value) }
    let mark = WidgetError(joining: marks)
    let shown = state.view.error?.all ?? []
    let theirs = shown.filter { !BundleInstance.isMark($0) }
    let room = max(0, BundleInstance.errorsMax - held.count - marks.count)
    let wanted = WidgetError(joining: held + marks + theirs.prefix(room))
    // If somebody cleared the mark, do not set it again before the next failure.
    let isGone = !problems.isEmpty && state.view.error != wanted?.continuing(state.view.error)
    // Nobody else ends the problems of bundles on the widgets of this bundle's kinds.
    let isOver = shown.contains { error in
      !isWaiting && BundleInstance.isProblem(error)
        && !problems.contains { $0.isSame(as: error) }
    }
    guard
      mark != standing.mark(of: id) || ((isGone || isOver) && !standing.isMarkRefused(id))
    else { return }
    standing.set(id, mark: mark)
    widgets.touch(id)
    // A user can have made the widget stale. The host undoes only what the host did.
    if isOver, standing.isStaleByProblem(id), !isStale(id) { widgets.set(id, isStale: false) }
    if mark != nil || held.count + theirs.count < shown.count { widgets.set(id, error: wanted) }
  }

  /// The maximum number of errors of a widget that the daemon takes.
  static let errorsMax = 33

  /// The errors for the problems of bundles. The one of the widget's own bundle comes first, because
  /// this bundle can remove the widget.
  private func problemMarks(_ id: WidgetID) -> [WidgetError] {
    var marks: [WidgetError] = []
    if let left = leaveMark(id) { marks.append(left) }
    if let trouble = ownerTrouble(of: id) { marks.append(trouble.error()) }
    guard let problem else { return marks }
    let words = others.contains(id) ? problemOfOthers ?? problem : problem
    // A problem that replaces a missing folder, or is replaced by one, has a new age.
    return marks
      + [WidgetError(reason: BundleInstance.invalid, message: words, since: problemSince)]
  }

  /// The error of a widget that the file of another bundle lacks. An earlier host has set it,
  /// because instances leave the error of such a widget alone. When that bundle has declared its
  /// widgets, the error is over.
  func leaveMark(_ id: WidgetID) -> WidgetError? {
    guard let set = others.set(of: id), set.hasPrefix(HostState.provider(of: "")),
      !declaredSets.contains(set)
    else { return nil }
    return widgets[id]?.view.error?.all.first {
      Holds.Cause.has($0) && !Holds.Cause.has($0, of: bundle.id)
    }
  }

  /// Whether an error is about a problem of a bundle, or about a widget that its file lacks.
  private static func isProblem(_ error: WidgetError) -> Bool { error.reason == invalid }

  /// Whether an error is a mark, which this bundle may clear. Other errors are those of others.
  static func isMark(_ error: WidgetError) -> Bool {
    [invalid, sourceFailed, actionFailed].contains(error.reason)
  }

  /// The failures in the widget's error.
  private func shownEntries(_ id: WidgetID) -> [(key: FailureKey, value: StandingFailure)] {
    Array(unshownEntries(id).prefix(limits.failuresShownMax))
  }

  /// The error for a failure that the widget's content does not show. Each failure is an error, so
  /// that its reason and age can be seen, and the next host or version finds it.
  private static func mark(_ key: FailureKey, _ failure: StandingFailure) -> WidgetError {
    let reason = if case .source = key { sourceFailed } else { actionFailed }
    let words = [failure.status.title, failure.status.message].filter { !$0.isEmpty }
    return WidgetError(
      reason: reason, message: words.joined(separator: ": "), since: failure.since)
  }
}
