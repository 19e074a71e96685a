import DequeModule
import WidgetModel

@testable import WidgetCore

// The invariants between any two commands, after any history. Each check returns the mistakes as
// text. An empty list means a sound store.

extension WidgetStore {
  func checkInvariants() -> [String] {
    var violations: [String] = []
    func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
      if !holds { violations.append(what()) }
    }
    violations += records.checkInvariants()
    expect(
      records.chunkRevisions.allSatisfy { $0 <= revision }, "a chunk is newer than the store")
    checkTombstones(expect)
    for record in records.slots.compactMap({ $0 }) {
      expect(record.revision <= revision, "\(record.id) is newer than the store")
      expect(record.createdRevision <= record.revision, "\(record.id) is older than itself")
      expect(record.costBytes == record.state.cost, "\(record.id) has another cost")
      expect(
        record.expressionBytes == expressionBytes(of: record)
          || record.expressionBytes == 0 && records.embeds.restored.contains(record.id),
        "\(record.id) counts another expression")
      for part in [
        record.labelsRevision, record.presenceRevision, record.positionRevision,
        record.statusRevision, record.transitionRevision,
      ] {
        expect(part <= record.revision, "a part of \(record.id) is newer than it")
      }
      violations += checkContent(of: record)
      for map in [record.data, record.parameters] {
        violations += map.checkInvariants().map { "\(record.id): \($0)" }
        expect(!map.hasChanges(since: record.revision), "a key of \(record.id) is newer than it")
      }
    }
    violations += events.checkInvariants() + ledger.checkInvariants()
    violations += unacknowledged.checkInvariants()
    for kind in unacknowledged.queues.keys {
      expect(registeredKinds[kind] != nil, "events of \(kind) are kept, and nobody gets them")
    }
    expect(events.lastSequence <= eventSequenceCeiling, "an event is beyond the ceiling")
    expect(compactRevision <= revision, "compacted beyond the store's revision")
    return violations
  }

  /// The content of a widget must follow from its state, after any history.
  private func checkContent(of record: Record) -> [String] {
    let program = contents.program(of: record)
    if record.isPlain != (kind(record.kind) == nil) {
      return ["\(record.id) is plain though its kind is registered, or the other way round"]
    }
    guard let program, let table = record.content?.table else {
      return program == nil && record.content == nil
        ? [] : ["\(record.id) has content without a template, or none with one"]
    }
    var violations = table.checkInvariants()
    var fresh = ContentTable(
      program, of: record, limits: limits, knowing: table.failureTimes)
    _ = embedSource.resolve(&fresh, of: record, as: record.family)
    // Until the check of embeds, an embed may show the former content.
    if !needsSettling, table.content != fresh.content {
      violations.append("content is not what the state says")
    }
    if table.change(since: record.revision) != nil { violations.append("a node is newer than it") }
    for kept in record.familyContents {
      let program = ContentMaker.program(of: record.kind, for: kept.family, in: schemas)
      let fresh = program.map {
        var table = ContentTable(
          $0, of: record, as: kept.family, limits: limits,
          knowing: kept.content?.table.failureTimes ?? FailureTimes())
        _ = embedSource.resolve(&table, of: record, as: kept.family)
        return table.content
      }
      if !needsSettling, kept.content?.table.content != fresh {
        violations.append("\(kept.family) is not what the state says")
      }
      violations += kept.content?.table.checkInvariants() ?? []
    }
    return violations.map { "\(record.id): \($0)" }
  }

  /// Every removed key must be among the removals, so that it can be forgotten later.
  private func checkTombstones(_ expect: (Bool, @autoclosure () -> String) -> Void) {
    var keys: Set<String> = []
    var last = compactRevision
    for (index, removal) in tombstones.map({ $0 }).enumerated() {
      if index < forgottenCount {
        expect(removal.revision <= compactRevision, "a forgotten removal is needed")
      } else {
        expect(removal.revision > compactRevision, "a removal is older than the compact revision")
        expect(removal.revision >= last, "removals are out of order")
        last = removal.revision
      }
      expect(removal.revision <= revision, "a removal is newer than the store")
      if case .key(let key, let part, let slot, _) = removal.what {
        keys.insert("\(slot) \(part) \(removal.revision) \(Array(key.utf8))")
      }
    }
    for slot in records.indices {
      guard let record = records[slot] else { continue }
      for (part, map) in [(Removal.Part.data, record.data), (.parameters, record.parameters)] {
        for entry in map.revisedEntries where entry.value == nil {
          expect(
            keys.contains("\(slot) \(part) \(entry.revision) \(Array(entry.key.utf8))"),
            "nothing will forget the removed key \(entry.key) of \(record.id)")
        }
      }
    }
  }
}

