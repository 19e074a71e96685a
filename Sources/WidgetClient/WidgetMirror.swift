public import WidgetModel
import WidgetProto

/// A local copy of the widgets that a watch selects, fed with the watch's frames.
///
/// A plain value: `apply` takes a frame, changes the copy and returns the visible changes, if any.
/// The visible state is always the daemon's state at exactly one revision:
///
/// - Snapshot chunks are not visible until `synced`, which makes all of them visible at once. State
///   that was visible before (after a `reset`) stays until then, and the difference is reported.
/// - Pieces of a change set (`more`) are not visible until the last one, which makes all of them
///   visible.
/// - Collected pieces are dropped when a connection is lost: the daemon sends them again.
/// - With `WatchOptions.upcomingEntries`, call `advance(to:)` at `nextDate`. The widgets of that
///   date then show their next entry, also without a connection.
///
/// The content of a visible widget is a table (`Content.table`): looking up a node costs O(1), and a
/// change costs as much as the nodes that it changes. `Difference.contents` names these nodes.
public struct WidgetMirror: Hashable, Sendable {
  /// The visible changes.
  public struct Difference: Hashable, Sendable {
    /// Widgets that appeared, in display order.
    public var added: [WidgetID] = []
    /// Changed widgets, in display order.
    public var updated: [WidgetID] = []
    /// The nodes that changed, for each of `updated` whose content changed. A widget that a
    /// snapshot or `added` replaced is compared with its visible state.
    public var contents: [WidgetID: ContentDifference] = [:]
    /// Removed widgets in their last state, in display order.
    public var removed: [Widget] = []
    /// The animations of the widgets that came with a hint.
    public var transitions: [WidgetID: Transition] = [:]
    /// Whether the order of the remaining widgets has changed.
    public var isReordered = false

    /// Whether the difference has no visible change.
    public var isEmpty: Bool {
      added.isEmpty && updated.isEmpty && removed.isEmpty && !isReordered
    }

    public init() {}
  }

  /// A frame that does not fit the earlier frames. The mirror is unchanged; watch again without a
  /// resume token.
  public enum Inconsistency: Error, Hashable, Sendable, CustomStringConvertible {
    /// A change of a widget that the mirror does not have.
    case unknownWidget(WidgetID)
    /// Changes start before the visible revision, or at another revision than the pieces before
    /// them.
    case unexpectedRevision(from: Revision, visible: Revision)
    /// Changes came before the first snapshot was complete.
    case notSynced

    public var description: String {
      switch self {
      case .unknownWidget(let id): "the widget \(id) changed, but the mirror does not have it"
      case .unexpectedRevision(let from, let visible):
        "changes after revision \(from) came at revision \(visible)"
      case .notSynced: "changes came before the snapshot was complete"
      }
    }
  }

  /// Whether a state is visible: false until the first snapshot is complete.
  public private(set) var isSynced = false
  /// Whether frames flow; false after `disconnected`, until the stream is open again.
  public private(set) var isConnected = false
  /// The reason why the daemon's store takes no changes, so that widgets may be old. Nil if it
  /// takes them.
  public private(set) var storeFailure: StoreFailure?
  /// Whether the widgets have the daemon's present state, and the daemon takes changes.
  public var isCurrent: Bool { isConnected && storeFailure == nil }
  /// The revision of the visible state.
  public private(set) var revision: Revision = 0
  /// The store's epoch, from the daemon's last frame with it.
  public private(set) var epoch: UInt64 = 0
  /// The token that resumes a watch after the visible state; empty if nothing is visible.
  public private(set) var resumeToken: [UInt8] = []

  private var visible: [WidgetID: Widget] = [:]
  /// The visible ids in display order.
  private var order: [WidgetID] = []
  /// The snapshot so far, while one arrives.
  private var snapshot: [WidgetID: Widget]?
  /// The change set so far, while its pieces arrive.
  private var pieces: (from: Revision, changes: [WidgetChange])? {
    get { piecesFrom.map { ($0, pieceChanges) } }
    set {
      piecesFrom = newValue?.from
      pieceChanges = newValue?.changes ?? []
    }
  }
  private var piecesFrom: Revision?
  private var pieceChanges: [WidgetChange] = []
  /// The upcoming content of visible widgets.
  private var upcoming = UpcomingTable()
  /// The upcoming entries that came with frames that are not visible yet.
  private var collectedUpcoming = UpcomingTable()
  /// The daemon's state of widgets that `advance(to:)` has changed since. The daemon's changes
  /// start from there.
  private var sent: [WidgetID: Widget] = [:]

  public init() {}

  /// The number of visible widgets.
  public var count: Int { visible.count }

  /// The visible widgets in display order: by position, then by id.
  public var widgets: [Widget] { order.compactMap { visible[$0] } }

  /// The ids of the visible widgets in display order.
  public var ids: [WidgetID] { order }

  /// One visible widget.
  public subscript(id: WidgetID) -> Widget? { visible[id] }

