import CWidgetProto
public import WidgetModel

// The frames of WatchWidgets and WatchEvents. Readers are lenient: a client must survive a newer
// daemon, so a frame or a change of an unknown kind is `.unknown` or left out, never an error.

/// One frame of WatchWidgets.
public enum WatchWidgetsResponse: Hashable, Sendable {
  case opened(WatchOpened)
  case snapshot(SnapshotChunk)
  case synced(WatchSynced)
  case changes(ChangeSet)
  case events(EventBatch)
  case gap(EventGap)
  case progress(WatchProgress)
  case theme(ThemeState)
  case upcoming(WatchUpcoming)
  case store(WatchStore)
  /// A frame of a kind that this version does not know. Skip it.
  case unknown
}

extension WatchWidgetsResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WatchWidgetsResponse>, _ reader: Reader) throws(WireError) {
    switch c.pointee.frame_case {
    case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_OPENED:
      self = .opened(try reader.required("opened", c.pointee.opened))
    case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SNAPSHOT:
      self = .snapshot(try reader.required("snapshot", c.pointee.snapshot))
    case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED:
      self = .synced(try reader.required("synced", c.pointee.synced))
    case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_CHANGES:
      self = .changes(try reader.required("changes", c.pointee.changes))
    case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_EVENTS:
      self = .events(try reader.required("events", c.pointee.events))
    case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_GAP:
      self = .gap(try reader.required("gap", c.pointee.gap))
    case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_PROGRESS:
      self = .progress(try reader.required("progress", c.pointee.progress))
    case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_THEME:
      self = .theme(try reader.required("theme", c.pointee.theme))
    case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_UPCOMING:
      self = .upcoming(try reader.required("upcoming", c.pointee.upcoming))
    case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_STORE:
      self = .store(try reader.required("store", c.pointee.store))
    default: self = .unknown
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WatchWidgetsResponse>, _ writer: Writer
  ) throws(WireError) {
    switch self {
    case .opened(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_OPENED
      c.pointee.opened = try writer.message("opened", frame)
    case .snapshot(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SNAPSHOT
      c.pointee.snapshot = try writer.message("snapshot", frame)
    case .synced(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED
      c.pointee.synced = try writer.message("synced", frame)
    case .changes(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_CHANGES
      c.pointee.changes = try writer.message("changes", frame)
    case .events(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_EVENTS
      c.pointee.events = try writer.message("events", frame)
    case .gap(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_GAP
      c.pointee.gap = try writer.message("gap", frame)
    case .progress(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_PROGRESS
      c.pointee.progress = try writer.message("progress", frame)
    case .theme(let theme):
      c.pointee.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_THEME
      c.pointee.theme = try writer.message("theme", theme)
    case .upcoming(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_UPCOMING
      c.pointee.upcoming = try writer.message("upcoming", frame)
    case .store(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_STORE
      c.pointee.store = try writer.message("store", frame)
    case .unknown: break
    }
  }
}

/// One frame of WatchEvents.
public enum WatchEventsResponse: Hashable, Sendable {
  case opened(WatchEventsOpened)
  case events(EventBatch)
  case gap(EventGap)
  /// A frame of a kind that this version does not know. Skip it.
  case unknown
}

extension WatchEventsResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WatchEventsResponse>, _ reader: Reader) throws(WireError) {
    switch c.pointee.frame_case {
    case WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_OPENED:
      self = .opened(try reader.required("opened", c.pointee.opened))
    case WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_EVENTS:
      self = .events(try reader.required("events", c.pointee.events))
    case WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_GAP:
      self = .gap(try reader.required("gap", c.pointee.gap))
    default: self = .unknown
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WatchEventsResponse>, _ writer: Writer
  ) throws(WireError) {
    switch self {
    case .opened(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_OPENED
      c.pointee.opened = try writer.message("opened", frame)
    case .events(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_EVENTS
      c.pointee.events = try writer.message("events", frame)
    case .gap(let frame):
      c.pointee.frame_case = WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_GAP
      c.pointee.gap = try writer.message("gap", frame)
    case .unknown: break
    }
  }
}

/// The first frame of a stream.
public struct WatchOpened: Hashable, Sendable {
  /// The id of the stream, for Unsubscribe and RequestProgress.
  public var subscriptionID: UInt64
  /// Revisions compare only within an epoch.
  public var epoch: UInt64
  /// The revision at which the stream was opened.
  public var revision: Revision
  /// Events after this one will be sent, if the stream includes events.
  public var lastSequence: UInt64

  public init(
    subscriptionID: UInt64 = 0, epoch: UInt64 = 0, revision: Revision = 0, lastSequence: UInt64 = 0
  ) {
    self.subscriptionID = subscriptionID
    self.epoch = epoch
    self.revision = revision
    self.lastSequence = lastSequence
  }
}

extension WatchOpened: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WatchOpened>, _ reader: Reader) {
    subscriptionID = c.pointee.subscription_id
    epoch = c.pointee.epoch
    revision = c.pointee.revision
    lastSequence = c.pointee.last_sequence
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__WatchOpened>, _ writer: Writer) {
    c.pointee.subscription_id = subscriptionID
    c.pointee.epoch = epoch
    c.pointee.revision = revision
    c.pointee.last_sequence = lastSequence
  }
}

/// The snapshot is complete.
public struct WatchSynced: Hashable, Sendable {
  /// The state that was sent is complete at exactly this revision.
  public var revision: Revision
  /// To continue from here.
  public var resumeToken: [UInt8]

  public init(revision: Revision = 0, resumeToken: [UInt8] = []) {
    self.revision = revision
    self.resumeToken = resumeToken
  }
}

extension WatchSynced: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WatchSynced>, _ reader: Reader) {
    revision = c.pointee.revision
    resumeToken = reader.bytes(c.pointee.resume_token)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WatchSynced>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.revision = revision
    c.pointee.resume_token = try writer.bytes(resumeToken)
  }
}

/// Nothing changed up to this revision.
public struct WatchProgress: Hashable, Sendable {
  /// All changes up to this revision were sent.
  public var revision: Revision
  /// To continue from here.
  public var resumeToken: [UInt8]
  /// All of the selected events up to this one were sent, if the stream has events.
  public var lastSequence: UInt64

  public init(revision: Revision = 0, resumeToken: [UInt8] = [], lastSequence: UInt64 = 0) {
    self.revision = revision
    self.resumeToken = resumeToken
    self.lastSequence = lastSequence
  }
}

extension WatchProgress: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WatchProgress>, _ reader: Reader) {
    revision = c.pointee.revision
    resumeToken = reader.bytes(c.pointee.resume_token)
    lastSequence = c.pointee.last_sequence
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WatchProgress>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.revision = revision
    c.pointee.resume_token = try writer.bytes(resumeToken)
    c.pointee.last_sequence = lastSequence
  }
}

/// The first frame of a stream of events.
public struct WatchEventsOpened: Hashable, Sendable {
  /// The id of the stream, for Unsubscribe.
  public var subscriptionID: UInt64
  /// Events after this one will be sent.
  public var afterSequence: UInt64
  /// Sequence numbers compare only within an epoch.
  public var epoch: UInt64

  public init(subscriptionID: UInt64 = 0, afterSequence: UInt64 = 0, epoch: UInt64 = 0) {
    self.subscriptionID = subscriptionID
    self.afterSequence = afterSequence
    self.epoch = epoch
  }
}

extension WatchEventsOpened: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WatchEventsOpened>, _ reader: Reader) {
    subscriptionID = c.pointee.subscription_id
    afterSequence = c.pointee.after_sequence
    epoch = c.pointee.epoch
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__WatchEventsOpened>, _ writer: Writer) {
    c.pointee.subscription_id = subscriptionID
    c.pointee.after_sequence = afterSequence
    c.pointee.epoch = epoch
  }
}
