import WidgetExpression
public import WidgetModel

// Actions, their steps, their triggers, and forms.

/// An action of a kind. If the action has a name, its state is in the widget's data, as
/// `status.NAME`; see `ActionStatus`.
public struct Action: Sendable {
  /// Empty if the action has no name.
  public var name: String
  /// If this is false, the action runs `otherwise` instead of the steps.
  public var condition: Expression?
  public var otherwise: [Step]
  /// The action is refused (with the code and message) unless all of these are true.
  public var requirements: [Requirement]
  /// The wait before the steps. If the action is started again meanwhile, the wait begins again.
  public var delay: Duration?
  /// The steps, in order. The first step that fails ends the action.
  public var steps: [Step]
  /// Data that is set before the steps, and reverted if they fail.
  public var optimistic: Assignments
  /// The steps after all `steps` succeeded. `result` is the result of the last step.
  public var success: [Step]
  /// The steps after a step failed. `error` has `code`, `title` and `message`.
  public var failure: [Step]
  /// The title of a failure, for people. Default: made from the action's name.
  public var errorTitle: Template?
  /// The message after success; nil for no message.
  public var successMessage: Template?

  public init(
    name: String = "", condition: Expression? = nil, otherwise: [Step] = [],
    requirements: [Requirement] = [], delay: Duration? = nil, steps: [Step] = [],
    optimistic: Assignments = Assignments(), success: [Step] = [], failure: [Step] = [],
    errorTitle: Template? = nil, successMessage: Template? = nil
  ) {
    self.name = name
    self.condition = condition
    self.otherwise = otherwise
    self.requirements = requirements
    self.delay = delay
    self.steps = steps
    self.optimistic = optimistic
    self.success = success
    self.failure = failure
    self.errorTitle = errorTitle
    self.successMessage = successMessage
  }
}

/// A condition that must be true, or the action is refused. Example: the user owns the item to
/// delete.
public struct Requirement: Sendable {
  public var condition: Expression
  /// The name of a gRPC code. Default: PERMISSION_DENIED.
  public var code: String
  public var message: Template

  public init(
    condition: Expression, code: String = "PERMISSION_DENIED", message: Template
  ) {
    self.condition = condition
    self.code = code
    self.message = message
  }
}

/// A step of an action.
public indirect enum Step: Sendable {
  /// Changes data.
  case set(Assignments)
  /// Removes data, or sets it to its default.
  case unset([String])
  case http(HTTPRequest, Parse, assignments: Assignments, stub: Stub?)
  case command(ProgramCommand, Parse, assignments: Assignments, stub: Stub?)
  /// Calls a method of a service on D-Bus.
  case bus(BusInput, assignments: Assignments, stub: Stub?)
  /// Sends a command to i3 or sway over its socket.
  case socket(SocketInput, assignments: Assignments, stub: Stub?)
  /// Changes the presence of widgets, by their ids; an empty list means the widget itself.
  case presence(PresenceAction, [Template])
  /// Reads sources again, by name; an empty list means all.
  case reload([String])
  /// Sends an event; without a widget, to the widget itself.
  case emit(name: String, widget: Template?, payload: [(key: String, value: Template)])
  /// Runs another action with the same event. Its steps count as one step of this action.
  case run(String)
  /// Cancels an action that is running.
  case cancel(String)
  /// Runs an action without a name.
  case action(Action)
}

/// When steps run.
public struct Trigger: Sendable {
  public var when: When
  public var steps: [Step]
  /// Runs the steps only after a rest of this length. If several events follow each other faster,
  /// only the last one counts.
  public var throttle: Duration?
  /// The minimum number of characters of the payload's `value`. An empty `value` is allowed.
  public var minLength: Int?

  public enum When: Sendable {
    /// A widget of the kind was made, or existed when the bundle was loaded.
    case load
    /// An event; with a node, only on it (or, in rows, on any row's).
    case event(name: String, nodeID: String?)
    case every(Duration)
  }

