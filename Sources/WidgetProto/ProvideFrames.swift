import CWidgetProto
public import WidgetModel

// The frames of the daemon to a provider. Readers are lenient, because a provider must survive a
// newer daemon: a frame of an unknown kind is `.unknown`, never an error.

/// One frame of the daemon.
public enum ProvideResponse: Hashable, Sendable {
  case opened(ProvideOpened)
  case result(ProvideResult)
  case event(Event)
  case gap(EventGap)
  case dataRequest(DataRequest)
  case removed(ProvidedRemoval)
  case synced(ProvideSynced)
  case keepAlive
  case kindsRemoved(ProvidedKindRemoval)
  case bundleRequest(ProvideBundleRequest)
  case audience(ProvideAudience)
  case snapshotRequest(SnapshotRequest)
  /// A frame of a kind that this version does not know. Skip it.
  case unknown
}

extension ProvideResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideResponse>, _ reader: Reader) throws(WireError) {
    switch c.pointee.frame_case {
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_OPENED:
      self = .opened(try reader.required("opened", c.pointee.opened))
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_RESULT:
      self = .result(try reader.required("result", c.pointee.result))
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_EVENT:
      self = .event(try reader.required("event", c.pointee.event))
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_GAP:
      self = .gap(try reader.required("gap", c.pointee.gap))
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_DATA_REQUEST:
      self = .dataRequest(try reader.required("data_request", c.pointee.data_request))
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_REMOVED:
      self = .removed(try reader.required("removed", c.pointee.removed))
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_SYNCED:
      self = .synced(try reader.required("synced", c.pointee.synced))
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_KEEP_ALIVE: self = .keepAlive
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_KINDS_REMOVED:
      self = .kindsRemoved(try reader.required("kinds_removed", c.pointee.kinds_removed))
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_BUNDLE_REQUEST:
      self = .bundleRequest(try reader.required("bundle_request", c.pointee.bundle_request))
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_AUDIENCE:
      self = .audience(try reader.required("audience", c.pointee.audience))
    case WIDGETD__V1__PROVIDE_RESPONSE__FRAME_SNAPSHOT_REQUEST:
      self = .snapshotRequest(try reader.required("snapshot_request", c.pointee.snapshot_request))
    default: self = .unknown
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideResponse>, _ writer: Writer
  ) throws(WireError) {
    switch self {
    case .opened(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_OPENED
      c.pointee.opened = try writer.message("opened", frame)
    case .result(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_RESULT
      c.pointee.result = try writer.message("result", frame)
    case .event(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_EVENT
      c.pointee.event = try writer.message("event", frame)
    case .gap(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_GAP
      c.pointee.gap = try writer.message("gap", frame)
    case .dataRequest(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_DATA_REQUEST
      c.pointee.data_request = try writer.message("data_request", frame)
    case .removed(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_REMOVED
      c.pointee.removed = try writer.message("removed", frame)
    case .synced(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_SYNCED
      c.pointee.synced = try writer.message("synced", frame)
    case .keepAlive:
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_KEEP_ALIVE
      c.pointee.keep_alive = try writer.message("keep_alive", ProvideKeepAlive())
    case .kindsRemoved(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_KINDS_REMOVED
      c.pointee.kinds_removed = try writer.message("kinds_removed", frame)
    case .bundleRequest(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_BUNDLE_REQUEST
      c.pointee.bundle_request = try writer.message("bundle_request", frame)
    case .audience(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_AUDIENCE
      c.pointee.audience = try writer.message("audience", frame)
    case .snapshotRequest(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_SNAPSHOT_REQUEST
      c.pointee.snapshot_request = try writer.message("snapshot_request", frame)
    case .unknown: break
    }
  }
}

/// The first frame of a session.
public struct ProvideOpened: Hashable, Sendable {
  /// The id of the session, for Unsubscribe.
  public var sessionID: UInt64
  /// Revisions and sequence numbers compare only within an epoch.
  public var epoch: UInt64
  public var revision: Revision
  /// The lease: the maximum time without a frame of the provider.
  public var lease: Duration
  /// Events from this one on will be sent.
  public var firstSequence: UInt64
  /// Whether the daemon reports which widgets are watched.
  public var includesAudience: Bool

  public init(
    sessionID: UInt64 = 0, epoch: UInt64 = 0, revision: Revision = 0, lease: Duration = .zero,
    firstSequence: UInt64 = 0, includesAudience: Bool = false
  ) {
    self.includesAudience = includesAudience
    self.sessionID = sessionID
    self.epoch = epoch
    self.revision = revision
    self.lease = lease
    self.firstSequence = firstSequence
  }
}

extension ProvideOpened: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideOpened>, _ reader: Reader) throws(WireError) {
    sessionID = c.pointee.session_id
    epoch = c.pointee.epoch
    revision = c.pointee.revision
    lease = try reader.duration("lease", c.pointee.lease) ?? .zero
    firstSequence = c.pointee.first_sequence
    includesAudience = c.pointee.includes_audience != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideOpened>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.session_id = sessionID
    c.pointee.epoch = epoch
    c.pointee.revision = revision
    c.pointee.lease = try writer.duration("lease", lease)
    c.pointee.first_sequence = firstSequence
    c.pointee.includes_audience = includesAudience ? 1 : 0
  }
}

/// The outcome of a provider's frame.
public struct ProvideResult: Hashable, Sendable {
  /// The frame's id.
  public var id: UInt64
  /// The error, if the frame had no effect; nil on success.
  public var error: RPCStatus?
  public var revision: Revision
  /// The outcome of each declared kind.
  public var kinds: [KindResult]

  public init(
    id: UInt64 = 0, error: RPCStatus? = nil, revision: Revision = 0, kinds: [KindResult] = []
  ) {
    self.id = id
    self.error = error
    self.revision = revision
    self.kinds = kinds
  }
}

extension ProvideResult: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideResult>, _ reader: Reader) throws(WireError) {
    id = c.pointee.id
    error = try reader.optional("error", c.pointee.error, as: ProvideError.self)?.status
    revision = c.pointee.revision
    kinds = try reader.list("kinds", c.pointee.n_kinds, c.pointee.kinds) {
      (element) throws(WireError) in
      try KindResult(c: element, reader)
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideResult>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = id
    c.pointee.error = try writer.message("error", optional: error.map(ProvideError.init))
    c.pointee.revision = revision
    c.pointee.n_kinds = kinds.count
    c.pointee.kinds = try writer.list("kinds", kinds)
  }
}

/// A status as a separate message. It has only the first of the wrong fields.
public struct ProvideError: Hashable, Sendable {
  public var status: RPCStatus

  public init(_ status: RPCStatus) { self.status = status }
}

extension ProvideError: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideError>, _ reader: Reader) throws(WireError) {
    status = RPCStatus(
      code: StatusCode(rawValue: c.pointee.code) ?? .unknown,
      message: reader.string(c.pointee.message),
      errorInfo: ErrorInfo(
        reason: reader.string(c.pointee.reason),
        metadata: reader.dictionary(c.pointee.n_metadata, c.pointee.metadata)),
      retryDelay: try reader.duration("retry_delay", c.pointee.retry_delay))
    let field = reader.string(c.pointee.field)
    if !field.isEmpty {
      let prefix = "\(field): "
      let words = status.message
      status.fieldViolations = [
        FieldViolation(
          field: field,
          description: words.hasPrefix(prefix) ? String(words.dropFirst(prefix.count)) : words)
      ]
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideError>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.code = status.code.rawValue
    c.pointee.reason = try writer.string("reason", status.errorInfo?.reason ?? "")
    c.pointee.message = try writer.string("message", status.message)
    let metadata = status.errorInfo?.metadata ?? [:]
    c.pointee.n_metadata = metadata.count
    c.pointee.metadata = try writer.entries(
      "metadata", metadata, of: Widgetd__V1__ProvideError__MetadataEntry.self)
    c.pointee.field = try writer.string("field", status.fieldViolations.first?.field ?? "")
    c.pointee.retry_delay = try writer.duration("retry_delay", optional: status.retryDelay)
  }
}

/// Asks for a widget's data.
public struct DataRequest: Hashable, Sendable {
  /// The number of the request, for the answer.
  public var id: UInt64
  /// The present widget.
  public var widget: Widget
  public var reason: DataRequestReason

  public init(id: UInt64, widget: Widget, reason: DataRequestReason) {
    self.id = id
    self.widget = widget
    self.reason = reason
  }
}

extension DataRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DataRequest>, _ reader: Reader) throws(WireError) {
    id = c.pointee.id
    widget = try reader.required("widget", c.pointee.widget)
    reason = DataRequestReason(number: c.pointee.reason.rawValue) ?? .unspecified
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__DataRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = id
    c.pointee.widget = try writer.message("widget", widget)
    c.pointee.reason = Widgetd__V1__DataRequestReason(rawValue: UInt32(reason.rawValue))
  }
}

/// Widgets were removed.
public struct ProvidedRemoval: Hashable, Sendable {
  public var widgetIDs: [WidgetID]

  public init(widgetIDs: [WidgetID] = []) { self.widgetIDs = widgetIDs }
}

extension ProvidedRemoval: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvidedRemoval>, _ reader: Reader) throws(WireError) {
    widgetIDs = try reader.widgetIDs("widget_ids", c.pointee.n_widget_ids, c.pointee.widget_ids)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvidedRemoval>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_widget_ids = widgetIDs.count
    c.pointee.widget_ids = try writer.strings("widget_ids", widgetIDs)
  }
}

/// Kinds of the provider were removed.
public struct ProvidedKindRemoval: Hashable, Sendable {
  public var kinds: [KindName]

  public init(kinds: [KindName] = []) { self.kinds = kinds }
}

extension ProvidedKindRemoval: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvidedKindRemoval>, _ reader: Reader) throws(WireError) {
    kinds = try reader.kindNames("kinds", c.pointee.n_kinds, c.pointee.kinds)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvidedKindRemoval>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_kinds = kinds.count
    c.pointee.kinds = try writer.strings("kinds", kinds)
  }
}

/// The daemon has sent a data request for every widget.
public struct ProvideSynced: Hashable, Sendable {
  public var revision: Revision

  public init(revision: Revision = 0) { self.revision = revision }
}

extension ProvideSynced: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideSynced>, _ reader: Reader) {
    revision = c.pointee.revision
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__ProvideSynced>, _ writer: Writer) {
    c.pointee.revision = revision
  }
}

/// The watched widgets: the first frame of a session has all of them, later ones are differences.
public struct ProvideAudience: Hashable, Sendable {
  /// Widgets that became watched.
  public var attached: [WidgetID]
  /// Widgets that have lost their last watcher.
  public var detached: [WidgetID]

  public init(attached: [WidgetID] = [], detached: [WidgetID] = []) {
    self.attached = attached
    self.detached = detached
  }
}

extension ProvideAudience: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideAudience>, _ reader: Reader) throws(WireError) {
    attached = try reader.widgetIDs("attached", c.pointee.n_attached, c.pointee.attached)
    detached = try reader.widgetIDs("detached", c.pointee.n_detached, c.pointee.detached)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideAudience>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_attached = attached.count
    c.pointee.attached = try writer.strings("attached", attached)
    c.pointee.n_detached = detached.count
    c.pointee.detached = try writer.strings("detached", detached)
  }
}
