public import WidgetModel

extension WidgetStore {
  /// Applies one command. Changes the state and returns the result, or throws and changes nothing.
  /// A command that would change nothing takes no revision.
  public mutating func apply(
    _ command: Command, by caller: Caller, at now: Timestamp
  ) throws(StoreError) -> Commit {
    contents.beginCommand(at: now)
    records.beginCommand()
    // All checks come before the first change. Only two sorts of commands may have to be taken
    // back: commands that change several widgets, and commands near the quota for contents, because
    // the size of contents is known only after they are made.
    guard command.changesMany || isNearContentQuota else {
      return try carryOut(command, by: caller, at: now)
    }
    return try atomically { (store) throws(StoreError) in
      let commit = try store.carryOut(command, by: caller, at: now)
      try store.checkContentBytes()
      return (commit, true)
    }
  }

  private mutating func carryOut(
    _ command: Command, by caller: Caller, at now: Timestamp
  ) throws(StoreError) -> Commit {
    let before = revision
    let outcome: Commit.Outcome
    switch command {
    case .create(let spec, let transition):
      outcome = .created(try create(spec, transition, by: caller, at: now))
    case .update(let id, let patch, let expected, let transition, let provider):
      try update(
        id, patch, ifRevision: expected, transition, by: caller, provider: provider, at: now)
      outcome = .updated(id)
    case .startActivity(let spec, let lifetime, let staleAfter, let transition):
      outcome = .created(
        try startActivity(
          spec, lifetime: lifetime, staleAfter: staleAfter, transition, by: caller, at: now))
    case .updateActivity(let id, let patch, let staleAfter, let transition):
      try updateActivity(id, patch, staleAfter: staleAfter, transition, by: caller, at: now)
      outcome = .updated(id)
    case .endActivity(let id, let patch, let dismissal, let transition):
      try endActivity(id, patch, dismissal, transition, by: caller, at: now)
      outcome = slot(of: id) == nil ? .deleted : .updated(id)
    case .delete(let id, let expected, let allowMissing, let transition):
      try delete(id, ifRevision: expected, allowMissing: allowMissing, transition)
      outcome = .deleted
    case .setPresence(let target, let action, let transition):
      outcome = .presence(try setPresence(target, action, transition, by: caller, at: now))
    case .move(let id, let destination, let transition):
      try move(id, to: destination, transition, by: caller, at: now)
      outcome = .updated(id)
    case .apply(let declaration, let transition):
      outcome = .applied(try declare(declaration, transition, by: caller, at: now))
    case .sendEvent(let draft):
      outcome = .accepted(sequence: try accept(draft, by: caller, at: now))
    case .markFailure(let id, let failure):
      try mark(id, failure, at: now)
      outcome = .updated(id)
    case .applyKinds(let declaration):
      outcome = .kindsApplied(try applyKinds(declaration, by: caller, at: now))
    case .deleteKind(let name, let allowMissing):
      try deleteKind(name, allowMissing: allowMissing, at: now)
      outcome = .kindDeleted
    case .updateTheme(let update, let expected):
      let (theme, differs) = try updateTheme(update, ifRevision: expected)
      outcome = .themeUpdated(theme, differs: differs)
    case .provide(let updates, let provider):
      try provide(updates, by: provider, at: now)
      outcome = .provided
    case .acknowledge(let provider, let sequence):
      acknowledge(sequence, by: provider)
      outcome = .acknowledged
    }
    return Commit(revision: revision, isChange: revision != before, outcome: outcome)
  }

  // MARK: - Create

  /// Adds a widget.
  ///
  /// - Parameters:
  ///   - former: the slot of a widget with the same id that goes in the same commit. If the call
  ///     then fails, the caller must take back its changes.
  ///   - further: further changes of the new widget.
  mutating func create(
    _ spec: WidgetSpec, _ transition: Transition?, by caller: Caller, at now: Timestamp,
    replacing former: Int? = nil, further: (inout RecordState) -> Void = { _ in }
  ) throws(StoreError) -> WidgetID {
    let id: WidgetID
    var number: UInt64?
    if let wanted = spec.id {
      guard slot(of: wanted) == former else { throw .widgetExists(wanted) }
      id = wanted
    } else {
      (id, number) = try automaticID(for: spec.kind)
    }
    try validate(spec, field: "widget")
    let spec = try fitted(spec, field: "widget")
    let transition = transition ?? schemas[spec.kind]?.kind.transition
    if let former {
      _ = advanceRevision()
      removeWidget(former, transition)
    }
    let record = makeRecord(
      spec, id: id, transition, by: caller, at: now,
      revision: former == nil ? revision + 1 : revision, further: further)
    try admit(record)
    if former == nil { _ = advanceRevision() }
    let revision = revision
    makeRoomAtEnd(transition, at: revision, time: now)
    if let number {
      addInverse(.renumber(spec.kind, to: numbering[spec.kind] ?? 0))
      numbering[spec.kind] = number
    }
    insert(record)
    return id
  }

