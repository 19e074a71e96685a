import Testing
import WidgetModel
import WidgetProto

/// The state of a watch's reader, built from its frames alone. It checks the guarantees of the
/// protocol for every frame, and throws if one is broken.
struct Mirror {
  private(set) var widgets: [WidgetID: Widget] = [:]
  private(set) var revision: Revision = 0
  private(set) var token: [UInt8] = []
  private(set) var subscriptionID: UInt64 = 0
  private(set) var epoch: UInt64 = 0
  private(set) var isSynced = false
  private(set) var events: [Event] = []
  private(set) var gaps: [ClosedRange<UInt64>] = []
  /// The number of applied change sets, and of their frames.
  private(set) var changeSets = 0
  private(set) var changeFrames = 0
  private(set) var snapshotFrames = 0
  private(set) var lastChanges: [WidgetChange] = []
  private var pending: [WidgetChange] = []
  private var pendingFrom: Revision?
  private(set) var isOpen = false
  private(set) var theme: ThemeState?
  /// The daemon's last reason why the store takes no changes.
  private(set) var storeFailure: StoreFailure?
  /// The last received next entries of widgets.
  private(set) var upcoming: [WidgetID: UpcomingEntries] = [:]
  private var lastSequence: UInt64 = 0

  /// The state after a lost connection: all complete changes.
  mutating func reopen() {
    pending = []
    pendingFrom = nil
    isOpen = false
    theme = nil
    if !isSynced { widgets = [:] }
  }

  mutating func apply(_ frame: WatchWidgetsResponse) throws {
    if case .opened(let opened) = frame {
      guard !isOpen else { throw TestFault("opened twice") }
      guard opened.revision >= revision else { throw TestFault("opened in the past") }
      (isOpen, subscriptionID, epoch) = (true, opened.subscriptionID, opened.epoch)
      return
    }
    guard isOpen else { throw TestFault("the first frame is not opened: \(frame)") }
    switch frame {
    case .opened, .unknown: throw TestFault("unexpected frame \(frame)")
    case .theme(let theme):
      guard theme.revision >= self.theme?.revision ?? 0 else { throw TestFault("an older theme") }
      guard theme.revision > revision || self.theme == nil else {
        throw TestFault("a theme of \(theme.revision) after changes up to \(revision)")
      }
      self.theme = theme
    case .store(let store): storeFailure = store.failure
    case .upcoming(let frame):
      for widget in frame.widgets { upcoming[widget.id] = widget }
    case .snapshot(let chunk): try apply(chunk)
    case .synced(let synced):
      guard !isSynced else { throw TestFault("synced twice") }
      guard !synced.resumeToken.isEmpty else { throw TestFault("synced without a token") }
      (isSynced, revision, token) = (true, synced.revision, synced.resumeToken)
    case .changes(let set): try apply(set)
    case .events(let batch):
      guard !batch.events.isEmpty else { throw TestFault("no events in a batch") }
      for event in batch.events {
        guard event.sequence > lastSequence else {
          throw TestFault("event \(event.sequence) after \(lastSequence)")
        }
        lastSequence = event.sequence
        events.append(event)
      }
    case .gap(let gap):
      guard gap.firstSequence > lastSequence, gap.lastSequence >= gap.firstSequence else {
        throw TestFault("gap \(gap) after \(lastSequence)")
      }
      lastSequence = gap.lastSequence
      gaps.append(gap.firstSequence...gap.lastSequence)
    case .progress(let progress):
      guard isSynced, pendingFrom == nil else { throw TestFault("progress within something") }
      guard progress.revision >= revision else { throw TestFault("progress goes back") }
      guard !progress.resumeToken.isEmpty else { throw TestFault("progress without a token") }
      (revision, token) = (progress.revision, progress.resumeToken)
      lastSequence = max(lastSequence, progress.lastSequence)
    }
  }

  private mutating func apply(_ chunk: SnapshotChunk) throws {
    guard !isSynced else { throw TestFault("a snapshot frame after synced") }
    snapshotFrames += 1
    for widget in chunk.widgets {
      widgets[widget.id] = widget
      upcoming[widget.id] = nil
    }
    for id in chunk.removedIDs { widgets[id] = nil }
  }

