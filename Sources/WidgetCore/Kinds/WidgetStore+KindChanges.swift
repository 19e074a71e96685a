import WidgetModel

/// The changes of widgets when their kind changes or is removed.
extension WidgetStore {
  /// Replaces the content of widgets of removed kinds with a table of their data, restores the
  /// values that were set aside, and removes the kinds' defaults. O(all widgets).
  ///
  /// If a kind is registered again, the missing values become the new defaults. Otherwise nobody
  /// could tell former defaults from values that somebody has set. The removed defaults leave no
  /// tombstones: those of one large kind would push all other removals out.
  mutating func release(
    _ kinds: [KindName: KindSchema], at revision: Revision, time: Timestamp
  ) {
    guard !kinds.isEmpty else { return }
    for slot in records.indices {
      guard let record = records[slot], let former = kinds[record.kind] else { continue }
      let isMarked = ReducerFailure.hasMark(record.error)
      let defaulted = former.defaultedFields(of: record)
      let timeline = record.timeline.flatMap { $0.asides.isEmpty ? nil : $0.restored }
      modify(slot) { state in
        if isMarked { state.clearMarks(at: revision) }
        if let timeline {
          state.timeline = timeline
          state.costBytes = state.cost
        }
        if !defaulted.isEmpty { state.remove(defaulted, at: revision) }
        state.finish(nil, at: revision, time: time)
      }
      var patch = WidgetPatch()
      patch.restoreValues(of: record, for: nil)
      guard patch != WidgetPatch() else { continue }
      // If there is no room, the values stay set aside, because nothing may prevent the removal of
      // a kind.
      _ = try? apply(patch, to: slot, former: nil, at: time)
    }
  }

  /// Converts widgets to their changed kinds. Returns the number of changed widgets and their lost
  /// values, by kind. O(all widgets).
  mutating func conformWidgets(
    of kinds: Set<KindName>, formerly former: [KindName: KindSchema], at revision: Revision,
    time: Timestamp
  ) throws(StoreError) -> [KindName: KindResult] {
    var results: [KindName: KindResult] = [:]
    guard !kinds.isEmpty else { return results }
    // The comparison of two kinds takes longer than the change of a widget, so each is made once.
    var differing: Set<KindName> = []
    var newDefaults: [KindName: [KindSchema.NewDefault]] = [:]
    for name in kinds {
      guard let schema = schemas[name] else { continue }
      guard let old = former[name] else {
        differing.insert(name)
        continue
      }
      if !schema.showsAlike(old) { differing.insert(name) }
      newDefaults[name] = schema.newDefaults(since: old)
    }
    for slot in records.indices {
      guard let record = records[slot], kinds.contains(record.kind),
        let schema = schemas[record.kind]
      else { continue }
      var hasChanged = record.isPlain && schema.content.program(for: record.family) != nil
      let timeline = record.timeline.map {
        schema.conforming($0, former: former[record.kind])
      }
      let lostEntryValues = timeline?.asideNames(notIn: record.timeline) ?? []
      let isMarked = ReducerFailure.hasMark(record.error)
      if record.isPlain || timeline != record.timeline || schema.schedule != nil
        || record.moment != nil || isMarked
      {
        modify(slot) { state in
          state.timeline = timeline
          if !lostEntryValues.isEmpty { state.moment?.askAgain() }
          if isMarked { state.clearMarks(at: revision) }
          state.costBytes = state.cost
          state.finish(schema.kind.transition, at: revision, time: time)
        }
      }
      var lost: [LostField] = []
      if let record = records[slot],
        let patch = schema.conforming(record, newDefaults: newDefaults[record.kind] ?? [])
      {
        lost = schema.losses(of: record, former: former[record.kind])
        hasChanged =
          try apply(patch, to: slot, former: former[record.kind], at: time) || hasChanged
      }
      lost += lostEntryValues.map {
        LostField(widgetID: record.id, path: "entry.\($0)", isSetAside: true)
      }
      if hasChanged
        || showAnew(
          slot, schema, inOtherFamilies: differing.contains(record.kind), at: revision, time: time)
        || !lost.isEmpty
      {
        results[record.kind, default: KindResult(name: record.kind, action: .updated)]
          .add(lost)
      }
      try checkContents()
    }
    return results
  }

  /// Updates the content of a widget to its changed kind. Returns whether that changed it.
  ///
  /// `differs`: the content for other families may have changed too. Their readers look only at
  /// widgets that changed.
  private mutating func showAnew(
    _ slot: Int, _ schema: KindSchema, inOtherFamilies differs: Bool, at revision: Revision,
    time: Timestamp
  ) -> Bool {
    guard let record = records[slot] else { return false }
    let program = schema.content.program(for: record.family)
    guard program !== record.content?.table.program else {
      if differs { markOtherFamilies(slot, at: revision, time: time) }
      return false
    }
    var table = program.map {
      ContentTable(
        $0, of: record, limits: limits,
        knowing: record.content?.table.failureTimes ?? FailureTimes(), at: time)
    }
    if let table { contents.count(table) }
    if let old = record.content?.table, old.content == table?.content {
      // No reader can see a difference, so the change needs no inverse.
      table?.inheritHistory(of: old)
      records.replaceContent(of: slot, with: table)
      if differs { markOtherFamilies(slot, at: revision, time: time) }
      return false
    }
    table?.begin(at: revision)
    // Without a table, the former content is removed like any other content.
    modify(slot, showing: table) {
      $0.finish(schema.kind.transition, at: revision, time: time)
    }
    return true
  }

  /// Makes readers of other families look at a widget whose content for its family is unchanged.
  private mutating func markOtherFamilies(_ slot: Int, at revision: Revision, time: Timestamp) {
    guard let record = records[slot], record.revision < revision else { return }
    modify(slot) { $0.finish(nil, at: revision, time: time) }
  }

  /// Applies a patch by the daemon. Returns whether it changed anything.
  mutating func apply(
    _ patch: WidgetPatch, to slot: Int, former: KindSchema?, at time: Timestamp
  ) throws(StoreError) -> Bool {
    let ownership = records[slot].flatMap {
      $0.ownership(conformedBy: patch, to: schemas[$0.kind], former: former)
    }
    let effect = try admittedEffect(
      of: patch, on: slot, plus: records[slot]?.growth(to: ownership) ?? 0)
    guard effect.isChange, let kind = records[slot]?.kind else { return false }
    modify(slot, by: patch, effect, ownership, schemas[kind]?.kind.transition, at: time)
    return true
  }
}

extension KindResult {
  /// Counts a converted widget and its lost values.
  fileprivate mutating func add(_ lost: [LostField]) {
    widgetsChanged += 1
    lostFieldsCount += lost.count
    lostFields += lost.prefix(KindResult.lostFieldsMax - lostFields.count)
  }
}