  /// A new widget's record, for a place behind all others. Makes no change: `makeRoomAtEnd` must
  /// come before the record is inserted.
  func makeRecord(
    _ spec: WidgetSpec, id: WidgetID, _ transition: Transition?, by caller: Caller,
    at now: Timestamp, revision: Revision, further: (inout RecordState) -> Void = { _ in }
  ) -> Record {
    let order = records.order
    var state = RecordState(
      family: spec.family ?? .medium,
      position: order.lastPosition ?? OrderIndex.spreadPosition(ofRank: order.entries.count),
      revision: revision, time: now)
    state.labels = spec.labels
    state.presence = Presence(
      isVisible: spec.isVisible ?? true, isEnabled: spec.isEnabled ?? true)
    for entry in spec.data.entries { _ = state.data.set(entry.key, to: entry.value, at: revision) }
    for entry in spec.parameters.entries {
      _ = state.parameters.set(entry.key, to: entry.value, at: revision)
    }
    if let transition {
      state.transition = transition
      state.transitionRevision = revision
    }
    state.timeline = spec.timeline
    state.expressionBytes = expressionBytes(
      of: spec.kind, spec.parameters[SmartStackKind.expressionName])
    further(&state)
    state.costBytes = state.cost
    return Record(
      id: id, kind: spec.kind, ownerUID: caller.uid, createdRevision: revision, createTime: now,
      state: state)
  }

  /// "<kind>-<number>" with a free number that was not used since the store was opened.
  private func automaticID(
    for kind: KindName
  ) throws(StoreError) -> (id: WidgetID, number: UInt64) {
    var number = numbering[kind] ?? 0
    while true {
      number += 1
      guard let id = WidgetID("\(kind)-\(number)") else {
        throw .invalid(
          field: "widget.kind", description: "No id can be made from \"\(kind)\"; give one.")
      }
      if slot(of: id) == nil { return (id, number) }
    }
  }

  // MARK: - Update

  private mutating func update(
    _ id: WidgetID, _ patch: WidgetPatch, ifRevision expected: Revision?,
    _ transition: Transition?, by caller: Caller, provider: String, at now: Timestamp
  ) throws(StoreError) {
    guard let slot = slot(of: id), let record = records[slot] else { throw .widgetNotFound(id) }
    if let expected, expected != record.revision {
      throw .etagMismatch(id, current: record.revision)
    }
    let patch = record.dated(patch, at: now)
    guard record.isOwned || !patch.releases.isEmpty else {
      return try updateUnowned(slot, record, patch, transition, at: now)
    }
    try updateOwned(
      slot, record, patch, transition,
      by: provider.isEmpty ? .user(caller.uid) : .provider(provider), at: now)
  }

  /// Changes a widget that no manager declares, so there are no owners to update.
  private mutating func updateUnowned(
    _ slot: Int, _ record: Record, _ patch: WidgetPatch, _ transition: Transition?,
    at now: Timestamp
  ) throws(StoreError) {
    try validate(patch, field: "patch")
    let patch = try fitted(patch, for: record, field: "patch")
    let transition = transition ?? defaultTransition(of: record)
    let effect = try admittedEffect(of: patch, on: slot)
    guard effect.isChange else { return keepStale(slot, by: patch) }
    _ = advanceRevision()
    modify(slot, by: patch, effect, nil, transition, at: now)
  }

  private mutating func updateOwned(
    _ slot: Int, _ record: Record, _ patch: WidgetPatch, _ transition: Transition?,
    by writer: FieldWriter, at now: Timestamp
  ) throws(StoreError) {
    try validate(patch, field: "patch")
    var patch = patch
    let released =
      patch.releases.isEmpty ? [] : try release(&patch, of: record, field: "patch")
    let asked = patch
    patch = try fitted(patch, for: record, field: "patch")
    let transition = transition ?? defaultTransition(of: record)
    var ownership = record.ownership(after: patch, by: writer, asked: asked)
    if !released.isEmpty {
      var changes = OwnershipChanges()
      for (path, owner) in released {
        changes.set(path, to: owner)
        changes.setAside(path, to: nil)
      }
      let changed = (ownership ?? record.ownership ?? Ownership()).applying(changes)
      ownership = changed == record.ownership ? nil : changed
    }
    let effect = try admittedEffect(of: patch, on: slot, plus: record.growth(to: ownership))
    guard effect.isChange || ownership != nil else { return keepStale(slot, by: patch) }
    _ = advanceRevision()
    modify(slot, by: patch, effect, ownership, transition, at: now)
  }

