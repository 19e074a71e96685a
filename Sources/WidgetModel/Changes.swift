/// What changed in a range of revisions, conflated: of several changes to one thing, the last.
///
/// Whoever holds the state at `fromRevision` holds the state at `toRevision` after applying it.
public struct Delta: Hashable, Sendable {
  public var fromRevision: Revision
  public var toRevision: Revision
  /// Each widget at most once. Deleted widgets come first; one that is removed because it is no
  /// longer selected comes among the changes.
  public var changes: [WidgetChange]

  public init(fromRevision: Revision, toRevision: Revision, changes: [WidgetChange]) {
    self.fromRevision = fromRevision
    self.toRevision = toRevision
    self.changes = changes
  }
}

/// What happened to one widget.
public enum WidgetChange: Hashable, Sendable {
  /// New to the reader, or to be replaced as a whole.
  case added(Widget, Transition?)
  /// Some of it changed.
  case updated(WidgetUpdate)
  /// Gone, or no longer selected.
  case removed(WidgetID, Transition?)
}

/// What changed of one widget. What is nil or empty stayed as it was.
public struct WidgetUpdate: Hashable, Sendable {
  public var id: WidgetID
  public var revision: Revision
  public var updateTime: Timestamp
  public var setData: ValueMap = [:]
  /// Sorted by UTF-8 bytes, as all key lists here.
  public var unsetData: [String] = []
  public var setParameters: ValueMap = [:]
  public var unsetParameters: [String] = []
  /// All labels as they are now.
  public var labels: Labels?
  public var presence: Presence?
  public var position: Int64?
  public var isStale: Bool?
  /// `.some(nil)`: the error is gone.
  public var error: WidgetError??
  public var transition: Transition?
  public var applySet: String?
  public var family: Family?
  public var content: ContentChange?
  /// `.some(nil)`: it has neither a timeline nor a schedule any more.
  public var timeline: TimelineStatus??
  /// All of its activity as it is now.
  public var activity: Activity?

  public init(id: WidgetID, revision: Revision, updateTime: Timestamp) {
    self.id = id
    self.revision = revision
    self.updateTime = updateTime
  }

  /// Whether it says nothing but the new revision.
  public var isEmpty: Bool {
    setData.isEmpty && unsetData.isEmpty && setParameters.isEmpty && unsetParameters.isEmpty
      && labels == nil && presence == nil && position == nil && isStale == nil && error == nil
      && applySet == nil && family == nil && content == nil && timeline == nil
      && activity == nil
  }
}

extension Widget {
  /// Makes this widget what the update says, and says which nodes of its content changed.
  @discardableResult
  public mutating func apply(_ update: WidgetUpdate) -> ContentDifference {
    revision = update.revision
    updateTime = update.updateTime
    for entry in update.setData.entries { data[entry.key] = entry.value }
    for key in update.unsetData { data[key] = nil }
    for entry in update.setParameters.entries { parameters[entry.key] = entry.value }
    for key in update.unsetParameters { parameters[key] = nil }
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
