import WidgetBundle
import WidgetModel

// Submissions of forms. A form that refuses its values is a failure, one for each node of a form: in
// rows, each row has a node. The failure ends when the same node takes the values of a submission,
// or leaves the content. The status of the action has only the newest refusal or run.
extension BundleInstance {
  /// Checks every field of a form. If a field is invalid, no action runs. The reason is a failure
  /// until the form takes the values of a submission.
  mutating func check(_ form: Form, _ event: Event, _ facts: KindFacts) -> Bool {
    let shown = widgets[event.widgetID]?.heard.content?.nodes ?? []
    let problems = FormField.problems(
      of: event.submittedValues, for: form.fields, in: event.nodeID,
      othersMax: limits.formProblemsMax
    ) { id in
      shown.first { $0.id == id }?.properties
    }
    let key = FailureKey.form(action: form.action, node: event.nodeID)
    guard !problems.isEmpty else {
      endRefusal(event.widgetID, key, because: "takes the values of its form now")
      return true
    }
    var status = ActionStatus(
      state: .failure, title: title(of: form.action, facts, event),
      message: problems.map(\.words).joined(separator: "\n"), code: "INVALID_ARGUMENT",
      fields: Dictionary(problems.map { ($0.name, $0.words) }) { first, _ in first },
      form: event.nodeID)
    for field in form.fields where status.fields[field.name] != nil {
      status.rules[field.name] = field.ruleText
    }
    let brief = problems.map(\.brief).joined(separator: " ")
      .wholeWords(bytesMax: limits.outcomeTextBytesMax)
    if brief != status.message { status.errorMessage = brief }
    // `catch` does not run. Only steps for the event of the failure handle it.
    let known = failed(
      event.widgetID, key, status.asError, among: [form.action],
      isCaught: facts.isCaught(key), cause: .event)
    forgetOldRefusals(event.widgetID)
    status.since = known.since
    setStatus(event.widgetID, form.action, status)
    noteHandlers(of: key, form.action, event.widgetID)
    noteOutcome(of: event, status)
    sendError(event.widgetID, form.action, status, cause: event)
    return false
  }

  /// Ends the refusals of forms that the content had, and has no more.
  ///
  /// - Parameter before: the content before the last message of the daemon. A form that this lacks
  ///   can be part of the content for another family.
  mutating func followForms(_ id: WidgetID, after before: Content?) {
    let keys = standing[id].keys.filter(\.isForm)
    guard !keys.isEmpty, let before, let content = widgets[id]?.heard.content else { return }
    for key in keys.sorted(by: { "\($0)" < "\($1)" }) {
      guard case .form(_, let node) = key, before.nodes.contains(where: { $0.id == node }),
        !content.nodes.contains(where: { $0.id == node })
      else { continue }
      endRefusal(id, key, because: "no longer has the form that refused its values")
    }
  }

  private mutating func endRefusal(_ id: WidgetID, _ key: FailureKey, because words: String) {
    guard case .form(let action, let node) = key, standing[id, key] != nil else { return }
    forgetFailure(id, key, because: words)
    var all = widgets.statuses(of: id)
    guard ActionStatus.form(in: all[action]) == node else { return }
    // The refusal has replaced the status of an earlier run, which has told of its beginning.
    let frame = runs.of(id).compactMap { runs[$0] }.flatMap(\.frames)
      .last { $0.action.name == action && $0.phase == .steps }
    let isDelayed = isNoted(BundleInstance.delayedKey, id, action)
    all[action] = ActionStatus(state: frame == nil ? .idle : .running).value
    widgets.set(id, statuses: all)
    if let frame { keep(frame.undo, id, action) }
    note(delayOf: action, id, isUnderWay: isDelayed)
  }

  /// Anybody can submit forms in rows that do not exist, so the number of refusals has a limit.
  private mutating func forgetOldRefusals(_ id: WidgetID) {
    let refusals = standing[id].filter { $0.key.isForm }
    guard refusals.count > limits.failuresShownMax,
      let oldest = refusals.min(by: {
        ($0.value.begun, "\($0.key)") < ($1.value.begun, "\($1.key)")
      })
    else { return }
    _ = standing.forget(id, oldest.key)
  }

  private mutating func title(of action: String, _ facts: KindFacts, _ event: Event) -> String {
    errorTitle(of: action, event.widgetID, event: event) ?? facts.failureTitle(action)
  }

  /// The bundle's title for a failure of an action.
  mutating func errorTitle(of action: String, _ id: WidgetID, event: Event? = nil) -> String? {
    guard let template = facts(of: id)?.kind.actions[action]?.errorTitle,
      let moment = try? moment(id, event: event)
    else { return nil }
    return try? text(template, moment)
  }

  /// The event with a value for each field of the form.
  static func completed(_ event: Event, by form: Form) -> Event {
    var completed = event
    completed.payload["values"] = .map(
      FormField.completed(event.submittedValues, for: form.fields))
    return completed
  }
}

extension ActionStatus {
  /// The failure as errors and the log have it.
  var asError: ActionStatus {
    guard !errorMessage.isEmpty else { return self }
    var status = self
    status.message = errorMessage
    status.errorMessage = ""
    return status
  }

  /// The message for the log and traces.
  var logMessage: String { answered.isEmpty ? message : "\(message); \(answered)" }

  /// The node of the form whose refusal a status in the data has; empty for other statuses.
  static func form(in status: Value?) -> String {
    guard case .map(let map)? = status, case .string(let node)? = map[formKey] else { return "" }
    return node
  }
}

extension Event {
  /// The values of a form.
  fileprivate var submittedValues: ValueMap {
    if case .map(let map)? = payload["values"] { map } else { [:] }
  }
}
