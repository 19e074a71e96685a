import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

/// Makes the frames of streams: each frame once for all streams with the same request.
final class FrameMaker {
  let context: ServiceContext
  /// See `WidgetServer.Configuration.releaseMemory`.
  private let releaseMemory: @Sendable (WidgetServer.ReleasedMemory) -> Void
  private var nextReleaseAt = NIODeadline.uptimeNanoseconds(0)
  private var encodedWidgets = EncodedWidgets(bytesMax: FrameMaker.encodedBytesMax)
  /// The bytes of the chunk frames that all groups keep.
  private let chunkBudget = ChunkFrameBudget(bytesMax: FrameMaker.chunkFrameBytesMax)
  let horizonBudget = HorizonBudget(datesMax: FrameMaker.horizonDatesMax)
  let horizons = GroupHorizons()
  /// The dates of embeds, until the end of the round.
  var embeddedDates = EmbeddedDates()
  /// The groups that keep change frames or event frames.
  private var keepers: [WatchGroup] = []
  /// The number of caches that wait to be freed, and the bytes freed since memory was given back.
  private var waitingToFree = 0
  private var freedBytes = 0
  /// Whether something waits to free the encoded widgets.
  private var isEncodedKept = false
  /// The last use of encoded widgets.
  private var encodedUsedAt = NIODeadline.uptimeNanoseconds(0)
  /// The theme, encoded for streams.
  private var theme: (revision: Revision, message: EncodedMessage)?

  init(
    _ context: ServiceContext,
    releaseMemory: @escaping @Sendable (WidgetServer.ReleasedMemory) -> Void
  ) {
    self.context = context
    self.releaseMemory = releaseMemory
  }

  /// The current theme. Nil if it is too large for a frame.
  func themeMessage() -> EncodedMessage? {
    let revision = context.store.theme.revision
    if theme?.revision != revision {
      theme = context.encode(WatchWidgetsResponse.theme(ThemeState(context.store.theme)))
        .map { (revision, $0) }
    }
    return theme?.message
  }

  func token(_ group: WatchGroup, _ revision: Revision) -> [UInt8] {
    ResumeToken(epoch: context.store.epoch, filterHash: group.filterHash, revision: revision).bytes
  }

  /// Change frames from a cursor to now; nil if the cursor is too old, or a frame too large.
  func changeMessages(_ group: WatchGroup, since cursor: Revision) -> [EncodedMessage]? {
    if let kept = group.changes.frames(since: cursor, to: context.store.revision) { return kept }
    guard
      let delta = try? context.store.changes(
        since: cursor, selecting: group.filter.selector, taking: group.content)
    else { return nil }
    let changes = filter(delta.changes, for: group)
    guard
      let messages = changes.isEmpty
        ? [] : changeMessages(group, changes, from: cursor, to: delta.toRevision)
    else { return nil }
    willKeep(group)
    group.changes.keep(messages, since: cursor)
    return messages
  }

  /// The group will keep frames until the end of the turn.
  func willKeep(_ group: WatchGroup) {
    if group.changes.count == 0, group.events == nil { keepers.append(group) }
  }

  /// Forgets the dates of embeds, and the change frames and the event frames of all groups. There can
  /// be thousands of groups, so it looks only at those with frames.
  func forgetShared() {
    embeddedDates = EmbeddedDates()
    for group in keepers {
      group.changes.removeAll()
      group.events = nil
    }
    keepers.removeAll(keepingCapacity: true)
  }

  private func filter(_ changes: [WidgetChange], for group: WatchGroup) -> [WidgetChange] {
    guard !group.filter.mask.isEverything else { return changes }
    return changes.compactMap { change in
      switch change {
      case .added, .removed: change
      case .updated(let update): filter(update, for: group).map { .updated($0) }
      }
    }
  }

  /// The update without unwanted parts; nil if nothing remains. An update without parts remains if
  /// it can change entries that the readers have in advance.
  private func filter(_ update: WidgetUpdate, for group: WatchGroup) -> WidgetUpdate? {
    if let wanted = group.filter.mask.filter(update) { return wanted }
    guard group.filter.upcomingEntries > 0,
      update.timeline != nil || context.store.hasTimeline(update.id)
    else { return nil }
    return WidgetUpdate(id: update.id, revision: update.revision, updateTime: .epoch)
  }

