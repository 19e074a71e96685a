import WidgetModel

/// A widget in the store.
///
/// A record is an object, so that access to it costs one reference count, and not one for each
/// part. Only `RecordTable` writes it. A record outside of a table is a draft: it never changes.
final class Record {
  let id: WidgetID
  let kind: KindName
  let ownerUID: UInt32
  let createdRevision: Revision
  let createTime: Timestamp

  fileprivate(set) var state: RecordState
  /// The content of the widget, which follows from its state and its kind.
  fileprivate(set) var shown: ShownContent
  /// The neighbours in order of `revision`: slots, or -1.
  fileprivate(set) var older: Int32 = -1
  fileprivate(set) var newer: Int32 = -1
  /// The number of the latest inverse that takes back its changes; -1 for none.
  fileprivate var inverseNumber = -1

  init(
    id: WidgetID, kind: KindName, ownerUID: UInt32, createdRevision: Revision,
    createTime: Timestamp, state: RecordState, shown: ShownContent = ShownContent()
  ) {
    self.id = id
    self.kind = kind
    self.ownerUID = ownerUID
    self.createdRevision = createdRevision
    self.createTime = createTime
    self.state = state
    self.shown = shown
  }

  /// A second record with the same state, content and neighbours.
  fileprivate convenience init(copying other: Record) {
    self.init(
      id: other.id, kind: other.kind, ownerUID: other.ownerUID,
      createdRevision: other.createdRevision, createTime: other.createTime, state: other.state,
      shown: other.shown)
    (older, newer, inverseNumber) = (other.older, other.newer, other.inverseNumber)
  }
}

/// The size of the cache for other families, and the cost of reading. Readers fill the cache.
final class FamilyContentUsage {
  fileprivate(set) var bytes: Int
  /// The sum since the store began, which only grows.
  var readingCost = 0
  fileprivate init(bytes: Int = 0) { self.bytes = bytes }

  /// Caches content of another family that was made for a reader of a record.
  func keep(_ content: FamilyContent, of record: Record) {
    record.shown.families.append(content)
    bytes += content.bytes
  }
}

/// All records, and everything that follows from them: the index, the order, the links from newest
/// to oldest, the usage of each owner, and the content of each widget.
///
/// Commands change records only through `insert`, `modify` and `remove`. Each call keeps all parts
/// consistent. While `keepsInverses`, `insert` and `remove` keep their inverses, and `modify` keeps
/// the former record. Further changes of this record need no inverse until the next savepoint,
/// because `undo` goes back to before the first one. `undo` runs the inverses newest first, and
/// puts each record in front of its former older neighbour. The last inverse of a record to run puts
/// it at its former place, because all records that are still changed are newer.
///
/// The other writers have no inverse. Readers do not see the changes of `stayStale`, `appointAhead`,
/// `purge` and `replaceContent`. `resolveEmbeds` runs between groups. `evictContents` and
/// `FamilyContentUsage.keep` change a cache. The setters of a record are private to this file, so
/// the compiler refuses every other writer.
///
/// Invariants, checked by `checkInvariants` in tests: `index` maps every record's id to its slot;
/// `order` holds every record once by its position; the links `newest…oldest` hold every record
/// once in descending order of revision; `usage` is the sum of its records' costs by owner;
/// `pendingBytes` is the sum of the pending records' costs; a chunk's revision is not before that
/// of any of its records; the agendas hold the dates of all records, and no other dates.
struct RecordTable: ~Copyable {
  /// The number of neighbouring slots in a chunk.
  static let chunkSlotCount = 256

