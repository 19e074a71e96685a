import Foundation
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

@Suite struct OpeningTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  // MARK: What is refused

  @Test(arguments: [1, 100, 5_000])
  func `a file that is not a database is refused and not changed`(size: Int) throws {
    let garbage = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
    try garbage.write(to: URL(fileURLWithPath: folder.database))
    let failure = #expect(throws: StorageError.self) { try folder.open() }
    guard case .corrupt(folder.database, _)? = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(failure?.isTransient == false)
    #expect(try folder.bytes(of: "widgetd.db") == garbage)
  }

  @Test func `a database of another application is refused and not changed`() throws {
    try Data().write(to: URL(fileURLWithPath: folder.database))
    do {
      let other = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      try other.execute("CREATE TABLE notes (text)")
    }
    let before = try folder.bytes(of: "widgetd.db")
    #expect(throws: StorageError.foreign(path: folder.database)) { try folder.open() }
    #expect(try folder.bytes(of: "widgetd.db") == before)
  }

  @Test func `a database of a newer version is refused and not changed`() throws {
    try folder.open().close()
    do {
      let newer = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      try newer.execute("PRAGMA user_version = \(Schema.current.version + 1)")
      try newer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    let before = try folder.bytes(of: "widgetd.db")
    let known = Schema.current.version
    let expected = StorageError.incompatible(
      path: folder.database, found: known + 1, supported: known)
    #expect(throws: expected) { try folder.open() }
    #expect(try folder.bytes(of: "widgetd.db") == before)
  }

  @Test func `damage in any page is an error that names the file, or changes nothing`() throws {
    let first = try folder.open()
    for group in try randomGroups(40, seed: 3) { try first.append(group) }
    let image = try first.load()
    try first.close()
    let intact = try folder.bytes(of: "widgetd.db")
    var refused = 0
    for start in stride(from: 0, to: intact.count, by: 4_096) {
      var damaged = intact
      damaged.replaceSubrange(start..<start + 2_048, with: Data(repeating: 0xa5, count: 2_048))
      try damaged.write(to: URL(fileURLWithPath: folder.database))
      do throws(StorageError) {
        let log = try folder.open()
        // Only damage in unused pages is not found.
        #expect(try log.load() == image)
      } catch {
        refused += 1
        #expect(error.path == folder.database)
        #expect(!error.isTransient)
      }
      for suffix in ["-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: folder.database + suffix)
      }
    }
    #expect(refused > 5)
  }

  @Test(arguments: [
    "UPDATE widgets SET id = 'w999' WHERE id = (SELECT min(id) FROM widgets)",
    "UPDATE widgets SET body = x'ff' WHERE id = (SELECT min(id) FROM widgets)",
    "UPDATE tombstones SET body = x'' WHERE revision = (SELECT max(revision) FROM tombstones)",
    "UPDATE requests SET uid = -1 WHERE sequence = 1",
    "UPDATE requests SET sequence = 999 WHERE sequence = 1",
    "UPDATE state SET revision = 2",
    "DELETE FROM state",
    "DROP TABLE widgets",
  ])
  func `a row that no log has written is refused`(sql: String) throws {
    do {
      let log = try folder.open()
      for group in try randomGroups(40, seed: 4) { try log.append(group) }
      try log.append(group(1_000, compact: 2, tombstones: [tombstone("t", revision: 1_000)]))
      try log.close()
    }
    do {
      let other = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      try other.execute(sql)
      // The checksums are those of the changed rows.
      try RowChecksum.register(on: other)
      for table in Schema.checkedTables() where sql != "DROP TABLE \(table.name)" {
        try other.execute(
          "UPDATE \(table.name) SET checksum = row_checksum('\(table.name)', \(table.columns))")
      }
    }
    let failure = #expect(throws: StorageError.self) { try folder.open().load() }
    #expect(failure?.isTransient == false)
    #expect(failure?.path == folder.database)
  }

  // MARK: Versions

  @Test func `an older database is brought to this version with its content`() throws {
    let log = try folder.open()
    try log.append(group(1, upserts: [record("a", revision: 1)]))
    try log.close()
    var schema = Schema.current
    schema.steps.append("CREATE TABLE bundles (name TEXT PRIMARY KEY) STRICT")
    let newer = try folder.open(schema: schema)
    #expect(try newer.load().records == [record("a", revision: 1)])
    try #require(newer.open).connection.execute("INSERT INTO bundles VALUES ('b')")
    try newer.close()
    let known = Schema.current.version
    #expect(
      throws: StorageError.incompatible(
        path: folder.database, found: known + 1, supported: known)
    ) {
      try folder.open()
    }
  }

  @Test func `a database without kinds opens, and can store kinds then`() throws {
    try Data().write(to: URL(filePath: folder.database))
    do {
      let old = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      try Schema(steps: [Schema.current.steps[0]]).migrate(old, from: 0)
      try old.execute("UPDATE state SET epoch = 5, revision = 3")
    }
    let log = try folder.open()
    // The widgets have content that readers have not received.
    #expect(try log.load() == StoreImage(epoch: ~5, revision: 3))
    let registered = RegisteredKind(
      kind: Kind(name: try kind("clock")), provider: "desk", revision: 4, updateTime: noon,
      isAttended: true)
    try log.append(
      CommitGroup(
        revision: 4, compactRevision: 0, eventSequenceCeiling: 0, kindUpserts: [registered]))
    try log.close()
    #expect(try folder.open().load().kinds == [registered])
  }

  @Test func `a database without a theme opens, and can store a theme then`() throws {
    try Data().write(to: URL(filePath: folder.database))
    do {
      let old = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      try Schema(steps: Array(Schema.current.steps[..<6])).migrate(old, from: 0)
      try old.execute("UPDATE state SET epoch = 5, revision = 3")
    }
    let log = try folder.open()
    #expect(try log.load() == StoreImage(epoch: 5, revision: 3))
    var theme = RevisedTheme()
    for (revision, points) in [(4, 6.5), (5, 7)] as [(Revision, Double)] {
      theme = RevisedTheme(
        overrides: [
          "offset.basic": .offset(points), "font.x": .font(ThemeFont(size: 9, weight: .light)),
          "color.x": .color(ThemeColors(ThemeColor(red: 1, green: 2, blue: 3, alpha: 4))),
        ], revision: revision)
      try log.append(
        CommitGroup(
          revision: revision, compactRevision: 0, eventSequenceCeiling: 0, theme: theme))
    }
    try log.close()
    #expect(try folder.open().load().theme == theme)
  }

  @Test func `a theme with tokens that this version does not know keeps them`() throws {
    let newer = "color.of_a_later_version"
    var theme = RevisedTheme(
      overrides: [newer: .color(ThemeColors(ThemeColor(red: 1, green: 2, blue: 3)))], revision: 1)
    do {
      let log = try folder.open()
      try log.append(
        CommitGroup(revision: 1, compactRevision: 0, eventSequenceCeiling: 0, theme: theme))
      try log.close()
    }
    let log = try folder.open()
    #expect(try log.load().theme == theme)
    // A change of another token writes the row again.
    theme.overrides["offset.basic"] = .offset(9)
    theme.revision = 2
    try log.append(
      CommitGroup(revision: 2, compactRevision: 0, eventSequenceCeiling: 0, theme: theme))
    try log.close()
    #expect(try folder.open().load().theme == theme)
  }

  /// The row of a widget, in hexadecimal digits.
  private func encodedBody(of record: RecordImage) throws -> String {
    let other = try TemporaryFolder()
    let log = try other.open()
    try log.append(group(1, upserts: [record]))
    let rows = try Statement("SELECT hex(body) FROM widgets", on: try #require(log.open).connection)
    try #require(try rows.step())
    return rows.text(0)
  }

  private func themeBody(on connection: DatabaseConnection) throws -> [UInt8] {
    let rows = try Statement("SELECT body FROM theme", on: connection)
    try #require(try rows.step())
    return Array(rows.blob(0))
  }

  /// A fault of a stored theme, and the words of its error.
  struct ThemeDamage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let words: String
    let harm: @Sendable ([UInt8]) -> [UInt8]

    init(_ name: String, _ words: String, _ harm: @escaping @Sendable ([UInt8]) -> [UInt8]) {
      (testDescription, self.words, self.harm) = (name, words, harm)
    }

    /// Other text of the same length.
    static func text(_ old: String, _ new: String, _ words: String) -> ThemeDamage {
      ThemeDamage("\(old) to \(new)", words) { body in
        let text = Array(old.utf8)
        let place = body.indices.first { body[$0...].starts(with: text) }
        guard let place else { return body }
        return body[..<place] + Array(new.utf8) + body[(place + text.count)...]
      }
    }
  }

  @Test(arguments: [
    ThemeDamage.text("#00ff00", "#00ff0z", "values[color.green].value.color.light"),
    .text("color.green", "colon.green", "values[colon.green]"),
    .text("color.green", "color.gr en", "values[color.gr en]"),
    .text("color.green", "font.greens", "values[font.greens]"),
    ThemeDamage("no body", "revision") { _ in [] },
    ThemeDamage("the revision cut off", "revision") { $0.dropLast(3) },
    ThemeDamage("cut in a value", "theme") { $0.dropLast(5) },
    ThemeDamage("an entry twice", "appears twice") { $0[..<(2 + Int($0[1]))] + $0 },
    ThemeDamage("a value of another kind", "has no value") { body in
      // An entry `color.x` whose value has only field 15.
      [0x0A, 0x0D, 0x0A, 0x07] + Array("color.x".utf8) + [0x12, 0x02, 0x78, 0x01] + body
    },
  ])
  func `a damaged stored theme is refused and not changed`(damage: ThemeDamage) throws {
    let green = ThemeValue.color(ThemeColors(ThemeColor(red: 0, green: 255, blue: 0)))
    do {
      let log = try folder.open()
      try log.append(
        CommitGroup(
          revision: 300, compactRevision: 0, eventSequenceCeiling: 0,
          theme: RevisedTheme(overrides: ["color.green": green], revision: 300)))
      try log.close()
      let connection = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      let body = try themeBody(on: connection)
      let harmed = damage.harm(body)
      #expect(harmed != body)
      let hex = harmed.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
      // The checksum is that of the changed value, because the checksum finds all other damage.
      try RowChecksum.register(on: connection)
      try connection.execute(
        "UPDATE theme SET body = X'\(hex)', checksum = row_checksum('theme', name, X'\(hex)')")
    }
    let failure = #expect(throws: StorageError.self) { try folder.open().load() }
    guard case .corrupt(folder.database, let detail)? = failure else {
      Issue.record("\(failure as Any)")
      return
    }
    #expect(detail.contains("theme") && detail.contains(damage.words), "\(detail)")
  }

  @Test func `a database without owners opens, and can store owners then`() throws {
    try Data().write(to: URL(filePath: folder.database))
    let before = Schema(steps: Array(Schema.current.steps[..<4]))
    do {
      let body = try encodedBody(of: record("a", revision: 1))
      let old = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      try before.migrate(old, from: 0)
      try old.execute("UPDATE state SET epoch = 5, revision = 1")
      try old.execute("INSERT INTO widgets (id, body) VALUES ('a', X'\(body)')")
    }
    let log = try folder.open()
    let image = try log.load()
    #expect(image.records == [try record("a", revision: 1)])
    #expect(image.records.map(\.owners) == [nil])
    var owned = try record("a", revision: 2)
    owned.owners = [
      FieldOwner(
        path: "data.count", owner: "user 1000", manager: "bundle/clock", declared: .int(5))
    ]
    var bare = try record("b", revision: 2)
    bare.owners = []
    try log.append(group(2, upserts: [owned, bare]))
    try log.close()
    #expect(try folder.open().load().records == [owned, bare])
    #expect(
      throws: StorageError.incompatible(
        path: folder.database, found: Schema.current.version, supported: 4)
    ) {
      try folder.open(schema: before)
    }
  }

  @Test func `an upgrade that fails leaves the old version`() throws {
    try folder.open().close()
    var schema = Schema.current
    schema.steps.append("CREATE TABLE bundles (name TEXT) STRICT; INSERT INTO nowhere VALUES (1)")
    #expect(throws: StorageError.self) { try folder.open(schema: schema) }
    #expect(try folder.open().load() == StoreImage(epoch: 7))
  }

  @Test(arguments: [(0, false), (1, false), (2, true), (4_096, true)])
  func `an event that nobody accepted is damage`(ceiling: UInt64, isRight: Bool) throws {
    do {
      let log = try folder.open()
      let event = Event(sequence: 2, widgetID: try id("w"), name: "press", time: noon)
      try log.append(
        CommitGroup(
          revision: 1, compactRevision: 0, eventSequenceCeiling: ceiling,
          events: [EventImage(kind: try kind("clock"), event: event)]))
      try log.close()
    }
    let log = try folder.open()
    guard !isRight else {
      #expect(try log.load().events.map(\.event.sequence) == [2])
      return
    }
    let failure = #expect(throws: StorageError.self) { try log.load() }
    guard case .corrupt(folder.database, let detail)? = failure else {
      Issue.record("\(failure as Any)")
      return
    }
    #expect(detail.contains("event 2"))
  }

  // MARK: Epochs

  @Test func `the epoch stays with the database`() throws {
    try folder.open(newEpoch: 21).close()
    let log = try folder.open(newEpoch: 22)
    #expect(try log.load().epoch == 21)
  }

  @Test func `an epoch is never 0`() throws {
    #expect(try folder.open(newEpoch: 0).load().epoch != 0)
  }

  struct Restart: Sendable, CustomTestStringConvertible {
    var first = Durability.process
    var second = Durability.process
    var isClosed = false
    var boots: [String?] = ["boot-1", "boot-1"]
    var isCut: Bool

    var testDescription: String {
      "\(first) then \(second), closed: \(isClosed), boots \(boots)"
    }
  }

  @Test(arguments: [
    Restart(isCut: false),
    Restart(boots: ["boot-1", "boot-2"], isCut: true),
    Restart(isClosed: true, boots: ["boot-1", "boot-2"], isCut: false),
    Restart(first: .power, boots: ["boot-1", "boot-2"], isCut: false),
    Restart(second: .power, boots: ["boot-1", "boot-2"], isCut: true),
    Restart(boots: [nil, nil], isCut: true),
    Restart(isClosed: true, boots: [nil, nil], isCut: false),
  ])
  func `a new epoch begins exactly if clients may have seen missing groups`(
    restart: Restart
  ) throws {
    var options = SQLiteCommitLog.Options()
    options.durability = restart.first
    do {
      let log = try folder.open(options, newEpoch: 21, bootID: restart.boots[0])
      try log.append(group(5, ceiling: 4_096))
      if restart.isClosed { try log.close() }
    }
    options.durability = restart.second
    let log = try folder.open(options, newEpoch: 22, bootID: restart.boots[1])
    let image = try log.load()
    #expect(log.isHistoryCut == restart.isCut)
    #expect(image.epoch == (restart.isCut ? 22 : 21))
    #expect(image.revision == 5)
    // Event numbers do not belong to an epoch, so numbers that may have been used are skipped.
    #expect((image.eventSequenceCeiling > 4_096) == restart.isCut)
  }

  @Test func `a new epoch is not announced again after the next restart`() throws {
    do { _ = try folder.open(newEpoch: 21, bootID: "boot-1") }
    do { #expect(try folder.open(newEpoch: 22, bootID: "boot-2").isHistoryCut) }
    let log = try folder.open(newEpoch: 23, bootID: "boot-2")
    #expect(!log.isHistoryCut)
    #expect(try log.load().epoch == 22)
  }

  @Test func `the kernel names the boot`() throws {
    let boot = try #require(SavedState.currentBoot())
    #expect(boot.utf8.count == 36)
    #expect(SavedState.currentBoot() == boot)
  }

  // MARK: Files

  @Test func `no other user may read the files`() throws {
    let log = try folder.open()
    try log.append(group(1, upserts: [record("a", revision: 1)]))
    for name in ["widgetd.db", "widgetd.db-wal", "widgetd.db-shm", "widgetd.lock", "store.mark"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
    }
  }

  @Test func `closing leaves one complete file`() throws {
    let log = try folder.open()
    try log.append(group(1, upserts: [record("a", revision: 1)]))
    try log.close()
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(left == ["store.mark", "widgetd.db", "widgetd.lock", "widgetd.reserve"])
  }
}
