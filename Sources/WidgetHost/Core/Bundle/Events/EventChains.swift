import WidgetModel

/// The cause of an event that a step has sent.
struct EventChain: Hashable, Sendable {
  /// The names of the events that led to it without a delay, the first one first.
  var names: [String] = []
  /// The number of the first event, if its sender waits for the outcome.
  var awaited: UInt64?
}

/// The chains of events that led to events of a bundle's steps.
///
/// An event has its chain twice: on its way through the daemon by receiver and name, because it has
/// no number yet; then by its number, until its runs have ended.
struct EventChains: Sendable {
  private var sent: [BundleInstance.SentEvent: [EventChain]] = [:]
  private var received: [UInt64: EventChain] = [:]

  /// The chain of a received event, by its number.
  subscript(sequence: UInt64) -> EventChain? { received[sequence] }

  /// Whether no received event has a chain.
  var isEmpty: Bool { received.isEmpty }

  /// Remembers the chain of an event that comes back later, unless `max` such events are on their
  /// way.
  mutating func remember(_ chain: EventChain, of event: BundleInstance.SentEvent, max: Int) {
    guard sent[event, default: []].count < max else { return }
    sent[event, default: []].append(chain)
  }

  /// Forgets the newest chain of an event that could not be sent. An expression may have computed
  /// the receiver, so only the name is known.
  ///
  /// - Returns: false if there is no such chain.
  @discardableResult
  mutating func retract(name: String, where isMeant: (EventChain) -> Bool) -> Bool {
    for (event, chains) in sent where event.name == name {
      guard let index = chains.lastIndex(where: isMeant) else { continue }
      sent[event]?.remove(at: index)
      if sent[event]?.isEmpty == true { sent[event] = nil }
      return true
    }
    return false
  }

  /// Takes over the chain of an event that has come back.
  mutating func follow(_ event: Event) {
    let key = BundleInstance.SentEvent(widgetID: event.widgetID, name: event.name)
    guard var waiting = sent[key], !waiting.isEmpty else { return }
    received[event.sequence] = waiting.removeFirst()
    sent[key] = waiting.isEmpty ? nil : waiting
  }

  /// The awaited events behind the events on their way.
  ///
  /// - Parameter exists: whether the receiver exists. An event for a removed widget does not come.
  func awaited(_ exists: (WidgetID) -> Bool) -> [UInt64] {
    sent.filter { exists($0.key.widgetID) }.flatMap { $0.value.compactMap(\.awaited) }
  }

  /// Forgets the chains of received events without work under way.
  mutating func forget(except open: Set<UInt64>) {
    guard !received.isEmpty else { return }
    received = received.filter { open.contains($0.key) }
  }
}