  /// Takes the watch's next frame.
  ///
  /// - Returns: the visible changes; nil if this frame made nothing visible (it may still have
  ///   moved `revision`). Empty if a snapshot equals the state that was visible before.
  /// - Throws: if the frame does not fit; the mirror is then unchanged.
  public mutating func apply(_ frame: WatchFrame) throws(Inconsistency) -> Difference? {
    switch frame {
    case .opened(let opened):
      // This stream sends all unfinished pieces of an earlier stream again.
      snapshot = nil
      pieces = nil
      collectedUpcoming = UpcomingTable()
      epoch = opened.epoch
      isConnected = true
      storeFailure = nil
      return nil
    case .store(let store):
      storeFailure = store.failure
      return nil
    case .snapshot(let chunk):
      var next = snapshot ?? [:]
      for var widget in chunk.widgets {
        widget.content?.makeTable()
        next[widget.id] = widget
        collectedUpcoming.drop(widget.id)
      }
      for id in chunk.removedIDs {
        next[id] = nil
        collectedUpcoming.drop(id)
      }
      snapshot = next
      return nil
    case .synced(let synced):
      let difference = replace(with: snapshot ?? [:])
      snapshot = nil
      sent = [:]
      (upcoming, collectedUpcoming) = (collectedUpcoming, UpcomingTable())
      isSynced = true
      revision = synced.revision
      resumeToken = synced.resumeToken
      return difference
    case .changes(let set):
      return try apply(set)
    case .progress(let progress):
      guard isSynced else { return nil }
      revision = max(revision, progress.revision)
      if !progress.resumeToken.isEmpty { resumeToken = progress.resumeToken }
      return nil
    case .upcoming(let frame):
      if !isSynced || snapshot != nil || piecesFrom != nil {
        collectedUpcoming.take(frame)
      } else {
        upcoming.take(frame)
      }
      return nil
    case .disconnected:
      isConnected = false
      return nil
    case .reconnected:
      isConnected = true
      return nil
    case .reset, .events, .gap, .theme:
      return nil
    }
  }

  private mutating func apply(_ set: ChangeSet) throws(Inconsistency) -> Difference? {
    guard isSynced else { throw .notSynced }
    guard set.fromRevision >= revision, pieces.map({ $0.from == set.fromRevision }) ?? true else {
      throw .unexpectedRevision(from: set.fromRevision, visible: revision)
    }
    let changes = (pieces?.changes ?? []) + set.changes
    guard !set.more else {
      for change in set.changes { collectedUpcoming.drop(change.widgetID) }
      pieces = (set.fromRevision, changes)
      return nil
    }
    let difference: Difference
    if let updated = try update(with: changes) {
      difference = updated
    } else {
      let (next, result) = try result(of: changes)
      show(next)
      difference = result
    }
    for change in set.changes { collectedUpcoming.drop(change.widgetID) }
    for change in changes {
      sent[change.widgetID] = nil
      upcoming.drop(change.widgetID)
    }
    upcoming.take(collectedUpcoming)
    collectedUpcoming = UpcomingTable()
    pieces = nil
    revision = set.toRevision
    resumeToken = set.resumeToken
    return difference
  }

  // MARK: - Time

  /// The date of the next `advance(to:)`; nil if there are no upcoming entries, or if the daemon's
  /// clock is fake. O(widgets).
  public var nextDate: Timestamp? { upcoming.nextDate }

  /// Shows the entries whose date has come. Neither the revision nor the resume token moves.
  ///
  /// - Returns: the changes; nil if there are none.
  public mutating func advance(to now: Timestamp) -> Difference? {
    var result = Difference()
    var updated: Set<WidgetID> = []
    for flip in upcoming.takeDue(at: now) {
      guard let before = visible[flip.id] else { continue }
      var widget = before
      if flip.shown.content != nil { widget.content = flip.shown.content }
      widget.content?.makeTable()
      widget.timeline?.current = flip.shown.entry
      widget.timeline?.nextTime = flip.nextDate
      guard widget != before else { continue }
      if sent[flip.id] == nil { sent[flip.id] = before }
      visible[flip.id] = widget
      updated.insert(flip.id)
      let nodes = ContentDifference(from: before.content, to: widget.content)
      if !nodes.isEmpty { result.contents[flip.id] = nodes }
    }
    guard !updated.isEmpty else { return nil }
    result.updated = order.filter { updated.contains($0) }
    return result
  }

