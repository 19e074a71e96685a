import CSQLite
import Glibc
import WidgetBundleInstaller
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetStorage

/// Archives: no archive leaves files in the folder for temporary files, or creates files outside
/// it. scripts/fuzz makes `TMPDIR` an empty folder, and names it again in `WIDGETD_FUZZ_SCRATCH`.
func fuzzArchives(_ input: UnsafeRawBufferPointer) {
  do throws(BundleInstallerError) {
    _ = try installer.read(bytes: Array(input), name: "a.archive")
  } catch {
    require(!"\(error)".isEmpty, "a refusal without words")
  }
  let left = temporaryFolder.map(names(in:)) ?? []
  require(left.isEmpty, "\(left) is left")
}

private let installer = BundleInstaller(path: "/nonexistent/bundles")
private let temporaryFolder = getenv("WIDGETD_FUZZ_SCRATCH").map { String(cString: $0) }

private func names(in folder: String) -> [String] {
  guard let stream = opendir(folder) else { return [] }
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
      pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != ".", name != ".." { names.append(name) }
  }
  return names
}

/// Rows of a database with the right checksum: a store starts with them, or refuses them with a
/// message. The first byte chooses the table, the second the length of the row's key; the rest is
/// the body, or numbers.
func fuzzRows(_ input: UnsafeRawBufferPointer) {
  guard let image = loadRow(input) else { return }
  let store = WidgetStore(image: image, isRevocable: true)
  // Readers get content that was cut again, with a new revision.
  let isCut = image.records.contains(where: \.contentIsCut)
  require(
    store.revision == image.revision + (isCut ? 1 : 0), "the store is at revision \(store.revision)"
  )
}

/// The image of a database with one row beside that of `state`, or with other numbers in `state`;
/// nil if the row is refused.
func loadRow(_ input: UnsafeRawBufferPointer) -> StoreImage? {
  guard input.count >= 2 else { return nil }
  let keyBytes = min(Int(input[1]) % 64, input.count - 2)
  let key = UnsafeRawBufferPointer(rebasing: input[2..<(2 + keyBytes)])
  let body = UnsafeRawBufferPointer(rebasing: input[(2 + keyBytes)...])
  let row = changes[Int(input[0]) % changes.count]
  var image: StoreImage?
  do throws(StorageError) {
    try database.execute("BEGIN")
    try row.statement.bindText(key, at: 1)
    if row.numberCount == 0 { try row.statement.bindBlob(body, at: 2) }
    for index in 0..<row.numberCount {
      try row.statement.bind(number(in: body, at: 8 * index), at: Int32(2 + index))
    }
    do throws(StorageError) {
      try row.statement.run()
      let saved = try SavedState(from: database)
      image = try Loader(connection: database, codec: codec, saved: saved).load().image
    } catch {
      require(!"\(error)".isEmpty, "a refusal without words")
    }
    try database.execute("ROLLBACK")
  } catch {
    fatalError("the database in memory fails: \(error)")
  }
  return image
}

/// The number in the eight bytes at a place, lowest byte first. Missing bytes are 0.
private func number(in bytes: UnsafeRawBufferPointer, at place: Int) -> Int64 {
  var result: UInt64 = 0
  for (index, byte) in bytes.dropFirst(place).prefix(8).enumerated() {
    result |= UInt64(byte) << UInt64(8 * index)
  }
  return Int64(bitPattern: result)
}

private nonisolated(unsafe) let codec = WireCodec()

private nonisolated(unsafe) let database: DatabaseConnection = {
  do throws(StorageError) {
    let database = try DatabaseConnection(path: ":memory:", busyTimeoutMilliseconds: 0)
    try RowChecksum.register(on: database)
    for step in Schema.current.steps { try database.execute(step) }
    try database.execute("UPDATE state SET epoch = 7, revision = 1000, compact_revision = 5")
    try database.execute("UPDATE state SET event_sequence_ceiling = 4096")
    let columns = Schema.stateTable.columns
    try database.execute("UPDATE state SET checksum = row_checksum('state', \(columns))")
    return database
  } catch {
    fatalError("no database in memory: \(error)")
  }
}()

/// One statement for each table; the checksum is computed from the values. The first parameter is
/// text. The others are so many numbers, or a body.
private nonisolated(unsafe) let changes: [(statement: Statement, numberCount: Int)] = {
  let rows = [
    ("widgets", "id, body", "?1, ?2"), ("tombstones", "revision, id, body", "500, ?1, ?2"),
    ("kinds", "name, body, is_attended", "?1, ?2, 0"),
    ("events", "kind, sequence, body", "?1, 77, ?2"), ("theme", "name, body", "'overrides', ?2"),
    (
      "requests",
      "sequence, uid, request_id, fingerprint, response, expires_seconds, expires_nanoseconds",
      "1, 1000, ?1, 9, ?2, 600, 0"
    ), ("lost_events", "kind, first, last", "?1, ?2, ?3"),
    ("refresh_budgets", "kind, left_thousandths, seconds", "?1, ?2, ?3"),
  ]
  var texts: [(sql: String, numberCount: Int)] = rows.map { table, columns, values in
    let sql = """
      INSERT INTO \(table) (\(columns), checksum)
      VALUES (\(values), row_checksum('\(table)', \(values)))
      """
    return (sql, values.hasSuffix("?3") ? 2 : 0)
  }
  // The database always has this row.
  let state = """
    UPDATE state SET epoch = ?2, revision = ?3, compact_revision = ?4, event_sequence_ceiling = ?5,
      unsynced_boot = ?1, group_count = ?6, running_nanoseconds = ?7,
      checksum = row_checksum('state', ?2, ?3, ?4, ?5, ?1, store_id, ?6, ?7)
    """
  texts.append((state, 6))
  return texts.map { sql, numberCount in
    do throws(StorageError) {
      return (try Statement(sql, on: database), numberCount)
    } catch {
      fatalError("\(sql): \(error)")
    }
  }
}()