  public init(when: When, steps: [Step], throttle: Duration? = nil, minLength: Int? = nil) {
    self.when = when
    self.steps = steps
    self.throttle = throttle
    self.minLength = minLength
  }
}

/// A form in a kind's content. It is submitted with the event `submit` and the payload `values`.
public struct Form: Hashable, Sendable {
  public var fields: [FormField]
  /// The action that handles the form. Its `status.NAME.fields` has a message for each wrong field.
  public var action: String

  public init(fields: [FormField], action: String) {
    self.fields = fields
    self.action = action
  }
}

/// The state of an action or a source. The widget's data has it as `status.NAME`.
public struct ActionStatus: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    case idle, running, success, failure
    /// An optional source reads something that does not exist.
    case missing
    /// An action of the event was cancelled. Only outcomes of events have this state.
    case cancelled
  }

  public var state: State
  /// The share of an HTTP body that was sent or received, 0 to 1. nil if it is unknown, or if the
  /// body is small.
  public var progress: Double?
  public var title: String
  public var message: String
  /// The gRPC code of a failure, by name.
  public var code: String
  /// The messages for wrong fields of a form, by field.
  public var fields: [String: String]
  /// The id of the form's node that has refused its values; empty for other states.
  public var form: String
  /// The message for the widget's error and the log; empty if it is `message`. It has no values that
  /// a user has typed.
  public var errorMessage: String
  /// The rules of the wrong fields of a form (`FormField.ruleText`), by field. If a version of the
  /// bundle has others, the form may take the values.
  public var rules: [String: String]
  /// The time of a source's first failure in a row, or of an action's last failure.
  public var since: Timestamp?
  /// Whether the failure of a source makes the widget stale, because it has lasted for long.
  public var makesStale: Bool
  /// The server and the status of an answer whose text is `message`, for the log; empty if the
  /// message names them, or if it is no answer. No widget has this.
  public var answered = ""

  public init(
    state: State = .idle, progress: Double? = nil, title: String = "", message: String = "",
    code: String = "", fields: [String: String] = [:], form: String = "",
    errorMessage: String = "", rules: [String: String] = [:], since: Timestamp? = nil,
    makesStale: Bool = false
  ) {
    self.state = state
    self.progress = progress
    self.title = title
    self.message = message
    self.code = code
    self.fields = fields
    self.form = form
    self.errorMessage = errorMessage
    self.rules = rules
    self.since = since
    self.makesStale = makesStale
  }

  /// The key of `makesStale` in the data value.
  public static let staleKey = "stale"
  /// The key of `form` in the data value.
  public static let formKey = "form"
  /// The key of `errorMessage` in the data value.
  public static let errorMessageKey = "errorMessage"
  /// The key of `rules` in the data value.
  public static let rulesKey = "rules"

  /// The status as a data value: a map with `state`, `running`, `succeeded`, `failed`, `missing`,
  /// `progress`, `title`, `message`, `code`, `fields` and `since`. It has `stale` only if that is
  /// true, and `form`, `errorMessage` and `rules` only if they are not empty.
  public var value: Value {
    var map: ValueMap = [
      "state": .string(state.rawValue), "running": .bool(state == .running),
      "succeeded": .bool(state == .success),
      "failed": .bool(state == .failure || state == .cancelled),
      "missing": .bool(state == .missing),
      "progress": progress.map { .double($0) } ?? .null, "title": .string(title),
      "message": .string(message), "code": .string(code),
      "fields": ActionStatus.value(of: fields),
      "since": since.map { .timestamp($0) } ?? .null,
    ]
    if makesStale { map[ActionStatus.staleKey] = .bool(true) }
    if !form.isEmpty { map[ActionStatus.formKey] = .string(form) }
    if !errorMessage.isEmpty { map[ActionStatus.errorMessageKey] = .string(errorMessage) }
    if !rules.isEmpty { map[ActionStatus.rulesKey] = ActionStatus.value(of: rules) }
    return .map(map)
  }

  private static func value(of texts: [String: String]) -> Value {
    .map(ValueMap(texts.map { ValueMap.Entry(key: $0.key, value: .string($0.value)) }))
  }
}