  /// Records that a caller has called a stale widget stale, even if the patch changes nothing. From
  /// then on, the widget is not stale by time alone.
  mutating func keepStale(_ slot: Int, by patch: WidgetPatch) {
    if patch.isStale == true { records.stayStale(slot) }
  }

  // MARK: - Delete

  private mutating func delete(
    _ id: WidgetID, ifRevision expected: Revision?, allowMissing: Bool, _ transition: Transition?
  ) throws(StoreError) {
    guard let slot = slot(of: id), let current = records[slot]?.revision else {
      if allowMissing { return }
      throw .widgetNotFound(id)
    }
    if let expected, expected != current { throw .etagMismatch(id, current: current) }
    _ = advanceRevision()
    removeWidget(slot, transition ?? defaultTransition(slot))
  }

  // MARK: - Presence

  private mutating func setPresence(
    _ target: PresenceTarget, _ action: PresenceAction, _ transition: Transition?,
    by caller: Caller, at now: Timestamp
  ) throws(StoreError) -> [WidgetID] {
    var slots: [Int] = []
    switch target {
    case .ids(let ids):
      var seen: Set<Int> = []
      for id in ids {
        guard let slot = slot(of: id) else { throw .widgetNotFound(id) }
        if seen.insert(slot).inserted { slots.append(slot) }
      }
    case .all: slots = records.order.entries.map { Int($0.slot) }
    case .selector(let selector):
      try forEachSelected(selector) { record in
        if let slot = slot(of: record.id) { slots.append(slot) }
      }
    }
    var changing: [(position: Int64, slot: Int)] = []
    for slot in slots {
      guard let record = records[slot], record.presence.applying(action) != record.presence
      else { continue }
      changing.append((record.position, slot))
    }
    guard !changing.isEmpty else { return [] }
    changing.sort { $0.position < $1.position }
    let revision = advanceRevision()
    for (_, slot) in changing {
      let transition = transition ?? defaultTransition(slot)
      modify(slot) { state in
        let before = state.presence
        let after = before.applying(action)
        state.presence = after
        state.presenceRevision = revision
        state.finish(transition, at: revision, time: now)
        guard state.ownership != nil else { return }
        state.ownership?.note(before, after, by: FieldOwner.user(caller.uid))
        state.costBytes = state.cost
      }
      if changing.count > 1 { try checkContents() }
    }
    return changing.compactMap { records[$0.slot]?.id }
  }

  // MARK: - Move

  private mutating func move(
    _ id: WidgetID, to destination: MoveDestination, _ transition: Transition?, by caller: Caller,
    at now: Timestamp
  ) throws(StoreError) {
    guard let slot = slot(of: id), let own = records[slot]?.position else {
      throw .widgetNotFound(id)
    }
    let place = records.order.index(of: own)
    // The widget's place among the others, and a free position at this place.
    let (rank, position): (Int, Int64?)
    switch destination {
    case .first: (rank, position) = (0, records.order.firstPosition)
    case .last: (rank, position) = (records.order.entries.count - 1, records.order.lastPosition)
    case .before(let other), .after(let other):
      guard let otherSlot = self.slot(of: other), let anchor = records[otherSlot]?.position else {
        throw .widgetNotFound(other)
      }
      if otherSlot == slot { return }
      let before = if case .before = destination { true } else { false }
      let anchorPlace = records.order.index(of: anchor)
      rank = anchorPlace + (before ? 0 : 1) - (anchorPlace > place ? 1 : 0)
      position = records.order.position(beside: anchor, before: before)
    }
    if rank == place { return }
    let revision = advanceRevision()
    if let position {
      setPositions([(slot, position)], transition, at: revision, time: now)
    } else {
      var sequence = records.order.entries.map { Int($0.slot) }
      sequence.insert(sequence.remove(at: place), at: rank)
      spread(sequence, transition, at: revision, time: now)
    }
    ownPosition(of: slot, by: caller)
  }

  /// Makes the user the owner of a declared widget's position, so that the next declaration does
  /// not move it back.
  private mutating func ownPosition(of slot: Int, by caller: Caller) {
    guard let record = records[slot], !record.isUndeclared else { return }
    modify(slot) { state in
      state.ownership?[FieldOwner.position] = FieldOwner(
        path: FieldOwner.position, owner: FieldOwner.user(caller.uid))
      state.costBytes = state.cost
    }
  }

