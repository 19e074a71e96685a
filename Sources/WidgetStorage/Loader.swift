import WidgetCore
import WidgetModel
import WidgetProto

/// Reads a database's rows into an image, and refuses rows that no log can have written.
struct Loader {
  let connection: DatabaseConnection
  let codec: WireCodec
  let saved: SavedState

  struct Loaded {
    var image: StoreImage
    /// Answers up to this number have expired.
    var expiredThrough: Int64
  }

  func load() throws(StorageError) -> Loaded {
    let requests = try loadRequests()
    var image = StoreImage(
      epoch: saved.epoch, revision: saved.revision, compactRevision: saved.compactRevision,
      eventSequenceCeiling: saved.eventSequenceCeiling, records: try loadRecords(),
      tombstones: try loadTombstones(), requests: requests.images, kinds: try loadKinds(),
      events: try loadEvents(), lostEvents: try loadLostEvents(),
      theme: try loadTheme())
    image.runningTime = saved.runningTime
    image.refreshBudgets = try loadBudgets()
    return Loaded(image: image, expiredThrough: requests.expiredThrough)
  }

  private func loadRecords() throws(StorageError) -> [RecordImage] {
    var records: [RecordImage] = []
    let rows = try Statement("SELECT id, body, checksum FROM widgets ORDER BY id", on: connection)
    while try rows.step() {
      let id = rows.text(0)
      try check(
        rows, RowChecksum("widgets", text: rows.bytes(0), blob: rows.blob(1)), 2,
        "table widgets, row '\(id)'")
      let stored = try decode(StoredWidget.self, rows.blob(1), what: "widget '\(id)'")
      guard stored.widget.id.rawValue == id, stored.widget.revision <= saved.revision else {
        throw corrupt("the row of widget '\(id)' has the data of another widget")
      }
      records.append(RecordImage(stored, compactRevision: saved.compactRevision))
    }
    return records
  }

  private func loadKinds() throws(StorageError) -> [RegisteredKind] {
    var kinds: [RegisteredKind] = []
    let rows = try Statement(
      "SELECT name, body, is_attended, checksum FROM kinds ORDER BY name", on: connection)
    while try rows.step() {
      let name = rows.text(0)
      try check(
        rows,
        RowChecksum("kinds", text: rows.bytes(0), blob: rows.blob(1)).adding(rows.number(2)), 3,
        "table kinds, row '\(name)'")
      var registered = try decode(RegisteredKind.self, rows.blob(1), what: "kind '\(name)'")
      guard registered.kind.name.rawValue == name, registered.revision <= saved.revision else {
        throw corrupt("the row of kind '\(name)' has the data of another kind")
      }
      registered.isAttended = rows.number(2) != 0
      kinds.append(registered)
    }
    return kinds
  }

  private func loadTheme() throws(StorageError) -> RevisedTheme {
    let rows = try Statement("SELECT body, checksum FROM theme WHERE name = ?1", on: connection)
    try rows.bind(SQLiteCommitLog.themeRow, at: 1)
    guard try rows.step() else { return RevisedTheme() }
    var checksum = RowChecksum("theme")
    checksum.add(SQLiteCommitLog.themeRow)
    checksum.add(rows.blob(0))
    try check(rows, checksum, 1, "table theme, row '\(SQLiteCommitLog.themeRow)'")
    let stored = try decode(StoredTheme.self, rows.blob(0), what: "the theme")
    guard stored.revision <= saved.revision else {
      throw corrupt("the theme is of revision \(stored.revision)")
    }
    return RevisedTheme(overrides: stored.values, revision: stored.revision)
  }

  private func loadEvents() throws(StorageError) -> [EventImage] {
    var images: [EventImage] = []
    let rows = try Statement(
      "SELECT sequence, kind, body, checksum FROM events ORDER BY sequence", on: connection)
    while try rows.step() {
      let sequence = UInt64(bitPattern: rows.number(0))
      try check(
        rows,
        RowChecksum("events", text: rows.bytes(1)).adding(rows.number(0)).adding(rows.blob(2)), 3,
        "table events, row \(sequence)")
      let event = try decode(Event.self, rows.blob(2), what: "event \(sequence)")
      guard event.sequence == sequence, sequence >= 1, sequence <= saved.eventSequenceCeiling,
        let kind = KindName(rows.text(1))
      else { throw corrupt("the row of event \(sequence) has the data of another event") }
      images.append(EventImage(kind: kind, event: event))
    }
    return images
  }

  private func loadLostEvents() throws(StorageError) -> [KindName: ClosedRange<UInt64>] {
    var ranges: [KindName: ClosedRange<UInt64>] = [:]
    let rows = try Statement("SELECT kind, first, last, checksum FROM lost_events", on: connection)
    while try rows.step() {
      try check(
        rows,
        RowChecksum("lost_events", text: rows.bytes(0)).adding(rows.number(1))
          .adding(rows.number(2)), 3, "table lost_events, row '\(rows.text(0))'")
      guard let kind = KindName(rows.text(0)), rows.number(1) > 0,
        rows.number(1) <= rows.number(2)
      else { throw corrupt("the range of lost events of '\(rows.text(0))' is invalid") }
      ranges[kind] = UInt64(rows.number(1))...UInt64(rows.number(2))
    }
    return ranges
  }

