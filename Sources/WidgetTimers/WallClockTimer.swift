import CTimerFile
import Glibc
package import NIOCore
import NIOPosix
package import WidgetModel

/// Wakes the event loop at a time of the wall clock, even if the clock is set or the machine sleeps
/// meanwhile.
///
/// NIO's timers count running time, so they are wrong after a step of the clock. A timer file of
/// the kernel follows the clock, and its read fails with ECANCELED when the clock is set. Then NIO
/// closes the channel, so the time is checked again. The next `set` makes another timer.
///
/// Confined to the event loop. Without a date there is no timer, and no cost.
package final class WallClockTimer {
  private let eventLoop: any EventLoop
  private let ring: () -> Void
  private var descriptor: CInt = -1
  /// The channel that reads the timer; nil if there is no timer.
  private(set) var channel: (any Channel)?
  private var date: Timestamp?
  private var isClosed = false

  package init(eventLoop: any EventLoop, ring: @escaping () -> Void) {
    self.eventLoop = eventLoop
    self.ring = ring
  }

  /// Rings at a date, and at no other one.
  ///
  /// - Returns: False if the system has no timer for it.
  package func set(_ date: Timestamp?) -> Bool {
    guard date != self.date, !isClosed else { return true }
    self.date = date
    guard let date else { return descriptor < 0 || arm(nil) }
    return (descriptor >= 0 || open()) && arm(date)
  }

  package func close() {
    isClosed = true
    channel?.close(promise: nil)
    channel = nil
    descriptor = -1
  }

  private func arm(_ date: Timestamp?) -> Bool {
    var setting = itimerspec()
    if let date {
      // Zero would stop the timer. A date in the past rings at once.
      setting.it_value.tv_sec = max(1, Int(date.seconds))
      setting.it_value.tv_nsec = date.seconds > 0 ? Int(date.nanoseconds) : 0
    }
    let flags = Int32(TFD_TIMER_ABSTIME) | WallClockTimer.cancelOnSet
    return timerfd_settime(descriptor, flags, &setting, nil) == 0
  }

  /// TFD_TIMER_CANCEL_ON_SET, a macro that Swift does not import.
  private static let cancelOnSet: Int32 = 1 << 1

  private func open() -> Bool {
    let timer = timerfd_create(CLOCK_REALTIME, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK))
    guard timer >= 0 else { return false }
    descriptor = timer
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    NIOPipeBootstrap(group: eventLoop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Bell(bound.value, timer))
        }
      }
      .takingOwnershipOfDescriptor(input: timer)
      .assumeIsolated()
      .whenComplete { result in
        switch result {
        case .success(let channel) where !bound.value.isClosed: bound.value.channel = channel
        case .success(let channel): channel.close(promise: nil)
        case .failure: bound.value.lost(timer)
        }
      }
    return true
  }

  private func rang() {
    date = nil
    ring()
  }

  private func lost(_ timer: CInt) {
    guard descriptor == timer, !isClosed else { return }
    (descriptor, channel, date) = (-1, nil, nil)
    ring()
  }

  /// Reads how often the timer has expired.
  private final class Bell: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let timer: WallClockTimer
    private let descriptor: CInt

    init(_ timer: WallClockTimer, _ descriptor: CInt) {
      self.timer = timer
      self.descriptor = descriptor
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { timer.rang() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { timer.lost(descriptor) }
  }
}
