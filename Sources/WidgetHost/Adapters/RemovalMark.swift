import Glibc
import WidgetBundle

/// A mark of a removal in a folder of bundles. A mark that is made again is another mark.
///
/// The file's times only tell it from others. Nobody compares them with the present time or with the
/// start of a bundle, because somebody can set the clock.
struct RemovalMark: Hashable, Sendable {
  /// The maximum time between the last write and the last change of mode of a new mark, in seconds.
  private static let makingSecondsMax = 2

  /// Tells the mark from all others, also after a restart of the machine. The numbers of devices
  /// change then.
  let identity: String
  /// Whether somebody has copied the file with its time, for example from a backup. A copy tells of
  /// no removal, because the bundle may be installed since.
  let isCopy: Bool

  /// - Returns: nil if there is no mark.
  init?(of bundle: String, in folder: String) {
    guard BundleRemovalMark.canHave(bundle) else { return nil }
    var status = stat()
    // Another file type is no mark, and nobody would delete it.
    guard lstat("\(folder)/\(BundleRemovalMark.name(of: bundle))", &status) == 0,
      status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    let (written, changed) = (status.st_mtim, status.st_ctim)
    identity = "\(bundle) \(status.st_ino) \(changed.tv_sec).\(changed.tv_nsec)"
    let latest = changed.tv_sec + RemovalMark.makingSecondsMax
    isCopy = !(changed.tv_sec - RemovalMark.makingSecondsMax...latest).contains(written.tv_sec)
  }

  /// Whether the mark says that somebody has removed the bundle. The bundle has come back since the
  /// removals whose marks were there when a host last saw the bundle's file.
  func tellsOfRemoval(of bundle: HostState.Remembered) -> Bool {
    !isCopy && !bundle.seenMarks.contains(identity)
  }
}
