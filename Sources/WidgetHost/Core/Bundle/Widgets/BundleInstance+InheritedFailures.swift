import WidgetBundle
import WidgetModel

// Failures of a former host or version, which the statuses in the data of a widget have.
extension BundleInstance {
  /// Takes over the ages of failures from the former version in this process. The statuses have only
  /// the time of the wall clock, which can have been set since.
  mutating func keepAges(of former: BundleInstance) {
    var all: [WidgetID: [String: StandingFailure]] = [:]
    for id in former.sortedIDs {
      for (key, failure) in former.standing[id] {
        guard let name = former.statusName(id, key) else { continue }
        all[id, default: [:]][name] = failure
      }
    }
    standing.set(former: all)
  }

  /// Takes over the failures in a widget's data, and reports those of a former host. Clears the
  /// mark if its source or action no longer exists.
  ///
  /// - Parameters:
  ///   - statuses: those of the former host or version.
  ///   - interrupted: the actions that have just failed, because the former host or version ended.
  mutating func inheritFailures(
    _ id: WidgetID, _ facts: KindFacts, from statuses: ValueMap, interrupted: Set<String>
  ) {
    let former = standing.takeFormer(id)
    let moved = moveFailures(id, facts, from: statuses)
    guard let state = widgets[id] else { return }
    let names = facts.kind.sources.enumerated().map { ($1.name, FailureKey.source($0)) }
    let actions = facts.kind.actions.keys.sorted().map { ($0, FailureKey.action($0)) }
    let outer = outerFailures(id, facts)
    var inherited: [(name: String, key: FailureKey, status: ActionStatus)] = []
    for (name, key) in names + actions {
      guard let status = self.failure(id, name), outer[name] == nil else { continue }
      var key = key
      if !status.fields.isEmpty {
        guard facts.hasForm(of: status, action: name) else {
          forgetStatus(id, name)
          continue
        }
        key = .form(action: name, node: status.form)
      }
      let known = former[name].flatMap { $0.since == status.since ? $0.begun : nil }
      standing.set(
        id, key,
        StandingFailure(
          status: status, names: Set(outer.filter { $0.value == name }.keys).union([name]),
          isCaught: isStillCaught(key, name, id, facts),
          begun: known ?? uptime(of: status.since ?? now.wall)))
      if case .source(let index) = key { armStaleness(id, index) }
      if isNoted(BundleInstance.clearedKey, id, name) { standing.clear(id, key) }
      inherited.append((name, key, status))
    }
    tellEndedFailures(id, facts, from: statuses, but: Set(inherited.map { $0.name }))
    // If the mark is gone, and no error of others is in its place, a client has cleared it while no
    // host ran. Problems of bundles replace no mark. What the content showed had no mark.
    let shown = state.view.error?.all ?? []
    if shown.allSatisfy({ $0.reason == BundleInstance.invalid }) {
      let told = inherited.map { $0.name }.filter { !isNoted(BundleInstance.shownKey, id, $0) }
      clearFailures(id, but: interrupted.union(told))
    }
    for (name, key, status) in inherited where standing[id, key]?.isCleared == false {
      if interrupted.contains(name) {
        effects.append(.report("\(place(id, key)): \(status.message.withMarkedNewlines)"))
      } else if !isReload || moved.contains(name) {
        let since = RFC3339.text(standing[id, key]?.since.wholeSeconds ?? now.wall)
        let words = if case .source = key { "has failed since" } else { "failed at" }
        let message = status.message.withMarkedNewlines
        effects.append(.report("\(place(id, key)): \(words) \(since): \(message)"))
      }
    }
    inheritStepFailures(id, facts)
    // The marks may come from a former version; this version updates them from now on.
    let marks = state.view.error?.all.filter(BundleInstance.isMark) ?? []
    guard !marks.isEmpty else { return }
    standing.set(id, mark: WidgetError(joining: marks))
    let hasSourceFailure = marks.contains { $0.reason == BundleInstance.sourceFailed }
    if state.view.isStale, hasSourceFailure, !isStale(id) { widgets.set(id, isStale: false) }
  }

  /// The failed actions whose failure counts for an action that they run, with the name of that
  /// action. If the version no longer has that action, the failure counts for the outer one.
  private func outerFailures(_ id: WidgetID, _ facts: KindFacts) -> [String: String] {
    var outer: [String: String] = [:]
    for name in facts.kind.actions.keys {
      guard let inner = innerFailure(of: name, id),
        inner.isEmpty || facts.kind.actions[inner] != nil
      else { continue }
      outer[name] = inner
    }
    return outer
  }

  /// A failure as the widget's data has it.
  private func failure(_ id: WidgetID, _ name: String) -> ActionStatus? {
    guard status(id, name) == .failure,
      case .map(let map)? = widgets.statuses(of: id)[name]
    else { return nil }
    func text(_ key: String) -> String {
      if case .string(let text)? = map[key] { text } else { "" }
    }
    func texts(_ key: String) -> [String: String] {
      guard case .map(let known)? = map[key] else { return [:] }
      var found: [String: String] = [:]
      for case (let name, .string(let text)) in known.entries.map({ ($0.key, $0.value) }) {
        found[name] = text
      }
      return found
    }
    var since = now.wall
    if case .timestamp(let time)? = map["since"] { since = time }
    let status = ActionStatus(
      state: .failure, title: text("title"), message: text("message"), code: text("code"),
      fields: texts("fields"), form: text(ActionStatus.formKey),
      errorMessage: text(ActionStatus.errorMessageKey), rules: texts(ActionStatus.rulesKey),
      since: since,
      makesStale: map[ActionStatus.staleKey] == .bool(true))
    return status.asError
  }

  /// Forgets the refusal of a form that this version does not have.
  private mutating func forgetStatus(_ id: WidgetID, _ name: String) {
    var all = widgets.statuses(of: id)
    all[name] = ActionStatus().value
    widgets.set(id, statuses: all)
  }
}
