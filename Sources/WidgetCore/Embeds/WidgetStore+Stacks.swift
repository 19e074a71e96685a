import WidgetModel

/// Smart stacks: the choice of a stack, and the widgets that its expression selects.
///
/// A stack with an expression selects its widgets once. After that, each widget that changes is
/// compared with the stack (`StackNews`), and the stack selects again if the answer is another one.
extension WidgetStore {
  // MARK: - News

  /// Compares some of the changed widgets with stacks. At the end of a round, stacks that would
  /// select other widgets are in the queue.
  mutating func readNews() {
    let links = records.embeds
    var budget = WidgetStore.newsPartMax
    while budget > 0, let (id, stack) = links.nextNews() {
      budget -= 1
      guard let members = links.stacks[stack], !members.isOutdated, let test = members.test else {
        continue
      }
      if isNews(id, to: members, test, spending: &budget) { links.noteOutdated(stack) }
    }
    contents.count(max(1, WidgetStore.newsPartMax - budget))
  }

  /// The approximate cost of one step of the comparison, in steps of expressions.
  static var newsPartMax: Int { 500 }

  /// Whether a widget that has changed may change the members that a stack selects.
  private func isNews(
    _ id: WidgetID, to stack: StackMembers, _ test: WidgetTest, spending budget: inout Int
  ) -> Bool {
    let isMember = stack.members.contains(id)
    guard let record = slot(of: id).flatMap({ records[$0] }) else {
      return isMember || !stack.problem.isEmpty
    }
    let isPicked = record.kind != .smartStack && passes(id, test, spending: &budget)
    if isPicked != isMember { return true }
    return isMember ? record.positionRevision > stack.selectedRevision : id == stack.firstLeftOut
  }

  // MARK: - Choice

  /// Sets the widget that a stack shows. Returns the widgets that it can show.
  mutating func chooseForStack(
    _ slot: Int, inRevision next: Revision, at now: Timestamp
  ) -> Set<WidgetID> {
    guard let record = records[slot] else { return [] }
    let members = membersOfStack(record)
    let links = records.embeds
    // The links come before the choice, because a circle depends on them.
    links.setTargets(of: record.id, to: Set(members))
    let (shown, isCut) = visible(members, apartFrom: record.id)
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
      "problem": .string(problem(ofStack: record.id, isCut)),
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

  /// The members that can be shown in a stack, and whether others show too many widgets. All
  /// searches of a check together have a limit, because each of the members can be a stack, too.
  private mutating func visible(
    _ members: [WidgetID], apartFrom id: WidgetID
  ) -> (shown: [WidgetID], isCut: Bool) {
    let links = records.embeds
    var (cost, isCut) = (0, false)
    var shown: [WidgetID] = []
    for member in members
    where slot(of: member).flatMap({ records[$0] })?.presence.isVisible ?? false {
      guard cost < EmbedLinks.linksPerCheckMax else {
        isCut = true
        break
      }
      switch links.reach(from: member, to: id, spending: &cost) {
      case .apart: shown.append(member)
      case .circle: break
      case .tooMany: isCut = true
      }
    }
    contents.count(cost + members.count)
    return (shown, isCut)
  }

  // MARK: - Selection

  /// The widgets that a stack can show: those that it names, then those that it selects.
  private mutating func membersOfStack(_ record: Record) -> [WidgetID] {
    let links = records.embeds
    let (stack, expression) = (links.stacks[record.id], record.stackExpression)
    if stack?.expression != expression || stack?.isOutdated == true {
      var stack = selection(by: expression)
      let wanted = Set(record.stackIDs).union(stack.members).subtracting([record.id])
      if stack.problem.isEmpty, wanted.count > SmartStackKind.membersMax {
        stack.problem =
          "With its ids, the stack has more than \(SmartStackKind.membersMax) widgets; "
          + "the others are left out."
      }
      links.setStack(record.id, to: stack)
    }
    var members: [WidgetID] = []
    var seen: Set<WidgetID> = [record.id]
    for id in record.stackIDs + (links.stacks[record.id]?.selected ?? [])
    where members.count < SmartStackKind.membersMax && seen.insert(id).inserted {
      members.append(id)
    }
    return members
  }

  /// The widgets that an expression selects, in display order.
  private mutating func selection(by expression: String) -> StackMembers {
    var stack = StackMembers(expression: expression, isOutdated: false, selectedRevision: revision)
    guard !expression.isEmpty else { return stack }
    let test = test(for: Selector(expression: expression))
    stack.test = test
    let costMax = max(1, limits.scanCostMax)
    var budget = costMax
    var selected: [WidgetID] = []
    for entry in records.order.entries {
      guard budget > 0 else {
        stack.problem =
          "The expression costs too much for all widgets (scan_cost_max \(limits.scanCostMax)); "
          + "some may be missing."
        break
      }
      // Otherwise two stacks could change each other for ever.
      guard let found = records[Int(entry.slot)], test.selection.picks(found, spending: &budget),
        found.kind != .smartStack
      else { continue }
      guard selected.count < SmartStackKind.membersMax else {
        stack.firstLeftOut = found.id
        stack.problem =
          "The expression selects more than \(SmartStackKind.membersMax) widgets; the others are "
          + "left out."
        break
      }
      selected.append(found.id)
    }
    stack.selected = selected
    contents.count(costMax - budget)
    return stack
  }

  /// The reason why a stack may lack widgets; empty if it lacks none.
  ///
  /// - Parameter isCut: whether some of its widgets show too many others.
  private func problem(ofStack id: WidgetID, _ isCut: Bool) -> String {
    let stack = records.embeds.stacks[id]
    if let stack, !stack.expression.isEmpty, !records.embeds.selectingStacks.contains(id) {
      return
        "This stack keeps its first selection, because \(EmbedLinks.selectingMax) other stacks "
        + "with `where` follow changes. It follows when one of them is removed."
    }
    if let stack, !stack.problem.isEmpty { return stack.problem }
    return isCut ? "Some widgets are left out, because they show too many other widgets." : ""
  }

  // MARK: - Parameters

  /// The memory of the compiled expression in the parameters of a widget, in bytes; 0 for none. It
  /// counts as state of the widget, also while the stack waits and keeps no compiled expression. For
  /// a stored stack, it counts from the first check: the start would take seconds if it compiled the
  /// expressions of all stacks.
  func expressionBytes(of kind: KindName, _ expression: Value?) -> Int {
    guard kind == .smartStack, case .string(let text)? = expression, !text.isEmpty else { return 0 }
    return expressionBytes(of: Selector(expression: text))
  }

  /// The same for a record.
  func expressionBytes(of record: Record) -> Int {
    guard record.kind == .smartStack else { return 0 }
    return expressionBytes(of: record.kind, record.parameters[SmartStackKind.expressionName])
  }

  /// The memory of a stack's compiled expression after a patch, in bytes; nil if the patch does not
  /// change the expression.
  func expressionBytes(after patch: WidgetPatch, of record: Record) -> Int? {
    guard !patch.changesOnlyData, record.kind == .smartStack else { return nil }
    let name = SmartStackKind.expressionName
    if let value = patch.setParameters[name] { return expressionBytes(of: record.kind, value) }
    return patch.unsetParameters.contains(name) ? 0 : nil
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
