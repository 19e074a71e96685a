import CWidgetProto
public import WidgetModel

// The daemon's records in its store: the messages of widgetd.storage.v1. The reader is lenient, so
// that a store of a newer daemon still opens.

/// A widget with the revisions that resuming needs.
public struct StoredWidget: Hashable, Sendable {
  /// The widget. Its `data` and `parameters` are not written. The fields `data` and `parameters`
  /// below hold them, with their revisions.
  public var widget: Widget
  /// Data keys, removed ones included.
  public var data: [StoredEntry]
  /// Parameters, removed ones included.
  public var parameters: [StoredEntry]
  /// The revision that last changed the labels.
  public var labelsRevision: Revision
  /// The revision that last changed the presence.
  public var presenceRevision: Revision
  /// The revision that last changed the position.
  public var positionRevision: Revision
  /// The revision that last changed stale, error, family or apply set.
  public var statusRevision: Revision
  /// The latest transition hint.
  public var transition: Transition?
  /// The revision of this hint.
  public var transitionRevision: Revision
  /// The revision at which it last lost its content.
  public var contentRevision: Revision
  /// Whether its content met a limit when this was written.
  public var contentIsCut: Bool
  /// The owners of fields; nil if no manager ever declared the widget.
  public var owners: [FieldOwner]?
  /// The revision at which a data key was last added or removed; 0 if it is not known.
  public var dataKeysRevision: Revision
  /// The timeline that was set, with its time.
  public var timeline: Timeline?
  /// The starts of the failures of its content.
  public var failures: [StoredFailure]
  /// The start of the problem of its timeline or schedule; nil for none.
  public var timelineProblemTime: Timestamp?
  /// Readers from before this revision get the widget as a whole.
  public var replacedRevision: Revision

  public init(
    widget: Widget, data: [StoredEntry] = [], parameters: [StoredEntry] = [],
    labelsRevision: Revision = 0, presenceRevision: Revision = 0, positionRevision: Revision = 0,
    statusRevision: Revision = 0, transition: Transition? = nil, transitionRevision: Revision = 0,
    contentRevision: Revision = 0, contentIsCut: Bool = false, owners: [FieldOwner]? = nil,
    dataKeysRevision: Revision = 0, timeline: Timeline? = nil, failures: [StoredFailure] = [],
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

extension StoredWidget: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__Storage__V1__StoredWidget>, _ reader: Reader) throws(WireError) {
    widget = try reader.required("widget", c.pointee.widget)
    data = try reader.entries("data", c.pointee.n_data, c.pointee.data)
    parameters = try reader.entries("parameters", c.pointee.n_parameters, c.pointee.parameters)
    labelsRevision = c.pointee.labels_revision
    presenceRevision = c.pointee.presence_revision
    positionRevision = c.pointee.position_revision
    statusRevision = c.pointee.status_revision
    transition = try reader.optional("transition", c.pointee.transition)
    transitionRevision = c.pointee.transition_revision
    contentRevision = c.pointee.content_revision
    contentIsCut = c.pointee.content_is_cut != 0
    dataKeysRevision = c.pointee.data_keys_revision
    timeline = try reader.optional("timeline", c.pointee.timeline)
    timeline?.setTime =
      try reader.timestamp("timeline_set_time", c.pointee.timeline_set_time) ?? .epoch
    timeline?.asides = try reader.list(
      "timeline_asides", c.pointee.n_timeline_asides, c.pointee.timeline_asides
    ) { element throws(WireError) in try TimelineEntry(c: element, reader) }
    failures = try reader.list("failures", c.pointee.n_failures, c.pointee.failures) {
      element throws(WireError) in try StoredFailure(c: element, reader)
    }
    timelineProblemTime = try reader.timestamp(
      "timeline_problem_time", c.pointee.timeline_problem_time)
    replacedRevision = c.pointee.replaced_revision
    if c.pointee.has_owners != 0 {
      owners = try reader.owners("owners", c.pointee.n_owners, c.pointee.owners)
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__Storage__V1__StoredWidget>, _ writer: Writer
  ) throws(WireError) {
    var bare = widget
    bare.data = [:]
    bare.parameters = [:]
    bare.timeline = nil
    c.pointee.widget = try writer.message("widget", bare)
    c.pointee.n_data = data.count
    c.pointee.data = try writer.list("data", data)
    c.pointee.n_parameters = parameters.count
    c.pointee.parameters = try writer.list("parameters", parameters)
    c.pointee.labels_revision = labelsRevision
    c.pointee.presence_revision = presenceRevision
    c.pointee.position_revision = positionRevision
    c.pointee.status_revision = statusRevision
    c.pointee.transition = try writer.message("transition", optional: transition)
    c.pointee.transition_revision = transitionRevision
    c.pointee.content_revision = contentRevision
    c.pointee.content_is_cut = contentIsCut ? 1 : 0
    c.pointee.data_keys_revision = dataKeysRevision
    c.pointee.replaced_revision = replacedRevision
    if let timeline {
      c.pointee.timeline = try writer.message("timeline", timeline)
      c.pointee.timeline_set_time = try writer.timestamp(timeline.setTime)
      c.pointee.n_timeline_asides = timeline.asides.count
      c.pointee.timeline_asides = try writer.list("timeline_asides", timeline.asides)
    }
    if !failures.isEmpty {
      c.pointee.n_failures = failures.count
      c.pointee.failures = try writer.list("failures", failures)
    }
    if let timelineProblemTime {
      c.pointee.timeline_problem_time = try writer.timestamp(timelineProblemTime)
    }
    if let owners {
      c.pointee.has_owners = 1
      c.pointee.n_owners = owners.count
      c.pointee.owners = try writer.list("owners", owners)
    }
  }
}

/// The start of the failure of a part of a node.
public struct StoredFailure: Hashable, Sendable {
  public var nodeID: String
  /// The property, or "condition".
  public var part: String
  public var since: Timestamp

