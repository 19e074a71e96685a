import NIOCore

/// The calls of one client inside the process, until the service has time for them. Confined to the
/// event loop.
final class InProcessCalls: SlicedWork {
  typealias Start = (_ isAbandoned: Bool) -> Void

  let share: WorkShare
  /// Whether the client may only ask for health.
  let isUnauthorized: Bool
  /// The requests that began to arrive.
  var requestCount = 0
  private let queue: WorkQueue
  private var waiting = CircularBuffer<Start>()

  init(of peer: Peer, _ level: AccessPolicy.Level, _ queue: WorkQueue) {
    isUnauthorized = level == .nothing
    share = WorkShare(uid: peer.uid)
    self.queue = queue
  }

  /// Begins a call exactly once, now or later.
  func add(_ start: @escaping Start) {
    waiting.append(start)
    queue.submit(self)
  }

  /// Notes that the present call continues in tasks.
  func expectTasks() { queue.expectTasks() }

  func work(_ slice: TimeSlice) -> Bool {
    while let start = waiting.popFirst() {
      start(false)
      if !waiting.isEmpty, slice.isOver { return true }
    }
    return false
  }

  func abandon() {
    while let start = waiting.popFirst() { start(true) }
  }
}
