import DequeModule
public import WidgetExpression
public import WidgetModel

/// The state machine in the middle: all widgets, their history, and the latest events.
///
/// A value without I/O, clock, randomness or locks. Callers change it with `apply`, and give the
/// time as an argument. Readers get the changes with `changes(since:)`. There are no queues of
/// changes: every record carries the revision that last changed it, and is linked in that order. So
/// a reader is only a cursor, and its read costs O(changes), however late it comes.
///
/// Work is done in groups. If the store was made with `isRevocable`, `rollbackGroup` takes back
/// everything since the last `commitGroup`. `pendingGroup` has the changes to make durable before
/// that. Only `commitGroup` forgets anything (trimming, compaction, expiry), so that a group can
/// always be taken back as a whole.
///
/// It cannot be copied by accident: there is one state. `copy` makes a second store on purpose.
///
/// `RecordTable` has the widgets, and keeps everything that depends on them up to date; nothing
/// else can. Tests check the invariants between all parts with `checkInvariants`.
public struct WidgetStore: ~Copyable {
  /// Limits may change at any time. If a limit is lowered, things that exceed it stay, but cannot
  /// grow.
  public var limits: StoreLimits
  /// Identifies the history. Revisions compare only within an epoch.
  public let epoch: UInt64
  /// The number of commits so far.
  public internal(set) var revision: Revision
  /// The store cannot continue from cursors before this revision.
  public internal(set) var compactRevision: Revision

  /// All widgets.
  var records = RecordTable()
  /// The content of widgets, and the schemas of the registered kinds.
  var contents = ContentMaker()
  var tombstones: Deque<Removal> = []
  /// The number of tombstones that no reader needs any more, the oldest ones. They wait to be freed.
  var forgottenCount = 0
  /// The number of tombstones at the end of the last group.
  private var tombstoneCountAtGroup = 0
  var events: EventRing
  var unacknowledged = UnacknowledgedEvents()
  /// Kinds whose events were forgotten since the last group that was stored.
  private var unstoredLosses: Set<KindName> = []
  /// No event may get a higher sequence number before this is raised and made durable.
  var eventSequenceCeiling: UInt64
  /// No change by time may take a higher revision before this is raised and made durable.
  var revisionCeiling: Revision
  var ledger = RequestLedger()
  /// The number after which the store tries automatic ids of a kind.
  var numbering: [KindName: UInt64] = [:]
  var journal: Journal
  /// Slots of widgets that have changed since they were stored, without an inverse. The next group
  /// stores them.
  private var unstored: [Int] = []
  var registeredKinds = RegisteredKinds()
  /// The values of tokens. Content does not depend on it.
  public internal(set) var theme: RevisedTheme
  /// The rules of time zones, for expressions.
  let timeZones: TimeZones?
  let predicates = PredicateCache()
  /// Kinds that were compiled for the next command.
  var compiledKinds: CompiledKinds?
  /// Kinds that were replaced or removed.
  var droppedKinds = DroppedKinds()

  /// Finds the rules of a time zone by its name, such as "Europe/Berlin".
  public typealias TimeZones = @Sendable (String) -> TimeZoneRules?

  /// A removal that late cursors must get.
  struct Removal {
    let revision: Revision
    let what: What

    enum What {
      case widget(Tombstone)
      case key(String, of: Part, slot: Int32, createdRevision: Revision)
    }

    enum Part { case data, parameters }
  }

  /// The step by which the ceiling of event numbers is raised: one durable write for that many
  /// events.
  static let eventSequenceBlock: UInt64 = 4_096

  /// The maximum number of kinds for which the store remembers the last automatic id.
  static let numberedKindsMax = 1_024

  /// The schemas of the registered kinds, and of the kinds of activities and stacks.
  var schemas: KindSchemas { contents.schemas }

