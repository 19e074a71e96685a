import WidgetBundle
import WidgetModel

/// The timeline of a widget in a file for `apply`.
enum TimelineDocument {
  private static let fields = ["entries", "policy", "refreshTime", "staleTime"]
  /// The fields of the place in the timeline that `get` prints.
  private static let ofStatus: Set<String> = ["current", "nextTime", "problem"]

  /// The timeline; nil if the document has only the place in one: a schedule makes the entries.
  static func timeline(_ map: ValueMap) throws(FieldFailure) -> Timeline? {
    try map.onlyHas(fields, passingOver: ofStatus)
    guard map["entries"] != nil else {
      guard map.keys.contains(where: ofStatus.contains) else {
        throw FieldFailure("entries", "is missing")
      }
      return nil
    }
    var timeline = Timeline()
    timeline.entries = try map.list("entries") { (value) throws(FieldFailure) in try entry(value) }
    if let name = try map.text("policy") {
      guard let policy = Timeline.Policy(name: name) else {
        throw FieldFailure(
          "policy", "must be one of " + Timeline.Policy.allCases.map(\.name).joined(separator: ", ")
        )
      }
      timeline.policy = policy
    }
    timeline.staleTime = try time("staleTime", in: map)
    // Without this policy, it is the time of the next request, which is printed.
    if timeline.policy == .after {
      guard let time = try time("refreshTime", in: map) else {
        throw FieldFailure("refreshTime", "is missing: the policy after needs a time")
      }
      timeline.refreshTime = time
    }
    return timeline
  }

  private static func entry(_ value: Value) throws(FieldFailure) -> TimelineEntry {
    guard case .map(let map) = value else {
      throw FieldFailure("", "must be an entry: date, values, …")
    }
    try map.onlyHas(["date", "values", "score", "duration"])
    guard let date = try time("date", in: map) else { throw FieldFailure("date", "is missing") }
    var entry = TimelineEntry(date: date, values: try map.data("values"))
    switch map["score"] {
    case nil, .null?: break
    case .int(let score)?: entry.score = Double(score)
    case .double(let score)?: entry.score = score
    default: throw FieldFailure("score", "must be a number")
    }
    entry.duration = try duration("duration", in: map)
    return entry
  }

  private static func time(_ name: String, in map: ValueMap) throws(FieldFailure) -> Timestamp? {
    guard let text = try map.text(name) else { return nil }
    guard let time = RFC3339.timestamp(text) else {
      throw FieldFailure(name, "must be a time such as 2026-01-01T08:00:00Z")
    }
    return time
  }

  private static func duration(_ name: String, in map: ValueMap) throws(FieldFailure) -> Duration? {
    guard let value = map[name], value != .null else { return nil }
    if let untagged = try? DataDocument.untagged(value), case .duration(let duration) = untagged {
      return duration
    }
    guard case .string(let text) = value, let duration = DurationSyntax.parse(text) else {
      throw FieldFailure(name, "must be a duration such as 90s or 5m")
    }
    return duration
  }
}
