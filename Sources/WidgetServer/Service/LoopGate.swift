import NIOCore
import Synchronization

/// The way onto the service's event loop from other threads, until the server stops.
///
/// An event loop that has ended drops new work, and a caller that waits for the work waits forever.
/// So the gate is closed before the loop ends, and refuses the work.
final class LoopGate: Sendable {
  private let eventLoop: any EventLoop
  private let isOpen = Mutex(true)

  init(eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  /// Runs a closure on the event loop, at once if the caller is on it. Returns false, and runs
  /// nothing, if the server has stopped.
  func run(_ body: @escaping @Sendable () -> Void) -> Bool {
    if eventLoop.inEventLoop {
      body()
      return true
    }
    return isOpen.withLock { isOpen in
      if isOpen { eventLoop.execute(body) }
      return isOpen
    }
  }

  /// Closes the gate. Admitted work is still done.
  func close() { isOpen.withLock { $0 = false } }
}
