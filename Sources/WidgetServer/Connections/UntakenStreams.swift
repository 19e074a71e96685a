import NIOCore
import WidgetModel
import WidgetProto

/// The streams of a former process that a connection has not taken over yet.
///
/// A connection takes its streams over in slices of its user's time. Until then, a stream counts for
/// the number of its user's streams, its deadline comes nearer, and the store keeps the removals
/// that its reader lacks. A call that names a stream takes it over first.
///
/// Confined to the event loop.
final class UntakenStreams {
  let peer: Peer
  private let level: AccessPolicy.Level
  private let service: ServiceLoop
  /// The last one first.
  private var streams: [HandedStream] = []
  /// The time at which the deadlines of `streams` are right.
  private var start = NIODeadline.uptimeNanoseconds(0)
  private var takeOverNow: (HandedStream) -> Void = { _ in }

  init(of peer: Peer, _ level: AccessPolicy.Level, in service: ServiceLoop) {
    self.peer = peer
    self.level = level
    self.service = service
  }

  var count: Int { streams.count }

  /// Takes in the streams of a connection that another process served.
  ///
  /// - Parameter takeOver: Takes over a stream that a call names.
  func begin(
    _ handed: [HandedStream], at instant: NIODeadline = .now(),
    takeOver: @escaping (HandedStream) -> Void = { _ in }
  ) {
    streams = handed.reversed()
    start = instant
    takeOverNow = takeOver
    for stream in streams {
      service.context.countUntakenStream(of: peer.uid, level)
      service.streams.setUntaken(stream.subscriptionID, of: self)
    }
    service.streams.keepRemovals(since: streams.compactMap(\.neededRemovals).min(), for: self)
  }

  /// Removes the next stream, which is taken over now.
  func next(at instant: NIODeadline = .now()) -> HandedStream? {
    guard let stream = streams.popLast() else { return nil }
    stopCounting([stream])
    return stream.after(instant - start)
  }

  /// Takes a stream over before its turn, because a call names it.
  func takeOver(_ subscriptionID: UInt64, at instant: NIODeadline = .now()) {
    guard let index = streams.firstIndex(where: { $0.subscriptionID == subscriptionID }) else {
      return
    }
    let stream = streams.remove(at: index)
    stopCounting([stream])
    takeOverNow(stream.after(instant - start))
  }

  /// The streams for a third process, in their order.
  func remaining(at instant: NIODeadline = .now()) -> [HandedStream] {
    streams.reversed().map { $0.after(instant - start) }
  }

  /// Forgets the streams, because their connection ends. Returns them.
  @discardableResult
  func removeAll() -> [HandedStream] {
    let removed = streams
    streams = []
    stopCounting(removed)
    return removed
  }

  private func stopCounting(_ removed: [HandedStream]) {
    for stream in removed {
      service.context.releaseStream(of: peer.uid, level, bytes: 0)
      service.streams.setUntaken(stream.subscriptionID, of: nil)
    }
    if streams.isEmpty { service.streams.keepRemovals(since: nil, for: self) }
  }
}

extension HandedStream {
  /// The reader lacks the removals after this revision. nil if its stream carries no state.
  var neededRemovals: Revision? {
    guard case .widgets? = request else { return nil }
    guard let transfer, transfer.isSnapshot else { return cursor }
    return transfer.startedRevision
  }

  /// The stream after a time in which nobody served it.
  fileprivate func after(_ time: TimeAmount) -> HandedStream {
    guard timeoutNanoseconds > 0 else { return self }
    var stream = self
    // 0 means no deadline.
    stream.timeoutNanoseconds = max(1, timeoutNanoseconds - time.nanoseconds)
    return stream
  }
}
