import Glibc
import WidgetBundle
import WidgetBundleInstaller

/// Bundles that somebody has moved out of the folder from which the daemon knows them. The host has
/// not read the move yet, or does not run.
enum MovedBundle {
  /// The former folders of moved bundles, by bundle.
  ///
  /// - Parameters:
  ///   - folder: of bundles, which has them now.
  ///   - places: see `LostValues.isRun`.
  ///   - standings: of all bundles, by their folders.
  static func formerPaths(
    of bundles: [String], in folder: String, at places: [String: String],
    among standings: [String: BundleStanding]
  ) -> [String: String] {
    var found: [String: String] = [:]
    for (path, standing) in standings where standing.original == nil {
      guard bundles.contains(standing.id),
        !LostValues.isRun(standing.id, from: path, in: folder, at: places),
        isGone(standing.id, from: path)
      else { continue }
      found[standing.id] = path
    }
    return found
  }

  /// Whether a bundle is neither in its folder nor in a folder beside it. False if nobody can tell.
  static func isGone(_ bundle: String, from path: String) -> Bool {
    guard let parent = parent(of: path), lacks(bundle, at: path) else { return false }
    return BundleFolderOptions.installer(at: parent).folder(having: bundle) == nil
  }

  /// Tells the host that a bundle was removed after the move. Otherwise, the host waits for the
  /// bundle, because a mark counts only in the folder of bundles that had the bundle.
  static func mark(_ bundle: String, movedFrom path: String, _ host: BundleHost) {
    guard let parent = parent(of: path), host.ran(parent), isGone(bundle, from: path) else {
      return
    }
    BundleFolderOptions.installer(at: parent).markRemoval(of: bundle)
  }

  /// Whether a folder is missing, or has another bundle. False if nobody can tell.
  static func lacks(_ bundle: String, at path: String) -> Bool {
    guard access(path, F_OK) == 0 else { return errno == ENOENT || errno == ENOTDIR }
    guard let found = try? BundleInstaller.anywhere.read(at: path) else { return false }
    return found.bundle.id != bundle
  }

  private static func parent(of path: String) -> String? {
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
      return nil
    }
    return String(path[..<slash])
  }
}
