import WidgetModel

/// The text of changes, for people: `text: "12:00" -> "12:01"`.
enum ChangeText {
  /// One phrase of a line.
  struct Phrase: Hashable, Sendable {
    let text: String
    /// The reason at the end of the text. Nil if the phrase tells no failure.
    let failure: String?

    init(_ text: String) { (self.text, failure) = (text, nil) }

    init(failure reason: String, mark: String = "! ") {
      (text, failure) = (mark + reason, reason)
    }
  }

  /// The differences between two states of one widget, in a fixed order, with one phrase for each.
  ///
  /// - Parameter tellsContent: whether to count the changed nodes of the content. The failures of
  ///   the content are always reported.
  static func differences(
    _ before: Widget, _ after: Widget, tellsContent: Bool = true
  ) -> [String] {
    phrases(before, after, tellsContent: tellsContent).map(\.text)
  }

  /// The same, with the failures marked.
  static func phrases(
    _ before: Widget, _ after: Widget, tellsContent: Bool = true
  ) -> [Phrase] {
    var phrases: [Phrase] = []
    func add(_ text: String) { phrases.append(Phrase(text)) }
    if before.presence != after.presence {
      add("state: \(words(before.presence)) -> \(words(after.presence))")
    }
    let values =
      differences(before.data, after.data, prefix: "", after.dataOrder)
      + differences(before.parameters, after.parameters, prefix: "parameters.")
      + differences(map(before.labels), map(after.labels), prefix: "labels.")
    values.forEach(add)
    if before.family != after.family {
      add("family: \(before.family.name) -> \(after.family.name)")
    }
    if before.activity?.state != after.activity?.state, let activity = after.activity {
      add("activity: \(activity.state.name)")
    }
    if before.isStale != after.isStale { add(after.isStale ? "stale" : "fresh") }
    if before.error != after.error { phrases += self.phrases(of: after.error) }
    let problem = after.timeline?.problem ?? ""
    if before.timeline?.problem ?? "" != problem {
      phrases.append(phrase(ofTimeline: problem))
    }
    phrases += failures(before.content, after.content)
    if before.applySet != after.applySet {
      add("set: \(JSONWriter.quoted(before.applySet)) -> \(JSONWriter.quoted(after.applySet))")
    }
    if before.position != after.position { add("moved") }
    if tellsContent, let text = content(before.content, after.content) { add(text) }
    return phrases
  }

  /// A changed error of a widget.
  static func phrases(of error: WidgetError?) -> [Phrase] {
    error?.all.map {
      Phrase(
        failure: "\($0.reason.safeForTerminal): \($0.message.safeForTerminal)", mark: "error: ")
    } ?? [Phrase("error: removed")]
  }

  /// A changed problem of a timeline; empty if the timeline works.
  static func phrase(ofTimeline problem: String) -> Phrase {
    problem.isEmpty
      ? Phrase("timeline: works now") : Phrase(failure: problem.onOneLine, mark: "timeline: ")
  }

  /// The failures of nodes that have come, and the nodes whose failures are gone.
  private static func failures(_ before: Content?, _ after: Content?) -> [Phrase] {
    let (old, new) = (before?.failures ?? [], after?.failures ?? [])
    guard old != new else { return [] }
    let known = Set(old.map(\.reason))
    let failing = Set(new.compactMap(\.node))
    var told: Set<String> = []
    let mended = old.compactMap(\.node).filter { !failing.contains($0) && told.insert($0).inserted }
    return new.map(\.reason).filter { !known.contains($0) }.map { Phrase(failure: $0) }
      + mended.map { Phrase("\($0.safeForTerminal): works now") }
  }

  /// The number of changed nodes.
  private static func content(_ before: Content?, _ after: Content?) -> String? {
    guard before != after else { return nil }
    guard let after else { return "content: removed" }
    let old = Dictionary(
      (before?.nodes ?? []).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let kept = Set(after.nodes.map(\.id))
    let changed = after.nodes.count { old[$0.id] != $0 } + old.keys.count { !kept.contains($0) }
    return "content: \(changed) \(changed == 1 ? "node" : "nodes")"
  }

  /// The text has both bits, because the state alone would hide a change of one of them.
  private static func words(_ presence: Presence) -> String {
    presence.state == .hidden && !presence.isEnabled ? "hidden+disabled" : presence.state.name
  }

  static func map(_ labels: Labels) -> ValueMap {
    ValueMap(labels.entries.map { .init(key: $0.key, value: .string($0.value)) })
  }

  private static func differences(
    _ before: ValueMap, _ after: ValueMap, prefix: String, _ order: DataOrder = .unchanged
  ) -> [String] {
    let keys = Set(before.keys).union(after.keys).sorted { $0.precedesByBytes($1) }
    return order.sorted(keys) { $0 }.compactMap { key in
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

extension WidgetFailure {
  /// The node of a failure of the content; nil for other failures.
  fileprivate var node: String? {
    if case .content(let node, _, _) = self { node } else { nil }
  }
}
