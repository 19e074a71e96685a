import CWidgetProto
public import WidgetModel

// The messages of a watch stream about widgets: SnapshotChunk, ChangeSet, WidgetChange,
// WidgetUpdated. Encoding a ChangeSet is the hottest path of the daemon: one walk over the domain's
// own values into the arena, nothing in between.

/// A part of the snapshot. Apply the parts in order and show the result when `synced` arrives.
public struct SnapshotChunk: Hashable, Sendable {
  /// Widgets to add, in any order. They replace widgets with the same id.
  public var widgets: [Widget]
  /// Widgets to remove afterwards, if they exist.
  public var removedIDs: [WidgetID]

  public init(widgets: [Widget] = [], removedIDs: [WidgetID] = []) {
    self.widgets = widgets
    self.removedIDs = removedIDs
  }
}

extension SnapshotChunk: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SnapshotChunk>, _ reader: Reader) throws(WireError) {
    widgets = try reader.list("widgets", c.pointee.n_widgets, c.pointee.widgets) {
      (element) throws(WireError) in
      try Widget(c: element, reader)
    }
    removedIDs = try reader.widgetIDs(
      "removed_ids", c.pointee.n_removed_ids, c.pointee.removed_ids)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__SnapshotChunk>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_widgets = widgets.count
    c.pointee.widgets = try writer.list("widgets", widgets)
    c.pointee.n_removed_ids = removedIDs.count
    c.pointee.removed_ids = try writer.strings("removed_ids", removedIDs)
  }
}

/// A `Delta`, or a part of one, as a frame.
public struct ChangeSet: Hashable, Sendable {
  public var fromRevision: Revision
  /// 0 while `more` is true.
  public var toRevision: Revision
  /// Each widget at most once in a frame. Changes of a kind that this version does not know are
  /// left out when reading.
  public var changes: [WidgetChange]
  /// More frames with the same `fromRevision` follow. Apply all of them at once when one arrives
  /// with `more` false.
  public var more: Bool
  /// The token to continue from here. Empty while `more` is true.
  public var resumeToken: [UInt8]

  public init(
    fromRevision: Revision = 0, toRevision: Revision = 0, changes: [WidgetChange] = [],
    more: Bool = false, resumeToken: [UInt8] = []
  ) {
    self.fromRevision = fromRevision
    self.toRevision = toRevision
    self.changes = changes
    self.more = more
    self.resumeToken = resumeToken
  }

  /// All of a delta in one frame.
  public init(_ delta: Delta, resumeToken: [UInt8] = []) {
    self.init(
      fromRevision: delta.fromRevision, toRevision: delta.toRevision, changes: delta.changes,
      resumeToken: resumeToken)
  }
}

extension ChangeSet: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ChangeSet>, _ reader: Reader) throws(WireError) {
    fromRevision = c.pointee.from_revision
    toRevision = c.pointee.to_revision
    changes = try reader.list("changes", c.pointee.n_changes, c.pointee.changes) {
      (element) throws(WireError) -> WidgetChange? in
      try reader.change(element)
    }.compactMap(\.self)
    more = c.pointee.more != 0
    resumeToken = reader.bytes(c.pointee.resume_token)
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__ChangeSet>, _ writer: Writer) throws(WireError) {
    c.pointee.from_revision = fromRevision
    c.pointee.to_revision = toRevision
    c.pointee.n_changes = changes.count
    c.pointee.changes = try writer.list("changes", changes, of: Widgetd__V1__WidgetChange.self) {
      (change, c) throws(WireError) in
      try writer.fill(c, with: change)
    }
    c.pointee.more = more ? 1 : 0
    c.pointee.resume_token = try writer.bytes(resumeToken)
  }
}

extension Reader {
  /// Reads one change; nil if it is of a kind that this version does not know.
  func change(_ c: UnsafePointer<Widgetd__V1__WidgetChange>) throws(WireError) -> WidgetChange? {
    switch c.pointee.change_case {
    case WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED:
      let added = c.pointee.added.pointee
      do throws(WireError) {
        return .added(
          try required("widget", added.widget), try optional("transition", added.transition))
      } catch { throw error.inside("added") }
    case WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED:
      return .updated(try required("updated", c.pointee.updated))
    case WIDGETD__V1__WIDGET_CHANGE__CHANGE_REMOVED:
      let removed = c.pointee.removed.pointee
      do throws(WireError) {
        return .removed(
          try widgetID("id", removed.id), try optional("transition", removed.transition))
      } catch { throw error.inside("removed") }
    default: return nil
    }
  }
}

