public import WidgetExpression
public import WidgetModel

/// A bundle: widgets without code. The checked content of a `bundle.json` or `bundle.yaml`, with
/// compiled expressions, for a host to run.
///
/// A value without I/O. `BundleReader` makes one from text, or reports the mistakes with their
/// places.
public struct Bundle: Sendable {
  /// 1 to 64 lowercase letters, digits and `-`. Also the provider of its kinds and the declared set of
  /// its widgets, as `bundle/ID`.
  public var id: String
  /// Three numbers: `1.2.0`.
  public var version: String
  public var name: String
  public var summary: String
  public var permissions: Permissions
  /// The kinds, in the order of the file.
  public var kinds: [BundleKind]
  /// The widgets that exist while the bundle is loaded.
  public var widgets: [WidgetSpec]
  /// The bundle's settings, with the user's values.
  public var defaults = BundleDefaults()
  /// Warnings about possible mistakes, in the order of the file.
  public var remarks: [BundleProblem] = []
  /// The digest of the file and its settings, without their place. Nil if the bundle was not read from
  /// a folder.
  public var fileDigest: UInt64?

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

/// The permissions of a bundle. Everything else is refused (PERMISSION_DENIED).
public struct Permissions: Hashable, Sendable {
  /// Files, and folders with all below them. Absolute; `${bundle}` is the bundle's own folder, which
  /// may always be read, and `${home}` the user's.
  public var read: [String]
  /// Hosts for HTTP: `api.example.org` (ports 80 and 443), `127.0.0.1:8080`, `*.example.org`.
  public var hosts: [String]
  /// Programs: absolute paths, or names that are looked up in /usr/local/bin, /usr/bin and /bin,
  /// and for a host that is not root in ~/.local/bin. A name that begins with `${bundle}/` is a
  /// program of the bundle.
  public var commands: [String]
  /// Variables of the host's environment that programs get and expressions read: `SWAYSOCK`, `XDG_*`.
  public var environment: [String]
  /// Paths of Unix sockets, with `${environment.NAME}` replaced.
  public var sockets: [String]
  /// Services on D-Bus, on either bus: `org.freedesktop.UPower`, `org.mpris.MediaPlayer2.*`.
  public var dbus: [String]

  public init(
    read: [String] = [], hosts: [String] = [], commands: [String] = [], environment: [String] = [],
    sockets: [String] = [], dbus: [String] = []
  ) {
    self.dbus = dbus
    self.sockets = sockets
    self.read = read
    self.hosts = hosts
    self.commands = commands
    self.environment = environment
  }
}

extension Bundle {
  /// The events of triggers by kind, in order of their names, without events of nodes.
  public var handledEvents: [KindName: [String]] {
    var events: [KindName: [String]] = [:]
    for kind in kinds {
      var names: Set<String> = []
      for case .event(let name, nil) in kind.triggers.map(\.when) { names.insert(name) }
      events[kind.kind.name] = names.sorted()
    }
    return events
  }
}

/// A kind of a bundle, with its sources, actions and triggers.
public struct BundleKind: Sendable {
  /// The kind as the daemon gets it: fields, reducers, content. Actions that only set data are
  /// reducers.
  public var kind: Kind
  /// The sources of data, for every widget of the kind.
  public var sources: [Source]
  /// The actions, by name.
  public var actions: [String: Action]
  /// The triggers, in the order of the file.
  public var triggers: [Trigger]
  /// The forms in its content, by node id.
  public var forms: [String: Form]
  /// The variables that sources and actions read.
  public var scope: BundleScope
  /// The variables that the content reads, one entry for each template of the kind.
  public var contentReads: [ContentReads]
  /// Whether the status has the outcomes of events; see `BundleScope.outcomesKey`.
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

/// The parts of the status that the expressions of one content template read. They decide which
/// failures the content shows. A test whether a status exists shows no failure.
public struct ContentReads: Hashable, Sendable {
  /// The families of the template; empty for all families that no other template names.
  public var families: [Family]
  /// What it reads of the statuses of sources and actions, by their name.
  public var statuses: [String: StatusReads]
  /// Whether the template reads the status as a whole, or with a computed name, so that it can show
  /// each failure.
  public var readsAllStatuses: Bool
  /// Data keys for which the template shows only a placeholder while they are null.
  public var placeholderKeys: Set<String>

  public init(
    families: [Family] = [], statuses: [String: StatusReads] = [:], readsAllStatuses: Bool = false,
    placeholderKeys: Set<String> = []
  ) {
    self.families = families
    self.statuses = statuses
    self.readsAllStatuses = readsAllStatuses
    self.placeholderKeys = placeholderKeys
  }
}

/// What a content template reads of the status of one source or action.
public struct StatusReads: Hashable, Sendable {
  /// The keys of a status that tell of a failure. `running` is false before and after each failure.
  public static let failureKeys: Set<String> = [
    "state", "failed", "title", "message", "code", "since",
  ]

  /// Whether it reads one of `failureKeys`, or the whole status.
  public var tellsFailures: Bool
  /// Whether it reads all of `fields`, the messages for wrong values of a form.
  public var readsAllFields: Bool
  /// The fields of a form whose message it reads.
  public var fields: Set<String>

  public init(
    tellsFailures: Bool = false, readsAllFields: Bool = false, fields: Set<String> = []
  ) {
    self.tellsFailures = tellsFailures
    self.readsAllFields = readsAllFields
    self.fields = fields
  }
}

/// A value of a bundle's file: a constant, or the result of an expression (`=data.count + 1`).
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
  /// Variables of the host's environment that it names. `compiled` has their values as constants.
  public var environmentNames: [String]

  public init(compiled: CompiledExpression, place: String, environmentNames: [String] = []) {
    self.compiled = compiled
    self.place = place
    self.environmentNames = environmentNames
  }
}

/// New values for data keys: all of them see the data as it was before any of them.
public struct Assignments: Sendable {
  public var values: [(key: String, value: Expression)]

  public init(_ values: [(key: String, value: Expression)] = []) { self.values = values }

  public var isEmpty: Bool { values.isEmpty }
}

// MARK: - Sources
