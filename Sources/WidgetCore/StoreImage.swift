public import WidgetModel

/// Everything that a store needs to continue its history after a restart. A commit log returns it
/// when it is opened.
public struct StoreImage: Hashable, Sendable {
  /// Identifies the history: revisions compare only within it.
  public var epoch: UInt64
  public var revision: Revision
  public var compactRevision: Revision
  /// No event has a higher sequence number.
  public var eventSequenceCeiling: UInt64
  public var records: [RecordImage]
  public var tombstones: [TombstoneImage]
  public var requests: [RequestImage]
  public var kinds: [RegisteredKind]
  /// Events that providers have not acknowledged.
  public var events: [EventImage]
  /// For each kind, the range of the events that were forgotten before they were acknowledged.
  public var lostEvents: [KindName: ClosedRange<UInt64>]
  public var theme: RevisedTheme
  /// How long the store has run.
  public var runningTime = RunningTime.zero
  /// The refresh budgets of some kinds.
  public var refreshBudgets: [RefreshBudgetImage] = []

  /// An empty store's image.
  public init(
    epoch: UInt64, revision: Revision = 0, compactRevision: Revision = 0,
    eventSequenceCeiling: UInt64 = 0, records: [RecordImage] = [],
    tombstones: [TombstoneImage] = [], requests: [RequestImage] = [],
    kinds: [RegisteredKind] = [], events: [EventImage] = [],
    lostEvents: [KindName: ClosedRange<UInt64>] = [:], theme: RevisedTheme = RevisedTheme()
  ) {
    self.theme = theme
    self.kinds = kinds
    self.events = events
    self.lostEvents = lostEvents
    self.epoch = epoch
    self.revision = revision
    self.compactRevision = compactRevision
    self.eventSequenceCeiling = eventSequenceCeiling
    self.records = records
    self.tombstones = tombstones
    self.requests = requests
  }
}

/// The changes since the last group. A commit log makes them durable, all or nothing.
public struct CommitGroup: Hashable, Sendable {
  /// The store's revision after the group.
  public var revision: Revision
  /// Tombstones at or before this revision may be dropped.
  public var compactRevision: Revision
  public var eventSequenceCeiling: UInt64
  /// Widgets to remove. Comes before `upserts`: an id can be in both.
  public var deletions: [WidgetID]
  /// Widgets to write, each as a whole.
  public var upserts: [RecordImage]
  public var tombstones: [TombstoneImage]
  public var requests: [RequestImage]
  /// Kinds to remove, and kinds to write. A name is in one of them at most.
  public var kindDeletions: [KindName]
  public var kindUpserts: [RegisteredKind]
  /// The events of some kinds to forget. Applied before `events`.
  public var eventTrims: [EventTrim]
  /// Events to keep until they are acknowledged.
  public var events: [EventImage]
  /// The theme. Nil if it has not changed.
  public var theme: RevisedTheme?
  /// How long the store has run; a log keeps the longest.
  public var runningTime = RunningTime.zero
  /// The refresh budgets to write, and the kinds whose budgets to remove. A kind is in one of them at
  /// most.
  public var refreshBudgets: [RefreshBudgetImage] = []
  public var refreshBudgetDeletions: [KindName] = []
  /// Whether all calls of the group remove something. Then the log may use its reserve, even if a
  /// removal writes widgets again.
  public var onlyRemoves = false

  public init(
    revision: Revision, compactRevision: Revision, eventSequenceCeiling: UInt64,
    deletions: [WidgetID] = [], upserts: [RecordImage] = [], tombstones: [TombstoneImage] = [],
    requests: [RequestImage] = [], kindDeletions: [KindName] = [],
    kindUpserts: [RegisteredKind] = [], eventTrims: [EventTrim] = [], events: [EventImage] = [],
    theme: RevisedTheme? = nil
  ) {
    self.theme = theme
    self.eventTrims = eventTrims
    self.events = events
    self.kindDeletions = kindDeletions
    self.kindUpserts = kindUpserts
    self.revision = revision
    self.compactRevision = compactRevision
    self.eventSequenceCeiling = eventSequenceCeiling
    self.deletions = deletions
    self.upserts = upserts
    self.tombstones = tombstones
    self.requests = requests
  }
}

