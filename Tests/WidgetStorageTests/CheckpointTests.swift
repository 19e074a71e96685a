import Foundation
import Glibc
import Synchronization
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

@Suite struct CheckpointTests {
  let folder: TemporaryFolder
  var options = SQLiteCommitLog.Options()

  init() throws {
    folder = try TemporaryFolder()
    options.checkpointPages = 50
    options.walPagesMax = 400
  }

  @Test func `the write-ahead log stays within its bound over thousands of groups`() throws {
    let log = try folder.open(options)
    var pagesSeen = 0
    for revision in 1...4_000 as ClosedRange<Revision> {
      try log.append(
        group(revision, upserts: [record("w\(revision % 50)", revision: revision)]))
      pagesSeen = max(pagesSeen, log.statistics.walPages)
    }
    // A group of this test is a few pages.
    #expect(pagesSeen < options.walPagesMax + 10)
    #expect(folder.size(of: "widgetd.db-wal") < (options.walPagesMax + 10) * (4_096 + 24) + 32)
    #expect(log.statistics.checkpoints > 10)
    #expect(log.statistics.failedCheckpoints == 0)
    let image = try log.load()
    #expect(image.revision == 4_000)
    #expect(image.records.count == 50)
  }

  @Test func `a checkpoint that fails is reported, loses nothing, and is repeated`() throws {
    let failures = Mutex<[StorageError]>([])
    let log = try folder.open(options) { error in failures.withLock { $0.append(error) } }
    var revision: Revision = 0
    func appendSome() throws {
      for _ in 0..<300 {
        revision += 1
        try log.append(group(revision, upserts: [record("w\(revision)", revision: revision)]))
      }
      try #require(log.open).checkpointer.checkpointAndWait()
    }
    let hits = try WriteFaults.during(
      pathPrefix: folder.path, pathSuffix: "widgetd.db", code: ENOSPC
    ) { try appendSome() }
    #expect(hits > 0)
    #expect(log.statistics.failedCheckpoints > 0)
    #expect(failures.withLock { Set($0) } == [.full(path: folder.database)])
    #expect(try log.load().records.count == 300)

    let failed = log.statistics.failedCheckpoints
    try appendSome()
    #expect(log.statistics.failedCheckpoints == failed)
    revision += 1
    try log.append(group(revision))
    #expect(log.statistics.walPages < 10)
    try log.close()
    #expect(try folder.open().load().records.count == 600)
  }

  @Test func `a reader that stays does not stop groups`() throws {
    let log = try folder.open(options)
    try log.append(group(1))
    let backup = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
    try backup.execute("BEGIN; SELECT * FROM state")
    for revision in 2...1_000 as ClosedRange<Revision> {
      try log.append(group(revision, upserts: [record("a", revision: revision)]))
    }
    #expect(log.statistics.walPages > options.walPagesMax)
    // There is one wait for each `checkpointPages` pages, not one for each group.
    #expect(log.statistics.checkpointWaits < 60)
    try backup.execute("COMMIT")
    try #require(log.open).checkpointer.checkpointAndWait()
    try log.append(group(1_001))
    #expect(log.statistics.walPages < 10)
  }

  @Test func `an append waits for a late checkpoint only for some time`() throws {
    var options = options
    options.checkpointWaitMax = .milliseconds(1)
    let lateBytes = Mutex<[Int]>([])
    let log = try folder.open(
      options, onLateCheckpoint: { bytes in lateBytes.withLock { $0.append(bytes) } })
    let checkpointer = try #require(log.open).checkpointer
    let blocker = Blocker()
    defer {
      blocker.release()
      withExtendedLifetime(log) {}
    }
    blocker.block(checkpointer, after: checkpointer.checkpoint() + 1)
    checkpointer.checkpoint()
    blocker.waitUntilBlocked()
    for revision in 1...1_000 as ClosedRange<Revision> {
      try log.append(group(revision, upserts: [record("w\(revision % 50)", revision: revision)]))
    }
    #expect(log.statistics.walPages > options.walPagesMax)
    let late = lateBytes.withLock { $0 }
    #expect(UInt64(late.count) == log.statistics.checkpointWaits && !late.isEmpty)
    #expect(late.allSatisfy { $0 >= options.walPagesMax * Opening.pageBytes })
    // The files at this moment have all groups.
    let copy = try TemporaryFolder()
    for name in ["widgetd.db", "widgetd.db-wal", "store.mark"] {
      try folder.bytes(of: name).write(to: URL(fileURLWithPath: copy.path + "/" + name))
    }
    let copied = try copy.open().load()
    #expect(try copied == log.load())
    #expect(copied.revision == 1_000 && copied.records.count == 50)
    blocker.release()
    #expect(checkpointer.checkpointAndWait())
    try log.append(group(1_001))
    #expect(log.statistics.walPages < 10)
    #expect(try log.load().revision == 1_001)
  }

  @Test func `all waits of an append end at the same time, but no further wait is short`() {
    var wait = CheckpointWait(timeMax: .seconds(5), furtherMin: .seconds(1))
    let start = ContinuousClock.now
    let times: [Duration] = [0, 2_000, 4_900, 9_000].map { milliseconds in
      wait.begin(at: start + Duration.milliseconds(milliseconds))
    }
    #expect(times == [.seconds(5), .seconds(3), .seconds(1), .seconds(1)])
    let options = SQLiteCommitLog.Options()
    #expect(options.checkpointWaitMax == .seconds(5) && options.furtherWaitMin == .seconds(1))
  }

