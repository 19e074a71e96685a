import WidgetModel

// Reading a record. `RecordTable` writes it.
extension Record {
  var revision: Revision { state.revision }
  var updateTime: Timestamp { state.updateTime }
  var labels: Labels { state.labels }
  var labelsRevision: Revision { state.labelsRevision }
  var presence: Presence { state.presence }
  var presenceRevision: Revision { state.presenceRevision }
  var position: Int64 { state.position }
  var positionRevision: Revision { state.positionRevision }
  var family: Family { state.family }
  var familyRevision: Revision { state.familyRevision }
  var isStale: Bool { state.isStale }
  var error: WidgetError? { state.error }
  var applySet: String { state.applySet }
  var statusRevision: Revision { state.statusRevision }
  var data: RevisedMap { state.data }
  var parameters: RevisedMap { state.parameters }
  var ownership: Ownership? { state.ownership }
  var isOwned: Bool { state.isOwned }
  var transition: Transition? { state.transition }
  var transitionRevision: Revision { state.transitionRevision }
  var replacedRevision: Revision { state.replacedRevision }
  var expressionBytes: Int { state.expressionBytes }
  var costBytes: Int { state.costBytes }
  var timeline: Timeline? { state.timeline }
  var moment: Moment? { state.moment }
  var activity: Activity? { state.activity }
  var isActivity: Bool { state.isActivity }
  /// The revision that last changed its place in its timeline.
  var momentRevision: Revision { max(state.moment?.revision ?? 0, state.momentClearedRevision) }

  var content: ContentBox? { shown.own }
  var contentRevision: Revision { shown.revision }
  var isPlain: Bool { shown.isPlain }
  var familyContents: [FamilyContent] { shown.families }
  var familyBytes: Int { shown.familyBytes }
  /// The size of the nodes of its content, in bytes.
  var nodesBytes: Int { shown.own?.table.bytes ?? 0 }
  /// The size of its content, also of removed nodes, and of what the schedule of its kind has made,
  /// as it counts against its owner's quota.
  var contentBytes: Int { (shown.own?.table.storedBytes ?? 0) + (state.moment?.bytes ?? 0) }

  /// A draft of the widget in another state.
  func draft(_ change: (inout RecordState) -> Void) -> Record {
    var state = state
    change(&state)
    return Record(
      id: id, kind: kind, ownerUID: ownerUID, createdRevision: createdRevision,
      createTime: createTime, state: state)
  }

  /// The record as a widget, with the content that the reader takes. O(keys).
  func widget(_ reader: ContentReader) -> Widget {
    guard !reader.isRedacted else { return redactedWidget(reader) }
    return Widget(
      id: id, kind: kind, family: family, labels: labels, presence: presence, position: position,
      parameters: parameters.map, data: data.map, isStale: isStale, error: error,
      createdRevision: createdRevision, revision: revision, createTime: createTime,
      updateTime: updateTime, ownerUID: ownerUID, applySet: applySet,
      content: reader.content(of: self), timeline: moment?.status,
      activity: activity)
  }

  /// The change of this widget after `cursor`, for a reader with this selector; nil if the reader
  /// needs none. The record has changed after `cursor`.
  ///
  /// The cursor does not tell whether the reader held the widget. So if its selection may have
  /// changed, the widget is sent as a whole if it is selected now, and reported removed if not.
  ///
  /// `mayHoldNewer`: the reader may hold widgets that are newer than its cursor.
  func change(
    since cursor: Revision, selecting selection: Selection, mayHoldNewer: Bool,
    taking reader: ContentReader, spending budget: inout Int
  ) -> WidgetChange? {
    let isNew = createdRevision > cursor
    let isReplaced = replacedRevision > cursor
    let selectionMayHaveChanged = selection.mayHaveChanged(for: self, since: cursor)
    guard selection.picks(self, spending: &budget) else {
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
    if presenceRevision > cursor { update.presence = presence }
    if positionRevision > cursor { update.position = position }
    update.content = reader.change(of: self, since: cursor)
    update.transition = hint(since: cursor)
    guard !reader.isRedacted else {
      redact(&update, since: cursor)
      return update
    }
    (update.setData, update.unsetData) = data.changes(since: cursor)
    (update.setParameters, update.unsetParameters) = parameters.changes(since: cursor)
    if labelsRevision > cursor { update.labels = labels }
    if statusRevision > cursor {
      update.isStale = isStale
      update.error = .some(error)
      update.family = family
      update.applySet = applySet
      update.activity = activity
    }
    if momentRevision > cursor { update.timeline = .some(moment?.status) }
    return update
  }

  // MARK: - Content

  /// The change of the content after a cursor; nil for none.
  func contentChange(since cursor: Revision) -> ContentChange? {
    if let content { return content.table.change(since: cursor) }
    guard isPlain else {
      return contentRevision > cursor ? ContentChange(replacingBy: nil) : nil
    }
    if max(contentRevision, data.keysRevision) > cursor {
      return ContentChange(replacingBy: PlainContent.content(of: self))
    }
    return PlainContent.change(of: self, since: cursor)
  }

  /// The widget's content now; nil if it has none.
  var shownContent: Content? {
    if let content { return content.table.content }
    return isPlain ? PlainContent.content(of: self) : nil
  }
}

/// The trace of a removed widget.
struct Tombstone {
  var id: WidgetID
  var kind: KindName
  var createdRevision: Revision
  var transition: Transition?

  /// Whether a selector of ids and kinds may have picked the widget at some time. An empty set is
  /// for any. Only properties that never change count.
  func mayHaveBeenSelected(by ids: Set<WidgetID>, _ kinds: Set<KindName>) -> Bool {
    (ids.isEmpty || ids.contains(id)) && (kinds.isEmpty || kinds.contains(kind))
  }
}
