import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

/// A bundle whose folder is missing, although the daemon still has its widgets. Somebody may have
/// moved the folder.
struct MissingFolder: Hashable, Sendable {
  let bundle: String
  let path: String
  /// The words of the host about the bundle; empty if it has not noticed yet.
  let problem: String

  /// The name of the folder, which can differ from the id.
  var name: String { path.split(separator: "/").last.map(String.init) ?? bundle }

  /// Nil if the folder exists, if `bundle rm` has removed it, or if the daemon does not know it.
  ///
  /// - Parameter folder: of the bundles.
  static func of(
    _ bundle: String, in folder: String, _ global: GlobalOptions
  ) async -> MissingFolder? {
    guard path(of: bundle, in: folder) != nil else { return nil }
    return of(bundle, in: folder, among: await BundleStanding.all(global))
  }

  /// - Parameter standings: of all bundles, by their folders.
  static func of(
    _ bundle: String, in folder: String, among standings: [String: BundleStanding]
  ) -> MissingFolder? {
    guard let place = path(of: bundle, in: folder) else { return nil }
    // The folder with this name can have had another bundle.
    let known = known(bundle, in: BundleHost.resolved(folder), among: standings)
    if let known, access(known.path, F_OK) != 0 { return of(known.standing, at: known.path) }
    guard let standing = standings[place] else { return nil }
    return of(standing, at: place)
  }

  /// The bundle with an id in a folder of bundles, with its folder, as the daemon knows it.
  static func known(
    _ bundle: String, in folder: String, among standings: [String: BundleStanding]
  ) -> (path: String, standing: BundleStanding)? {
    let found = standings.filter { path, standing in
      standing.id == bundle && standing.original == nil
        && path.lastIndex(of: "/").map { path[..<$0] == folder } == true
    }
    return found.min { $0.key < $1.key }.map { (path: $0.key, standing: $0.value) }
  }

  /// - Parameter path: of the folder.
  static func of(_ standing: BundleStanding, at path: String) -> MissingFolder {
    // Without a host, the words are about the host.
    MissingFolder(
      bundle: standing.id, path: path, problem: standing.isToldMissing ? standing.problem : "")
  }

  /// The error of an installation into a folder of bundles that is missing, although the daemon knows
  /// bundles in it. The installation would make the folder, and the host would then miss the other
  /// bundles, and remove their widgets. Nil if the folder exists, or if no bundles are known in it.
  static func refusal(ofInstallingInto folder: String, _ global: GlobalOptions) async
    -> CommandFailure?
  {
    guard isMissing(folder) else { return nil }
    let host = await BundleHost.ask(global)
    guard host.ran(folder) else { return nil }
    let known = Array(await BundleStanding.all(global).keys)
    return refusal(ofInstallingInto: folder, knowing: known)
  }

  /// - Parameter known: the folders of all bundles that the daemon knows.
  static func refusal(
    ofInstallingInto folder: String, knowing known: [String]
  ) -> CommandFailure? {
    let place = BundleHost.resolved(folder)
    let isKnown = known.contains { path in
      path.lastIndex(of: "/").map { path[..<$0] == place } ?? false
    }
    return isKnown && isMissing(folder) ? refusal(ofInstallingInto: folder) : nil
  }

  /// The same for an installation by the host, whose folder may be on another machine.
  static func refusal(ofInstallingByHost global: GlobalOptions) async -> CommandFailure? {
    guard case .running(let folders, _, _) = await BundleHost.ask(global),
      let folder = folders.first
    else { return nil }
    let problems = await BundleStanding.all(global).mapValues(\.problem)
    return refusal(ofInstallingInto: folder, problems)
  }

  /// - Parameter problems: of all bundles that the daemon knows, by their folders.
  static func refusal(
    ofInstallingInto folder: String, _ problems: [String: String]
  ) -> CommandFailure? {
    let isWaiting = problems.contains { path, problem in
      problem.hasPrefix("\(folder) does not exist, so \(path) ")
    }
    return isWaiting ? refusal(ofInstallingInto: folder) : nil
  }

  private static func refusal(ofInstallingInto folder: String) -> CommandFailure {
    CommandFailure(
      .refused,
      "the folder \(folder) of widgetd-host is missing. An installation would make it again without "
        + "its bundles, and widgetd-host would then remove their widgets. Bring the folder back. To "
        + "give up the bundles that were in it, make the folder with mkdir")
  }

  private static func isMissing(_ folder: String) -> Bool {
    access(folder, F_OK) != 0 && errno == ENOENT
  }

  /// A bundle whose folder the host misses; nil if it does not say so.
  ///
  /// - Parameters:
  ///   - name: the id. If the daemon knows no such bundle, the name of the folder.
  ///   - standings: of all bundles, by their folders.
  static func ofHost(
    _ name: String, among standings: [String: BundleStanding]
  ) -> MissingFolder? {
    let missing = standings.filter { path, standing in
      standing.problem.hasPrefix(BundleFileName.missing(from: path))
        || standing.problem.contains(" does not exist, so \(path) ")
    }
    let found =
      missing.first { $0.value.id == name } ?? missing.first { $0.key.hasSuffix("/\(name)") }
    return found.map { path, standing in
      MissingFolder(bundle: standing.id, path: path, problem: standing.problem)
    }
  }

  /// The path of a missing folder. Nil if something is there, or if `bundle rm` has removed it.
  static func path(of bundle: String, in folder: String) -> String? {
    // The folder of bundles can be missing, too.
    let place = BundleHost.resolved(folder)
    guard BundleRemovalMark.canHave(bundle),
      access("\(place)/\(BundleRemovalMark.name(of: bundle))", F_OK) != 0,
      access("\(place)/\(bundle)", F_OK) != 0
    else { return nil }
    return "\(place)/\(bundle)"
  }

  /// The error of a command that needs the folder.
  var failure: String {
    let told = BundleStanding.firstLine(of: problem)
    return "the folder \(path) of bundle \(bundle) is missing. "
      + (told.isEmpty
        ? "Put it back to keep the widgets of the bundle with their data" : "widgetd-host: \(told)")
  }

  /// The error of a command that needs the bundle's file, if the folder has none. Nil if the daemon does
  /// not know the bundle.
  ///
  /// - Parameter standings: of all bundles, by their folders.
  static func fileFailure(
    of bundle: String, in folder: String, among standings: [String: BundleStanding]
  ) -> String? {
    let path = "\(BundleHost.resolved(folder))/\(bundle)"
    guard let standing = standings[path] else { return nil }
    let told = standing.isToldMissing ? BundleStanding.firstLine(of: standing.problem) : ""
    return "the file of bundle \(standing.id) in \(path) is missing. "
      + (told.isEmpty
        ? "Put it back to keep the widgets of the bundle with their data" : "widgetd-host: \(told)")
  }

  /// The warning after the removal of the kept versions, which were left of the bundle.
  var remains: String {
    "the folder \(path) of bundle \(bundle) is missing, so only its kept versions and its widgets are "
      + "removed. If you moved the folder, its files are still there"
  }

  /// The same if another folder takes the widgets over.
  var remainsOfVersions: String {
    "the folder \(path) of bundle \(bundle) is missing, so only its kept versions are removed"
  }

  /// The warning at the installation of a bundle in the place of the folder. Nil if the new bundle
  /// has no settings.
  func warning(installing bundle: Bundle) -> String? {
    BundleInstaller.lossOfSettings(of: bundle, missing: path)
  }
}
