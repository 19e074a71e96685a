import SeededRandom
import WidgetModel

@testable import WidgetCore

/// A reader of a stream: a cursor and a mirror, or a transfer under way.
struct Reader {
  let selector: Selector
  private(set) var cursor: Revision = 0
  private var mirror: Mirror
  private var transfer: Transfer?

  private struct Transfer {
    var start: Revision
    var removals: RemovalCursor
    var chunk = 0

    init(since cursor: Revision, start: Revision) {
      self.start = start
      removals = RemovalCursor(cursor > 0 ? cursor : start)
    }
  }

  init(selector: Selector, mask: ReadMask) {
    self.selector = selector
    mirror = Mirror(mask: mask)
  }

  /// The effect of a restart of the store on its readers: transfers are aborted.
  ///
  /// The mirror may then have pieces from after its cursor, so it begins again.
  mutating func reconnect() {
    if transfer != nil { forget() }
  }

  private mutating func forget() {
    (cursor, transfer) = (0, nil)
    mirror.widgets = [:]
  }

  /// Does one step at a moment when all changes are durable. Returns the mistakes as text.
  mutating func step(
    _ store: Store, _ model: Model, _ rng: inout SeededGenerator
  ) -> [String] {
    if var transfer {
      if transfer.removals.revision < transfer.start {
        return sendRemovals(of: transfer, through: transfer.start, store, model, &rng)
      }
      guard transfer.chunk < store.chunkCount else {
        if rng.chance(50), transfer.removals.revision < store.revision {
          return sendRemovals(of: transfer, through: store.revision, store, model, &rng)
        }
        return endTransfer(transfer, store, model)
      }
      if cursor == 0 {
        for widget in store.widgets(inChunk: transfer.chunk, selecting: selector) {
          mirror.apply(.added(widget, nil))
        }
      } else {
        for change in store.changes(inChunk: transfer.chunk, since: cursor, selecting: selector) {
          mirror.apply(change)
        }
      }
      transfer.chunk += 1
      self.transfer = transfer
      return []
    }
    if rng.chance(15) {
      transfer = Transfer(since: cursor, start: store.revision)
      return []
    }
    return poll(store, model)
  }

  private mutating func sendRemovals(
    of transfer: Transfer, through end: Revision, _ store: Store, _ model: Model,
    _ rng: inout SeededGenerator
  ) -> [String] {
    var transfer = transfer
    do throws(StoreError) {
      let (changes, next) = try store.removals(
        from: transfer.removals, through: end, readerHeldUpTo: cursor,
        transferStartedAt: transfer.start, atMost: Int.random(in: 1...3, using: &rng),
        selecting: selector)
      for change in changes { mirror.apply(change) }
      transfer.removals = next
      self.transfer = transfer
      return []
    } catch {
      return refused(error, oldest: cursor > 0 ? cursor : transfer.start, model)
    }
  }

  private mutating func poll(_ store: Store, _ model: Model) -> [String] {
    let delta: Delta
    do throws(StoreError) {
      delta = try store.changes(since: cursor, selecting: selector)
    } catch {
      return refused(error, oldest: cursor, model)
    }
    var violations: [String] = []
    if cursor < model.compactRevision { violations.append("a compacted cursor was served") }
    if !selector.dependsOnState, selector.expression.isEmpty {
      let expected = model.delta(since: cursor, selecting: selector)
      if delta.normalized != expected {
        violations.append("the delta is \(delta.normalized) and should be \(expected)")
      }
    }
    return violations + finish(delta, since: cursor, model)
  }

  private mutating func endTransfer(
    _ transfer: Transfer, _ store: Store, _ model: Model
  ) -> [String] {
    do throws(StoreError) {
      let delta = try store.changes(
        endingTransferSince: cursor, startedAt: transfer.start,
        removalsSince: transfer.removals.revision, selecting: selector)
      self.transfer = nil
      return finish(delta, since: transfer.start, model)
    } catch {
      return refused(error, oldest: cursor > 0 ? cursor : transfer.start, model)
    }
  }

  private mutating func refused(
    _ error: StoreError, oldest: Revision, _ model: Model
  ) -> [String] {
    forget()
    guard error == .revisionCompacted(compactRevision: model.compactRevision),
      oldest < model.compactRevision
    else { return ["refused a cursor at \(oldest) with \(error)"] }
    // A reader with this answer begins with a transfer.
    transfer = Transfer(since: cursor, start: model.revision)
    return []
  }

  /// Applies a delta, and compares the mirror with the model's selection at the end of the delta.
  private mutating func finish(
    _ delta: Delta, since start: Revision, _ model: Model
  ) -> [String] {
    var violations = mirror.apply(delta) { model.changesOwnersOnly($0, since: start) }
    if delta.fromRevision != cursor || delta.toRevision != model.revision {
      violations.append("the delta leads from \(delta.fromRevision) to \(delta.toRevision)")
    }
    cursor = delta.toRevision
    let expected = model.selected(by: selector, at: cursor).mapValues(mirror.mask.filter)
    if mirror.comparable(mirror.widgets) != mirror.comparable(expected) {
      violations.append("the mirror is \(mirror.widgets) and should be \(expected)")
    }
    return violations
  }
}

extension Mirror {
  /// A change outside the mask sends nothing, so the revision of a masked widget may lag behind.
  func comparable(_ widgets: [WidgetID: Widget]) -> [WidgetID: Widget] {
    guard !mask.isEverything else { return widgets }
    return widgets.mapValues { widget in
      var widget = widget
      widget.revision = 0
      return widget
    }
  }
}
