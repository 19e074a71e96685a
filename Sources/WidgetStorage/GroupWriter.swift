import CSQLite
import WidgetCore
import WidgetModel
import WidgetProto

/// Writes groups to the database: each group is one transaction.
///
/// Owns the prepared statements, the memory for encoded rows, and the window of kept answers.
///
/// Invariant: between calls no transaction is open, unless a rollback failed.
final class GroupWriter {
  private let path: String
  private let connection: DatabaseConnection
  private let codec: WireCodec
  private let statements: Statements
  private var scratch = ScratchBuffer()
  private var requests: RequestWindow
  /// Answers up to this number are no longer in the database.
  private var requestsDropped: Int64

  init(
    path: String, connection: DatabaseConnection, codec: WireCodec, requests: RequestWindow
  ) throws(StorageError) {
    self.path = path
    self.connection = connection
    self.codec = codec
    self.requests = requests
    requestsDropped = requests.floor
    statements = try Statements(connection)
  }

  /// Answers up to this number have expired. The next group with answers removes them.
  func passRequests(through number: Int64) { requests.pass(through: number) }

  /// Writes a group in one transaction.
  ///
  /// - Parameters:
  ///   - widgets: Further widgets of the group.
  ///   - saved: The stored state before the group.
  func store(
    _ group: CommitGroup, _ widgets: PendingWidgets, after saved: SavedState
  ) throws(StorageError) {
    // A transaction is open only if an earlier rollback failed.
    if connection.isInTransaction { try statements.rollback.run() }
    try statements.begin.run()
    do throws(StorageError) {
      try write(group, widgets, after: saved)
      try statements.commit.run()
    } catch {
      // SQLite rolls back by itself after some errors. If this fails, the next append or close
      // retries it. The first error is the one to report.
      if connection.isInTransaction { try? statements.rollback.run() }
      throw error
    }
    keep(group.requests)
    scratch.shrink()
  }

  /// The answers of a group are durable.
  private func keep(_ images: [RequestImage]) {
    guard !images.isEmpty else { return }
    requestsDropped = requests.floor
    for image in images { requests.append(bytes: image.storedBytes) }
  }

  /// The number of rows from which they are written in the order of their keys.
  ///
  /// The table of widgets is one tree. In another order, each row of a large table can need another
  /// page. If the pages do not fit into SQLite's cache, SQLite writes and reads a page for each row.
  /// In the order of keys, SQLite writes each page once. The pages of fewer rows fit into the cache.
  static let orderedRowsMin = 1_024

  private func write(
    _ group: CommitGroup, _ widgets: PendingWidgets, after saved: SavedState
  ) throws(StorageError) {
    var deletions = group.deletions
    var widgets = widgets
    if deletions.count >= GroupWriter.orderedRowsMin {
      deletions.sort { $0.rawValue.precedesByBytes($1.rawValue) }
    }
    if widgets.count >= GroupWriter.orderedRowsMin { widgets.sortByID() }
    for id in deletions {
      try statements.deleteWidget.bind(id.rawValue, at: 1)
      try statements.deleteWidget.run()
    }
    for record in group.upserts { try write(record) }
    for index in 0..<widgets.count { try write(widgets[index]) }
    for name in group.kindDeletions {
      try statements.deleteKind.bind(name.rawValue, at: 1)
      try statements.deleteKind.run()
    }
    for registered in group.kindUpserts {
      try statements.upsertKind.bind(registered.isAttended ? Int64(1) : 0, at: 3)
      try writeRow(
        registered, key: registered.kind.name.rawValue, at: (1, 2), statements.upsertKind,
        checksum: (
          4,
          { name, body in
            RowChecksum("kinds", text: name, blob: body).adding(registered.isAttended ? 1 : 0)
          }
        ))
    }
    if let theme = group.theme {
      let stored = StoredTheme(values: theme.overrides, revision: theme.revision)
      // Rare, so the statement is not kept.
      let upsert = try Statement(
        "INSERT OR REPLACE INTO theme (name, body, checksum) VALUES (?1, ?2, ?3)", on: connection)
      try writeRow(
        stored, key: SQLiteCommitLog.themeRow, at: (1, 2), upsert,
        checksum: (3, { RowChecksum("theme", text: $0, blob: $1) }))
    }
    try writeBudgets(of: group)
    for tombstone in group.tombstones {
      try statements.insertTombstone.bind(tombstone.revision, at: 1)
      try writeRow(
        StoredTombstone(tombstone), key: tombstone.id.rawValue, at: (2, 3),
        statements.insertTombstone,
        checksum: (
          4,
          { id, body in
            RowChecksum("tombstones", number: Int64(bitPattern: tombstone.revision), text: id)
              .adding(body)
          }
        ))
    }
    if group.compactRevision > saved.compactRevision {
      try statements.dropTombstones.bind(group.compactRevision, at: 1)
      try statements.dropTombstones.run()
    }
    try writeEvents(of: group)
    if !group.requests.isEmpty { try write(group.requests) }
    var next = saved
    next.accept(group)
    try statements.updateState.bind(next.revision, at: 1)
    try statements.updateState.bind(next.compactRevision, at: 2)
    try statements.updateState.bind(next.eventSequenceCeiling, at: 3)
    try statements.updateState.bind(next.groups, at: 4)
    try statements.updateState.bind(next.runningTime.storedNanoseconds, at: 5)
    try statements.updateState.bind(next.checksum.value, at: 6)
    try statements.updateState.run()
  }

