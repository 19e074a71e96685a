import Foundation
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

/// Backups and restores whose process ends, or whose calls fail, at any moment. Each crash is a
/// process of its own.
@Suite(.serialized) struct CopyCrashTests {
  let folder: TemporaryFolder
  private let manager = FileManager.default
  private var state: String { folder.path + "/state" }
  private var backup: String { folder.path + "/copies/backup" }
  private static let revisions: ClosedRange<Revision> = 1...3

  init() throws { folder = try TemporaryFolder() }

  /// A folder with a store of three groups, which no log has open, and a folder for backups.
  private func prepare() throws {
    for name in try manager.contentsOfDirectory(atPath: folder.path) {
      try manager.removeItem(atPath: folder.path + "/" + name)
    }
    for name in ["state", "copies"] {
      try manager.createDirectory(
        atPath: folder.path + "/" + name, withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }
    let log = try Self.openLog(state)
    for revision in Self.revisions {
      try log.append(
        group(revision, ceiling: 4_096, upserts: [record("w\(revision)", revision: revision)]))
    }
    try log.close()
  }

  private static func openLog(
    _ path: String, _ options: SQLiteCommitLog.Options = .init()
  ) throws -> SQLiteCommitLog {
    try SQLiteCommitLog(
      directory: try StateDirectory(path: path), options: options, newEpoch: 7, schema: .current,
      bootID: "boot-1", onCheckpointFailure: { _ in })
  }

  private func widgets(of path: String) throws -> [String] {
    let log = try Self.openLog(path)
    let image = try log.load()
    try log.close()
    return image.records.map(\.widget.id.rawValue).sorted()
  }

  /// A backup of the store, with the widgets `names`, and then another widget in the store.
  private func prepareRestore() throws -> [String] {
    try prepare()
    _ = try StoreCopies.backUp(stateDirectory: state, to: backup)
    let names = try widgets(of: state)
    let log = try Self.openLog(state)
    try log.append(group(9, ceiling: 4_096, upserts: [record("later", revision: 9)]))
    try log.close()
    return names
  }

  private static func restore(_ backup: String, _ state: String, name: String) throws {
    _ = try StoreCopies.restore(backup, stateDirectory: state, epoch: 8, name: name)
  }

  @Test func `a process killed at any call of a backup leaves no incomplete backup`() async throws {
    var isDone = false
    var number = 0
    while !isDone {
      try prepare()
      let (path, state, backup) = (folder.path, state, backup)
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [
          path = path as String, state = state as String, backup = backup as String,
          number = number as Int
        ] in
        WriteFaults.kill(pathPrefix: path + "/", atCall: number)
        _ = try StoreCopies.backUp(stateDirectory: state, to: backup)
        _ = FileManager.default.createFile(atPath: path + "/done", contents: nil)
        kill(getpid(), SIGKILL)
      }
      isDone = manager.fileExists(atPath: path + "/done")
      if manager.fileExists(atPath: backup) {
        #expect(StoreInspection(backup).isSound, "call \(number)")
      } else {
        // The remaining files do not prevent another attempt.
        let summary = try StoreCopies.backUp(stateDirectory: state, to: backup)
        #expect(summary.widgets == Self.revisions.count, "call \(number)")
      }
      #expect(try manager.contentsOfDirectory(atPath: folder.path + "/copies") == ["backup"])
      #expect(try widgets(of: state) == ["w1", "w2", "w3"], "call \(number)")
      number += 1
    }
    #expect(number > 5, "\(number)")
  }

