import WidgetBundle
import WidgetModel

// Steps without a name have no status in the data of their widget. The widget's mark is all that the next
// host, or version, learns of their failure. The mark has the newest failure.
extension BundleInstance {
  /// Takes over the failure of steps without a name from the mark of a widget. Does nothing if the mark
  /// is another one's, or if the bundle no longer has such steps.
  mutating func inheritStepFailure(_ id: WidgetID, _ facts: KindFacts) {
    guard let error = widgets[id]?.view.error, error.reason == BundleInstance.actionFailed,
      let index = failedSteps(in: error.message, id, facts)
    else { return }
    let message = BundleInstance.withoutCount(error.message)
    let title = triggerName(id, index)
    let status = ActionStatus(
      state: .failure, title: title, message: String(message.dropFirst(title.count + 2)),
      code: "UNKNOWN", since: error.since)
    let key = FailureKey.trigger(index)
    widgets[id]?.failures[key] = StandingFailure(
      status: status, names: [], isCaught: facts.isCaught(key))
    guard !isReload else { return }
    let since = RFC3339.text((error.since ?? now.wall).wholeSeconds)
    effects.append(.report("\(place(id, key)): failed at \(since): \(status.message)"))
  }

  /// The trigger of the steps whose failure a mark has. The mark begins with the name of the trigger.
  private func failedSteps(in message: String, _ id: WidgetID, _ facts: KindFacts) -> Int? {
    facts.kind.triggers.indices.first { message.hasPrefix(triggerName(id, $0) + ": ") }
  }

  /// The message of a mark without the number of other failures.
  private static func withoutCount(_ message: String) -> String {
    guard message.hasSuffix(" failure)") || message.hasSuffix(" failures)"),
      let start = message.ranges(of: " (and ").last
    else { return message }
    return String(message[..<start.lowerBound])
  }
}
