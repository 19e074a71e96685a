import WidgetBundle
import WidgetModel

/// Facts about a kind that the host often needs.
struct KindFacts: Sendable {
  let kind: BundleKind
  let types: [String: Field]
  let statusNames: [String]
  let takesStatus: Bool
  /// Whether the kind reacts to the event `error`.
  let handlesErrors: Bool
  /// The actions whose event `NAME.error` starts something.
  private let handledActions: Set<String>
  /// The life events of sources and actions that the kind takes: events that it declares, and
  /// events that start something.
  let lifeEvents: Set<String>

  init(_ kind: BundleKind) {
    self.kind = kind
    types = Dictionary(kind.kind.data.map { ($0.name, $0) }) { first, _ in first }
    statusNames = (kind.sources.map(\.name) + kind.actions.keys).sorted()
    takesStatus = kind.kind.isOpen || types[BundleScope.statusKey] != nil
    let triggers = kind.triggers.contains { trigger in
      if case .event("error", _) = trigger.when { true } else { false }
    }
    // Triggers that only set data are reducers.
    handlesErrors = triggers || kind.kind.reducers.contains { $0.event == "error" }
    let known = statusNames.flatMap { name in LifePhase.allCases.map { $0.event(of: name) } }
    let taken =
      kind.kind.events.map(\.name) + kind.kind.reducers.map(\.event)
      + kind.triggers.compactMap { trigger in
        if case .event(let name, nil) = trigger.when { name } else { nil }
      }
    lifeEvents = Set(known).intersection(taken)
    let handled =
      kind.kind.reducers.filter { $0.nodeID.isEmpty }.map(\.event)
      + kind.triggers.compactMap { trigger in
        if case .event(let name, nil) = trigger.when { name } else { nil }
      }
    handledActions = Set(kind.actions.keys).filter { name in
      handled.contains(LifePhase.error.event(of: name))
    }
  }

  /// Whether steps of the author handle the failure of an action.
  ///
  /// - Parameter inRunAboutError: whether the event `error` has started the action. A failure of such
  ///   a run sends no further event `error`, so no steps handle it.
  func catches(_ action: String, inRunAboutError: Bool = false) -> Bool {
    kind.actions[action]?.failure.isEmpty == false || handledActions.contains(action)
      || (handlesErrors && !inRunAboutError)
  }

  /// Whether steps of the author run because of the event for the failure of an action.
  func handlesError(of action: String) -> Bool {
    handlesErrors || handledActions.contains(action)
  }

  /// Whether the event `NAME.error` of an action starts something.
  func handlesOwnError(of action: String) -> Bool { handledActions.contains(action) }

  /// The widget with the defaults of missing data and parameters, for expressions. The daemon
  /// removes the defaults with a kind. Until the host has restored the kind, widgets lack them.
  func completed(_ widget: Widget) -> Widget {
    var widget = widget
    for field in kind.kind.data where widget.data[field.name] == nil {
      if let value = field.defaultValue { widget.data[field.name] = value }
    }
    for field in kind.kind.parameters where widget.parameters[field.name] == nil {
      if let value = field.defaultValue { widget.parameters[field.name] = value }
    }
    return widget
  }

  /// The value as the kind's data takes it.
  func fitted(_ value: Value, to key: String, place: String) throws(Failure) -> Value {
    guard let field = types[key] else {
      if kind.kind.isOpen { return value }
      throw Failure(
        "INVALID_ARGUMENT", "\(place): kind \"\(kind.kind.name)\" has no data field \"\(key)\"")
    }
    guard let fitted = field.type.fitted(value) else {
      throw Failure(
        "INVALID_ARGUMENT",
        "\(place): \"\(key)\" takes a value of type \(field.type), not \(value.typeName)")
    }
    guard field.takes(fitted) else {
      throw Failure(
        "INVALID_ARGUMENT", "\(place): \"\(key)\" takes one of: \(field.choiceWords)")
    }
    return fitted
  }

  /// The default title of a failure: `Feed failed`.
  func failureTitle(_ name: String) -> String {
    guard !name.isEmpty else { return "Failed" }
    let words = name.map { $0 == "_" || $0 == "-" ? " " : String($0) }.joined()
    return words.prefix(1).uppercased() + words.dropFirst() + " failed"
  }

  /// Whether the daemon takes an event of this name, and which details; nil for all details.
  func takesEvent(_ name: String) -> (isTaken: Bool, details: Set<String>?) {
    if kind.kind.isOpen || kind.kind.events.isEmpty { return (true, nil) }
    guard let event = kind.kind.events.first(where: { $0.name == name }) else {
      return (false, nil)
    }
    return (true, Set(event.payload.map(\.name)))
  }
}
