import WidgetBundle
import WidgetModel

// Failures of a former host or version that an edit of the file ends, or moves to another action.
extension BundleInstance {
  /// Moves the failures of actions that this version does not have. Each then counts once, for the
  /// innermost of the actions that ran the missing one.
  ///
  /// - Parameter former: the statuses of the former host or version.
  /// - Returns: the actions that have a failure from now on.
  mutating func moveFailures(
    _ id: WidgetID, _ facts: KindFacts, from former: ValueMap
  ) -> Set<String> {
    var groups: [String: [String]] = [:]
    for name in facts.kind.actions.keys.sorted() where status(id, name) == .failure {
      guard let inner = innerFailure(of: name, id), !inner.isEmpty,
        facts.kind.actions[inner] == nil
      else { continue }
      groups[inner, default: []].append(name)
    }
    var moved: Set<String> = []
    for (inner, names) in groups {
      var known: ValueMap?
      if case .map(let status)? = former[inner] { known = status }
      if let known, !BundleInstance.isFailure(known) {
        // The failure has ended before.
        for name in names { note(innerFailureOf: name, id, "") }
        continue
      }
      guard let holder = innermost(of: names, id, facts) else { continue }
      for name in names where name != holder { note(innerFailureOf: name, id, holder) }
      changeStatus(id, holder) { status in
        status[BundleInstance.innerKey] = nil
        for key in [
          BundleInstance.clearedKey, BundleInstance.shownKey, BundleInstance.caughtKey,
        ] {
          if let value = known?[key] { status[key] = value }
        }
      }
      moved.insert(holder)
    }
    return moved
  }

  /// The action that runs none of the others. If there are several, the one that failed last.
  private func innermost(of names: [String], _ id: WidgetID, _ facts: KindFacts) -> String? {
    let inner = names.filter { name in
      let reached = facts.actions(runBy: name)
      return !names.contains { $0 != name && reached.contains($0) }
    }
    func since(_ name: String) -> Timestamp {
      guard case .map(let status)? = widgets.statuses(of: id)[name],
        case .timestamp(let time)? = status["since"]
      else { return .epoch }
      return time
    }
    return (inner.isEmpty ? names : inner).max { since($0) < since($1) }
  }

  /// Logs the ends of failures that the log has, and that an edit of the file has ended.
  ///
  /// - Parameters:
  ///   - former: the statuses of the former host or version.
  ///   - names: the sources and actions whose failures continue.
  mutating func tellEndedFailures(
    _ id: WidgetID, _ facts: KindFacts, from former: ValueMap, but names: Set<String>
  ) {
    guard facts.takesStatus else { return }
    for entry in former.entries where !names.contains(entry.key) {
      guard case .map(let status) = entry.value, BundleInstance.isFailure(status),
        status[BundleInstance.innerKey] == nil,
        status[BundleInstance.clearedKey] != .bool(true)
      else { continue }
      let name = entry.key
      let hasForm = facts.kind.actions[name] != nil && !ActionStatus.form(in: entry.value).isEmpty
      let words =
        hasForm
        ? "action \(name): its refusal has ended, because the form has changed"
        : "the failure of \(name) has ended, because the file has changed"
      effects.append(.note("bundle \(bundle.id): widget \(id): \(words)"))
    }
  }

  private static func isFailure(_ status: ValueMap) -> Bool {
    status["state"] == .string(ActionStatus.State.failure.rawValue)
  }
}

extension KindFacts {
  /// The actions that an action runs, directly or through others.
  fileprivate func actions(runBy name: String) -> Set<String> {
    var reached: Set<String> = []
    var open = [name]
    while let next = open.popLast() {
      guard let action = kind.actions[next] else { continue }
      for inner in action.namesOfInner where reached.insert(inner).inserted { open.append(inner) }
    }
    return reached
  }
}

extension Action {
  /// The names of the actions that its steps run, except through other actions with a name.
  fileprivate var namesOfInner: [String] {
    (steps + otherwise + success + failure).flatMap { step -> [String] in
      switch step {
      case .run(let name): [name]
      case .action(let action): action.namesOfInner
      default: []
      }
    }
  }
}
