public import WidgetModel
public import WidgetProto

/// The items of a watch of widgets: the daemon's frames, and between them changes of the
/// connection. `WidgetMirror` turns frames into state.
///
/// A watch starts with `opened`, snapshots, `synced`, and continues with changes. When the
/// connection is lost, `disconnected` comes, and again if the retries fail for another cause, such
/// as a daemon that hangs. Then `reconnected` and `opened` come, and the stream continues where it
/// stopped. If the daemon no longer has the changes in between,
/// `reset` comes before that `opened`, and a new snapshot after it.
public enum WatchFrame: Hashable, Sendable {
  /// The daemon opened the stream.
  case opened(WatchOpened)
  /// A part of the snapshot.
  case snapshot(SnapshotChunk)
  /// The snapshot is complete.
  case synced(WatchSynced)
  /// Widgets changed. With `more`, a piece that only counts together with the next ones.
  case changes(ChangeSet)
  /// Events, if they were asked for.
  case events(EventBatch)
  /// Events that this watch will never get.
  case gap(EventGap)
  /// Nothing changed, up to here.
  case progress(WatchProgress)
  /// The whole theme, after each `opened` and when it changes. Comes only with `includeTheme`.
  case theme(ThemeState)
  /// The upcoming content of widgets. Comes only with `upcomingEntries`.
  case upcoming(WatchUpcoming)
  /// Whether the store takes changes. While it takes none, widgets may be old. Comes after `opened` only
  /// while it takes none.
  case store(WatchStore)
  /// The stream cannot continue where it stopped. A snapshot follows, and replaces the known state.
  case reset(ResetReason)
  /// The connection is lost or cannot be made, or the daemon does not answer. The watch retries.
  case disconnected(ClientError)
  /// The connection is back, and the daemon has answered.
  case reconnected
}

/// The items of a watch of events.
public enum EventFrame: Hashable, Sendable {
  /// The daemon opened the stream.
  case opened(WatchEventsOpened)
  /// Events, in order.
  case events(EventBatch)
  /// Events that this watch will never get.
  case gap(EventGap)
  /// The connection is lost or cannot be made, or the daemon does not answer. The watch retries.
  case disconnected(ClientError)
  /// The connection is back, and the daemon has answered.
  case reconnected
}

/// Why a watch had to start over.
public enum ResetReason: Hashable, Sendable {
  /// The daemon no longer keeps the changes since then (`REVISION_COMPACTED`).
  case compacted
  /// The daemon has another store (`EPOCH_CHANGED`), so its revisions cannot be compared with
  /// earlier ones.
  case epochChanged
}

/// The options of a watch.
public struct WatchOptions: Sendable {
  /// The selected widgets, also future ones.
  public var selector: Selector
  /// The fields to send of each widget.
  public var readMask: ReadMask
  /// The family whose content to send; nil for each widget's family.
  public var contentFamily: Family?
  /// The minimum time between two change frames, at most 60 s. Changes in between are conflated.
  public var minInterval: Duration?
  /// The time without a frame after which a progress frame is sent; at least 100 ms.
  public var progressInterval: Duration?
  /// Also deliver the events of the selected widgets, in order with the changes.
  public var includeEvents: Bool
  /// With `includeEvents`: start after this event instead of now.
  public var afterSequence: UInt64?
  /// Also deliver the theme, after each `opened` and when it changes.
  public var includeTheme: Bool
  /// Do not count as a watcher. Set it in programs that store widgets but do not show them.
  public var isPassive: Bool
  /// The maximum number of next entries to deliver with their content, for each widget with a
  /// timeline or schedule. At most 60. `WidgetMirror.advance(to:)` shows them at their dates.
  public var upcomingEntries: Int
  /// Get a redacted view, for a screen that everybody sees: private nodes and the data of widgets are not
  /// sent. Not with `includeEvents`.
  public var isRedacted: Bool
  /// The time for which a change waits for changes that follow it, at most 10 s. Several changes in
  /// a row are then one frame. Changes within a second after an event of a selected widget do not
  /// wait.
  public var batchDelay: Duration?
  /// Continue after the frame with this token, without a snapshot. The token must come from a watch
  /// with the same selector, mask and family. If that is no longer possible, `reset` and a snapshot
  /// come.
  public var resumeToken: [UInt8]
  /// The retry policy after a lost connection.
  public var retry: RetryPolicy
  /// How the watch notices a daemon that does not answer. Nil: not at all.
  public var liveness: LivenessPolicy?
  /// Metadata to send when the stream is opened.
  public var metadata: [MetadataEntry]

  public init(
    selector: Selector = Selector(), readMask: ReadMask = .all, minInterval: Duration? = nil,
    progressInterval: Duration? = nil, includeEvents: Bool = false, afterSequence: UInt64? = nil,
    resumeToken: [UInt8] = [], retry: RetryPolicy = .forever,
    metadata: [MetadataEntry] = [], contentFamily: Family? = nil, includeTheme: Bool = false,
    isPassive: Bool = false, upcomingEntries: Int = 0, isRedacted: Bool = false,
    liveness: LivenessPolicy? = .patient, batchDelay: Duration? = nil
  ) {
    self.liveness = liveness
    self.batchDelay = batchDelay
    self.isRedacted = isRedacted
    self.upcomingEntries = upcomingEntries
    self.isPassive = isPassive
    self.contentFamily = contentFamily
    self.includeTheme = includeTheme
    self.selector = selector
    self.readMask = readMask
    self.minInterval = minInterval
    self.progressInterval = progressInterval
    self.includeEvents = includeEvents
    self.afterSequence = afterSequence
    self.resumeToken = resumeToken
    self.retry = retry
    self.metadata = metadata
  }
}

/// The events to watch, and the options of the watch.
public struct WatchEventsOptions: Sendable {
  /// Events of which widgets, the ones to come included.
  public var selector: Selector
  /// Only events with one of these names; empty means all.
  public var names: [String]
  /// Start after this event instead of now. Deleted events are reported as a gap.
  public var afterSequence: UInt64?
  /// The retry policy after a lost connection.
  public var retry: RetryPolicy
  /// How the watch notices a daemon that does not answer. Nil: not at all.
  public var liveness: LivenessPolicy?
  /// Metadata to send when the stream is opened.
  public var metadata: [MetadataEntry]

  public init(
    selector: Selector = Selector(), names: [String] = [], afterSequence: UInt64? = nil,
    retry: RetryPolicy = .forever, metadata: [MetadataEntry] = [],
    liveness: LivenessPolicy? = .patient
  ) {
    self.liveness = liveness
    self.selector = selector
    self.names = names
    self.afterSequence = afterSequence
    self.retry = retry
    self.metadata = metadata
  }
}
