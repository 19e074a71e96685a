import Foundation
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

/// Checks and backups of a store, with and without a log that has it open.
@Suite struct StoreCopiesTests {
  let folder: TemporaryFolder
  private let manager = FileManager.default
  private var backup: String { folder.path + "/backup" }

  init() throws { folder = try TemporaryFolder() }

  private func fill(_ log: SQLiteCommitLog, _ revisions: ClosedRange<Revision>) throws {
    for revision in revisions {
      try log.append(
        group(revision, ceiling: 4_096, upserts: [record("w\(revision)", revision: revision)]))
    }
  }

  private func files() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try manager.contentsOfDirectory(atPath: folder.path) {
      files[name] = try folder.bytes(of: name)
    }
    return files
  }

  private func grades(_ path: String) -> [String: StoreInspection.Grade] {
    Dictionary(
      StoreInspection(path).findings.map { ($0.check, $0.grade) }, uniquingKeysWith: { $1 })
  }

  // MARK: - Checks

  enum Ending: String, CaseIterable, Sendable { case open, killed, closed }

  @Test(arguments: Ending.allCases)
  func `a sound store passes all checks, and no file changes`(ending: Ending) throws {
    var log: SQLiteCommitLog? = try folder.open(bootID: SavedState.currentBoot())
    try fill(try #require(log), 1...3)
    if ending == .closed { try log?.close() }
    if ending != .open { log = nil }
    var before = try files()
    let inspection = StoreInspection(folder.path)
    #expect(inspection.isSound && inspection.revision == 3 && inspection.widgets == 3)
    #expect(inspection.findings.map(\.check) == ["files", "mark", "database", "pages", "rows"])
    #expect(inspection.findings.allSatisfy { $0.grade == .ok })
    var after = try files()
    // The first reader rebuilds the index of the log.
    for name in ["widgetd.db-shm"] { (before[name], after[name]) = (nil, nil) }
    #expect(before == after)
    withExtendedLifetime(log) {}
  }

  @Test func `a damaged row is named`() throws {
    do {
      let log = try folder.open()
      try fill(log, 1...3)
      try log.close()
      let other = try DatabaseConnection(path: folder.database, busyTimeoutMilliseconds: 0)
      try other.execute("UPDATE widgets SET checksum = 5 WHERE id = 'w2'")
    }
    let inspection = StoreInspection(folder.path)
    let failures = inspection.findings.filter { $0.grade == .failure }
    #expect(failures.map(\.check) == ["rows"])
    #expect(failures.first?.found.contains("table widgets, row 'w2'") == true)
    let failure = #expect(throws: StoreCopyError.self) {
      try StoreCopies.backUp(stateDirectory: folder.path, to: backup)
    }
    #expect(failure?.kind == .damaged)
    #expect(
      try manager.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.contains("backup") })
  }

  @Test func `missing files and damaged pages are reported`() throws {
    #expect(grades(folder.path) == ["files": .failure])
    #expect(!manager.fileExists(atPath: folder.database))
    do {
      let log = try folder.open()
      try fill(log, 1...3)
      try log.close()
    }
    let whole = try folder.bytes(of: "widgetd.db")
    try manager.removeItem(atPath: folder.database)
    #expect(grades(folder.path) == ["files": .failure])
    var damaged = whole
    damaged.replaceSubrange(36..<40, with: [0, 0, 0, 77])
    try damaged.write(to: URL(fileURLWithPath: folder.database))
    #expect(grades(folder.path)["pages"] == .failure)
  }

  // MARK: - Backups

  @Test func `a missing store and a missing backup are called missing`() throws {
    let noStore = #expect(throws: StoreCopyError.self) {
      try StoreCopies.backUp(stateDirectory: folder.path, to: backup)
    }
    #expect(noStore?.kind == .missing)
    let noBackup = #expect(throws: StoreCopyError.self) {
      try StoreCopies.restore(backup, stateDirectory: folder.path, epoch: 2, name: "before")
    }
    #expect(noBackup?.kind == .missing)
    #expect(noBackup?.description.contains("there is no such file") == true)
    #expect(!manager.fileExists(atPath: folder.database))
  }

  @Test func `errors name a missing folder for a backup, and a file that is no backup`() throws {
    try folder.open().close()
    let noFolder = #expect(throws: StoreCopyError.self) {
      try StoreCopies.backUp(stateDirectory: folder.path, to: folder.path + "/none/backup")
    }
    #expect(noFolder?.kind == .missing)
    #expect(noFolder?.description.contains("there is no folder \(folder.path)/none;") == true)
    try Data(repeating: 7, count: 9_000).write(to: URL(fileURLWithPath: backup))
    let junk = #expect(throws: StoreCopyError.self) {
      try StoreCopies.restore(backup, stateDirectory: folder.path, epoch: 2, name: "before")
    }
    #expect(junk?.kind == .damaged)
    #expect(junk?.description.contains("Choose another backup") == true)
    #expect(junk?.description.contains("store.mark") == false)
  }

  @Test func `restores within one second keep every former database`() throws {
    let log = try folder.open()
    try fill(log, 1...3)
    try log.close()
    _ = try StoreCopies.backUp(stateDirectory: folder.path, to: backup)
    let formers = try (2...4).map { epoch in
      let summary = try StoreCopies.restore(
        backup, stateDirectory: folder.path, epoch: UInt64(epoch), name: "now")
      return try #require(summary.former)
    }
    let first = folder.database + ".before-restore-now"
    #expect(formers == [first, first + "-2", first + "-3"])
    #expect(formers.allSatisfy { StoreInspection($0).isSound })
  }

  @Test(arguments: Ending.allCases)
  func `a backup has everything, and restores as another history`(ending: Ending) throws {
    var log: SQLiteCommitLog? = try folder.open(bootID: SavedState.currentBoot())
    try fill(try #require(log), 1...5)
    let image = try #require(log).load()
    if ending == .closed { try log?.close() }
    if ending != .open { log = nil }
    let summary = try StoreCopies.backUp(stateDirectory: folder.path, to: backup)
    #expect(summary.revision == 5 && summary.widgets == 5)
    #expect(StoreInspection(backup).isSound)
    let attributes = try manager.attributesOfItem(atPath: backup)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    if let log { try fill(log, 6...7) }

    let failure = #expect(throws: StoreCopyError.self) {
      try StoreCopies.backUp(stateDirectory: folder.path, to: backup)
    }
    #expect(failure?.kind == .exists)
    if log != nil {
      let before = try files()
      let refusal = #expect(throws: StoreCopyError.self) {
        try StoreCopies.restore(backup, stateDirectory: folder.path, epoch: 99, name: "x")
      }
      #expect(refusal?.kind == .inUse)
      let words = "in use by the daemon, process \(getpid()); stop the daemon, and try again"
      #expect(refusal?.description.hasSuffix(words) == true, "\(refusal?.description ?? "")")
      #expect(try files() == before)
      log = nil
    }
    let restored = try StoreCopies.restore(
      backup, stateDirectory: folder.path, epoch: 99, name: "x")
    #expect(restored.former == folder.database + ".before-restore-x")
    let former = StoreInspection(folder.database + ".before-restore-x")
    #expect(former.isSound && former.revision == (ending == .open ? 7 : 5))
    let again = try folder.open()
    let found = try again.load()
    #expect(found.records == image.records && found.revision == 5)
    #expect(found.epoch == 99 && found.eventSequenceCeiling > 4_096)
    #expect(again.notices.isEmpty)
    try again.append(group(6))
  }

  @Test func `a backup restores into a folder without a store`() throws {
    do {
      let log = try folder.open()
      try fill(log, 1...2)
    }
    _ = try StoreCopies.backUp(stateDirectory: folder.path, to: backup)
    let other = try TemporaryFolder()
    let target = other.path + "/new/state"
    let summary = try StoreCopies.restore(backup, stateDirectory: target, epoch: 5, name: "x")
    #expect(summary.former == nil)
    #expect(StoreInspection(target).isSound)
    guard geteuid() == 0 else { return }
    try #require(chown(folder.path, 4_321, 4_321) == 0)
    _ = try StoreCopies.restore(backup, stateDirectory: folder.path, epoch: 5, name: "x")
    for name in ["widgetd.db", "store.mark"] {
      var status = stat()
      #expect(stat(folder.path + "/" + name, &status) == 0 && status.st_uid == 4_321, "\(name)")
    }
  }

  @Test func `an incomplete backup is not restored`() throws {
    do {
      let log = try folder.open()
      try fill(log, 1...40)
      try log.close()
    }
    _ = try StoreCopies.backUp(stateDirectory: folder.path, to: backup)
    let before = try files()
    var cases: [(String, Data)] = [("empty", Data()), ("junk", Data(repeating: 7, count: 9_000))]
    let whole = try folder.bytes(of: "backup")
    cases.append(("cut", whole.prefix(whole.count / 2)))
    var damaged = whole
    let place = try #require(damaged.range(of: Data("no signal".utf8)))
    damaged.replaceSubrange(place, with: Data("my signal".utf8))
    cases.append(("a changed byte", damaged))
    let other = try TemporaryFolder()
    for (name, bytes) in cases {
      try bytes.write(to: URL(fileURLWithPath: other.path + "/backup"))
      #expect(throws: StoreCopyError.self, "\(name)") {
        try StoreCopies.restore(
          other.path + "/backup", stateDirectory: folder.path, epoch: 5, name: "x")
      }
      #expect(try files() == before, "\(name)")
    }
    #expect(throws: StoreCopyError.self) {
      try StoreCopies.restore("/nowhere", stateDirectory: folder.path, epoch: 5, name: "x")
    }
  }
}
