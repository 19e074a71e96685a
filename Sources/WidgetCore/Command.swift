public import WidgetModel

/// One change of the store. It happens as a whole, in one commit, or not at all.
public enum Command: Hashable, Sendable {
  /// Adds a widget.
  case create(WidgetSpec, transition: Transition? = nil)
  /// Changes a widget. With `ifRevision`, fails if the widget has another revision. `provider` owns
  /// the fields that change; if it is empty, the caller owns them.
  case update(
    WidgetID, WidgetPatch, ifRevision: Revision? = nil, transition: Transition? = nil,
    provider: String = "")
  /// Adds a widget that is an activity. It takes the place of an ended activity of the same user
  /// and id.
  case startActivity(
    WidgetSpec, lifetime: Duration? = nil, staleAfter: Duration? = nil,
    transition: Transition? = nil)
  /// Changes the state of an activity, makes it fresh, and sets when it becomes stale; nil for
  /// never.
  case updateActivity(
    WidgetID, StatePatch = StatePatch(), staleAfter: Duration? = nil, transition: Transition? = nil)
  /// Changes the state of an activity for the last time.
  case endActivity(
    WidgetID, StatePatch = StatePatch(), Activity.Dismissal = .standard,
    transition: Transition? = nil)
  /// Removes a widget.
  case delete(
    WidgetID, ifRevision: Revision? = nil, allowMissing: Bool = false,
    transition: Transition? = nil)
  /// Shows, hides, enables, disables or toggles widgets.
  case setPresence(PresenceTarget, PresenceAction, transition: Transition? = nil)
  /// Changes a widget's place in the order.
  case move(WidgetID, to: MoveDestination, transition: Transition? = nil)
  /// Makes the widgets match a declared set.
  case apply(Declaration, transition: Transition? = nil)
  /// Accepts an event.
  case sendEvent(EventDraft)
  /// Makes the failure of a reducer the error of the widget, unless it has another error.
  case markFailure(WidgetID, ReducerFailure)
  /// Makes the kinds match a declared set of kinds.
  case applyKinds(KindDeclaration)
  /// Removes a kind. Its widgets stay, as widgets of an unknown kind.
  case deleteKind(KindName, allowMissing: Bool = false)
  /// Changes the theme. With `ifRevision`, fails if the theme has another revision.
  case updateTheme(ThemeUpdate, ifRevision: Revision? = nil)
  /// Changes widgets of a provider's kinds, all of them or none, and makes them fresh.
  case provide([ProvidedUpdate], by: String)
  /// A provider has handled all events of its kinds up to a sequence number.
  case acknowledge(provider: String, through: UInt64)
}

/// A declared set of widgets.
public struct Declaration: Hashable, Sendable {
  /// The set's name.
  public var applySet: String
  /// The declared widgets, in the declared order. Every spec has an id.
  public var widgets: [WidgetSpec]
  /// Remove widgets of the same set that are not declared any more.
  public var prunes: Bool
  /// Change nothing; only return the result.
  public var isDryRun: Bool
  /// The set owns the fields that it declares. Fields of other owners do not change, and neither do
  /// fields that the set does not declare.
  public var ownsFields: Bool
  /// Whether the caller is not the program that has the set. No widgets are then created or pruned,
  /// and the values that change belong to the caller, as after an update. A widget that exists can be
  /// moved into the set.
  public var isForeign: Bool
  /// Whether fields stay that a foreign caller does not declare.
  let leavesOthers: Bool

  public init(
    applySet: String = "default", widgets: [WidgetSpec], prunes: Bool = false,
    isDryRun: Bool = false, ownsFields: Bool = false, isForeign: Bool = false
  ) {
    self.ownsFields = ownsFields && !isForeign
    self.isForeign = isForeign
    leavesOthers = ownsFields && isForeign
    self.applySet = applySet
    self.widgets = widgets
    self.prunes = prunes
    self.isDryRun = isDryRun
  }
}

/// A declared set of kinds.
public struct KindDeclaration: Hashable, Sendable {
  /// The provider of the kinds. The same characters as in an id, 1 to 128 of them.
  public var provider: String
  public var kinds: [Kind]
  /// Remove kinds of the same provider that are not declared any more.
  public var prunes: Bool
  /// Change nothing; only return the result.
  public var isDryRun: Bool
  /// Whether the provider has a session; see `RegisteredKind.isAttended`.
  public var isAttended: Bool
  /// Whether the caller is not the program that has the provider's name. It may change nothing.
  public var isForeign: Bool

  public init(
    provider: String, kinds: [Kind], prunes: Bool = false, isDryRun: Bool = false,
    isAttended: Bool = false, isForeign: Bool = false
  ) {
    self.isForeign = isForeign
    self.provider = provider
    self.kinds = kinds
    self.prunes = prunes
    self.isDryRun = isDryRun
    self.isAttended = isAttended
  }
}

/// An event to be accepted.
public struct EventDraft: Hashable, Sendable {
  public var widgetID: WidgetID
  /// Empty for the widget as a whole.
  public var nodeID: String
  public var name: String
  public var payload: ValueMap
  /// Accept it even if the widget is hidden or disabled.
  public var isForced: Bool
  /// See `Event.wantsOutcome`.
  public var wantsOutcome: Bool

  public init(
    widgetID: WidgetID, nodeID: String = "", name: String, payload: ValueMap = [:],
    isForced: Bool = false, wantsOutcome: Bool = false
  ) {
    self.widgetID = widgetID
    self.nodeID = nodeID
    self.name = name
    self.payload = payload
    self.isForced = isForced
    self.wantsOutcome = wantsOutcome
  }
}

/// The user and client for which a command is applied.
public typealias Caller = EventOrigin

/// The result of a command.
public struct Commit: Hashable, Sendable {
  /// The store's revision afterwards.
  public var revision: Revision
  /// Whether anything changed. If not, no revision was taken.
  public var isChange: Bool
  public var outcome: Outcome

  public enum Outcome: Hashable, Sendable {
    /// The new widget's id.
    case created(WidgetID)
    /// The widget's id. Also for a move.
    case updated(WidgetID)
    case deleted
    /// The widgets that changed, in position order.
    case presence([WidgetID])
    case applied([ApplyResult])
    /// The event's sequence number.
    case accepted(sequence: UInt64)
    /// The declared kinds in the declared order, then the removed ones.
    case kindsApplied([KindResult])
    case kindDeleted
    /// The theme after the update, or as a dry run would leave it, and whether it changed.
    case themeUpdated(RevisedTheme, differs: Bool)
    case provided
    case acknowledged
  }
}
