import WidgetClient
import WidgetModel
import WidgetTimers

/// A timer for programs that sleep until a text on the screen changes with time.
///
/// Set it after every redraw. If the delay is unchanged, the running timer continues. The timer follows the
/// wall clock, so it fires right after the machine has slept. It wakes only the thread that reads the
/// socket.
struct WakeTimer {
  private let alarm: WidgetAlarm
  private var delay: Duration?

  /// Makes a timer that calls `action` on the thread that reads the client's socket.
  init(_ client: WidgetClient, _ action: @escaping @Sendable () -> Void) {
    alarm = client.alarm(action)
  }

  /// Fires after a delay, and at no other time. A delay of nil only cancels.
  mutating func set(_ delay: Duration?) {
    guard delay != self.delay else { return }
    self.delay = delay
    alarm.set(delay.map { Timestamp.wallClock().advanced(by: $0) })
  }

  /// Call it after the timer has fired, before `set`.
  mutating func hasFired() { delay = nil }
}