  private mutating func apply(_ set: ChangeSet) throws {
    guard isSynced else { throw TestFault("changes before synced") }
    guard set.fromRevision >= revision else {
      throw TestFault("changes from \(set.fromRevision), but \(revision) was sent: an overlap")
    }
    if let pendingFrom, pendingFrom != set.fromRevision {
      throw TestFault("a split set goes from \(pendingFrom) to \(set.fromRevision)")
    }
    let ids = set.changes.map(\.id)
    guard Set(ids).count == ids.count else { throw TestFault("a widget twice in a frame: \(ids)") }
    changeFrames += 1
    pending += set.changes
    guard !set.more else {
      guard set.toRevision == 0, set.resumeToken.isEmpty else {
        throw TestFault("a frame with more to come says it is the end")
      }
      pendingFrom = set.fromRevision
      return
    }
    guard set.toRevision > set.fromRevision, !set.resumeToken.isEmpty else {
      throw TestFault("changes from \(set.fromRevision) to \(set.toRevision)")
    }
    let before = widgets
    for change in pending { try apply(change, upTo: set.toRevision) }
    for change in pending where ids.contains(change.id) {
      guard let old = before[change.id], let new = widgets[change.id] else { continue }
      guard
        new.revision > old.revision || new.createdRevision > old.createdRevision
          || new.revision == old.revision && new == old
      else { throw TestFault("\(change.id) went from \(old.revision) to \(new.revision)") }
    }
    for change in set.changes { upcoming[change.id] = nil }
    lastChanges = pending
    pending = []
    pendingFrom = nil
    changeSets += 1
    (revision, token) = (set.toRevision, set.resumeToken)
  }

  private mutating func apply(_ change: WidgetChange, upTo limit: Revision) throws {
    switch change {
    case .added(let widget, _):
      guard widget.revision <= limit else { throw TestFault("\(widget.id) is from the future") }
      widgets[widget.id] = widget
    case .updated(let update):
      guard update.revision <= limit else { throw TestFault("\(update.id) is from the future") }
      guard widgets[update.id] != nil else { throw TestFault("\(update.id) was never added") }
      widgets[update.id]?.apply(update)
    case .removed(let id, _): widgets[id] = nil
    }
  }
}

extension WidgetChange {
  var id: WidgetID {
    switch self {
    case .added(let widget, _): widget.id
    case .updated(let update): update.id
    case .removed(let id, _): id
    }
  }
}

/// A stream ended well while more was expected of it.
struct StreamEnded: Error {}

/// A mirror and the stream that feeds it.
final class Watcher {
  let client: RawClient
  let stream: RawStream<WatchWidgetsResponse>
  var mirror: Mirror

  init(
    _ client: RawClient, _ request: WatchWidgetsRequest = WatchWidgetsRequest(),
    mirror: Mirror = Mirror()
  ) throws {
    self.client = client
    self.mirror = mirror
    stream = try client.watch(request)
  }

  /// Reads and applies one frame.
  @discardableResult
  func step() throws -> WatchWidgetsResponse {
    guard let frame = try stream.next() else { throw StreamEnded() }
    try mirror.apply(frame)
    return frame
  }

  @discardableResult
  func sync() throws -> Self {
    while !mirror.isSynced || !mirror.isOpen { try step() }
    return self
  }

  /// Reads until everything up to a revision has been sent. Asks for progress as often as needed.
  @discardableResult
  func catchUp(to revision: Revision) throws -> Self {
    try sync()
    while mirror.revision < revision {
      try client.requestProgress(mirror.subscriptionID)
      while true { if case .progress = try step() { break } }
    }
    return self
  }

  /// Reads up to the next change set's end and returns its changes.
  func nextChanges() throws -> [WidgetChange] {
    let before = mirror.changeSets
    while mirror.changeSets == before { try step() }
    return mirror.lastChanges
  }

  /// Reads until there are that many events.
  func events(_ count: Int) throws -> [Event] {
    while mirror.events.count < count { try step() }
    return mirror.events
  }
}
