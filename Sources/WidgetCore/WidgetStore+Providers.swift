public import WidgetModel

/// Changes by providers to the widgets of their kinds, and the changes that providers get.
///
/// A widget is *stale* while its provider has no session. The store does not know the sessions:
/// `abandon` makes widgets stale, and every update by a provider makes a widget fresh.
extension WidgetStore {
  /// Changes of the widgets of some kinds. Each widget is in one list at most.
  public struct ProvidedChanges: Hashable, Sendable {
    /// New widgets, the least recently changed one first.
    public var created: [WidgetID] = []
    /// Older widgets with other parameters.
    public var reconfigured: [WidgetID] = []
    /// Removed widgets, including widgets that were created after the cursor.
    public var removed: [WidgetID] = []
  }

  /// Changes of the widgets of these kinds after a cursor that concern a provider. O(changes).
  ///
  /// Throws `revisionCompacted` if removals after the cursor are forgotten.
  public func providedChanges(
    since cursor: Revision, of kinds: Set<KindName>
  ) throws(StoreError) -> ProvidedChanges {
    guard cursor >= compactRevision else {
      throw .revisionCompacted(compactRevision: compactRevision)
    }
    var changes = ProvidedChanges()
    records.forEachRecord(changedSince: cursor) { record in
      let isNew = record.createdRevision > cursor
      // An activity gets its data from the user or program that started it, not from a provider.
      guard !record.isActivity, isNew || record.parameters.hasChanges(since: cursor),
        kinds.contains(record.kind)
      else { return true }
      if isNew {
        changes.created.append(record.id)
      } else {
        changes.reconfigured.append(record.id)
      }
      return true
    }
    changes.created.reverse()
    changes.reconfigured.reverse()
    var seen: Set<WidgetID> = []
    for removal in tombstones.reversed() {
      guard removal.revision > cursor else { break }
      guard case .widget(let tombstone) = removal.what, kinds.contains(tombstone.kind),
        !isThere(tombstone.id, of: kinds), seen.insert(tombstone.id).inserted
      else { continue }
      changes.removed.append(tombstone.id)
    }
    changes.removed.reverse()
    return changes
  }

  /// The kinds whose provider has changes after a cursor; nil if removals after the cursor are
  /// forgotten. O(changes).
  public func kindsWithProvidedChanges(since cursor: Revision) -> Set<KindName>? {
    guard cursor >= compactRevision else { return nil }
    var kinds: Set<KindName> = []
    records.forEachRecord(changedSince: cursor) { record in
      if !record.isActivity,
        record.createdRevision > cursor || record.parameters.hasChanges(since: cursor)
      {
        kinds.insert(record.kind)
      }
      return true
    }
    for removal in tombstones.reversed() {
      guard removal.revision > cursor else { break }
      if case .widget(let tombstone) = removal.what { kinds.insert(tombstone.kind) }
    }
    return kinds
  }

  private func isThere(_ id: WidgetID, of kinds: Set<KindName>) -> Bool {
    kind(of: id).map(kinds.contains) ?? false
  }

  /// The kind of a widget. O(1).
  public func kind(of id: WidgetID) -> KindName? { slot(of: id).flatMap { records[$0]?.kind } }

  /// A page of the ids of the widgets of these kinds, without those that were created after a
  /// revision. A page is in position order, and further pages are in no order. A widget that stays
  /// is in exactly one page, whatever changes between the pages. O(slots looked at).
  ///
  /// - Parameters:
  ///   - slot: The first slot of the page; 0 for the first page.
  ///   - slotsMax: The maximum number of slots to look at, at least 1.
  /// - Returns: the ids, and the first slot of the next page; nil at the end.
  public func widgetIDs(
    of kinds: Set<KindName>, createdUpTo revision: Revision, from slot: Int, slotsMax: Int
  ) -> (ids: [WidgetID], next: Int?) {
    let last = records.indices.upperBound
    guard slot < last, !kinds.isEmpty else { return ([], nil) }
    let end = slot + min(slotsMax, last - slot)
    var found: [Record] = []
    for slot in slot..<end {
      guard let record = records[slot], record.createdRevision <= revision,
        kinds.contains(record.kind), !record.isActivity
      else { continue }
      found.append(record)
    }
    found.sort { $0.position < $1.position }
    return (found.map(\.id), end < last ? end : nil)
  }