  private func write(_ record: RecordImage) throws(StorageError) {
    try writeRow(
      StoredWidget(record), key: record.widget.id.rawValue, at: (1, 2), statements.upsertWidget,
      checksum: (3, { RowChecksum("widgets", text: $0, blob: $1) }))
  }

  private func writeBudgets(of group: CommitGroup) throws(StorageError) {
    // Rare, so the statements are not kept.
    if !group.refreshBudgetDeletions.isEmpty {
      let delete = try Statement("DELETE FROM refresh_budgets WHERE kind = ?1", on: connection)
      for kind in group.refreshBudgetDeletions {
        try delete.bind(kind.rawValue, at: 1)
        try delete.run()
      }
    }
    guard !group.refreshBudgets.isEmpty else { return }
    let upsert = try Statement(
      """
      INSERT OR REPLACE INTO refresh_budgets (kind, left_thousandths, seconds, checksum)
        VALUES (?1, ?2, ?3, ?4)
      """, on: connection)
    for budget in group.refreshBudgets {
      try upsert.bind(budget.kind.rawValue, at: 1)
      try upsert.bind(budget.leftThousandths, at: 2)
      try upsert.bind(budget.seconds, at: 3)
      var checksum = RowChecksum("refresh_budgets")
      checksum.add(budget.kind.rawValue)
      checksum.add(budget.leftThousandths)
      checksum.add(budget.seconds)
      try upsert.bind(checksum.value, at: 4)
      try upsert.run()
    }
  }

  private func writeEvents(of group: CommitGroup) throws(StorageError) {
    for trim in group.eventTrims {
      try statements.dropEvents.bind(trim.kind.rawValue, at: 1)
      try statements.dropEvents.bind(trim.before, at: 2)
      try statements.dropEvents.run()
      if let lost = trim.lost {
        try statements.upsertLoss.bind(trim.kind.rawValue, at: 1)
        try statements.upsertLoss.bind(lost.lowerBound, at: 2)
        try statements.upsertLoss.bind(lost.upperBound, at: 3)
        var checksum = RowChecksum("lost_events")
        checksum.add(trim.kind.rawValue)
        checksum.add(lost.lowerBound)
        checksum.add(lost.upperBound)
        try statements.upsertLoss.bind(checksum.value, at: 4)
        try statements.upsertLoss.run()
      } else {
        try statements.dropLoss.bind(trim.kind.rawValue, at: 1)
        try statements.dropLoss.run()
      }
    }
    for image in group.events {
      try statements.insertEvent.bind(image.event.sequence, at: 2)
      try writeRow(
        image.event, key: image.kind.rawValue, at: (1, 3), statements.insertEvent,
        checksum: (
          4,
          { kind, body in
            RowChecksum("events", text: kind)
              .adding(Int64(bitPattern: image.event.sequence)).adding(body)
          }
        ))
    }
  }

  /// Runs a statement with a key and an encoded message, both bound without a copy.
  private func writeRow<M: WireMessage>(
    _ message: M, key: String, at columns: (Int32, Int32), _ statement: Statement,
    checksum: (
      column: Int32,
      of: (_ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) -> RowChecksum
    )
  ) throws(StorageError) {
    let keyCount = key.utf8.count
    let row: UnsafeMutableRawBufferPointer
    do throws(WireError) {
      row = try codec.withEncoded(message) { packed in
        let row = scratch.take(keyCount + packed.byteCount)
        row.copyBytes(from: key.utf8)
        if let start = row.baseAddress { packed.pack(into: start + keyCount) }
        return row
      }
    } catch { throw .unrepresentable(path: path, detail: "'\(key)': \(error)") }
    let keyBytes = UnsafeRawBufferPointer(rebasing: row[..<keyCount])
    let body = UnsafeRawBufferPointer(rebasing: row[keyCount...])
    try statement.bindText(keyBytes, at: columns.0)
    try statement.bindBlob(body, at: columns.1)
    try statement.bind(checksum.of(keyBytes, body).value, at: checksum.column)
    try statement.run()
  }

  private func write(_ images: [RequestImage]) throws(StorageError) {
    if requests.floor > requestsDropped {
      try statements.dropRequests.bind(requests.floor, at: 1)
      try statements.dropRequests.run()
    }
    let insert = statements.insertRequest
    for (sequence, image) in zip(requests.next..., images) {
      let expires = image.expires.stored
      try insert.bind(sequence, at: 1)
      try insert.bind(Int64(image.uid), at: 2)
      try insert.bind(image.requestID, at: 3)
      try insert.bind(image.fingerprint, at: 4)
      try insert.bind(expires.seconds, at: 6)
      try insert.bind(expires.nanoseconds, at: 7)
      let failure: StorageError? = image.response.withUnsafeBytes { response in
        do throws(StorageError) {
          try insert.bindBlob(response, at: 5)
          var checksum = RowChecksum("requests")
          checksum.add(sequence)
          checksum.add(Int64(image.uid))
          checksum.add(image.requestID)
          checksum.add(image.fingerprint)
          checksum.add(response)
          checksum.add(expires.seconds)
          checksum.add(expires.nanoseconds)
          try insert.bind(checksum.value, at: 8)
          try insert.run()
          return nil
        } catch { return error }
      }
      if let failure { throw failure }
    }
  }
}

extension RequestImage {
  /// Its size against `requestBytesKeptMax`, which is never more than its size in the store.
  var storedBytes: Int { requestID.utf8.count + response.count }
}
