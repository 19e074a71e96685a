import NIOCore
import WidgetModel
import WidgetProto

/// One open stream: its sink, its filter, and its reader's progress.
///
/// A reader costs only this object: nothing is queued for it, however late it is.
final class Subscription: RoundMember {
  let id: UInt64
  let uid: UInt32
  let sink: any StreamSink
  let group: WatchGroup
  /// The index in the members of the group, which sets it.
  var place = 0
  private let options: Options
  private var cursor: StreamCursor
  /// The earliest time of the next change frame: the end of `min_interval`.
  private var nextFrameAt = NIODeadline.uptimeNanoseconds(0)
  /// The end of the last `batch_delay`.
  private var batchUntil = NIODeadline.uptimeNanoseconds(0)
  private var lastFrameAt = NIODeadline.uptimeNanoseconds(0)
  private(set) var wantsProgress = false
  /// The revision of the last theme that was sent. Nil before the first.
  private var themeRevision: Revision?
  /// The version of the store's state that the reader knows.
  private var storeVersion: UInt64 = 0
  /// Whether the stream waits to be served.
  private var isReady = false
  private let readyPlace = ReadyPlace()
  /// Whether the stream has ended.
  private(set) var isFinished = false
  private var intervalTimer: Scheduled<Void>?
  private var progressTimer: Scheduled<Void>?
  private var deadline: StreamDeadline?

  /// The parts of the request that are not in the group's filter.
  struct Options {
    /// The minimum time between two change frames; nil for none.
    var minInterval: TimeAmount?
    /// The time for which a change waits for changes that follow it; nil for no wait.
    var batchDelay: TimeAmount?
    var progressInterval: TimeAmount?
    /// Whether the stream does not count as a watcher.
    var isPassive = false
    /// Whether the stream carries the theme.
    var includesTheme = false

    /// The options of a stream of events.
    init() {}

    init(_ request: WatchWidgetsRequest) {
      minInterval = request.minInterval.map { .nanoseconds($0.nanoseconds) }
      batchDelay = request.batchDelay.flatMap {
        $0 > .zero ? .nanoseconds($0.nanoseconds) : nil
      }
      progressInterval = request.progressInterval.map { .nanoseconds($0.nanoseconds) }
      isPassive = request.isPassive
      includesTheme = request.includeTheme
    }
  }

  init(
    id: UInt64, uid: UInt32, sink: any StreamSink, group: WatchGroup, options: Options,
    cursor: StreamCursor
  ) {
    self.id = id
    self.uid = uid
    self.sink = sink
    self.group = group
    self.options = options
    self.cursor = cursor
    readyPlace.subscription = self
  }

  deinit { readyPlace.subscription = nil }

  /// Whether the stream counts as a watcher: it carries state and is not passive.
  var isWatcher: Bool { group.filter.wantsState && !options.isPassive }

  /// Whether the stream has a `batch_delay`.
  var delaysChanges: Bool { options.batchDelay != nil }

  var isCaughtUp: Bool { cursor.isCaughtUp }

  /// Everything up to this event has been sent. Updated only while the reader is not caught up.
  var sequence: UInt64 { cursor.sequence }

  /// Whether something waits for the reader to take more.
  var hasMore: Bool { !isCaughtUp || wantsProgress }

  // MARK: - What comes next

  enum Step {
    case store
    case theme
    case events(after: UInt64)
    case changes(since: Revision)
    case transfer(StreamCursor.Transfer)
    case progress
    /// Send no changes after a revision until `min_interval` or `batch_delay` is over.
    case pause(since: Revision)
    case nothing
  }

  /// The next output for a reader that can take more.
  ///
  /// - Parameters:
  ///   - sequence: The last event that caught-up readers have been sent.
  ///   - theme: The revision of the theme.
  ///   - store: The version of the store's state.
  func next(
    through sequence: UInt64, theme: Revision, store: UInt64, at instant: NIODeadline
  ) -> Step {
    if lacksStore(at: store) { return .store }
    if lacksTheme(of: theme) { return .theme }
    if isCaughtUp { return wantsProgress ? .progress : .nothing }
    if lacksEvents(through: sequence) { return .events(after: cursor.sequence) }
    guard group.filter.wantsState else {
      cursor.catchUp()
      return wantsProgress ? .progress : .nothing
    }
    switch cursor.position {
    case .caughtUp: return .nothing
    case .behind(let revision):
      return isTooEarly(at: instant) ? .pause(since: revision) : .changes(since: revision)
    case .transferring(let transfer): return .transfer(transfer)
    }
  }

