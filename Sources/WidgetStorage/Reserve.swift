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

  /// The number of groups between two attempts.
  private static let attemptEvery = 64
  /// A smaller reserve is useless.
  private static let bytesMin = 256 << 10

  init(path: String, bytes: Int) {
    self.path = path
    self.bytes = bytes
  }

  /// Holds more space, but at most half of the free space, because the log grows there too. Nothing
  /// depends on the reserve, so this does not fail.
  ///
  /// - Parameter isTakenBack: Whether the space was just released and given back. Then all of the
  ///   free space can be held.
  mutating func hold(isTakenBack: Bool = false) {
    groupsToWait = Reserve.attemptEvery
    guard bytes > 0 else { return }
    guard let descriptor = try? openPlainFile(path, O_RDWR | O_CREAT, 0o600) else { return }
    defer { _ = Glibc.close(descriptor) }
    giveToFolderOwner(descriptor, path)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return }
    // The unit is 512 bytes, on every file system.
    heldBytes = min(Int(status.st_size), Int(status.st_blocks) * 512)
    var room = statvfs()
    guard fstatvfs(descriptor, &room) == 0 else { return }
    let free = Int(
      clamping: UInt64(room.f_bavail).multipliedReportingOverflow(by: UInt64(room.f_frsize))
        .partialValue)
    var size = bytes
    while size > heldBytes, size >= Reserve.bytesMin {
      if (isTakenBack ? 1 : 2) * (size - heldBytes) <= free,
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
  /// Whether the group may use the reserve: it only removes data, or the daemon has made it of
  /// removals. The latter can change widgets, such as those of a removed kind.
  var freesRoom: Bool {
    guard !(deletions.isEmpty && kindDeletions.isEmpty && eventTrims.isEmpty) else { return false }
    return onlyRemoves
      || upserts.isEmpty && kindUpserts.isEmpty && events.isEmpty && theme == nil
  }
}