/// The refresh budget of a kind at a time.
public struct RefreshBudgetImage: Hashable, Sendable {
  public var kind: KindName
  /// The number of remaining calls, in thousandths.
  public var leftThousandths: Int64
  /// In seconds of the store's running time. Earlier versions stored seconds since 1970, which
  /// count as a time in the future.
  public var seconds: Int64

  public init(kind: KindName, leftThousandths: Int64, seconds: Int64) {
    self.kind = kind
    self.leftThousandths = leftThousandths
    self.seconds = seconds
  }
}

/// An event that a provider has not acknowledged.
public struct EventImage: Hashable, Sendable {
  /// The kind of its widget when it was accepted.
  public var kind: KindName
  public var event: Event

  public init(kind: KindName, event: Event) {
    self.kind = kind
    self.event = event
  }
}

/// The events of a kind that need not be stored any more.
public struct EventTrim: Hashable, Sendable {
  public var kind: KindName
  /// All events before this one.
  public var before: UInt64
  /// The range of the events that were forgotten before they were acknowledged.
  public var lost: ClosedRange<UInt64>?

  public init(kind: KindName, before: UInt64, lost: ClosedRange<UInt64>? = nil) {
    self.kind = kind
    self.before = before
    self.lost = lost
  }
}

/// A stored widget.
public struct RecordImage: Hashable, Sendable {
  /// The widget with empty data and parameters; those are below, with their revisions.
  public var widget: Widget
  public var data: [RevisedEntry]
  public var parameters: [RevisedEntry]
  public var labelsRevision: Revision
  public var presenceRevision: Revision
  public var positionRevision: Revision
  public var statusRevision: Revision
  public var transition: Transition?
  public var transitionRevision: Revision
  /// The revision at which it last lost its content.
  public var contentRevision: Revision
  /// Whether the content that readers hold may differ from the content of its state now; see
  /// `ContentTable.isCut`.
  public var contentIsCut: Bool
  /// The owners of fields; nil if no manager ever declared the widget.
  public var owners: [FieldOwner]?
  /// The revision at which a data key was last added or removed; 0 if it is not known.
  public var dataKeysRevision: Revision
  /// The timeline that was set, with its time.
  public var timeline: Timeline?
  /// The starts of the failures of its content.
  public var failures: [FailureImage]
  /// The start of the problem of its timeline or schedule; nil for none.
  public var timelineProblemTime: Timestamp?
  /// Readers from before this revision get the widget as a whole.
  public var replacedRevision: Revision

  public init(
    widget: Widget, data: [RevisedEntry], parameters: [RevisedEntry], labelsRevision: Revision,
    presenceRevision: Revision, positionRevision: Revision, statusRevision: Revision,
    transition: Transition?, transitionRevision: Revision, contentRevision: Revision = 0,
    contentIsCut: Bool = false, owners: [FieldOwner]? = nil,
    dataKeysRevision: Revision = 0, timeline: Timeline? = nil, failures: [FailureImage] = [],
    timelineProblemTime: Timestamp? = nil, replacedRevision: Revision = 0
  ) {
    self.replacedRevision = replacedRevision
    self.failures = failures
    self.timelineProblemTime = timelineProblemTime
    self.timeline = timeline
    self.dataKeysRevision = dataKeysRevision
    self.owners = owners
    self.contentRevision = contentRevision
    self.contentIsCut = contentIsCut
    self.widget = widget
    self.data = data
    self.parameters = parameters
    self.labelsRevision = labelsRevision
    self.presenceRevision = presenceRevision
    self.positionRevision = positionRevision
    self.statusRevision = statusRevision
    self.transition = transition
    self.transitionRevision = transitionRevision
  }
}

