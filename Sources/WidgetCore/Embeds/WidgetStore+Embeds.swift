public import WidgetModel

/// Embeds: nodes that show the content of another widget.
///
/// When a widget changes, the widgets that embed it follow between two groups, in a separate
/// revision. So a command never costs more, and is never refused, because others embed its widget.
/// These changes are not stored, because they follow from the stored state, like changes by time:
/// see `advance`. After a restart, the first check makes readers get widgets with embeds as a
/// whole.
///
/// The nodes of the other widget are in the content of the embedding widget, below its embed. So
/// readers need not know about embeds, and the nodes count against the limits of the embedding
/// widget.
extension WidgetStore {
  /// Whether `settleEmbeds` has something to do.
  public var needsSettling: Bool { records.embeds.hasQueue || hasNewsForStacks }

  private var hasNewsForStacks: Bool {
    !records.embeds.selectingStacks.isEmpty && records.embeds.newsRevision != revision
  }

  var embedSource: EmbedSource {
    EmbedSource(
      slots: records.slots, index: records.index, schemas: schemas, limits: limits,
      links: records.embeds)
  }

  /// Updates embeds and stacks to a time, in one revision. The method stops at the cost `costMax`,
  /// or when `isOver` returns true, but not before the first step. The changes cannot be refused:
  /// content without room is left out, and the embed shows the reason. Call it between groups only,
  /// after `advance`.
  public mutating func settleEmbeds(
    at now: Timestamp, costMax: Int = .max, isOver: () -> Bool = { false }
  ) -> Advance {
    var result = Advance()
    guard needsSettling else { return result }
    assert(!hasPendingGroup, "what embeds show cannot be taken back with a group")
    guard !keepsInverses || revision < revisionCeiling else {
      result.needsReservation = true
      return result
    }
    let keptInverses = keepsInverses
    keepsInverses = false
    defer { keepsInverses = keptInverses }
    contents.beginCommand(at: now)
    records.beginCommand()
    let before = revision
    lookForNews()
    var isBegun = false
    while contents.cost < costMax, !(isBegun && isOver()) {
      let count = records.embeds.spread(atMost: EmbedLinks.spreadMax)
      contents.count(count)
      isBegun = isBegun || count > 0
      if count > 0 { continue }
      guard let id = records.embeds.next() else { break }
      isBegun = true
      settle(id, inRevision: before + 1, at: now)
      contents.count(ContentEvaluation.nodeCost)
    }
    result.isChange = revision != before
    // No expression selects stacks, so the changes of the checks do not concern stacks.
    records.embeds.newsRevision = revision
    result.hasMore = records.embeds.hasQueue
    return result
  }

  /// Checks one widget.
  private mutating func settle(_ id: WidgetID, inRevision next: Revision, at now: Timestamp) {
    let links = records.embeds
    guard let slot = slot(of: id), let kind = records[slot]?.kind else {
      links.setTargets(of: id, to: [])
      links.setFurtherTargets(of: id, to: [])
      links.setStack(id, to: nil)
      links.restored.remove(id)
      return
    }
    let wasRestored = links.restored.remove(id) != nil
    let wasUnkept = links.hasUnkeptContent(id)
    if wasRestored {
      change(slot, inRevision: next, at: now) { state in state.replacedRevision = next }
    }
    var members: Set<WidgetID> = []
    if kind == .smartStack {
      members = chooseForStack(slot, inRevision: next, at: now)
    } else if links.stacks[id] != nil {
      // The id of a former stack now belongs to another widget.
      links.setStack(id, to: nil)
    }
    links.setTargets(of: id, to: members.union(records[slot]?.shown.embedTargets ?? []))
    let (differs, further) = resolve(slot, id, inRevision: next)
    links.setFurtherTargets(of: id, to: further)
    if differs || wasUnkept { change(slot, inRevision: next, at: now) { _ in } }
  }

  /// Updates the embeds of a widget. Returns whether that changed it, and the targets of embeds in
  /// content that was made for it. The `EmbedSource` must not outlive this method: while it exists,
  /// a change of the records copies them.
  private mutating func resolve(
    _ slot: Int, _ id: WidgetID, inRevision next: Revision
  ) -> (differs: Bool, further: Set<WidgetID>) {
    let source = embedSource
    var further: Set<WidgetID> = []
    var cost = 0
    let limits = limitsForAdvance(of: slot)
    let time = contents.now
    let differs = records.resolveEmbeds(slot) { record, table, family in
      let look = EmbedSource.Look(id, as: family ?? record.family)
      defer {
        further.formUnion(look.furtherTargets)
        cost += look.cost
      }
      return source.resolve(
        &table, of: record, in: look.family, at: next, time: time, limits: limits, look)
    }
    contents.count(cost)
    return (differs, further)
  }

