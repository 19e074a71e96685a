import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

/// Makes the frames of streams: each once for all that want the same.
final class FrameMaker {
  private let context: ServiceContext
  /// See `WidgetServer.Configuration.releaseMemory`.
  private let releaseMemory: @Sendable () -> Void
  private var nextReleaseAt = NIODeadline.uptimeNanoseconds(0)
  /// How many widgets the next frame of a snapshot begins with: as many as the last one had room for.
  private var widgetsPerFrame = Int.max
  /// The theme, encoded for streams.
  private var theme: (revision: Revision, message: EncodedMessage)?

  init(_ context: ServiceContext, releaseMemory: @escaping @Sendable () -> Void) {
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
    if group.changeCacheRevision != context.store.revision {
      group.changeCache.removeAll(keepingCapacity: true)
      group.changeCacheRevision = context.store.revision
    }
    if let cached = group.changeCache[cursor] { return cached }
    guard
      let delta = try? context.store.changes(
        since: cursor, selecting: group.filter.selector, taking: group.content)
    else { return nil }
    let changes = filter(delta.changes, group.filter.mask)
    guard
      let messages = changes.isEmpty
        ? [] : changeMessages(group, changes, from: cursor, to: delta.toRevision)
    else { return nil }
    group.changeCache[cursor] = messages
    return messages
  }

  /// What widgets will show, if the group takes it. A widget for which it costs too much is left out:
  /// its readers get each change at its date.
  private func upcomingMessages(_ group: WatchGroup, of changes: [WidgetChange]) -> [EncodedMessage]
  {
    let limit = group.filter.upcomingEntries
    guard limit > 0 else { return [] }
    let costStart = context.store.readingCost
    var found: [UpcomingEntries] = []
    for change in changes {
      let id: WidgetID
      switch change {
      case .added(let widget, _): id = widget.id
      case .updated(let update): id = update.id
      case .removed(let removed, _):
        group.horizon.remove(removed)
        continue
      }
      let isSpent = context.store.readingCost - costStart > context.limits.store.contentCostMax
      guard
        let page = context.store.upcoming(
          of: id, at: context.turn.now, limit: isSpent ? 0 : limit, taking: group.content)
      else {
        group.horizon.remove(id)
        continue
      }
      let last = page.entries.last?.entry.date ?? page.status?.nextTime
      group.horizon.set(id, page.hasMore ? last : nil)
      if !page.entries.isEmpty {
        found.append(UpcomingEntries(id: id, entries: page.entries, more: page.hasMore))
      }
    }
    guard !found.isEmpty else { return [] }
    let isFake = context.clock.isFake
    // What does not fit into a frame is left out, too.
    let messages = split(found, .all) { piece, _ in
      WatchWidgetsResponse.upcoming(WatchUpcoming(widgets: Array(piece), hasFakeClock: isFake))
    }
    if messages == nil { for entries in found { group.horizon.set(entries.id, context.turn.now) } }
    return messages ?? []
  }

  private func upcomingMessages(_ group: WatchGroup, of widgets: [Widget]) -> [EncodedMessage] {
    guard group.filter.upcomingEntries > 0 else { return [] }
    return upcomingMessages(group, of: widgets.map { .added($0, nil) })
  }

  private func filter(_ changes: [WidgetChange], _ mask: ReadMask) -> [WidgetChange] {
    guard !mask.isEverything else { return changes }
    return changes.compactMap { change in
      switch change {
      case .added, .removed: change
      case .updated(let update): mask.filter(update).map { .updated($0) }
      }
    }
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
    _ group: WatchGroup, _ transfer: inout Subscription.Transfer
  ) -> [EncodedMessage]? {
    let (chunk, slot) = (transfer.nextChunk, transfer.nextSlot)
    let selector = group.filter.selector
    guard transfer.isSnapshot, transfer.passes == 1 else {
      let (changes, next) = context.store.changes(
        inChunk: chunk, from: slot, bytesMax: context.limits.eagerBytesMax,
        since: transfer.passSince,
        isFirstPass: transfer.passes == 1, selecting: selector,
        taking: group.content)
      transfer.advance(to: next)
      if transfer.isSnapshot { return snapshotMessages(changes, group) }
      let wanted = filter(changes, group.filter.mask)
      return wanted.isEmpty ? [] : changeMessages(group, wanted, from: transfer.cursor, to: nil)
    }
    keepSnapshot(of: group)
    while group.snapshotCache.count <= chunk { group.snapshotCache.append(nil) }
    if slot == 0, let cached = group.snapshotCache[chunk],
      cached.revision >= context.store.chunkRevision(chunk)
    {
      transfer.advance(to: nil)
      return cached.messages
    }
    let (widgets, next) = context.store.widgets(
      inChunk: chunk, from: slot, bytesMax: context.limits.eagerBytesMax, selecting: selector,
      taking: group.content)
    transfer.advance(to: next)
    guard var messages = widgets.isEmpty ? [] : snapshotMessages(widgets, group.filter.mask) else {
      return nil
    }
    messages += upcomingMessages(group, of: widgets)
    if slot == 0, next == nil { group.snapshotCache[chunk] = (context.store.revision, messages) }
    return messages
  }

