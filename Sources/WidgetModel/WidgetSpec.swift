/// The desired state of a widget, for creating it and for declaring a set.
public struct WidgetSpec: Hashable, Sendable {
  /// nil: the daemon chooses one. Required in `ApplyWidgetsRequest`.
  public var id: WidgetID?
  public var kind: KindName
  /// nil: medium for a new widget, unchanged otherwise.
  public var family: Family?
  public var labels: Labels
  /// nil: true for a new widget, unchanged otherwise. So is `isEnabled`.
  public var isVisible: Bool?
  public var isEnabled: Bool?
  public var parameters: ValueMap
  public var data: ValueMap
  /// nil: none for a new widget, unchanged otherwise.
  public var timeline: Timeline?

  public init(
    id: WidgetID? = nil, kind: KindName, family: Family? = nil, labels: Labels = Labels(),
    isVisible: Bool? = nil, isEnabled: Bool? = nil, parameters: ValueMap = ValueMap(),
    data: ValueMap = ValueMap(), timeline: Timeline? = nil
  ) {
    self.timeline = timeline
    self.id = id
    self.kind = kind
    self.family = family
    self.labels = labels
    self.isVisible = isVisible
    self.isEnabled = isEnabled
    self.parameters = parameters
    self.data = data
  }
}

/// The changes of a widget. Parts that are not named do not change.
///
/// Most patches only set data, and a patch is copied often on its way to the store. So everything
/// else is in separate memory, which such a patch does not have.
public struct WidgetPatch: Hashable, Sendable {
  public var setData: ValueMap
  /// Missing keys are allowed.
  public var unsetData: [String]
  /// Remove all data keys that `setData` does not name.
  public var replaceData: Bool
  private var box: Box?

  /// The parts that few patches change.
  private struct Rest: Hashable, Sendable {
    var setParameters = ValueMap()
    var unsetParameters: [String] = []
    var setLabels = Labels()
    var unsetLabels: [String] = []
    var isStale: Bool?
    var error: WidgetError??
    var releases: [String] = []
    var timeline: Timeline??
  }

  /// Invariant: if it is not nil, it changes something. So equal patches are equal in memory.
  private indirect enum Box: Hashable, Sendable {
    case rest(Rest)
  }

  public init(
    setData: ValueMap = ValueMap(), unsetData: [String] = [], replaceData: Bool = false,
    setParameters: ValueMap = ValueMap(), unsetParameters: [String] = [],
    setLabels: Labels = Labels(), unsetLabels: [String] = [], isStale: Bool? = nil,
    error: WidgetError?? = nil, releases: [String] = [], timeline: Timeline?? = nil
  ) {
    self.setData = setData
    self.unsetData = unsetData
    self.replaceData = replaceData
    self.setParameters = setParameters
    self.unsetParameters = unsetParameters
    self.setLabels = setLabels
    self.unsetLabels = unsetLabels
    self.isStale = isStale
    self.error = error
    self.releases = releases
    self.timeline = timeline
  }

  /// Whether the patch changes nothing but data.
  public var changesOnlyData: Bool { box == nil }

  public var setParameters: ValueMap {
    get { rest?.setParameters ?? ValueMap() }
    set { if box != nil || !newValue.isEmpty { change { $0.setParameters = newValue } } }
  }

  public var unsetParameters: [String] {
    get { rest?.unsetParameters ?? [] }
    set { if box != nil || !newValue.isEmpty { change { $0.unsetParameters = newValue } } }
  }

  public var setLabels: Labels {
    get { rest?.setLabels ?? Labels() }
    set { if box != nil || !newValue.isEmpty { change { $0.setLabels = newValue } } }
  }

  public var unsetLabels: [String] {
    get { rest?.unsetLabels ?? [] }
    set { if box != nil || !newValue.isEmpty { change { $0.unsetLabels = newValue } } }
  }

  /// Marks the widget stale or fresh; nil for no change.
  public var isStale: Bool? {
    get { rest?.isStale }
    set { if box != nil || newValue != nil { change { $0.isStale = newValue } } }
  }

  /// nil for no change, `.some(nil)` clears it.
  public var error: WidgetError?? {
    get { rest?.error }
    set { if box != nil || newValue != nil { change { $0.error = newValue } } }
  }

  /// Fields to give back to the manager that declares them; see `FieldOwner.path`.
  public var releases: [String] {
    get { rest?.releases ?? [] }
    set { if box != nil || !newValue.isEmpty { change { $0.releases = newValue } } }
  }

  /// nil for no change, `.some(nil)` removes it.
  public var timeline: Timeline?? {
    get { rest?.timeline }
    set { if box != nil || newValue != nil { change { $0.timeline = newValue } } }
  }

  private var rest: Rest? {
    guard case .rest(let rest)? = box else { return nil }
    return rest
  }

  private mutating func change(_ body: (inout Rest) -> Void) {
    var rest = rest ?? Rest()
    body(&rest)
    box = rest == Rest() ? nil : .rest(rest)
  }
}

/// A change of presence.
public enum PresenceAction: UInt8, Hashable, Sendable, CaseIterable {
  case show = 1
  case hide
  case enable
  case disable
  /// Flips the visible flag of each widget.
  case toggle
}

/// The widgets of a presence command.
public enum PresenceTarget: Hashable, Sendable {
  /// These widgets, at least one; all of them must exist.
  case ids([WidgetID])
  /// Every selected widget; there may be none.
  case selector(Selector)
  /// Every widget.
  case all
}

/// The new place of a widget.
public enum MoveDestination: Hashable, Sendable {
  /// In front of all others.
  case first
  /// Behind all others.
  case last
  /// Right before this widget.
  case before(WidgetID)
  /// Right after this widget.
  case after(WidgetID)
}

/// The result of ApplyWidgets, or of its dry run, for one widget.
public enum ApplyAction: UInt8, Hashable, Sendable, CaseIterable {
  /// A result that this version does not know.
  case unspecified
  case created
  case updated
  case unchanged
  case deleted
}

/// The result for one widget of a declared set.
public struct ApplyResult: Hashable, Sendable {
  public var id: WidgetID
  public var action: ApplyAction
  /// For a declaration that owns its fields: the fields that got another value or were removed.
  public var changedFields: [String]
  /// The fields that have a new declared value, but keep another one because they have another
  /// owner. For a removed widget: the fields that others had set, which are gone.
  public var keptFields: [FieldOwner]

  public init(
    id: WidgetID, action: ApplyAction, changedFields: [String] = [],
    keptFields: [FieldOwner] = []
  ) {
    self.id = id
    self.action = action
    self.changedFields = changedFields
    self.keptFields = keptFields
  }
}
