import Foundation
import SeededRandom
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetStorage

/// A folder that is removed with this object.
final class TemporaryFolder {
  let path: String

  init() throws {
    var template = Array(
      (FileManager.default.temporaryDirectory.path + "/wstore.XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    path = template.withUnsafeBufferPointer { buffer in
      String(decoding: buffer.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The last part of the path.
  var name: String { String(path.split(separator: "/").last ?? "") }
  var database: String { path + "/" + SQLiteCommitLog.databaseFileName }

  func bytes(of name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
  }

  func size(of name: String) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path + "/" + name)
    return (attributes?[.size] as? NSNumber)?.intValue ?? 0
  }

  /// Makes the database, which no log has open, one of version 8: without checksums, budgets and
  /// the running time.
  func downgrade() throws {
    let old = try DatabaseConnection(path: database, busyTimeoutMilliseconds: 0)
    try old.execute("DROP TABLE refresh_budgets")
    for table in Schema.checkedTables(version: Schema.versionWithChecksums) {
      try old.execute("ALTER TABLE \(table.name) DROP COLUMN checksum")
    }
    try old.execute("ALTER TABLE state DROP COLUMN checksum")
    try old.execute("ALTER TABLE state DROP COLUMN running_nanoseconds")
    // By the clock, these answers expired years ago. A migration restarts the lifetime of old
    // answers.
    try old.execute("UPDATE requests SET expires_seconds = 1, expires_nanoseconds = 5")
    try old.execute("PRAGMA user_version = 8")
    try old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// A log in this folder.
  func open(
    _ options: SQLiteCommitLog.Options = .init(), newEpoch: UInt64 = 7, schema: Schema = .current,
    bootID: String? = "boot-1", isRepair: Bool = false,
    onCheckpointFailure: @escaping @Sendable (StorageError) -> Void = { _ in },
    onLateCheckpoint: @escaping @Sendable (_ logBytes: Int) -> Void = { _ in }
  ) throws(StorageError) -> SQLiteCommitLog {
    try SQLiteCommitLog(
      directory: try StateDirectory(path: path, isRepair: isRepair), options: options,
      newEpoch: newEpoch, schema: schema, bootID: bootID, onCheckpointFailure: onCheckpointFailure,
      onLateCheckpoint: onLateCheckpoint)
  }
}

extension SQLiteCommitLog {
  /// The copy of the removed store, when it is no longer being written.
  func endedCopy() throws -> SavedCopy {
    for _ in 0..<900_000 {
      do throws(StorageError) { try check() } catch {
        guard case .removed(_, _, _, let copy) = error else { throw error }
        guard case .underWay = copy else { return copy }
      }
      usleep(1_000)
    }
    throw CocoaError(.fileWriteUnknown)
  }
}

/// The state after the groups, computed in the simplest way.
struct NaiveHistory {
  private(set) var image: StoreImage

  init(epoch: UInt64 = 7) { image = StoreImage(epoch: epoch) }

  mutating func append(_ group: CommitGroup) {
    image.revision = group.revision
    image.compactRevision = group.compactRevision
    image.eventSequenceCeiling = group.eventSequenceCeiling
    image.runningTime = max(image.runningTime, group.runningTime)
    image.records.removeAll { group.deletions.contains($0.widget.id) }
    for record in group.upserts {
      image.records.removeAll { $0.widget.id == record.widget.id }
      image.records.append(record)
    }
    for tombstone in group.tombstones {
      image.tombstones.removeAll { $0.id == tombstone.id && $0.revision == tombstone.revision }
      image.tombstones.append(tombstone)
    }
    image.tombstones.removeAll { $0.revision <= group.compactRevision }
    for request in group.requests {
      image.requests.removeAll { $0.uid == request.uid && $0.requestID == request.requestID }
      image.requests.append(request)
    }
    if let theme = group.theme { image.theme = theme }
    let budgets = Set(group.refreshBudgets.map(\.kind)).union(group.refreshBudgetDeletions)
    image.refreshBudgets.removeAll { budgets.contains($0.kind) }
    image.refreshBudgets += group.refreshBudgets
    // The store returns them in this order.
    image.refreshBudgets.sort { $0.kind.rawValue < $1.kind.rawValue }
    image.kinds.removeAll { group.kindDeletions.contains($0.kind.name) }
    for registered in group.kindUpserts {
      image.kinds.removeAll { $0.kind.name == registered.kind.name }
      image.kinds.append(registered)
    }
    for trim in group.eventTrims {
      image.events.removeAll { $0.kind == trim.kind && $0.event.sequence < trim.before }
      image.lostEvents[trim.kind] = trim.lost
    }
    image.events += group.events
    // Records, tombstones and kinds have no order.
    image.kinds.sort { $0.kind.name.rawValue < $1.kind.name.rawValue }
    image.records.sort { $0.widget.id.rawValue < $1.widget.id.rawValue }
    image.tombstones.sort { ($0.revision, $0.id.rawValue) < ($1.revision, $1.id.rawValue) }
  }
}

func id(_ text: String) throws -> WidgetID { try #require(WidgetID(text)) }
func kind(_ text: String) throws -> KindName { try #require(KindName(text)) }
let noon = Timestamp(nanosecondsSinceEpoch: 1_700_000_000_123_456_789)

/// A widget whose fields all differ from their defaults.
func record(_ name: String, revision: Revision, note: String = "note") throws -> RecordImage {
  RecordImage(
    widget: Widget(
      id: try id(name), kind: try kind("clock"), family: .circular,
      labels: ["room": "kitchen", "": "empty key"],
      presence: Presence(isVisible: false, isEnabled: true), position: -5, isStale: true,
      error: WidgetError(reason: "OFFLINE", message: "no signal"), createdRevision: 1,
      revision: revision, createTime: noon, updateTime: noon.advanced(by: .nanoseconds(1)),
      ownerUID: 1_000, applySet: "desk"),
    data: [
      RevisedEntry(key: "text", value: .string(note), revision: revision),
      RevisedEntry(key: "null", value: .null, revision: revision),
      RevisedEntry(key: "gone", value: nil, revision: revision),
      RevisedEntry(
        key: "deep",
        value: .map(["a": .list([.int(.min), .double(-0.0), .bytes([0, 255])])]),
        revision: revision),
    ],
    parameters: [
      RevisedEntry(key: "zone", value: .timestamp(.earliest), revision: 1),
      RevisedEntry(key: "every", value: .duration(.milliseconds(-1_500)), revision: 1),
    ],
    labelsRevision: 1, presenceRevision: revision, positionRevision: 1, statusRevision: revision,
    transition: Transition(curve: .spring, duration: .milliseconds(250), springResponse: 0.5),
    transitionRevision: revision)
}

func tombstone(_ name: String, revision: Revision) throws -> TombstoneImage {
  TombstoneImage(
    id: try id(name), kind: try kind("clock"),
    createdRevision: 1, revision: revision, transition: Transition(curve: .opacity))
}

func request(
  _ name: String, uid: UInt32 = 1_000, response: [UInt8] = [1, 2, 0],
  expires: RunningTime = RunningTime(elapsed: .seconds(600))
) -> RequestImage {
  RequestImage(
    uid: uid, requestID: name, fingerprint: .max - 1, response: response, expires: expires)
}

func group(
  _ revision: Revision, compact: Revision = 0, ceiling: UInt64 = 0, deletions: [WidgetID] = [],
  upserts: [RecordImage] = [], tombstones: [TombstoneImage] = [], requests: [RequestImage] = []
) -> CommitGroup {
  CommitGroup(
    revision: revision, compactRevision: compact, eventSequenceCeiling: ceiling,
    deletions: deletions, upserts: upserts, tombstones: tombstones, requests: requests)
}

/// A history of groups with every part that groups can have. The same seed gives the same history.
func randomGroups(_ count: Int, seed: UInt64) throws -> [CommitGroup] {
  var random = SeededGenerator(seed: seed)
  var revision: Revision = 0
  var compact: Revision = 0
  var ceiling: UInt64 = 0
  var events: UInt64 = 0
  var alive: Set<String> = []
  return try (0..<count).map { number in
    var result = group(0)
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      revision += 1
      let name = "w\(Int.random(in: 0..<20, using: &random))"
      if alive.contains(name), Bool.random(using: &random) {
        alive.remove(name)
        result.upserts.removeAll { $0.widget.id.rawValue == name }
        result.deletions.append(try id(name))
        result.tombstones.append(try tombstone(name, revision: revision))
      } else {
        alive.insert(name)
        let note = String(repeating: "é", count: Int.random(in: 0..<3_000, using: &random))
        result.upserts.removeAll { $0.widget.id.rawValue == name }
        result.upserts.append(try record(name, revision: revision, note: note))
      }
    }
    if number % 7 == 3 {
      result.refreshBudgets = try (0..<number % 3).map { index in
        RefreshBudgetImage(
          kind: try kind("k\(index)"), leftThousandths: Int64(number), seconds: Int64(number))
      }
      result.refreshBudgetDeletions = [try kind("k\(number % 3)")]
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      let name = try kind("k\(Int.random(in: 0..<4, using: &random))")
      if Int.random(in: 0..<3, using: &random) == 0 {
        result.kindDeletions.append(name)
      } else {
        result.kindUpserts.append(
          RegisteredKind(
            kind: Kind(
              name: name, displayName: "Kind \(number)", families: [.inline],
              parameters: [Field(name: "zone", type: .string, defaultValue: .string("é"))],
              data: [Field(name: "x", type: .map(.list(.double)))], isOpen: number % 2 == 0,
              events: [EventType(name: "click", payload: [Field(name: "n", type: .int)])],
              transition: Transition(curve: .spring)),
            provider: "desk", ownerUID: 7, revision: revision, updateTime: noon,
            isAttended: number % 2 == 1))
      }
    }
    if Int.random(in: 0..<5, using: &random) == 0 { ceiling += 4_096 }
    if ceiling > 0 {
      let name = try kind("k\(Int.random(in: 0..<4, using: &random))")
      if Int.random(in: 0..<4, using: &random) == 0 {
        let before = events - UInt64.random(in: 0..<min(events + 1, 4), using: &random)
        result.eventTrims.append(
          EventTrim(kind: name, before: before, lost: Bool.random(using: &random) ? 1...9 : nil))
      }
      events += 1
      result.events.append(
        EventImage(
          kind: name,
          event: Event(
            sequence: events, widgetID: try id("w1"), nodeID: "plus", name: "click",
            payload: ["n": .list([.double(-0.0), .null])], time: noon, revision: revision,
            origin: EventOrigin(uid: 7, pid: 8, client: "é"), isForced: number % 2 == 0)))
    }
    if Int.random(in: 0..<8, using: &random) == 0 { compact = revision / 2 }
    if Bool.random(using: &random) { result.requests.append(request("r\(number)")) }
    result.revision = revision
    result.compactRevision = compact
    result.eventSequenceCeiling = ceiling
    return result
  }
}

extension StoreImage {
  /// Without removed keys that no watcher needs, because loading omits those.
  var withoutForgottenKeys: StoreImage {
    var result = self
    for index in records.indices {
      result.records[index].data.removeAll { $0.value == nil && $0.revision <= compactRevision }
      result.records[index].parameters.removeAll {
        $0.value == nil && $0.revision <= compactRevision
      }
    }
    return result
  }
}
