/// A timer for programs that sleep until a text on the screen changes with time.
///
/// Set it after every redraw. If the delay is unchanged, the running timer continues.
struct WakeTimer: Sendable {
  private var running: (task: Task<Void, Never>, delay: Duration)?

  /// Calls `action` after a delay, and cancels the previous timer. A delay of nil only cancels.
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

  /// Forgets the timer after its action was called.
  mutating func hasFired() { running = nil }
}