  /// Visits the ids and kinds of widgets. O(widgets looked at).
  ///
  /// Throws `widgetNotFound` if one of the ids does not exist, and `quotaExceeded` if the visit of all
  /// widgets, or of the selected ones, costs more than `scanCostMax`.
  public func forEachWidget(
    in target: PresenceTarget, _ body: (WidgetID, KindName) -> Void
  ) throws(StoreError) {
    switch target {
    case .ids(let ids):
      for id in ids where slot(of: id) == nil { throw .widgetNotFound(id) }
      var seen: Set<WidgetID> = []
      for id in ids where seen.insert(id).inserted {
        if let kind = kind(of: id) { body(id, kind) }
      }
    case .selector(let selector):
      try forEachSelected(selector) { record in body(record.id, record.kind) }
    case .all:
      guard count <= max(1, limits.scanCostMax) else {
        throw .quotaExceeded(limit: "scan_cost_max", maximum: limits.scanCostMax)
      }
      for entry in records.order.entries {
        if let record = records[Int(entry.slot)] { body(record.id, record.kind) }
      }
    }
  }

  // MARK: - Events

  /// Events of widgets of these kinds after a sequence number. Events that the ring has dropped
  /// come from `unacknowledged`. If all kinds are attended, a gap counts only events of these
  /// kinds. If one kind is not attended, the gap covers all numbers that the ring has dropped.
  /// O(events looked at).
  public func events(
    after sequence: UInt64, limit: Int, of kinds: Set<KindName>
  ) -> EventPage {
    let end = events.sequenceBeforeOldest
    guard sequence < end else {
      return events.page(after: sequence, limit: limit) { kinds.contains($0.kind) }
    }
    var page = EventPage(cursor: sequence)
    let kept = unacknowledged.events(after: sequence, through: end, limit: limit, of: kinds)
    let isAnyUnknown = kinds.contains { kind in
      registeredKinds[kind].map { !$0.isAttended && !$0.kind.hasLosableEvents } ?? false
    }
    let lost =
      isAnyUnknown
      ? sequence + 1...end : unacknowledged.lost(after: sequence, through: end, of: kinds)
    if let lost {
      // The events up to the loss, and the following events until a number is missing.
      for event in kept {
        guard event.sequence <= max(page.cursor + 1, lost.lowerBound) else { break }
        page.events.append(event)
        page.cursor = event.sequence
      }
      guard page.events.isEmpty else { return page }
      let last = kept.first.map { min($0.sequence - 1, lost.upperBound) } ?? lost.upperBound
      page.gap = max(lost.lowerBound, sequence + 1)...last
      page.cursor = last
      return page
    }
    page.events = kept
    if kept.count < limit {
      let rest = events.page(after: end, limit: limit - kept.count) { kinds.contains($0.kind) }
      page.events += rest.events
      page.cursor = rest.cursor
    } else {
      page.cursor = kept.last?.sequence ?? sequence
    }
    return page
  }

  /// The kinds of the widgets of all events after a sequence number; nil if the ring has dropped one
  /// of the events. O(events).
  public func kindsOfEvents(after sequence: UInt64) -> Set<KindName>? {
    guard sequence >= events.sequenceBeforeOldest else { return nil }
    let count = events.lastSequence - min(sequence, events.lastSequence)
    var kinds: Set<KindName> = []
    for entry in events.entries.suffix(Int(clamping: count)) {
      kinds.insert(entry.kind)
    }
    return kinds
  }

  /// The sequence number before the first event, or lost event, that a provider has not
  /// acknowledged; nil if there is none. Counts only events that are kept. O(all kinds).
  public func sequenceBeforeUnacknowledged(of provider: String) -> UInt64? {
    unacknowledged.first(of: kindNames(of: provider)).map { $0 - 1 }
  }

  /// The number of events that are kept because their providers have not acknowledged them.
  public var unacknowledgedCount: Int { unacknowledged.count }