  private func loadBudgets() throws(StorageError) -> [RefreshBudgetImage] {
    var budgets: [RefreshBudgetImage] = []
    let rows = try Statement(
      "SELECT kind, left_thousandths, seconds, checksum FROM refresh_budgets ORDER BY kind",
      on: connection)
    while try rows.step() {
      try check(
        rows,
        RowChecksum("refresh_budgets", text: rows.bytes(0)).adding(rows.number(1))
          .adding(rows.number(2)), 3, "table refresh_budgets, row '\(rows.text(0))'")
      guard let kind = KindName(rows.text(0)), rows.number(1) >= 0 else {
        throw corrupt("the budget of '\(rows.text(0))' is invalid")
      }
      budgets.append(
        RefreshBudgetImage(
          kind: kind, leftThousandths: rows.number(1), seconds: rows.number(2)))
    }
    return budgets
  }

  private func loadTombstones() throws(StorageError) -> [TombstoneImage] {
    var tombstones: [TombstoneImage] = []
    let rows = try Statement(
      "SELECT revision, id, body, checksum FROM tombstones WHERE revision > ?1 ORDER BY revision, id",
      on: connection)
    try rows.bind(saved.compactRevision, at: 1)
    while try rows.step() {
      let revision = UInt64(bitPattern: rows.number(0))
      let id = rows.text(1)
      try check(
        rows,
        RowChecksum("tombstones", number: rows.number(0), text: rows.bytes(1)).adding(rows.blob(2)),
        3, "table tombstones, row '\(id)' of revision \(revision)")
      let stored = try decode(StoredTombstone.self, rows.blob(2), what: "tombstone '\(id)'")
      guard stored.id.rawValue == id, stored.revision == revision, revision <= saved.revision
      else { throw corrupt("the row of tombstone '\(id)' has the data of another tombstone") }
      tombstones.append(TombstoneImage(stored))
    }
    return tombstones
  }

  /// Answers, oldest first. If several have the same id, the last one.
  private func loadRequests() throws(StorageError) -> (
    images: [RequestImage], expiredThrough: Int64
  ) {
    var images: [RequestImage] = []
    var expiredThrough: Int64 = 0
    let rows = try Statement(
      """
      SELECT sequence, uid, request_id, fingerprint, response, expires_seconds, expires_nanoseconds,
        checksum FROM requests ORDER BY sequence
      """, on: connection)
    while try rows.step() {
      try check(
        rows,
        RowChecksum("requests").adding(rows.number(0)).adding(rows.number(1))
          .adding(rows.bytes(2)).adding(rows.number(3)).adding(rows.blob(4))
          .adding(rows.number(5)).adding(rows.number(6)), 7,
        "table requests, row \(rows.number(0))")
      guard let uid = UInt32(exactly: rows.number(1)),
        let expires = RunningTime(seconds: rows.number(5), nanoseconds: rows.number(6))
      else { throw corrupt("answer \(rows.number(0)) is invalid") }
      guard expires > saved.runningTime else {
        if images.isEmpty { expiredThrough = rows.number(0) }
        continue
      }
      images.append(
        RequestImage(
          uid: uid, requestID: rows.text(2), fingerprint: UInt64(bitPattern: rows.number(3)),
          response: Array(rows.blob(4)), expires: expires))
    }
    return (newestOfEach(images), expiredThrough)
  }

  private func newestOfEach(_ images: [RequestImage]) -> [RequestImage] {
    struct Key: Hashable {
      let uid: UInt32
      let requestID: String
    }
    var seen: Set<Key> = []
    let newestFirst = images.reversed().filter {
      seen.insert(Key(uid: $0.uid, requestID: $0.requestID)).inserted
    }
    return newestFirst.reversed()
  }

  /// Refuses a row if its bytes differ from the written ones.
  private func check(
    _ rows: Statement, _ checksum: RowChecksum, _ column: Int32, _ row: @autoclosure () -> String
  ) throws(StorageError) {
    guard checksum.value == rows.number(column) else {
      throw corrupt("\(row()): its checksum is wrong")
    }
  }

  private func decode<M: WireMessage>(
    _ type: M.Type, _ bytes: UnsafeRawBufferPointer, what: String
  ) throws(StorageError) -> M {
    do throws(WireError) { return try codec.decode(type, from: bytes) } catch {
      throw corrupt("\(what): \(error)")
    }
  }

  private func corrupt(_ detail: String) -> StorageError {
    .corrupt(path: connection.path, detail: detail)
  }
}