extension Writer {
  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WidgetChange>, with change: WidgetChange
  ) throws(WireError) {
    switch change {
    case .added(let widget, let transition):
      let added = try make(Widgetd__V1__WidgetAdded.self)
      added.pointee.widget = try message("widget", widget)
      added.pointee.transition = try message("transition", optional: transition)
      c.pointee.change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED
      c.pointee.added = added
    case .updated(let update):
      c.pointee.change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED
      c.pointee.updated = try message("updated", update)
    case .removed(let id, let transition):
      let removed = try make(Widgetd__V1__WidgetRemoved.self)
      removed.pointee.id = try string("id", id.rawValue)
      removed.pointee.transition = try message("transition", optional: transition)
      c.pointee.change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_REMOVED
      c.pointee.removed = removed
    }
  }
}

/// widgetd.v1.WidgetUpdated. The time is exact within years 1677 to 2262, and clamped outside.
extension WidgetUpdate: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WidgetUpdated>, _ reader: Reader) throws(WireError) {
    self.init(
      id: try reader.widgetID("id", c.pointee.id), revision: c.pointee.revision,
      updateTime: Timestamp(nanosecondsSinceEpoch: c.pointee.update_time_nanos))
    setData = try reader.values("set_data", c.pointee.n_set_data, c.pointee.set_data)
    unsetData = reader.strings(c.pointee.n_unset_data, c.pointee.unset_data)
    setParameters = try reader.values(
      "set_parameters", c.pointee.n_set_parameters, c.pointee.set_parameters)
    unsetParameters = reader.strings(c.pointee.n_unset_parameters, c.pointee.unset_parameters)
    labels = try reader.optional("labels", c.pointee.labels)
    presence = try reader.optional("presence", c.pointee.presence)
    if c.pointee._position_case == WIDGETD__V1__WIDGET_UPDATED___POSITION_POSITION {
      position = c.pointee.position
    }
    if c.pointee._stale_case == WIDGETD__V1__WIDGET_UPDATED___STALE_STALE {
      isStale = c.pointee.stale != 0
    }
    error = try reader.error("error", c.pointee.error)
    transition = try reader.optional("transition", c.pointee.transition)
    if c.pointee._apply_set_case == WIDGETD__V1__WIDGET_UPDATED___APPLY_SET_APPLY_SET {
      applySet = reader.string(c.pointee.apply_set)
    }
    let number = c.pointee.family.rawValue
    if number != 0 { family = Family(number: number) ?? .medium }
    content = try reader.optional("content", c.pointee.content)
    if let status: TimelineStatus = try reader.optional("timeline", c.pointee.timeline) {
      timeline = .some(status)
    } else if c.pointee.timeline_cleared != 0 {
      timeline = .some(nil)
    }
    activity = try reader.optional("activity", c.pointee.activity)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WidgetUpdated>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.revision = revision
    c.pointee.update_time_nanos = updateTime.nanosecondsSinceEpoch
    c.pointee.n_set_data = setData.count
    c.pointee.set_data = try writer.entries(
      "set_data", setData, of: Widgetd__V1__WidgetUpdated__SetDataEntry.self)
    c.pointee.n_unset_data = unsetData.count
    c.pointee.unset_data = try writer.strings("unset_data", unsetData)
    c.pointee.n_set_parameters = setParameters.count
    c.pointee.set_parameters = try writer.entries(
      "set_parameters", setParameters, of: Widgetd__V1__WidgetUpdated__SetParametersEntry.self)
    c.pointee.n_unset_parameters = unsetParameters.count
    c.pointee.unset_parameters = try writer.strings("unset_parameters", unsetParameters)
    c.pointee.labels = try writer.message("labels", optional: labels)
    c.pointee.presence = try writer.message("presence", optional: presence)
    if let position {
      c.pointee._position_case = WIDGETD__V1__WIDGET_UPDATED___POSITION_POSITION
      c.pointee.position = position
    }
    if let isStale {
      c.pointee._stale_case = WIDGETD__V1__WIDGET_UPDATED___STALE_STALE
      c.pointee.stale = isStale ? 1 : 0
    }
    c.pointee.error = try writer.message("error", changed: error)
    c.pointee.transition = try writer.message("transition", optional: transition)
    if let applySet {
      c.pointee._apply_set_case = WIDGETD__V1__WIDGET_UPDATED___APPLY_SET_APPLY_SET
      c.pointee.apply_set = try writer.string("apply_set", applySet)
    }
    if let family { c.pointee.family = Widgetd__V1__Family(family) }
    c.pointee.content = try writer.message("content", optional: content)
    if let timeline {
      c.pointee.timeline = try writer.message("timeline", optional: timeline)
      c.pointee.timeline_cleared = timeline == nil ? 1 : 0
    }
    c.pointee.activity = try writer.message("activity", optional: activity)
  }
}