extension RecordTable {
  /// Compares the derived parts of the table with the same parts made from its records.
  func checkInvariants() -> [String] {
    var violations: [String] = []
    func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
      if !holds { violations.append(what()) }
    }
    let live = indices.filter { self[$0] != nil }
    checkSlots(live, expect)
    checkOrder(live, expect)
    checkLinks(live, expect)
    checkUsage(live, expect)
    checkPending(expect)
    checkAgendas(live, expect)
    expect(
      familyUsage.bytes == live.reduce(0) { $0 + (self[$1]?.familyBytes ?? 0) },
      "kept contents of other families have other bytes than \(familyUsage.bytes)")
    return violations
  }

  private func checkSlots(_ live: [Int], _ expect: (Bool, @autoclosure () -> String) -> Void) {
    expect(count == live.count, "the index counts \(count) of \(live.count) records")
    for slot in live {
      guard let record = self[slot] else { continue }
      expect(index[record.id] == Int32(slot), "\(record.id) is not where the index says")
    }
    expect(Set(freeSlots).count == freeSlots.count, "a slot is free twice")
    expect(freeSlots.count + live.count == indices.count, "a slot is neither free nor used")
    for slot in freeSlots { expect(self[Int(slot)] == nil, "slot \(slot) is free and used") }
    expect(
      chunkRevisions.count * RecordTable.chunkSlotCount >= indices.count, "a slot has no chunk")
    for slot in live {
      guard let record = self[slot] else { continue }
      expect(
        chunkRevisions[slot / RecordTable.chunkSlotCount] >= record.revision,
        "the chunk of \(record.id) is older than it")
    }
  }

  private func checkOrder(_ live: [Int], _ expect: (Bool, @autoclosure () -> String) -> Void) {
    expect(order.entries.map { Int($0.slot) }.sorted() == live, "the order lists other records")
    for (a, b) in zip(order.entries, order.entries.dropFirst()) {
      expect(a.position < b.position, "positions \(a.position) and \(b.position) are out of order")
    }
    for entry in order.entries {
      expect(
        self[Int(entry.slot)]?.position == entry.position,
        "slot \(entry.slot) is not at the position that the order says")
    }
  }

  private func checkLinks(_ live: [Int], _ expect: (Bool, @autoclosure () -> String) -> Void) {
    var seen: [Int] = []
    var newer: Int32 = -1
    var slot = newest
    while slot >= 0, seen.count <= live.count, let record = self[Int(slot)] {
      seen.append(Int(slot))
      expect(record.newer == newer, "\(record.id) links to another newer record")
      if newer >= 0, let newerRecord = self[Int(newer)] {
        expect(newerRecord.revision >= record.revision, "\(record.id) is linked too late")
      }
      (newer, slot) = (slot, record.older)
    }
    expect(slot == -1, "the links lead to slot \(slot)")
    expect(newer == oldest, "the oldest record is another")
    expect(seen.sorted() == live, "the links do not hold every record once")
  }

  private func checkUsage(_ live: [Int], _ expect: (Bool, @autoclosure () -> String) -> Void) {
    var sums: [UInt32: [Int]] = [:]
    for record in slots.compactMap({ $0 }) {
      let old = sums[record.ownerUID] ?? [0, 0, 0]
      sums[record.ownerUID] = [
        old[0] + 1, old[1] + record.costBytes,
        old[2] + (record.content?.table.storedBytes ?? 0) + momentBytes(of: record),
      ]
    }
    let kept = usage.mapValues { [$0.widgets, $0.bytes, $0.contentBytes] }
    expect(kept == sums, "usage is \(kept) and should be \(sums)")
  }

  private func checkAgendas(_ live: [Int], _ expect: (Bool, @autoclosure () -> String) -> Void) {
    let agendas: [(String, Agenda, (Record) -> Timestamp?)] = [
      ("moments", agenda, { $0.moment?.due }), ("duties", duties, { $0.moment?.duty }),
      ("activities", activityAgenda, { $0.activity?.due }),
    ]
    for (name, agenda, due) in agendas {
      let dates = live.compactMap { slot in
        self[slot].flatMap(due).map { (slot: Int32(slot), date: $0) }
      }
      expect(agenda.count == dates.count, "\(agenda.count) dates of \(dates.count) \(name)")
      for (slot, date) in dates {
        expect(agenda.date(of: slot) == date, "slot \(slot) has another date in the \(name)")
      }
      expect(
        agenda.firstDate == dates.map { $0.date }.min(), "another date is the first of the \(name)")
    }
  }

  /// The bytes of a moment, counted again.
  private func momentBytes(of record: Record) -> Int {
    guard let moment = record.moment else { return 0 }
    var made = moment.entries
    if made.isEmpty, record.timeline == nil, let current = moment.status.current {
      made = [current]
    }
    return made.reduce(moment.status.problem.utf8.count) { $0 + $1.costBytes }
  }

  private func checkPending(_ expect: (Bool, @autoclosure () -> String) -> Void) {
    var changed: Set<Int> = []
    var rows = 0
    for inverse in inverses {
      switch inverse {
      case .replace(let slot, _, _), .remove(let slot, _): changed.insert(Int(slot))
      case .restore: rows += 2
      case .storeAgain: rows += 1
      }
    }
    let records = changed.compactMap { self[$0] }
    let sum = records.reduce(0) { $0 + $1.costBytes }
    expect(pendingBytes == sum, "pendingBytes is \(pendingBytes) and should be \(sum)")
    rows += records.count
    expect(pendingRows == rows, "pendingRows is \(pendingRows) and should be \(rows)")
  }
}

