import Dispatch

/// A timer for programs that sleep until a text on the screen changes with time.
///
/// Set it after every redraw. If the delay is unchanged, the running timer continues. The timer follows the
/// wall clock, so it fires right after the machine has slept.
struct WakeTimer {
  private var running: (source: any DispatchSourceTimer, delay: Duration)?

  /// Calls `action` after a delay, and cancels the previous timer. A delay of nil only cancels.
  mutating func set(_ delay: Duration?, _ action: @escaping @Sendable () async -> Void) {
    guard delay != running?.delay else { return }
    running?.source.cancel()
    running = delay.map { delay in
      let source = DispatchSource.makeTimerSource()
      source.setEventHandler { Task { await action() } }
      let (seconds, attoseconds) = delay.components
      source.schedule(wallDeadline: .now() + Double(seconds) + Double(attoseconds) / 1e18)
      source.activate()
      return (source, delay)
    }
  }

  /// Forgets the timer after its action was called.
  mutating func hasFired() {
    running?.source.cancel()
    running = nil
  }
}
