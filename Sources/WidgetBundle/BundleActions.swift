import WidgetExpression
public import WidgetModel

// What a bundle does: actions, their steps, what sets them off, and forms.

/// Something that can be done. Its state is in the widget's data, as `status.NAME`, if it has a name;
/// see `ActionStatus`.
public struct Action: Sendable {
  /// Empty for one without a name.
  public var name: String
  /// Done only if this is true; otherwise `otherwise` is.
  public var condition: Expression?
  public var otherwise: [Step]
  /// Refused (with the code and message) unless all of these are true.
  public var requirements: [Requirement]
  /// Waits first; asked again meanwhile, it begins to wait anew.
  public var delay: Duration?
  /// What is done, in order; the first that fails ends it.
  public var steps: [Step]
  /// Set before the steps, and taken back if they fail.
  public var optimistic: Assignments
  /// After all steps succeeded. `result` is the last step's.
  public var success: [Step]
  /// After one failed. `error` has `code`, `title` and `message`.
  public var failure: [Step]
  /// What the failure is called where people see it; nil for a name made of the action's.
  public var errorTitle: Template?
  /// What is said after success; nil for nothing.
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

/// A condition without which an action is refused: who owns what is to be deleted, for one.
public struct Requirement: Sendable {
  public var condition: Expression
  /// A gRPC code's name; PERMISSION_DENIED without.
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

/// One thing that an action does.
public indirect enum Step: Sendable {
  /// Changes data.
  case set(Assignments)
  /// Removes data, or sets it to its default.
  case unset([String])
  case http(HTTPRequest, Parse, assignments: Assignments, stub: Stub?)
  case command(Command, Parse, assignments: Assignments, stub: Stub?)
  /// Of widgets by their ids; none for the widget itself.
  case presence(PresenceAction, [Template])
  /// Reads sources again, by name; none for all.
  case reload([String])
  /// Sends an event; without a widget, to the widget itself.
  case emit(name: String, widget: Template?, payload: [(key: String, value: Template)])
  /// Another action, which sees the same event; its steps count as one of this.
  case run(String)
  /// Ends an action that is under way.
  case cancel(String)
  /// Steps that are an action without a name.
  case action(Action)
}

/// When actions are done.
public struct Trigger: Sendable {
  public var when: When
  public var steps: [Step]
  /// Waits for so long a rest first: of several in a row, the last is done.
  public var throttle: Duration?
  /// The payload's `value` must have at least so many characters, or none.
  public var minLength: Int?

  public enum When: Sendable {
    /// A widget of the kind came to life: was made, or found when the bundle was loaded.
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
  /// What the form is for: `status.NAME.fields` says what is wrong with each field.
  public var action: String

  public init(fields: [FormField], action: String) {
    self.fields = fields
    self.action = action
  }
}

public struct FormField: Hashable, Sendable {
  public var name: String
  /// What people call it.
  public var label: String
  /// Must not be empty, nor only white space.
  public var isRequired: Bool
  public var minLength: Int
  /// 0 for any number.
  public var maxLength: Int
  /// A number, or a text that is one.
  public var isNumber: Bool

  public init(
    name: String, label: String = "", isRequired: Bool = false, minLength: Int = 0,
    maxLength: Int = 0, isNumber: Bool = false
  ) {
    self.name = name
    self.label = label
    self.isRequired = isRequired
    self.minLength = minLength
    self.maxLength = maxLength
    self.isNumber = isNumber
  }
}

/// How an action or a source stands: what a widget's data has as `status.NAME`.
public struct ActionStatus: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    case idle, running, success, failure
  }

  public var state: State
  /// How much of a request's or an answer's body has passed, 0 to 1, if that is known and worth telling.
  public var progress: Double?
  public var title: String
  public var message: String
  /// Of a failure: a gRPC code's name.
  public var code: String
  /// Of a form: what is wrong, by field.
  public var fields: [String: String]
  /// Of a failure: when the first of those in a row was.
  public var since: Timestamp?

  public init(
    state: State = .idle, progress: Double? = nil, title: String = "", message: String = "",
    code: String = "", fields: [String: String] = [:], since: Timestamp? = nil
  ) {
    self.state = state
    self.progress = progress
    self.title = title
    self.message = message
    self.code = code
    self.fields = fields
    self.since = since
  }

  /// As data has it: a map with `state`, `running`, `succeeded`, `failed`, `progress`, `title`,
  /// `message`, `code`, `fields` and `since`.
  public var value: Value {
    .map([
      "state": .string(state.rawValue), "running": .bool(state == .running),
      "succeeded": .bool(state == .success), "failed": .bool(state == .failure),
      "progress": progress.map { .double($0) } ?? .null, "title": .string(title),
      "message": .string(message), "code": .string(code),
      "fields": .map(
        ValueMap(fields.map { ValueMap.Entry(key: $0.key, value: .string($0.value)) })),
      "since": since.map { .timestamp($0) } ?? .null,
    ])
  }
}
