import Glibc
import WidgetCore
import WidgetModel

/// The database's `state` row.
struct SavedState: Equatable {
  var epoch: UInt64
  var revision: Revision
  var compactRevision: Revision
  var eventSequenceCeiling: UInt64
  /// The boot of the machine in which unsynced groups were written. They exist while the machine
  /// runs, and can be lost at the next boot. Empty if all groups are on disk.
  var unsyncedBoot: String
  /// Names the store, for its mark.
  let storeID: String
  /// The number of groups that were appended so far.
  var groups: UInt64
  /// The store's running time at the last group.
  var runningTime: RunningTime

  /// The step by which the ceiling of event numbers is raised if groups that raised it may be
  /// missing. One daemon never accepts so many events between two boots.
  static let eventSequenceReserve: UInt64 = 1 << 32

  /// The name of the boot if the machine has none.
  static let unknownBoot = "unknown"

  /// The kernel's name for the current boot.
  static func currentBoot() -> String? {
    let descriptor = Glibc.open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { _ = Glibc.close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    let text = String(decoding: bytes[..<count], as: UTF8.self)
    return text.split(whereSeparator: \.isWhitespace).first.map { String($0) }
  }

  /// Begins a session. Returns whether groups of an earlier one may be missing.
  ///
  /// - Parameter isCut: Whether groups are known to be missing.
  mutating func begin(
    durability: Durability, newEpoch: UInt64, bootID: String?, isCut isKnownCut: Bool = false
  ) -> Bool {
    let boot = bootID ?? SavedState.unknownBoot
    let isNew = epoch == 0
    let isCut =
      !isNew
      && (isKnownCut
        || !unsyncedBoot.isEmpty
          && (unsyncedBoot != boot || unsyncedBoot == SavedState.unknownBoot))
    if isNew || isCut { epoch = newEpoch }
    if isCut { eventSequenceCeiling += SavedState.eventSequenceReserve }
    unsyncedBoot = durability == .process ? boot : ""
    return isCut
  }

  mutating func accept(_ group: CommitGroup) {
    revision = group.revision
    compactRevision = group.compactRevision
    eventSequenceCeiling = group.eventSequenceCeiling
    groups += 1
    runningTime = max(runningTime, group.runningTime)
  }

  // MARK: The row

  /// The checksum of the row.
  var checksum: RowChecksum {
    var result = RowChecksum("state")
    result.add(epoch)
    result.add(revision)
    result.add(compactRevision)
    result.add(eventSequenceCeiling)
    result.add(unsyncedBoot)
    result.add(storeID)
    result.add(groups)
    result.add(runningTime.storedNanoseconds)
    return result
  }

  /// Reads the row of a database with `Schema.versionWithStateChecksum`.
  init(from connection: DatabaseConnection) throws(StorageError) {
    let row = try Statement(
      """
      SELECT epoch, revision, compact_revision, event_sequence_ceiling, unsynced_boot, store_id,
        group_count, running_nanoseconds, checksum FROM state
      """, on: connection)
    guard try row.step() else {
      throw .corrupt(path: connection.path, detail: "the state row is missing")
    }
    epoch = UInt64(bitPattern: row.number(0))
    revision = UInt64(bitPattern: row.number(1))
    compactRevision = UInt64(bitPattern: row.number(2))
    eventSequenceCeiling = UInt64(bitPattern: row.number(3))
    unsyncedBoot = row.text(4)
    storeID = row.text(5)
    groups = UInt64(bitPattern: row.number(6))
    runningTime = RunningTime(elapsed: .nanoseconds(max(0, row.number(7))))
    // The loader's checks depend on these numbers.
    guard checksum.value == row.number(8) else {
      throw .corrupt(path: connection.path, detail: "table state, row '1': its checksum is wrong")
    }
    guard compactRevision <= revision, revision <= Int64.max,
      eventSequenceCeiling <= Int64.max
    else { throw .corrupt(path: connection.path, detail: "the state row is invalid") }
  }

  /// Writes the whole row.
  func write(on connection: DatabaseConnection) throws(StorageError) {
    let row = try Statement(
      """
      UPDATE state SET epoch = ?1, revision = ?2, compact_revision = ?3,
        event_sequence_ceiling = ?4, unsynced_boot = ?5, group_count = ?6,
        running_nanoseconds = ?7, checksum = ?8
      """, on: connection)
    try row.bind(epoch, at: 1)
    try row.bind(revision, at: 2)
    try row.bind(compactRevision, at: 3)
    try row.bind(eventSequenceCeiling, at: 4)
    try row.bind(unsyncedBoot, at: 5)
    try row.bind(groups, at: 6)
    try row.bind(runningTime.storedNanoseconds, at: 7)
    try row.bind(checksum.value, at: 8)
    try row.run()
  }
}
