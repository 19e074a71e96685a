import Foundation
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

/// Stored state is never lost silently: a missing, empty or foreign database or write-ahead log is
/// found at the start and while the daemon runs.
@Suite struct StoreMarkTests {
  let folder: TemporaryFolder
  private let manager = FileManager.default
  private var log: String { folder.database + "-wal" }
  private var mark: String { folder.path + "/store.mark" }

  init() throws { folder = try TemporaryFolder() }

  /// Groups of an open log, which then ends as a killed process does.
  private func endUncleanly(
    _ revisions: ClosedRange<Revision> = 1...5, options: SQLiteCommitLog.Options = .init(),
    bootID: String? = "boot-1"
  ) throws {
    let log = try folder.open(options, bootID: bootID)
    for revision in revisions {
      try log.append(group(revision, upserts: [record("w\(revision)", revision: revision)]))
    }
  }

  private func endCleanly() throws {
    let log = try folder.open()
    for revision in 1...5 as ClosedRange<Revision> {
      try log.append(group(revision, upserts: [record("w\(revision)", revision: revision)]))
    }
    try log.close()
  }

  private func write(_ bytes: Data, to path: String) throws {
    try bytes.write(to: URL(fileURLWithPath: path))
  }

  /// The message of the refusal.
  private func refusal(
    bootID: String? = "boot-1", _ location: SourceLocation = #_sourceLocation
  ) -> String {
    let failure = #expect(throws: StorageError.self, sourceLocation: location) {
      _ = try folder.open(bootID: bootID)
    }
    #expect(failure?.isTransient == false, sourceLocation: location)
    return failure.map { "\($0)" } ?? ""
  }

  // MARK: - The numbers

  @Test(arguments: [0, 9, 10, 4_711, 9_999_999_999, UInt64.max - 1, .max])
  func `new numbers in a mark give the bytes of the mark with these numbers`(number: UInt64) throws
  {
    var content = StoreMark.Content(
      storeID: "0123456789abcdef", isOpen: true, durability: .process, boot: "boot-1",
      groups: 123_456, revision: 77)
    var bytes = content.bytes
    for (groups, revision) in [(number, 5), (number, number), (3, number)] as [(UInt64, UInt64)] {
      StoreMark.Content.renumber(&bytes, groups: groups, revision: revision)
      (content.groups, content.revision) = (groups, revision)
      #expect(bytes == content.bytes)
      // Each number has 20 columns, padded with spaces.
      let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
      func line(_ name: String, _ number: UInt64) -> String {
        name + " \(number)" + String(repeating: " ", count: 20 - "\(number)".count)
      }
      #expect(lines.suffix(3).dropLast() == [line("groups", groups), line("revision", revision)])
      let path = folder.path + "/mark"
      try write(Data(bytes), to: path)
      #expect(try StoreMark.read(path) == .mark(content), "the checksum is right")
    }
  }

  // MARK: - The database

  @Test func `an empty database beside a write-ahead log is refused, and the log stays`() throws {
    try endUncleanly()
    let whole = try folder.bytes(of: "widgetd.db")
    let bytes = try folder.bytes(of: "widgetd.db-wal")
    try write(Data(), to: folder.database)
    let words = refusal()
    #expect(words.hasPrefix(folder.database) && words.contains("is empty"), "\(words)")
    #expect(words.contains("widgetctl restore") && words.contains(mark), "\(words)")
    #expect(try folder.bytes(of: "widgetd.db-wal") == bytes)
    #expect(try folder.bytes(of: "widgetd.db").isEmpty)
    try write(whole, to: folder.database)
    #expect(try folder.open().load().revision == 5)
  }

  @Test(arguments: [false, true])
  func `a write-ahead log without its database is refused even without a mark`(
    isEmpty: Bool
  ) throws {
    try endUncleanly()
    let bytes = try folder.bytes(of: "widgetd.db-wal")
    try? manager.removeItem(atPath: mark)
    try manager.removeItem(atPath: folder.database)
    if isEmpty { try write(Data(), to: folder.database) }
    let words = refusal()
    #expect(words.contains(log), "\(words)")
    #expect(try folder.bytes(of: "widgetd.db-wal") == bytes)
    #expect(manager.fileExists(atPath: folder.database) == isEmpty)
    try manager.moveItem(atPath: log, toPath: folder.path + "/away")
    #expect(try folder.open().load().revision == 0)
  }

  @Test func `a missing database is refused where one was, until the mark is removed`() throws {
    try endCleanly()
    try manager.removeItem(atPath: folder.database)
    let words = refusal()
    #expect(words.hasPrefix(folder.database) && words.contains("is missing"), "\(words)")
    #expect(!manager.fileExists(atPath: folder.database))
    try manager.removeItem(atPath: mark)
    #expect(try folder.open().load().revision == 0)
  }

  @Test(arguments: [false, true])
  func `the database of another store is refused and not changed`(isClean: Bool) throws {
    let other = try TemporaryFolder()
    try other.open().close()
    if isClean { try endCleanly() } else { try endUncleanly() }
    let bytes = try other.bytes(of: "widgetd.db")
    try write(bytes, to: folder.database)
    let before = try? folder.bytes(of: "widgetd.db-wal")
    let words = refusal()
    #expect(words.contains("another store") && words.contains(mark), "\(words)")
    #expect(try folder.bytes(of: "widgetd.db") == bytes)
    #expect((try? folder.bytes(of: "widgetd.db-wal")) == before)
  }

  @Test func `an older copy of the database is refused, and the error has the lost revisions`()
    throws
  {
    try endCleanly()
    let old = try folder.bytes(of: "widgetd.db")
    do {
      let log = try folder.open()
      try log.append(group(6, upserts: [record("w6", revision: 6)]))
      try log.append(group(7, upserts: [record("w7", revision: 7)]))
      try log.close()
    }
    try write(old, to: folder.database)
    let words = refusal()
    #expect(words.contains("revision 5") && words.contains("revision 7"), "\(words)")
    try manager.removeItem(atPath: mark)
    #expect(try folder.open().load().revision == 5)
  }

  @Test func `a store without a mark opens, and has one then`() throws {
    try endUncleanly()
    try? manager.removeItem(atPath: mark)
    do { #expect(try folder.open().load().revision == 5) }
    #expect(manager.fileExists(atPath: mark))
    try manager.removeItem(atPath: folder.database)
    #expect(refusal().contains("is missing"))
  }

  @Test(arguments: ["", "widgetd store 1\n", "no mark"])
  func `a damaged mark is replaced, but still prevents an empty store`(text: String) throws {
    try endCleanly()
    try write(Data(text.utf8), to: mark)
    do {
      let log = try folder.open()
      #expect(try log.load().revision == 5)
      #expect(log.notices.contains { $0.contains(mark) })
      try log.close()
    }
    #expect(try folder.open().notices.isEmpty)
    try write(Data(text.utf8), to: mark)
    try manager.removeItem(atPath: folder.database)
    #expect(refusal().contains("is missing"))
  }

  // MARK: - The write-ahead log

  enum LogDamage: String, CaseIterable, Sendable {
    case removed, emptied, junk, cut

    var words: String {
      switch self {
      case .removed: "is missing"
      case .emptied: "is empty"
      case .junk: "is not a write-ahead log"
      case .cut: "ends too early"
      }
    }
  }

  private func damage(_ damage: LogDamage) throws -> Data? {
    let bytes = try folder.bytes(of: "widgetd.db-wal")
    switch damage {
    case .removed:
      try manager.removeItem(atPath: log)
      return nil
    case .emptied: try write(Data(), to: log)
    case .junk: try write(Data(repeating: 0x5a, count: bytes.count), to: log)
    case .cut: try write(bytes.prefix(bytes.count - 4_120), to: log)
    }
    return try folder.bytes(of: "widgetd.db-wal")
  }

  @Test(arguments: LogDamage.allCases)
  func `a write-ahead log that lacks stored groups is refused and not changed`(
    _ kind: LogDamage
  ) throws {
    try endCleanly()
    try endUncleanly(6...9)
    let before = try damage(kind)
    let words = refusal()
    #expect(words.contains(log) && words.contains(kind.words), "\(words)")
    #expect(words.contains("revision 9"), "\(words)")
    #expect(
      words.contains(kind == .cut ? "revision 8" : "revision 5") && words.contains(mark), "\(words)"
    )
    if let before { #expect(try folder.bytes(of: "widgetd.db-wal") == before) }
    // Without the mark, the store continues with the remaining groups.
    try manager.removeItem(atPath: mark)
    #expect(try folder.open().load().revision == (kind == .cut ? 8 : 5))
  }

  @Test(arguments: LogDamage.allCases)
  func `after a power cut, a loss that the durability permits is reported`(
    _ kind: LogDamage
  ) throws {
    try endCleanly()
    try endUncleanly(6...9)
    _ = try damage(kind)
    let log = try folder.open(newEpoch: 8, bootID: "boot-2")
    #expect(log.isHistoryCut)
    let left: Revision = kind == .cut ? 8 : 5
    #expect(log.lostRevisions == left + 1...9)
    #expect(try log.load().revision == left)
    #expect(try log.load().epoch == 8)
  }

  @Test func `after a power cut, a loss that the durability forbids is refused`() throws {
    var options = SQLiteCommitLog.Options()
    options.durability = .power
    try endUncleanly(1...4, options: options)
    _ = try damage(.cut)
    #expect(refusal(bootID: "boot-2").contains("revision 4"))
  }

  @Test func `missing groups without a revision are found too`() throws {
    do {
      let log = try folder.open()
      try log.append(group(1))
      try log.append(group(1, requests: [request("r")]))
    }
    _ = try damage(.cut)
    #expect(refusal().contains("1 group"))
  }

  @Test func `a write-ahead log that another program has checkpointed is not reported`()
    throws
  {
    try endUncleanly()
    do {
      let other = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      _ = try other.number("SELECT revision FROM state")
      try other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      try other.removeLogOnClose(true)
    }
    try? manager.removeItem(atPath: log)
    #expect(try folder.open().load().revision == 5)
  }

  @Test func `a database that is a link has its log beside the target of the link`() throws {
    let other = try TemporaryFolder()
    let real = other.path + "/real.db"
    try manager.createSymbolicLink(atPath: folder.database, withDestinationPath: real)
    try endCleanly()
    try endUncleanly(6...9)
    do {
      let log = try folder.open()
      #expect(try log.load().revision == 9)
      try log.append(group(10))
    }
    #expect(StoreInspection(folder.path).revision == 10)
    try manager.removeItem(atPath: real + "-wal")
    let words = refusal()
    #expect(words.contains("real.db-wal is missing"), "\(words)")
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
  func `files that root makes belong to the user of the folder`() throws {
    try #require(chown(folder.path, 4_321, 4_322) == 0)
    let log = try folder.open(isRepair: true)
    try log.append(group(1))
    let saved = folder.path + "/away"
    try manager.moveItem(atPath: folder.database, toPath: saved)
    guard case .saved = try log.endedCopy() else {
      Issue.record("the store was not saved")
      return
    }
    for name in try manager.contentsOfDirectory(atPath: folder.path) where name != "widgetd.db-shm"
    {
      var status = stat()
      #expect(stat(folder.path + "/" + name, &status) == 0)
      #expect(status.st_uid == 4_321 && status.st_gid == 4_322, "\(name)")
    }
  }

  @Test func `a log that was closed except for its last step opens`() throws {
    try endUncleanly()
    let bytes = try folder.bytes(of: "widgetd.db-wal")
    try folder.open().close()
    try write(bytes, to: log)
    #expect(try folder.open().load().revision == 5)
  }

  // MARK: - While it is open

  enum Loss: String, CaseIterable, Sendable {
    case databaseRemoved, databaseReplaced, databaseEmptied, logRemoved, logEmptied
  }

  @Test(arguments: Loss.allCases)
  func `a store that is removed while it is open takes no more groups`(_ loss: Loss) throws {
    let log = try folder.open()
    try log.append(group(1, upserts: [record("a", revision: 1)]))
    let away = folder.path + "/away"
    switch loss {
    case .databaseRemoved: try manager.moveItem(atPath: folder.database, toPath: away)
    case .databaseReplaced:
      try manager.moveItem(atPath: folder.database, toPath: away)
      try manager.copyItem(atPath: away, toPath: folder.database)
    case .databaseEmptied: #expect(truncate(folder.database, 0) == 0)
    case .logRemoved: try manager.moveItem(atPath: self.log, toPath: away)
    case .logEmptied: #expect(truncate(self.log, 0) == 0)
    }
    for _ in 0..<2 {
      let failure = #expect(throws: StorageError.self) { try log.append(group(2)) }
      #expect(failure?.isTransient == false)
      let words = failure.map { "\($0)" } ?? ""
      #expect(words.hasPrefix(folder.database) && words.contains("restart"), "\(words)")
      #expect(throws: StorageError.self) { try log.check() }
    }
    guard loss != .databaseEmptied, loss != .logEmptied else { return }
    // All files are still open here, so the state can be saved.
    guard case .saved(let saved) = try log.endedCopy() else {
      Issue.record("the store was not saved")
      return
    }
    let other = try TemporaryFolder()
    try manager.copyItem(atPath: saved, toPath: other.database)
    #expect(try other.open().load().records == [record("a", revision: 1)])
    // With the file back in its place, it is the same store.
    guard loss != .databaseReplaced else { return }
    try manager.moveItem(
      atPath: away, toPath: loss == .logRemoved ? self.log : folder.database)
    try log.check()
    try log.append(group(2))
  }

  @Test func `closing leaves the files of a store that took the place of the open one`() throws {
    let log = try folder.open()
    try log.append(group(1, upserts: [record("a", revision: 1)]))
    let other = try TemporaryFolder()
    let another = try other.open()
    try another.append(group(3, upserts: [record("b", revision: 3)]))
    for suffix in ["", "-wal"] {
      try manager.removeItem(atPath: folder.database + suffix)
      try manager.copyItem(atPath: other.database + suffix, toPath: folder.database + suffix)
    }
    let bytes = try folder.bytes(of: "widgetd.db-wal")
    #expect(throws: StorageError.self) { try log.close() }
    #expect(try folder.bytes(of: "widgetd.db-wal") == bytes)
  }
}
