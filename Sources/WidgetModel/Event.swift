/// Something that happened to a widget. Not state: it is delivered at most once on a live stream,
/// in order of `sequence`.
public struct Event: Hashable, Sendable {
  /// Its place in the order of all events; strictly increasing, never reused.
  public var sequence: UInt64
  public var widgetID: WidgetID
  /// The part of the widget it happened to; empty for the widget as a whole.
  public var nodeID: String
  /// What happened: "click", "submit", …
  public var name: String
  public var payload: ValueMap
  /// When it was accepted.
  public var time: Timestamp
  /// The store's revision when it was accepted: its consequences come after.
  public var revision: Revision
  public var origin: EventOrigin
  /// It was sent past a hidden or disabled widget on purpose.
  public var isForced: Bool
  /// The sender waits until what follows from it has ended.
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

/// Who sent an event. The first two are the kernel's word, the last the sender's own.
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
