import Foundation
import Glibc
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

@Suite struct FailureTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  struct Case: Sendable, CustomTestStringConvertible {
    let code: Int32
    let isFull: Bool
    let cacheBytes: Int
    var testDescription: String { "errno \(code), cache of \(cacheBytes) bytes" }
  }

  /// A small cache makes SQLite write in the middle of a group, and a large one only at its end.
  @Test(arguments: [
    Case(code: ENOSPC, isFull: true, cacheBytes: 4 << 20),
    Case(code: EDQUOT, isFull: true, cacheBytes: 4 << 20),
    Case(code: EIO, isFull: false, cacheBytes: 4 << 20),
    Case(code: ENOSPC, isFull: true, cacheBytes: 64 << 10),
    Case(code: EIO, isFull: false, cacheBytes: 64 << 10),
  ])
  func `a group that fails at any of its writes leaves nothing, and can be appended again`(
    _ example: Case
  ) throws {
    var options = SQLiteCommitLog.Options()
    options.cacheBytes = example.cacheBytes
    let log = try folder.open(options)
    var naive = NaiveHistory()
    var revision: Revision = 1
    func next() throws -> CommitGroup {
      revision += 1
      return group(
        revision, compact: revision / 2, ceiling: revision, deletions: [try id("w3")],
        upserts: try (0..<60).filter { $0 != 3 }.map {
          try record("w\($0)", revision: revision, note: String(repeating: "x", count: 3_000))
        },
        tombstones: [try tombstone("w3", revision: revision)], requests: [request("r\(revision)")])
    }
    let first = try next()
    try log.append(first)
    naive.append(first)
    var failures = 0
    // Every write of the first groups, then samples.
    for writesBefore in Array(0..<20) + Array(stride(from: 20, to: 2_000, by: 23)) {
      let group = try next()
      var failure: StorageError?
      // Only writes of the log belong to the group, because a checkpoint writes the database at the
      // same time.
      let hits = WriteFaults.during(
        pathPrefix: folder.path, pathSuffix: "-wal", after: writesBefore, code: example.code
      ) {
        do throws(StorageError) { try log.append(group) } catch { failure = error }
      }
      #expect((failure != nil) == (hits > 0))
      guard let failure else {
        naive.append(group)
        break
      }
      failures += 1
      if example.isFull {
        #expect(failure == .full(path: folder.database))
      } else if case .inputOutput(folder.database, _) = failure {
      } else {
        Issue.record("\(failure)")
      }
      #expect(failure.isTransient)
      #expect(try log.load() == naive.image.withoutForgottenKeys)
      try log.append(group)
      naive.append(group)
      #expect(try log.load() == naive.image.withoutForgottenKeys)
    }
    #expect(failures > 20)
    #expect(log.statistics.failedGroups == UInt64(failures))
    try log.close()
    #expect(try folder.open().load() == naive.image.withoutForgottenKeys)
  }

  @Test func `on a full disk, a group that only removes succeeds with the reserve`() throws {
    var options = SQLiteCommitLog.Options()
    options.reserveBytes = 1 << 20
    let log = try folder.open(options)
    let reserve = folder.path + "/widgetd.reserve"
    var status = stat()
    #expect(stat(reserve, &status) == 0 && Int(status.st_blocks) * 512 >= 1 << 20)
    try log.append(
      group(1, upserts: [record("a", revision: 1), record("b", revision: 1)]))
    let hits = try WriteFaults.during(
      pathPrefix: folder.path, pathSuffix: "-wal", code: ENOSPC, whileExists: reserve
    ) {
      #expect(throws: StorageError.full(path: folder.database)) {
        try log.append(group(2, upserts: [record("c", revision: 2)]))
      }
      // A group that adds and removes does not get the reserve.
      #expect(throws: StorageError.full(path: folder.database)) {
        try log.append(group(2, deletions: [id("a")], upserts: [record("c", revision: 2)]))
      }
      #expect(stat(reserve, &status) == 0)
      // Nor does a group of other calls that also removes a kind.
      var mixed = group(2, upserts: [try record("c", revision: 2)])
      mixed.kindDeletions = [try kind("clock")]
      #expect(throws: StorageError.full(path: folder.database)) { try log.append(mixed) }
      #expect(stat(reserve, &status) == 0)
      // Nor does a group of removals that found nothing to remove.
      var empty = group(2, requests: [request("empty")])
      empty.onlyRemoves = true
      #expect(throws: StorageError.full(path: folder.database)) { try log.append(empty) }
      #expect(stat(reserve, &status) == 0)
      try log.append(
        group(
          2, deletions: [id("a")], tombstones: [tombstone("a", revision: 2)],
          requests: [request("r")]))
      #expect(stat(reserve, &status) != 0)
    }
    #expect(hits >= 4)
    #expect(try log.load().records.map(\.widget.id.rawValue) == ["b"])
    // With room, the reserve is made again after a while.
    for revision in 3...80 as ClosedRange<Revision> { try log.append(group(revision)) }
    #expect(stat(reserve, &status) == 0 && Int(status.st_blocks) * 512 >= 1 << 20)
  }

  /// Removing a kind writes each of its widgets again.
  @Test(arguments: [(1_000, 3_600), (200, 20_000), (2_000, 100)])
  func `the reserve has room for the removal of a kind with 1,000 widgets of 4 KiB`(
    count: Int, noteBytes: Int
  ) throws {
    let log = try folder.open()
    let connection = try #require(log.open).connection
    let reserve = folder.path + "/widgetd.reserve"
    func widgets(_ revision: Revision) throws -> [RecordImage] {
      // Widgets of other kinds are between them.
      try (0..<count).map {
        try record(
          "w\($0 * 7919 % count)", revision: revision,
          note: String(repeating: "x", count: noteBytes))
      }
    }
    try log.append(group(1, upserts: widgets(1)))
    try log.append(
      group(
        2,
        upserts: (0..<count).map {
          try record("w\($0)x", revision: 2, note: String(repeating: "y", count: noteBytes))
        }))
    let pages = try connection.number("PRAGMA page_count")
    // The numbers of revisions grow, and with them the rows.
    var removal = group(1 << 40, upserts: try widgets(1 << 40), requests: [request("r")])
    removal.kindDeletions = [try kind("clock")]
    let hits = try WriteFaults.during(
      pathPrefix: folder.path, pathSuffix: "-wal", code: ENOSPC, whileExists: reserve
    ) {
      // The same group with a change by another call.
      #expect(throws: StorageError.full(path: folder.database)) { try log.append(removal) }
      removal.onlyRemoves = true
      try log.append(removal)
    }
    #expect(hits >= 2)
    let grown = try connection.number("PRAGMA page_count") - pages
    let bytes = (log.statistics.walPages + Int(grown)) * 4_120
    #expect(bytes <= SQLiteCommitLog.Options().reserveBytes, "\(bytes)")
    #expect(try log.load().revision == 1 << 40)
  }

  @Test func `a removal that is larger than the reserve leaves the reserve for others`() throws {
    var options = SQLiteCommitLog.Options()
    options.reserveBytes = 1 << 20
    let log = try folder.open(options)
    let reserve = folder.path + "/widgetd.reserve"
    try log.append(group(1, upserts: [record("a", revision: 1), record("b", revision: 1)]))
    let before = try log.load()
    let note = String(repeating: "x", count: 4_000)
    var removal = group(2, upserts: [try record("a", revision: 2)])
    removal.upserts += try (0..<300).map { try record("w\($0)", revision: 2, note: note) }
    removal.kindDeletions = [try kind("clock")]
    removal.onlyRemoves = true
    // The log has room for some pages.
    let hits = try WriteFaults.during(
      pathPrefix: folder.path, pathSuffix: "-wal", code: ENOSPC, fromByte: 500_000
    ) {
      #expect(throws: StorageError.full(path: folder.database)) { try log.append(removal) }
      var status = stat()
      #expect(stat(reserve, &status) == 0 && Int(status.st_blocks) * 512 >= 1 << 20)
      #expect(try log.load() == before)
      // The log keeps its room, so small changes fit.
      let logPath = folder.database + "-wal"
      #expect(stat(logPath, &status) == 0)
      let bytes = Int(status.st_size)
      #expect((400_000...510_000).contains(bytes) && Int(status.st_blocks) * 512 >= bytes)
      try log.append(group(2, upserts: [record("b", revision: 2)]))
    }
    #expect(hits >= 3)
    removal.revision = 3
    removal.upserts = [try record("a", revision: 3)]
    try log.append(removal)
    try log.close()
    #expect(try folder.open().load().records.map(\.widget.revision) == [3, 2])
  }

  @Test func `a store that is killed after a removal did not fit starts again`() throws {
    let log = try folder.open()
    try log.append(group(1, upserts: [record("a", revision: 1)]))
    let files = try #require(log.open).files
    let bytes = files.logBytes
    try #require(log.open).connection.emptyLog(busyTimeoutMilliseconds: 0)
    #expect(files.logBytes == 0)
    files.allocateLog(bytes)
    #expect(files.logBytes == bytes && bytes > 0)
    // A copy of the files at this moment.
    let copy = try TemporaryFolder()
    for name in ["widgetd.db", "widgetd.db-wal", "store.mark"] {
      try folder.bytes(of: name).write(to: URL(fileURLWithPath: copy.path + "/" + name))
    }
    #expect(try copy.open().load().records.map(\.widget.id.rawValue) == ["a"])
    try log.append(group(2, upserts: [record("b", revision: 2)]))
    #expect(try log.load().records.map(\.widget.id.rawValue) == ["a", "b"])
  }

  @Test func `if the log has all of the room, a checkpoint makes room again`() throws {
    var options = SQLiteCommitLog.Options()
    options.reserveBytes = 0
    // No checkpoint is due in this test.
    options.checkpointPages = 100_000
    options.walPagesMax = 200_000
    let log = try folder.open(options)
    let hits = try WriteFaults.during(
      pathPrefix: folder.path, pathSuffix: "-wal", code: ENOSPC, fromByte: 200_000
    ) {
      for revision in 1...60 as ClosedRange<Revision> {
        let note = String(repeating: "x", count: 4_000)
        try log.append(
          group(revision, upserts: [record("a", revision: revision, note: note)]))
      }
    }
    #expect(hits > 0)
    #expect(try log.load().records.map(\.widget.revision) == [60])
  }

  @Test func `a store opens on a full disk with the reserve`() throws {
    do {
      let log = try folder.open()
      try log.append(group(1, upserts: [record("a", revision: 1)]))
      try log.close()
    }
    let reserve = folder.path + "/widgetd.reserve"
    let hits = try WriteFaults.during(
      pathPrefix: folder.path, code: ENOSPC, whileExists: reserve
    ) {
      let log = try folder.open()
      let records = try log.load().records
      #expect(records.map(\.widget.id.rawValue) == ["a"])
    }
    #expect(hits > 0)
  }

  @Test func `a database at its largest size refuses groups until there is room`() throws {
    let log = try folder.open()
    let connection = try #require(log.open).connection
    try log.append(group(1, upserts: [record("a", revision: 1)]))
    let pages = try connection.number("PRAGMA page_count")
    try connection.execute("PRAGMA max_page_count = \(pages + 2)")
    let before = try log.load()
    let large = group(
      2, upserts: [try record("b", revision: 2, note: String(repeating: "x", count: 50_000))])
    #expect(throws: StorageError.full(path: folder.database)) { try log.append(large) }
    #expect(try log.load() == before)
    try log.append(group(2, upserts: [record("c", revision: 2)]))
    try connection.execute("PRAGMA max_page_count = 100000")
    try log.append(group(3, upserts: [record("b", revision: 3)]))
    #expect(try log.load().records.map(\.widget.id.rawValue) == ["a", "b", "c"])
  }

  @Test func `a database that became read-only refuses groups until it can be written`() throws {
    let log = try folder.open()
    let connection = try #require(log.open).connection
    try connection.execute("PRAGMA query_only = 1")
    let failure = #expect(throws: StorageError.readOnly(path: folder.database)) {
      try log.append(group(1))
    }
    #expect(failure?.isTransient == true)
    try connection.execute("PRAGMA query_only = 0")
    try log.append(group(1))
    #expect(try log.load().revision == 1)
  }

  @Test func `a widget without a stored form undoes the whole group`() throws {
    let log = try folder.open()
    let good = try record("a", revision: 1)
    var bad = try record("b", revision: 1)
    bad.data = [RevisedEntry(key: "text", value: .string("a\0b"), revision: 1)]
    let failure = #expect(throws: StorageError.self) {
      try log.append(group(1, upserts: [good, bad]))
    }
    guard case .unrepresentable(folder.database, let detail)? = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(detail.contains("'b'"))
    #expect(failure?.isTransient == false)
    #expect(try log.load() == StoreImage(epoch: 7))
    try log.append(group(1, upserts: [good]))
    #expect(try log.load().records == [good])
  }

  @Test func `a database that another program is writing is busy, and is free again after`() throws
  {
    var options = SQLiteCommitLog.Options()
    options.busyTimeout = .zero
    let log = try folder.open(options)
    let other = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
    try other.execute("BEGIN IMMEDIATE")
    #expect(throws: StorageError.busy(path: folder.database)) { try log.append(group(1)) }
    try other.execute("ROLLBACK")
    try log.append(group(1))
    #expect(try log.load().revision == 1)
  }

  @Test func `a closed log fails with closed`() throws {
    let log = try folder.open()
    try log.close()
    try log.close()
    #expect(throws: StorageError.closed(path: folder.database)) { try log.append(group(1)) }
    #expect(throws: StorageError.closed(path: folder.database)) { try log.load() }
  }

  @Test(arguments: [
    StorageError.full(path: "/p"), .readOnly(path: "/p"), .corrupt(path: "/p", detail: "d"),
    .busy(path: "/p"), .inputOutput(path: "/p", detail: "d"),
    .incompatible(path: "/p", found: 9, supported: 1), .foreign(path: "/p"),
    .locked(path: "/p", pid: 1), .locked(path: "/p", pid: nil),
    .cannotOpen(path: "/p", detail: "d"), .unrepresentable(path: "/p", detail: "d"),
    .closed(path: "/p"), .lost(path: "/p", detail: "is missing. Put it back"),
    .removed(
      path: "/p", detail: "was removed", lastRevision: 1, copy: .failed(reason: "no room")),
    .removed(path: "/p", detail: "was removed", lastRevision: 1, copy: .underWay(path: "/q")),
    .removed(path: "/p", detail: "was removed", lastRevision: 1, copy: .saved(path: "/q")),
    .unexpected(path: "/p", detail: "d"),
  ])
  func `every message names the path first and then what to do`(error: StorageError) {
    #expect(error.path == "/p")
    #expect(error.description.hasPrefix("/p: "))
    #expect(error.description.contains(";") || error.description.contains(". "))
  }
}