  /// Whether the reader has not been sent all events up to this one.
  func lacksEvents(through sequence: UInt64) -> Bool {
    group.filter.wantsEvents && !isCaughtUp && cursor.sequence < sequence
  }

  func lacksTheme(of revision: Revision) -> Bool {
    options.includesTheme && themeRevision != revision
  }

  func lacksStore(at version: UInt64) -> Bool { group.filter.wantsState && storeVersion != version }

  func knowsStore(at version: UInt64) { storeVersion = version }

  /// The reader must be told whether the store takes changes, whatever it was told before.
  func forgetStore() { storeVersion = .max }

  /// The end of the last `min_interval` or `batch_delay`.
  var delayedUntil: NIODeadline { max(nextFrameAt, batchUntil) }

  /// Whether `min_interval` or `batch_delay` delays the next change frame.
  func isTooEarly(at instant: NIODeadline) -> Bool { instant < delayedUntil }

  /// Whether the first changes after a pause wait for `min_interval` or `batch_delay`. Begins the delay.
  ///
  /// - Parameter isHurried: Whether changes do not wait for others now.
  func holdsBack(at instant: NIODeadline, isHurried: Bool) -> Bool {
    if isTooEarly(at: instant) { return true }
    guard let delay = options.batchDelay, !isHurried else { return false }
    batchUntil = instant + delay
    return true
  }

  /// Ends a running `batch_delay`. Returns whether there was one: the stream must be served.
  func endBatch(at instant: NIODeadline) -> Bool {
    guard instant < batchUntil else { return false }
    batchUntil = instant
    intervalTimer?.cancel()
    intervalTimer = nil
    return true
  }

  // MARK: - What was sent

  /// A round of frames left the reader out.
  func fallBehind(at revision: Revision, _ sequence: UInt64) {
    cursor.fallBehind(at: revision, sequence)
  }

  func sentEvents(through sequence: UInt64) { cursor.sentEvents(through: sequence) }

  /// The reader gets the rest of the changes now.
  func catchUp() { cursor.catchUp() }

  /// The reader has everything, because no change waits for it. A `batch_delay` begins with a change.
  func catchUpWithoutChanges(at instant: NIODeadline) {
    cursor.catchUp()
    _ = endBatch(at: instant)
  }

  /// Begins a transfer, or continues it.
  func transfer(_ transfer: StreamCursor.Transfer) { cursor.transfer(transfer) }

  /// Sends frames.
  func send(_ messages: [EncodedMessage], at instant: NIODeadline, isChange: Bool) {
    for message in messages { sink.send(message) }
    lastFrameAt = instant
    if isChange { delay(from: instant) }
  }

  func sentTheme(of revision: Revision, at instant: NIODeadline) {
    themeRevision = revision
    lastFrameAt = instant
  }

  func sentProgress(at instant: NIODeadline) {
    wantsProgress = false
    lastFrameAt = instant
  }

  private func delay(from instant: NIODeadline) {
    if let interval = options.minInterval { nextFrameAt = instant + interval }
  }

  // MARK: - Waiting

  /// Puts the stream in line to be served. Returns its place; nil if it already is in line, or has
  /// ended.
  func becomeReady() -> ReadyPlace? {
    guard !isReady, !isFinished else { return nil }
    isReady = true
    return readyPlace
  }

  /// Notes that the stream is served now.
  func beginServing() { isReady = false }

  /// Lets the stream be served again when `min_interval` or `batch_delay` is over.
  func pause(_ context: ServiceContext, then resume: @escaping () -> Void) {
    guard intervalTimer == nil else { return }
    intervalTimer = context.schedule(at: delayedUntil) {
      self.intervalTimer = nil
      resume()
    }
  }

