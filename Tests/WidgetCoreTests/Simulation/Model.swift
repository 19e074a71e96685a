import WidgetModel

@testable import WidgetCore

/// A simple model of a store: dictionaries, and a full copy of the state at every revision. The
/// model is slow, but obviously right.
///
/// The model takes only the numbers of positions from the store (`adoptPositions`), after a check
/// that they give the expected order. Only their comparison has a meaning.
struct Model {
  var limits: StoreLimits
  /// The state at each revision since 0; the last one is now.
  var history: [Moment] = [Moment()]
  /// The current widgets in display order.
  var order: [WidgetID] = []
  /// The owners of fields, for widgets that a manager has declared.
  var owners: [WidgetID: ModelOwners] = [:]
  var numbering: [KindName: UInt64] = [:]
  var events = ModelEvents()
  var theme = ModelTheme()
  var answers: [RequestImage] = []
  /// The revisions of removals that are remembered.
  var removals: [Revision] = []
  var compactRevision: Revision = 0

  /// The state at a revision.
  struct Moment {
    var widgets: [WidgetID: Widget] = [:]
    /// The widgets that the commit changed, and its hint.
    var touched: Set<WidgetID> = []
    /// The widgets of these of which the commit changed the owners of fields, and nothing else.
    var reowned: Set<WidgetID> = []
    var transition: Transition?
  }

  /// The result of a command.
  struct Effect {
    var outcome: Commit.Outcome
    var isChange: Bool
  }

  var revision: Revision { Revision(history.count - 1) }
  var widgets: [WidgetID: Widget] { history[history.count - 1].widgets }

  func widgets(at revision: Revision) -> [WidgetID: Widget] { history[Int(revision)].widgets }

  // MARK: - Commands

  mutating func apply(
    _ command: Command, by caller: Caller, at now: Timestamp
  ) throws(StoreError) -> Effect {
    var draft = Draft(model: self, caller: caller, now: now)
    let outcome = try draft.run(command)
    adopt(draft, transition: command.transition)
    return Effect(outcome: outcome, isChange: draft.isChange)
  }

  /// Makes a draft's state the next revision, if the state has changed.
  mutating func adopt(_ draft: Draft, transition: Transition?) {
    var draft = draft
    events = draft.events
    guard draft.isChange else { return }
    let touched = draft.touched.union(Set(widgets.keys).subtracting(draft.widgets.keys))
    removals += Array(repeating: revision + 1, count: draft.removalCount)
    numbering = draft.numbering
    owners = draft.owners
    theme = draft.theme
    order = draft.order
    // None of the workload's kinds is registered.
    for id in touched { draft.widgets[id] = draft.widgets[id]?.withPlainContent }
    history.append(
      Moment(
        widgets: draft.widgets, touched: touched, reowned: draft.reowned,
        transition: transition))
  }

  /// Takes over the store's positions. Returns the mistakes in them.
  mutating func adoptPositions(from store: Store, mayMoveAll: Bool) -> [String] {
    let listed = store.list(after: nil, limit: .max).widgets
    guard listed.map(\.id) == order else {
      return ["the order is \(listed.map(\.id)) and should be \(order)"]
    }
    var violations: [String] = []
    let last = history.count - 1
    for widget in listed {
      guard let old = history[last].widgets[widget.id], old.position != widget.position else {
        continue
      }
      history[last].widgets[widget.id]?.position = widget.position
      if history[last].touched.contains(widget.id) { continue }
      if !mayMoveAll { violations.append("\(widget.id) moved though nobody asked for it") }
      history[last].touched.insert(widget.id)
      history[last].widgets[widget.id]?.revision = Revision(last)
      history[last].widgets[widget.id]?.updateTime = widget.updateTime
    }
    return violations
  }

  // MARK: - Forgetting

  mutating func commitGroup(at now: RunningTime) {
    events.kept = Array(events.kept.suffix(limits.eventsKeptMax))
    while events.bytes > limits.eventBytesKeptMax { events.kept.removeFirst() }
    answers.removeAll { $0.expires <= now }
    while answers.count > limits.requestsKeptMax { dropAnswer { _ in 1 } }
    while answers.reduce(0, { $0 + Model.cost(of: $1) }) > limits.requestBytesKeptMax {
      dropAnswer(Model.cost)
    }
    if removals.count > limits.tombstonesMax {
      let left = max(limits.tombstonesMax / 2, limits.tombstonesMax - 256)
      compactRevision = removals[removals.count - left - 1]
      removals.removeAll { $0 <= compactRevision }
    }
  }

