/// What all widgets of one sort have in common: what they are called, what they are configured with,
/// what they hold, what happens to them.
public struct Kind: Hashable, Sendable {
  public var name: KindName
  /// What people call it; empty for its name.
  public var displayName: String
  /// What it shows and what it is for.
  public var summary: String
  /// The families it is made for; empty for all.
  public var families: [Family]
  /// What an instance is configured with.
  public var parameters: [Field]
  /// What an instance holds.
  public var data: [Field]
  /// Whether instances may have data and parameters, and be sent events, that are not declared.
  public var isOpen: Bool
  /// What happens to an instance; empty for anything.
  public var events: [EventType]
  /// How changes that bring no hint of their own may be animated.
  public var transition: Transition?
  /// What events do to the data, in order.
  public var reducers: [Reducer]
  /// The templates of what widgets show; empty if they show nothing.
  public var content: [ContentTemplate]
  /// What of an instance outlives a restart of the daemon.
  public var persistence: Persistence
  /// Whether events may be lost while the provider is away; then they are not stored.
  public var hasLosableEvents: Bool
  /// The values of a timeline's entries. A kind that has some, or a schedule, has the variable `entry`.
  public var entry: [Field]
  /// Entries that the daemon makes by itself; nil for none.
  public var schedule: EntrySchedule?
  /// The data of a sample, beside the defaults.
  public var sample: ValueMap
  /// Named sets of parameters to choose from.
  public var recommendations: [Recommendation]
  /// How often its widgets may be refreshed in an hour; nil for the limit that is set for all kinds.
  public var refreshesPerHour: Int?

  /// The parts of a widget that outlive a restart of the daemon.
  public enum Persistence: UInt8, Hashable, Sendable, CaseIterable {
    /// All of it.
    case durable = 1
    /// Everything except the data, which begins with the defaults again.
    case volatile
  }

  public init(
    name: KindName, displayName: String = "", summary: String = "", families: [Family] = [],
    parameters: [Field] = [], data: [Field] = [], isOpen: Bool = false, events: [EventType] = [],
    transition: Transition? = nil, reducers: [Reducer] = [], content: [ContentTemplate] = [],
    persistence: Persistence = .durable, hasLosableEvents: Bool = false, entry: [Field] = [],
    schedule: EntrySchedule? = nil, sample: ValueMap = [:], recommendations: [Recommendation] = [],
    refreshesPerHour: Int? = nil
  ) {
    self.entry = entry
    self.schedule = schedule
    self.sample = sample
    self.recommendations = recommendations
    self.refreshesPerHour = refreshesPerHour
    self.hasLosableEvents = hasLosableEvents
    self.reducers = reducers
    self.content = content
    self.persistence = persistence
    self.name = name
    self.displayName = displayName
    self.summary = summary
    self.families = families
    self.parameters = parameters
    self.data = data
    self.isOpen = isOpen
    self.events = events
    self.transition = transition
  }

  /// What it counts against its limit: all its text and default values, in bytes.
  public var costBytes: Int {
    let fields = parameters + data + entry + events.flatMap(\.payload)
    let samples = sample.entries.reduce(0) { $0 + $1.key.utf8.count + $1.value.costBytes }
    return 64 + name.rawValue.utf8.count + displayName.utf8.count + summary.utf8.count
      + fields.reduce(0) { $0 + $1.costBytes }
      + events.reduce(0) { $0 + 32 + $1.name.utf8.count + $1.summary.utf8.count }
      + reducers.reduce(0) { $0 + $1.costBytes } + content.reduce(0) { $0 + $1.costBytes }
      + samples + recommendations.reduce(0) { $0 + $1.costBytes } + (schedule?.costBytes ?? 0)
  }

  /// Whether its expressions can read `entry`.
  public var hasEntries: Bool { !entry.isEmpty || schedule != nil }
}

/// One value of a kind: a parameter, a data key, or a detail of an event.
public struct Field: Hashable, Sendable {
  /// The key.
  public var name: String
  public var type: FieldType
  /// What it is where nothing is said; nil for absent.
  public var defaultValue: Value?
  /// What it means, its unit and range.
  public var summary: String
  /// Whether it must be given. Has no default then.
  public var isRequired: Bool
  /// The values that it can have; empty for all of the type.
  public var choices: [Value]

  public init(
    name: String, type: FieldType = .any, defaultValue: Value? = nil, summary: String = "",
    isRequired: Bool = false, choices: [Value] = []
  ) {
    self.choices = choices
    self.name = name
    self.type = type
    self.defaultValue = defaultValue
    self.summary = summary
    self.isRequired = isRequired
  }

