import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// One session of a provider: its name, its cursors in events and widgets, and pending requests.
///
/// A session has no queue of messages. Events are read from the store's ring when there is room for
/// them, and changes of widgets from the store. Each has a cursor. Data requests wait as widget
/// ids, each once. So a provider that does not read costs only a set of ids.
///
/// The result of a frame is sent at the end of its turn, when it is durable, and takes effect only
/// then. `outputs` and `effects` belong to the turn under way, and are dropped if its group is
/// rolled back.
///
/// Invariants: `isStarted` from the end of the turn that received `open`; `asked` and
/// `askedWidgets` are each other's inverse; every widget of `askAgain` is in `asked`. A widget is
/// in `queue` for every entry of `reasons`. A queued widget without a reason is skipped.
final class ServedSession {
  let id: UInt64
  let peer: Peer
  let sink: any StreamSink
  private unowned let providers: Providers
  /// The provider's name. Nil until `open`.
  var provider: String?
  /// Whether the session gets the calls about bundles.
  var managesBundles = false
  /// Whether the session gets snapshot requests.
  var answersSnapshots = false
  /// The maximum time without a message from the provider.
  var lease = ServedSession.leaseDefault
  var lastHeardAt = NIODeadline.now()
  var leaseWatch = LeaseWatch()
  var leaseTimer: Scheduled<Void>?
  var deadlineTimer: Scheduled<Void>?
  var deadline: NIODeadline?

  // The turn under way.
  var outputs: [Output] = []
  var effects: [Effect] = []
  /// Data requests that were answered in this turn.
  var answeredNow: Set<UInt64> = []
  var takesPart = false
  /// Set when the session ends with the turn. Later frames are ignored.
  var ending: Ending?

  // How far it is.
  var isStarted = false
  var isOver = false
  var kinds: Set<KindName> = []
  /// Everything up to this event has been processed.
  var eventCursor: UInt64 = 0
  /// Everything up to this event is dealt with.
  var acknowledged: UInt64 = 0
  /// Events and gaps that were sent and not acknowledged, in order of sequence numbers.
  var unacknowledged = CircularBuffer<Sent>()
  /// All changes of widgets up to this revision have been processed.
  var revisionCursor: Revision = 0
  var removals: [WidgetID] = []
  /// Removed kinds that the provider does not know of yet.
  var kindRemovals: Set<KindName> = []
  private(set) var queue = CircularBuffer<Pending>()
  private(set) var reasons: [WidgetID: DataRequestReason] = [:]
  private var lastRequestID: UInt64 = 0
  private(set) var asked: [WidgetID: Asked] = [:]
  private(set) var askedWidgets: [UInt64: WidgetID] = [:]
  /// Widgets whose refresh was requested while another request was pending.
  private var askAgain: [WidgetID: DataRequestReason] = [:]
  var owesKeepAlive = false
  /// The provider's knowledge of watched widgets. Nil if it did not set `include_audience`.
  var audience: Audience?
  /// The version of `WatchedWidgets.Share` that it was sent. Nil before the first frame.
  var toldVersion: UInt64?
  /// The number of the first pass that covers its widgets.
  var firstPass: UInt64 = 0
  /// Whether the first `synced` was sent.
  var hasSynced = false

  static let leaseDefault = Duration.seconds(15)
  static let leaseRange = Duration.seconds(1)...Duration.seconds(300)

  /// Output for the end of the turn, even if the socket has no room.
  enum Output {
    case opened
    case result(ProvideResult)
  }

  /// The effect of a frame, once it is durable.
  enum Effect {
    case acknowledged(UInt64)
    /// These widgets need not be asked about any more.
    case heard([WidgetID])
    /// The provider itself has removed these kinds, so `kinds_removed` does not name them.
    case gaveUp([KindName])
  }

  /// An event that was sent, or a gap.
  struct Sent {
    let first: UInt64
    let last: UInt64
    /// nil for a gap.
    let widgetID: WidgetID?
  }

  /// Output about widgets, in this order.
  enum Pending {
    case request(WidgetID)
    case synced
  }

  /// An open data request.
  struct Asked {
    let number: UInt64
    let sentAt: NIODeadline
  }

  struct Ending {
    let status: RPCStatus?
  }

  init(id: UInt64, peer: Peer, sink: any StreamSink, providers: Providers) {
    self.id = id
    self.peer = peer
    self.sink = sink
    self.providers = providers
  }

  /// The end of the lease, without another message.
  var leaseEnd: NIODeadline { lastHeardAt + .nanoseconds(lease.nanoseconds) }