  private static func cost(of answer: RequestImage) -> Int {
    128 + answer.requestID.utf8.count + answer.response.count
  }

  /// Drops the oldest answer of the users with the most.
  private mutating func dropAnswer(_ size: (RequestImage) -> Int) {
    var sizes: [UInt32: Int] = [:]
    for answer in answers { sizes[answer.uid, default: 0] += size(answer) }
    let most = sizes.values.max()
    if let index = answers.firstIndex(where: { sizes[$0.uid] == most }) {
      answers.remove(at: index)
    }
  }

  /// The state after a restart from an image.
  mutating func restart(from image: StoreImage) {
    numbering = [:]
    events = ModelEvents(last: image.eventSequenceCeiling, ceiling: image.eventSequenceCeiling)
    answers = image.requests.sorted { $0.expires < $1.expires }
    compactRevision = image.compactRevision
    let keys = image.records.flatMap { $0.data + $0.parameters }.filter { $0.value == nil }
    removals = (image.tombstones.map(\.revision) + keys.map(\.revision))
      .filter { $0 > image.compactRevision }.sorted()
  }

  /// The kept answer to a request.
  func recall(_ requestID: String, of uid: UInt32, at now: RunningTime) -> RequestImage? {
    answers.last { $0.uid == uid && $0.requestID == requestID && $0.expires > now }
  }

  // MARK: - Deltas

  func selected(by selector: Selector, at revision: Revision) -> [WidgetID: Widget] {
    widgets(at: revision).filter { selector.matches($0.value) }
  }

  /// Whether all changes of a widget after a cursor are changes of owners alone, so that only its revision moved.
  func changesOwnersOnly(_ update: WidgetUpdate, since cursor: Revision) -> Bool {
    guard update.revision > cursor, update.revision <= revision else { return false }
    let moments = history[Int(cursor) + 1...Int(update.revision)]
      .filter { $0.touched.contains(update.id) }
    return !moments.isEmpty && moments.allSatisfy { $0.reowned.contains(update.id) }
  }

  /// The exact changes for a reader whose selector does not depend on state.
  func delta(since cursor: Revision, selecting selector: Selector) -> Delta {
    let (before, after) = (
      selected(by: selector, at: cursor), selected(by: selector, at: revision)
    )
    var changes: [WidgetChange] = []
    for (id, widget) in before where after[id] == nil {
      // An activity that takes the place of an ended one removes it in the same commit.
      let removed =
        (cursor + 1...revision).first {
          widgets(at: $0)[id]?.createdRevision != widget.createdRevision
        } ?? revision
      changes.append(.removed(id, history[Int(removed)].transition))
    }
    for (id, widget) in after where widget.revision > cursor {
      let hint = (max(cursor, widget.createdRevision - 1) + 1...revision).reversed().lazy
        .filter { history[Int($0)].touched.contains(id) }
        .compactMap { history[Int($0)].transition }.first
      if widget.createdRevision > cursor {
        changes.append(.added(widget, hint))
      } else {
        var update = update(of: widget, since: cursor)
        update.transition = hint
        changes.append(.updated(update))
      }
    }
    return Delta(fromRevision: cursor, toRevision: revision, changes: changes).normalized
  }

  private func update(of widget: Widget, since cursor: Revision) -> WidgetUpdate {
    var update = WidgetUpdate(
      id: widget.id, revision: widget.revision, updateTime: widget.updateTime)
    var data: Set<[UInt8]> = []
    var parameters: Set<[UInt8]> = []
    var hasOtherKeys = false
    for step in cursor + 1...revision where history[Int(step)].touched.contains(widget.id) {
      guard let a = widgets(at: step - 1)[widget.id], let b = widgets(at: step)[widget.id] else {
        continue
      }
      hasOtherKeys = hasOtherKeys || a.data.keys.map(\.bytes) != b.data.keys.map(\.bytes)
      data.formUnion(a.data.keysDiffering(from: b.data))
      parameters.formUnion(a.parameters.keysDiffering(from: b.parameters))
      if a.labels != b.labels { update.labels = widget.labels }
      if a.presence != b.presence { update.presence = widget.presence }
      if a.position != b.position { update.position = widget.position }
      if a.isStale != b.isStale || a.error != b.error || a.family != b.family
        || a.applySet != b.applySet || a.activity != b.activity
      {
        update.isStale = widget.isStale
        update.error = .some(widget.error)
        update.family = widget.family
        update.applySet = widget.applySet
        update.activity = widget.activity
      }
    }
    (update.setData, update.unsetData) = widget.data.split(data)
    (update.setParameters, update.unsetParameters) = widget.parameters.split(parameters)
    if hasOtherKeys {
      update.content = ContentChange(replacingBy: widget.content)
    } else if let content = widget.content {
      let ids = update.setData.keys.map { "value/" + NodeID.encoded(key: $0) }
      let nodes = ids.compactMap { id in content.nodes.first { $0.id.hasSameBytes(as: id) } }
      if !nodes.isEmpty { update.content = ContentChange(setNodes: nodes) }
    }
    return update
  }
}

