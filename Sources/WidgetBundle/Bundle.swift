public import WidgetExpression
public import WidgetModel

/// A bundle: widgets without code. What a valid `bundle.json` or `bundle.yaml` says, checked, with its
/// expressions compiled, ready to be run by a host.
///
/// A value without I/O. `BundleReader` makes one from text, or says what is wrong and where.
public struct Bundle: Sendable {
  /// 1 to 64 lowercase letters, digits and `-`. Also the provider of its kinds and the declared set of
  /// its widgets, as `bundle/ID`.
  public var id: String
  /// Three numbers: `1.2.0`.
  public var version: String
  public var name: String
  public var summary: String
  public var permissions: Permissions
  /// In the order of the file.
  public var kinds: [BundleKind]
  /// The widgets that are there as long as the bundle is.
  public var widgets: [WidgetSpec]
  /// Its settings, and what the user chose.
  public var defaults = BundleDefaults()
  /// What may be a mistake and keeps nothing from working, in the order of the file.
  public var remarks: [BundleProblem] = []

  public init(
    id: String, version: String, name: String = "", summary: String = "",
    permissions: Permissions = Permissions(), kinds: [BundleKind] = [], widgets: [WidgetSpec] = []
  ) {
    self.id = id
    self.version = version
    self.name = name
    self.summary = summary
    self.permissions = permissions
    self.kinds = kinds
    self.widgets = widgets
  }
}

/// What a bundle may touch. Everything else is refused (PERMISSION_DENIED).
public struct Permissions: Hashable, Sendable {
  /// Files, and folders with all below them. Absolute; `${bundle}` is the bundle's own folder, which
  /// may always be read, and `${home}` the user's.
  public var read: [String]
  /// Hosts for HTTP: `api.example.org` (ports 80 and 443), `127.0.0.1:8080`, `*.example.org`.
  public var hosts: [String]
  /// Programs: absolute paths, or names that are looked up in /usr/local/bin, /usr/bin and /bin. What
  /// begins with `${bundle}/` is a program of the bundle.
  public var commands: [String]

  public init(read: [String] = [], hosts: [String] = [], commands: [String] = []) {
    self.read = read
    self.hosts = hosts
    self.commands = commands
  }
}

/// A kind of a bundle, and what keeps its widgets alive.
public struct BundleKind: Sendable {
  /// What the daemon is told: fields, reducers, content. Actions that only set data are reducers here.
  public var kind: Kind
  /// Where data comes from, for every widget of the kind.
  public var sources: [Source]
  /// What can be done, by name.
  public var actions: [String: Action]
  /// What is done when something happens, in the order of the file.
  public var triggers: [Trigger]
  /// The forms in its content, by node id.
  public var forms: [String: Form]
  /// What runs on the widgets' behalf reads these variables.
  public var scope: BundleScope
  /// What its content reads, one for each of the kind's templates.
  public var contentReads: [ContentReads]
  /// What became of events is told in the status; see `BundleScope.outcomesKey`.
  public var tellsOutcomes: Bool

  public init(
    kind: Kind, sources: [Source] = [], actions: [String: Action] = [:],
    triggers: [Trigger] = [], forms: [String: Form] = [:], scope: BundleScope,
    contentReads: [ContentReads] = [], tellsOutcomes: Bool = false
  ) {
    self.kind = kind
    self.sources = sources
    self.actions = actions
    self.triggers = triggers
    self.forms = forms
    self.scope = scope
    self.contentReads = contentReads
    self.tellsOutcomes = tellsOutcomes
  }
}

/// What the expressions of one template of content read: by it a failure is known that the author shows.
public struct ContentReads: Hashable, Sendable {
  /// The families that the template is for; none for all that no other names.
  public var families: [Family]
  /// The sources and actions whose status it reads.
  public var statuses: Set<String>
  /// It reads the status of all of them.
  public var readsAllStatuses: Bool
  /// Data keys of which nothing is shown but a placeholder while they are null.
  public var placeholderKeys: Set<String>

  public init(
    families: [Family] = [], statuses: Set<String> = [], readsAllStatuses: Bool = false,
    placeholderKeys: Set<String> = []
  ) {
    self.families = families
    self.statuses = statuses
    self.readsAllStatuses = readsAllStatuses
    self.placeholderKeys = placeholderKeys
  }
}

/// A value of a bundle's file: as it stands there, or given by an expression (`=data.count + 1`).
/// Lists and maps can hold expressions at any depth.
public indirect enum Template: Sendable {
  case constant(Value)
  case expression(Expression)
  case list([Template])
  case map([(key: String, value: Template)])
}

/// An expression, and where it stands.
public struct Expression: Sendable {
  public var compiled: CompiledExpression
  /// For messages: `kinds.todo.actions.save.http.url`.
  public var place: String

  public init(compiled: CompiledExpression, place: String) {
    self.compiled = compiled
    self.place = place
  }
}

/// New values for data keys: all of them see the data as it was before any of them.
public struct Assignments: Sendable {
  public var values: [(key: String, value: Expression)]

  public init(_ values: [(key: String, value: Expression)] = []) { self.values = values }

  public var isEmpty: Bool { values.isEmpty }
}

// MARK: - Sources

/// Where data comes from: something is read, and `set` makes data of it (as `result`).
public struct Source: Sendable {
  /// Unique in its kind. Its state is in the widget's data, as `status.NAME`; see `ActionStatus`.
  public var name: String
  public var input: Input
  /// How often it is read again; nil for only when asked, or when it changes by itself.
  public var interval: Duration?
  /// Read at multiples of the interval since midnight (UTC), not since the start.
  public var isAligned: Bool
  /// Read when the widget comes to life. True unless said otherwise.
  public var isLoadedAtStart: Bool
  /// Not read while this is false.
  public var condition: Expression?
  public var parse: Parse
  public var assignments: Assignments
  /// What is there instead of the real thing when the host runs with `--stub`.
  public var stub: Stub?
  /// What a failure is called where people see it; nil for a name made of the source's.
  public var errorTitle: Template?
  /// What is said after a reading; nil for nothing.
  public var successMessage: Template?
  /// The data is stale when readings have failed for so long.
  public var staleAfter: Duration