  /// Changes a widget in the revision of the check, which the first change takes.
  private mutating func change(
    _ slot: Int, inRevision next: Revision, at now: Timestamp, _ body: (inout RecordState) -> Void
  ) {
    revision = next
    let transition = defaultTransition(slot)
    records.modify(slot, at: next, &contents, limits: limitsForAdvance(of: slot)) { state in
      body(&state)
      state.finish(transition, at: next, time: now)
    }
  }

  /// Records the widgets with embeds that existed when the store was opened.
  func noteRestoredEmbeds() {
    for slot in records.indices {
      guard let record = records[slot], record.shown.hasEmbeds else { continue }
      records.embeds.restored.insert(record.id)
    }
  }

  /// The next time at which a widget in its embeds changes by time; nil for never. O(embeds).
  public func embeddedDate(of id: WidgetID) -> Timestamp? {
    var date: Timestamp?
    var seen: Set<WidgetID> = [id]
    var waiting = Array(records.embeds.targets(of: id))
    while let next = waiting.popLast() {
      guard seen.insert(next).inserted, seen.count <= EmbedLinks.reachMax else { continue }
      if let due = slot(of: next).flatMap({ records[$0]?.moment?.due }) {
        date = min(date ?? due, due)
      }
      waiting += records.embeds.targets(of: next)
    }
    return date
  }

  /// The widgets that embed a widget.
  public func embedders(of id: WidgetID) -> Set<WidgetID> { records.embeds.embedders(of: id) }

  /// Increases whenever a widget begins or ceases to show another one.
  public var embedVersion: UInt64 { records.embeds.version }

  // MARK: - Stacks

  /// Queues stacks whose expressions may select other widgets now.
  private mutating func lookForNews() {
    let links = records.embeds
    guard hasNewsForStacks else { return }
    let cursor = links.newsRevision
    links.newsRevision = revision
    let changes = changedWidgets(since: cursor, atMost: WidgetStore.stackNewsMax)
    for id in links.selectingStacks {
      guard var stack = links.stacks[id] else { continue }
      stack.isOutdated =
        changes.map { isNews($0.changed, $0.removed, to: stack, since: cursor) } ?? true
      contents.count((changes?.changed.count ?? 0) + 1)
      guard stack.isOutdated else { continue }
      links.setStack(id, to: stack)
      links.enqueue(id)
    }
  }

  /// Whether changes of widgets may change the members that a stack selects by its expression.
  private func isNews(
    _ changed: [WidgetID], _ removed: [WidgetID], to stack: StackMembers, since cursor: Revision
  ) -> Bool {
    guard let test = stack.test else { return false }
    let members = Set(stack.selected)
    return removed.contains { members.contains($0) || !stack.problem.isEmpty }
      || changed.contains { other in
        guard let record = slot(of: other).flatMap({ records[$0] }) else { return false }
        let isPicked = record.kind != .smartStack && passes(other, test)
        return isPicked != members.contains(other)
          || members.contains(other) && record.positionRevision > cursor
      }
  }

  /// The maximum number of changed widgets that a stack tests one by one. With more, it tests all
  /// widgets again.
  private static var stackNewsMax: Int { 1_024 }

