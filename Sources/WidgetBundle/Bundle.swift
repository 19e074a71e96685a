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
  /// The bundle's settings, with the user's values.
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