  /// A store that continues an image, or an empty one from an empty image.
  ///
  /// `isRevocable` makes `rollbackGroup` possible. It costs a copy of each record that changes in a
  /// group.
  ///
  /// `timeZones` gives the rules of a zone by its name; without it expressions know only UTC and
  /// fixed offsets.
  public init(
    image: StoreImage, limits: StoreLimits = StoreLimits(), isRevocable: Bool,
    timeZones: TimeZones? = nil
  ) {
    self.timeZones = timeZones
    self.limits = limits
    epoch = image.epoch
    revision = image.revision
    compactRevision = image.compactRevision
    theme = image.theme
    events = EventRing(lastSequence: image.eventSequenceCeiling)
    eventSequenceCeiling = image.eventSequenceCeiling
    revisionCeiling = image.revision
    journal = Journal(keepsInverses: false)
    // The kinds come before the widgets, because they make the widgets' content.
    for registered in image.kinds where !BuiltInKind.isBuiltIn(registered.kind.name) {
      setKind(
        registered.kind.name, to: registered,
        schema: KindSchema(registered.kind, limits: limits, timeZones: timeZones))
    }
    let records = image.records.map { Record($0, compactRevision: image.compactRevision) }
    for record in records.sorted(by: { $0.revision < $1.revision })
    where slot(of: record.id) == nil {
      insert(record)
    }
    markReplaced(
      orCut: Set(image.records.lazy.filter(\.contentIsCut).map(\.widget.id)))
    restoreTombstones(image.tombstones)
    for request in image.requests.sorted(by: { $0.expires < $1.expires }) {
      ledger.insert(request)
    }
    for (kind, lost) in image.lostEvents where registeredKinds[kind] != nil {
      unacknowledged.note(lost: lost, of: kind)
    }
    for image in image.events.sorted(by: { $0.event.sequence < $1.event.sequence })
    where registeredKinds[image.kind] != nil {
      unacknowledged.append(image.event, of: image.kind)
    }
    unacknowledged.groupEnded()
    noteRestoredEmbeds()
    keepsInverses = isRevocable
  }

  /// A second store that continues from the same state. O(all).
  public func copy() -> WidgetStore { WidgetStore(copying: self) }

  private init(copying other: borrowing WidgetStore) {
    limits = other.limits
    epoch = other.epoch
    revision = other.revision
    compactRevision = other.compactRevision
    records = other.records.copy()
    contents = other.contents
    tombstones = other.tombstones
    forgottenCount = other.forgottenCount
    tombstoneCountAtGroup = other.tombstoneCountAtGroup
    events = other.events
    unacknowledged = other.unacknowledged
    unstoredLosses = other.unstoredLosses
    eventSequenceCeiling = other.eventSequenceCeiling
    revisionCeiling = other.revisionCeiling
    ledger = other.ledger
    numbering = other.numbering
    journal = other.journal
    unstored = other.unstored
    timeZones = other.timeZones
    registeredKinds = other.registeredKinds
    theme = other.theme
    compiledKinds = other.compiledKinds
  }

  /// Gives a new revision to widgets that may differ from the readers' copies, so that readers that
  /// resume get them as a whole. Volatile widgets have their defaults again. Content that meets a
  /// limit, or did, may be different.
  private mutating func markReplaced(orCut cut: Set<WidgetID>) {
    let volatile = schemas.volatileKinds
    let slots = records.indices.filter { slot in
      records[slot].map { record in
        volatile.contains(record.kind) || cut.contains(record.id)
          || record.content?.table.isCut ?? (schemas[record.kind]?.content.problem != nil)
      } ?? false
    }
    guard !slots.isEmpty else { return }
    revision += 1
    let revision = revision
    for slot in slots {
      guard let record = records[slot] else { continue }
      let isVolatile = volatile.contains(record.kind)
      // Volatile data is useless in storage. For other widgets, readers get the new content once,
      // and not after every restart.
      if !isVolatile || record.data.newest >= 0 { unstored.append(slot) }
      var patch = WidgetPatch()
      if isVolatile {
        patch = schemas[record.kind]?.conforming(record.draft { $0.data = RevisedMap() }) ?? patch
      }
      modify(slot) { state in
        if isVolatile { state.data = RevisedMap() }
        state.apply(patch, at: revision)
        state.costBytes = state.cost
        state.replacedRevision = revision
      }
    }
  }

