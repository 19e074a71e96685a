import CWidgetProto
public import WidgetModel

// The timeline service: widgetd/v1/timeline_service.proto.

/// Asks for the entries of a widget.
public struct GetTimelineRequest: Hashable, Sendable {
  public var id: WidgetID
  /// 0: the daemon's default.
  public var limit: Int
  /// nil: now.
  public var startTime: Timestamp?
  public var includeContent: Bool
  /// The family of the content; nil for the widget's own.
  public var contentFamily: Family?

  public init(
    id: WidgetID, limit: Int = 0, startTime: Timestamp? = nil, includeContent: Bool = false,
    contentFamily: Family? = nil
  ) {
    self.id = id
    self.limit = limit
    self.startTime = startTime
    self.includeContent = includeContent
    self.contentFamily = contentFamily
  }
}

extension GetTimelineRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetTimelineRequest>, _ reader: Reader) throws(WireError) {
    self.init(
      id: try reader.widgetID("id", c.pointee.id), limit: Int(c.pointee.limit),
      startTime: try reader.timestamp("start_time", c.pointee.start_time),
      includeContent: c.pointee.include_content != 0,
      contentFamily: try reader.family("content_family", c.pointee.content_family))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetTimelineRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.limit = UInt32(clamping: limit)
    if let startTime { c.pointee.start_time = try writer.timestamp(startTime) }
    c.pointee.include_content = includeContent ? 1 : 0
    if let contentFamily { c.pointee.content_family = Widgetd__V1__Family(contentFamily) }
  }
}

extension ShownEntry: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ShownEntry>, _ reader: Reader) throws(WireError) {
    self.init(
      entry: try reader.required("entry", c.pointee.entry),
      content: try reader.optional("content", c.pointee.content))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ShownEntry>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.entry = try writer.message("entry", entry)
    c.pointee.content = try writer.message("content", optional: content)
  }
}

/// The entries of a widget.
public struct GetTimelineResponse: Hashable, Sendable {
  public var entries: [ShownEntry]
  /// Whether there are more after these.
  public var more: Bool
  /// nil for a widget without a stored timeline.
  public var policy: Timeline.Policy?
  /// nil if the widget has neither a timeline nor a schedule.
  public var status: TimelineStatus?
  /// Whether the kind's schedule makes the entries.
  public var scheduled: Bool
  public var revision: Revision

  public init(
    entries: [ShownEntry] = [], more: Bool = false, policy: Timeline.Policy? = nil,
    status: TimelineStatus? = nil, scheduled: Bool = false, revision: Revision = 0
  ) {
    self.entries = entries
    self.more = more
    self.policy = policy
    self.status = status
    self.scheduled = scheduled
    self.revision = revision
  }
}

extension GetTimelineResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetTimelineResponse>, _ reader: Reader) throws(WireError) {
    self.init(
      entries: try reader.list("entries", c.pointee.n_entries, c.pointee.entries) {
        (element) throws(WireError) in
        try ShownEntry(c: element, reader)
      },
      more: c.pointee.more != 0, policy: Timeline.Policy(number: c.pointee.policy.rawValue),
      status: try reader.optional("status", c.pointee.status),
      scheduled: c.pointee.scheduled != 0, revision: c.pointee.revision)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetTimelineResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_entries = entries.count
    c.pointee.entries = try writer.list("entries", entries)
    c.pointee.more = more ? 1 : 0
    c.pointee.policy = Widgetd__V1__TimelinePolicy(rawValue: UInt32(policy?.rawValue ?? 0))
    c.pointee.status = try writer.message("status", optional: status)
    c.pointee.scheduled = scheduled ? 1 : 0
    c.pointee.revision = revision
  }
}

/// Asks for the preview of a kind.
public struct GetPlaceholderRequest: Hashable, Sendable {
  public var kind: KindName
  /// nil: as for a new widget.
  public var family: Family?

  public init(kind: KindName, family: Family? = nil) {
    self.kind = kind
    self.family = family
  }
}

extension GetPlaceholderRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetPlaceholderRequest>, _ reader: Reader) throws(WireError) {
    self.init(
      kind: try reader.kind("kind", c.pointee.kind),
      family: try reader.family("family", c.pointee.family))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetPlaceholderRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.kind = try writer.string("kind", kind.rawValue)
    if let family { c.pointee.family = Widgetd__V1__Family(family) }
  }
}

/// The preview of a kind.
public struct GetPlaceholderResponse: Hashable, Sendable {
  public var preview: Preview

  public init(preview: Preview) { self.preview = preview }
}

extension GetPlaceholderResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetPlaceholderResponse>, _ reader: Reader) throws(WireError) {
    preview = try reader.required("preview", c.pointee.preview)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetPlaceholderResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.preview = try writer.message("preview", preview)
  }
}

/// Asks for the current preview of an instance of a kind.
public struct GetSnapshotRequest: Hashable, Sendable {
  public var kind: KindName
  /// nil: as for a new widget.
  public var family: Family?
  public var parameters: ValueMap

  public init(kind: KindName, family: Family? = nil, parameters: ValueMap = [:]) {
    self.kind = kind
    self.family = family
    self.parameters = parameters
  }
}

extension GetSnapshotRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetSnapshotRequest>, _ reader: Reader) throws(WireError) {
    self.init(
      kind: try reader.kind("kind", c.pointee.kind),
      family: try reader.family("family", c.pointee.family),
      parameters: try reader.values("parameters", c.pointee.n_parameters, c.pointee.parameters))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetSnapshotRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.kind = try writer.string("kind", kind.rawValue)
    if let family { c.pointee.family = Widgetd__V1__Family(family) }
    c.pointee.n_parameters = parameters.count
    c.pointee.parameters = try writer.entries(
      "parameters", parameters, of: Widgetd__V1__GetSnapshotRequest__ParametersEntry.self)
  }
}

/// The current preview of an instance of a kind.
public struct GetSnapshotResponse: Hashable, Sendable {
  public var preview: Preview

  public init(preview: Preview) { self.preview = preview }
}

extension GetSnapshotResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetSnapshotResponse>, _ reader: Reader) throws(WireError) {
    preview = try reader.required("preview", c.pointee.preview)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetSnapshotResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.preview = try writer.message("preview", preview)
  }
}

extension Preview: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Preview>, _ reader: Reader) throws(WireError) {
    self.init(
      kind: try reader.kind("kind", c.pointee.kind),
      family: Family(number: c.pointee.family.rawValue) ?? .medium,
      parameters: try reader.values("parameters", c.pointee.n_parameters, c.pointee.parameters),
      data: try reader.values("data", c.pointee.n_data, c.pointee.data),
      content: try reader.optional("content", c.pointee.content),
      isSample: c.pointee.sample != 0, reason: reader.string(c.pointee.reason))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Preview>, _ writer: Writer) throws(WireError) {
    c.pointee.kind = try writer.string("kind", kind.rawValue)
    c.pointee.family = Widgetd__V1__Family(family)
    c.pointee.n_parameters = parameters.count
    c.pointee.parameters = try writer.entries(
      "parameters", parameters, of: Widgetd__V1__Preview__ParametersEntry.self)
    c.pointee.n_data = data.count
    c.pointee.data = try writer.entries("data", data, of: Widgetd__V1__Preview__DataEntry.self)
    c.pointee.content = try writer.message("content", optional: content)
    c.pointee.sample = isSample ? 1 : 0
    c.pointee.reason = try writer.string("reason", reason)
  }
}
