import CWidgetProto

// The state that a stopping daemon hands over to its successor: widgetd/storage/v1/handover.proto.

/// The facts that all handed connections share.
public struct Handover: Hashable, Sendable {
  /// The form that this version writes and reads.
  public static let currentFormat: UInt32 = 1

  public var format: UInt32
  /// The epoch of the cursors.
  public var epoch: UInt64
  public var revision: UInt64
  public var lastSubscriptionID: UInt64
  public var connectionCount: UInt32
  /// The last event's sequence number.
  public var lastSequence: UInt64

  public init(
    format: UInt32 = Handover.currentFormat, epoch: UInt64 = 0, revision: UInt64 = 0,
    lastSubscriptionID: UInt64 = 0, connectionCount: UInt32 = 0, lastSequence: UInt64 = 0
  ) {
    self.format = format
    self.epoch = epoch
    self.revision = revision
    self.lastSubscriptionID = lastSubscriptionID
    self.connectionCount = connectionCount
    self.lastSequence = lastSequence
  }
}

extension Handover: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__Storage__V1__Handover>, _ reader: Reader) {
    format = c.pointee.format
    epoch = c.pointee.epoch
    revision = c.pointee.revision
    lastSubscriptionID = c.pointee.last_subscription_id
    connectionCount = c.pointee.connection_count
    lastSequence = c.pointee.last_sequence
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__Storage__V1__Handover>, _ writer: Writer) {
    c.pointee.format = format
    c.pointee.epoch = epoch
    c.pointee.revision = revision
    c.pointee.last_subscription_id = lastSubscriptionID
    c.pointee.connection_count = connectionCount
    c.pointee.last_sequence = lastSequence
  }
}

/// A connection that is handed over, without its descriptor.
public struct HandedConnection: Hashable, Sendable {
  /// The name under which its descriptor is stored.
  public var name: String
  /// Whether nothing was read yet, so that its protocol is unknown.
  public var isUndecided: Bool
  /// The highest stream id that the client used.
  public var lastStreamID: UInt32
  /// Bytes that were read and not parsed.
  public var received: [UInt8]
  /// The number of bytes to drop that have not arrived yet.
  public var discardBytes: UInt32
  /// Bytes that were sent and not accepted by the kernel.
  public var unsent: [UInt8]
  public var streams: [HandedStream]

  public init(
    name: String = "", isUndecided: Bool = false, lastStreamID: UInt32 = 0,
    received: [UInt8] = [], discardBytes: UInt32 = 0, unsent: [UInt8] = [],
    streams: [HandedStream] = []
  ) {
    self.name = name
    self.isUndecided = isUndecided
    self.lastStreamID = lastStreamID
    self.received = received
    self.discardBytes = discardBytes
    self.unsent = unsent
    self.streams = streams
  }
}

extension HandedConnection: ConvertibleMessage {
  init(
    c: UnsafePointer<Widgetd__Storage__V1__HandedConnection>, _ reader: Reader
  ) throws(WireError) {
    name = reader.string(c.pointee.name)
    isUndecided = c.pointee.undecided != 0
    lastStreamID = c.pointee.last_stream_id
    received = reader.bytes(c.pointee.received)
    discardBytes = c.pointee.discard_bytes
    unsent = reader.bytes(c.pointee.unsent)
    streams = try reader.list("streams", c.pointee.n_streams, c.pointee.streams) {
      (element) throws(WireError) in try HandedStream(c: element, reader)
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__Storage__V1__HandedConnection>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.name = try writer.string("name", name)
    c.pointee.undecided = isUndecided ? 1 : 0
    c.pointee.last_stream_id = lastStreamID
    c.pointee.received = try writer.bytes(received)
    c.pointee.discard_bytes = discardBytes
    c.pointee.unsent = try writer.bytes(unsent)
    c.pointee.n_streams = streams.count
    c.pointee.streams = try writer.list("streams", streams)
  }
}

/// An open stream that is handed over.
public struct HandedStream: Hashable, Sendable {
  /// The request that started the stream.
  public enum Request: Hashable, Sendable {
    case widgets(WatchWidgetsRequest)
    case events(WatchEventsRequest)
    case health(HealthCheckRequest)
  }