  var costBytes: Int {
    48 + name.utf8.count + "\(type)".utf8.count + summary.utf8.count
      + (defaultValue?.costBytes ?? 0) + choices.reduce(0) { $0 + $1.costBytes }
  }
}

/// Something that happens to widgets of a kind.
public struct EventType: Hashable, Sendable {
  /// What events of this type are called.
  public var name: String
  /// When it happens and what follows.
  public var summary: String
  /// Its details.
  public var payload: [Field]

  public init(name: String, summary: String = "", payload: [Field] = []) {
    self.name = name
    self.summary = summary
    self.payload = payload
  }
}

/// What an event does to a widget's data: pure, and in one commit with the event.
public struct Reducer: Hashable, Sendable {
  /// The event's name.
  public var event: String
  /// The part of the widget that the event must be about; empty for any.
  public var nodeID: String
  /// An expression that must be true; empty for always.
  public var condition: String
  /// Data keys and the expressions that give their new values. All of them see the data as it was
  /// before any of them.
  public var assignments: [String: String]
  /// Data keys to remove.
  public var unset: [String]

  public init(
    event: String, nodeID: String = "", condition: String = "",
    assignments: [String: String] = [:],
    unset: [String] = []
  ) {
    self.event = event
    self.nodeID = nodeID
    self.condition = condition
    self.assignments = assignments
    self.unset = unset
  }

  var costBytes: Int {
    assignments.reduce(64) { $0 + 32 + $1.key.utf8.count + $1.value.utf8.count }
      + unset.reduce(0) { $0 + 16 + $1.utf8.count } + event.utf8.count + nodeID.utf8.count
      + condition.utf8.count
  }
}

/// A kind as the daemon has it.
public struct RegisteredKind: Hashable, Sendable {
  public var kind: Kind
  /// Whose it is; nobody else may change it.
  public var provider: String
  /// The user who registered it. 0 for what is built in.
  public var ownerUID: UInt32
  /// The revision that last changed it. 0 for what is built in.
  public var revision: Revision
  public var updateTime: Timestamp
  /// Whether it was declared in a session of its provider: while that has none, its widgets are
  /// stale.
  public var isAttended: Bool
  /// Whether its provider has a session now. The store does not know it: the daemon sets it in answers.
  public var isProviderConnected = false
  /// What is left of its refreshes. The store does not know it: the daemon sets it in answers.
  public var refreshBudget: RefreshBudget?

  public init(
    kind: Kind, provider: String, ownerUID: UInt32 = 0, revision: Revision = 0,
    updateTime: Timestamp = .epoch, isAttended: Bool = false
  ) {
    self.kind = kind
    self.provider = provider
    self.ownerUID = ownerUID
    self.revision = revision
    self.updateTime = updateTime
    self.isAttended = isAttended
  }
}

/// What ApplyKinds did (or would do) to one kind.
public struct KindResult: Hashable, Sendable {
  public var name: KindName
  public var action: ApplyAction
  /// How many widgets were made to fit.
  public var widgetsChanged: Int
  /// The values that widgets lost, at most `lostFieldsMax`.
  public var lostFields: [LostField]
  /// The number of lost values, including those beyond `lostFieldsMax`.
  public var lostFieldsCount: Int

  /// How many lost values a result names.
  public static var lostFieldsMax: Int { 64 }

  public init(
    name: KindName, action: ApplyAction, widgetsChanged: Int = 0, lostFields: [LostField] = [],
    lostFieldsCount: Int = 0
  ) {
    self.name = name
    self.action = action
    self.widgetsChanged = widgetsChanged
    self.lostFields = lostFields
    self.lostFieldsCount = lostFieldsCount
  }
}

/// A field of a widget whose value does not fit a changed kind: the kind no longer declares the
/// field, or it has another type now.
public struct LostField: Hashable, Sendable {
  public var widgetID: WidgetID
  /// `data.KEY` or `parameters.KEY`.
  public var path: String
  /// Whether the value is set aside: it is restored when it fits the kind again.
  public var isSetAside: Bool

  public init(widgetID: WidgetID, path: String, isSetAside: Bool = false) {
    self.widgetID = widgetID
    self.path = path
    self.isSetAside = isSetAside
  }
}

extension String {
  /// Whether this can be the name of a field: 1 to 64 letters, digits and underscores, no digit first, so
  /// that expressions can say it.
  public var isFieldName: Bool {
    guard (1...64).contains(utf8.count), let first = utf8.first else { return false }
    let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    return !isDigit(first)
      && utf8.allSatisfy { byte in
        isDigit(byte) || byte == UInt8(ascii: "_")
          || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
      }
  }
}
