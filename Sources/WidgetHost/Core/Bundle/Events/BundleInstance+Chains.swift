import WidgetBundle
import WidgetModel

// Events that steps send start other steps. This file ends endless chains of such events. The step
// that would continue a chain fails.

extension BundleInstance {
  /// The host's name as the sender of events.
  static let sender = "widgetd-host"

  /// Remembers the chain of events that leads to an event that a run sends.
  ///
  /// - Throws: the chain, if it has become a loop.
  mutating func extendChain(
    of run: Run, sending name: String, to receiver: WidgetID
  ) throws(Failure) {
    let chain = extendedChain(of: run)
    guard chain.names.count < limits.chainMax else {
      let shown = (chain.names.suffix(BundleInstance.chainShown) + [name]).joined(separator: " → ")
      throw Failure(
        "RESOURCE_EXHAUSTED",
        "event loop: … → \(shown); \(chain.names.count) events follow from one another without a delay"
      )
    }
    let sent = SentEvent(widgetID: receiver, name: name)
    if widgets[receiver] != nil {
      remember(chain, of: sent)
    } else {
      // If the widget belongs to another bundle, its instance has to know the chain before the
      // event.
      effects.append(.lead(sent, names: chain.names, from: generation))
    }
  }

  /// Takes over the chain of an event that a step of another bundle sends. Nobody waits for its
  /// outcome.
  mutating func take(chain names: [String], of sent: SentEvent) {
    guard widgets[sent.widgetID] != nil else { return }
    remember(EventChain(names: names), of: sent)
  }

  private mutating func remember(_ chain: EventChain, of sent: SentEvent) {
    chains.remember(chain, of: sent, max: limits.queuedMax)
  }

  /// The chain of an event that the run sends now.
  private func extendedChain(of run: Run) -> EventChain {
    EventChain(
      names: run.chain.names + [run.event?.name ?? triggerName(run.widgetID, run.trigger)],
      awaited: run.event.flatMap { awaitedEvent(behind: $0) })
  }

  /// The event whose sender waits for the outcome: the event, or the first one that led to it.
  func awaitedEvent(behind event: Event) -> UInt64? {
    outcomes.isAwaited(event.sequence) ? event.sequence : chains[event.sequence]?.awaited
  }

  /// Forgets the chain of an event that was not accepted.
  mutating func retractChain(of id: UInt64) {
    guard let run = runs[id], case .emit(let name, _, _)? = waitingStep(id) else { return }
    let chain = extendedChain(of: run)
    guard !chains.retract(name: name, where: { $0 == chain }) else { return }
    effects.append(.unlead(name: name, names: chain.names, from: generation))
  }

  /// Forgets the chain of an event that a step of another bundle could not send.
  mutating func retract(name: String, names: [String]) {
    chains.retract(name: name) { $0.names == names && $0.awaited == nil }
  }

  /// The number of events that the error of a loop names.
  private static var chainShown: Int { 3 }

  /// Takes over the chain of an event, if a step has sent it.
  mutating func follow(_ event: Event) {
    if event.origin.client == BundleInstance.sender { chains.follow(event) }
  }
}
