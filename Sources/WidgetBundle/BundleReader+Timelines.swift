package import WidgetModel

/// Timelines of declared widgets.
extension BundleFileReader {
  func timeline(_ item: Item, of kind: Kind?) -> Timeline? {
    guard let object = reading.object(item, .timeline) else { return nil }
    guard let entries = object["entries"] else {
      // `get` prints the place in a timeline of a schedule. This place declares nothing.
      if reading.form == .long, object.hasPrintedKeys { return nil }
      reading.reportMissing(
        "entries", of: object, "the entries are missing", hint: "add entries: [{date: …}]")
      return nil
    }
    guard case .list(let elements) = entries.node.content else {
      reading.report(entries, "expected a list of entries, not \(entries.node.words)")
      return nil
    }
    reading.namedPart = item.path
    defer { reading.namedPart = "" }
    var timeline = Timeline()
    timeline.entries = elements.enumerated().compactMap { index, element in
      entry(entries.element(index, element), of: kind)
    }
    if let item = object["policy"], let name = reading.text(item) {
      let names = Timeline.Policy.allCases.map(\.name)
      if let policy = Timeline.Policy(name: name) {
        timeline.policy = policy
      } else {
        reading.report(
          item, "\"\(name.prefix(40))\" is not a policy",
          hint: reading.suggestion(name, among: names))
      }
    }
    timeline.refreshTime = time(object["refreshTime"])
    timeline.staleTime = time(object["staleTime"])
    if reading.form == .long, timeline.policy != .after {
      // `get` prints the time of the next request for every policy, so ignore it for other
      // policies.
      timeline.refreshTime = nil
    } else if (timeline.policy == .after) != (object["refreshTime"] != nil) {
      reading.report(
        object["refreshTime"] ?? item,
        timeline.policy == .after
          ? "the policy \"after\" needs a refreshTime"
          : "only the policy \"after\" has a refreshTime",
        hint: timeline.policy == .after ? "add refreshTime: TIME" : "leave it out")
    }
    return timeline
  }

  private func entry(_ item: Item, of kind: Kind?) -> TimelineEntry? {
    guard let object = reading.object(item, .timelineEntry) else { return nil }
    guard let dateItem = object["date"] else {
      reading.report(item, "the entry has no date", hint: "add date: 2026-01-01T08:00:00Z")
      return nil
    }
    let values = values(
      object["values"], of: "entry", kind?.entry, isOpen: kind?.isOpen ?? true)
    guard let date = time(dateItem) else { return nil }
    var entry = TimelineEntry(date: date, values: values)
    if let item = object["score"] { entry.score = score(item) }
    entry.duration = duration(object["duration"])
    return entry
  }

  /// Text, or what `get` prints: `{"$duration": "90s"}`.
  private func duration(_ item: Item?) -> Duration? {
    if let item, case .map = item.node.content,
      case .duration(let duration)? = reading.constant(item)
    {
      return duration
    }
    return reading.duration(item)
  }

  private func score(_ item: Item) -> Double {
    let range = 0...TimelineEntry.scoreMax
    guard let value = reading.constant(item) else { return 0 }
    switch value {
    case .int(let score) where range.contains(Double(score)): return Double(score)
    case .double(let score) where range.contains(score): return score
    default:
      reading.report(
        item, "the score is not a number from 0 to 1000000", hint: "write for example 10")
      return 0
    }
  }

  private func time(_ item: Item?) -> Timestamp? {
    guard let item, let text = reading.text(item) else { return nil }
    guard let time = RFC3339.timestamp(text) else {
      reading.report(
        item, "\"\(text.prefix(40))\" is not a time", hint: "write for example 2026-01-01T08:00:00Z"
      )
      return nil
    }
    return time
  }
}

extension Timeline.Policy {
  /// `at-end`, `after` or `never`: the name of a policy in files.
  package var name: String {
    switch self {
    case .atEnd: "at-end"
    case .after: "after"
    case .never: "never"
    }
  }

  package init?(name: String) {
    guard let policy = Timeline.Policy.allCases.first(where: { $0.name == name }) else {
      return nil
    }
    self = policy
  }
}