  /// Change frames with `more` on all but the last; `to` is nil if even the last has more.
  func changeMessages(
    _ group: WatchGroup, _ changes: [WidgetChange], from: Revision, to: Revision?
  ) -> [EncodedMessage]? {
    let messages = split(changes, group.filter.mask) { piece, isLast in
      let isEnd = isLast && to != nil
      return WatchWidgetsResponse.changes(
        ChangeSet(
          fromRevision: from, toRevision: isEnd ? to ?? 0 : 0, changes: Array(piece),
          more: !isEnd, resumeToken: isEnd ? token(group, to ?? 0) : []))
    }
    return messages.map { $0 + upcomingMessages(group, of: changes) }
  }

  /// The next frames of a transfer: a chunk, or a part of one with much state; nil if a frame would
  /// be too large. Moves the transfer on.
  func chunkMessages(
    _ group: WatchGroup, _ transfer: inout StreamCursor.Transfer
  ) -> [EncodedMessage]? {
    let (chunk, slot) = (transfer.nextChunk, transfer.nextSlot)
    let selector = group.filter.selector
    guard transfer.isSnapshot, transfer.passes == 1 else {
      let isShared = slot == 0 && !transfer.isSnapshot && transfer.passes == 1
      let shared = isShared ? group.transfers(since: transfer.cursor) : nil
      if let shared {
        use(shared) { [weak group, weak shared] in
          if let shared { group?.dropTransfers(shared) }
        }
        let revision = context.store.chunkRevision(chunk)
        if let kept = shared.frames(of: chunk, changedAt: revision) {
          transfer.advance(to: nil)
          return kept
        }
      }
      let (changes, next) = context.store.changes(
        inChunk: chunk, from: slot, bytesMax: context.limits.eagerBytesMax,
        countMax: group.widgetsAtOnceMax, since: transfer.passSince,
        isFirstPass: transfer.passes == 1, selecting: selector,
        taking: group.content)
      transfer.advance(to: next)
      if transfer.isSnapshot { return snapshotMessages(changes, group) }
      let wanted = filter(changes, for: group)
      let messages =
        wanted.isEmpty ? [] : changeMessages(group, wanted, from: transfer.cursor, to: nil)
      if let shared, next == nil, let messages {
        shared.keep(messages, of: chunk, at: context.store.revision, within: chunkBudget)
      }
      return messages
    }
    use(group.snapshots)
    if slot == 0,
      let kept = group.snapshots.frames(of: chunk, changedAt: context.store.chunkRevision(chunk))
    {
      transfer.advance(to: nil)
      return kept
    }
    let sharesWidgets = group.sharesWidgets
    if sharesWidgets { keepEncodedWidgets() }
    let (mask, getsUpcoming) = (group.filter.mask, group.filter.upcomingEntries > 0)
    var widgets: [Widget] = []
    // Nil after a widget that is too large for a frame.
    var chunks: [[UInt8]]? = []
    let next = context.store.forEachWidget(
      ofChunk: chunk, from: slot, bytesMax: context.limits.eagerBytesMax,
      countMax: group.widgetsAtOnceMax, selecting: selector, taking: group.content,
      unless: { slot, revision in
        guard sharesWidgets, let kept = encodedWidgets.chunk(at: slot, revision) else {
          return false
        }
        chunks?.append(kept)
        return true
      }
    ) { widget, slot in
      if getsUpcoming { widgets.append(widget) }
      guard chunks != nil, let chunk = encoded(widget, mask) else { return chunks = nil }
      if sharesWidgets { encodedWidgets.keep(chunk, at: slot, widget.revision) }
      chunks?.append(chunk)
    }
    transfer.advance(to: next)
    guard let chunks else { return nil }
    let messages = snapshotMessages(joining: chunks) + upcomingMessages(group, of: widgets)
    if slot == 0, next == nil {
      group.snapshots.keep(
        messages, of: chunk, at: context.store.revision, within: chunkBudget)
    }
    return messages
  }

