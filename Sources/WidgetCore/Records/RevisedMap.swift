import WidgetModel

/// A map whose entries remember the revision that last changed them.
///
/// Entries live in stable slots, linked from newest to oldest change. So reading the changes since
/// a revision costs O(changes · log(changes)) and not O(entries). `sorted` lists the slots by key:
/// look-up is O(log n), and adding or purging a key moves O(n) times four bytes.
///
/// A removed key leaves a tombstone (value nil) until it is purged, so that late readers get the
/// removal. `remove` leaves none.
///
/// Invariants: `sorted` holds every slot once, in key order; the links hold every slot once, in
/// descending order of revision; `liveCount` counts the slots with a value.
struct RevisedMap {
  struct Slot {
    let key: String
    var value: Value?
    var revision: Revision
    var older: Int32
    var newer: Int32

    /// Makes the slot the newest.
    mutating func become(_ value: Value?, at revision: Revision, newerThan older: Int32) {
      (self.value, self.revision) = (value, revision)
      (self.older, newer) = (older, -1)
    }
  }

  private(set) var slots = RevertibleArray<Slot>()
  private(set) var sorted: [Int32] = []
  private(set) var newest: Int32 = -1
  private(set) var oldest: Int32 = -1
  private(set) var liveCount = 0
  /// A revision at or after the last one that added or removed a key.
  private(set) var keysRevision: Revision = 0

  init() {}

  /// Rebuilds a map from stored entries. If several entries have the same key, the first one
  /// counts.
  ///
  /// - Parameter keysRevision: 0 if unknown; the map then uses the revision of its last change.
  init(_ entries: [RevisedEntry], keysRevision known: Revision = 0) {
    for entry in entries.sorted(by: { $0.revision < $1.revision }) {
      guard !position(of: entry.key).found else { continue }
      append(key: entry.key, value: entry.value, revision: entry.revision)
    }
    if known > 0 { keysRevision = known }
  }

  /// The value of a key; nil if the key is missing.
  subscript(key: String) -> Value? {
    let (index, found) = position(of: key)
    return found ? slots[Int(sorted[index])].value : nil
  }

  /// Sets a key. Returns false, and changes nothing, if it already has an equal value.
  mutating func set(_ key: String, to value: Value, at revision: Revision) -> Bool {
    let (index, found) = position(of: key)
    guard found else {
      append(key: key, value: value, revision: revision, at: index)
      return true
    }
    let slot = sorted[index]
    if let old = slots[Int(slot)].value {
      if old == value { return false }
    } else {
      liveCount += 1
      keysRevision = revision
    }
    change(slot, to: value, at: revision)
    return true
  }

  /// Removes a key, and leaves a tombstone. Returns false if the key is missing.
  mutating func unset(_ key: String, at revision: Revision) -> Bool {
    let (index, found) = position(of: key)
    guard found, slots[Int(sorted[index])].value != nil else { return false }
    liveCount -= 1
    keysRevision = revision
    change(sorted[index], to: nil, at: revision)
    return true
  }

  /// Forgets the tombstone that `revision` left for a key, if it is still one.
  mutating func purge(_ key: String, tombstoneOf revision: Revision) {
    let (index, found) = position(of: key)
    guard found else { return }
    let slot = sorted[index]
    guard slots[Int(slot)].value == nil, slots[Int(slot)].revision == revision else { return }
    drop(slot, at: index)
  }

  /// Removes a key without a tombstone. Late readers do not get the removal, so they must get the
  /// whole map.
  mutating func remove(_ key: String, at revision: Revision) {
    let (index, found) = position(of: key)
    guard found, slots[Int(sorted[index])].value != nil else { return }
    liveCount -= 1
    keysRevision = revision
    drop(sorted[index], at: index)
  }

  /// The live keys, sorted.
  var keys: [String] { sorted.compactMap { live($0)?.key } }

  /// The live entries.
  var map: ValueMap {
    var entries: [ValueMap.Entry] = []
    entries.reserveCapacity(liveCount)
    for slot in sorted {
      if let entry = live(slot) { entries.append(entry) }
    }
    return ValueMap(entries)
  }