  private mutating func restoreTombstones(_ images: [TombstoneImage]) {
    var removals = images.map { image in
      Removal(
        revision: image.revision,
        what: .widget(
          Tombstone(
            id: image.id, kind: image.kind,
            createdRevision: image.createdRevision, transition: image.transition)))
    }
    for slot in records.indices {
      guard let record = records[slot] else { continue }
      for (part, map) in [(Removal.Part.data, record.data), (.parameters, record.parameters)] {
        for entry in map.revisedEntries where entry.value == nil {
          removals.append(
            Removal(
              revision: entry.revision,
              what: .key(
                entry.key, of: part, slot: Int32(slot), createdRevision: record.createdRevision)))
        }
      }
    }
    tombstones = Deque(
      removals.filter { $0.revision > compactRevision }.sorted { $0.revision < $1.revision })
    tombstoneCountAtGroup = tombstones.count
  }

  // MARK: - Reading

  /// The number of widgets.
  public var count: Int { records.count }

  /// The sum of all widgets' state, as quotas count it.
  public var stateBytes: Int { records.usage.values.reduce(0) { $0 + $1.bytes } }

  /// The last event's sequence number.
  public var lastEventSequence: UInt64 { events.lastSequence }

  /// One widget. O(its keys).
  public func widget(_ id: WidgetID, taking content: ContentChoice = .own) -> Widget? {
    slot(of: id).flatMap { records[$0]?.widget(reader(content)) }
  }

  /// Whether a widget has a timeline or a schedule. O(1).
  public func hasTimeline(_ id: WidgetID) -> Bool {
    slot(of: id).flatMap { records[$0]?.moment } != nil
  }

  /// The revision that last changed a widget. O(1).
  public func revision(of id: WidgetID) -> Revision? {
    slot(of: id).flatMap { records[$0]?.revision }
  }

  /// The first `limit` selected widgets after a position, in position order. The page ends early if
  /// the widgets exceed `bytesMax` for the reader or the cost of one content, or if the scan has
  /// cost `scanCostMax`. Such a page can be empty although more widgets follow. O(scanned widgets).
  public func list(
    after position: Int64?, limit: Int, bytesMax: Int = .max,
    selecting selector: Selector = Selector(), taking content: ContentChoice = .own
  ) -> WidgetPage {
    let reader = reader(content)
    var page = WidgetPage()
    var bytes = 0
    page.next = forEachRecord(
      behind: position, selecting: selector, costMax: limits.scanCostMax
    ) { record in
      let isFull = reader.isFull(with: bytes, bytesMax: bytesMax)
      if page.widgets.count == limit || (isFull && !page.widgets.isEmpty) { return false }
      bytes += record.costBytes
      page.widgets.append(record.widget(reader))
      return true
    }
    return page
  }

  /// Visits all selected records, in position order.
  ///
  /// - Throws: `quotaExceeded` if that costs more than `scanCostMax`.
  func forEachSelected(
    _ selector: Selector, _ body: (Record) -> Void
  ) throws(StoreError) {
    let costMax = limits.scanCostMax
    let rest = forEachRecord(behind: nil, selecting: selector, costMax: costMax) { record in
      body(record)
      return true
    }
    guard rest == nil else {
      throw .quotaExceeded(limit: "scan_cost_max", maximum: limits.scanCostMax)
    }
  }

