// Both imports are for `timespec`; see FolderReading.swift.
import CSystemd
import Glibc
import WidgetBundle
import WidgetModel

/// A mark of a removal in a folder of bundles. A mark that is made again is another mark.
///
/// The random id in a mark tells it from others, so nobody compares times. Somebody can set the clock,
/// and copies and file systems change the times and numbers of files. Only two cases leave nothing
/// but the time: the mark of an older program has no id, or only an older host ran the bundle. If the
/// time tells of no removal, the widgets stay for as long as those of a missing folder.
struct RemovalMark: Hashable, Sendable {
  /// Tells the mark from those of other removals. A copy has the same identity.
  let identity: String
  /// The path of the folder that a removed link led to; empty if there was no link.
  let target: [UInt8]
  private let hasID: Bool
  private let written: Timestamp

  /// - Returns: nil if there is no mark.
  init?(of bundle: String, in folder: String) {
    guard BundleRemovalMark.canHave(bundle) else { return nil }
    let path = "\(folder)/\(BundleRemovalMark.name(of: bundle))"
    var status = stat()
    // Another file type is no mark, and nobody would delete it.
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let bytes = try? FileReading.read(path: path, bytesMax: BundleRemovalMark.Record.bytesMax)
    let record = BundleRemovalMark.Record(bytes ?? [])
    let (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    identity = "\(bundle) " + (record.id ?? "\(seconds).\(nanoseconds)")
    target = record.target
    hasID = record.id != nil
    written =
      Timestamp(seconds: Int64(seconds), nanoseconds: Int32(truncatingIfNeeded: nanoseconds))
      ?? .epoch
  }

  /// Whether the bundle has come back since this removal: a host has seen the mark beside the file of
  /// the bundle, or has carried the removal out.
  func isKnown(for bundle: HostState.Remembered) -> Bool {
    bundle.seenMarks?.contains(identity) ?? false
  }

  /// Whether the mark says that somebody has removed the bundle.
  func tellsOfRemoval(of bundle: HostState.Remembered) -> Bool {
    guard !isKnown(for: bundle) else { return false }
    return (hasID && bundle.seenMarks != nil) || written >= bundle.loaded ?? .epoch
  }
}