  private(set) var slots: [Record?] = []
  private(set) var freeSlots: [Int32] = []
  private(set) var index: [WidgetID: Int32] = [:]
  private(set) var order = OrderIndex()
  private(set) var newest: Int32 = -1
  private(set) var oldest: Int32 = -1
  /// For each chunk of slots, the revision of its last change, or a later one.
  private(set) var chunkRevisions: [Revision] = []
  private(set) var usage: [UInt32: Usage] = [:]
  /// The growth of each user's contents by the current command.
  private(set) var contentGrowth: [UInt32: Int] = [:]
  /// The times at which moments end.
  private(set) var agenda = Agenda()
  /// The times at which moments have a duty.
  private(set) var duties = Agenda()
  /// The times at which time changes activities.
  private(set) var activityAgenda = Agenda()
  /// The sum of all records' `familyBytes`.
  let familyUsage: FamilyContentUsage
  /// The links between widgets through embeds.
  let embeds: EmbedLinks
  /// The inverses of changes, newest last.
  private(set) var inverses: [Inverse] = []
  /// The number of the first inverse.
  private var firstInverseNumber = 0
  /// The cost of the pending records: those that have an inverse, so the next group writes them.
  /// Records that are only stored again do not count.
  private(set) var pendingBytes = 0
  /// The number of rows that the next group writes. A removal deletes one, and adds a tombstone.
  private(set) var pendingRows = 0
  /// The savepoint of the innermost `atomically`, or 0: `undo` goes back to it, or further.
  var savepointInForce = 0
  /// Whether changes keep their inverses, so that `undo` can take them back.
  var keepsInverses = false

  /// The usage of one user's widgets.
  struct Usage {
    fileprivate(set) var widgets = 0
    fileprivate(set) var bytes = 0
    fileprivate(set) var contentBytes = 0
  }

  init() { (familyUsage, embeds) = (FamilyContentUsage(), EmbedLinks()) }

  /// A second table that shares no record with this one. O(all).
  func copy() -> RecordTable { RecordTable(copying: self) }

  private init(copying other: borrowing RecordTable) {
    slots = other.slots.map { $0.map { Record(copying: $0) } }
    (freeSlots, index, order) = (other.freeSlots, other.index, other.order)
    (newest, oldest) = (other.newest, other.oldest)
    chunkRevisions = other.chunkRevisions
    (usage, contentGrowth) = (other.usage, other.contentGrowth)
    (agenda, duties, activityAgenda) = (other.agenda, other.duties, other.activityAgenda)
    familyUsage = FamilyContentUsage(bytes: other.familyUsage.bytes)
    embeds = other.embeds.copy()
    keepsInverses = other.keepsInverses
    (firstInverseNumber, savepointInForce) = (other.firstInverseNumber, other.savepointInForce)
    (pendingBytes, pendingRows) = (other.pendingBytes, other.pendingRows)
    inverses = other.inverses.map { inverse in
      switch inverse {
      case .replace(let slot, let record, let chunk):
        .replace(slot: slot, with: Record(copying: record), chunk: chunk)
      case .restore(let slot, let record, let chunk):
        .restore(slot: slot, Record(copying: record), chunk: chunk)
      case .remove, .storeAgain: inverse
      }
    }
  }

  // MARK: - Changing

  /// Resets the growth of contents, because the next command begins.
  mutating func beginCommand() {
    if !contentGrowth.isEmpty { contentGrowth.removeAll(keepingCapacity: true) }
  }

  /// Inserts a record into a free slot, as the newest. No other record has its id.
  mutating func insert(
    _ record: Record, at revision: Revision, _ contents: inout ContentMaker, limits: StoreLimits
  ) -> Int {
    let slot: Int32
    if let free = freeSlots.popLast() {
      slot = free
    } else {
      slot = Int32(slots.count)
      slots.append(nil)
      if slots.count > chunkRevisions.count * RecordTable.chunkSlotCount {
        chunkRevisions.append(0)
      }
    }
    contents.place(
      &record.state, of: record.id, kind: record.kind, at: revision, limits: limits)
    contents.begin(&record.shown, of: record, beside: familyUsage.bytes, limits: limits)
    put(record, into: slot)
    appoint(record, in: slot)
    noteChange(of: record)
    linkNewest(slot)
    if keepsInverses {
      append(.remove(slot: slot, chunk: chunkRevisions[chunk(of: slot)]), for: record)
      (pendingBytes, pendingRows) = (pendingBytes + record.costBytes, pendingRows + 1)
    }
    chunkRevisions[chunk(of: slot)] = revision
    return Int(slot)
  }

