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
  private var drain: DrainWait?

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
    let drain = DrainWait(delay, context) { [self] in finishDraining() }
    self.drain = drain
    return drain.future
  }

  private func finishDraining() {
    drain?.end()
    drain = nil
  }
}
