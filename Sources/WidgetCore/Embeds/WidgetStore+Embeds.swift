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
  public var needsSettling: Bool { records.embeds.hasQueue || records.embeds.hasNews }

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
    let (before, links) = (revision, records.embeds)
    // No expression selects stacks, and the changes of other widgets are only in their content.
    links.isSettling = true
    defer { links.isSettling = false }
    var isBegun = false
    while contents.cost < costMax, !(isBegun && isOver()) {
      if links.takesNewsNext() {
        readNews()
      } else if !checkNext(inRevision: before + 1, at: now) {
        break
      }
      isBegun = true
    }
    result.isChange = revision != before
    result.hasMore = needsSettling
    return result
  }

  /// Adds widgets around changed ones to the queue, or checks the next widget of the queue. Returns
  /// false if nothing is left.
  private mutating func checkNext(inRevision next: Revision, at now: Timestamp) -> Bool {
    let count = records.embeds.spread(atMost: EmbedLinks.spreadMax)
    contents.count(count)
    guard count == 0 else { return true }
    guard let id = records.embeds.next() else { return false }
    settle(id, inRevision: next, at: now)
    contents.count(ContentEvaluation.nodeCost)
    return true
  }

  /// Checks one widget.
  private mutating func settle(_ id: WidgetID, inRevision next: Revision, at now: Timestamp) {
    let links = records.embeds
    guard let slot = slot(of: id), let record = records[slot] else {
      links.setTargets(of: id, to: [])
      links.setFurtherTargets(of: id, to: [])
      links.setStack(id, to: nil)
      links.restored.remove(id)
      return
    }
    let wasRestored = links.restored.remove(id) != nil
    let wasUnkept = links.hasUnkeptContent(id)
    if wasRestored {
      let bytes = expressionBytes(of: record)
      change(slot, inRevision: next, at: now) { state in
        state.replacedRevision = next
        state.expressionBytes = bytes
        state.costBytes = state.cost
      }
    }
    var members: Set<WidgetID> = []
    if record.kind == .smartStack {
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
    let room = limitsForAdvance(of: slot)
    let limits = records[slot].map { room.forNodes(of: $0) } ?? room
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
  mutating func change(
    _ slot: Int, inRevision next: Revision, at now: Timestamp, _ body: (inout RecordState) -> Void
  ) {
    revision = next
    let transition = defaultTransition(slot)
    records.modify(slot, at: next, &contents, limits: limitsForAdvance(of: slot)) { state in
      body(&state)
      state.finish(transition, at: next, time: now)
    }
    // The step of `advance` may have ended before this widget, so it may have become stale now.
    if let record = records[slot], record.statusRevision == next {
      records.embeds.noteNews(of: record.id)
    }
  }

  /// Records the widgets with embeds that existed when the store was opened.
  func noteRestoredEmbeds() {
    for slot in records.indices {
      guard let record = records[slot], record.shown.hasEmbeds else { continue }
      records.embeds.restored.insert(record.id)
    }
  }

  /// The widgets that embed a widget.
  public func embedders(of id: WidgetID) -> Set<WidgetID> { records.embeds.embedders(of: id) }

  /// Increases whenever a widget begins or ceases to show another one.
  public var embedVersion: UInt64 { records.embeds.version }
}