/// The events as the model keeps them.
struct ModelEvents {
  var kept: [Kept] = []
  var last: UInt64 = 0
  var ceiling: UInt64 = 0

  struct Kept {
    var event: Event
    var widget: Widget
  }

  var bytes: Int {
    kept.reduce(0) { sum, entry in
      let labels = entry.widget.labels.entries
      return sum + 64 + entry.event.payload.cost
        + labels.reduce(0) { $0 + 16 + $1.key.utf8.count + $1.value.utf8.count }
    }
  }

  /// - Parameter now: the present widgets, on which expressions are evaluated.
  func page(
    after cursor: UInt64, limit: Int, selecting selector: Selector, now: [WidgetID: Widget]
  ) -> EventPage {
    var conditions = selector
    conditions.expression = ""
    let oldest = last - UInt64(kept.count)
    var page = EventPage(cursor: min(cursor, last))
    if cursor < oldest {
      page.gap = cursor + 1...oldest
      page.cursor = oldest
    }
    for entry in kept where entry.event.sequence > page.cursor && page.events.count < limit {
      page.cursor = entry.event.sequence
      let isTrue =
        selector.expression.isEmpty
        || now[entry.event.widgetID].map { NaiveExpression.holds(selector.expression, for: $0) }
          ?? false
      if conditions.matches(entry.widget), isTrue { page.events.append(entry.event) }
    }
    return page
  }
}

extension Selector {
  func matches(_ widget: Widget) -> Bool {
    matches(id: widget.id, kind: widget.kind, family: widget.family, labels: widget.labels)
      && (expression.isEmpty || NaiveExpression.holds(expression, for: widget))
  }
}

/// Expressions of selectors, each with the same condition in Swift.
enum NaiveExpression {
  static let all: [(text: String, holds: @Sendable (Widget) -> Bool)] = [
    ("data.x == 1", { $0.data["x"] == .int(1) || $0.data["x"] == .double(1) }),
    ("has(data.y) && !widget.visible", { $0.data["y"] != nil && !$0.presence.isVisible }),
    ("widget.stale || size(data) > 2", { $0.isStale || $0.data.count > 2 }),
    ("'on' in widget.labels || widget.error != ''", { $0.labels["on"] != nil || $0.error != nil }),
    ("has(parameters.y)", { $0.parameters["y"] != nil }),
  ]

  static func holds(_ text: String, for widget: Widget) -> Bool {
    all.first { $0.text == text }?.holds(widget) ?? false
  }
}

extension ValueMap {
  var cost: Int { entries.reduce(0) { $0 + $1.key.utf8.count + $1.value.costBytes } }

  fileprivate func keysDiffering(from other: ValueMap) -> Set<[UInt8]> {
    let all = (keys + other.keys).filter { self[$0] != other[$0] }
    return Set(all.map { Array($0.utf8) })
  }

  /// These keys: the existing ones with their values, and the missing ones.
  fileprivate func split(_ keys: Set<[UInt8]>) -> (set: ValueMap, unset: [String]) {
    let names = keys.map { String(decoding: $0, as: UTF8.self) }
    let set = names.compactMap { key in self[key].map { ValueMap.Entry(key: key, value: $0) } }
    let unset = names.filter { self[$0] == nil }.sorted { $0.precedesByBytes($1) }
    return (ValueMap(set), unset)
  }
}

extension Command {
  var transition: Transition? {
    switch self {
    case .create(_, let transition), .update(_, _, _, let transition, _),
      .delete(_, _, _, let transition), .setPresence(_, _, let transition),
      .move(_, _, let transition), .apply(_, let transition),
      .startActivity(_, _, _, let transition), .updateActivity(_, _, _, let transition),
      .endActivity(_, _, _, let transition):
      transition
    case .sendEvent, .markFailure, .applyKinds, .deleteKind, .provide, .acknowledge,
      .updateTheme:
      nil
    }
  }
}

extension String {
  fileprivate var bytes: [UInt8] { Array(utf8) }
}
