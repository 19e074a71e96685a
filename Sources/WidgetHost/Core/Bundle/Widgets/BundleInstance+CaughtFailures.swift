import WidgetBundle
import WidgetModel

// Failures of actions that steps of the author have handled. The next host, or version, learns that
// from the statuses. A failure without such a mark was not handled, even if the version has a handler
// now: the handler has not run for it. A failure with the mark counts again if the version no longer
// has the handler.

/// The actions between a failed action and its trigger. One of them, or the failed action, has
/// handled the failure.
struct HandledPath: Hashable, Sendable {
  /// From the failed action outwards. Actions without a name are left out.
  var actions: [String]
  /// For people, as in errors: `on press of add`.
  var trigger: String
  /// Whether the event `error` has started the run.
  var isAboutError: Bool

  init(actions: [String], trigger: String, isAboutError: Bool) {
    self.actions = actions
    self.trigger = trigger
    self.isAboutError = isAboutError
  }

  init?(_ value: Value?) {
    guard case .map(let map)? = value, case .list(let names)? = map["actions"],
      case .string(let trigger)? = map["trigger"]
    else { return nil }
    let actions = names.compactMap { name -> String? in
      if case .string(let text) = name { text } else { nil }
    }
    self.init(
      actions: actions, trigger: trigger, isAboutError: map["aboutError"] == .bool(true))
  }

  var value: Value {
    .map([
      "actions": .list(actions.map { .string($0) }), "trigger": .string(trigger),
      "aboutError": .bool(isAboutError),
    ])
  }

  /// The path of an action that has taken over the failure, because the failed action is gone.
  func beginning(at name: String) -> HandledPath {
    var path = self
    path.actions = actions.firstIndex(of: name).map { Array(actions[$0...]) } ?? [name]
    return path
  }
}

extension BundleInstance {
  /// The key of the status of an action whose failure steps of the author have handled.
  static let caughtKey = "caught"

  /// Notes in the status of an action that steps of the author have handled its failure.
  mutating func noteHandlers(of name: String, in run: Run) {
    guard standing[run.widgetID, .action(name)]?.isCaught == true else { return }
    let names = run.frames.reversed().map(\.action.name).filter { !$0.isEmpty }
    let path = HandledPath(
      actions: names, trigger: triggerName(run.widgetID, run.trigger),
      isAboutError: run.isAboutError)
    changeStatus(run.widgetID, name) { $0[BundleInstance.caughtKey] = path.value }
  }

  /// Notes the same for a failure outside of a run, such as the refusal of a form.
  mutating func noteHandlers(of key: FailureKey, _ name: String, _ id: WidgetID) {
    guard standing[id, key]?.isCaught == true else { return }
    let path = HandledPath(actions: [name], trigger: "", isAboutError: false)
    changeStatus(id, name) { $0[BundleInstance.caughtKey] = path.value }
  }

  /// Whether steps of the author have handled a failure of a former host or version, and this version
  /// still has the handler.
  func isStillCaught(
    _ key: FailureKey, _ name: String, _ id: WidgetID, _ facts: KindFacts
  ) -> Bool {
    guard case .map(let status)? = widgets.statuses(of: id)[name],
      let path = HandledPath(status[BundleInstance.caughtKey])?.beginning(at: name)
    else { return false }
    switch key {
    case .action:
      let trigger = facts.kind.triggers.indices.first { triggerName(id, $0) == path.trigger }
      return facts.handles(path, from: trigger.map { facts.kind.triggers[$0].steps } ?? [])
    default: return facts.isCaught(key)
    }
  }
}

extension KindFacts {
  /// Whether the kind handles a failure that goes this way.
  ///
  /// - Parameter steps: those of the trigger.
  func handles(_ path: HandledPath, from steps: [Step]) -> Bool {
    guard var inner = path.actions.first else { return false }
    if catches(inner, inRunAboutError: path.isAboutError) { return true }
    for name in path.actions.dropFirst() {
      guard let outer = kind.actions[name], outer.allSteps.runs(inner) else { return false }
      let isHandler = catches(name, inRunAboutError: path.isAboutError)
      if outer.handles(inner, isHandler: isHandler) { return true }
      inner = name
    }
    return Action(steps: steps).handles(inner, isHandler: false)
  }
}

extension Action {
  fileprivate var allSteps: [Step] { steps + otherwise + success + failure }

  /// Whether this action, or an action without a name in it, handles a failure of an action that it
  /// runs.
  ///
  /// - Parameter isHandler: whether it handles the failures of `steps`.
  fileprivate func handles(_ inner: String, isHandler: Bool) -> Bool {
    if isHandler, steps.runs(inner) { return true }
    return allSteps.contains { step in
      guard case .action(let action) = step else { return false }
      return action.handles(inner, isHandler: !action.failure.isEmpty)
    }
  }
}

extension [Step] {
  /// Whether one of the steps runs the action, except through other actions with a name.
  fileprivate func runs(_ name: String) -> Bool {
    contains { step in
      switch step {
      case .run(let other): other == name
      case .action(let action): action.allSteps.runs(name)
      default: false
      }
    }
  }
}
