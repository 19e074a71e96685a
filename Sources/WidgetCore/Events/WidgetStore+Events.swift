import WidgetExpression
import WidgetModel

/// Events: whether a widget takes an event, and how the reducers of its kind change its data.
extension WidgetStore {
  mutating func accept(
    _ draft: EventDraft, by caller: Caller, at now: Timestamp
  ) throws(StoreError) -> UInt64 {
    try accept(draft, by: caller, at: now, spending: limits.eventCostMax)
  }

  private mutating func accept(
    _ draft: EventDraft, by caller: Caller, at now: Timestamp, spending costMax: Int
  ) throws(StoreError) -> UInt64 {
    guard let slot = slot(of: draft.widgetID), let record = records[slot] else {
      throw .widgetNotFound(draft.widgetID)
    }
    try validate(draft)
    var budget = costMax
    if let inner = try embedded(draft, on: record, spending: &budget) {
      return try accept(inner, by: caller, at: now, spending: budget)
    }
    let node = try standing(of: draft, on: record, spending: &budget)
    // An event that the kind itself declares can have a number.
    let isDeclared =
      schemas[record.kind]?.kind.events.contains { $0.name == draft.name } ?? false
    var draft = node?.takesNumber == true && !isDeclared ? draft.withNumberAsText : draft
    draft = try schemas[record.kind]?.fitted(draft, on: node?.type) ?? draft
    draft =
      try schemas[record.kind]?.checkedForm(draft, on: node?.type) {
        record.shownProperties(of: $0)
      }
      ?? draft
    // The defaults come first, because they count too.
    try checkPayload(of: draft)
    if node?.takesNumber == true { try checkNumber(draft) }
    if !draft.isForced {
      if !record.presence.isVisible { throw .widgetHidden(record.id) }
      if !record.presence.isEnabled { throw .widgetDisabled(record.id) }
      if node?.isVisible == false { throw .nodeHidden(record.id, draft.nodeID) }
      if node?.isEnabled == false { throw .nodeDisabled(record.id, draft.nodeID) }
    }
    let sequence = events.lastSequence + 1
    let event = Event(
      sequence: sequence, widgetID: record.id, nodeID: draft.nodeID, name: draft.name,
      payload: draft.payload, time: now, revision: revision, origin: caller,
      isForced: draft.isForced, wantsOutcome: draft.wantsOutcome)
    let reduction = try reduce(event, on: slot, costMax: budget)
    if sequence > eventSequenceCeiling {
      addInverse(.lowerEventCeiling(to: eventSequenceCeiling))
      eventSequenceCeiling += WidgetStore.eventSequenceBlock
    }
    events.append(event, kind: record.kind, family: record.family, labels: record.labels)
    addInverse(.dropEvent)
    if isKept(record.kind) {
      unacknowledged.append(event, of: record.kind)
      addInverse(.dropUnacknowledged(record.kind, sequence))
    }
    if let (patch, ownership, effect) = reduction, effect.isChange {
      _ = advanceRevision()
      modify(slot, by: patch, effect, ownership, defaultTransition(slot), at: now)
    }
    return sequence
  }

  /// Adds the failure of a reducer to the errors of its widget.
  ///
  /// An error that somebody has set stays the first one. The marks of other reducers stay too, so that
  /// reducers that fail in turn make no changes.
  mutating func mark(
    _ id: WidgetID, _ failure: ReducerFailure, at now: Timestamp
  ) throws(StoreError) {
    guard let slot = slot(of: id), let record = records[slot] else { throw .widgetNotFound(id) }
    var errors = record.error?.all ?? []
    if let index = errors.firstIndex(where: failure.isMarked) {
      errors[index] = failure.mark.continuing(errors[index])
    } else {
      guard errors.count(where: ReducerFailure.isMark) < ReducerFailure.marksMax,
        errors.count <= WidgetStore.furtherErrorsMax
      else { return }
      errors.append(failure.mark.dated(at: now))
    }
    let patch = WidgetPatch(error: .some(WidgetError(joining: errors)))
    let effect = try admittedEffect(of: patch, on: slot)
    guard effect.isChange else { return }
    _ = advanceRevision()
    modify(slot, by: patch, effect, nil, defaultTransition(slot), at: now)
  }

  /// Checks the value of a number input.
  private func checkNumber(_ draft: EventDraft) throws(StoreError) {
    guard draft.name == "change" || draft.name == "submit", let value = draft.payload["value"],
      let words = FormField.complaint(aboutNumber: value, isTyping: draft.name == "change")
    else { return }
    throw .invalid(field: "payload[value]", description: words)
  }

