import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

@Suite struct RoundTripTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `a new database is an empty history with the given epoch`() throws {
    let log = try folder.open(newEpoch: .max)
    #expect(try log.load() == StoreImage(epoch: .max))
    #expect(log.name == "sqlite")
    #expect(log.needsGroups)
    #expect(!log.isHistoryCut)
  }

  @Test(arguments: [UInt64](1...6))
  func `loading gives the result of all groups`(seed: UInt64) throws {
    var naive = NaiveHistory()
    var log = try folder.open()
    for (number, group) in try randomGroups(60, seed: seed).enumerated() {
      try log.append(group)
      naive.append(group)
      if number % 20 == 7 {
        try log.close()
        log = try folder.open(newEpoch: 8)
      }
      if number % 5 == 0 {
        #expect(try log.load() == naive.image.withoutForgottenKeys)
      }
    }
    #expect(try log.load() == naive.image.withoutForgottenKeys)
  }

  @Test func `a log that was not closed has every group when it is opened again`() throws {
    var naive = NaiveHistory()
    var log: SQLiteCommitLog? = try folder.open()
    for group in try randomGroups(30, seed: 9) {
      try log?.append(group)
      naive.append(group)
    }
    log = nil
    let again = try folder.open(newEpoch: 8)
    #expect(try again.load() == naive.image.withoutForgottenKeys)
    #expect(!again.isHistoryCut)
  }

  @Test func `a widget that is deleted and made again in one group is the new one`() throws {
    let log = try folder.open()
    try log.append(group(1, upserts: [record("a", revision: 1, note: "old")]))
    let new = try record("a", revision: 3, note: "new")
    try log.append(
      group(
        3, deletions: [id("a")], upserts: [new], tombstones: [tombstone("a", revision: 2)]))
    let image = try log.load()
    #expect(image.records == [new])
    #expect(image.tombstones == [try tombstone("a", revision: 2)])
  }

  @Test func `an id that is removed twice has both tombstones`() throws {
    let log = try folder.open()
    let both = [try tombstone("a", revision: 2), try tombstone("a", revision: 4)]
    try log.append(group(4, deletions: [id("a"), id("a")], tombstones: both))
    #expect(try log.load().tombstones == both)
  }

  @Test func `tombstones and removed keys go at the compact revision`() throws {
    let log = try folder.open()
    let all = try (1...5).map { try tombstone("t\($0)", revision: Revision($0)) }
    try log.append(group(5, upserts: [record("old", revision: 3)], tombstones: all))
    try log.append(group(6, compact: 3, upserts: [record("new", revision: 6)]))
    let image = try log.load()
    #expect(image.compactRevision == 3)
    #expect(image.tombstones.map(\.revision) == [4, 5])
    #expect(image.records.map { $0.data.contains { $0.key == "gone" } } == [true, false])
    #expect(try rows("tombstones", log) == 2)
  }

  @Test func `the event ceiling is kept even if nothing else changes`() throws {
    let log = try folder.open()
    try log.append(group(0, ceiling: 4_096))
    try log.close()
    #expect(try folder.open().load().eventSequenceCeiling == 4_096)
  }

  @Test func `expired answers are left out, and their rows go later`() throws {
    var log = try folder.open()
    let times = (0..<4).map { RunningTime(elapsed: .milliseconds(1_000 * $0 + 7)) }
    try log.append(
      group(1, requests: times.enumerated().map { request("r\($0)", expires: $1) }))
    var later = group(1)
    later.runningTime = times[1]
    try log.append(later)
    // The store's time does not go back.
    try log.append(group(1))
    try log.close()
    log = try folder.open()
    #expect(try log.load().runningTime == times[1])
    #expect(try log.load().requests.map(\.requestID) == ["r2", "r3"])
    #expect(try rows("requests", log) == 4)
    try log.append(group(2, requests: [request("r4")]))
    #expect(try rows("requests", log) == 3)
    #expect(try log.load().requests.map(\.requestID) == ["r2", "r3", "r4"])
  }

  @Test func `the latest of several answers with one id counts`() throws {
    let log = try folder.open()
    try log.append(group(1, requests: [request("a", response: [1]), request("a", uid: 0)]))
    try log.append(group(2, requests: [request("a", response: [])]))
    #expect(
      try log.load().requests == [request("a", uid: 0), request("a", response: [])])
  }

  @Test func `only the newest answers are kept`() throws {
    var options = SQLiteCommitLog.Options()
    options.requestsKeptMax = 10
    var log = try folder.open(options)
    for number in 1...100 {
      if number == 50 {
        try log.close()
        log = try folder.open(options)
      }
      try log.append(group(Revision(number), requests: [request("r\(number)")]))
    }
    // One group's answers above the limit remain until the next group removes them.
    #expect(try rows("requests", log) == 11)
    #expect(try log.load().requests.last?.requestID == "r100")
  }

  @Test func `a store continues after a restart without a difference`() throws {
    let caller = Caller(uid: 1_000, pid: 1)
    var log = try folder.open()
    var store = WidgetStore(image: try log.load(), isRevocable: log.needsGroups)
    func commit() throws {
      try log.append(store.pendingGroup())
      store.commitGroup(at: .zero)
    }
    for name in ["a", "b", "c"] {
      let spec = WidgetSpec(
        id: try id(name), kind: try kind("clock"), data: ["n": .int(1), "gone": .null])
      _ = try store.apply(.create(spec), by: caller, at: noon)
    }
    try commit()
    _ = try store.apply(.update(id("a"), WidgetPatch(unsetData: ["gone"])), by: caller, at: noon)
    _ = try store.apply(.delete(id("b")), by: caller, at: noon)
    _ = try store.apply(.move(id("c"), to: .first), by: caller, at: noon)
    let draft = EventDraft(widgetID: try id("a"), name: "tap")
    _ = try store.apply(.sendEvent(draft), by: caller, at: noon)
    try commit()
    try log.close()

    log = try folder.open(newEpoch: 8)
    let restored = WidgetStore(image: try log.load(), isRevocable: true)
    #expect(restored.epoch == store.epoch)
    #expect(restored.revision == store.revision)
    #expect(restored.list(after: nil, limit: 9).widgets == store.list(after: nil, limit: 9).widgets)
    #expect(restored.lastEventSequence >= store.lastEventSequence)
  }

  @Test func `the store in memory stores nothing and needs no groups`() {
    let log = MemoryCommitLog(epoch: 3)
    #expect(!log.needsGroups)
    log.append(group(1))
    log.close()
    #expect(log.load() == StoreImage(epoch: 3))
  }

  private func rows(_ table: String, _ log: SQLiteCommitLog) throws -> Int64 {
    try #require(log.open).connection.number("SELECT count(*) FROM \(table)")
  }
}
