import NIOCore

/// The end of very many streams, because the process ends or hands its connections over.
///
/// Each stream ends in a slice of its user's time, so the loop still serves others meanwhile. The
/// caller ends the streams that are left after the time.
///
/// Confined to the event loop.
final class StreamEnding {
  private let context: ServiceContext
  /// The number of streams that have not ended.
  private var left = 0
  private var drain: (promise: EventLoopPromise<Void>, timer: DrainTimer)?

  init(_ context: ServiceContext) { self.context = context }

  /// Ends a stream in one of the next slices of its user.
  func add(of uid: UInt32, _ end: @escaping () -> Void) {
    left += 1
    context.upkeep.add(of: uid) { [self] in
      end()
      left -= 1
      if left == 0 { finishDraining() }
    }
  }

  /// Succeeds when the streams have ended, or when the time is over. Call it once, after `add`.
  func ended(within delay: TimeAmount) -> EventLoopFuture<Void> {
    guard left > 0 else { return context.eventLoop.makeSucceededVoidFuture() }
    let promise = context.eventLoop.makePromise(of: Void.self)
    let timer = DrainTimer(delay, context) { [self] in finishDraining() }
    drain = (promise, timer)
    return promise.futureResult
  }

  private func finishDraining() {
    drain?.timer.cancel()
    drain?.promise.succeed()
    drain = nil
  }
}