  public var streamID: UInt32
  /// nil for one that this version does not know.
  public var request: Request?
  public var subscriptionID: UInt64
  /// The time until its deadline; 0 for none.
  public var timeoutNanoseconds: Int64
  /// The reader has everything up to this revision.
  public var cursor: UInt64
  /// The reader has everything up to this event.
  public var eventCursor: UInt64
  public var transfer: HandedTransfer?
  public var wantsProgress: Bool
  /// Whether the reader was not told yet that the store takes changes again, or takes none. In a
  /// stream of a service's health: whether the reader was not told that the service is serving.
  public var lacksStore: Bool

  public init(
    streamID: UInt32 = 0, request: Request? = nil, subscriptionID: UInt64 = 0,
    timeoutNanoseconds: Int64 = 0, cursor: UInt64 = 0, eventCursor: UInt64 = 0,
    transfer: HandedTransfer? = nil, wantsProgress: Bool = false, lacksStore: Bool = false
  ) {
    self.streamID = streamID
    self.request = request
    self.subscriptionID = subscriptionID
    self.timeoutNanoseconds = timeoutNanoseconds
    self.cursor = cursor
    self.eventCursor = eventCursor
    self.transfer = transfer
    self.wantsProgress = wantsProgress
    self.lacksStore = lacksStore
  }
}

extension HandedStream: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__Storage__V1__HandedStream>, _ reader: Reader) throws(WireError) {
    streamID = c.pointee.stream_id
    request =
      switch c.pointee.request_case {
      case WIDGETD__STORAGE__V1__HANDED_STREAM__REQUEST_WATCH_WIDGETS:
        .widgets(try reader.required("watch_widgets", c.pointee.watch_widgets))
      case WIDGETD__STORAGE__V1__HANDED_STREAM__REQUEST_WATCH_EVENTS:
        .events(try reader.required("watch_events", c.pointee.watch_events))
      case WIDGETD__STORAGE__V1__HANDED_STREAM__REQUEST_WATCH_HEALTH:
        .health(try reader.required("watch_health", c.pointee.watch_health))
      default: nil
      }
    subscriptionID = c.pointee.subscription_id
    timeoutNanoseconds = c.pointee.timeout_nano
    cursor = c.pointee.cursor
    eventCursor = c.pointee.event_cursor
    transfer = try reader.optional("transfer", c.pointee.transfer)
    wantsProgress = c.pointee.wants_progress != 0
    lacksStore = c.pointee.lacks_store != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__Storage__V1__HandedStream>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.stream_id = streamID
    switch request {
    case .widgets(let request):
      c.pointee.request_case = WIDGETD__STORAGE__V1__HANDED_STREAM__REQUEST_WATCH_WIDGETS
      c.pointee.watch_widgets = try writer.message("watch_widgets", request)
    case .events(let request):
      c.pointee.request_case = WIDGETD__STORAGE__V1__HANDED_STREAM__REQUEST_WATCH_EVENTS
      c.pointee.watch_events = try writer.message("watch_events", request)
    case .health(let request):
      c.pointee.request_case = WIDGETD__STORAGE__V1__HANDED_STREAM__REQUEST_WATCH_HEALTH
      c.pointee.watch_health = try writer.message("watch_health", request)
    case nil: break
    }
    c.pointee.subscription_id = subscriptionID
    c.pointee.timeout_nano = timeoutNanoseconds
    c.pointee.cursor = cursor
    c.pointee.event_cursor = eventCursor
    c.pointee.wants_progress = wantsProgress ? 1 : 0
    c.pointee.lacks_store = lacksStore ? 1 : 0
    if let transfer { c.pointee.transfer = try writer.message("transfer", transfer) }
  }
}

/// A transfer that is under way.
public struct HandedTransfer: Hashable, Sendable {
  /// Whether it is a snapshot, so that the reader needs all widgets.
  public var isSnapshot: Bool
  /// The revision at which it began.
  public var startedRevision: UInt64

  public init(isSnapshot: Bool = false, startedRevision: UInt64 = 0) {
    self.isSnapshot = isSnapshot
    self.startedRevision = startedRevision
  }
}

extension HandedTransfer: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__Storage__V1__HandedTransfer>, _ reader: Reader) {
    isSnapshot = c.pointee.snapshot != 0
    startedRevision = c.pointee.started_revision
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__Storage__V1__HandedTransfer>, _ writer: Writer) {
    c.pointee.snapshot = isSnapshot ? 1 : 0
    c.pointee.started_revision = startedRevision
  }
}
