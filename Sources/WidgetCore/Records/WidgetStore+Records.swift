import WidgetModel

/// The structural changes for all commands. Each change can be taken back.
extension WidgetStore {
  /// The number of neighbouring slots in a chunk; see `chunkRevision`.
  public static var chunkSlotCount: Int { RecordTable.chunkSlotCount }

  func slot(of id: WidgetID) -> Int? { records.slot(of: id) }

  /// Takes the next revision.
  mutating func advanceRevision() -> Revision {
    addInverse(.revision(revision))
    revision += 1
    return revision
  }

  /// Inserts a record into a free slot, as the newest.
  @discardableResult
  mutating func insert(_ record: Record) -> Int {
    records.insert(record, at: revision, &contents, limits: limits)
  }

  /// Changes a record at the present revision, and makes it the newest.
  ///
  /// - Parameter content: the widget's content, if it is made already.
  mutating func modify(
    _ slot: Int, showing content: ContentTable? = nil, _ change: (inout RecordState) -> Void
  ) {
    records.modify(
      slot, at: revision, &contents, limits: limits, showing: content, change)
  }

  /// Changes a record by an admitted patch, at the present revision, and leaves tombstones for the
  /// keys that the patch removes.
  ///
  /// - Parameters:
  ///   - ownership: the owners of fields afterwards; nil if they do not change.
  ///   - further: further changes. `effect` includes their cost.
  mutating func modify(
    _ slot: Int, by patch: WidgetPatch, _ effect: PatchEffect, _ ownership: Ownership?,
    _ transition: Transition?, at now: Timestamp, further: (inout RecordState) -> Void = { _ in }
  ) {
    let revision = revision
    let isUndeclared = ownership != nil && records[slot]?.ownership?.isUndeclared == true
    let memory = records[slot].flatMap { expressionBytes(after: patch, of: $0) }
    modify(slot) { state in
      state.apply(patch, at: revision)
      if let memory { state.expressionBytes = memory }
      further(&state)
      if let ownership {
        state.ownership = isUndeclared && ownership.isEmpty ? nil : ownership
      }
      state.costBytes = effect.costBytes
      state.finish(transition, at: revision, time: now)
    }
    if effect.removesKeys { appendKeyRemovals(of: slot) }
  }

  /// Leaves tombstones for the keys that the present revision removed from a widget. O(changed
  /// keys).
  private mutating func appendKeyRemovals(of slot: Int) {
    guard let record = records[slot] else { return }
    for (part, map) in [(Removal.Part.data, record.data), (.parameters, record.parameters)] {
      for key in map.changes(since: revision - 1).unset {
        append(
          Removal(
            revision: revision,
            what: .key(
              key, of: part, slot: Int32(slot), createdRevision: record.createdRevision)))
      }
    }
  }

  /// Removes a widget and leaves a tombstone.
  mutating func removeWidget(_ slot: Int, _ transition: Transition?) {
    guard let record = records.remove(slot, at: revision) else { return }
    append(
      Removal(
        revision: revision,
        what: .widget(
          Tombstone(
            id: record.id, kind: record.kind,
            createdRevision: record.createdRevision, transition: transition))))
  }

  private mutating func append(_ removal: Removal) {
    tombstones.append(removal)
    addInverse(.dropTombstone)
  }

  // MARK: - Taking back

  /// A point to which `undo` can go back.
  struct Savepoint {
    fileprivate let records: Int
    fileprivate let others: Int
    /// The number of `refreshes` to keep.
    fileprivate let refreshes: Int

    /// The last group's end. Time may have added refreshes since, so all are kept.
    static let group = Savepoint(records: 0, others: 0, refreshes: .max)
  }

  private var savepoint: Savepoint {
    Savepoint(
      records: records.savepoint, others: journal.inverses.count,
      refreshes: contents.refreshes.count)
  }

  /// Runs the inverses after a savepoint, newest first. The inverses of records touch nothing else,
  /// so they can run separately.
  mutating func undo(to savepoint: Savepoint) {
    records.undo(to: savepoint.records)
    contents.refreshes.removeLast(max(0, contents.refreshes.count - savepoint.refreshes))
    while journal.inverses.count > savepoint.others, let inverse = journal.inverses.popLast() {
      switch inverse {
      case .revision(let old): revision = old
      case .dropTombstone: tombstones.removeLast()
      case .dropEvent: events.undoAppend()
      case .dropUnacknowledged(let kind, _): unacknowledged.undoAppend(of: kind)
      case .restoreUnacknowledged(let kind, let removed):
        unacknowledged.undoRemove(of: kind, removed)
      case .lowerEventCeiling(let old): eventSequenceCeiling = old
      case .lowerRevisionCeiling(let old): revisionCeiling = old
      case .dropRequest(let hidden): ledger.undoInsert(hiding: hidden)
      case .renumber(let kind, let old): numbering[kind] = old
      case .kind(let name, let old, let schema): setKind(name, to: old, schema: schema)
      case .theme(let old): theme = old
      }
    }
  }

  /// Runs `body`. If `body` throws or returns `keep: false`, takes its changes back.
  mutating func atomically<R>(
    _ body: (inout WidgetStore) throws(StoreError) -> (result: R, keep: Bool)
  ) throws(StoreError) -> R {
    let keptInverses = keepsInverses
    let former = (records.savepointInForce, journal.savepointInForce)
    let start = savepoint
    keepsInverses = true
    (records.savepointInForce, journal.savepointInForce) = (start.records, start.others)
    defer {
      keepsInverses = keptInverses
      (records.savepointInForce, journal.savepointInForce) = former
      if !keptInverses {
        records.forgetInverses()
        journal.inverses.removeAll()
      }
    }
    do {
      let (result, keep) = try body(&self)
      if !keep { undo(to: start) }
      return result
    } catch {
      undo(to: start)
      throw error
    }
  }

  /// Whether changes keep their inverses, so that they can be taken back.
  var keepsInverses: Bool {
    get { journal.keepsInverses }
    set { (journal.keepsInverses, records.keepsInverses) = (newValue, newValue) }
  }

  mutating func addInverse(_ inverse: Journal.Inverse) { journal.append(inverse) }
}