  /// Keeps a group's snapshot frames for as long as readers come in quick succession.
  private func keepSnapshot(of group: WatchGroup) {
    let isScheduled = !group.snapshotCache.isEmpty
    group.snapshotUsedAt = .now()
    if !isScheduled { forgetSnapshotLater(of: group) }
  }

  private func forgetSnapshotLater(of group: WatchGroup) {
    let due = group.snapshotUsedAt + .seconds(1)
    context.schedule(at: due) { [weak group] in
      guard let group, !group.snapshotCache.isEmpty else { return }
      if group.snapshotUsedAt + .seconds(1) <= .now() {
        let bytes = group.snapshotBytes
        group.snapshotCache.removeAll()
        self.releaseMemory(afterFreeing: bytes)
      } else {
        self.forgetSnapshotLater(of: group)
      }
    }
  }

  /// Gives memory back to the system after a large snapshot; not often, since code that is in use
  /// has to come back afterwards.
  private func releaseMemory(afterFreeing bytes: Int) {
    let instant = NIODeadline.now()
    guard bytes >= FrameMaker.releasedBytesMin, instant >= nextReleaseAt else { return }
    nextReleaseAt = instant + .seconds(60)
    releaseMemory()
  }

  private static var releasedBytesMin: Int { 1 << 20 }

  /// What changed, as parts of a snapshot: whole widgets, and ids of removed ones.
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
      guard let frames = snapshotMessages(widgets, mask) else { return nil }
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

  private func snapshotMessages(_ widgets: [Widget], _ mask: ReadMask) -> [EncodedMessage]? {
    split(widgets, mask, beginningWith: &widgetsPerFrame) { piece, _ in
      WatchWidgetsResponse.snapshot(SnapshotChunk(widgets: Array(piece)))
    }
  }

  /// The frames that end a transfer; nil if what it started from is too old by now, or a frame too
  /// large.
  func finalMessages(
    _ group: WatchGroup, _ transfer: Subscription.Transfer
  ) -> [EncodedMessage]? {
    let delta: Delta
    do throws(StoreError) {
      delta = try context.store.changes(
        endingTransferSince: transfer.cursor, startedAt: transfer.startedAt,
        lastPass: transfer.passStartedAt, selecting: group.filter.selector,
        taking: group.content)
    } catch {
      return nil
    }
    guard transfer.isSnapshot else {
      return changeMessages(
        group, filter(delta.changes, group.filter.mask), from: transfer.cursor,
        to: delta.toRevision)
    }
    guard var messages = snapshotMessages(delta.changes, group) else { return nil }
    let synced = WatchWidgetsResponse.synced(
      WatchSynced(revision: delta.toRevision, resumeToken: token(group, delta.toRevision)))
    if let message = context.encode(synced) { messages.append(message) }
    return messages
  }

  /// Event frames after a sequence number, and how far they go.
  func eventMessages(
    _ group: WatchGroup, after sequence: UInt64, limit: Int
  ) -> (messages: [EncodedMessage], cursor: UInt64) {
    let page = context.store.events(
      after: sequence, limit: limit,
      costMax: limit == .max ? .max : context.limits.store.scanCostMax,
      selecting: group.filter.selector,
      names: group.filter.eventNames)
    var messages: [EncodedMessage] = []
    if let gap = page.gap {
      let gap = EventGap(firstSequence: gap.lowerBound, lastSequence: gap.upperBound)
      let message =
        group.filter.wantsState
        ? context.encode(WatchWidgetsResponse.gap(gap))
        : context.encode(WatchEventsResponse.gap(gap))
      if let message { messages.append(message) }
    }
    if !page.events.isEmpty {
      if group.filter.wantsState {
        messages +=
          split(page.events, .all) { piece, _ in
            WatchWidgetsResponse.events(EventBatch(events: Array(piece)))
          } ?? []
      } else {
        messages +=
          split(page.events, .all) { piece, _ in
            WatchEventsResponse.events(EventBatch(events: Array(piece)))
          } ?? []
      }
    }
    return (messages, page.cursor)
  }

  private func split<Element, M: WireMessage>(
    _ elements: [Element], _ mask: ReadMask,
    _ message: (ArraySlice<Element>, _ isLast: Bool) -> M
  ) -> [EncodedMessage]? {
    var all = Int.max
    return split(elements, mask, beginningWith: &all, message)
  }

  /// Encodes all elements in few messages that keep to `frameBytesTarget`. A message that would be
  /// larger, and has more than one element, is made again with half of them. nil if one element alone is
  /// too large for a frame.
  ///
  /// - Parameter count: how many elements the first message begins with. Afterwards, how many the next
  ///   one should begin with: what is encoded for nothing is encoded once, and not for each message.
  private func split<Element, M: WireMessage>(
    _ elements: [Element], _ mask: ReadMask, beginningWith count: inout Int,
    _ message: (ArraySlice<Element>, _ isLast: Bool) -> M
  ) -> [EncodedMessage]? {
    let target = context.limits.frameBytesTarget
    var messages: [EncodedMessage] = []
    var rest = elements[...]
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