  /// A removal on a full disk waits for two checkpoints: before and after it gets the reserve.
  @Test(arguments: [1, 2])
  func `a removal whose checkpoint is late leaves the reserve for others`(late number: Int) throws {
    var options = SQLiteCommitLog.Options()
    options.reserveBytes = 1 << 20
    (options.checkpointWaitMax, options.furtherWaitMin) = (.milliseconds(200), .milliseconds(200))
    let lateCount = Mutex(0)
    let log = try folder.open(
      options, onLateCheckpoint: { _ in lateCount.withLock { $0 += 1 } })
    let checkpointer = try #require(log.open).checkpointer
    let blocker = Blocker()
    defer {
      blocker.release()
      withExtendedLifetime(log) {}
    }
    try log.append(group(1, upserts: [record("a", revision: 1), record("b", revision: 1)]))
    blocker.block(checkpointer, after: checkpointer.checkpoint() + 1)
    if number == 1 {
      checkpointer.checkpoint()
      blocker.waitUntilBlocked()
    }
    let reserve = folder.path + "/widgetd.reserve"
    let removal = try group(2, deletions: [id("a")], tombstones: [tombstone("a", revision: 2)])
    let hits = try WriteFaults.during(
      pathPrefix: folder.path, pathSuffix: "-wal", code: ENOSPC, whileExists: reserve
    ) {
      for _ in 0..<2 {
        #expect(throws: StorageError.full(path: folder.database)) { try log.append(removal) }
        var status = stat()
        #expect(stat(reserve, &status) == 0 && Int(status.st_blocks) * 512 >= 1 << 20)
      }
      let revision = try log.load().revision
      #expect(revision == 1)
    }
    #expect(hits > 0)
    let lates = lateCount.withLock { $0 }
    // While the checkpoint is under way, no other append waits for it. On a slow machine, the second
    // append can wait for the second checkpoint.
    #expect(lates == 1 || number == 2 && lates == 2)
    blocker.release()
    #expect(checkpointer.checkpointAndWait())
    try log.append(removal)
    #expect(try log.load().records.map(\.widget.id.rawValue) == ["b"])
  }

  /// Keeps the thread of a checkpointer from further passes, until the test lets it go on.
  private final class Blocker: Sendable {
    private let isBlocked = Mutex(false)
    private let isReleased = Mutex(false)

    /// Blocks the thread after the pass of a ticket, which must not have ended.
    func block(_ checkpointer: Checkpointer, after ticket: UInt64) {
      checkpointer.whenEnded(ticket) {
        self.isBlocked.withLock { $0 = true }
        while !self.isReleased.withLock({ $0 }) { usleep(100) }
      }
    }

    func waitUntilBlocked() {
      while !isBlocked.withLock({ $0 }) { usleep(100) }
    }

    func release() { isReleased.withLock { $0 = true } }
  }

  @Test func `a checkpoint is requested every 10 pages, and waited for only from 25 pages`() {
    var pacer = CheckpointPacer(everyPages: 10, pagesMax: 25)
    let due = (Array(1...30) + [2, 12]).filter { pacer.isDue(atPages: $0) }
    #expect(due == [10, 20, 30, 12])
    let waits = (Array(1...50) + [3, 25]).filter { pacer.mustWait(atPages: $0) }
    #expect(waits == [25, 35, 45, 25])
  }

  @Test func `changes should pause from three quarters of the bound, until a checkpoint has ended`()
    throws
  {
    var pacer = CheckpointPacer(everyPages: 10, pagesMax: 40)
    let pauses = (Array(1...50) + [3, 30]).filter { pacer.isPauseDue(atPages: $0) }
    #expect(pauses == [30, 40, 50, 30])

    let log = try folder.open(options)
    let isCaughtUp = Mutex(false)
    var (revision, waits): (Revision, Int) = (0, 0)
    while waits < 5 {
      revision += 1
      try log.append(group(revision, upserts: [record("w\(revision % 50)", revision: revision)]))
      guard log.isBehind else { continue }
      isCaughtUp.withLock { $0 = false }
      log.whenCaughtUp { isCaughtUp.withLock { $0 = true } }
      while !isCaughtUp.withLock({ $0 }) { usleep(100) }
      #expect(!log.isBehind)
      waits += 1
    }
    // A group that comes after the pause begins the log again.
    #expect(log.statistics.walPages <= options.walPagesMax)
    #expect(log.statistics.checkpointWaits == 0)
    #expect(log.statistics.checkpointPauses >= 5)
    #expect(try log.load().revision == revision)
  }

  @Test(arguments: [
    (6 << 20, 384, 96), (1 << 20, 256, 64), (64 << 20, 4_096, 1_000), (1 << 40, 8_000, 1_000),
  ])
  func `the write-ahead log takes at most a quarter of a small disk`(
    disk: Int, pagesMax: Int, checkpointPages: Int
  ) {
    let fitted = SQLiteCommitLog.Options().fitted(toDiskBytes: disk)
    #expect(fitted.walPagesMax == pagesMax)
    #expect(fitted.checkpointPages == checkpointPages)
  }
}