  /// Visits the selected records behind a position, in position order, until the closure returns
  /// false or the cost is spent. O(records looked at); with ids in the selector, O(ids).
  ///
  /// - Returns: The position from which to continue; nil if the end was reached.
  @discardableResult
  func forEachRecord(
    behind position: Int64?, selecting selector: Selector, costMax: Int = .max,
    _ body: (Record) -> Bool
  ) -> Int64? {
    let selection = selection(selector)
    var budget = max(1, costMax)
    var last = position ?? .min
    guard selector.ids.isEmpty else {
      let slots = Set(selector.ids.compactMap { slot(of: $0) })
      let found = slots.compactMap { self.records[$0] }.sorted { $0.position < $1.position }
      for record in found where position.map({ record.position > $0 }) ?? true {
        if budget <= 0 { return last }
        if selection.picks(record, spending: &budget), !body(record) { return last }
        last = record.position
      }
      return nil
    }
    let start =
      position.map {
        $0 == .max ? records.order.entries.count : records.order.index(of: $0 + 1)
      } ?? 0
    for entry in records.order.entries[start...] {
      if budget <= 0 { return last }
      guard let record = records[Int(entry.slot)] else { continue }
      if selection.picks(record, spending: &budget), !body(record) { return last }
      last = record.position
    }
    return nil
  }

  /// Selected events after a sequence number. The selector is compared with the widgets at the time
  /// of the event, but its expression with the widgets as they are now. O(events looked at). The
  /// page ends early when the cost is spent.
  public func events(
    after sequence: UInt64, limit: Int = .max, costMax: Int = .max,
    selecting selector: Selector = Selector(), names: [String] = []
  ) -> EventPage {
    let selection = selection(selector)
    var budget = costMax
    let costOfLook = selection.costOfEvent + names.count / 16
    return events.page(after: sequence, limit: limit, while: { budget > 0 }) { entry in
      budget -= costOfLook
      return (names.isEmpty || names.contains(entry.event.name))
        && selector.matches(
          id: entry.event.widgetID, kind: entry.kind, family: entry.family, labels: entry.labels)
        && (selection.predicate == nil
          || slot(of: entry.event.widgetID).flatMap { slot in
            records[slot].map { selection.holds(for: $0, spending: &budget) }
          } ?? false)
    }
  }

  // MARK: - Groups

  /// The next time at which `commitGroup` must be called, even if nothing else happens.
  public var nextDeadline: RunningTime? { ledger.nextDeadline }

  /// Whether there are changes to make durable. O(changes).
  public var hasPendingGroup: Bool {
    !records.inverses.isEmpty
      || journal.inverses.contains { inverse in
        switch inverse {
        case .revision, .dropTombstone, .lowerEventCeiling, .lowerRevisionCeiling, .dropRequest,
          .kind, .theme,
          .dropUnacknowledged, .restoreUnacknowledged:
          true
        case .dropEvent, .renumber: false
        }
      }
  }

  /// The last group to make durable before the daemon ends. With it, the next process continues the
  /// numbers of events and revisions after the last ones. Without it, numbers are skipped. nil if
  /// none would be skipped.
  public func closingGroup() -> CommitGroup? {
    guard !hasPendingGroup,
      eventSequenceCeiling > events.lastSequence || revisionCeiling > revision
    else { return nil }
    return CommitGroup(
      revision: revision, compactRevision: compactRevision,
      eventSequenceCeiling: events.lastSequence)
  }

  /// The changes since the last group, each widget once. Only for a revocable store.
  ///
  /// - Parameter onlyRemoves: Whether all changes are removals; see `CommitGroup.onlyRemoves`. Then
  ///   widgets that have changed before the group wait for another one, because they need room.
  public func pendingGroup(onlyRemoves: Bool = false) -> CommitGroup {
    let pending = pendingChanges(onlyRemoves: onlyRemoves)
    var group = pending.group
    group.upserts = pending.widgets.images
    return group
  }

