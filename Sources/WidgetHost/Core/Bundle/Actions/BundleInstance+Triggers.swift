import WidgetBundle
import WidgetModel

// Events, and the triggers that fire because of events or the time.
extension BundleInstance {
  mutating func take(_ event: Event) {
    guard duties.open(event) else { return }
    follow(event)
    if event.wantsOutcome { outcomes.begin(event) }
    let isFollowed = facts(of: event.widgetID).map { isMeant(event, $0) } ?? true
    let isReduced = facts(of: event.widgetID).map { !BundleInstance.reduced(event, $0).isEmpty }
    trace(
      event.widgetID, .event, event.name,
      "received" + (event.nodeID.isEmpty ? "" : " from node \(event.nodeID)")
        + BundleInstance.shape(event.payload)
        + (isFollowed
          ? ""
          : isReduced == true
            ? ": the daemon has changed the data" : ": the host does nothing for it"))
    if !isFollowed, isReduced == false { refuse(event) }
    // A trace shows the reducers' changes of the data.
    guard isFollowed || (isTraced && isReduced == true) else { return }
    // Steps need the data from before the event, and the changes of the daemon's reducers. The
    // watch brings both, and the widget itself, perhaps later than the event.
    effects.append(.fetchWidget(requests.begin(.event(event)), event.widgetID))
  }

  /// Whether the event has any effect in the bundle.
  func isMeant(_ event: Event, _ facts: KindFacts) -> Bool {
    form(of: event, facts) != nil
      || facts.kind.triggers.contains { BundleInstance.isSetOff($0, by: event) }
  }

  /// The data keys that the daemon's reducers write for an event, in order.
  static func reduced(_ event: Event, _ facts: KindFacts) -> [String] {
    let reducers = facts.kind.kind.reducers.filter {
      $0.event == event.name
        && ($0.nodeID.isEmpty || NodeID.isNode(event.nodeID, of: $0.nodeID))
    }
    return Set(reducers.flatMap { $0.assignments.keys + $0.unset }).sorted()
  }

  private func form(of event: Event, _ facts: KindFacts) -> Form? {
    guard event.name == "submit" else { return nil }
    return facts.kind.forms.first { NodeID.isNode(event.nodeID, of: $0.key) }?.value
  }

  private static func isSetOff(_ trigger: Trigger, by event: Event) -> Bool {
    guard case .event(let name, let nodeID) = trigger.when, name == event.name else { return false }
    guard let nodeID else { return true }
    return NodeID.isNode(event.nodeID, of: nodeID)
  }

  mutating func act(on event: Event) {
    let id = event.widgetID
    guard let facts = facts(of: id) else { return noteLost(event) }
    // The sender already has the outcome. The event came again because its acknowledgement was
    // lost.
    if hasOutcome(event) {
      outcomes.end(event.sequence)
      return
    }
    trace(id, reducedBy: event, facts)
    let form = form(of: event, facts)
    if let form, !check(form, event, facts) { return }
    let event = form.map { BundleInstance.completed(event, by: $0) } ?? event
    var isSetOff = false
    for (index, trigger) in facts.kind.triggers.enumerated()
    where BundleInstance.isSetOff(trigger, by: event) {
      isSetOff = true
      offer(event, to: trigger, index)
    }
    // A form without a trigger runs its action.
    if let form, !isSetOff, facts.kind.actions[form.action] != nil {
      fire(BundleInstance.formTrigger, of: id, event, steps: [.run(form.action)])
    }
    if form == nil, !isSetOff, BundleInstance.reduced(event, facts).isEmpty { refuse(event) }
  }

  /// Replaces the index of a trigger for a form, which has no trigger in the file.
  private static var formTrigger: Int { -1 }

