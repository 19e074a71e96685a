import WidgetModel

/// The changes, for people: `text: "12:00" -> "12:01"`.
enum ChangeText {
  /// The differences between two states of one widget, in a fixed order, one phrase each.
  static func differences(_ before: Widget, _ after: Widget) -> [String] {
    var phrases: [String] = []
    if before.presence != after.presence {
      phrases.append("state: \(words(before.presence)) -> \(words(after.presence))")
    }
    phrases += differences(before.data, after.data, prefix: "")
    phrases += differences(before.parameters, after.parameters, prefix: "parameters.")
    phrases += differences(map(before.labels), map(after.labels), prefix: "labels.")
    if before.family != after.family {
      phrases.append("family: \(before.family.name) -> \(after.family.name)")
    }
    if before.activity?.state != after.activity?.state, let activity = after.activity {
      phrases.append("activity: \(activity.state.name)")
    }
    if before.isStale != after.isStale { phrases.append(after.isStale ? "stale" : "fresh") }
    if before.error != after.error {
      phrases +=
        after.error?.all.map {
          "error: \($0.reason.safeForTerminal): \($0.message.safeForTerminal)"
        } ?? ["error: removed"]
    }
    let problem = after.timeline?.problem ?? ""
    if before.timeline?.problem ?? "" != problem {
      phrases.append("timeline: \(problem.isEmpty ? "works now" : problem.onOneLine)")
    }
    if before.applySet != after.applySet {
      phrases.append(
        "set: \(JSONWriter.quoted(before.applySet)) -> \(JSONWriter.quoted(after.applySet))")
    }
    if before.position != after.position { phrases.append("moved") }
    if let phrase = content(before.content, after.content) { phrases.append(phrase) }
    return phrases
  }

  /// How many nodes are other than before.
  private static func content(_ before: Content?, _ after: Content?) -> String? {
    guard before != after else { return nil }
    guard let after else { return "content: removed" }
    let old = Dictionary(
      (before?.nodes ?? []).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let kept = Set(after.nodes.map(\.id))
    let changed = after.nodes.count { old[$0.id] != $0 } + old.keys.count { !kept.contains($0) }
    return "content: \(changed) \(changed == 1 ? "node" : "nodes")"
  }

  /// Both bits show, where the state alone would hide a change of one of them.
  private static func words(_ presence: Presence) -> String {
    presence.state == .hidden && !presence.isEnabled ? "hidden+disabled" : presence.state.name
  }

  private static func map(_ labels: Labels) -> ValueMap {
    ValueMap(labels.entries.map { .init(key: $0.key, value: .string($0.value)) })
  }

  private static func differences(
    _ before: ValueMap, _ after: ValueMap, prefix: String
  ) -> [String] {
    let keys = Set(before.keys).union(after.keys).sorted { $0.precedesByBytes($1) }
    return keys.compactMap { key in
      let name = prefix + key.safeForTerminal
      switch (before[key], after[key]) {
      case (let old?, let new?):
        return old == new
          ? nil : "\(name): \(JSONWriter.compact(old)) -> \(JSONWriter.compact(new))"
      case (nil, let new?): return "\(name): \(JSONWriter.compact(new))"
      case (let old?, nil): return "\(name): \(JSONWriter.compact(old)) -> nothing"
      case (nil, nil): return nil
      }
    }
  }
}