  /// The next removals of a transfer, up to a revision; nil if they are forgotten, or a frame would
  /// be too large. Moves the transfer on.
  func removalMessages(
    _ group: WatchGroup, _ transfer: inout StreamCursor.Transfer, through end: Revision
  ) -> [EncodedMessage]? {
    guard
      let (changes, next) = try? context.store.removals(
        from: transfer.removals, through: end, readerHeldUpTo: transfer.cursor,
        transferStartedAt: transfer.startedAt, atMost: context.limits.eagerChangesMax,
        selecting: group.filter.selector)
    else { return nil }
    transfer.sentRemovals(upTo: next)
    if transfer.isSnapshot { return snapshotMessages(changes, group) }
    return changes.isEmpty ? [] : changeMessages(group, changes, from: transfer.cursor, to: nil)
  }

  // MARK: - What is kept for the next reader

  /// Keeps a group's chunk frames for as long as readers come in quick succession.
  private func use(_ frames: ChunkFrames, atEnd: @escaping () -> Void = {}) {
    guard frames.use(at: .now()) else { return }
    free(after: .seconds(1), unusedSince: { [weak frames] in frames?.usedAt }) { [weak frames] in
      atEnd()
      return frames?.expire() ?? 0
    }
  }

  /// Keeps encoded widgets a little longer: a bar that is started again finds them.
  private func keepEncodedWidgets() {
    encodedUsedAt = .now()
    guard !isEncodedKept else { return }
    isEncodedKept = true
    free(after: FrameMaker.encodedKept, unusedSince: { [weak self] in self?.encodedUsedAt }) {
      [weak self] in
      guard let self else { return 0 }
      defer {
        encodedWidgets.removeAll()
        isEncodedKept = false
      }
      return encodedWidgets.byteCount
    }
  }

  /// Forgets the encoded widgets, because their state was rolled back.
  func forgetEncoded() { encodedWidgets.removeAll() }

  /// Frees a cache that was unused for some time. Waits longer if the cache is used meanwhile.
  ///
  /// - Parameter unusedSince: The time of the last use; nil if nothing is left to free.
  /// - Parameter body: Returns how many bytes it frees.
  private func free(
    after idle: TimeAmount, unusedSince: @escaping () -> NIODeadline?, _ body: @escaping () -> Int
  ) {
    guard let used = unusedSince() else { return }
    waitingToFree += 1
    context.schedule(at: used + idle) {
      self.waitingToFree -= 1
      if let used = unusedSince(), used + idle > .now() {
        return self.free(after: idle, unusedSince: unusedSince, body)
      }
      self.freedBytes += body()
      // Memory is given back once for all freed caches, because it is given back at most once a
      // minute.
      guard self.waitingToFree == 0 else { return }
      self.releaseMemory(afterFreeing: self.freedBytes)
      self.freedBytes = 0
    }
  }

  /// Gives memory back to the system after a large snapshot. It does so rarely, because the system
  /// then has to load the code in use again.
  private func releaseMemory(afterFreeing bytes: Int) {
    let instant = NIODeadline.now()
    guard bytes >= FrameMaker.releasedBytesMin, instant >= nextReleaseAt else { return }
    nextReleaseAt = instant + .seconds(60)
    releaseMemory(.freedAndCode)
  }

  private static var releasedBytesMin: Int { 1 << 20 }
  /// The most bytes of widgets that are kept encoded.
  private static var encodedBytesMax: Int { 16 << 20 }
  /// The most bytes of chunk frames that all groups keep: those of two or three groups with 45,000
  /// widgets of 100 bytes.
  private static var chunkFrameBytesMax: Int { 32 << 20 }
  /// About 16 MiB.
  private static var horizonDatesMax: Int { 128 << 10 }
  private static var encodedKept: TimeAmount { .seconds(3) }

  /// The changes, as parts of a snapshot: whole widgets, and ids of removed ones.
  private func snapshotMessages(
    _ changes: [WidgetChange], _ group: WatchGroup
  ) -> [EncodedMessage]? {
    let mask = group.filter.mask
    var widgets: [Widget] = []
    var removed: [WidgetID] = []
    for change in changes {
      switch change {
      case .added(let widget, _): widgets.append(widget)
      case .updated(let update):
        if let widget = context.store.widget(update.id, taking: group.content) {
          widgets.append(widget)
        }
      case .removed(let id, _): removed.append(id)
      }
    }
    var messages: [EncodedMessage] = []
    if !widgets.isEmpty {
      guard let chunks = encoded(widgets, mask) else { return nil }
      let frames = snapshotMessages(joining: chunks)
      messages += frames + upcomingMessages(group, of: widgets)
    }
    if !removed.isEmpty {
      let frames = split(removed, .all) { piece, _ in
        WatchWidgetsResponse.snapshot(SnapshotChunk(removedIDs: Array(piece)))
      }
      guard let frames else { return nil }
      messages += frames
    }
    return messages
  }