  public init(nodeID: String, part: String, since: Timestamp) {
    self.nodeID = nodeID
    self.part = part
    self.since = since
  }
}

extension StoredFailure: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__Storage__V1__StoredFailure>, _ reader: Reader) throws(WireError) {
    self.init(
      nodeID: reader.string(c.pointee.node_id), part: reader.string(c.pointee.part),
      since: try reader.timestamp("since", c.pointee.since) ?? .epoch)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__Storage__V1__StoredFailure>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.node_id = try writer.string("node_id", nodeID)
    c.pointee.part = try writer.string("part", part)
    c.pointee.since = try writer.timestamp(since)
  }
}

/// A theme in the store: the values that were set, and the revision of the last change.
///
/// A `widgetd.v1.Theme` that is read strictly. An unreadable value or an invalid token is damage,
/// because the next change would write the row without it. So a version that adds a group of tokens
/// or a kind of value needs a new schema version of the database. Older daemons refuse that
/// version. Names that this version's standard theme does not have are kept like any other.
public struct StoredTheme: Hashable, Sendable {
  public var values: [String: ThemeValue]
  /// From 1: the theme is only stored when it changes.
  public var revision: Revision

  public init(values: [String: ThemeValue], revision: Revision) {
    self.values = values
    self.revision = revision
  }
}

extension StoredTheme: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Theme>, _ reader: Reader) throws(WireError) {
    values = [:]
    for index in 0..<c.pointee.n_values {
      guard let entry = c.pointee.values?[index] else { continue }
      let token = reader.string(entry.pointee.key)
      let place = "values[\(token.prefix(ThemeToken.lengthMax))]"
      let value: ThemeValue
      do throws(WireError) {
        value = try reader.required("value", entry.pointee.value)
      } catch {
        throw error.inside(place)
      }
      if let problem = value.problem(as: token) {
        throw .invalidField(path: place, description: problem)
      }
      guard values.updateValue(value, forKey: token) == nil else {
        throw .invalidField(path: place, description: "appears twice")
      }
    }
    revision = c.pointee.revision
    guard revision > 0 else {
      throw .invalidField(path: "revision", description: "is missing")
    }
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Theme>, _ writer: Writer) throws(WireError) {
    try ThemeState(values: values, revision: revision).fill(c, writer)
  }
}

/// One data key or parameter.
public struct StoredEntry: Hashable, Sendable {
  public var key: String
  /// nil if the key was removed.
  public var value: Value?
  /// The revision that last changed it.
  public var revision: Revision

  public init(key: String, value: Value? = nil, revision: Revision = 0) {
    self.key = key
    self.value = value
    self.revision = revision
  }
}

extension StoredEntry: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__Storage__V1__StoredEntry>, _ reader: Reader) throws(WireError) {
    key = reader.string(c.pointee.key)
    value = try reader.optional("value", c.pointee.value)
    revision = c.pointee.revision
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__Storage__V1__StoredEntry>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.key = try writer.string("key", key)
    c.pointee.value = try writer.message("value", optional: value)
    c.pointee.revision = revision
  }
}

extension Reader {
  fileprivate func entries(
    _ field: StaticString, _ count: Int, _ list: CList<Widgetd__Storage__V1__StoredEntry>?
  ) throws(WireError) -> [StoredEntry] {
    try self.list(field, count, list) { (element) throws(WireError) in
      try StoredEntry(c: element, self)
    }
  }
}

/// The record of a removed widget, so that resuming streams learn of the removal.
public struct StoredTombstone: Hashable, Sendable {
  public var id: WidgetID
  public var kind: KindName
  public var createdRevision: Revision
  /// The revision that removed it.
  public var revision: Revision
  /// The transition hint of the removal.
  public var transition: Transition?

  public init(
    id: WidgetID, kind: KindName,
    createdRevision: Revision = 0, revision: Revision = 0, transition: Transition? = nil
  ) {
    self.id = id
    self.kind = kind
    self.createdRevision = createdRevision
    self.revision = revision
    self.transition = transition
  }
}

extension StoredTombstone: ConvertibleMessage {
  init(
    c: UnsafePointer<Widgetd__Storage__V1__StoredTombstone>, _ reader: Reader
  ) throws(WireError) {
    id = try reader.widgetID("id", c.pointee.id)
    kind = try reader.kind("kind", c.pointee.kind)
    createdRevision = c.pointee.created_revision
    revision = c.pointee.revision
    transition = try reader.optional("transition", c.pointee.transition)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__Storage__V1__StoredTombstone>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.kind = try writer.string("kind", kind.rawValue)
    c.pointee.created_revision = createdRevision
    c.pointee.revision = revision
    c.pointee.transition = try writer.message("transition", optional: transition)
  }
}
