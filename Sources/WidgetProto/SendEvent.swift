import CWidgetProto
public import WidgetModel

// Events on their way in.

/// Asks to send an event to a widget.
public struct SendEventRequest: Hashable, Sendable {
  public var widgetID: WidgetID
  /// The part of it; empty for the widget as a whole.
  public var nodeID: String
  /// The event's name: 1 to 64 characters of an id's alphabet.
  public var name: String
  public var payload: ValueMap
  /// Send it even if the widget is hidden or disabled.
  public var force: Bool
  /// The sender's name for itself. At most 64 bytes.
  public var client: String
  /// See `CreateWidgetRequest.requestID`.
  public var requestID: String
  /// See `Event.wantsOutcome`.
  public var wantsOutcome: Bool

  public init(
    widgetID: WidgetID, nodeID: String = "", name: String = "", payload: ValueMap = [:],
    force: Bool = false, client: String = "", requestID: String = "",
    wantsOutcome: Bool = false
  ) {
    self.widgetID = widgetID
    self.nodeID = nodeID
    self.name = name
    self.payload = payload
    self.force = force
    self.client = client
    self.requestID = requestID
    self.wantsOutcome = wantsOutcome
  }
}

extension SendEventRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SendEventRequest>, _ reader: Reader) throws(WireError) {
    widgetID = try reader.widgetID("widget_id", c.pointee.widget_id)
    nodeID = reader.string(c.pointee.node_id)
    name = reader.string(c.pointee.name)
    guard name.isIdentifier(lengthMax: Event.nameLengthMax) else {
      throw .invalidField(path: "name", description: Reader.idRule(Event.nameLengthMax))
    }
    payload = try reader.values("payload", c.pointee.n_payload, c.pointee.payload)
    force = c.pointee.force != 0
    client = reader.string(c.pointee.client)
    guard client.utf8.count <= EventOrigin.clientBytesMax else {
      throw .invalidField(
        path: "client", description: "must be at most \(EventOrigin.clientBytesMax) bytes")
    }
    requestID = reader.string(c.pointee.request_id)
    wantsOutcome = c.pointee.wants_outcome != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__SendEventRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.widget_id = try writer.string("widget_id", widgetID.rawValue)
    c.pointee.node_id = try writer.string("node_id", nodeID)
    c.pointee.name = try writer.string("name", name)
    c.pointee.n_payload = payload.count
    c.pointee.payload = try writer.entries(
      "payload", payload, of: Widgetd__V1__SendEventRequest__PayloadEntry.self)
    c.pointee.force = force ? 1 : 0
    c.pointee.client = try writer.string("client", client)
    c.pointee.request_id = try writer.string("request_id", requestID)
    c.pointee.wants_outcome = wantsOutcome ? 1 : 0
  }
}

/// The result of SendEvent.
public struct SendEventResponse: Hashable, Sendable {
  /// The sequence number.
  public var sequence: UInt64
  /// The store's revision when it was accepted.
  public var revision: Revision

  public init(sequence: UInt64 = 0, revision: Revision = 0) {
    self.sequence = sequence
    self.revision = revision
  }
}

extension SendEventResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SendEventResponse>, _ reader: Reader) {
    sequence = c.pointee.sequence
    revision = c.pointee.revision
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__SendEventResponse>, _ writer: Writer) {
    c.pointee.sequence = sequence
    c.pointee.revision = revision
  }
}

extension Event {
  /// The maximum length of an event's name.
  static let nameLengthMax = 64
}

extension EventOrigin {
  /// The maximum length of a sender's name for itself.
  static let clientBytesMax = 64
}
