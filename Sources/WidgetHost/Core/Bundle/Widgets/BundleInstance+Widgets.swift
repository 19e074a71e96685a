import WidgetBundle
import WidgetModel

// Widgets that appear, change and go.
extension BundleInstance {
  mutating func take(snapshot all: [Widget]) {
    let ids = Set(all.map(\.id))
    for id in sortedIDs where !ids.contains(id) { remove(id) }
    for widget in all { take(widget, isAnew: true) }
  }

  mutating func take(_ widget: Widget, isAnew: Bool) {
    guard let facts = kinds[widget.kind] else { return remove(widget.id) }
    defer {
      noteMaker(of: widget)
      // A problem of its bundle makes it stale.
      showStaleness(widget.id)
    }
    // A widget that was deleted and made again is a new one, even if the host did not see the
    // deletion.
    guard let known = widgets[widget.id], known.heard.kind == widget.kind,
      known.heard.createdRevision == widget.createdRevision
    else {
      remove(widget.id)
      return appear(widget, facts)
    }
    trace(widget.id, content: widget.content, after: known.heard.content)
    widgets.hear(widget, isAnew: isAnew)
    standing.set(widget.id, isMarkRefused: false)
    followErrorsOfOthers(widget.id, after: known.heard.error)
    noteChangedErrors(widget.id, after: known.view.error)
    noteStaleness(widget.id, after: known.heard)
    followTimeline(widget.id)
    // An older message than the known state can have content that is out of date.
    if widgets[widget.id]?.heard.revision == widget.revision { followContent(widget.id) }
    followReducers(widget.id)
    followForms(widget.id, after: known.heard.content)
    // While the host restores a removed kind, the widget lacks the defaults.
    guard widget.parameters != known.view.parameters,
      facts.completed(widget).parameters != facts.completed(known.view).parameters
    else { return }
    for (index, source) in facts.kind.sources.enumerated() where source.isLoadedAtStart {
      read(widget.id, index, isAsked: true)
    }
  }

  private mutating func noteMaker(of widget: Widget) {
    let isOthers = widget.applySet != HostState.provider(of: bundle.id)
    if isOthers { others.insert(widget.id, of: widget.applySet) } else { others.remove(widget.id) }
  }

  private mutating func appear(_ widget: Widget, _ facts: KindFacts) {
    let id = widget.id
    widgets.add(widget)
    noteMaker(of: widget)
    sources.add(id, count: facts.kind.sources.count)
    standing.add(id)
    noteStaleness(id)
    let former = widgets.statuses(of: id)
    let interrupted = settleStatuses(id, facts)
    inheritOutcomes(id)
    inheritFailures(id, facts, from: former, interrupted: interrupted)
    followTimeline(id)
    followContent(id)
    followReducers(id)
    if !waiting.contains(id) { begin(id, facts) }
  }

  /// Begins the sources and triggers of a widget.
  mutating func begin(_ id: WidgetID, _ facts: KindFacts) {
    for (index, source) in facts.kind.sources.enumerated() {
      if source.isLoadedAtStart {
        read(id, index, isAsked: true)
      } else {
        arm(id, index, source)
      }
    }
    for (index, trigger) in facts.kind.triggers.enumerated() where !isPreview {
      switch trigger.when {
      case .load: fire(index, of: id, nil)
      case .every(let interval):
        timers.set(.trigger(id, index), at: now.uptime + max(interval, limits.intervalMin))
      case .event: break
      }
    }
  }

  /// Adapts the statuses of a former host or version: nothing is running; sources and actions that
  /// are no longer in the file are removed; new ones are idle, and so are sources that were read.
  ///
  /// - Returns: the actions that ran, or waited for the end of their delay, when the former host or
  ///   version ended.
  private mutating func settleStatuses(_ id: WidgetID, _ facts: KindFacts) -> Set<String> {
    guard facts.takesStatus else { return [] }
    var interrupted: Set<String> = []
    let known = widgets.statuses(of: id)
    var settled = ValueMap()
    for key in [BundleScope.outcomesKey, BundleScope.pendingKey] { settled[key] = known[key] }
    for name in facts.statusNames {
      settled[name] = known[name] ?? ActionStatus().value
      guard case .map(let status)? = known[name],
        status["running"] == .bool(true) || status[BundleInstance.delayedKey] == .bool(true)
      else { continue }
      undo(status, id)
      guard facts.kind.actions[name] != nil else {
        // The next reading of a source sets its state.
        settled[name] = ActionStatus().value
        continue
      }
      settled[name] =
        ActionStatus(
          state: .failure, title: errorTitle(of: name, id) ?? facts.failureTitle(name),
          message: "It was interrupted; try again.", code: "ABORTED", since: now.wall
        ).value
      interrupted.insert(name)
    }
    for name in interrupted {
      guard case .map(var status)? = settled[name] else { continue }
      status[BundleInstance.interruptedKey] = .bool(true)
      // One interruption is one failure.
      if let inner = innerInterruption(of: name, id, among: interrupted) {
        status[BundleInstance.innerKey] = .string(inner)
      }
      settled[name] = .map(status)
    }
    if settled != known { widgets.set(id, statuses: settled) }
    return interrupted
  }

  mutating func remove(_ id: WidgetID) {
    guard widgets[id] != nil else { return }
    for run in runs.of(id) { end(run) }
    queues.forgetFirings(of: id)
    ending.remove(id)
    for request in sources[id].flatMap(\.requests) { cancel(request) }
    sources.remove(id)
    standing.remove(id)
    widgets.remove(id)
    others.remove(id)
    told.remove(id)
    queues.forgetThrottled(of: id)
    requests.forgetWaiters(of: id)
    timers.cancelAll(of: id)
  }
}

/// Widgets of a bundle's kinds that are not its own, and a number that grows when these change.
struct OtherWidgets: Sendable {
  /// The sets of the widgets; empty for a widget without a set.
  private var sets: [WidgetID: String] = [:]
  private(set) var version: UInt64 = 0

  var ids: Set<WidgetID> { Set(sets.keys) }

  func contains(_ id: WidgetID) -> Bool { sets[id] != nil }

  /// The set of such a widget; empty for a widget without a set, nil for the bundle's own widgets.
  func set(of id: WidgetID) -> String? { sets[id] }

  mutating func insert(_ id: WidgetID, of set: String) {
    if sets.updateValue(set, forKey: id) != set { version += 1 }
  }

  mutating func remove(_ id: WidgetID) { if sets.removeValue(forKey: id) != nil { version += 1 } }

  /// The first of the widgets, each with its owner: `cpu`, `mem (bundle load)`, `net (set panel)`.
  func names(countMax: Int) -> [String] {
    let bundle = HostState.provider(of: "")
    return sets.sorted { $0.key.rawValue < $1.key.rawValue }.prefix(countMax).map { id, set in
      if set.isEmpty { return id.rawValue }
      if set.hasPrefix(bundle) { return "\(id) (bundle \(set.dropFirst(bundle.count)))" }
      return "\(id) (set \(set))"
    }
  }
}
