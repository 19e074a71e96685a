import WidgetBundle
import WidgetModel

// Widgets that wait for their removal, because the file of a bundle lacks them. The file may be a
// slip, so events run the actions of the kind, as for a widget of a missing folder. Sources and
// timers rest. Only steps read sources, and only those that give one result. `Holds` makes the
// widgets stale, and sets the error of the wait.
extension BundleInstance {
  mutating func take(waiting ids: Set<WidgetID>) {
    let before = waiting
    waiting = ids
    ending.formIntersection(ids)
    for id in ids.subtracting(before).sorted(by: WidgetID.inOrder) { beginWait(of: id) }
    for id in before.subtracting(ids).sorted(by: WidgetID.inOrder) {
      guard let facts = facts(of: id) else { continue }
      begin(id, facts)
      widgets.touch(id)
      showStaleness(id)
    }
  }

  /// The present actions are interrupted, as at the removal. So their optimistic values are undone
  /// before the removal names the values that go with the widget.
  private mutating func beginWait(of id: WidgetID) {
    guard let facts = facts(of: id) else { return }
    let ended = runs.of(id).compactMap { interrupt($0) }
    for index in facts.kind.sources.indices {
      sources.set(id, index, isOn: false)
      turnOff(id, index, "the widget waits for its removal")
    }
    for index in facts.kind.triggers.indices { timers.cancel(.trigger(id, index)) }
    // The next runs must not see optimistic values that are undone.
    for key in ended { startNext(key) }
  }

  /// The present actions are interrupted before the removal names the values that go with the
  /// widgets, like at the beginning of the wait. An action that began just before has no more time.
  /// The removal waits for these changes, so no other action begins meanwhile. A widget that waits on
  /// after all is no longer among the widgets, and its events run actions again.
  mutating func take(ending ids: Set<WidgetID>) {
    let before = ending
    ending = ids.intersection(waiting)
    for id in ending.subtracting(before).sorted(by: WidgetID.inOrder) {
      interruptRuns(of: id)
      // The change must not wait for the answer to an earlier one.
      flush(id, isForced: true)
    }
  }

  /// Interrupts the actions of a widget. The events that wait for their end fail, too.
  mutating func interruptRuns(of id: WidgetID) {
    for firing in queues.forgetFirings(of: id) { noteInterruption(of: firing.event) }
    for run in runs.of(id) { _ = interrupt(run) }
  }

  /// Tells the sender of an event, if the sender waits, that its action does not run.
  mutating func noteInterruption(of event: Event?) {
    noteOutcome(
      of: event,
      ActionStatus(
        state: .failure, title: "Interrupted",
        message: "It was interrupted; try again.", code: "ABORTED"))
  }

  /// Whether a source rests, because its widget waits for its removal.
  func rests(_ source: Source, of id: WidgetID, isDemanded: Bool) -> Bool {
    waiting.contains(id) && (!isDemanded || source.isContinuous)
  }

  /// Notes that an action was interrupted. No event tells of it.
  mutating func noteInterruption(of name: String, _ id: WidgetID, _ status: ActionStatus) {
    guard !name.isEmpty, facts(of: id)?.takesStatus == true else { return }
    traceStatus(status, of: name, id)
    var all = widgets.statuses(of: id)
    all[name] = status.value
    widgets.set(id, statuses: all)
    changeStatus(id, name) { $0[BundleInstance.interruptedKey] = .bool(true) }
  }

  // MARK: Events

  /// Notes that an event runs nothing, because the removal of its widget has begun. The daemon can
  /// still refuse the removal.
  mutating func noteEnding(of event: Event?) {
    noteInterruption(of: event)
    guard let event, event.origin.client != BundleInstance.sender, allowances.takeReport() else {
      return
    }
    effects.append(
      .report(
        "bundle \(bundle.id): widget \(event.widgetID): the event \(event.name) is lost, because"
          + " the removal of the widget has begun; send it again if the widget stays"))
  }

  /// Notes that the kind does nothing for an event of a widget that waits for its removal. The
  /// version before may have had an action for it.
  mutating func refuse(_ event: Event) {
    let id = event.widgetID
    guard waiting.contains(id), event.origin.client != BundleInstance.sender else { return }
    let error = widgets[id]?.view.error?.all.first { Holds.Cause.has($0) }
    let cause = error.map { Holds.Cause.change(of: $0) } ?? "a file no longer has this widget"
    let words = "nothing handles the event \(event.name), and \(cause)"
    if allowances.takeReport() {
      effects.append(.report("bundle \(bundle.id): widget \(id): \(words)"))
    }
    noteOutcome(
      of: event,
      ActionStatus(
        state: .failure, title: "Not handled", message: words, code: "FAILED_PRECONDITION"))
  }

  /// Notes that an event has no effect, because the bundle does not serve its widget. Events
  /// that no kind of the bundle handles need no line.
  mutating func noteLost(_ event: Event) {
    guard event.origin.client != BundleInstance.sender,
      kinds.values.contains(where: { isMeant(event, $0) }), allowances.takeReport()
    else { return }
    effects.append(
      .report(
        "bundle \(bundle.id): widget \(event.widgetID): the event \(event.name) is lost, because"
          + " the bundle does not serve the widget now; send it again"))
  }
}