  /// Sets the widget that a stack shows. Returns the widgets that it can show.
  private mutating func chooseForStack(
    _ slot: Int, inRevision next: Revision, at now: Timestamp
  ) -> Set<WidgetID> {
    guard let record = records[slot] else { return [] }
    let members = membersOfStack(record)
    let links = records.embeds
    // The links come before the choice, because a circle depends on them.
    links.setTargets(of: record.id, to: Set(members))
    var cost = 0
    let shown = members.filter { member in
      self.slot(of: member).flatMap { records[$0] }?.presence.isVisible ?? false
        && links.reach(from: member, to: record.id, spending: &cost) == .apart
    }
    contents.count(cost + members.count)
    let entries = shown.map { member in
      // The score of an activity ends with it.
      self.slot(of: member).flatMap { records[$0] }.flatMap { record in
        record.activity.map { $0.state == .active } ?? true ? record.moment?.status.current : nil
      }
    }
    let choice = StackChoice(shown, entries, of: record, at: now)
    let place = choice.current.flatMap { choice.members.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
    let data: ValueMap = [
      "current": .string(choice.current?.rawValue ?? ""),
      "members": .list(choice.members.map { .string($0.rawValue) }), "position": .int(Int64(place)),
      "problem": .string(problem(ofStack: record.id)),
    ]
    let differs = data.entries.contains { record.data[$0.key] != $0.value }
    if differs || record.moment?.due != choice.nextDate {
      change(slot, inRevision: next, at: now) { state in
        for entry in data.entries { _ = state.data.set(entry.key, to: entry.value, at: next) }
        state.costBytes = state.cost
        state.moment = Moment(stackUntil: choice.nextDate, revision: next, after: state.moment)
      }
    }
    return Set(members)
  }

  /// The widgets that a stack can show: those that it names, then those that it selects.
  private func membersOfStack(_ record: Record) -> [WidgetID] {
    let links = records.embeds
    var stack = links.stacks[record.id] ?? StackMembers()
    if stack.expression != record.stackExpression || stack.isOutdated {
      if stack.test == nil || stack.expression != record.stackExpression {
        stack.expression = record.stackExpression
        stack.test =
          stack.expression.isEmpty ? nil : test(for: Selector(expression: stack.expression))
      }
      stack.selected = []
      stack.problem = ""
      if !stack.expression.isEmpty {
        var hasMore = false
        let end = forEachRecord(
          behind: nil, selecting: Selector(expression: stack.expression),
          costMax: limits.scanCostMax
        ) { found in
          // Otherwise two stacks could change each other for ever.
          guard found.kind != .smartStack else { return true }
          hasMore = stack.selected.count == SmartStackKind.membersMax
          if !hasMore { stack.selected.append(found.id) }
          return !hasMore
        }
        if hasMore {
          stack.problem =
            "The expression selects more than \(SmartStackKind.membersMax) widgets; the others are "
            + "left out."
        } else if end != nil {
          stack.problem =
            "The expression costs too much for all widgets (scan_cost_max \(limits.scanCostMax)); "
            + "some may be missing."
        }
      }
      let wanted = Set(record.stackIDs).union(stack.selected).subtracting([record.id])
      if stack.problem.isEmpty, wanted.count > SmartStackKind.membersMax {
        stack.problem =
          "With its ids, the stack has more than \(SmartStackKind.membersMax) widgets; the others are "
          + "left out."
      }
      stack.isOutdated = false
      links.setStack(record.id, to: stack)
    }
    var members: [WidgetID] = []
    var seen: Set<WidgetID> = [record.id]
    for id in record.stackIDs + stack.selected
    where members.count < SmartStackKind.membersMax && seen.insert(id).inserted {
      members.append(id)
    }
    return members
  }

  /// The reason why a stack may lack widgets; empty if it lacks none.
  private func problem(ofStack id: WidgetID) -> String {
    guard let stack = records.embeds.stacks[id], !stack.expression.isEmpty else { return "" }
    guard records.embeds.selectingStacks.contains(id) else {
      return
        "This stack keeps its first selection, because \(EmbedLinks.selectingMax) other stacks "
        + "with `where` follow changes. It follows when one of them is removed."
    }
    return stack.problem
  }

  /// Refuses invalid parameters of a stack.
  func checkStack(_ parameters: ValueMap, field: String) throws(StoreError) {
    if case .list(let ids)? = parameters["widgets"] {
      guard ids.count <= SmartStackKind.membersMax else {
        throw .invalid(
          field: "\(field)[widgets]",
          description: "A stack has at most \(SmartStackKind.membersMax) widgets.")
      }
      for case .string(let id) in ids where WidgetID(id) == nil {
        throw .invalid(
          field: "\(field)[widgets]",
          description: "\"\(id.prefix(64))\" is not the id of a widget.")
      }
    }
    if case .string(let expression)? = parameters["where"], !expression.isEmpty {
      do throws(StoreError) {
        try checkExpression(of: Selector(expression: expression))
      } catch {
        guard case .invalid(_, let description) = error else { throw error }
        throw .invalid(field: "\(field)[where]", description: description)
      }
    }
    if case .string(let text)? = parameters["rotate"], !text.isEmpty {
      guard let rotate = DurationSyntax.parse(text), rotate >= SmartStackKind.rotateMin,
        rotate.components.attoseconds == 0
      else {
        throw .invalid(
          field: "\(field)[rotate]",
          description:
            "\"\(text.prefix(64))\" is not a time of whole seconds, at least 1s; use for example 30s or 5m."
        )
      }
    }
    if case .string(let text)? = parameters["hold"] {
      guard let hold = DurationSyntax.parse(text), hold >= .zero else {
        throw .invalid(
          field: "\(field)[hold]",
          description: "\"\(text.prefix(64))\" is not a time; use for example 0s, 30s or 5m.")
      }
    }
  }
}
