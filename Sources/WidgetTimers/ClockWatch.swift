package import NIOCore
import NIOPosix
import WidgetModel

/// Tells when the wall clock is set, until it is released. The kernel reports that through a timer,
/// so nothing wakes up meanwhile. Without the kernel's timer, the listener looks every minute.
package final class ClockWatch: Sendable {
  /// The timer rings only when the clock is set, because its date is far away.
  private static let far = Duration.seconds(10_000 * 86_400)

  private let eventLoop: any EventLoop
  private let timer: NIOLoopBoundBox<WallClockTimer?>
  private let wasSet: @Sendable () -> Void

  /// - Parameter wasSet: called on an event loop. It can also be called without a step of the clock.
  package convenience init(_ wasSet: @escaping @Sendable () -> Void) {
    self.init(on: MultiThreadedEventLoopGroup.singleton.next(), wasSet)
  }

  /// - Parameter wasSet: called on the event loop. It can also be called without a step of the clock.
  package init(on eventLoop: any EventLoop, _ wasSet: @escaping @Sendable () -> Void) {
    self.wasSet = wasSet
    self.eventLoop = eventLoop
    timer = .makeEmptyBox(valueType: WallClockTimer.self, eventLoop: eventLoop)
    eventLoop.execute { [weak self] in self?.arm() }
  }

  deinit {
    eventLoop.execute { [timer] in timer.value?.close() }
  }

  private func arm() {
    if timer.value == nil {
      timer.value = WallClockTimer(eventLoop: eventLoop) { [weak self] in self?.ring() }
    }
    timer.value?.set(Timestamp.wallClock().advanced(by: ClockWatch.far))
  }

  private func ring() {
    // The timer is set first, so that it notices a step from now on.
    arm()
    wasSet()
  }
}
