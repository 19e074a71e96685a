import WidgetModel

/// The structural changes that everything else is made of. Each keeps all indexes true and appends
/// its inverse to the journal.
extension WidgetStore {
  /// How many neighbouring slots share a chunk; see `chunkRevision`.
  public static var chunkSlotCount: Int { 256 }

  func slot(of id: WidgetID) -> Int? { index[id].map(Int.init) }

  /// Takes the next revision.
  mutating func advanceRevision() -> Revision {
    record(.revision(revision))
    revision += 1
    return revision
  }

  /// Puts a record into a free slot, as the newest.
  @discardableResult
  mutating func insert(_ record: Record) -> Int {
    let slot: Int32
    if let free = freeSlots.popLast() {
      slot = free
    } else {
      slot = Int32(records.count)
      records.append(nil)
      if records.count > chunkRevisions.count * WidgetStore.chunkSlotCount {
        chunkRevisions.append(0)
      }
    }
    record.isPlain = registeredKinds.index(forKey: record.kind) == nil && record.kind != .help
    refreshContent(of: record)
    put(record, into: slot)
    linkNewest(slot)
    self.record(.remove(slot: slot, chunk: chunkRevision(of: slot)))
    setChunkRevision(of: slot, to: revision)
    return Int(slot)
  }

  /// Changes a record and makes it the newest.
  mutating func modify(_ slot: Int, _ change: (Record) -> Void) {
    guard let old = records[slot] else { return }
    var record = old
    if journal.isRecording {
      record = old.copy()
      records[slot] = record
      self.record(.replace(slot: Int32(slot), with: old, chunk: chunkRevision(of: Int32(slot))))
    }
    let (oldCost, oldPosition) = (record.costBytes, record.position)
    let (oldContentBytes, oldFamilyBytes) = (record.contentBytes, record.familyBytes)
    change(record)
    refreshContent(of: record)
    account(for: record, in: Int32(slot), insteadOf: oldCost, oldPosition)
    accountContent(of: record.ownerUID, growth: record.contentBytes - oldContentBytes)
    familyUsage.bytes += record.familyBytes - oldFamilyBytes
    setChunkRevision(of: Int32(slot), to: revision)
    guard newest != slot else { return }
    unlink(Int32(slot))
    linkNewest(Int32(slot))
  }

  /// What a widget of this kind and family shows; nil for nothing.
  func contentProgram(of record: Record) -> ContentProgram? {
    let schema = record.kind == HelpKind.name ? HelpKind.schema : schemas[record.kind]
    return schema?.content.program(for: record.family)
  }

  /// Makes what a widget shows follow from its state.
  private mutating func refreshContent(of record: Record) {
    contentCost += record.refreshContent(contentProgram(of: record), limits: limits)
    refreshFamilies(of: record)
  }

  /// Takes a record out of its slot.
  mutating func remove(_ slot: Int) {
    guard let record = records[slot] else { return }
    unlink(Int32(slot))
    take(Int32(slot))
    self.record(
      .restore(slot: Int32(slot), record, chunk: chunkRevision(of: Int32(slot))))
    setChunkRevision(of: Int32(slot), to: revision)
  }

  mutating func append(_ removal: Removal) {
    tombstones.append(removal)
    record(.dropTombstone)
  }

  /// A point to which `undo` can go back.
  var savepoint: Int { journal.inverses.count }

  /// Runs the inverses after a savepoint, newest first.
  mutating func undo(to savepoint: Int) {
    while journal.inverses.count > savepoint, let inverse = journal.inverses.popLast() {
      switch inverse {
      case .revision(let old): revision = old
      case .replace(let slot, let old, let chunk):
        unlink(slot)
        let current = records[Int(slot)] ?? old
        records[Int(slot)] = old
        account(for: old, in: slot, insteadOf: current.costBytes, current.position)
        accountContent(of: old.ownerUID, growth: old.contentBytes - current.contentBytes)
        familyUsage.bytes += old.familyBytes - current.familyBytes
        relink(slot)
        setChunkRevision(of: slot, to: chunk)
      case .remove(let slot, let chunk):
        unlink(slot)
        take(slot)
        setChunkRevision(of: slot, to: chunk)
      case .restore(let slot, let record, let chunk):
        freeSlots.removeLast()
        put(record, into: slot)
        relink(slot)
        setChunkRevision(of: slot, to: chunk)
      case .dropTombstone: tombstones.removeLast()
      case .dropEvent: events.undoAppend()
      case .dropUnacknowledged(let kind, _): unacknowledged.undoAppend(of: kind)
      case .restoreUnacknowledged(let kind, let removed):
        unacknowledged.undoRemove(of: kind, removed)
      case .lowerEventCeiling(let old): eventSequenceCeiling = old
      case .dropRequest: ledger.undoInsert()
      case .renumber(let kind, let old): numbering[kind] = old
      case .storeAgain: break
      case .kind(let name, let old, let schema): setKind(name, to: old, schema: schema)
      case .theme(let old): theme = old
      }
    }
  }

