import NIOCore

/// Runs a closure after a time in which the loop could work.
///
/// The loop of a busy daemon runs its timers late, and the work of a drain is late, too. The time by
/// which the loop is late does not count: the limit has several parts, and each part begins only
/// when the loop has reached the end of the one before.
///
/// Confined to the event loop.
final class DrainTimer {
  private let context: ServiceContext
  private let part: TimeAmount
  private let body: () -> Void
  private var timer: Scheduled<Void>?

  /// The number of parts. With more parts, a drain that is always late takes longer.
  private static let parts: Int64 = 4

  init(_ limit: TimeAmount, _ context: ServiceContext, _ body: @escaping () -> Void) {
    self.context = context
    self.body = body
    part = .nanoseconds(limit.nanoseconds / DrainTimer.parts)
    wait(DrainTimer.parts)
  }

  private func wait(_ parts: Int64) {
    timer = context.schedule(in: part) { [weak self] in
      guard let self else { return }
      if parts > 1 { wait(parts - 1) } else { body() }
    }
  }

  func cancel() { timer?.cancel() }
}

/// The wait for the end of a drain: until the work is done, or its time is over.
///
/// Confined to the event loop.
final class DrainWait {
  private let promise: EventLoopPromise<Void>
  private var timer: DrainTimer?

  /// - Parameter onTimeout: Called if the time is over. It has to end the wait.
  init(_ limit: TimeAmount, _ context: ServiceContext, onTimeout: @escaping () -> Void) {
    promise = context.eventLoop.makePromise()
    timer = DrainTimer(limit, context, onTimeout)
  }

  var future: EventLoopFuture<Void> { promise.futureResult }

  /// Ends the wait. Call it once.
  func end() {
    timer?.cancel()
    promise.succeed()
  }
}
