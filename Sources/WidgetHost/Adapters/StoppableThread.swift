import CHostSystem
import Glibc

/// Work that waits for data on a thread, and ends early if its task is cancelled.
enum StoppableThread {
  /// Runs `body` on a thread. Gives it a descriptor that becomes readable when the task is
  /// cancelled.
  ///
  /// - Parameter unable: makes the result if there can be no thread, from the reason.
  static func run<Result: Sendable>(
    unable: @escaping @Sendable (String) -> Result, _ body: @escaping @Sendable (CInt) -> Result
  ) async -> Result {
    let stop = host_open_event()
    guard stop >= 0 else { return unable(errorText()) }
    let result: Result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isStarted = startThread { continuation.resume(returning: body(stop)) }
        if !isStarted { continuation.resume(returning: unable("there are too many threads")) }
      }
    } onCancel: {
      _ = host_signal_event(stop)
    }
    // The cancellation handler has run, or will never run.
    close(stop)
    return result
  }
}