/// The start of the failure of a part of a node.
public struct FailureImage: Hashable, Sendable {
  public var nodeID: String
  /// The property, or `condition`.
  public var part: String
  public var since: Timestamp

  public init(nodeID: String, part: String, since: Timestamp) {
    self.nodeID = nodeID
    self.part = part
    self.since = since
  }
}

/// A data key or parameter with the revision that last changed it; value nil if it was removed.
public struct RevisedEntry: Hashable, Sendable {
  public var key: String
  public var value: Value?
  public var revision: Revision

  public init(key: String, value: Value?, revision: Revision) {
    self.key = key
    self.value = value
    self.revision = revision
  }
}

/// The trace of a removed widget.
public struct TombstoneImage: Hashable, Sendable {
  public var id: WidgetID
  public var kind: KindName
  public var createdRevision: Revision
  /// The revision that removed it.
  public var revision: Revision
  public var transition: Transition?

  public init(
    id: WidgetID, kind: KindName, createdRevision: Revision,
    revision: Revision, transition: Transition? = nil
  ) {
    self.id = id
    self.kind = kind
    self.createdRevision = createdRevision
    self.revision = revision
    self.transition = transition
  }
}

extension RecordImage {
  init(_ record: Record) {
    self.init(
      widget: Widget(
        id: record.id, kind: record.kind, family: record.family, labels: record.labels,
        presence: record.presence, position: record.position, isStale: record.isStale,
        error: record.error, createdRevision: record.createdRevision, revision: record.revision,
        createTime: record.createTime, updateTime: record.updateTime, ownerUID: record.ownerUID,
        applySet: record.applySet, activity: record.activity),
      data: record.data.revisedEntries, parameters: record.parameters.revisedEntries,
      labelsRevision: record.labelsRevision, presenceRevision: record.presenceRevision,
      positionRevision: record.positionRevision, statusRevision: record.statusRevision,
      transition: record.transition, transitionRevision: record.transitionRevision,
      contentRevision: record.contentRevision,
      contentIsCut: record.content?.table.isCut ?? false, owners: record.ownership?.stored,
      dataKeysRevision: record.data.keysRevision, timeline: record.timeline,
      failures: record.content?.table.failureTimes.images ?? [],
      timelineProblemTime: record.moment?.problemTime, replacedRevision: record.replacedRevision)
  }
}

extension Record {
  /// Rebuilds a record. Drops keys that were removed at or before the compact revision.
  convenience init(_ image: RecordImage, compactRevision: Revision) {
    let widget = image.widget
    var state = RecordState(
      family: widget.family, position: widget.position, revision: widget.revision,
      time: widget.updateTime)
    state.labels = widget.labels
    state.labelsRevision = image.labelsRevision
    state.presence = widget.presence
    state.presenceRevision = image.presenceRevision
    state.positionRevision = image.positionRevision
    state.isStale = widget.isStale
    state.error = widget.error
    state.applySet = widget.applySet
    state.statusRevision = image.statusRevision
    let isKept = { (entry: RevisedEntry) in
      entry.value != nil || entry.revision > compactRevision
    }
    state.data = RevisedMap(image.data.filter(isKept), keysRevision: image.dataKeysRevision)
    state.parameters = RevisedMap(image.parameters.filter(isKept))
    state.transition = image.transition
    state.transitionRevision = image.transitionRevision
    state.ownership = image.owners.map { Ownership($0) }
    state.timeline = image.timeline
    state.activity = widget.activity
    if let time = image.timelineProblemTime {
      state.moment = Moment(revision: widget.revision, problemTime: time)
    }
    state.replacedRevision = image.replacedRevision
    state.costBytes = state.cost
    var failures = FailureTimes()
    for failure in image.failures { failures[failure.nodeID, failure.part] = failure.since }
    self.init(
      id: widget.id, kind: widget.kind, ownerUID: widget.ownerUID,
      createdRevision: widget.createdRevision, createTime: widget.createTime, state: state,
      shown: ShownContent(revision: image.contentRevision, failures: failures))
  }
}