  @Test
  func `a process killed at any call of a restore leaves one of both stores, or a reason`()
    async throws
  {
    var isDone = false
    var number = 0
    var refusals = 0
    while !isDone {
      let names = try prepareRestore()
      let (path, state, backup) = (folder.path, state, backup)
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [
          path = path as String, state = state as String, backup = backup as String,
          number = number as Int
        ] in
        WriteFaults.kill(pathPrefix: path + "/", atCall: number)
        try CopyCrashTests.restore(backup, state, name: "1")
        _ = FileManager.default.createFile(atPath: path + "/done", contents: nil)
        kill(getpid(), SIGKILL)
      }
      isDone = manager.fileExists(atPath: path + "/done")
      do {
        let found = try widgets(of: state)
        #expect(found == names || found == (names + ["later"]).sorted(), "call \(number)")
      } catch is StorageError {
        // The store is between two states, and the daemon does not create an empty one.
        refusals += 1
      }
      // The former store still exists, and the restore works when it is repeated.
      try Self.restore(backup, state, name: "2")
      #expect(try widgets(of: state) == names, "call \(number)")
      let former = try manager.contentsOfDirectory(atPath: state).filter {
        $0.contains(".before-restore-") && !$0.hasSuffix("-wal")
      }
      #expect(!former.isEmpty, "call \(number)")
      number += 1
    }
    #expect(number > 10 && refusals > 0, "\(number), \(refusals)")
  }

  @Test(arguments: [ENOSPC, EIO])
  func `a call that fails ends a backup with an error, and leaves nothing`(code: CInt) throws {
    var number = 0
    var refused: Set<FileCalls.Call> = []
    while true {
      try prepare()
      let call = WriteFaults.refuse(pathPrefix: folder.path, atCall: number, code: code) {
        do { _ = try StoreCopies.backUp(stateDirectory: state, to: backup) } catch {
          #expect(!manager.fileExists(atPath: backup), "call \(number)")
        }
      }
      guard let call else { break }
      refused.insert(call)
      if !manager.fileExists(atPath: backup) {
        _ = try StoreCopies.backUp(stateDirectory: state, to: backup)
      }
      #expect(StoreInspection(backup).isSound, "call \(number)")
      number += 1
    }
    #expect(refused.isSuperset(of: [.rename, .flush]), "\(refused)")
  }

  @Test(arguments: [ENOSPC, EIO])
  func `a call that fails in a restore loses neither store`(code: CInt) throws {
    var number = 0
    var refused: Set<FileCalls.Call> = []
    while true {
      let names = try prepareRestore()
      let call = WriteFaults.refuse(pathPrefix: folder.path, atCall: number, code: code) {
        try? Self.restore(backup, state, name: "1")
      }
      guard let call else { break }
      refused.insert(call)
      try Self.restore(backup, state, name: "2")
      #expect(try widgets(of: state) == names, "call \(number)")
      number += 1
    }
    #expect(refused.isSuperset(of: [.rename, .flush, .write, .truncate]), "\(refused)")
  }

  @Test func `a mark that cannot be written costs only its protection`() throws {
    var number = 0
    while true {
      try prepare()
      try manager.removeItem(atPath: state + "/" + StoreMark.fileName)
      var notices = 0
      let call = try WriteFaults.refuse(
        pathPrefix: state + "/" + StoreMark.fileName, atCall: number, code: ENOSPC
      ) {
        let log = try Self.openLog(state)
        notices = log.notices.count
        try log.append(group(4, ceiling: 4_096, upserts: [record("w4", revision: 4)]))
        try log.close()
      }
      #expect(try widgets(of: state) == ["w1", "w2", "w3", "w4"], "call \(number)")
      guard let call else { break }
      #expect(notices == (call == .unlink || number > 3 ? 0 : 1), "call \(number), \(call)")
      number += 1
    }
    #expect(number > 3)
  }

  // MARK: - Removed stores

  private var database: String { state + "/" + SQLiteCommitLog.databaseFileName }
  private var away: String { folder.path + "/away" }

  /// The names of complete and incomplete copies of a removed store.
  private func copies() throws -> [String] {
    try manager.contentsOfDirectory(atPath: state).filter { $0.hasPrefix("widgetd.db.sav") }
  }

  /// A log with 300 more widgets, whose database is then moved away.
  private func openAndRemove(_ options: SQLiteCommitLog.Options = .init()) throws -> SQLiteCommitLog
  {
    try prepare()
    let log = try Self.openLog(state, options)
    let records = try (0..<300).map { try record("x\($0)", revision: 4) }
    try log.append(group(4, ceiling: 4_096, upserts: records))
    try manager.moveItem(atPath: database, toPath: away)
    return log
  }

  /// The thread that saves the removed store waits for this file.
  private var gate: String { folder.path + "/gate" }

  private func closeGate() {
    let gate = gate
    beforeCopy {
      while access(gate, F_OK) != 0 { usleep(1_000) }
    }
  }

  private func openGate() { #expect(manager.createFile(atPath: gate, contents: nil)) }

  /// Calls a closure on the thread that saves the removed store, before it begins to write.
  private func beforeCopy(_ body: @escaping @Sendable () -> Void) {
    let unfinished = Checkpointer.temporaryCopy(of: database)
    FileCalls.setFaults { call, path in
      if call == .unlink, path == unfinished { body() }
      return nil
    }
  }

  @Test func `nobody waits while a removed store is saved`() throws {
    let log = try openAndRemove()
    closeGate()
    defer { FileCalls.setFaults(nil) }
    let file = database + ".saved-4"
    // The copy cannot begin, and these calls return nevertheless.
    for _ in 0..<2 {
      let failure = #expect(throws: StorageError.self) { try log.check() }
      let expected = StorageError.removed(
        path: database, detail: "was removed", lastRevision: 4, copy: .underWay(path: file))
      #expect(failure == expected)
    }
    #expect(!manager.fileExists(atPath: file))
    openGate()
    #expect(try log.endedCopy() == .saved(path: file))
    #expect(try copies() == ["widgetd.db.saved-4"])
    let found = StoreInspection(file)
    #expect(found.isSound && found.widgets == Self.revisions.count + 300)
  }

  @Test func `a store that is back is no longer saved`() throws {
    let log = try openAndRemove()
    closeGate()
    defer { FileCalls.setFaults(nil) }
    #expect(throws: StorageError.self) { try log.check() }
    try manager.moveItem(atPath: away, toPath: database)
    #expect(throws: Never.self) { try log.check() }
    openGate()
    log.open?.checkpointer.checkpointAndWait()
    #expect(try copies() == [])
    try log.append(group(5, ceiling: 4_096, upserts: [record("later", revision: 5)]))
  }

  @Test(arguments: [Duration.zero, .seconds(600)])
  func `a stop in a copy leaves a complete copy or none`(_ wait: Duration) throws {
    var options = SQLiteCommitLog.Options()
    options.copyWaitMax = wait
    let log = try openAndRemove(options)
    let checkpointer = try #require(log.open?.checkpointer)
    beforeCopy {
      // Ends when the stop has begun.
      while !checkpointer.hasEnded(.max) { usleep(1_000) }
    }
    defer { FileCalls.setFaults(nil) }
    #expect(throws: StorageError.self) { try log.check() }
    let failure = #expect(throws: StorageError.self) { try log.close() }
    let words = failure.map { "\($0)" } ?? ""
    if wait == .zero {
      #expect(words.contains("the daemon stopped before the copy was complete"), "\(words)")
      #expect(try copies() == [])
    } else {
      #expect(words.contains("is in \(database).saved-4"), "\(words)")
      #expect(try copies() == ["widgetd.db.saved-4"])
      #expect(StoreInspection(database + ".saved-4").isSound)
    }
    // The database and its log are complete in every case.
    try manager.moveItem(atPath: away, toPath: database)
    #expect(try widgets(of: state).count == Self.revisions.count + 300)
  }

  /// SQLite writes a journal beside the copy.
  @Test(arguments: [["", "-journal"], ["-journal"], ["", "-wal"]])
  func `a start removes the incomplete copy of a killed process`(suffixes: [String]) throws {
    try prepare()
    let unfinished = Checkpointer.temporaryCopy(of: database)
    for suffix in suffixes {
      #expect(manager.createFile(atPath: unfinished + suffix, contents: Data([1, 2, 3])))
    }
    #expect(try widgets(of: state) == ["w1", "w2", "w3"])
    #expect(try copies() == [])
  }
}
