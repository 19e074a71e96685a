import NIOCore
import WidgetModel
import WidgetProto

/// The requests for fresh data of one session: those that wait to be sent, and those that are open.
///
/// A request waits as a widget id, and each widget waits once. So a provider that does not read
/// costs only a set of ids.
///
/// Requests that were forgotten stay in the queue until they are passed, a few in each step. So no
/// step takes longer if thousands of widgets are removed.
///
/// Invariants: `open` and `widgets` are each other's inverse. Every widget of `askAgain` is in
/// `open`. Every request of `waiting` is in `swept` or `queue`, once, by its ticket. A queued request
/// with another ticket was forgotten.
struct DataRequests {
  /// The front of the queue, without the requests that `sweep` has found to be forgotten.
  private var swept = CircularBuffer<Queued>()
  /// The rest of the queue.
  private var queue = CircularBuffer<Queued>()
  private var waiting: [WidgetID: Waiting] = [:]
  private var lastTicket: UInt64 = 0
  private var lastNumber: UInt64 = 0
  /// The number of requests that were sent.
  private(set) var sentCount = 0
  private var open: [WidgetID: Open] = [:]
  private var widgets: [UInt64: WidgetID] = [:]
  /// Widgets whose refresh was requested while another request was open.
  private var askAgain: [WidgetID: DataRequestReason] = [:]

  private enum Queued {
    case request(WidgetID, ticket: UInt64)
    case synced
  }

  /// A request that is not sent yet.
  private struct Waiting {
    var reason: DataRequestReason
    let ticket: UInt64
  }

  /// The maximum number of queued requests that one step passes.
  static let passedMax = 256
  /// The number of queued requests that `sweep` looks at. With more than one, it passes requests faster
  /// than others are forgotten.
  private static let sweptMax = 4

  /// An open request.
  private struct Open {
    let number: UInt64
    let sentAt: NIODeadline
    /// `sentCount` with this request.
    let order: Int
  }

  /// The next output.
  enum Next: Equatable {
    case request(WidgetID, DataRequestReason)
    /// Tells the provider that it has been asked about all widgets that waited at the time of
    /// `sync`.
    case synced
    /// The step has only passed forgotten requests.
    case again
  }

  /// Whether the queue is empty.
  var isEmpty: Bool { queue.isEmpty && swept.isEmpty }

  /// The number of entries in the queue.
  var waitingCount: Int { queue.count + swept.count }

  // MARK: - Asking

  /// Queues a request, if the widget does not wait yet.
  mutating func ask(about id: WidgetID, _ reason: DataRequestReason) {
    if let other = waiting[id] {
      waiting[id]?.reason = other.reason.joined(with: reason)
    } else {
      lastTicket += 1
      waiting[id] = Waiting(reason: reason, ticket: lastTicket)
      queue.append(.request(id, ticket: lastTicket))
    }
  }

  /// Queues a request for fresh data of a widget.
  ///
  /// A slow provider must be able to answer, so an open request stays. The next request follows the
  /// answer. If there is no answer for the time `patience`, the request may be lost. The next one
  /// is then queued at once.
  mutating func refresh(
    _ id: WidgetID, _ reason: DataRequestReason, patience: TimeAmount, at instant: NIODeadline
  ) {
    if let open = open[id], instant < open.sentAt + patience {
      askAgain[id] = askAgain[id].map { $0.joined(with: reason) } ?? reason
    } else {
      ask(about: id, reason)
    }
  }

  /// Tells the provider when it has been asked about all widgets that wait now.
  mutating func sync() { queue.append(.synced) }

  // MARK: - Sending

  /// Takes the next output from the queue; nil if the queue is empty.
  mutating func next() -> Next? {
    for _ in 0..<DataRequests.passedMax {
      guard let queued = swept.popFirst() ?? queue.popFirst() else { return nil }
      switch queued {
      case .synced: return .synced
      case .request(let id, let ticket):
        guard let request = waiting[id], request.ticket == ticket else { continue }
        waiting[id] = nil
        return .request(id, request.reason)
      }
    }
    return .again
  }

  /// Drops some forgotten requests from the queue, so that it is not much longer than `waiting`.
  private mutating func sweep() {
    for _ in 0..<DataRequests.sweptMax {
      guard let queued = queue.popFirst() else { return swap(&queue, &swept) }
      if case .request(let id, let ticket) = queued, waiting[id]?.ticket != ticket { continue }
      swept.append(queued)
    }
  }

  /// Opens a request about a widget, and numbers it. The number replaces the number of an earlier
  /// request. A request that only asks for fresh data keeps the earlier number, because an answer
  /// to the earlier request is still valid.
  mutating func number(
    requestAbout id: WidgetID, _ reason: DataRequestReason, at instant: NIODeadline
  ) -> UInt64 {
    let earlier = close(id)
    let number: UInt64
    if reason == .refresh || reason == .timeline, let earlier {
      number = earlier.number
    } else {
      lastNumber += 1
      number = lastNumber
    }
    sentCount += 1
    open[id] = Open(number: number, sentAt: instant, order: sentCount)
    widgets[number] = id
    return number
  }

  // MARK: - Ending

  /// Whether a request about the widget is open that was sent after so many others.
  func isOpen(about id: WidgetID, sentAfter count: Int) -> Bool {
    open[id].map { $0.order > count } ?? false
  }

  /// The widget of an open request.
  func widget(ofRequest number: UInt64) -> WidgetID? { widgets[number] }

  /// Closes the request of a widget that was answered. If a refresh waits, it is queued now.
  mutating func heard(of id: WidgetID) {
    let reason = askAgain[id]
    close(id)
    if let reason { ask(about: id, reason) }
  }

  /// Forgets a removed widget.
  mutating func forget(_ id: WidgetID) {
    close(id)
    waiting[id] = nil
    sweep()
  }

  @discardableResult
  private mutating func close(_ id: WidgetID) -> Open? {
    askAgain[id] = nil
    guard let earlier = open.removeValue(forKey: id) else { return nil }
    widgets[earlier.number] = nil
    return earlier
  }
}

extension DataRequestReason {
  /// The reason of one request that replaces two. A request for a timeline also asks for fresh
  /// data. Otherwise the reason with the lower number counts, because it says more about the
  /// widget.
  fileprivate func joined(with other: DataRequestReason) -> DataRequestReason {
    switch (self, other) {
    case (.refresh, .timeline), (.timeline, .refresh): .timeline
    default: rawValue <= other.rawValue ? self : other
    }
  }
}