  /// The event for the widget in an embed, if the event is about a node in an embed. Everything
  /// around the node must take events too.
  private func embedded(
    _ draft: EventDraft, on record: Record, spending budget: inout Int
  ) throws(StoreError) -> EventDraft? {
    guard let (embed, rest) = NodeID.splitAtEmbed(draft.nodeID) else { return nil }
    guard draft.nodeID.ranges(of: NodeID.embedSeparator).count <= EmbedSource.depthMax else {
      throw .nodeNotFound(record.id, draft.nodeID)
    }
    let kept = ([record.content?.table] + record.familyContents.map { $0.content?.table })
      .compactMap(\.self).first { $0.origin(of: draft.nodeID) != nil }
    let node: NodeStanding?
    if let kept {
      node = kept.standing(of: embed)
    } else {
      var outer = draft
      outer.nodeID = embed
      node = try standing(of: outer, on: record, spending: &budget)
    }
    var inner = draft
    inner.nodeID = kept?.origin(of: draft.nodeID) ?? rest
    guard let node, let id = node.embeddedWidget.flatMap({ WidgetID($0) }), id != record.id,
      !inner.nodeID.isEmpty, slot(of: id) != nil
    else { throw .nodeNotFound(record.id, draft.nodeID) }
    inner.widgetID = id
    guard !draft.isForced else { return inner }
    if !record.presence.isVisible { throw .widgetHidden(record.id) }
    if !record.presence.isEnabled { throw .widgetDisabled(record.id) }
    if !node.isVisible { throw .nodeHidden(record.id, embed) }
    if !node.isEnabled { throw .nodeDisabled(record.id, embed) }
    return inner
  }

  /// The state of the node that an event is about; nil if the event is about the widget as a whole,
  /// or if the widget has no content.
  ///
  /// If no cached content has the node, content for other families is made within the budget. Only
  /// templates with such a node count.
  private func standing(
    of draft: EventDraft, on record: Record, spending budget: inout Int
  ) throws(StoreError) -> NodeStanding? {
    guard !draft.nodeID.isEmpty else { return nil }
    let own = record.content?.table
    if let standing = own?.standing(of: draft.nodeID) { return standing }
    // Clients show a widget in any family, and users press the nodes that they see.
    var kept = own.map { [$0] } ?? []
    for table in record.familyContents.compactMap({ $0.content?.table }) {
      if let standing = table.standing(of: draft.nodeID) { return standing }
      kept.append(table)
    }
    var programs = kept.map(\.program)
    for family in Family.allCases where !record.isPlain {
      let program = ContentMaker.program(of: record.kind, for: family, in: schemas)
      guard let program, !programs.contains(where: { $0 === program }) else { continue }
      programs.append(program)
      guard program.mayHaveNode(draft.nodeID) else { continue }
      var limits = limits
      limits.contentCostMax = min(limits.contentCostMax, budget)
      let isShort = limits.contentCostMax < self.limits.contentCostMax
      let table = ContentTable(program, of: record, as: family, limits: limits)
      budget -= table.cost
      // A table that this smaller budget has cut may lack nodes that readers see. So a missing node
      // in it does not refuse the event.
      guard budget > 0, !(isShort && table.ranOut) else {
        throw .quotaExceeded(limit: "event_cost_max", maximum: self.limits.eventCostMax)
      }
      if let standing = table.standing(of: draft.nodeID) { return standing }
    }
    if !programs.isEmpty { throw .nodeNotFound(record.id, draft.nodeID) }
    return nil
  }

  /// The patch that an event's reducers make, with its owners and effect; nil for no patch.
  private func reduce(
    _ event: Event, on slot: Int, costMax: Int
  ) throws(StoreError) -> (patch: WidgetPatch, ownership: Ownership?, effect: PatchEffect)? {
    guard let record = records[slot], let schema = schemas[record.kind],
      let patch = try record.kind == .smartStack
        ? SmartStackKind.patch(for: event, on: record)
        : schema.reducers.patch(
          for: event, on: record, costMax: costMax, valueDepthMax: limits.valueDepthMax)
    else { return nil }
    try checkActivity(patch, of: record, data: "data", parameters: "parameters")
    let ownership = record.ownership(after: patch, by: .events(record.kind))
    let effect = try admittedEffect(of: patch, on: slot, plus: record.growth(to: ownership))
    return (patch, ownership, effect)
  }
}

extension Record {
  /// The properties of a node that the widget shows, in its own family or another one. Nil if it
  /// shows no such node.
  fileprivate func shownProperties(of node: String) -> ValueMap? {
    let tables = [content?.table] + familyContents.map { $0.content?.table }
    return tables.lazy.compactMap { $0?.properties(of: node) }.first
  }
}

extension EventDraft {
  /// The event of a number input outside of forms, whose `value` is declared as text: a number
  /// becomes its text.
  fileprivate var withNumberAsText: EventDraft {
    guard name == "change" || name == "submit", let value = payload["value"] else { return self }
    switch value {
    case .int: break
    case .double(let number) where number.isFinite: break
    default: return self
    }
    guard let text = ExpressionValue(value).text else { return self }
    var draft = self
    draft.payload["value"] = .string(text)
    return draft
  }
}
