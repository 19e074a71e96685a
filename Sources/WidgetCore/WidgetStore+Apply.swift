import WidgetModel

/// Makes the widgets match a declared set, in one commit.
extension WidgetStore {
  mutating func declare(
    _ declaration: Declaration, _ transition: Transition?, by caller: Caller, at now: Timestamp
  ) throws(StoreError) -> [ApplyResult] {
    try validate(declaration)
    return try atomically { (store) throws(StoreError) in
      let before = store.revision
      // All changes share one revision, which is given back if nothing changed.
      let revision = store.advanceRevision()
      // Removals come first, because they make room for new widgets.
      let pruned = declaration.prunes ? store.prune(declaration, transition) : []
      var results: [ApplyResult] = []
      var slots: [Int] = []
      for (index, spec) in declaration.widgets.enumerated() {
        guard let id = spec.id else { continue }
        let transition = transition ?? store.schemas[spec.kind]?.kind.transition
        if let slot = store.slot(of: id) {
          do throws(StoreError) {
            results.append(
              try store.converge(
                slot, id, to: spec, declaration, transition, revision, now, by: caller,
                field: "widgets[\(index)]"))
          } catch {
            throw error.ofSize(of: id, index)
          }
          slots.append(slot)
        } else {
          guard !declaration.isForeign else {
            throw .claimed(declaration.applySet, field: "apply_set")
          }
          let declared = spec
          let spec = try store.fitted(
            spec, field: "widgets[\(index)]", isDeclared: true)
          let record = store.makeRecord(
            spec, id: id, transition, by: caller, at: now, revision: revision
          ) { state in
            state.applySet = declaration.applySet
            guard declaration.ownsFields else { return }
            state.ownership = Ownership(
              declared.fields.map {
                FieldOwner(path: $0.part.path($0.key), owner: declaration.applySet)
              })
          }
          do throws(StoreError) { try store.admit(record) } catch {
            throw error.ofSize(of: id, index)
          }
          store.makeRoomAtEnd(transition, at: revision, time: now)
          slots.append(store.insert(record))
          results.append(ApplyResult(id: id, action: .created))
        }
        if declaration.widgets.count > 1 { try store.checkContents() }
      }
      guard pruned.isEmpty || !declaration.isForeign else {
        throw .claimed(declaration.applySet, field: "apply_set")
      }
      // A widget that a user has moved stays where it is.
      let arranged =
        declaration.isForeign
        ? []
        : declaration.ownsFields
          ? slots.filter { store.records[$0]?.ownership?[FieldOwner.position] == nil } : slots
      let moved = store.arrange(arranged, transition, revision, now)
      for place in results.indices
      where moved.contains(slots[place]) && results[place].action == .unchanged {
        results[place].action = .updated
      }
      results += pruned
      let hasChanged = results.contains { $0.action != .unchanged }
      if !hasChanged { store.revision = before }
      return (results, hasChanged && !declaration.isDryRun)
    }
  }

  /// Changes an existing widget to match a spec.
  private mutating func converge(
    _ slot: Int, _ id: WidgetID, to spec: WidgetSpec, _ declaration: Declaration,
    _ transition: Transition?,
    _ revision: Revision, _ now: Timestamp, by caller: Caller, field: String
  ) throws(StoreError) -> ApplyResult {
    guard let record = records[slot] else { return ApplyResult(id: id, action: .unchanged) }
    guard record.kind == spec.kind else {
      throw .kindMismatch(
        record.id, is: record.kind, declared: spec.kind, of: record.applySet)
    }
    let applySet = declaration.applySet
    var plan =
      declaration.ownsFields
      ? try owning(record, try fitted(spec, .only, field: field), by: applySet, field: field)
      : try replacing(
        record, by: spec, declaration.isForeign ? .user(caller.uid) : .set(applySet),
        leavesOthers: declaration.leavesOthers, field: field)
    if let timeline = try fittedTimeline(of: spec, field: field),
      timeline.isChange(of: record.timeline)
    {
      plan.patch.timeline = .some(timeline)
      if declaration.ownsFields { plan.changed.append("timeline") }
    }
    let presence = Presence(
      isVisible: spec.isVisible ?? record.presence.isVisible,
      isEnabled: spec.isEnabled ?? record.presence.isEnabled)
    if declaration.isForeign {
      plan.ownership?.note(record.presence, presence, by: FieldOwner.user(caller.uid))
    } else {
      // A set that names a user's state leaves it the user's, unless the set owns its fields.
      let (was, owns) = (record.presence, declaration.ownsFields)
      if let isVisible = spec.isVisible, owns || isVisible != was.isVisible {
        plan.ownership?[FieldOwner.visible] = nil
      }
      if let isEnabled = spec.isEnabled, owns || isEnabled != was.isEnabled {
        plan.ownership?[FieldOwner.enabled] = nil
      }
    }
    let family = spec.family ?? record.family
    let ownership = plan.ownership == record.ownership ? nil : plan.ownership
    let effect = try admittedEffect(
      of: plan.patch, on: slot,
      plus: applySet.utf8.count - record.applySet.utf8.count + record.growth(to: ownership))

    let changesPresence = presence != record.presence
    let changesStatus = family != record.family || applySet != record.applySet
    guard effect.isChange || changesPresence || changesStatus || ownership != nil else {
      return ApplyResult(id: record.id, action: .unchanged, keptFields: plan.kept)
    }
    modify(slot, by: plan.patch, effect, ownership, transition, at: now) { state in
      if changesPresence { (state.presence, state.presenceRevision) = (presence, revision) }
      guard changesStatus else { return }
      if family != state.family { state.familyRevision = revision }
      (state.family, state.applySet, state.statusRevision) = (family, applySet, revision)
    }
    return ApplyResult(
      id: record.id, action: .updated, changedFields: plan.changed, keptFields: plan.kept)
  }