extension RevisedMap {
  func checkInvariants() -> [String] {
    var violations: [String] = []
    if sorted.map(Int.init).sorted() != Array(slots.indices) {
      violations.append("`sorted` does not hold every slot once")
    }
    for (a, b) in zip(sorted, sorted.dropFirst())
    where !slots[Int(a)].key.precedesByBytes(slots[Int(b)].key) {
      violations.append("keys are out of order")
    }
    if slots.count(where: { $0.value != nil }) != liveCount {
      violations.append("liveCount is \(liveCount)")
    }
    var seen = 0
    var newer: Int32 = -1
    var slot = newest
    while slot >= 0, seen <= slots.count {
      let entry = slots[Int(slot)]
      if entry.newer != newer { violations.append("\(entry.key) links to another newer key") }
      if newer >= 0, slots[Int(newer)].revision < entry.revision {
        violations.append("\(entry.key) is linked too late")
      }
      seen += 1
      (newer, slot) = (slot, entry.older)
    }
    if seen != slots.count || newer != oldest {
      violations.append("the links do not hold every key once")
    }
    return violations
  }
}

extension EventRing {
  func checkInvariants() -> [String] {
    var violations: [String] = []
    let sequences = entries.map(\.event.sequence)
    let first = lastSequence + 1 - UInt64(sequences.count)
    if !sequences.elementsEqual(first..<(lastSequence + 1)) {
      violations.append("events \(sequences) do not end at \(lastSequence)")
    }
    if bytes != entries.reduce(0, { $0 + $1.costBytes }) {
      violations.append("events have another cost")
    }
    return violations
  }
}

extension UnacknowledgedEvents {
  func checkInvariants() -> [String] {
    var violations: [String] = []
    for (kind, queue) in queues {
      let sequences = queue.entries.map(\.event.sequence)
      if sequences != sequences.sorted() || Set(sequences).count != sequences.count {
        violations.append("events of \(kind) are out of order: \(sequences)")
      }
      if queue.isEmpty { violations.append("there is an empty queue of \(kind)") }
    }
    let all = queues.values.flatMap(\.entries)
    if count != all.count || bytes != all.reduce(0, { $0 + $1.costBytes }) {
      violations.append("\(count) events with \(bytes) bytes are miscounted")
    }
    let places = order.map(\.sequence)
    if places != places.sorted() || Set(places).count != places.count {
      violations.append("the places of events are out of order: \(places)")
    }
    for (kind, queue) in queues {
      let known = Set(order.filter { $0.kind == kind }.map(\.sequence))
      for entry in queue.entries where !known.contains(entry.event.sequence) {
        violations.append("the place of event \(entry.event.sequence) of \(kind) is missing")
      }
    }
    return violations
  }
}

extension RequestLedger {
  func checkInvariants() -> [String] {
    var violations: [String] = []
    let kept = queue.compactMap { $0 }
    var last: [Key: RequestImage] = [:]
    for image in kept { last[image.key] = image }
    if last != answers { violations.append("the answers are not the last ones of the queue") }
    var costs = UserShares()
    for image in kept { costs.add(image.costBytes, of: image.uid) }
    if shares != costs { violations.append("answers have another cost") }
    let deadlines = kept.map(\.expires)
    if deadlines != deadlines.sorted() { violations.append("answers expire out of order") }
    var places: [UInt32: [Int]] = [:]
    for (place, image) in queue.enumerated() {
      if let image { places[image.uid, default: []].append(firstNumber + place) }
    }
    if numbers.mapValues({ Array($0) }) != places { violations.append("answers are misnumbered") }
    if let first = queue.first, first == nil { violations.append("a hole is the first answer") }
    return violations
  }
}
