/// The common properties of all widgets of one sort: their name, parameters, data and events.
public struct Kind: Hashable, Sendable {
  public var name: KindName
  /// The name for people; empty for `name`.
  public var displayName: String
  /// The content and the purpose.
  public var summary: String
  /// The supported families; empty for all.
  public var families: [Family]
  /// The parameters of an instance.
  public var parameters: [Field]
  /// The data of an instance.
  public var data: [Field]
  /// Whether instances may have undeclared data and parameters, and take undeclared events.
  public var isOpen: Bool
  /// The events of an instance; empty for any.
  public var events: [EventType]
  /// The animation for changes without a hint.
  public var transition: Transition?
  /// The effects of events on the data, in order.
  public var reducers: [Reducer]
  /// The templates of the content; empty for no content.
  public var content: [ContentTemplate]
  /// The parts of an instance that survive a restart of the daemon.
  public var persistence: Persistence
  /// Whether events may be lost while the provider is away. Such events are not stored.
  public var hasLosableEvents: Bool
  /// The values of a timeline's entries. A kind with such values, or with a schedule, has the
  /// variable `entry`.
  public var entry: [Field]
  /// The schedule for entries that the daemon makes by itself; nil for none.
  public var schedule: EntrySchedule?
  /// The data of a sample, beside the defaults.
  public var sample: ValueMap
  /// Named sets of parameters to choose from.
  public var recommendations: [Recommendation]
  /// The maximum refreshes of its widgets in an hour; nil for the limit for all kinds.
  public var refreshesPerHour: Int?

  /// The parts of a widget that survive a restart of the daemon.
  public enum Persistence: UInt8, Hashable, Sendable, CaseIterable {
    /// The whole widget.
    case durable = 1
    /// Everything except the data, which begins again with the defaults.
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

  /// The size against the limit: all text and default values, in bytes.
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
  /// The value if none is given; nil for no value.
  public var defaultValue: Value?
  /// The meaning, the unit and the range.
  public var summary: String
  /// Whether it must be given. Then it has no default.
  public var isRequired: Bool
  /// The allowed values; empty for all values of the type.
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

  /// The value with the declared type; nil if it is not of the type, or is not one of the choices.
  public func fitted(_ value: Value) -> Value? {
    type.fitted(value).flatMap { takes($0) ? $0 : nil }
  }

  /// Whether a value of the type is one of the choices, if there are any. Null always fits.
  public func takes(_ value: Value) -> Bool {
    choices.isEmpty || value == .null || choices.contains(value)
  }

  var costBytes: Int {
    48 + name.utf8.count + "\(type)".utf8.count + summary.utf8.count
      + (defaultValue?.costBytes ?? 0) + choices.reduce(0) { $0 + $1.costBytes }
  }
}

/// A type of event on widgets of a kind.
public struct EventType: Hashable, Sendable {
  /// The name of such events.
  public var name: String
  /// The cause and the effect.
  public var summary: String
  /// The details.
  public var payload: [Field]

  public init(name: String, summary: String = "", payload: [Field] = []) {
    self.name = name
    self.summary = summary
    self.payload = payload
  }
}

/// The effect of an event on a widget's data: pure, and in one commit with the event.
public struct Reducer: Hashable, Sendable {
  /// The event's name.
  public var event: String
  /// The part of the widget for the event; empty for any.
  public var nodeID: String
  /// An expression that must be true; empty for always.
  public var condition: String
  /// Data keys and the expressions for their new values. All expressions see the data before the
  /// assignments.
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

/// A kind in the daemon.
public struct RegisteredKind: Hashable, Sendable {
  public var kind: Kind
  /// The provider of the kind. No other provider may change it.
  public var provider: String
  /// The user who registered it. 0 for a built-in kind.
  public var ownerUID: UInt32
  /// The revision that last changed it. 0 for a built-in kind.
  public var revision: Revision
  public var updateTime: Timestamp
  /// Whether it was declared in a session of its provider. Its widgets are stale while the provider
  /// has no session.
  public var isAttended: Bool
  /// Whether its provider has a session now. The store does not know this: the daemon sets it in
  /// answers.
  public var isProviderConnected = false
  /// Nil unless its provider's process runs and does not answer. The store does not know this: the daemon
  /// sets it in answers.
  public var providerSilence: ProviderSilence?
  /// The rest of its refresh budget. The store does not know this: the daemon sets it in answers.
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

/// The result of ApplyKinds, or of its dry run, for one kind.
public struct KindResult: Hashable, Sendable {
  public var name: KindName
  public var action: ApplyAction
  /// The number of widgets that were made to fit.
  public var widgetsChanged: Int
  /// The values that widgets lost, at most `lostFieldsMax`.
  public var lostFields: [LostField]
  /// The number of lost values, including those beyond `lostFieldsMax`.
  public var lostFieldsCount: Int

  /// The maximum number of lost values in a result.
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
/// field, or it has another type or other choices now.
public struct LostField: Hashable, Sendable {
  public var widgetID: WidgetID
  /// `data.KEY`, `parameters.KEY`, or `entry.KEY` for a value of the widget's timeline.
  public var path: String
  /// Whether the value is set aside: it is restored when it fits the kind again.
  public var isSetAside: Bool
  /// The value that is lost. Nil if it is set aside, or takes more than `valueBytesMax`.
  public var value: Value?

  /// The maximum size of a named value.
  public static var valueBytesMax: Int { 1 << 10 }

  public init(widgetID: WidgetID, path: String, isSetAside: Bool = false, value: Value? = nil) {
    self.widgetID = widgetID
    self.path = path
    self.isSetAside = isSetAside
    self.value = value
  }
}

extension String {
  /// Whether this can be the name of a field: 1 to 64 letters, digits and underscores, with no
  /// digit first, so that it is an identifier in expressions.
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

/// A provider whose process runs and does not answer: it is stopped, or hangs.
public struct ProviderSilence: Hashable, Sendable {
  /// When the provider sent its last message.
  public var since: Timestamp
  /// The id of the process.
  public var pid: UInt32

  public init(since: Timestamp, pid: UInt32) { (self.since, self.pid) = (since, pid) }
}