  /// Runs `body`, and takes back what it did if it throws or says so.
  mutating func atomically<R>(
    _ body: (inout WidgetStore) throws(StoreError) -> (result: R, keep: Bool)
  ) throws(StoreError) -> R {
    let wasRecording = journal.isRecording
    let start = savepoint
    journal.isRecording = true
    defer {
      journal.isRecording = wasRecording
      if !wasRecording { journal.inverses.removeAll() }
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

  mutating func record(_ inverse: Journal.Inverse) {
    if journal.isRecording { journal.inverses.append(inverse) }
  }

  // MARK: - Indexes

  private mutating func put(_ record: Record, into slot: Int32) {
    index[record.id] = slot
    order.insert(slot, at: record.position)
    usage[record.ownerUID, default: Usage()].widgets += 1
    usage[record.ownerUID, default: Usage()].bytes += record.costBytes
    accountContent(of: record.ownerUID, growth: record.contentBytes)
    familyUsage.bytes += record.familyBytes
    records[Int(slot)] = record
  }

  private mutating func take(_ slot: Int32) {
    guard let record = records[Int(slot)] else { return }
    index[record.id] = nil
    order.remove(slot, at: record.position)
    usage[record.ownerUID]?.widgets -= 1
    usage[record.ownerUID]?.bytes -= record.costBytes
    accountContent(of: record.ownerUID, growth: -record.contentBytes)
    familyUsage.bytes -= record.familyBytes
    if usage[record.ownerUID]?.widgets == 0 { usage[record.ownerUID] = nil }
    records[Int(slot)] = nil
    freeSlots.append(slot)
  }

  /// Makes the indexes true after a record's cost and position have changed.
  private mutating func account(
    for record: Record, in slot: Int32, insteadOf oldCost: Int, _ oldPosition: Int64
  ) {
    if record.costBytes != oldCost {
      usage[record.ownerUID, default: Usage()].bytes += record.costBytes - oldCost
    }
    if record.position != oldPosition {
      order.remove(slot, at: oldPosition)
      order.insert(slot, at: record.position)
    }
  }

  /// Counts by how much what a user's widgets show has grown.
  mutating func accountContent(of owner: UInt32, growth: Int) {
    guard growth != 0 else { return }
    usage[owner, default: Usage()].contentBytes += growth
    contentGrowth[owner, default: 0] += growth
  }

  private func chunkRevision(of slot: Int32) -> Revision {
    chunkRevision(Int(slot) / WidgetStore.chunkSlotCount)
  }

  private mutating func setChunkRevision(of slot: Int32, to revision: Revision) {
    chunkRevisions[Int(slot) / WidgetStore.chunkSlotCount] = revision
  }

  // MARK: - Links in order of revision

  private mutating func linkNewest(_ slot: Int32) {
    records[Int(slot)]?.older = newest
    records[Int(slot)]?.newer = -1
    if newest >= 0 { records[Int(newest)]?.newer = slot } else { oldest = slot }
    newest = slot
  }

  private mutating func unlink(_ slot: Int32) {
    guard let record = records[Int(slot)] else { return }
    if record.older >= 0 {
      records[Int(record.older)]?.newer = record.newer
    } else {
      oldest = record.newer
    }
    if record.newer >= 0 {
      records[Int(record.newer)]?.older = record.older
    } else {
      newest = record.older
    }
  }

  /// Puts a record between the neighbours that it remembers.
  private mutating func relink(_ slot: Int32) {
    guard let record = records[Int(slot)] else { return }
    if record.older >= 0 { records[Int(record.older)]?.newer = slot } else { oldest = slot }
    if record.newer >= 0 { records[Int(record.newer)]?.older = slot } else { newest = slot }
  }
}
