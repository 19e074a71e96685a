import NIOCore
package import WidgetModel
package import WidgetTimers

/// A timer on the thread that reads the socket. A program that shows widgets then needs no other
/// thread for the time: each ring wakes only this one.
///
/// It follows the wall clock, and also rings when the clock is set.
package final class WidgetAlarm: Sendable {
  private let eventLoop: any EventLoop
  private let ring: @Sendable () -> Void
  private let timer: NIOLoopBoundBox<WallClockTimer?>

  fileprivate init(eventLoop: any EventLoop, ring: @escaping @Sendable () -> Void) {
    (self.eventLoop, self.ring) = (eventLoop, ring)
    timer = .makeEmptyBox(valueType: WallClockTimer.self, eventLoop: eventLoop)
  }

  deinit {
    eventLoop.execute { [timer] in timer.value?.close() }
  }

  /// Rings at a date, and at no other one. Nil: never.
  package func set(_ date: Timestamp?) {
    guard eventLoop.inEventLoop else { return eventLoop.execute { self.arm(date) } }
    arm(date)
  }

  private func arm(_ date: Timestamp?) {
    if timer.value == nil {
      guard date != nil else { return }
      timer.value = WallClockTimer(eventLoop: eventLoop, ring: ring)
    }
    timer.value?.set(date)
  }
}

extension WidgetClient {
  /// A timer on the thread of this client's connections. It calls `ring` there.
  package func alarm(_ ring: @escaping @Sendable () -> Void) -> WidgetAlarm {
    WidgetAlarm(eventLoop: eventLoop, ring: ring)
  }

  /// Tells when the wall clock is set, until the watch is released. It calls `wasSet` on the thread of
  /// this client's connections.
  package func clockWatch(_ wasSet: @escaping @Sendable () -> Void) -> ClockWatch {
    ClockWatch(on: eventLoop, wasSet)
  }
}
