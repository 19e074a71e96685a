import Glibc
import WidgetCore

/// Reserved space on the store's file system, so that a removal works on a full disk: the file
/// `widgetd.reserve`, without content.
///
/// A removal writes too: first to the write-ahead log, then to the database. On a full disk both
/// would fail. The reserve is released for such a group, and taken again when there is room.
struct Reserve {
  static let fileName = "widgetd.reserve"

  let path: String
  /// The size to hold.
  let bytes: Int
  /// The size that is held; less than `bytes` if there was less room.
  private(set) var heldBytes = 0
  /// The number of groups before the next attempt.
  private var groupsToWait = 0
  /// The last group for which the reserve was not enough, and the end of its time.
  private var tooLarge: (rowCount: Int, until: ContinuousClock.Instant)?
  /// The number of free bytes of an open file's file system. Tests replace it.
  var freeBytes: @Sendable (_ descriptor: Int32) -> Int? = {
    Reserve.freeBytes(of: $0)
  }

  /// The number of groups between two attempts.
  private static let attemptEvery = 64
  /// A smaller reserve is useless.
  private static let bytesMin = 256 << 10
  /// The time in which the reserve is not released for a group that is as large as one for which the
  /// reserve was not enough. Each attempt writes much in vain.
  static let pause = Duration.seconds(1)

  init(path: String, bytes: Int) {
    self.path = path
    self.bytes = bytes
  }

  /// Holds more space, but at most half of the free space, because the log grows there too. Nothing
  /// depends on the reserve, so this does not fail.
  mutating func hold() { hold(upTo: bytes, leavesRoom: true) }

  /// Holds space again after a group released the reserve and then failed. The reserve may take all
  /// free space, but not more than before, because the rest is the room for small changes.
  mutating func takeBack(_ bytes: Int) { hold(upTo: bytes, leavesRoom: false) }

  private mutating func hold(upTo bytes: Int, leavesRoom: Bool) {
    groupsToWait = Reserve.attemptEvery
    guard bytes > 0 else { return }
    guard let descriptor = try? openPlainFile(path, O_RDWR | O_CREAT, 0o600) else { return }
    defer { _ = Glibc.close(descriptor) }
    giveToFolderOwner(descriptor, path)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return }
    // The unit is 512 bytes, on every file system.
    heldBytes = min(Int(status.st_size), Int(status.st_blocks) * 512)
    guard let free = freeBytes(descriptor) else { return }
    var size = bytes
    while size > heldBytes, size >= Reserve.bytesMin {
      if (leavesRoom ? 2 : 1) * (size - heldBytes) <= free,
        FileCalls.allocate(descriptor, path, size) == 0
      {
        heldBytes = size
        return
      }
      _ = FileCalls.truncate(descriptor, path, to: heldBytes)
      size /= 2
    }
    if heldBytes == 0 { FileCalls.unlink(path) }
  }

  private static func freeBytes(of descriptor: Int32) -> Int? {
    var room = statvfs()
    guard fstatvfs(descriptor, &room) == 0 else { return nil }
    return Int(
      clamping: UInt64(room.f_bavail).multipliedReportingOverflow(by: UInt64(room.f_frsize))
        .partialValue)
  }

  /// Whether the reserve may be enough for a group with further widgets.
  func mayFit(
    _ group: CommitGroup, widgets: Int = 0, at now: ContinuousClock.Instant = .now
  ) -> Bool {
    guard heldBytes > 0 else { return false }
    guard let tooLarge, now < tooLarge.until else { return true }
    return group.rowCount + widgets < tooLarge.rowCount
  }

  /// Notes that the reserve was not enough for a group.
  mutating func noteTooLarge(
    _ group: CommitGroup, widgets: Int = 0, at now: ContinuousClock.Instant = .now
  ) {
    tooLarge = (group.rowCount + widgets, now + Reserve.pause)
  }

  /// After a group: tries again to hold the missing part.
  mutating func groupAppended() {
    guard heldBytes < bytes else { return }
    groupsToWait -= 1
    if groupsToWait <= 0 { hold() }
  }

  /// Releases the space.
  mutating func release() {
    FileCalls.unlink(path)
    heldBytes = 0
    groupsToWait = Reserve.attemptEvery
  }
}

extension CommitGroup {
  /// The number of rows that the group writes or removes.
  fileprivate var rowCount: Int {
    deletions.count + upserts.count + tombstones.count + requests.count + kindDeletions.count
      + kindUpserts.count + eventTrims.count + events.count
  }

  /// Whether the group may use the reserve: it only removes data, or the daemon has made it of
  /// removals. The latter can change widgets, such as those of a removed kind.
  ///
  /// - Parameter widgets: The number of widgets that are written with the group.
  func freesRoom(widgets: Int) -> Bool {
    guard !(deletions.isEmpty && kindDeletions.isEmpty && eventTrims.isEmpty) else { return false }
    return onlyRemoves
      || widgets == 0 && upserts.isEmpty && kindUpserts.isEmpty && events.isEmpty && theme == nil
  }
}
