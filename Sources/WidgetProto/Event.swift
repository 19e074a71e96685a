import CWidgetProto
public import WidgetModel

// widgetd.v1.Event and EventOrigin, and the frames that carry events.

extension Event: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Event>, _ reader: Reader) throws(WireError) {
    self.init(
      sequence: c.pointee.sequence,
      widgetID: try reader.widgetID("widget_id", c.pointee.widget_id),
      nodeID: reader.string(c.pointee.node_id),
      name: reader.string(c.pointee.name),
      payload: try reader.values("payload", c.pointee.n_payload, c.pointee.payload),
      time: try reader.timestamp("time", c.pointee.time) ?? .epoch,
      revision: c.pointee.revision,
      origin: try reader.optional("origin", c.pointee.origin) ?? EventOrigin(),
      isForced: c.pointee.forced != 0, wantsOutcome: c.pointee.wants_outcome != 0)
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Event>, _ writer: Writer) throws(WireError) {
    c.pointee.sequence = sequence
    c.pointee.widget_id = try writer.string("widget_id", widgetID.rawValue)
    c.pointee.node_id = try writer.string("node_id", nodeID)
    c.pointee.name = try writer.string("name", name)
    c.pointee.n_payload = payload.count
    c.pointee.payload = try writer.entries(
      "payload", payload, of: Widgetd__V1__Event__PayloadEntry.self)
    c.pointee.time = try writer.timestamp(time)
    c.pointee.revision = revision
    c.pointee.origin = try writer.message("origin", origin)
    c.pointee.forced = isForced ? 1 : 0
    c.pointee.wants_outcome = wantsOutcome ? 1 : 0
  }
}

extension EventOrigin: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__EventOrigin>, _ reader: Reader) {
    self.init(
      uid: c.pointee.uid, pid: c.pointee.pid, client: reader.string(c.pointee.client))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__EventOrigin>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.uid = uid
    c.pointee.pid = pid
    c.pointee.client = try writer.string("client", client)
  }
}

/// Events in order of their sequence numbers; at least one.
public struct EventBatch: Hashable, Sendable {
  public var events: [Event]

  public init(events: [Event] = []) {
    self.events = events
  }
}

extension EventBatch: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__EventBatch>, _ reader: Reader) throws(WireError) {
    events = try reader.list("events", c.pointee.n_events, c.pointee.events) {
      (element) throws(WireError) in
      try Event(c: element, reader)
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__EventBatch>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_events = events.count
    c.pointee.events = try writer.list("events", events)
  }
}

/// Events that a stream will never get: all numbers from the first to the last, both included.
public struct EventGap: Hashable, Sendable {
  public var firstSequence: UInt64
  public var lastSequence: UInt64

  public init(firstSequence: UInt64 = 0, lastSequence: UInt64 = 0) {
    self.firstSequence = firstSequence
    self.lastSequence = lastSequence
  }
}

extension EventGap: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__EventGap>, _ reader: Reader) {
    firstSequence = c.pointee.first_sequence
    lastSequence = c.pointee.last_sequence
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__EventGap>, _ writer: Writer) {
    c.pointee.first_sequence = firstSequence
    c.pointee.last_sequence = lastSequence
  }
}