  // MARK: - Progress

  func requestProgress() { wantsProgress = true }

  /// The interval of progress messages, if the user has so many open streams.
  ///
  /// Each timer takes some 10 microseconds. So the timers of one user get a hundredth of the loop's
  /// time.
  static func progressInterval(_ wanted: TimeAmount, streams: Int) -> TimeAmount {
    max(wanted, .milliseconds(Int64(streams)))
  }

  /// Calls `send` whenever the reader got no frame for `progress_interval`. Looks in slices of the
  /// user's time, because a change for very many streams begins the same interval for all of them.
  func watchProgress(_ context: ServiceContext, send: @escaping () -> Void) {
    guard let wanted = options.progressInterval, !isFinished else { return }
    let interval = Subscription.progressInterval(
      wanted, streams: context.streamAccounts.count(of: uid))
    let due = max(lastFrameAt, context.startedAt) + interval
    let instant = NIODeadline.now()
    progressTimer = context.schedule(at: due > instant ? due : instant + interval) {
      context.upkeep.add(of: self.uid) {
        guard !self.isFinished else { return }
        if .now() >= self.lastFrameAt + interval { send() }
        self.watchProgress(context, send: send)
      }
    }
  }

  // MARK: - Another process, and the end

  /// Continues a stream of the former process.
  ///
  /// - Parameter theme: The revision of the theme, if the reader has it.
  func `continue`(_ handed: HandedStream, theme: Revision?) {
    wantsProgress = handed.wantsProgress
    themeRevision = theme
    // The time of the stream's last frame is unknown, so the full interval begins now.
    delay(from: .now())
  }

  /// The state that another process needs to continue the stream.
  ///
  /// - Parameters:
  ///   - sentRevision: The revision of readers that are caught up.
  ///   - sentSequence: The last event that these readers have been sent.
  func handOver(
    streamID: UInt32, sentRevision: Revision, sentSequence: UInt64
  ) -> HandedStream {
    var handed = HandedStream(
      streamID: streamID, request: request, subscriptionID: id,
      timeoutNanoseconds: deadline?.remainingNanoseconds ?? 0,
      eventCursor: isCaughtUp ? sentSequence : cursor.sequence,
      wantsProgress: wantsProgress)
    switch cursor.position {
    case .caughtUp: handed.cursor = sentRevision
    case .behind(let revision): handed.cursor = revision
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
          minInterval: options.minInterval.map { .nanoseconds($0.nanoseconds) },
          progressInterval: options.progressInterval.map { .nanoseconds($0.nanoseconds) },
          includeEvents: includesEvents, contentFamily: contentFamily,
          includeTheme: options.includesTheme, isPassive: options.isPassive,
          upcomingEntries: upcomingEntries, isRedacted: isRedacted,
          batchDelay: options.batchDelay.map { .nanoseconds($0.nanoseconds) }))
    case .events(let selector, let names):
      .events(WatchEventsRequest(selector: selector, names: names))
    }
  }

  /// Takes the time of its end with DEADLINE_EXCEEDED, and cancels it if it ends before.
  func end(at deadline: StreamDeadline) { self.deadline = deadline }

  /// Ends the stream. Returns false if it has ended before.
  func close() -> Bool {
    guard !isFinished else { return false }
    isFinished = true
    readyPlace.subscription = nil
    cancelTimers()
    return true
  }

  /// Stops the timers: the stream ends, or another process continues it.
  func cancelTimers() {
    intervalTimer?.cancel()
    progressTimer?.cancel()
    deadline?.cancel()
    (intervalTimer, progressTimer, deadline) = (nil, nil, nil)
  }
}

/// The place of a stream in the line of those that are ready to be served.
///
/// A user can open and end streams faster than they are served, and a stream that has ended counts
/// in no quota. So its place keeps nothing of it.
final class ReadyPlace {
  /// Nil when the stream has ended.
  fileprivate(set) unowned var subscription: Subscription?

  fileprivate init() { subscription = nil }
}