  /// Changes a record and makes it the newest. `revision` is not before that of any record.
  ///
  /// - Parameter content: the widget's content, if it is made already.
  mutating func modify(
    _ slot: Int, at revision: Revision, _ contents: inout ContentMaker, limits: StoreLimits,
    showing content: ContentTable? = nil, _ change: (inout RecordState) -> Void
  ) {
    guard let old = slots[slot] else { return }
    var record = old
    let chunk = chunk(of: Int32(slot))
    let wasPending = isPending(old)
    if keepsInverses, !hasInverse(old) {
      record = Record(copying: old)
      slots[slot] = record
      append(.replace(slot: Int32(slot), with: old, chunk: chunkRevisions[chunk]), for: record)
    }
    let (oldCost, oldPosition) = (record.costBytes, record.position)
    let (oldContentBytes, oldFamilyBytes) = (record.contentBytes, record.familyBytes)
    let oldReplaced = record.replacedRevision
    let entryLimits = limits.forEntries(of: record)
    change(&record.state)
    record.state.revision = revision
    contents.place(
      &record.state, of: record.id, kind: record.kind, at: revision, limits: entryLimits)
    appoint(record, in: Int32(slot))
    if let content { record.shown.show(content) }
    // The state that made the former content is lost.
    if record.replacedRevision != oldReplaced { record.shown.forget() }
    contents.refresh(
      &record.shown, of: record, beside: familyUsage.bytes - oldFamilyBytes,
      limits: limits.forNodes(of: record))
    account(for: record, in: Int32(slot), insteadOf: oldCost, oldPosition)
    if isPending(record) { pendingBytes += record.costBytes - (wasPending ? oldCost : 0) }
    if isPending(record), !wasPending { pendingRows += 1 }
    accountContent(of: record.ownerUID, growth: record.contentBytes - oldContentBytes)
    familyUsage.bytes += record.familyBytes - oldFamilyBytes
    noteChange(of: record)
    chunkRevisions[chunk] = revision
    guard newest != slot else { return }
    unlink(Int32(slot))
    linkNewest(Int32(slot))
  }

  /// Replaces a widget's table with another one that has the same content.
  mutating func replaceContent(of slot: Int, with content: ContentTable?) {
    guard let record = slots[slot] else { return }
    let oldBytes = record.contentBytes
    record.shown.show(content)
    accountContent(of: record.ownerUID, growth: record.contentBytes - oldBytes)
  }

  /// Removes a record from its slot. Returns the record.
  @discardableResult
  mutating func remove(_ slot: Int, at revision: Revision) -> Record? {
    guard let record = slots[slot] else { return nil }
    unlink(Int32(slot))
    take(Int32(slot))
    if isPending(record) { pendingBytes -= record.costBytes }
    noteChange(of: record)
    let chunk = chunk(of: Int32(slot))
    if keepsInverses {
      pendingRows += isPending(record) ? 1 : 2
      inverses.append(.restore(slot: Int32(slot), record, chunk: chunkRevisions[chunk]))
    }
    chunkRevisions[chunk] = revision
    return record
  }

  /// Makes the next group store a record that does not change.
  mutating func storeAgain(_ slot: Int) {
    guard keepsInverses else { return }
    pendingRows += 1
    inverses.append(.storeAgain(slot: Int32(slot)))
  }

  /// Forgets that a key was removed from a record at a revision. Cannot be taken back.
  mutating func purge(
    _ key: String, of part: WidgetStore.Removal.Part, in slot: Int32, createdAt created: Revision,
    removedAt revision: Revision
  ) {
    assert(inverses.isEmpty, "a change could be taken back that the record would not survive")
    guard let record = slots[Int(slot)], record.createdRevision == created else { return }
    switch part {
    case .data: record.state.data.purge(key, tombstoneOf: revision)
    case .parameters: record.state.parameters.purge(key, tombstoneOf: revision)
    }
  }

  /// Evicts the cached content of all but some families, starting at a slot. Returns the slot at
  /// which to go on; nil at the end. Does at least a part of a chunk.
  mutating func evictContents(
    except kept: Set<Family>, from start: Int, until isOver: () -> Bool
  ) -> Int? {
    for slot in start..<max(start, slots.count) {
      let freed = slots[slot]?.shown.evictFamilies(except: kept)
      familyUsage.bytes -= freed?.bytes ?? 0
      // A reader that comes back must get the next change of an embed.
      if let freed, freed.hadEmbeds, let id = slots[slot]?.id { embeds.noteUnkeptContent(of: id) }
      let next = slot + 1
      if freed != nil || next % RecordTable.chunkSlotCount == 0, isOver() { return next }
    }
    return nil
  }

