/// The timer of a program that sleeps until something it shows reads differently.
///
/// Set it after every redraw. Setting the delay that it has already keeps the running timer.
struct WakeTimer: Sendable {
  private var running: (task: Task<Void, Never>, delay: Duration)?

  /// Calls `action` after a delay, in place of the action that was set before. Nil: never.
  mutating func set(_ delay: Duration?, _ action: @escaping @Sendable () async -> Void) {
    guard delay != running?.delay else { return }
    running?.task.cancel()
    running = delay.map { delay in
      let task = Task {
        guard (try? await Task.sleep(for: delay)) != nil else { return }
        await action()
      }
      return (task, delay)
    }
  }

  /// Forgets a timer whose action was called.
  mutating func hasFired() { running = nil }
}
