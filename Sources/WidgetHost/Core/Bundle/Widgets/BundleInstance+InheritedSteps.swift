import WidgetBundle
import WidgetModel

// Steps without a name have no status in the data of their widget. The next host, or version,
// learns of their failures only from the widget's errors.
extension BundleInstance {
  /// Takes over the failures of steps without a name from the errors of a widget. Ignores errors of
  /// others, and of steps that the bundle no longer has.
  mutating func inheritStepFailures(_ id: WidgetID, _ facts: KindFacts) {
    for error in widgets[id]?.view.error?.all ?? [] {
      guard error.reason == BundleInstance.actionFailed else { continue }
      guard let index = failedSteps(in: error.message, id, facts) else {
        tellEndedSteps(in: error.message, id)
        continue
      }
      let title = triggerName(id, index)
      let status = ActionStatus(
        state: .failure, title: title, message: String(error.message.dropFirst(title.count + 2)),
        code: "UNKNOWN", since: error.since)
      let key = FailureKey.trigger(index)
      // The error shows it, so nobody has handled it.
      standing.set(id, key, StandingFailure(status: status, names: [], isCaught: false))
      guard !isReload else { continue }
      let since = RFC3339.text((error.since ?? now.wall).wholeSeconds)
      let message = status.message.withMarkedNewlines
      effects.append(.report("\(place(id, key)): failed at \(since): \(message)"))
    }
  }

  /// Logs the end of the failure of steps that the bundle no longer has.
  private mutating func tellEndedSteps(in message: String, _ id: WidgetID) {
    let isKnown = standing[id].values.contains { message.hasPrefix("\($0.status.title): ") }
    guard !isKnown, message.hasPrefix("on "), let end = message.firstRange(of: ": ") else { return }
    let place = "bundle \(bundle.id): widget \(id): \(message[..<end.lowerBound])"
    effects.append(.note("\(place): its failure has ended, because the file has changed"))
  }

  /// The trigger of the steps whose failure an error has. Its message begins with the name of the
  /// trigger.
  private func failedSteps(in message: String, _ id: WidgetID, _ facts: KindFacts) -> Int? {
    facts.kind.triggers.indices.first { message.hasPrefix(triggerName(id, $0) + ": ") }
  }
}
