import CSQLite
import Glibc
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

/// Widgets of a group that become rows one by one.
@Suite struct PendingWidgetsTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Creates widgets, not in the order of their ids.
  private func create(_ count: Int, in store: inout WidgetStore) throws {
    let caller = Caller(uid: 1_000, pid: 1)
    for number in 0..<count {
      // A prime number, so that each id comes once.
      let spec = WidgetSpec(
        id: try id("w\(number * 7_919 % count)"), kind: try kind("clock"),
        data: ["number": .int(Int64(number)), "note": .string("some text")])
      _ = try store.apply(.create(spec), by: caller, at: noon)
    }
  }

  @Test(arguments: [3, GroupWriter.orderedRowsMin + 100])
  func `widgets that are written one by one are stored like a whole group`(count: Int) throws {
    let log = try folder.open()
    var store = WidgetStore(image: try log.load(), isRevocable: true)
    try create(count, in: &store)
    let pending = store.pendingChanges()
    #expect(pending.group.upserts.isEmpty && pending.widgets.count == count)
    try log.append(pending.group, writing: pending.widgets)
    let whole = store.pendingGroup()
    store.commitGroup(at: .zero)
    let byID = whole.upserts.sorted { $0.widget.id.rawValue < $1.widget.id.rawValue }
    #expect(try log.load().records == byID)

    // The removal of all widgets is in the order of their ids, too.
    let caller = Caller(uid: 1_000, pid: 1)
    for widget in byID.reversed() {
      _ = try store.apply(.delete(widget.widget.id), by: caller, at: noon)
    }
    let removal = store.pendingChanges()
    #expect(removal.widgets.count == 0 && removal.group.deletions.count == count)
    try log.append(removal.group, writing: removal.widgets)
    #expect(try log.load().records.isEmpty)
    #expect(try log.load().tombstones.count == count)
  }

  @Test func `widgets that cannot all be written leave nothing, and can be written again`() throws {
    let count = GroupWriter.orderedRowsMin + 100
    var options = SQLiteCommitLog.Options()
    // SQLite writes in the middle of the group.
    options.cacheBytes = 64 << 10
    let log = try folder.open(options)
    let before = try log.load()
    var store = WidgetStore(image: before, isRevocable: true)
    try create(count, in: &store)
    let pending = store.pendingChanges()
    var failure: StorageError?
    let hits = WriteFaults.during(
      pathPrefix: folder.path, pathSuffix: "-wal", after: 10, code: EIO
    ) {
      do throws(StorageError) {
        try log.append(pending.group, writing: pending.widgets)
      } catch { failure = error }
    }
    #expect(hits > 0)
    #expect(failure?.isTransient == true)
    #expect(log.statistics.failedGroups == 1)
    #expect(try log.load() == before)
    try log.append(pending.group, writing: pending.widgets)
    #expect(try log.load().records.count == count)
  }

  @Test func `a change of all widgets writes few pages more than the database has`() throws {
    var options = SQLiteCommitLog.Options()
    options.cacheBytes = 64 << 10
    // No checkpoint is due in this test.
    (options.checkpointPages, options.walPagesMax) = (100_000, 200_000)
    let log = try folder.open(options)
    let count = 3_000
    var store = WidgetStore(image: try log.load(), isRevocable: true)
    try create(count, in: &store)
    try log.append(store.pendingGroup())
    store.commitGroup(at: .zero)
    let caller = Caller(uid: 1_000, pid: 1)
    for number in 0..<count {
      let patch = WidgetPatch(setData: ["number": .int(Int64(count + number))])
      _ = try store.apply(
        .update(id("w\(number * 7_919 % count)"), patch), by: caller, at: noon)
    }
    let connection = try #require(log.open).connection
    let before = writtenPages(connection)
    let pending = store.pendingChanges()
    try log.append(pending.group, writing: pending.widgets)
    let written = writtenPages(connection) - before
    let pages = Int(try connection.number("PRAGMA page_count"))
    #expect(pages > 50 && written > 0 && written <= 3 * pages, "\(written) of \(pages)")
    // In another order, about each row would need a page.
    #expect(3 * pages < count)
  }

  /// The number of pages that SQLite has written.
  private func writtenPages(_ connection: DatabaseConnection) -> Int {
    var now: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(connection.handle, SQLITE_DBSTATUS_CACHE_WRITE, &now, &highest, 0)
    return Int(now)
  }
}