  /// The same, with the changed widgets apart, so that nothing has the images of all of them.
  public func pendingChanges(
    onlyRemoves: Bool = false
  ) -> (group: CommitGroup, widgets: PendingWidgets) {
    var group = CommitGroup(
      revision: max(revision, revisionCeiling), compactRevision: compactRevision,
      eventSequenceCeiling: eventSequenceCeiling)
    group.onlyRemoves = onlyRemoves
    var changed: [Record] = []
    var slots: Set<Int32> = []
    slots.reserveCapacity(records.inverses.count)
    var tombstoneCount = 0
    var requestCount = 0
    var kindNames: Set<KindName> = []
    var trimmed = unstoredLosses
    for inverse in records.inverses {
      switch inverse {
      case .replace(let slot, _, _), .remove(let slot, _), .storeAgain(let slot):
        if slots.insert(slot).inserted, let record = records[Int(slot)] { changed.append(record) }
      case .restore(_, let record, _): group.deletions.append(record.id)
      }
    }
    for inverse in journal.inverses {
      switch inverse {
      case .dropTombstone: tombstoneCount += 1
      case .dropRequest: requestCount += 1
      case .kind(let name, _, _):
        guard kindNames.insert(name).inserted else { continue }
        if let registered = registeredKinds[name] {
          group.kindUpserts.append(registered)
        } else {
          group.kindDeletions.append(name)
        }
      case .dropUnacknowledged(let kind, let sequence):
        if let event = unacknowledged.event(sequence, of: kind) {
          group.events.append(EventImage(kind: kind, event: event))
        }
      case .restoreUnacknowledged(let kind, _): trimmed.insert(kind)
      case .theme: group.theme = theme
      case .revision, .dropEvent, .lowerEventCeiling, .lowerRevisionCeiling, .renumber: break
      }
    }
    group.eventTrims = trimmed.map { kind in
      let queue = unacknowledged.queues[kind]
      return EventTrim(
        kind: kind, before: queue?.entries.first?.event.sequence ?? events.lastSequence + 1,
        lost: queue?.lost)
    }
    for slot in unstored where !onlyRemoves && slots.insert(Int32(slot)).inserted {
      if let record = records[slot] { changed.append(record) }
    }
    group.requests = ledger.newest(requestCount)
    for removal in tombstones.suffix(tombstoneCount) {
      guard case .widget(let tombstone) = removal.what else { continue }
      group.tombstones.append(TombstoneImage(tombstone, revision: removal.revision))
    }
    return (group, PendingWidgets(changed, schemas))
  }

  /// Ends the group: it can no longer be taken back. Also forgets things that exceed their limit or
  /// have expired.
  ///
  /// Keeps all removals after `retained`, whatever their number, for readers at that revision.
  ///
  /// - Parameter onlyRemoved: Whether the group was made with `onlyRemoves`.
  public mutating func commitGroup(
    at now: RunningTime, retaining retained: Revision = .max, onlyRemoved: Bool = false
  ) {
    // A failed group was rolled back, so nothing is pending.
    if !(unstored.isEmpty && unstoredLosses.isEmpty), hasPendingGroup {
      if !onlyRemoved { unstored.removeAll() }
      unstoredLosses.removeAll()
    }
    records.forgetInverses()
    journal.inverses.removeAll(keepingCapacity: journal.inverses.count < 256)
    unacknowledged.groupEnded()
    events.trim(countMax: limits.eventsKeptMax, bytesMax: limits.eventBytesKeptMax)
    unstoredLosses.formUnion(
      unacknowledged.trim(countMax: limits.eventsKeptMax, bytesMax: limits.eventBytesKeptMax))
    ledger.expire(at: now)
    ledger.trim(countMax: limits.requestsKeptMax, bytesMax: limits.requestBytesKeptMax)
    if removalCount > limits.tombstonesMax { compact(upTo: retained) }
    if hasForgottenRemovals { freeRemovals(added: tombstones.count - tombstoneCountAtGroup) }
    tombstoneCountAtGroup = tombstones.count
    // Ids stay unique without the remembered numbers: the search begins at 1 again.
    if numbering.count > WidgetStore.numberedKindsMax { numbering.removeAll() }
  }

  /// Takes back everything since the last group. O(changes). Only for a revocable store.
  public mutating func rollbackGroup() { undo(to: .group) }
}

extension TombstoneImage {
  init(_ tombstone: Tombstone, revision: Revision) {
    self.init(
      id: tombstone.id, kind: tombstone.kind,
      createdRevision: tombstone.createdRevision, revision: revision,
      transition: tombstone.transition)
  }
}
