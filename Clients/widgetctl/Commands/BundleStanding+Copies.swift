import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

// Bundles that several folders of a host have. The host runs one of them.
extension BundleStanding {
  /// The id of the bundle in a folder that does not run, because the host runs the bundle from
  /// another folder. Nil for other folders.
  ///
  /// - Parameter problem: the words of the host about the folder.
  static func original(in problem: String, at path: String) -> String? {
    let start = "bundle "
    guard !path.isEmpty, problem.hasPrefix(start) else { return nil }
    let id = problem.dropFirst(start.count).prefix { $0 != " " }
    let rest = problem.dropFirst(start.count + id.count)
    let isCopy =
      rest.hasPrefix(" runs from ") && rest.contains(", so \(path) does not run")
      || rest.hasPrefix(" is in ") && rest.contains(", too, and the host uses that one")
    return isCopy ? String(id) : nil
  }

  /// A folder from which the host uses a bundle. No other folder with the same bundle can run now.
  struct Holder: Hashable, Sendable {
    let path: String
    /// Whether no version runs, because the daemon refuses the bundle.
    var isRefused = false
  }

  /// Nil if the folder is missing, or if no version runs from it for another reason than a refusal.
  var holder: Holder? {
    guard !isToldMissing else { return nil }
    if runs { return Holder(path: path) }
    return problem.hasPrefix(DaemonRefusal.words(about: path))
      ? Holder(path: path, isRefused: true) : nil
  }

  /// The folder of bundles from which the host runs a bundle, or ran it last. Nil if nobody knows.
  ///
  /// - Parameter standings: of all bundles, by their folders.
  static func folder(of id: String, among standings: [String: BundleStanding]) -> String? {
    standings.values.first { $0.id == id && $0.original == nil }?.folder
  }

  /// The folders with second copies that take over the widgets of removed bundles, by bundle. None
  /// for bundles that the host runs from another folder.
  ///
  /// - Parameters:
  ///   - folder: from which the bundles are removed.
  ///   - order: of the host's folders.
  static func successors(
    of ids: [String], removedFrom folder: String, among standings: [String: BundleStanding],
    in order: BundleFolderOrder
  ) -> [String: String] {
    var found: [String: String] = [:]
    for id in ids where self.folder(of: id, among: standings) == folder {
      found[id] = order.sorted(standings.values.filter { $0.original == id }.map(\.path)).first
    }
    return found
  }

  /// The same while no host runs: the folders with the bundles in the other folders of bundles of the
  /// last host, as their files say. The next host takes the widgets over from there.
  ///
  /// - Parameter folder: of bundles, from which the bundles are removed. The last host ran it.
  static func successors(
    of ids: [String], removedFrom folder: String, whenStarted host: BundleHost
  ) -> [String: String] {
    if case .running = host { return [:] }
    guard host.ran(folder) else { return [:] }
    let others = host.folders(besides: folder).map { BundleFolderOptions.installer(at: $0) }
    var found: [String: String] = [:]
    for id in ids {
      for installer in others where found[id] == nil { found[id] = installer.folder(having: id) }
    }
    return found
  }

  /// Whether the running host runs a bundle from another folder of bundles than the named one.
  ///
  /// - Parameter place: the folder from which the host runs the bundle; nil if nobody knows.
  static func runsElsewhere(_ place: String?, than folder: String, _ host: BundleHost) -> Bool {
    guard case .running = host, let place, host.runs(place) == true else { return false }
    return BundleHost.resolved(place) != BundleHost.resolved(folder)
  }

  /// The warning that changed settings have no effect, because the host runs the bundle from another
  /// folder. Nil if it does not, or if this is unknown.
  ///
  /// - Parameters:
  ///   - folder: of bundles, with the settings.
  ///   - place: see `runsElsewhere`.
  static func warning(
    setting id: String, in folder: String, running place: String?, _ host: BundleHost,
    isRemote: Bool = false
  ) -> String? {
    guard let place, runsElsewhere(place, than: folder, host) else { return nil }
    return "widgetd-host runs bundle \(id) from \(place), so the values in \(folder) have no "
      + "effect; "
      + (isRemote
        ? "on the host's machine, use --dir \(place.asArgument) instead of --remote"
        : "use --dir \(place.asArgument)")
  }
}