  /// Spreads all positions if there is no room behind the last one.
  mutating func makeRoomAtEnd(_ transition: Transition?, at revision: Revision, time: Timestamp) {
    guard records.order.lastPosition == nil else { return }
    spread(records.order.entries.map { Int($0.slot) }, transition, at: revision, time: time)
  }

  /// Gives all widgets, in this order, positions with room between them.
  private mutating func spread(
    _ sequence: [Int], _ transition: Transition?, at revision: Revision, time: Timestamp
  ) {
    let positions = sequence.enumerated().map { rank, slot in
      (slot, OrderIndex.spreadPosition(ofRank: rank))
    }
    setPositions(positions, transition, at: revision, time: time)
  }

  /// Gives widgets new positions. All new positions together must be free.
  private mutating func setPositions(
    _ positions: [(slot: Int, position: Int64)], _ transition: Transition?,
    at revision: Revision, time: Timestamp
  ) {
    for (slot, position) in positions where records[slot]?.position != position {
      modify(slot) { state in
        state.position = position
        state.positionRevision = revision
        state.finish(transition, at: revision, time: time)
      }
    }
  }

  // MARK: - Retried requests

  /// The kept answer to a request, if this is a retry.
  ///
  /// Throws `requestIDReused` if the user gave the id to another request.
  public func recall(
    requestID: String, of uid: UInt32, fingerprint: UInt64, at now: RunningTime
  ) throws(StoreError) -> [UInt8]? {
    guard requestID.utf8.count <= limits.requestIDBytesMax else {
      throw .invalid(
        field: "request_id",
        description: "It is \(requestID.utf8.count) bytes long; at most "
          + "\(limits.requestIDBytesMax) are allowed.")
    }
    guard let image = ledger[uid, requestID], image.expires > now else { return nil }
    guard image.fingerprint == fingerprint else { throw .requestIDReused(requestID) }
    return image.response
  }

  /// Keeps an answer for retries of its request.
  public mutating func remember(
    requestID: String, of uid: UInt32, fingerprint: UInt64, response: [UInt8], at now: RunningTime
  ) {
    let hidden = ledger.insert(
      RequestImage(
        uid: uid, requestID: requestID, fingerprint: fingerprint, response: response,
        expires: now.advanced(by: limits.requestLifetime)))
    addInverse(.dropRequest(hiding: hidden))
  }
}

extension Presence {
  func applying(_ action: PresenceAction) -> Presence {
    var result = self
    switch action {
    case .show: result.isVisible = true
    case .hide: result.isVisible = false
    case .enable: result.isEnabled = true
    case .disable: result.isEnabled = false
    case .toggle: result.isVisible.toggle()
    }
    return result
  }
}

extension Command {
  /// Whether the command may make the content of several widgets.
  fileprivate var changesMany: Bool {
    switch self {
    case .setPresence, .apply, .applyKinds, .provide, .startActivity: true
    case .create, .update, .updateActivity, .endActivity, .delete, .move, .sendEvent,
      .markFailure, .deleteKind, .acknowledge, .updateTheme:
      false
    }
  }
}

extension WidgetPatch {
  var changesLabels: Bool { !setLabels.isEmpty || !unsetLabels.isEmpty }
}

extension Labels {
  func applying(_ patch: WidgetPatch) -> Labels {
    guard patch.changesLabels else { return self }
    var result = self
    for key in patch.unsetLabels { result[key] = nil }
    for label in patch.setLabels.entries { result[label.key] = label.value }
    return result
  }
}

extension Record {
  /// The patch, with a time for errors without one, so that every reader can tell their age. The errors
  /// of failed reducers, which are the daemon's, stay. A patch that clears them, and no other error,
  /// clears them, unless a provider clears the error with fresh data.
  func dated(_ patch: WidgetPatch, at now: Timestamp, byProvider: Bool = false) -> WidgetPatch {
    guard !patch.changesOnlyData, let error = patch.error else { return patch }
    let marks = self.error?.all.filter(ReducerFailure.isMark) ?? []
    var patch = patch
    if let error {
      let dated = error.continuing(self.error).dated(at: now)
      let others = marks.filter { mark in !dated.all.contains { $0.isSame(as: mark) } }
      let room = max(0, WidgetStore.furtherErrorsMax - dated.further.count)
      patch.error = .some(
        others.isEmpty ? dated : WidgetError(joining: dated.all + others.prefix(room)))
    } else if byProvider || self.error.map(ReducerFailure.isMark) == false {
      patch.error = .some(WidgetError(joining: marks))
    }
    return patch
  }
}
