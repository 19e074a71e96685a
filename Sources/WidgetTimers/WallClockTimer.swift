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
/// A channel can also fail to open, or close without a step of the clock. Then a plain timer takes its
/// place for `pause`. Otherwise, a listener that sets the timer at each ring would never rest.
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
  /// The end of the time without the system's timer; nil if no channel has failed.
  private var opensAt: NIODeadline?
  /// The plain timer in place of the system's one.
  private var plain: Scheduled<Void>?

  /// The time between two attempts to open a channel, and the maximum time between two looks at the
  /// clock meanwhile.
  private static let pause = Duration.seconds(60)

  package init(eventLoop: any EventLoop, ring: @escaping () -> Void) {
    self.eventLoop = eventLoop
    self.ring = ring
  }

  /// Rings at a date, and at no other one.
  ///
  /// - Returns: False if the system has no timer for it. A plain timer then rings at the date, and
  ///   every minute before it, because the clock can be set meanwhile.
  @discardableResult
  package func set(_ date: Timestamp?) -> Bool {
    guard date != self.date, !isClosed else { return plain == nil }
    self.date = date
    plain?.cancel()
    plain = nil
    guard let date else { return descriptor < 0 || arm(nil) }
    if descriptor >= 0 || open(), arm(date) { return true }
    wait(for: date)
    return false
  }

  private func wait(for date: Timestamp) {
    let delay = min(max(date.duration(since: .wallClock()), .milliseconds(1)), WallClockTimer.pause)
    plain = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { [weak self] in
      self?.plain = nil
      self?.rang()
    }
  }

  package func close() {
    isClosed = true
    plain?.cancel()
    plain = nil
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
    guard opensAt.map({ $0 <= .now() }) ?? true else { return false }
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
        case .failure: bound.value.lost(timer, isStep: false)
        }
      }
    return true
  }

  private func rang() {
    date = nil
    ring()
  }

  /// - Parameter isStep: whether the clock was set.
  private func lost(_ timer: CInt, isStep: Bool) {
    guard descriptor == timer, !isClosed else { return }
    (descriptor, channel, date) = (-1, nil, nil)
    if !isStep { opensAt = .now() + TimeAmount(WallClockTimer.pause) }
    ring()
  }

  /// Reads how often the timer has expired.
  private final class Bell: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let timer: WallClockTimer
    private let descriptor: CInt
    private var isStep = false

    init(_ timer: WallClockTimer, _ descriptor: CInt) {
      self.timer = timer
      self.descriptor = descriptor
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { timer.rang() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      isStep = (error as? IOError)?.errnoCode == ECANCELED
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { timer.lost(descriptor, isStep: isStep) }
  }
}