  // MARK: - Taking back

  /// A point to which `undo` can go back.
  var savepoint: Int { inverses.count }

  /// Whether an inverse since the savepoint takes back all changes of a record.
  private func hasInverse(_ record: Record) -> Bool {
    record.inverseNumber >= firstInverseNumber + savepointInForce
  }

  /// Whether any inverse takes back changes of a record.
  private func isPending(_ record: Record) -> Bool { record.inverseNumber >= firstInverseNumber }

  private mutating func append(_ inverse: Inverse, for record: Record) {
    record.inverseNumber = firstInverseNumber + inverses.count
    inverses.append(inverse)
  }

  /// Runs the inverses after a savepoint, newest first.
  mutating func undo(to savepoint: Int) {
    while inverses.count > savepoint, let inverse = inverses.popLast() {
      switch inverse {
      case .replace(let slot, let old, let chunk):
        unlink(slot)
        let current = slots[Int(slot)] ?? old
        slots[Int(slot)] = old
        account(for: old, in: slot, insteadOf: current.costBytes, current.position)
        pendingBytes += (isPending(old) ? old.costBytes : 0) - current.costBytes
        pendingRows -= isPending(old) ? 0 : 1
        accountContent(of: old.ownerUID, growth: old.contentBytes - current.contentBytes)
        familyUsage.bytes += old.familyBytes - current.familyBytes
        relink(slot)
        appoint(old, in: slot)
        noteChange(of: old)
        chunkRevisions[self.chunk(of: slot)] = chunk
      case .remove(let slot, let chunk):
        if let record = slots[Int(slot)] {
          (pendingBytes, pendingRows) = (pendingBytes - record.costBytes, pendingRows - 1)
          noteChange(of: record)
        }
        unlink(slot)
        take(slot)
        chunkRevisions[self.chunk(of: slot)] = chunk
      case .restore(let slot, let record, let chunk):
        freeSlots.removeLast()
        put(record, into: slot)
        if isPending(record) { pendingBytes += record.costBytes }
        pendingRows -= isPending(record) ? 1 : 2
        appoint(record, in: slot)
        noteChange(of: record)
        relink(slot)
        chunkRevisions[self.chunk(of: slot)] = chunk
      case .storeAgain: pendingRows -= 1
      }
    }
  }

  /// Drops the inverses of earlier changes.
  mutating func forgetInverses() {
    firstInverseNumber += inverses.count
    (pendingBytes, pendingRows) = (0, 0)
    inverses.removeAll(keepingCapacity: inverses.count < 256)
  }

  // MARK: - Indexes

  private func chunk(of slot: Int32) -> Int { Int(slot) / RecordTable.chunkSlotCount }

  private mutating func put(_ record: Record, into slot: Int32) {
    index[record.id] = slot
    order.insert(slot, at: record.position)
    usage[record.ownerUID, default: Usage()].widgets += 1
    usage[record.ownerUID, default: Usage()].bytes += record.costBytes
    accountContent(of: record.ownerUID, growth: record.contentBytes)
    familyUsage.bytes += record.familyBytes
    slots[Int(slot)] = record
  }

  private mutating func take(_ slot: Int32) {
    guard let record = slots[Int(slot)] else { return }
    index[record.id] = nil
    order.remove(slot, at: record.position)
    usage[record.ownerUID]?.widgets -= 1
    usage[record.ownerUID]?.bytes -= record.costBytes
    accountContent(of: record.ownerUID, growth: -record.contentBytes)
    familyUsage.bytes -= record.familyBytes
    if usage[record.ownerUID]?.widgets == 0 { usage[record.ownerUID] = nil }
    slots[Int(slot)] = nil
    freeSlots.append(slot)
    agenda.set(slot, to: nil)
    duties.set(slot, to: nil)
    activityAgenda.set(slot, to: nil)
  }

  /// Updates the indexes after a change of a record's cost and position.
  private mutating func account(
    for record: Record, in slot: Int32, insteadOf oldCost: Int, _ oldPosition: Int64
  ) {
    if record.costBytes != oldCost {
      usage[record.ownerUID, default: Usage()].bytes += record.costBytes - oldCost
    }
    if record.position != oldPosition {
      order.move(slot, from: oldPosition, to: record.position)
    }
  }

