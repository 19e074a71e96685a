import WidgetModel

/// A widget in the store: its state, and the revision that last changed each part of it.
///
/// `older` and `newer` link all records in order of `revision`; the store keeps them.
///
/// An object, so that looking at one costs one reference count and not one for each of its parts. The
/// store is still a value: a record in it changes only through `WidgetStore.modify`, which puts a copy
/// in its place first if the journal (or another store) holds on to it.
final class Record {
  let id: WidgetID
  let kind: KindName
  let ownerUID: UInt32
  let createdRevision: Revision
  let createTime: Timestamp

  var revision: Revision
  var updateTime: Timestamp

  var labels: Labels = [:]
  var labelsRevision: Revision
  var presence = Presence()
  var presenceRevision: Revision
  var position: Int64
  var positionRevision: Revision
  /// Family, stale, error and apply set change rarely and travel together.
  var family: Family
  var isStale = false
  @Boxed var error: WidgetError?
  var applySet = ""
  var statusRevision: Revision
  var data = RevisedMap()
  var parameters = RevisedMap()
  /// The owners of fields; nil if no manager ever declared the widget.
  @Boxed var ownership: Ownership?
  /// Whether a manager ever declared the widget.
  var isOwned: Bool { _ownership.isThere }
  /// The latest hint, and the revision it came with.
  @Boxed var transition: Transition?
  var transitionRevision: Revision = 0
  /// Readers from before this revision get the widget as a whole: what it held then is lost, so that what
  /// changed cannot be told.
  var replacedRevision: Revision = 0

  /// What it shows; nil if its kind says nothing of its family.
  var content: ContentBox?
  /// When the widget last lost its content, or when `isPlain` last changed.
  var contentRevision: Revision = 0
  /// Whether nobody has registered the widget's kind. The widget then shows its data; see
  /// `PlainContent`.
  var isPlain = false
  /// When the widget's family last changed.
  var familyRevision: Revision = 0
  /// The cached content for other families that are watched.
  var familyContents: [FamilyContent] = []
  /// The size of `familyContents` in bytes.
  var familyBytes: Int { familyContents.reduce(0) { $0 + $1.bytes } }

  /// What the widget counts against its owner's quota.
  var costBytes = 0

  var older: Int32 = -1
  var newer: Int32 = -1

  init(
    id: WidgetID, kind: KindName, family: Family, ownerUID: UInt32, position: Int64,
    revision: Revision, time: Timestamp
  ) {
    self.id = id
    self.kind = kind
    self.family = family
    self.ownerUID = ownerUID
    self.position = position
    createdRevision = revision
    self.revision = revision
    labelsRevision = revision
    presenceRevision = revision
    positionRevision = revision
    statusRevision = revision
    createTime = time
    updateTime = time
  }

  /// A record of its own with the same content and links.
  func copy() -> Record {
    let copy = Record(
      id: id, kind: kind, family: family, ownerUID: ownerUID, position: position,
      revision: createdRevision, time: createTime)
    copy.revision = revision
    copy.updateTime = updateTime
    copy.labels = labels
    copy.labelsRevision = labelsRevision
    copy.presence = presence
    copy.presenceRevision = presenceRevision
    copy.positionRevision = positionRevision
    copy.isStale = isStale
    copy.error = error
    copy.applySet = applySet
    copy.statusRevision = statusRevision
    copy.data = data
    copy.parameters = parameters
    if isOwned { copy.ownership = ownership }
    copy.transition = transition
    copy.transitionRevision = transitionRevision
    copy.replacedRevision = replacedRevision
    copy.content = content
    copy.contentRevision = contentRevision
    copy.isPlain = isPlain
    copy.familyRevision = familyRevision
    copy.familyContents = familyContents
    copy.costBytes = costBytes
    copy.older = older
    copy.newer = newer
    return copy
  }

  /// The record as a widget, with the content that the reader takes. O(keys).
  func widget(_ reader: ContentReader) -> Widget {
    Widget(
      id: id, kind: kind, family: family, labels: labels, presence: presence, position: position,
      parameters: parameters.map, data: data.map, isStale: isStale, error: error,
      createdRevision: createdRevision, revision: revision, createTime: createTime,
      updateTime: updateTime, ownerUID: ownerUID, applySet: applySet,
      content: reader.content(of: self))
  }

  /// What happened to this widget after `cursor`, for a reader with this selector; nil if nothing
  /// that concerns it. The record has changed after `cursor`.
  ///
  /// The reader's cursor does not tell whether it held the widget, so a widget whose selection may
  /// have changed is sent as a whole if it is selected now, and reported removed if not.
  ///
  /// `mayHoldNewer`: the reader may hold widgets that are newer than its cursor.
  func change(
    since cursor: Revision, selecting selection: Selection, mayHoldNewer: Bool,
    taking reader: ContentReader
  ) -> WidgetChange? {
    let isNew = createdRevision > cursor
    let isReplaced = replacedRevision > cursor
    let selectionMayHaveChanged = selection.mayHaveChanged(for: self, since: cursor)
    guard selection.picks(self) else {
      return selectionMayHaveChanged && (!isNew || mayHoldNewer)
        ? .removed(id, hint(since: cursor)) : nil
    }
    if isNew || isReplaced || selectionMayHaveChanged {
      return .added(widget(reader), hint(since: cursor))
    }
    return .updated(update(since: cursor, taking: reader))
  }

  /// The latest transition hint, if it came after `cursor`.
  private func hint(since cursor: Revision) -> Transition? {
    transitionRevision > cursor ? transition : nil
  }

  private func update(since cursor: Revision, taking reader: ContentReader) -> WidgetUpdate {
    var update = WidgetUpdate(id: id, revision: revision, updateTime: updateTime)
    (update.setData, update.unsetData) = data.changes(since: cursor)
    (update.setParameters, update.unsetParameters) = parameters.changes(since: cursor)
    if labelsRevision > cursor { update.labels = labels }
    if presenceRevision > cursor { update.presence = presence }
    if positionRevision > cursor { update.position = position }
    if statusRevision > cursor {
      update.isStale = isStale
      update.error = .some(error)
      update.family = family
      update.applySet = applySet
    }
    update.content = reader.change(of: self, since: cursor)
    update.transition = hint(since: cursor)
    return update
  }
}

/// Keeps a value that is seldom there in memory of its own, so that its absence costs a pointer.
@propertyWrapper
struct Boxed<Value> {
  private final class Box {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  private var box: Box?

  var isThere: Bool { box != nil }

  var wrappedValue: Value? {
    get { box?.value }
    set { box = newValue.map(Box.init) }
  }

  init(wrappedValue: Value?) { box = wrappedValue.map(Box.init) }
}

/// What remains of a removed widget.
struct Tombstone {
  var id: WidgetID
  var kind: KindName
  var createdRevision: Revision
  var transition: Transition?

  /// Whether the selector may have picked the widget at some time: what never changes decides.
  func mayHaveBeenSelected(by selector: Selector) -> Bool {
    (selector.ids.isEmpty || selector.ids.contains(id))
      && (selector.kinds.isEmpty || selector.kinds.contains(kind))
  }
}