  /// Widgets as parts of a snapshot; nil if one of them is too large for a frame.
  private func encoded(_ widgets: [Widget], _ mask: ReadMask) -> [[UInt8]]? {
    var chunks: [[UInt8]] = []
    chunks.reserveCapacity(widgets.count)
    for widget in widgets {
      guard let chunk = encoded(widget, mask) else { return nil }
      chunks.append(chunk)
    }
    return chunks
  }

  private func encoded(_ widget: Widget, _ mask: ReadMask) -> [UInt8]? {
    guard let bytes = try? context.codec.encodeChunk(of: widget, mask: mask),
      SnapshotFrame.byteCount(of: bytes.count) <= FrameHeader.frameDataBytesMax
    else { return nil }
    return bytes
  }

  /// Frames with as many parts as fit into `frameBytesTarget`, but at least one part each.
  private func snapshotMessages(joining chunks: [[UInt8]]) -> [EncodedMessage] {
    let target = context.limits.frameBytesTarget
    var messages: [EncodedMessage] = []
    var rest = chunks[...]
    while !rest.isEmpty {
      var (count, bytes) = (0, 0)
      for chunk in rest {
        guard count == 0 || SnapshotFrame.byteCount(of: bytes + chunk.count) <= target else {
          break
        }
        count += 1
        bytes += chunk.count
      }
      let piece = rest.prefix(count)
      messages.append(
        EncodedMessage(byteCount: SnapshotFrame.byteCount(of: bytes)) {
          SnapshotFrame.write(joining: piece, byteCount: bytes, to: $0)
        })
      context.counters.countEncodedFrame()
      rest = rest[piece.endIndex...]
    }
    return messages
  }

  /// The frames that end a transfer; nil if its start is too old by now, or a frame too large.
  func finalMessages(
    _ group: WatchGroup, _ transfer: StreamCursor.Transfer
  ) -> [EncodedMessage]? {
    let delta: Delta
    do throws(StoreError) {
      delta = try context.store.changes(
        endingTransferSince: transfer.cursor, startedAt: transfer.startedAt,
        lastPass: transfer.passStartedAt, removalsSince: transfer.removals.revision,
        selecting: group.filter.selector, taking: group.content)
    } catch {
      return nil
    }
    guard transfer.isSnapshot else {
      return changeMessages(
        group, filter(delta.changes, for: group), from: transfer.cursor,
        to: delta.toRevision)
    }
    guard var messages = snapshotMessages(delta.changes, group) else { return nil }
    let synced = WatchWidgetsResponse.synced(
      WatchSynced(revision: delta.toRevision, resumeToken: token(group, delta.toRevision)))
    if let message = context.encode(synced) { messages.append(message) }
    return messages
  }

  /// Encodes all elements in few messages of at most `frameBytesTarget` bytes. A larger message
  /// with several elements is made again, with half of its elements. nil if one element alone is
  /// too large for a frame.
  func split<Element, M: WireMessage>(
    _ elements: [Element], _ mask: ReadMask,
    _ message: (ArraySlice<Element>, _ isLast: Bool) -> M
  ) -> [EncodedMessage]? {
    let target = context.limits.frameBytesTarget
    var messages: [EncodedMessage] = []
    var rest = elements[...]
    var count = Int.max
    repeat {
      let piece = rest.prefix(count)
      let limit = piece.count > 1 ? target : FrameHeader.frameDataBytesMax
      let isLast = piece.endIndex == elements.endIndex
      if let encoded = context.encode(message(piece, isLast), mask: mask, atMost: limit) {
        messages.append(encoded)
        rest = rest[piece.endIndex...]
        let isFull = piece.count == count
        if isFull, encoded.byteCount < target / 2 { count *= 2 }
      } else {
        guard piece.count > 1 else { return nil }
        count = piece.count / 2
      }
    } while !rest.isEmpty
    return messages
  }
}