  /// Counts the growth of the content of a user's widgets.
  private mutating func accountContent(of owner: UInt32, growth: Int) {
    guard growth != 0 else { return }
    usage[owner, default: Usage()].contentBytes += growth
    contentGrowth[owner, default: 0] += growth
  }

  // MARK: - Embeds

  private func noteChange(of record: Record) {
    embeds.noteChange(of: record.id, hasEmbeds: record.shown.hasEmbeds)
  }

  /// Updates the embeds of a widget, without a change of its state. Returns whether that changed
  /// its content.
  mutating func resolveEmbeds(
    _ slot: Int, _ resolve: (Record, inout ContentTable, Family?) -> Bool
  ) -> Bool {
    guard let record = slots[slot] else { return false }
    let (oldBytes, oldFamilyBytes) = (record.contentBytes, record.familyBytes)
    let differs = record.shown.resolveEmbeds { resolve(record, &$0, $1) }
    accountContent(of: record.ownerUID, growth: record.contentBytes - oldBytes)
    familyUsage.bytes += record.familyBytes - oldFamilyBytes
    return differs
  }

  // MARK: - Appointments

  /// The next date at which a moment ends; nil for none.
  var nextDate: Timestamp? { agenda.firstDate }

  /// Removes the next widget whose moment ends from the agenda. Returns its slot. Its next change
  /// adds it again.
  mutating func popDue(at now: Timestamp) -> Int? { agenda.popDue(at: now).map { Int($0) } }

  /// The next date at which time changes an activity; nil for none.
  var nextActivityDate: Timestamp? { activityAgenda.firstDate }

  /// Removes the next activity that time changes from its agenda. Returns its slot. Its next change
  /// adds it again.
  mutating func popDueActivity(at now: Timestamp) -> Int? {
    activityAgenda.popDue(at: now).map { Int($0) }
  }

  /// Makes outdated moments due at once, so that `popDue` returns their widgets. A moment is
  /// outdated if the clock went back so far that it cannot be valid at `now`. O(all records).
  mutating func appointAhead(of now: Timestamp) {
    for (slot, record) in slots.enumerated() {
      guard let record, let moment = record.moment, moment.isOutdated(at: now) else { continue }
      record.state.moment = moment.dueAtOnce
      appoint(record, in: Int32(slot))
    }
  }

  /// Keeps a stale widget stale even if the clock is set back.
  mutating func stayStale(_ slot: Int) { slots[slot]?.state.moment?.stayStale() }

  /// The date of the next duty of a moment; nil for none.
  var nextDuty: Timestamp? { duties.firstDate }

  /// Puts a record's dates into the agendas, in place of its former ones.
  private mutating func appoint(_ record: Record, in slot: Int32) {
    let moment = record.moment
    agenda.set(slot, to: moment?.due)
    duties.set(slot, to: moment?.duty)
    activityAgenda.set(slot, to: record.activity?.due)
  }

  // MARK: - Links in order of revision

  private mutating func linkNewest(_ slot: Int32) {
    slots[Int(slot)]?.older = newest
    slots[Int(slot)]?.newer = -1
    if newest >= 0 { slots[Int(newest)]?.newer = slot } else { oldest = slot }
    newest = slot
  }

  private mutating func unlink(_ slot: Int32) {
    guard let record = slots[Int(slot)] else { return }
    if record.older >= 0 {
      slots[Int(record.older)]?.newer = record.newer
    } else {
      oldest = record.newer
    }
    if record.newer >= 0 {
      slots[Int(record.newer)]?.older = record.older
    } else {
      newest = record.older
    }
  }

  /// Puts a record back before its former older neighbour. Its newer neighbour can be another one
  /// than then, if that one has changed again.
  private mutating func relink(_ slot: Int32) {
    guard let record = slots[Int(slot)] else { return }
    let older = record.older
    record.newer = older >= 0 ? slots[Int(older)]?.newer ?? -1 : oldest
    if older >= 0 { slots[Int(older)]?.newer = slot } else { oldest = slot }
    if record.newer >= 0 { slots[Int(record.newer)]?.older = slot } else { newest = slot }
  }
}