  /// Applies changes that keep all positions. The cost is proportional to the changes. Does nothing
  /// and returns nil if a change adds, removes or moves a widget.
  private mutating func update(
    with changes: [WidgetChange]
  ) throws(Inconsistency) -> Difference? {
    for change in changes {
      guard case .updated(let update) = change, update.position == nil else { return nil }
      guard visible[update.id] != nil else { throw .unknownWidget(update.id) }
    }
    var result = Difference()
    let repeated = compared(in: changes)
    var before: [WidgetID: Widget] = [:]
    for case .updated(let update) in changes {
      let id = update.id
      if before[id] == nil {
        before[id] = visible[id]
        // No copy of the content is kept, so that it changes in place.
        if !repeated.contains(id) { before[id]?.content = nil }
        if let widget = sent[id] { visible[id] = widget }
      }
      let nodes = visible[id]?.apply(update)
      if !repeated.contains(id) { result.contents[id] = nodes }
      if let transition = update.transition { result.transitions[id] = transition }
    }
    for id in repeated {
      result.contents[id] = ContentDifference(from: before[id]?.content, to: visible[id]?.content)
      before[id]?.content = nil
    }
    result.contents = result.contents.filter { !$0.value.isEmpty }
    let updated = before.filter { id, old in
      var now = visible[id]
      now?.content = nil
      return now != old || result.contents[id] != nil
    }.keys
    result.updated = updated.count < 2 ? Array(updated) : order.filter { updated.contains($0) }
    return result
  }

  /// The widgets whose nodes have to be compared, because the daemon's changes are not all changes.
  private func compared(in changes: [WidgetChange]) -> Set<WidgetID> {
    let repeated = WidgetMirror.repeatedIDs(in: changes)
    guard !sent.isEmpty else { return repeated }
    return repeated.union(changes.map(\.widgetID).filter { sent[$0] != nil })
  }

  /// The widgets that several changes are about.
  private static func repeatedIDs(in changes: [WidgetChange]) -> Set<WidgetID> {
    guard changes.count > 1 else { return [] }
    var seen: Set<WidgetID> = []
    var repeated: Set<WidgetID> = []
    for change in changes where !seen.insert(change.widgetID).inserted {
      repeated.insert(change.widgetID)
    }
    return repeated
  }

  /// Applies the changes to the visible state. Several pieces may name the same widget.
  private func result(
    of changes: [WidgetChange]
  ) throws(Inconsistency) -> (next: [WidgetID: Widget], difference: Difference) {
    var next = visible
    var touched: Set<WidgetID> = []
    var transitions: [WidgetID: Transition] = [:]
    // The nodes are known only for widgets that were updated once. Other widgets are compared.
    var contents: [WidgetID: ContentDifference] = [:]
    let repeated = compared(in: changes)
    for change in changes {
      if let widget = sent[change.widgetID], touched.insert(change.widgetID).inserted {
        next[change.widgetID] = widget
      }
      switch change {
      case .added(var widget, let transition):
        widget.content?.makeTable()
        next[widget.id] = widget
        touched.insert(widget.id)
        transitions[widget.id] = transition
      case .updated(let update):
        guard next[update.id] != nil else { throw .unknownWidget(update.id) }
        let nodes = next[update.id]?.apply(update)
        if !repeated.contains(update.id) { contents[update.id] = nodes }
        touched.insert(update.id)
        if let transition = update.transition { transitions[update.id] = transition }
      case .removed(let id, let transition):
        next[id] = nil
        touched.insert(id)
        transitions[id] = transition
      }
    }
    var result = difference(to: next, touched: touched, contents: contents)
    result.transitions = transitions.filter { visible[$0.key] != nil || next[$0.key] != nil }
    return (next, result)
  }

  private mutating func replace(with next: [WidgetID: Widget]) -> Difference {
    let result = difference(to: next, touched: Set(visible.keys).union(next.keys), contents: [:])
    show(next)
    return result
  }

  private mutating func show(_ next: [WidgetID: Widget]) {
    order = WidgetMirror.order(of: next)
    visible = next
  }

  /// The difference of `touched` widgets; `contents` has the nodes of those where they are known.
  private func difference(
    to next: [WidgetID: Widget], touched: Set<WidgetID>, contents: [WidgetID: ContentDifference]
  ) -> Difference {
    var result = Difference()
    let nextOrder = WidgetMirror.order(of: next)
    for id in nextOrder where touched.contains(id) {
      if let before = visible[id] {
        guard before != next[id] else { continue }
        result.updated.append(id)
        let nodes = contents[id] ?? ContentDifference(from: before.content, to: next[id]?.content)
        if !nodes.isEmpty { result.contents[id] = nodes }
      } else {
        result.added.append(id)
      }
    }
    result.removed = order.compactMap { next[$0] == nil ? visible[$0] : nil }
    result.isReordered =
      order.filter { next[$0] != nil } != nextOrder.filter { visible[$0] != nil }
    return result
  }

  private static func order(of widgets: [WidgetID: Widget]) -> [WidgetID] {
    widgets.values.sorted { a, b in
      a.position == b.position
        ? a.id.rawValue.precedesByBytes(b.id.rawValue) : a.position < b.position
    }.map(\.id)
  }
}

extension WidgetChange {
  fileprivate var widgetID: WidgetID {
    switch self {
    case .added(let widget, _): widget.id
    case .updated(let update): update.id
    case .removed(let id, _): id
    }
  }
}
