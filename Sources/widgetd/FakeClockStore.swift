import Glibc
import WidgetStorage

/// The folder of a store whose clock is a fake one. A file in the folder marks it, so that a fake clock
/// never ends the activities and timelines of a store that a daemon with the real clock has used.
struct FakeClockStore {
  let directory: String

  /// The reason why the folder cannot be used; nil if it can be used.
  var refusal: String? {
    guard exists(SQLiteCommitLog.databaseFileName), !exists(FakeClockStore.fileName) else {
      return nil
    }
    return "--clock fake: \(directory) has the store of a daemon with the real clock; name another "
      + "folder with --state-directory, or add --store memory"
  }

  /// Marks the folder.
  func mark() {
    let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC
    let descriptor = open(path(FakeClockStore.fileName), flags, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }

  /// Removes the mark, because a daemon with the real clock uses the store now.
  func unmark() { unlink(path(FakeClockStore.fileName)) }

  private static let fileName = "fake-clock"

  private func path(_ name: String) -> String { "\(directory)/\(name)" }
  private func exists(_ name: String) -> Bool { access(path(name), F_OK) == 0 }
}