  /// The changes of a declaration without `ownsFields`: the widget gets exactly the declared
  /// parameters and labels, whoever set the former ones. With `leavesOthers`, the others stay.
  private func replacing(
    _ record: Record, by asked: WidgetSpec, _ writer: FieldWriter, leavesOthers: Bool, field: String
  ) throws(StoreError) -> Owning {
    let spec = try fitted(asked, .again, field: field)
    var plan = Owning()
    // A widget of kind `help` has only the data that explains its kind.
    plan.patch = WidgetPatch(setData: spec.data, replaceData: record.kind == .help)
    plan.patch.setParameters = spec.parameters
    plan.patch.setLabels = spec.labels
    if !leavesOthers {
      plan.patch.unsetParameters = record.parameters.keys.filter { spec.parameters[$0] == nil }
      plan.patch.unsetLabels = record.labels.entries.map(\.key).filter { spec.labels[$0] == nil }
    }
    try checkActivity(
      plan.patch, of: record, data: "\(field).data", parameters: "\(field).parameters")
    // A user does not become the owner of fields that the file leaves out, and that get a default.
    let wish = WidgetPatch(
      setData: asked.data, setParameters: asked.parameters, setLabels: asked.labels)
    let isUser = if case .user = writer { true } else { false }
    plan.ownership =
      record.ownership(after: plan.patch, by: writer, asked: isUser ? wish : nil)
      ?? record.ownership
    return plan
  }

  /// Puts the widgets into the order of `slots`, with the positions that they have. Returns the
  /// slots that moved.
  private mutating func arrange(
    _ slots: [Int], _ transition: Transition?, _ revision: Revision, _ now: Timestamp
  ) -> Set<Int> {
    let positions = slots.compactMap { records[$0]?.position }
    var moved: Set<Int> = []
    let sorted = positions.sorted()
    guard sorted != positions else { return moved }
    for (slot, position) in zip(slots, sorted) where records[slot]?.position != position {
      moved.insert(slot)
      modify(slot) { state in
        state.position = position
        state.positionRevision = revision
        state.finish(transition, at: revision, time: now)
      }
    }
    return moved
  }

  /// Removes widgets that the set no longer declares.
  private mutating func prune(
    _ declaration: Declaration, _ transition: Transition?
  ) -> [ApplyResult] {
    let declared = Set(declaration.widgets.compactMap(\.id))
    var results: [ApplyResult] = []
    var slots: [Int] = []
    var room = ApplyResult.lostFieldsMax
    for entry in records.order.entries {
      let slot = Int(entry.slot)
      guard let record = records[slot], record.applySet == declaration.applySet,
        !declared.contains(record.id)
      else { continue }
      let lost = record.lostFields(atMost: room)
      room -= lost.count
      slots.append(slot)
      results.append(ApplyResult(id: record.id, action: .deleted, keptFields: lost))
    }
    // The order is an array. A removal at its start would move all later entries.
    for slot in slots.reversed() { removeWidget(slot, transition) }
    return results
  }
}

extension ApplyResult {
  /// The maximum number of fields that a result names for removed widgets.
  fileprivate static let lostFieldsMax = 256
  /// The maximum size of a named value, in bytes.
  fileprivate static let lostValueBytesMax = 1 << 10
}

extension Record {
  /// The fields that others than the widget's set have set, with their values.
  fileprivate func lostFields(atMost count: Int) -> [FieldOwner] {
    guard count > 0, let ownership else { return [] }
    let lost = ownership.all.lazy.filter { [applySet] in $0.isLost(with: applySet) }
    return lost.compactMap { entry -> FieldOwner? in
      let value = entry.isAside ? entry.declared : self.shownValue(of: entry.path)
      guard value != nil || entry.path == FieldOwner.position else { return nil }
      let isSmall = (value?.costBytes ?? 0) <= ApplyResult.lostValueBytesMax
      return FieldOwner(path: entry.path, owner: entry.owner, declared: isSmall ? value : nil)
    }.prefix(count).map(\.self)
  }
}

extension StoreError {
  /// A set, or the kinds of a provider, belong to a bundle or to widgetd-host.
  static func claimed(_ set: String, field: String) -> StoreError {
    guard let bundle = OwnerName.bundle(set) else {
      return .invalid(
        field: field, description: "\"\(set)\" belongs to widgetd-host. Choose another name.")
    }
    return .invalid(
      field: field,
      description: "\"\(set)\" belongs to bundle \(bundle). Edit the "
        + "bundle's file, change single values with `widgetctl set`, or choose another name.")
  }

  /// The error with the declared widget, if it is about the widget's size.
  fileprivate func ofSize(of id: WidgetID, _ index: Int) -> StoreError {
    guard case .quotaExceeded(limit: "widget_bytes_max", _) = self else { return self }
    return .inWidget(index, of: id, self)
  }
}
