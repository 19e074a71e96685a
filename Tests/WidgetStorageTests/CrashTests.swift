import Foundation
import SeededRandom
import Synchronization
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

/// The state that survives the sudden end of a process. Each example is a separate process.
///
/// These tests cannot show a power cut: the kernel still has all written bytes.
@Suite(.serialized) struct CrashTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Appends until it is killed: group `n` writes ten widgets, deletes another, and is acknowledged
  /// by a line in a file. Another thread kills the process, at a moment that is not synchronised
  /// with the appending.
  private static func appendUntilKilled(
    path: String, durability: Durability, seed: UInt64
  ) throws {
    var options = SQLiteCommitLog.Options()
    options.durability = durability
    options.checkpointPages = 20
    options.walPagesMax = 200
    let log = try SQLiteCommitLog(
      directory: try StateDirectory(path: path), options: options, newEpoch: 7,
      schema: .current, bootID: "boot-1", onCheckpointFailure: { _ in })
    let file = open(path + "/acknowledged", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    guard file >= 0 else { return }
    let start = try log.load().revision
    let acknowledged = Counter()
    let strikeAfter = Int(seed * 7 % 90) + 1
    try withKiller(when: { acknowledged.value >= strikeAfter }, seed: seed) {
      var revision = start
      while true {
        revision += 1
        try log.append(CrashTests.group(revision))
        let line = Array("\(revision)\n".utf8)
        guard write(file, line, line.count) == line.count else { return }
        acknowledged.increment()
      }
    }
  }

  /// The state that the two threads share.
  private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func increment() { count.add(1, ordering: .relaxed) }
  }

  private static func withKiller(
    when isTime: @escaping @Sendable () -> Bool, seed: UInt64, delaysMax: Int = 3_000,
    _ body: () throws -> Void
  ) rethrows {
    Thread.detachNewThread {
      while !isTime() { sched_yield() }
      var random = SeededGenerator(seed: seed)
      for _ in 0..<Int.random(in: 0..<delaysMax, using: &random) { _ = random.next() }
      kill(getpid(), SIGKILL)
    }
    try body()
  }

  private static func group(_ revision: Revision) throws -> CommitGroup {
    CommitGroup(
      revision: revision, compactRevision: revision - min(revision, 5),
      eventSequenceCeiling: revision * 10,
      deletions: [try id("gone\(revision - 1)")],
      upserts: try (0..<10).map { try record("w\($0)", revision: revision) }
        + [try record("gone\(revision)", revision: revision)],
      tombstones: [try tombstone("gone\(revision - 1)", revision: revision)],
      requests: [request("r\(revision)")])
  }

  /// A group with rows of each table. Groups with odd revisions write them, and the next groups
  /// remove them.
  private static func fullGroup(_ revision: Revision) throws -> CommitGroup {
    var result = try CrashTests.group(revision)
    let (clock, gauge) = (try kind("clock"), try kind("gauge"))
    guard revision % 2 == 1 else {
      result.kindDeletions = [clock]
      result.eventTrims = [
        EventTrim(kind: clock, before: revision, lost: nil),
        EventTrim(kind: gauge, before: 0, lost: nil),
      ]
      result.theme = RevisedTheme(overrides: [:], revision: revision)
      result.refreshBudgetDeletions = [clock]
      return result
    }
    result.kindUpserts = [
      RegisteredKind(
        kind: Kind(name: clock), provider: "desk", revision: revision, updateTime: noon)
    ]
    result.eventTrims = [EventTrim(kind: gauge, before: 0, lost: 1...2)]
    result.events = [
      EventImage(
        kind: clock,
        event: Event(sequence: revision, widgetID: try id("w1"), name: "press", time: noon))
    ]
    result.theme = RevisedTheme(overrides: ["offset.basic": .offset(2)], revision: revision)
    result.refreshBudgets = [RefreshBudgetImage(kind: clock, leftThousandths: 1_500, seconds: 60)]
    return result
  }

  @Test(arguments: [
    (Durability.process, UInt64(1)), (.process, 2), (.process, 3), (.process, 4), (.power, 5),
  ])
  func `a killed process leaves every acknowledged group and no part of another`(
    durability: Durability, seed: UInt64
  ) async throws {
    let path = folder.path
    let name = durability.rawValue
    var naive = NaiveHistory()
    // Each round continues what the last one left behind.
    for round in 0..<3 as Range<UInt64> {
      let seed = seed * 100 + round
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, name = name as String, seed = seed as UInt64] in
        try CrashTests.appendUntilKilled(
          path: path, durability: try #require(Durability(rawValue: name)), seed: seed)
      }
      let lines = String(decoding: try folder.bytes(of: "acknowledged"), as: UTF8.self)
      let last = try #require(UInt64(lines.split(separator: "\n").last ?? ""))
      do {
        let log = try folder.open(newEpoch: 8)
        let image = try log.load()
        #expect(image.revision == last || image.revision == last + 1)
        while naive.image.revision < image.revision {
          naive.append(try CrashTests.group(naive.image.revision + 1))
        }
        #expect(image == naive.image.withoutForgottenKeys)
      }
    }
  }

  /// Opens a store, appends two groups and closes it, and is killed at a call that changes a file
  /// of the folder; at the end, if there is no such call.
  private static func appendUntilCall(_ number: Int, path: String) throws {
    WriteFaults.kill(pathPrefix: path + "/", atCall: number)
    let log = try SQLiteCommitLog(
      directory: try StateDirectory(path: path), options: .init(), newEpoch: 7, schema: .current,
      bootID: "boot-1", onCheckpointFailure: { _ in })
    let file = open(path + "/acknowledged", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    for revision in 1...2 as ClosedRange<Revision> {
      try log.append(CrashTests.fullGroup(revision))
      let line = Array("\(revision)\n".utf8)
      guard write(file, line, line.count) == line.count else { return }
    }
    try log.close()
    close(open(path + "/done", O_WRONLY | O_CREAT, 0o600))
    kill(getpid(), SIGKILL)
  }

  @Test
  func `a process killed at any of its calls that change files leaves every acknowledged group`()
    async throws
  {
    let path = folder.path
    var isDone = false
    var number = 0
    while !isDone {
      try removeFiles()
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, number = number as Int] in
        try CrashTests.appendUntilCall(number, path: path)
      }
      isDone = access(path + "/done", F_OK) == 0
      let lines = (try? folder.bytes(of: "acknowledged")).map {
        String(decoding: $0, as: UTF8.self)
      }
      let last = lines?.split(separator: "\n").last.flatMap { UInt64($0) } ?? 0
      var naive = NaiveHistory()
      let image = try loadAfterKill()
      #expect(image.revision == last || image.revision == last + 1, "call \(number)")
      while naive.image.revision < image.revision {
        naive.append(try CrashTests.fullGroup(naive.image.revision + 1))
      }
      #expect(image == naive.image.withoutForgottenKeys, "call \(number)")
      number += 1
    }
    #expect(number > 40, "the calls for two groups, for opening and for closing: \(number)")
  }

  private func removeFiles() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      try FileManager.default.removeItem(atPath: folder.path + "/" + name)
    }
  }

  /// The content of the store that a killed process has left.
  private func loadAfterKill() throws -> StoreImage {
    let mark = try StoreMark.read(folder.path + "/" + StoreMark.fileName)
    let log = try folder.open(newEpoch: 7)
    var image = try log.load()
    if mark == .none || mark == .damaged {
      // Without its mark, a store begins a new history of events. Nothing of its state is lost.
      image.eventSequenceCeiling %= SavedState.eventSequenceReserve
    }
    return image
  }

  /// Opens a store, which upgrades it, and is killed at a call that changes a file of the folder;
  /// at the end, if there is no such call.
  private static func upgradeUntilCall(_ number: Int, path: String) throws {
    WriteFaults.kill(pathPrefix: path + "/", atCall: number)
    let log = try SQLiteCommitLog(
      directory: try StateDirectory(path: path), options: .init(), newEpoch: 7, schema: .current,
      bootID: "boot-1", onCheckpointFailure: { _ in })
    close(open(path + "/done", O_WRONLY | O_CREAT, 0o600))
    kill(getpid(), SIGKILL)
    withExtendedLifetime(log) {}
  }

  @Test
  func `a process killed at any of its calls that change files during an upgrade loses nothing`()
    async throws
  {
    let old = try TemporaryFolder()
    var naive = NaiveHistory()
    do {
      var first = try CrashTests.fullGroup(1)
      let log = try old.open()
      try log.append(first)
      try log.close()
      try old.downgrade()
      // The old version has no budgets.
      first.refreshBudgets = []
      naive.append(first)
    }
    let path = folder.path
    var isDone = false
    var number = 0
    while !isDone {
      try removeFiles()
      for name in [SQLiteCommitLog.databaseFileName, StoreMark.fileName] {
        try FileManager.default.copyItem(atPath: old.path + "/" + name, toPath: path + "/" + name)
      }
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, number = number as Int] in
        try CrashTests.upgradeUntilCall(number, path: path)
      }
      isDone = access(path + "/done", F_OK) == 0
      #expect(try loadAfterKill() == naive.image.withoutForgottenKeys, "call \(number)")
      number += 1
    }
    #expect(number > 20, "the calls for the upgrade: \(number)")
  }

  /// Opens, appends and closes again and again, until it is killed.
  private static func reopenUntilKilled(path: String, seed: UInt64) throws {
    let opened = Counter()
    let strikeAfter = Int(seed % 3)
    try withKiller(when: { opened.value >= strikeAfter }, seed: seed, delaysMax: 200_000) {
      while true {
        let log = try SQLiteCommitLog(
          directory: try StateDirectory(path: path), options: .init(), newEpoch: 7,
          schema: .current, bootID: "boot-1", onCheckpointFailure: { _ in })
        opened.increment()
        let revision = try log.load().revision + 1
        try log.append(
          CommitGroup(revision: revision, compactRevision: 0, eventSequenceCeiling: 0))
        try log.close()
      }
    }
  }

  @Test func `a process killed while it opens or closes leaves a store that opens`() async throws {
    let path = folder.path
    var revision: Revision = 0
    for seed in 0..<24 as Range<UInt64> {
      // Half of them begin with nothing.
      if seed % 2 == 0 {
        try removeFiles()
        revision = 0
      }
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, seed = seed as UInt64] in
        try CrashTests.reopenUntilKilled(path: path, seed: seed)
      }
      let log = try folder.open(newEpoch: 8)
      #expect(log.notices.isEmpty)
      let found = try log.load().revision
      #expect(found >= revision)
      revision = found
    }
  }

  @Test
  func `at the file size limit a group is refused, and goes through when the limit is raised`()
    async throws
  {
    let path = folder.path
    await #expect(processExitsWith: .success) { [path = path as String] in
      signal(SIGXFSZ, SIG_IGN)
      let log = try SQLiteCommitLog(
        directory: try StateDirectory(path: path), newEpoch: 7, onCheckpointFailure: { _ in })
      try log.append(WidgetStorageTests.group(1, upserts: [record("a", revision: 1)]))
      let before = try log.load()
      let fileSizeLimit = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
      var limit = rlimit()
      getrlimit(fileSizeLimit, &limit)
      let old = limit.rlim_cur
      limit.rlim_cur = 200 << 10
      setrlimit(fileSizeLimit, &limit)
      let large = WidgetStorageTests.group(
        2, upserts: [try record("b", revision: 2, note: String(repeating: "x", count: 900_000))])
      #expect(throws: StorageError.full(path: path + "/widgetd.db")) { try log.append(large) }
      #expect(try log.load() == before)
      try log.append(WidgetStorageTests.group(2, upserts: [record("c", revision: 2)]))
      limit.rlim_cur = old
      setrlimit(fileSizeLimit, &limit)
      try log.append(large)
      try log.close()
    }
    #expect(try folder.open().load().records.map(\.widget.id.rawValue) == ["a", "b", "c"])
  }

  @Test func `a second process is refused the directory, and gets the pid of the first`()
    async throws
  {
    let directory = try StateDirectory(path: folder.path)
    let path = folder.path
    let holder = getpid()
    await #expect(processExitsWith: .success) { [path = path as String, holder = holder as Int32] in
      #expect(getpid() != holder)
      #expect(throws: StorageError.locked(path: path + "/widgetd.lock", pid: holder)) {
        try StateDirectory(path: path)
      }
    }
    directory.release()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let directory = try StateDirectory(path: path)
      kill(getpid(), SIGKILL)
      directory.release()
    }
    // The kernel has dropped the lock; the file still names the dead process.
    _ = try StateDirectory(path: folder.path)
  }
}
