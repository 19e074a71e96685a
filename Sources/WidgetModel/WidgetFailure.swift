/// A failure of a widget. All renderers mark it in the same way, without code by the author.
///
/// This is the one definition of a widget that fails: `Widget.failures`. Lists, bars, the dashboard
/// and the status of the daemon read it.
public enum WidgetFailure: Hashable, Sendable {
  /// The error that a provider, a user or the daemon has set.
  case error(WidgetError)
  /// The problem of the schedule, or of the timeline.
  case timeline(String, since: Timestamp?)
  /// The activity has ended with the outcome `failed`. Has its last status, which may be empty, and
  /// the time of its end.
  case activity(status: String, since: Timestamp?)
  /// An expression of the content has failed, and the node has no placeholder for its value. Has the
  /// id of the node, and the failed property with the reason.
  case content(node: String, problem: String, since: Timestamp?)

  /// The start of the failure. Nil if it is not known.
  public var since: Timestamp? {
    switch self {
    case .error(let error): error.since
    case .timeline(_, let since), .activity(_, let since), .content(_, _, let since): since
    }
  }

  /// The failures of a widget with these parts: the error, the timeline, the activity.
  ///
  /// - Parameter datum: the value of a key of the widget's data.
  public static func all(
    error: WidgetError?, timeline: TimelineStatus?, activity: Activity?,
    datum: (String) -> Value?
  ) -> [WidgetFailure] {
    var failures: [WidgetFailure] = []
    if let error { failures += error.all.map { .error($0) } }
    if let timeline, !timeline.problem.isEmpty {
      failures.append(.timeline(timeline.problem, since: timeline.problemSince))
    }
    if activity?.state == .ended, datum("outcome") == .string("failed") {
      let status = if case .string(let text)? = datum("status") { text } else { "" }
      failures.append(.activity(status: status, since: activity?.endTime))
    }
    return failures
  }
}

extension Widget {
  /// The read mask for `failures`.
  public static let failurePaths = [
    "error", "timeline", "activity", "data.outcome", "data.status", "content",
  ]

  /// The failures: the error, the timeline, the activity, the content.
  public var failures: [WidgetFailure] { failuresOutsideContent + (content?.failures ?? []) }

  /// Whether something has failed. The widget then has the mark of a failed widget.
  public var hasFailed: Bool {
    !failuresOutsideContent.isEmpty || content?.nodes.contains(where: \.hasFailed) == true
  }

  /// The failures that the content does not show. The content of the built-in kind of activities
  /// has the outcome.
  public var untoldFailures: [WidgetFailure] {
    failuresOutsideContent.filter { if case .activity = $0 { kind != .activity } else { true } }
  }

  private var failuresOutsideContent: [WidgetFailure] {
    WidgetFailure.all(error: error, timeline: timeline, activity: activity) { data[$0] }
  }
}

extension Content {
  /// The failures of the nodes.
  public var failures: [WidgetFailure] {
    nodes.flatMap { node in
      node.failures.map { .content(node: node.id, problem: $0, since: node.problemSince) }
    }
  }
}

extension Node {
  /// The problems of the node, such as `text: division by zero`. The daemon writes each on a line.
  public var problems: [String] { problem.split(whereSeparator: \.isNewline).map(String.init) }

  /// Whether the failed property still has a value: its placeholder.
  public func hasPlaceholder(for problem: String) -> Bool {
    properties[String(problem.prefix { $0 != ":" })] != nil
  }

  /// Whether the problem is one of a property that changes only the look, as in `color: …`.
  public static func isOfLook(_ problem: String) -> Bool {
    lookProperties.contains(problem.prefix { $0 != ":" })
  }

  private static let lookProperties: Set<Substring> = [
    "background", "classes", "color", "font", "padding", "spacing", "tooltip", "urgent",
  ]

  /// The problems that make the widget a failed widget: problems of properties without a
  /// placeholder that change more than the look. The problems of another widget's nodes in an embed
  /// are not this widget's.
  var failures: [String] {
    guard !problem.isEmpty, NodeID.splitAtEmbed(id) == nil, !isOfShownWidget else { return [] }
    return problems.filter { !Node.isOfLook($0) && !hasPlaceholder(for: $0) }
  }

  var hasFailed: Bool { !problem.isEmpty && !failures.isEmpty }

  /// Whether this is an embed that shows its widget. Its problem is then one of that widget.
  private var isOfShownWidget: Bool {
    type == .embed && !childIDs.isEmpty && childIDs != [NodeID.embedded("problem", in: id)]
  }

  /// Whether this is an embed whose widget fails, or cannot be shown. A stale one does not fail.
  public var isEmbedOfFailure: Bool {
    type == .embed && !problem.isEmpty && !problem.hasSuffix("\" is stale.")
  }
}
