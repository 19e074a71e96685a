import NIOCore
import WidgetCore
import WidgetModel

/// The members of a group that have a `batch_delay`.
final class BatchDelays: RoundMember {
  /// The index in the list of all.
  var place = 0
  unowned let group: WatchGroup
  /// The number of members.
  var count = 0
  /// Until this time, changes do not wait for later changes, because they may be the effects of an
  /// event.
  var hurriesUntil = NIODeadline.uptimeNanoseconds(0)
  /// The place of the first member that the next event hurries.
  var hurryStart = 0

  init(_ group: WatchGroup) { self.group = group }
}

extension WatchGroup {
  /// Whether changes do not wait for later changes.
  func isHurried(at instant: NIODeadline) -> Bool {
    batchDelays.map { instant < $0.hurriesUntil } ?? false
  }
}

/// The effects of events do not wait for a `batch_delay`.
extension WatchRounds {
  /// After an event of a selected widget, changes do not wait for later changes. Changes that wait
  /// already are sent, too.
  ///
  /// The time has a bound. The changes of further groups, and of further members of a group, wait
  /// as usual. The next events begin with them.
  func hurryEffects(_ round: Round) {
    let all = batchDelays.all
    guard round.fromSequence != sentSequence, !all.isEmpty else { return }
    let slice = context.work.slice(of: WatchRounds.hurryMax)
    let first = hurryStart % all.count
    for step in all.indices {
      if step > 0, slice.isOver {
        hurryStart = first + step
        return
      }
      let delays = all[(first + step) % all.count]
      guard hasEvent(delays.group, after: round.fromSequence) else { continue }
      delays.hurriesUntil = round.instant + eventEffectsMax
      endBatches(of: delays, slice, at: round.instant)
    }
  }

  /// Whether there is an event of a selected widget. If the search costs too much, there may be one.
  private func hasEvent(_ group: WatchGroup, after sequence: UInt64) -> Bool {
    let page = context.store.events(
      after: sequence, limit: 1, costMax: context.limits.store.scanCostMax,
      selecting: group.filter.selector)
    return !page.events.isEmpty || page.gap != nil || page.cursor < sentSequence
  }

  /// A reader that waits is behind.
  ///
  /// Readers at the beginning of a group may wait again at the next event. So it begins with those
  /// for which there was no time.
  private func endBatches(of delays: BatchDelays, _ slice: TimeSlice, at instant: NIODeadline) {
    let waiting = delays.group.members.others
    let first =
      waiting.indices.contains(delays.hurryStart) ? delays.hurryStart : waiting.startIndex
    let places = [first..<waiting.endIndex, waiting.startIndex..<first].joined()
    for (visited, place) in places.enumerated() {
      if visited % WatchRounds.hurriedPerLook == WatchRounds.hurriedPerLook - 1, slice.isOver {
        delays.hurryStart = place
        return
      }
      if waiting[place].endBatch(at: instant) { markReady(waiting[place]) }
    }
  }

  /// The number of members whose delay ends before the next look at the clock.
  static var hurriedPerLook: Int { 256 }
}
