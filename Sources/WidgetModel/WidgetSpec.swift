/// What a widget should be: used to create one and to declare a set.
public struct WidgetSpec: Hashable, Sendable {
  /// nil only when creating: a free one is picked.
  public var id: WidgetID?
  public var kind: KindName
  /// nil: medium for a new widget, unchanged for an existing one.
  public var family: Family?
  public var labels: Labels
  /// nil: true for a new widget, unchanged for an existing one.
  public var isVisible: Bool?
  /// nil: true for a new widget, unchanged for an existing one.
  public var isEnabled: Bool?
  public var parameters: ValueMap
  public var data: ValueMap

  public init(
    id: WidgetID?, kind: KindName, family: Family? = nil, labels: Labels = [:],
    isVisible: Bool? = nil, isEnabled: Bool? = nil, parameters: ValueMap = [:],
    data: ValueMap = [:]
  ) {
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

/// What to change about a widget. What is not named stays.
public struct WidgetPatch: Hashable, Sendable {
  public var setData: ValueMap = [:]
  /// Keys that do not exist are fine.
  public var unsetData: [String] = []
  /// Remove all data keys that `setData` does not name.
  public var replacesData = false
  public var setParameters: ValueMap = [:]
  public var unsetParameters: [String] = []
  public var setLabels: Labels = [:]
  public var unsetLabels: [String] = []
  public var isStale: Bool?
  /// `.some(nil)` clears the error.
  public var error: WidgetError??

  public init() {}

  /// A patch that only sets data.
  public init(setData: ValueMap) { self.setData = setData }
}

/// What to do to presence.
public enum PresenceAction: UInt8, Hashable, Sendable, CaseIterable {
  case show = 1
  case hide
  case enable
  case disable
  /// Flips the visible bit.
  case toggle
}

/// Where to move a widget to.
public enum MoveDestination: Hashable, Sendable {
  case first
  case last
  case before(WidgetID)
  case after(WidgetID)
}

/// What applying a declared set did, or would do, to one widget.
public struct ApplyResult: Hashable, Sendable {
  public enum Action: UInt8, Hashable, Sendable, CaseIterable {
    case created = 1
    case updated
    case unchanged
    case deleted
  }

  public var id: WidgetID
  public var action: Action

  public init(id: WidgetID, action: Action) {
    self.id = id
    self.action = action
  }
}
