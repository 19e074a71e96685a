/// A failure of a widget, which every renderer marks in the same way without help of the author.
public enum WidgetFailure: Hashable, Sendable {
  /// The error that a provider or a user has set.
  case error(WidgetError)
  /// The problem of the schedule, or of the timeline.
  case timeline(String)
  /// The activity has ended with the outcome `failed`. Has its last status, which may be empty.
  case activity(status: String)

  /// The failures of a widget with these parts: the error, the timeline, the activity.
  ///
  /// - Parameter datum: the value of a key of the widget's data.
  public static func all(
    error: WidgetError?, timeline: TimelineStatus?, activity: Activity?,
    datum: (String) -> Value?
  ) -> [WidgetFailure] {
    var failures: [WidgetFailure] = []
    if let error { failures.append(.error(error)) }
    if let problem = timeline?.problem, !problem.isEmpty { failures.append(.timeline(problem)) }
    if activity?.state == .ended, datum("outcome") == .string("failed") {
      let status = if case .string(let text)? = datum("status") { text } else { "" }
      failures.append(.activity(status: status))
    }
    return failures
  }
}

extension Widget {
  /// The failures: the error, the timeline, the activity.
  public var failures: [WidgetFailure] {
    WidgetFailure.all(error: error, timeline: timeline, activity: activity) { data[$0] }
  }

  /// Whether something has failed. The widget then has the mark of a failed one.
  public var hasFailed: Bool { !failures.isEmpty }

  /// The failures that the content does not tell. The content of the built-in kind of activities has
  /// the outcome.
  public var untoldFailures: [WidgetFailure] {
    failures.filter { if case .activity = $0 { kind != .activity } else { true } }
  }
}
