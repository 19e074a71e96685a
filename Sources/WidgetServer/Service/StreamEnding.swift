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

  /// Ends streams in the next slices of their users. The streams of a user wait as one list, so that
  /// thousands of them cost little before their turn.
  func add<Stream>(
    _ streams: [Stream], of uid: (Stream) -> UInt32, _ end: @escaping (Stream) -> Void
  ) {
    left += streams.count
    for (uid, streams) in Dictionary(grouping: streams, by: uid) {
      endNext(of: List(streams), uid, end)
    }
  }

  /// The streams of a user that have not ended.
  private final class List<Stream> {
    var streams: [Stream]

    init(_ streams: [Stream]) { self.streams = streams }
  }

  private func endNext<Stream>(
    of list: List<Stream>, _ uid: UInt32, _ end: @escaping (Stream) -> Void
  ) {
    context.upkeep.add(of: uid) { [self] in
      guard let stream = list.streams.popLast() else { return }
      end(stream)
      left -= 1
      if left == 0 { finishDraining() }
      if !list.streams.isEmpty { endNext(of: list, uid, end) }
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
