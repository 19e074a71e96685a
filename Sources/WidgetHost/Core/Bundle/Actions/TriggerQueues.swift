import WidgetModel

/// A trigger of a widget, by its index in the kind.
struct QueueKey: Hashable, Sendable {
  let widgetID: WidgetID
  let trigger: Int
}

/// An event, or a time, at which a trigger fires.
struct Firing: Sendable {
  let event: Event?
  let row: String
  let sharer: Sharer
}

/// A trigger for the events of one node.
struct ThrottleKey: Hashable, Sendable {
  let widgetID: WidgetID
  let trigger: Int
  let node: String
}

/// The firings that wait until an earlier run of their trigger has ended, and the events that wait
/// for the end of a throttle.
struct TriggerQueues: Sendable {
  private var firings: [QueueKey: [Firing]] = [:]
  private var throttled: [ThrottleKey: Throttled] = [:]
  /// The number of throttled events of each sharer. So an event that gets no place costs no look at
  /// all others.
  private var throttledCounts: [Sharer: Int] = [:]

  private struct Throttled: Sendable {
    let event: Event
    let sharer: Sharer
  }

  /// Lets a firing wait. If too many firings wait already, it can take the place of one whose sharer
  /// has more places.
  ///
  /// - Returns: the firing that has no place: this one or the other one; nil if both have places.
  mutating func append(_ firing: Firing, to key: QueueKey, max: Int) -> Firing? {
    let queue = firings[key] ?? []
    var loser: Firing?
    if queue.count >= max {
      guard let index = Sharer.loser(among: queue.map(\.sharer), for: firing.sharer) else {
        return firing
      }
      loser = firings[key]?.remove(at: index)
    }
    firings[key, default: []].append(firing)
    return loser
  }

  /// Takes the firing that has waited longest.
  mutating func takeFirst(_ key: QueueKey) -> Firing? {
    guard var queue = firings[key], !queue.isEmpty else { return nil }
    let first = queue.removeFirst()
    firings[key] = queue.isEmpty ? nil : queue
    return first
  }

  /// Forgets the firings of a widget.
  ///
  /// - Returns: these firings, those of each trigger in order.
  @discardableResult
  mutating func forgetFirings(of id: WidgetID) -> [Firing] {
    let keys = firings.keys.filter { $0.widgetID == id }.sorted { $0.trigger < $1.trigger }
    return keys.flatMap { firings.removeValue(forKey: $0) ?? [] }
  }

  // MARK: Throttles

  func isThrottling(_ key: ThrottleKey) -> Bool { throttled[key] != nil }

  var throttledCount: Int { throttled.count }

  /// Lets an event wait for the end of its throttle.
  ///
  /// - Returns: the event that it replaces; nil if there is none.
  mutating func throttle(_ event: Event, of sharer: Sharer, _ key: ThrottleKey) -> Event? {
    let replaced = takeThrottled(key)
    throttled[key] = Throttled(event: event, sharer: sharer)
    throttledCounts[sharer, default: 0] += 1
    return replaced
  }

  /// Takes the event that waits for the end of a throttle.
  mutating func takeThrottled(_ key: ThrottleKey) -> Event? {
    guard let taken = throttled.removeValue(forKey: key) else { return nil }
    let rest = throttledCounts[taken.sharer, default: 0] - 1
    throttledCounts[taken.sharer] = rest > 0 ? rest : nil
    return taken.event
  }

  /// Takes the newest throttled event of the sharer with the most, for one of a sharer with fewer.
  ///
  /// - Returns: nil if the newcomer has as many.
  mutating func takeThrottled(for newcomer: Sharer) -> (key: ThrottleKey, event: Event)? {
    guard let most = Sharer.most(throttledCounts, for: newcomer) else { return nil }
    // An event can wait at several triggers of its widget.
    let newest = throttled.filter { throttledCounts[$0.value.sharer] == most }.max {
      ($0.value.event.sequence, $0.key.trigger) < ($1.value.event.sequence, $1.key.trigger)
    }
    guard let key = newest?.key, let event = takeThrottled(key) else { return nil }
    return (key, event)
  }

  /// Forgets the throttled events of a widget.
  mutating func forgetThrottled(of id: WidgetID) {
    for key in throttled.keys where key.widgetID == id { _ = takeThrottled(key) }
  }

  /// The numbers of all events that wait.
  var events: Set<UInt64> {
    var events = Set(throttled.values.map(\.event.sequence))
    for queue in firings.values { events.formUnion(queue.compactMap(\.event?.sequence)) }
    return events
  }
}
