import CSQLite
import Foundation
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

/// A stored byte that changes is found when it is read, and the row is named.
@Suite struct ChecksumTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A row of each table, in a database that was closed.
  private func fill() throws -> StoreImage {
    let log = try folder.open()
    for group in try randomGroups(60, seed: 11) { try log.append(group) }
    var last = group(
      1_000, compact: 900, ceiling: 4_096, upserts: [try record("w", revision: 1_000)],
      tombstones: [try tombstone("gone", revision: 1_000)], requests: [request("last")])
    last.kindUpserts = [
      RegisteredKind(
        kind: Kind(name: try kind("clock")), provider: "desk", revision: 1_000, updateTime: noon)
    ]
    last.eventTrims = [EventTrim(kind: try kind("clock"), before: 0, lost: 3...4)]
    last.events = [
      EventImage(
        kind: try kind("clock"),
        event: Event(sequence: 4_000, widgetID: try id("w"), name: "press", time: noon))
    ]
    last.theme = RevisedTheme(overrides: ["offset.basic": .offset(2)], revision: 1_000)
    last.refreshBudgets = [
      RefreshBudgetImage(kind: try kind("clock"), leftThousandths: 1_500, seconds: 60)
    ]
    try log.append(last)
    let image = try log.load()
    try log.close()
    return image
  }

  private func change(_ sql: String) throws {
    let other = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
    try other.execute(sql)
    #expect(sqlite3_changes(other.handle) == 1, "\(sql)")
  }

  /// Each change leaves a row that can be decoded, or that would pass for a valid one.
  @Test(arguments: [
    (
      "UPDATE widgets SET body = CAST(replace(CAST(body AS TEXT), 'no signal', 'my signal') AS BLOB)"
        + " WHERE id = 'w'", "table widgets, row 'w'"
    ),
    ("UPDATE widgets SET checksum = checksum + 1 WHERE id = 'w'", "table widgets, row 'w'"),
    (
      "UPDATE tombstones SET checksum = 0 WHERE id = 'gone'",
      "table tombstones, row 'gone' of revision 1000"
    ),
    ("UPDATE requests SET response = x'010300' WHERE request_id = 'last'", "table requests, row"),
    ("UPDATE requests SET uid = uid + 1 WHERE request_id = 'last'", "table requests, row"),
    ("UPDATE kinds SET is_attended = 1 WHERE name = 'clock'", "table kinds, row 'clock'"),
    ("UPDATE events SET kind = 'k0' WHERE sequence = 4000", "table events, row 4000"),
    ("UPDATE lost_events SET last = 5 WHERE kind = 'clock'", "table lost_events, row 'clock'"),
    ("UPDATE theme SET checksum = 0", "table theme, row 'overrides'"),
    (
      "UPDATE refresh_budgets SET left_thousandths = 9000 WHERE kind = 'clock'",
      "table refresh_budgets, row 'clock'"
    ),
    // Old tokens would resume although removals are forgotten.
    ("UPDATE state SET compact_revision = 5", "table state, row '1'"),
    // Kept answers would end early, and a retry would be carried out twice.
    (
      "UPDATE state SET running_nanoseconds = running_nanoseconds + (1 << 50)",
      "table state, row '1'"
    ),
    ("UPDATE state SET epoch = epoch + 1", "table state, row '1'"),
    ("UPDATE state SET event_sequence_ceiling = 8192", "table state, row '1'"),
    ("UPDATE state SET unsynced_boot = 'boot-2'", "table state, row '1'"),
    // Without the checksum, the error would be about lost groups.
    ("UPDATE state SET group_count = group_count - 1", "table state, row '1'"),
    ("UPDATE state SET checksum = checksum + 1", "table state, row '1'"),
  ])
  func `the error for a changed row names the row`(sql: String, words: String) throws {
    _ = try fill()
    try change(sql)
    let failure = #expect(throws: StorageError.self) { try folder.open().load() }
    guard case .corrupt(folder.database, let detail)? = failure else {
      Issue.record("\(failure as Any)")
      return
    }
    #expect(detail.contains(words) && detail.contains("checksum"), "\(detail)")
  }

  @Test func `rows without checksums get them, and nothing else changes`() throws {
    var image = try fill()
    image.refreshBudgets = []
    try folder.downgrade()
    let log = try folder.open()
    #expect(try log.load() == image)
    try log.close()
    try change("UPDATE widgets SET checksum = checksum + 1 WHERE id = 'w'")
    #expect(throws: StorageError.self) { try folder.open().load() }
  }

  @Test func `a row of numbers with a damaged time gets a checksum that fits`() throws {
    let image = try fill()
    do {
      let old = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      try old.execute("ALTER TABLE state DROP COLUMN checksum")
      try old.execute("UPDATE state SET running_nanoseconds = -5")
      try old.execute("PRAGMA user_version = 11")
    }
    let log = try folder.open()
    #expect(try log.load().revision == image.revision)
    try log.close()
    #expect(StoreInspection(folder.path).isSound)
  }

  @Test func `a row of numbers without a checksum gets one, and nothing else changes`() throws {
    let image = try fill()
    do {
      let old = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      try old.execute("ALTER TABLE state DROP COLUMN checksum")
      try old.execute("PRAGMA user_version = 11")
    }
    // A backup of the old version can be checked and restored, too.
    let copies = try TemporaryFolder()
    let backup = copies.path + "/backup"
    _ = try StoreCopies.backUp(stateDirectory: folder.path, to: backup)
    #expect(StoreInspection(backup).isSound)
    _ = try StoreCopies.restore(backup, stateDirectory: folder.path, epoch: 9, name: "1")
    #expect(StoreInspection(folder.path).isSound)
    let log = try folder.open()
    var loaded = try log.load()
    loaded.epoch = image.epoch
    loaded.eventSequenceCeiling -= SavedState.eventSequenceReserve
    #expect(loaded == image)
    try log.append(group(1_001, compact: 900, ceiling: loaded.eventSequenceCeiling))
    try log.close()
    #expect(StoreInspection(folder.path).isSound)
    try change("UPDATE state SET compact_revision = 5")
    #expect(throws: StorageError.self) { try folder.open() }
  }

  @Test func `an inspection finds a changed row of numbers`() throws {
    _ = try fill()
    #expect(StoreInspection(folder.path).isSound)
    try change("UPDATE state SET running_nanoseconds = running_nanoseconds + 1")
    let findings = StoreInspection(folder.path).findings.filter { $0.grade == .failure }
    #expect(findings.map(\.check) == ["rows"])
    #expect(findings.first?.found.contains("table state, row '1'") == true, "\(findings)")
  }

  @Test func `the row of numbers has the right checksum after each group, without closing`()
    throws
  {
    let log = try folder.open()
    for group in try randomGroups(20, seed: 5) {
      try log.append(group)
      let connection = try #require(log.open).connection
      #expect(try SavedState(from: connection) == log.saved)
    }
  }

  @Test func `an appended row has the checksum that a migration computes`() throws {
    _ = try fill()
    let connection = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
    try RowChecksum.register(on: connection)
    for table in Schema.checkedTables() {
      #expect(try connection.number("SELECT count(*) FROM \(table.name)") > 0, "\(table.name)")
      let wrong = """
        SELECT count(*) FROM \(table.name)
        WHERE checksum <> row_checksum('\(table.name)', \(table.columns))
        """
      #expect(try connection.number(wrong) == 0, "\(table.name)")
    }
  }

  @Test func `a store that was not closed has its pages checked`() throws {
    _ = try fill()
    do { _ = try folder.open() }
    // The number of unused pages, which no row shows.
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.database))
    try file.seek(toOffset: 36)
    try file.write(contentsOf: Data([0, 0, 0, 77]))
    try file.close()
    let failure = #expect(throws: StorageError.self) { try folder.open() }
    guard case .corrupt(folder.database, let detail)? = failure else {
      Issue.record("\(failure as Any)")
      return
    }
    #expect(detail.lowercased().contains("freelist"), "\(detail)")
  }

  /// From the specification of xxHash and its reference implementation.
  @Test(arguments: [
    ("", UInt64(0), UInt64(0xEF46_DB37_51D8_E999)), ("a", 0, 0xD24E_C4F1_A98C_6E5B),
    ("abc", 0, 0x44BC_2CF5_AD77_0999),
    ("Nobody inspects the spammish repetition", 0, 0xFBCE_A83C_8A37_8BF1),
  ])
  func `the checksum is XXH64`(text: String, seed: UInt64, expected: UInt64) {
    let bytes = Array(text.utf8)
    #expect(bytes.withUnsafeBytes { csqlite_hash($0.baseAddress, $0.count, seed) } == expected)
  }
}