  private mutating func offer(_ event: Event, to trigger: Trigger, _ index: Int) {
    let key = ThrottleKey(widgetID: event.widgetID, trigger: index, node: event.nodeID)
    if let least = trigger.minLength, case .string(let text)? = event.payload["value"],
      !text.isEmpty, text.count < least
    {
      // Drop the earlier text too, because the input has changed since.
      replaced(queues.takeThrottled(key))
      timers.cancel(.throttle(key))
      return
    }
    guard let throttle = trigger.throttle, throttle > .zero else {
      return fire(index, of: event.widgetID, event)
    }
    let sharer = sharer(of: event)
    if !queues.isThrottling(key),
      queues.throttledCount >= limits.queuedMax * max(1, widgets.count)
    {
      guard let loser = queues.takeThrottled(for: sharer) else {
        return dropped(event.widgetID, event)
      }
      timers.cancel(.throttle(loser.key))
      dropped(loser.event.widgetID, loser.event)
    }
    replaced(queues.throttle(event, of: sharer, key))
    timers.set(.throttle(key), at: now.uptime + throttle)
  }

  /// Tells the sender of an event, if the sender waits, that a later event replaced the event.
  private mutating func replaced(_ event: Event?) {
    noteOutcome(of: event, .cancelled(because: BundleInstance.replaced))
  }

  static let replaced = "A later event took its place."

  mutating func tickTrigger(_ id: WidgetID, _ index: Int) {
    guard let triggers = facts(of: id)?.kind.triggers, triggers.indices.contains(index),
      case .every(let interval) = triggers[index].when
    else { return }
    timers.set(.trigger(id, index), at: now.uptime + max(interval, limits.intervalMin))
    // Skip this time if the last run has not ended.
    guard !runs.isBusy(QueueKey(widgetID: id, trigger: index)) else { return }
    fire(index, of: id, nil)
  }

  // MARK: Runs begin

  mutating func fire(_ index: Int, of id: WidgetID, _ event: Event?) {
    guard let triggers = facts(of: id)?.kind.triggers, triggers.indices.contains(index) else {
      return
    }
    fire(index, of: id, event, steps: triggers[index].steps)
  }

  private mutating func fire(
    _ index: Int, of id: WidgetID, _ event: Event?, steps: [Step]
  ) {
    guard !ending.contains(id) else { return noteEnding(of: event) }
    let key = QueueKey(widgetID: id, trigger: index)
    let firing = Firing(
      event: event, row: event.flatMap { NodeID.rowKeys(of: $0.nodeID).last } ?? "",
      sharer: sharer(of: event))
    guard allowances.takeFiring(for: firing.sharer) else { return dropped(id, event) }
    guard runs.isBusy(key) else { return start(key, firing, steps) }
    let loser = queues.append(firing, to: key, max: limits.queuedMax)
    if let loser { dropped(id, loser.event) }
  }

  private mutating func dropped(_ id: WidgetID, _ event: Event?) {
    noteOutcome(
      of: event,
      ActionStatus(
        state: .failure, title: "Left out",
        message: "Too many actions are waiting; try again later.",
        code: "RESOURCE_EXHAUSTED"))
    failed(
      id, .dropped,
      ActionStatus(
        state: .failure, title: event.map { "Event \($0.name)" } ?? "",
        message: "too many actions are waiting; dropped", code: "RESOURCE_EXHAUSTED"))
    timers.set(.dropped(id), at: now.uptime + limits.droppedFor)
  }

  private mutating func start(_ key: QueueKey, _ firing: Firing, _ steps: [Step]) {
    guard runs.count(of: key.widgetID) < limits.runsMax else {
      return dropped(key.widgetID, firing.event)
    }
    trace(key.widgetID, .action, triggerName(key.widgetID, key.trigger), "starts")
    let id = requests.nextNumber()
    runs.begin(
      Run(
        id: id, widgetID: key.widgetID, trigger: key.trigger, event: firing.event, row: firing.row,
        sharer: firing.sharer, frames: [Run.Frame(Action(steps: steps))],
        chain: firing.event.flatMap { chains[$0.sequence] } ?? EventChain()))
    advance(id)
  }

  /// Starts the next firing of a trigger, if no earlier one is under way.
  mutating func startNext(_ key: QueueKey) {
    guard !runs.isBusy(key), let facts = facts(of: key.widgetID),
      let firing = queues.takeFirst(key)
    else { return }
    if facts.kind.triggers.indices.contains(key.trigger) {
      start(key, firing, facts.kind.triggers[key.trigger].steps)
    } else if let form = firing.event.flatMap({ form(of: $0, facts) }) {
      start(key, firing, [.run(form.action)])
    }
  }
}
