import WidgetCore
import WidgetModel
import WidgetProto

/// Frames of events.
extension FrameMaker {
  /// Event frames after a sequence number, and how far they go. They end early if the tests cost
  /// too much.
  func eventMessages(
    _ group: WatchGroup, after sequence: UInt64, limit: Int
  ) -> (messages: [EncodedMessage], cursor: UInt64) {
    let last = context.store.lastEventSequence
    if let kept = group.events, kept.after == sequence, kept.limit == limit, kept.last == last {
      return (kept.messages, kept.end)
    }
    let (messages, end) = makeEventMessages(group, after: sequence, limit: limit)
    willKeep(group)
    group.events = EventFrames(
      after: sequence, limit: limit, last: last, messages: messages, end: end)
    return (messages, end)
  }

  private func makeEventMessages(
    _ group: WatchGroup, after sequence: UInt64, limit: Int
  ) -> (messages: [EncodedMessage], cursor: UInt64) {
    let page = context.store.events(
      after: sequence, limit: limit, costMax: context.limits.store.scanCostMax,
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
}
