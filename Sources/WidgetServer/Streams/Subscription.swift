import NIOCore
import WidgetModel
import WidgetProto

/// One open stream: its sink, its filter, and its position.
///
/// A reader costs only this object: nothing is queued for it, however late it is.
final class Subscription {
  let id: UInt64
  let uid: UInt32
  let sink: any StreamSink
  let group: WatchGroup
  private unowned let streams: WatchStreams
  /// The least time between two change frames; nil for none.
  let minInterval: TimeAmount?
  let progressInterval: TimeAmount?

  var position: Position
  /// Everything up to this event has been sent; only kept up while not caught up.
  var eventCursor: UInt64
  var nextFrameAt = NIODeadline.uptimeNanoseconds(0)
  var lastFrameAt = NIODeadline.uptimeNanoseconds(0)
  var wantsProgress = false
  /// Whether the stream does not count as a watcher.
  let isPassive: Bool
  /// Whether the stream carries the theme.
  var includesTheme = false
  /// The revision of the last theme that was sent. Nil before the first.
  var themeRevision: Revision?
  /// Whether it waits in the list of those to be served.
  var isReady = false
  /// Whether the stream has ended.
  var isFinished = false
  var intervalTimer: Scheduled<Void>?
  var progressTimer: Scheduled<Void>?
  var deadlineTimer: Scheduled<Void>?
  var deadline: NIODeadline?

  /// How far a reader is with the state.
  enum Position {
    /// The reader has everything up to the last round of frames.
    case caughtUp
    /// The reader has everything up to a revision.
    case behind(Revision)
    /// The reader is being sent everything since a revision, in chunks.
    case transferring(Transfer)
  }

  /// A transfer under way; see `WidgetStore.changes(endingTransferSince:startedAt:)`.
  struct Transfer {
    /// The reader's revision before the transfer; 0 and `isSnapshot` for none.
    let cursor: Revision
    let isSnapshot: Bool
    let startedAt: Revision
    /// The number of chunks in the pass under way.
    private(set) var chunkCount: Int
    /// The revision at the start of the pass under way.
    private(set) var passStartedAt: Revision
    /// The pass under way sends the changes since this revision. 0 in a snapshot's first pass:
    /// everything.
    private(set) var passSince: Revision
    private(set) var passes = 1
    private(set) var nextChunk = 0
    /// The next slot within the chunk; 0 at its beginning.
    private(set) var nextSlot = 0

    init(cursor: Revision, isSnapshot: Bool, startedAt: Revision, chunkCount: Int) {
      self.cursor = cursor
      self.isSnapshot = isSnapshot
      self.startedAt = startedAt
      self.chunkCount = chunkCount
      passStartedAt = startedAt
      passSince = cursor
    }

    /// Goes through the chunks again, for the changes made during the last pass.
    mutating func beginPass(at revision: Revision, chunkCount: Int) {
      (passSince, passStartedAt) = (passStartedAt, revision)
      (self.chunkCount, nextChunk, nextSlot) = (chunkCount, 0, 0)
      passes += 1
    }

    /// Continues at a slot of this chunk, or at the next chunk.
    mutating func advance(to slot: Int?) {
      nextChunk += slot == nil ? 1 : 0
      nextSlot = slot ?? 0
    }
  }

  init(
    id: UInt64, uid: UInt32, sink: any StreamSink, group: WatchGroup, minInterval: TimeAmount?,
    progressInterval: TimeAmount?, position: Position, eventCursor: UInt64, isPassive: Bool,
    streams: WatchStreams
  ) {
    self.streams = streams
    self.isPassive = isPassive
    self.id = id
    self.uid = uid
    self.sink = sink
    self.group = group
    self.minInterval = minInterval
    self.progressInterval = progressInterval
    self.position = position
    self.eventCursor = eventCursor
  }

  /// Whether the stream counts as a watcher: it carries state and is not passive.
  var isWatcher: Bool { group.filter.wantsState && !isPassive }

  var isCaughtUp: Bool {
    if case .caughtUp = position { true } else { false }
  }

  func cancelTimers() {
    intervalTimer?.cancel()
    progressTimer?.cancel()
    deadlineTimer?.cancel()
    (intervalTimer, progressTimer, deadlineTimer) = (nil, nil, nil)
  }
}

extension Subscription: ServedStream {
  func becameWritable() { streams.rounds.becameWritable(self) }
  func forget() { streams.forget(self) }
  func finish(_ status: RPCStatus?) { streams.finish(self, status) }

  func handOver(streamID: UInt32) -> HandedStream {
    var handed = HandedStream(
      streamID: streamID, request: request, subscriptionID: id,
      timeoutNanoseconds: deadline.map { max(1, ($0 - .now()).nanoseconds) } ?? 0,
      eventCursor: isCaughtUp ? streams.rounds.sentSequence : eventCursor,
      wantsProgress: wantsProgress)
    switch position {
    case .caughtUp: handed.cursor = streams.rounds.sentRevision
    case .behind(let cursor): handed.cursor = cursor
    case .transferring(let transfer):
      handed.cursor = transfer.cursor
      handed.transfer = HandedTransfer(
        isSnapshot: transfer.isSnapshot, startedRevision: transfer.startedAt)
    }
    return handed
  }

  private var request: HandedStream.Request {
    switch group.filter {
    case .widgets(
      let selector, let mask, let includesEvents, let contentFamily, let upcomingEntries,
      let isRedacted):
      .widgets(
        WatchWidgetsRequest(
          selector: selector, readMask: mask,
          minInterval: minInterval.map { .nanoseconds($0.nanoseconds) },
          progressInterval: progressInterval.map { .nanoseconds($0.nanoseconds) },
          includeEvents: includesEvents, contentFamily: contentFamily,
          includeTheme: includesTheme, isPassive: isPassive, upcomingEntries: upcomingEntries,
          isRedacted: isRedacted))
    case .events(let selector, let names):
      .events(WatchEventsRequest(selector: selector, names: names))
    }
  }
}
