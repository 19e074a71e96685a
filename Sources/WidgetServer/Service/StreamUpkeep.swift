import NIOCore

/// Small work on open streams that comes for many of them at once: their end when their connection
/// is closed or their deadline is over, and the look at their progress.
///
/// A connection has a thousand streams, and the end of one with a large filter takes half a
/// millisecond. So the work is done in slices of the time of the streams' user. Until a stream has
/// ended, it counts in the quotas of its user.
///
/// Confined to the event loop.
final class StreamUpkeep {
  private let queue: WorkQueue
  private var waiting: [UInt32: UserUpkeep] = [:]
  private var isStopped = false

  init(in queue: WorkQueue) { self.queue = queue }

  /// Does some work on a stream in one of the next slices of its user, unless the service ends
  /// before.
  func add(of uid: UInt32, _ body: @escaping () -> Void) {
    guard !isStopped else { return }
    let work = waiting[uid] ?? begin(of: uid)
    work.add(body)
    // Not at once: the service may be in the middle of a slice or a round.
    queue.enqueue(work)
  }

  private func begin(of uid: UInt32) -> UserUpkeep {
    let work = UserUpkeep(uid: uid)
    work.onEnd = { [weak self] in self?.waiting[uid] = nil }
    waiting[uid] = work
    return work
  }

  /// Takes no more work: the service ends the streams that are left, or hands them over.
  func stop() { isStopped = true }
}

/// The work on the streams of one user.
///
/// Confined to the event loop.
private final class UserUpkeep: SlicedWork {
  let share: WorkShare
  /// Called when nothing is left.
  var onEnd: () -> Void = {}
  private var waiting = CircularBuffer<() -> Void>()

  init(uid: UInt32) { share = WorkShare(uid: uid) }

  func add(_ body: @escaping () -> Void) { waiting.append(body) }

  func work(_ slice: TimeSlice) -> Bool {
    while let body = waiting.popFirst() {
      body()
      if !waiting.isEmpty, slice.isOver { return true }
    }
    onEnd()
    return false
  }

  func abandon() { waiting.removeAll() }
}
