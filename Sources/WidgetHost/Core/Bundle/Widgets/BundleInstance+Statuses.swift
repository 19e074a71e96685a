import WidgetBundle
import WidgetModel

// The statuses of sources and actions, in the data of their widget.
extension BundleInstance {
  /// - Parameter run: the run that the action is part of; nil for a source.
  mutating func setStatus(
    _ id: WidgetID, _ name: String, _ status: ActionStatus, run: Run? = nil
  ) {
    guard !name.isEmpty, let facts = facts(of: id), facts.takesStatus else { return }
    traceStatus(status, of: name, id)
    defer { tellLife(status, of: name, id, run: run) }
    var all = widgets.statuses(of: id)
    let isShown = status.state == .failure && isNoted(BundleInstance.shownKey, id, name)
    // Another run of the action can be in its delay.
    let isDelayed = isNoted(BundleInstance.delayedKey, id, name) && hasDelayedRun(of: name, id)
    all[name] = status.value
    widgets.set(id, statuses: all)
    if isShown { changeStatus(id, name) { $0[BundleInstance.shownKey] = .bool(true) } }
    if isDelayed { changeStatus(id, name) { $0[BundleInstance.delayedKey] = .bool(true) } }
  }

  private func hasDelayedRun(of name: String, _ id: WidgetID) -> Bool {
    runs.of(id).contains { number in
      guard let run = runs[number] else { return false }
      return run.isDelayed && run.frames.last?.action.name == name
    }
  }

  /// Sets the status of a source or an action to a failure, and remembers that.
  mutating func setFailure(
    _ id: WidgetID, _ name: String, _ status: ActionStatus, cause: FailureCause = .time
  ) {
    guard let facts = facts(of: id) else { return }
    let key =
      facts.kind.sources.firstIndex { $0.name == name }.map { FailureKey.source($0) }
      ?? .action(name)
    // No step has failed, so `catch` does not run, and no event `error` is sent.
    let isCaught = facts.handlesOwnError(of: name)
    setStatus(
      id, name, failed(id, key, status, among: [name], isCaught: isCaught, cause: cause))
    noteHandlers(of: key, name, id)
  }

  /// Changes details of a status, and leaves the others.
  mutating func changeStatus(_ id: WidgetID, _ name: String, _ body: (inout ValueMap) -> Void) {
    var all = widgets.statuses(of: id)
    guard case .map(var status)? = all[name] else { return }
    body(&status)
    all[name] = .map(status)
    widgets.set(id, statuses: all)
  }

  /// Notes in the status of an action whether its delay is under way. So the next host, or version,
  /// knows that the action was interrupted.
  mutating func note(delayOf name: String, _ id: WidgetID, isUnderWay: Bool) {
    guard isNoted(BundleInstance.delayedKey, id, name) != isUnderWay else { return }
    changeStatus(id, name) { $0[BundleInstance.delayedKey] = isUnderWay ? Value.bool(true) : nil }
  }

  /// Notes in the status of an action that it has failed because an action that it runs has failed.
  /// The failure counts there, so the next host, or version, does not count it again.
  ///
  /// - Parameter inner: the action that it runs; empty for one without a name.
  mutating func note(innerFailureOf name: String, _ id: WidgetID, _ inner: String) {
    changeStatus(id, name) { $0[BundleInstance.innerKey] = .string(inner) }
  }

  /// Notes in the status of an action whether its steps run another action now. If the host is
  /// interrupted, the failure counts there. A status that tells of something else stays: of the
  /// refusal of a form, or of another run.
  ///
  /// - Parameters:
  ///   - inner: the other action; empty for one without a name.
  ///   - run: without the frame of the other action.
  mutating func note(_ inner: String, isUnderWay: Bool, in run: Run) {
    let outer = run.frames.last { $0.phase == .steps && !$0.action.name.isEmpty }?.action.name
    guard let outer, !inner.isEmpty, outer != inner, status(run.widgetID, outer) == .running,
      isUnderWay || innerFailure(of: outer, run.widgetID) == inner
    else { return }
    changeStatus(run.widgetID, outer) {
      $0[BundleInstance.innerKey] = isUnderWay ? Value.string(inner) : nil
    }
  }

  /// The innermost of the interrupted actions that an interrupted action ran, directly or through
  /// others; nil if it ran none of them.
  func innerInterruption(of name: String, _ id: WidgetID, among names: Set<String>) -> String? {
    var path = [name]
    while let last = path.last, let next = innerFailure(of: last, id), names.contains(next),
      !path.contains(next)
    { path.append(next) }
    return path.count > 1 ? path.last : nil
  }

  /// The action whose failure is the cause of a failure; nil if the action itself has failed. For an
  /// action that runs: the action that its steps run now.
  func innerFailure(of name: String, _ id: WidgetID) -> String? {
    guard case .map(let status)? = widgets.statuses(of: id)[name],
      case .string(let inner)? = status[BundleInstance.innerKey]
    else { return nil }
    return inner
  }

  /// The key of the name of an inner action in the status of an action.
  static let innerKey = "inner"

  /// The key of the status of an action that failed because its host or version ended. No step of
  /// `catch` has run, and no event has told of the failure.
  static let interruptedKey = "interrupted"

  /// The key of the status of an action whose delay is under way.
  static let delayedKey = "delayed"

  /// Whether a status has a key with the value true.
  func isNoted(_ key: String, _ id: WidgetID, _ name: String) -> Bool {
    guard case .map(let status)? = widgets.statuses(of: id)[name] else { return false }
    return status[key] == .bool(true)
  }

  func status(_ id: WidgetID, _ name: String) -> ActionStatus.State {
    guard case .map(let status)? = widgets.statuses(of: id)[name],
      case .string(let text)? = status["state"]
    else { return .idle }
    return ActionStatus.State(rawValue: text) ?? .idle
  }
}
