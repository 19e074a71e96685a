import Glibc
import WidgetModel

/// A mark of a removal in a folder of bundles. A mark that is made again is another mark.
struct RemovalMark: Hashable, Sendable {
  let made: Timestamp
  private let changed: Timestamp?
  private let device: dev_t
  private let inode: ino_t

  /// - Returns: nil if there is no mark.
  init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      let made = RemovalMark.time(status.st_mtim)
    else { return nil }
    self.made = made
    changed = RemovalMark.time(status.st_ctim)
    device = status.st_dev
    inode = status.st_ino
  }

  private static func time(_ time: timespec) -> Timestamp? {
    Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
  }
}

/// The marks of removals that were there when the host last saw a bundle's file in its folder. The
/// bundle has come back since these removals.
///
/// A later mark counts although the clock was set back, and the mark looks older than the start of
/// the bundle.
struct SeenMarks: Sendable {
  private var marks: [String: Set<RemovalMark>] = [:]

  /// The host saw the marks before it saw the file in the folder.
  mutating func saw(_ marks: Set<RemovalMark>, before folder: String) {
    self.marks[folder] = marks
  }

  /// Whether the mark was made after the host last saw a file in the folder. False if this host has
  /// never seen one.
  func isNew(_ mark: RemovalMark, for folder: String) -> Bool {
    marks[folder].map { !$0.contains(mark) } ?? false
  }

  mutating func keep(only folders: Set<String>) {
    marks = marks.filter { folders.contains($0.key) }
  }
}
