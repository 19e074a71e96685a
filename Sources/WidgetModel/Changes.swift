/// The changes in a range of revisions, conflated: only the last of several changes to one thing.
///
/// A reader with the state at `fromRevision` has the state at `toRevision` after applying it.
public struct Delta: Hashable, Sendable {
  public var fromRevision: Revision
  public var toRevision: Revision
  /// Each widget at most once. Deleted widgets come first. A widget that is removed because it is
  /// no longer selected comes among the changes.
  public var changes: [WidgetChange]

  public init(fromRevision: Revision, toRevision: Revision, changes: [WidgetChange]) {
    self.fromRevision = fromRevision
    self.toRevision = toRevision
    self.changes = changes
  }
}

/// The change of one widget.
public enum WidgetChange: Hashable, Sendable {
  /// New to the reader, or replaced as a whole.
  case added(Widget, Transition?)
  /// Some of it changed.
  case updated(WidgetUpdate)
  /// Gone, or no longer selected.
  case removed(WidgetID, Transition?)
}

/// The changes of one widget. Parts that are nil or empty have not changed.
public struct WidgetUpdate: Hashable, Sendable {
  public var id: WidgetID
  public var revision: Revision
  public var updateTime: Timestamp
  public var setData: ValueMap = [:]
  /// Sorted by UTF-8 bytes, as all key lists here.
  public var unsetData: [String] = []
  public var setParameters: ValueMap = [:]
  public var unsetParameters: [String] = []
  /// All labels, with their current values.
  public var labels: Labels?
  public var presence: Presence?
  public var position: Int64?
  public var isStale: Bool?
  /// `.some(nil)`: the error is cleared.
  public var error: WidgetError??
  public var transition: Transition?
  public var applySet: String?
  public var family: Family?
  public var content: ContentChange?
  /// `.some(nil)`: the widget has neither a timeline nor a schedule any more.
  public var timeline: TimelineStatus??
  /// The whole current activity.
  public var activity: Activity?

  public init(id: WidgetID, revision: Revision, updateTime: Timestamp) {
    self.id = id
    self.revision = revision
    self.updateTime = updateTime
  }

  /// Whether the update has nothing but the new revision.
  public var isEmpty: Bool {
    setData.isEmpty && unsetData.isEmpty && setParameters.isEmpty && unsetParameters.isEmpty
      && labels == nil && presence == nil && position == nil && isStale == nil && error == nil
      && applySet == nil && family == nil && content == nil && timeline == nil
      && activity == nil
  }
}

extension Widget {
  /// Applies an update to this widget. Returns the changed nodes of its content.
  @discardableResult
  public mutating func apply(_ update: WidgetUpdate) -> ContentDifference {
    revision = update.revision
    updateTime = update.updateTime
    data.change(update.setData, removing: update.unsetData)
    parameters.change(update.setParameters, removing: update.unsetParameters)
    if let labels = update.labels { self.labels = labels }
    if let presence = update.presence { self.presence = presence }
    if let position = update.position { self.position = position }
    if let isStale = update.isStale { self.isStale = isStale }
    if let error = update.error { self.error = error }
    if let applySet = update.applySet { self.applySet = applySet }
    if let family = update.family { self.family = family }
    if let timeline = update.timeline { self.timeline = timeline }
    if let activity = update.activity { self.activity = activity }
    guard let change = update.content else { return ContentDifference() }
    return Content.apply(change, to: &content)
  }
}
