/// An occurrence on a widget. It is not state: it is delivered at most once on a live stream, in
/// order of `sequence`.
public struct Event: Hashable, Sendable {
  /// The place in the order of all events; strictly increasing, never reused.
  public var sequence: UInt64
  public var widgetID: WidgetID
  /// The part of the widget with the event; empty for the widget as a whole.
  public var nodeID: String
  /// The name: "click", "submit", …
  public var name: String
  public var payload: ValueMap
  /// The time of its acceptance.
  public var time: Timestamp
  /// The store's revision at its acceptance. The effects of the event come later.
  public var revision: Revision
  public var origin: EventOrigin
  /// The event was sent to a hidden or disabled widget on purpose.
  public var isForced: Bool
  /// The sender waits until the effects of the event are complete.
  public var wantsOutcome: Bool

  public init(
    sequence: UInt64, widgetID: WidgetID, nodeID: String = "", name: String,
    payload: ValueMap = [:], time: Timestamp = .epoch, revision: Revision = 0,
    origin: EventOrigin = EventOrigin(), isForced: Bool = false,
    wantsOutcome: Bool = false
  ) {
    self.sequence = sequence
    self.widgetID = widgetID
    self.nodeID = nodeID
    self.name = name
    self.payload = payload
    self.time = time
    self.revision = revision
    self.origin = origin
    self.isForced = isForced
    self.wantsOutcome = wantsOutcome
  }
}

/// The sender of an event. The kernel vouches for the first two values. The sender chooses the
/// last.
public struct EventOrigin: Hashable, Sendable {
  public var uid: UInt32
  /// 0 if unknown.
  public var pid: UInt32
  public var client: String

  public init(uid: UInt32 = 0, pid: UInt32 = 0, client: String = "") {
    self.uid = uid
    self.pid = pid
    self.client = client
  }
}
