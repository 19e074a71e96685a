import WidgetBundle
import WidgetModel

extension KindFacts {
  /// Whether the kind handles a failure.
  func isCaught(_ key: FailureKey) -> Bool {
    switch key {
    case .source: false
    case .action(let name): catches(name)
    // No step has failed, so `catch` does not run.
    case .form(let action, _): handlesError(of: action)
    case .trigger: handlesErrors
    case .dropped, .timeline, .content, .reducer, .changes: false
    }
  }

  private func reads(for widget: Widget) -> ContentReads? {
    kind.contentReads.first { $0.families.contains(widget.family) }
      ?? kind.contentReads.first { $0.families.isEmpty }
  }

  /// Whether the widget's content shows a failure, or the kind handles it.
  func isTold(_ key: FailureKey, _ failure: StandingFailure, on widget: Widget) -> Bool {
    if failure.isCaught { return true }
    guard !key.isMarkedByClients, let reads = reads(for: widget) else { return false }
    guard case .form(let action, let node) = key else {
      // Steps without a name have no status.
      return failure.names.contains {
        reads.readsAllStatuses || reads.statuses[$0]?.tellsFailures == true
      }
    }
    // A later run, or another form, can have replaced the refusal in the status.
    guard case .map(let statuses)? = widget.data[BundleScope.statusKey],
      ActionStatus.form(in: statuses[action]) == node
    else { return false }
    if reads.readsAllStatuses { return true }
    guard let read = reads.statuses[action] else { return false }
    if read.tellsFailures { return true }
    // Inputs show the messages for their values. No input shows a field that the form lacks.
    let names = Set(form(node, of: action)?.fields.map(\.name) ?? [])
    return failure.status.fields.keys.allSatisfy {
      read.fields.contains($0) || (read.readsAllFields && names.contains($0))
    }
  }

  private func form(_ node: String, of action: String) -> Form? {
    kind.forms.first { NodeID.isNode(node, of: $0.key) && $0.value.action == action }?.value
  }

  /// Whether the kind still has the form of a refusal, and one of the reasons still applies.
  func hasForm(of refusal: ActionStatus, action: String) -> Bool {
    guard let form = form(refusal.form, of: action) else { return false }
    let hasChanged = form.fields.contains { field in
      refusal.rules[field.name].map { $0 != field.ruleText } ?? false
    }
    guard !hasChanged else { return false }
    return refusal.fields.contains { name, words in
      let wasUnknown = words.hasPrefix(FormField.beginning(aboutUnknown: name))
      return form.fields.contains { $0.name == name } != wasUnknown
    }
  }

  /// Whether the content shows a placeholder for the data that a failed source sets: the data is
  /// null.
  func hasPlaceholder(for key: FailureKey, on widget: Widget) -> Bool {
    guard let reads = reads(for: widget), case .source(let index) = key,
      kind.sources.indices.contains(index)
    else { return false }
    return kind.sources[index].assignments.values.contains {
      reads.placeholderKeys.contains($0.key) && widget.data[$0.key] ?? .null == .null
    }
  }
}