  /// Whether events of a kind are kept, and stored, until its provider acknowledges them. O(1).
  func isKept(_ kind: KindName) -> Bool {
    registeredKinds[kind].map { $0.isAttended && !$0.kind.hasLosableEvents } ?? false
  }

  mutating func acknowledge(_ sequence: UInt64, by provider: String) {
    guard !unacknowledged.queues.isEmpty else { return }
    for kind in kindNames(of: provider) { forgetEvents(of: kind, through: sequence) }
  }

  /// Removes the unacknowledged events of a kind up to and including a sequence number, and the
  /// record of lost events up to it. A rollback restores both.
  mutating func forgetEvents(of kind: KindName, through sequence: UInt64) {
    guard let removed = unacknowledged.remove(of: kind, through: sequence) else { return }
    addInverse(.restoreUnacknowledged(kind, removed))
  }

  // MARK: - Kinds

  /// The names of a provider's kinds. O(1).
  public func kindNames(of provider: String) -> Set<KindName> {
    registeredKinds.names(of: provider)
  }

  /// The names of a provider's kinds that it declared in a session. O(the provider's kinds).
  public func attendedKindNames(of provider: String) -> Set<KindName> {
    kindNames(of: provider).filter { registeredKinds[$0]?.isAttended == true }
  }

  /// The provider of a kind; nil if the kind is not registered. O(1).
  public func provider(of kind: KindName) -> String? { registeredKinds[kind]?.provider }

  /// The providers that declared kinds in a session. O(all kinds).
  public var attendingProviders: Set<String> {
    Set(registeredKinds.byName.values.lazy.filter(\.isAttended).map(\.provider))
  }

  // MARK: - Commands

  mutating func provide(
    _ updates: [ProvidedUpdate], by provider: String, at now: Timestamp
  ) throws(StoreError) {
    try atomically { (store) throws(StoreError) in
      let before = store.revision
      // All updates share one revision, which is given back if nothing changed.
      _ = store.advanceRevision()
      var seen: Set<WidgetID> = []
      var hasChanged = false
      for (index, update) in updates.enumerated() {
        do throws(StoreError) {
          guard seen.insert(update.id).inserted else {
            throw .invalid(field: "widget_id", description: "\"\(update.id)\" appears twice.")
          }
          if try store.provide(update, by: provider, at: now) { hasChanged = true }
        } catch {
          throw .inUpdate(index, of: update.id, error)
        }
        if updates.count > 1 { try store.checkContents() }
      }
      if !hasChanged { store.revision = before }
      return ((), hasChanged)
    }
  }

  /// Changes one widget, and makes it fresh. Returns whether that changed anything.
  private mutating func provide(
    _ update: ProvidedUpdate, by provider: String, at time: Timestamp
  ) throws(StoreError) -> Bool {
    guard let slot = slot(of: update.id), let record = records[slot] else {
      throw .widgetNotFound(update.id)
    }
    guard registeredKinds[record.kind]?.provider == provider else {
      throw .notProvided(update.id, kind: record.kind, by: provider)
    }
    try validate(update.patch, field: "patch")
    guard update.patch.releases.isEmpty else {
      throw .invalid(
        field: "patch.release", description: "Give fields back with UpdateWidget instead.")
    }
    var patch = try fitted(update.patch, for: record, field: "patch")
    let isError = (patch.error ?? nil) != nil
    patch = record.dated(patch, at: time, byProvider: true)
    // With an error, a widget whose timeline is too old stays stale.
    let isTooOld =
      isError && patch.timeline == nil
      && (record.timeline?.staleTime.map { $0 <= time } ?? false)
    if patch.isStale == nil, !isTooOld { patch.isStale = false }
    let endsRequest =
      !isError && patch.timeline == nil && record.moment?.awaitsTimeline == true
    let ownership = record.ownership(after: patch, by: .provider(provider))
    let effect = try admittedEffect(of: patch, on: slot, plus: record.growth(to: ownership))
    guard effect.isChange || endsRequest else {
      keepStale(slot, by: patch)
      return false
    }
    let transition = update.transition ?? defaultTransition(slot)
    modify(slot, by: patch, effect, ownership, transition, at: time) { state in
      if endsRequest { state.moment?.stopAsking() }
    }
    return true
  }
}