  /// The changed and removed entries after `cursor`. O(changed · log(changed)).
  func changes(since cursor: Revision) -> (set: ValueMap, unset: [String]) {
    var set: [ValueMap.Entry] = []
    var unset: [String] = []
    var slot = newest
    while slot >= 0, slots[Int(slot)].revision > cursor {
      let entry = slots[Int(slot)]
      if let value = entry.value {
        set.append(.init(key: entry.key, value: value))
      } else {
        unset.append(entry.key)
      }
      slot = entry.older
    }
    if unset.count > 1 { unset.sort { $0.precedesByBytes($1) } }
    return (ValueMap(set), unset)
  }

  /// The keys that were set or removed after `cursor`, the latest first. O(changed).
  func changedKeys(since cursor: Revision) -> [String] {
    var keys: [String] = []
    var slot = newest
    while slot >= 0, slots[Int(slot)].revision > cursor {
      keys.append(slots[Int(slot)].key)
      slot = slots[Int(slot)].older
    }
    return keys
  }

  /// Whether anything changed after `cursor`, also by `remove`. O(1).
  func hasChanges(since cursor: Revision) -> Bool {
    keysRevision > cursor || (newest >= 0 && slots[Int(newest)].revision > cursor)
  }

  /// Every entry with its revision, tombstones included, by key.
  var revisedEntries: [RevisedEntry] {
    sorted.map { slot in
      let entry = slots[Int(slot)]
      return RevisedEntry(key: entry.key, value: entry.value, revision: entry.revision)
    }
  }

  private func live(_ slot: Int32) -> ValueMap.Entry? {
    slots[Int(slot)].value.map { .init(key: slots[Int(slot)].key, value: $0) }
  }

  private func position(of key: String) -> (index: Int, found: Bool) {
    var low = 0
    var high = sorted.count
    while low < high {
      let middle = (low + high) / 2
      if slots[Int(sorted[middle])].key.precedesByBytes(key) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return (low, low < sorted.count && slots[Int(sorted[low])].key.hasSameBytes(as: key))
  }

  private mutating func append(key: String, value: Value?, revision: Revision) {
    append(key: key, value: value, revision: revision, at: position(of: key).index)
  }

  private mutating func append(key: String, value: Value?, revision: Revision, at index: Int) {
    let slot = Int32(slots.count)
    slots.append(Slot(key: key, value: value, revision: revision, older: newest, newer: -1))
    sorted.insert(slot, at: index)
    becomeNewest(slot)
    keysRevision = revision
    if value != nil { liveCount += 1 }
  }

  private mutating func change(_ slot: Int32, to value: Value?, at revision: Revision) {
    let isNewest = slot == newest
    if !isNewest { unlink(slot) }
    let older = isNewest ? slots[Int(slot)].older : newest
    // Each write to a slot has a cost, so the method writes the slot only once.
    slots[Int(slot)].become(value, at: revision, newerThan: older)
    if !isNewest { becomeNewest(slot) }
  }

  /// Puts a slot at the beginning of the list, before the former newest one.
  private mutating func becomeNewest(_ slot: Int32) {
    if newest >= 0 { slots[Int(newest)].newer = slot } else { oldest = slot }
    newest = slot
  }

  private mutating func unlink(_ slot: Int32) {
    let (older, newer) = (slots[Int(slot)].older, slots[Int(slot)].newer)
    if older >= 0 { slots[Int(older)].newer = newer } else { oldest = newer }
    if newer >= 0 { slots[Int(newer)].older = older } else { newest = older }
  }

  /// Removes a slot, which is at an index of `sorted`.
  private mutating func drop(_ slot: Int32, at index: Int) {
    unlink(slot)
    sorted.remove(at: index)
    let last = Int32(slots.count - 1)
    if slot != last { relocate(last, to: slot) }
    slots.removeLast()
  }

  /// Moves a linked slot to the place of an unlinked one.
  private mutating func relocate(_ from: Int32, to slot: Int32) {
    let moved = slots[Int(from)]
    slots[Int(slot)] = moved
    if moved.older >= 0 { slots[Int(moved.older)].newer = slot } else { oldest = slot }
    if moved.newer >= 0 { slots[Int(moved.newer)].older = slot } else { newest = slot }
    let (index, found) = position(of: moved.key)
    if found { sorted[index] = slot }
  }
}