  /// The event after which another session of this provider begins.
  var resumePoint: UInt64 {
    unacknowledged.first.map { $0.first - 1 } ?? max(acknowledged, eventCursor)
  }

  func acknowledge(_ sequence: UInt64) {
    while let first = unacknowledged.first, first.last <= sequence { unacknowledged.removeFirst() }
    acknowledged = max(acknowledged, sequence)
  }

  // MARK: - Data requests

  /// Puts a widget in line to be asked about, if it is not.
  func ask(about id: WidgetID, _ reason: DataRequestReason) {
    if let other = reasons[id] {
      reasons[id] = other.joined(with: reason)
    } else {
      reasons[id] = reason
      queue.append(.request(id))
    }
  }

  /// Queues a request for fresh data of a widget.
  ///
  /// A pending request stands, so that a slow provider can answer at all. The next request follows
  /// its answer. If there is not an answer within a lease, the request may be lost, and the next one is
  /// queued at once.
  func refresh(
    _ id: WidgetID, _ reason: DataRequestReason = .refresh, at instant: NIODeadline
  ) {
    if let open = asked[id], instant < open.sentAt + .nanoseconds(lease.nanoseconds) {
      askAgain[id] = askAgain[id].map { $0.joined(with: reason) } ?? reason
    } else {
      ask(about: id, reason)
    }
  }

  /// Lets the provider know when it has been asked about all that is in line now.
  func syncWhenAsked() { queue.append(.synced) }

  /// Takes the next in line out.
  func nextPending() -> (Pending, DataRequestReason)? {
    while let pending = queue.popFirst() {
      switch pending {
      case .synced: return (pending, .unspecified)
      case .request(let id):
        if let reason = reasons.removeValue(forKey: id) { return (pending, reason) }
      }
    }
    return nil
  }

  /// A number for a request about a widget. It replaces the number of an earlier request. A request
  /// that only wants fresh data keeps the earlier number, because an answer to that is still right.
  func numberRequest(
    about id: WidgetID, _ reason: DataRequestReason, at instant: NIODeadline
  ) -> UInt64 {
    let open = close(id)
    let number: UInt64
    if reason == .refresh || reason == .timeline, let open {
      number = open.number
    } else {
      lastRequestID += 1
      number = lastRequestID
    }
    asked[id] = Asked(number: number, sentAt: instant)
    askedWidgets[number] = id
    return number
  }

  /// A widget was answered: it need not be asked about any more, or only again.
  func heard(of id: WidgetID) {
    let reason = askAgain[id]
    close(id)
    if let reason { ask(about: id, reason) }
  }

  /// Takes a widget's request out of those that are open.
  @discardableResult
  private func close(_ id: WidgetID) -> Asked? {
    askAgain[id] = nil
    guard let open = asked.removeValue(forKey: id) else { return nil }
    askedWidgets[open.number] = nil
    return open
  }

  /// A widget is gone.
  func forgetWidget(_ id: WidgetID) {
    close(id)
    reasons[id] = nil
    // Queued entries of removed widgets are bounded by the number of existing widgets.
    if queue.count > 2 * reasons.count + 1_024 {
      queue.removeAll { pending in
        if case .request(let id) = pending { reasons[id] == nil } else { false }
      }
    }
  }
}

extension ServedSession: TurnParticipant {
  /// Results are sent when the turn's answers have been; see `Providers.takePart`.
  func flushResponses() {}

  func discardResponses() {
    outputs.removeAll { if case .result = $0 { true } else { false } }
    effects.removeAll()
    answeredNow.removeAll()
  }
}

extension ServedSession: ServedStream {
  func becameWritable() { if isStarted { providers.resume() } }

  func handOver(streamID: UInt32) -> HandedStream {
    // Sessions end before connections are handed over.
    HandedStream(streamID: streamID)
  }

  func forget() { providers.forget(self) }
  func finish(_ status: RPCStatus?) { providers.finish(self, status) }
  func receive(_ message: ByteBuffer) { providers.receive(message, self) }
  func halfClosed() { providers.end(self, nil) }

  /// Sends a frame, or ends the session if the frame is too large.
  func send(_ frame: ProvideResponse) { providers.send(frame, to: self) }
}

extension DataRequestReason {
  /// The reason of one request for two. A request for a timeline also asks for fresh data; else the
  /// reason that says most about the widget counts.
  fileprivate func joined(with other: DataRequestReason) -> DataRequestReason {
    switch (self, other) {
    case (.refresh, .timeline), (.timeline, .refresh): .timeline
    default: rawValue <= other.rawValue ? self : other
    }
  }
}