  /// What of the widget the input depends on, but for what the source itself sets: it is read again when
  /// one of these changes.
  public var dependencies: [ExpressionReference] = []

  /// What `staleAfter` is if the file does not say.
  public static let staleAfterDefault = Duration.seconds(30)

  public enum Input: Sendable {
    /// A file; watched, so that changes are seen at once.
    case file(Template)
    /// What a program prints, once or, with `isContinuous`, line by line as long as it runs.
    case command(Command, isContinuous: Bool)
    case http(HTTPRequest)
    /// Nothing but the time: `result` is now.
    case timer
    case constant(Template)
  }

  public init(
    name: String, input: Input, interval: Duration? = nil, isAligned: Bool = false,
    isLoadedAtStart: Bool = true, condition: Expression? = nil, parse: Parse = Parse(),
    assignments: Assignments, stub: Stub? = nil, errorTitle: Template? = nil,
    successMessage: Template? = nil, staleAfter: Duration = Source.staleAfterDefault
  ) {
    self.errorTitle = errorTitle
    self.successMessage = successMessage
    self.name = name
    self.input = input
    self.interval = interval
    self.isAligned = isAligned
    self.isLoadedAtStart = isLoadedAtStart
    self.condition = condition
    self.parse = parse
    self.assignments = assignments
    self.stub = stub
    self.staleAfter = staleAfter
  }
}

/// What a source or a step gives when the host runs with `--stub`.
public struct Stub: Sendable {
  /// What `result` is; nil for nothing: then no data is set.
  public var value: Template?
  /// How long it takes.
  public var delay: Duration

  public init(value: Template? = nil, delay: Duration = .zero) {
    self.value = value
    self.delay = delay
  }
}

/// How bytes become `result`.
public struct Parse: Hashable, Sendable {
  /// What they are; nil for JSON if it is said to be (`.json`, `application/json`), else text.
  public var format: Format?
  /// Of JSON: what must be there. A result of another shape is a failure.
  public var shape: Shape
  /// Of JSON: where the result is in the document: keys and indexes.
  public var path: [PathStep]
  /// Of JSON that tells of an error: where its words are.
  public var errorPath: [PathStep]

  public enum Format: String, Hashable, Sendable, CaseIterable {
    /// One text, without the line's end at its end.
    case text
    /// A list of texts.
    case lines
    /// A list of lists of texts, split at white space.
    case words
    case json
  }

  public enum Shape: String, Hashable, Sendable, CaseIterable { case any, object, list }

  public enum PathStep: Hashable, Sendable {
    case key(String)
    case index(Int)
  }

  public init(
    format: Format? = nil, shape: Shape = .any, path: [PathStep] = [], errorPath: [PathStep] = []
  ) {
    self.format = format
    self.shape = shape
    self.path = path
    self.errorPath = errorPath
  }
}

/// A program to run. No shell is involved.
public struct Command: Sendable {
  /// The program, then its arguments. Never empty; every element gives a text.
  public var arguments: [Template]
  public var input: Template?
  /// Killed after this.
  public var timeout: Duration?

  public init(arguments: [Template], input: Template? = nil, timeout: Duration? = nil) {
    self.arguments = arguments
    self.input = input
    self.timeout = timeout
  }
}

public struct HTTPRequest: Sendable {
  public var method: String
  /// `http` or `https`, host and base path.
  public var url: Template
  /// Components behind the URL's path, each encoded.
  public var path: [Template]
  /// Encoded into the query. Null leaves one out; of a list, each element becomes one.
  public var query: [(name: String, value: Template)]
  public var headers: [(name: String, value: Template)]
  public var body: Body?
  public var auth: Auth?
  /// 15 seconds without.
  public var timeout: Duration?

  /// What a server knows the bundle's user by. It is read when it is sent, and is in no widget's data.
  public struct Auth: Sendable {
    public enum Scheme: String, Sendable, CaseIterable {
      /// The file holds a token (RFC 6750).
      case bearer
      /// The file holds `USER:PASSWORD` (RFC 7617).
      case basic
    }

    public var scheme: Scheme
    /// The path of a file of one line that the bundle may read.
    public var file: Template

    public init(scheme: Scheme = .bearer, file: Template) {
      self.scheme = scheme
      self.file = file
    }
  }

  public enum Body: Sendable {
    case json(Template)
    /// application/x-www-form-urlencoded.
    case form([(name: String, value: Template)])
    /// multipart/form-data.
    case multipart([Part])
    case text(Template, contentType: String)
  }

  public struct Part: Sendable {
    public var name: String
    public var content: Content

    public enum Content: Sendable {
      case value(Template)
      /// The path of a file that the bundle may read.
      case file(Template, contentType: String?)
      /// The id of a blob.
      case blob(Template, contentType: String?)
    }

    public init(name: String, content: Content) {
      self.name = name
      self.content = content
    }
  }

  public init(
    method: String = "GET", url: Template, path: [Template] = [],
    query: [(name: String, value: Template)] = [], headers: [(name: String, value: Template)] = [],
    body: Body? = nil, auth: Auth? = nil, timeout: Duration? = nil
  ) {
    self.auth = auth
    self.method = method
    self.url = url
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
    self.timeout = timeout
  }
}

// MARK: - Actions

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
