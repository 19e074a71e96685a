import NIOCore
import Synchronization
import WidgetProcess

/// A thread for work that blocks, such as writes to a disk that is full of waiting writes. It carries
/// out one work after the other, in their order.
///
/// The thread begins with the first work, and ends when none waits. So an idle daemon has no thread
/// for blobs.
final class BlobThread: Sendable {
  private struct State {
    var waiting = CircularBuffer<@Sendable () -> Void>()
    var isRunning = false
  }

  private let state = Mutex(State())

  /// Carries work out on the thread. If there can be no thread, the caller carries it out.
  func run(_ work: @escaping @Sendable () -> Void) {
    let isRunning = state.withLock { state -> Bool in
      state.waiting.append(work)
      defer { state.isRunning = true }
      return state.isRunning
    }
    guard !isRunning, !DetachedThread.start({ [self] in workOff() }) else { return }
    workOff()
  }

  private func workOff() {
    while let work = next() { work() }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state -> (@Sendable () -> Void)? in
      let work = state.waiting.popFirst()
      if work == nil { state.isRunning = false }
      return work
    }
  }
}
