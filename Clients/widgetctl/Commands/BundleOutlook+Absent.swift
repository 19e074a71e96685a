import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

// The owners of kinds and widgets while no host runs. The daemon has what the last host left there. The
// next host reads the folders again, and can find other bundles in them.
extension BundleOutlook {
  /// The bundles whose kinds and widgets the next host hands over to a new bundle that needs them,
  /// because their folders are missing. By set, with the folders.
  ///
  /// - Parameters:
  ///   - id: of the new bundle. None if an earlier host ran it, because the host then waits for the
  ///     missing folders.
  ///   - shown: see `isRead`.
  ///   - host: none unless the daemon has no host.
  static func absent(
    besides id: String, _ shown: [Widget], _ host: BundleHost?
  ) -> [String: String] {
    guard let host, host.isMissing, !shown.contains(where: { $0.id.rawValue == "bundle/\(id)" })
    else { return [:] }
    var found: [String: String] = [:]
    for (path, other) in BundleStanding.shown(by: shown)
    where other.id != id && other.original == nil && !other.isLeaving {
      guard isMissing(path, of: other, host), !isMarked(other) else { continue }
      found["bundle/\(other.id)"] = path
    }
    return found
  }

  /// Whether the next host misses the folder of a bundle. False if nobody can tell.
  private static func isMissing(
    _ path: String, of bundle: BundleStanding, _ host: BundleHost
  ) -> Bool {
    guard let folder = bundle.folder, host.ran(folder), access(folder, F_OK) == 0,
      access(path, F_OK) != 0, errno == ENOENT
    else { return false }
    // The folder can have another name.
    return host.folder(having: bundle.id) == nil
  }

  /// Whether a mark may say that somebody has removed the bundle. The host then hands nothing over.
  private static func isMarked(_ bundle: BundleStanding) -> Bool {
    guard let folder = bundle.folder else { return false }
    return access("\(folder)/\(BundleRemovalMark.name(of: bundle.id))", F_OK) == 0
  }

  /// Some of `absent` that have a kind or a widget that a bundle declares, too. The others wait for
  /// their folders.
  ///
  /// - Parameters:
  ///   - kinds: of the daemon.
  ///   - widgets: those of the daemon with the ids of the bundle's widgets.
  static func clashing(
    _ absent: [String: String], with bundle: Bundle, _ kinds: [RegisteredKind],
    _ widgets: [Widget]
  ) -> [String: String] {
    let shared = kinds.filter { kind in
      bundle.kinds.contains { $0.kind.name == kind.kind.name }
    }
    let owners = Set(shared.map(\.provider) + widgets.map(\.applySet))
    return absent.filter { owners.contains($0.key) }
  }

  /// How the file of a new bundle reaches the next host, if the file is in a folder of the last host.
  /// Nil if it is elsewhere.
  static func arrival(of file: String, inFolderOf host: BundleHost?) -> Arrival? {
    guard let host, let folder = folder(ofBundleIn: file), host.ran(folder) else { return nil }
    return BundleInstaller.isAsInstalled(file) ? .reading : .edit
  }

  /// The folder of bundles that has the bundle of a file, if it is one. Nil if a host reads no file of
  /// this name.
  static func folder(ofBundleIn file: String) -> String? {
    guard let place = place(of: file), let slash = place.lastIndex(of: "/"),
      slash != place.startIndex
    else { return nil }
    return String(place[..<slash])
  }

  /// A remark in place of a refusal, if no host runs, and nobody knows whether the bundle of the
  /// owner will still have the part. Nil if the file of that bundle has the part, or if the owner is no
  /// bundle.
  ///
  /// - Parameters:
  ///   - refusal: the remark about the owner.
  ///   - has: whether a bundle has the part.
  static func doubt(
    about refusal: Remark, _ shown: [Widget], _ host: BundleHost?, _ has: (Bundle) -> Bool
  ) -> Remark? {
    guard refusal.isRefusal, let host, host.isMissing, let other = OwnerName.bundle(refusal.owner)
    else { return nil }
    let file = LossRules.file(of: other, shown, movedTo: host.folder(having: other))
    if let file, has(file) { return nil }
    let known = BundleStanding.shown(by: shown).first { $0.1.id == other && $0.1.original == nil }
    let reason =
      if file != nil {
        "the file of that bundle no longer has it"
      } else if let known, MovedBundle.lacks(other, at: known.0) {
        "its folder \(known.0) "
          + (access(known.0, F_OK) == 0 ? "has another bundle now" : "is missing")
      } else {
        "this command cannot read the file of that bundle"
      }
    return Remark(
      path: refusal.path,
      message: "the last host had \(refusal.part) in bundle \(other), and \(reason). No host is "
        + "running, so nobody knows whether the daemon will refuse this bundle",
      hint: "start widgetd-host, and check this bundle again", owner: refusal.owner)
  }
}
