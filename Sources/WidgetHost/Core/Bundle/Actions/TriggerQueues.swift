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
  private var throttled: [ThrottleKey: Event] = [:]

  /// Lets a firing wait.
  ///
  /// - Returns: false if too many firings wait already.
  mutating func append(_ firing: Firing, to key: QueueKey, max: Int) -> Bool {
    guard firings[key, default: []].count < max else { return false }
    firings[key, default: []].append(firing)
    return true
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
  mutating func throttle(_ event: Event, _ key: ThrottleKey) -> Event? {
    throttled.updateValue(event, forKey: key)
  }

  /// Takes the event that waits for the end of a throttle.
  mutating func takeThrottled(_ key: ThrottleKey) -> Event? {
    throttled.removeValue(forKey: key)
  }

  /// Forgets the throttled events of a widget.
  mutating func forgetThrottled(of id: WidgetID) {
    throttled = throttled.filter { $0.key.widgetID != id }
  }

  /// The numbers of all events that wait.
  var events: Set<UInt64> {
    var events = Set(throttled.values.map(\.sequence))
    for queue in firings.values { events.formUnion(queue.compactMap(\.event?.sequence)) }
    return events
  }
}
