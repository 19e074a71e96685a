import WidgetBundle
import WidgetModel

// What becomes of events whose sender waits for it: told in the widget's status, by the event's number,
// when all that follows from the event has ended.

/// An event whose outcome is not told yet.
struct PendingOutcome: Sendable {
  let widgetID: WidgetID
  /// The first failure among what follows from it.
  var failure: ActionStatus?
}

extension BundleInstance {
  /// Remembers a failure that follows from an event, if its sender waits. The first one counts.
  mutating func recordOutcome(of event: Event?, _ failure: ActionStatus) {
    guard let event, let outcome = outcomes[event.sequence], outcome.failure == nil else { return }
    outcomes[event.sequence]?.failure = failure
  }

  /// Tells the outcome of events of which nothing is under way any more.
  mutating func tellOutcomes() {
    guard !outcomes.isEmpty || !chains.isEmpty else { return }
    var open = Set(runs.values.compactMap(\.event?.sequence))
    for queue in queues.values { open.formUnion(queue.compactMap(\.event?.sequence)) }
    open.formUnion(throttled.values.map(\.sequence))
    for case .event(let event) in purposes.values { open.insert(event.sequence) }
    forgetChains(open: open)
    for (sequence, outcome) in outcomes.sorted(by: { $0.key < $1.key })
    where !open.contains(sequence) {
      outcomes[sequence] = nil
      tell(outcome, of: sequence)
    }
  }

  private mutating func tell(_ outcome: PendingOutcome, of sequence: UInt64) {
    let id = outcome.widgetID
    guard facts(of: id)?.kind.tellsOutcomes == true else { return }
    var all = ValueMap()
    if case .map(let known)? = widgets[id]?.view.data[BundleScope.statusKey] { all = known }
    var told = ValueMap()
    if case .map(let known)? = all[BundleScope.outcomesKey] { told = known }
    told["\(sequence)"] = (outcome.failure ?? ActionStatus(state: .success)).value
    let numbers = told.keys.compactMap { UInt64($0) }.sorted()
    for number in numbers.dropLast(limits.outcomesMax) { told["\(number)"] = nil }
    all[BundleScope.outcomesKey] = .map(told)
    widgets[id]?.set(BundleScope.statusKey, .map(all))
    touched.insert(id)
  }
}
