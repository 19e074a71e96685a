import Glibc
import WidgetCore

/// Room that is held back on the store's file system, so that a full disk cannot refuse what frees
/// room: the file `widgetd.reserve`, with nothing in it.
///
/// A removal writes too: to the write-ahead log first, and then to the database. On a full disk both
/// would fail. The reserve is given up for such a group, and taken again when there is room.
struct Reserve {
  static let fileName = "widgetd.reserve"

  let path: String
  /// How much to hold.
  let bytes: Int
  /// How much is held; less than `bytes` if there was less room.
  private(set) var heldBytes = 0
  /// After how many more groups to try to hold some again.
  private var groupsToWait = 0

  /// How many groups there are between two attempts.
  private static let attemptEvery = 64
  /// Less than this is of no use.
  private static let bytesMin = 256 << 10

  init(path: String, bytes: Int) {
    self.path = path
    self.bytes = bytes
  }

  /// Holds more of the room, but at most half of what is free: the log grows there too. Nothing
  /// depends on it, so it does not fail.
  mutating func hold() {
    groupsToWait = Reserve.attemptEvery
    guard bytes > 0 else { return }
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return }
    defer { _ = Glibc.close(descriptor) }
    giveToFolderOwner(descriptor, path)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return }
    // Blocks of 512 bytes, whatever the file system's are.
    heldBytes = min(Int(status.st_size), Int(status.st_blocks) * 512)
    var room = statvfs()
    guard fstatvfs(descriptor, &room) == 0 else { return }
    let free = Int(
      clamping: UInt64(room.f_bavail).multipliedReportingOverflow(by: UInt64(room.f_frsize))
        .partialValue)
    var size = bytes
    while size > heldBytes, size >= Reserve.bytesMin {
      if 2 * (size - heldBytes) <= free, posix_fallocate(descriptor, 0, off_t(size)) == 0 {
        heldBytes = size
        return
      }
      _ = ftruncate(descriptor, off_t(heldBytes))
      size /= 2
    }
    if heldBytes == 0 { unlink(path) }
  }

  /// After a group: tries again to hold what is not held.
  mutating func groupAppended() {
    guard heldBytes < bytes else { return }
    groupsToWait -= 1
    if groupsToWait <= 0 { hold() }
  }

  /// Gives the room up.
  mutating func release() {
    unlink(path)
    heldBytes = 0
    groupsToWait = Reserve.attemptEvery
  }
}

extension CommitGroup {
  /// Whether it only removes.
  var freesRoom: Bool {
    upserts.isEmpty && kindUpserts.isEmpty && events.isEmpty && theme == nil
      && !(deletions.isEmpty && kindDeletions.isEmpty && eventTrims.isEmpty)
  }
}
