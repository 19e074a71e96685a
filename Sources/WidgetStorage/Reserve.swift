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
  /// Whether room is held, as much as there was.
  private(set) var isHeld = false
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

  /// Holds as much of the room as there is. Nothing depends on it, so it does not fail.
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
    isHeld = status.st_size == bytes && Int(status.st_blocks) * 512 >= bytes
    var size = bytes
    while !isHeld, size >= Reserve.bytesMin || size == bytes {
      isHeld = ftruncate(descriptor, 0) == 0 && posix_fallocate(descriptor, 0, off_t(size)) == 0
      size /= 2
    }
    if !isHeld { unlink(path) }
  }

  /// After a group: tries again to hold what was given up.
  mutating func groupAppended() {
    guard !isHeld else { return }
    groupsToWait -= 1
    if groupsToWait <= 0 { hold() }
  }

  /// Gives the room up.
  mutating func release() {
    unlink(path)
    isHeld = false
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
