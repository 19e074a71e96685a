import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

/// A folder of bundles in `bundle ls`: the bundles in it, and those that it lacks although the daemon
/// has their widgets.
struct BundleSection {
  let folder: String
  let installed: [BundleInstaller.Installed]
  var missing: [BundleStanding]
  /// Whether a host runs the folder; nil if this is unknown.
  let isLive: Bool?
  private let standings: [String: BundleStanding]

  /// - Parameter standings: of all bundles that the daemon knows, by their folders.
  init(
    _ folder: String, _ installed: [BundleInstaller.Installed],
    among standings: [String: BundleStanding], isLive: Bool?
  ) {
    (self.folder, self.installed, self.isLive) = (folder, installed, isLive)
    self.standings = standings
    missing = BundleStanding.missing(
      among: standings, in: folder, besides: installed.map(\.id))
  }

  /// The other folders of a host that does not run. Nobody reports their bundles, so this machine is
  /// asked. A folder that cannot be read has only missing bundles.
  static func others(
    than folder: String, of host: BundleHost, among standings: [String: BundleStanding]
  ) -> [BundleSection] {
    host.folders(besides: folder).map { other in
      BundleSection(
        other, (try? BundleFolderOptions.installer(at: other).list()) ?? [], among: standings,
        isLive: host.runs(other))
    }
  }

  /// The sections of a host that does not run. The next host takes the widgets of a missing bundle over
  /// if another folder has the bundle.
  static func awaitingStart(_ sections: [BundleSection]) -> [BundleSection] {
    sections.map { section in
      var section = section
      section.missing = section.missing.map { bundle in
        guard !bundle.path.isEmpty else { return bundle }
        for other in sections where other.folder != section.folder {
          if let place = other.place(of: bundle.id) { return bundle.takenOver(by: place) }
        }
        return bundle
      }
      return section
    }
  }

  /// The folder of a bundle with a usable file; nil if there is none.
  private func place(of id: String) -> String? {
    for item in installed {
      if case .success(let bundle) = item.bundle, bundle.id == id { return "\(folder)/\(item.id)" }
    }
    return nil
  }

  var isEmpty: Bool { installed.isEmpty && missing.isEmpty }

  /// The states that the daemon has of its bundles.
  var told: [BundleStanding] { installed.compactMap { standing(of: $0) } + missing }

  /// The widgets in the files that can be read, by bundle.
  var declared: [(String, Set<WidgetID>)] {
    installed.compactMap { item in
      guard let id = standing(of: item)?.id, case .success(let bundle) = item.bundle else {
        return nil
      }
      return (id, Set(bundle.widgets.compactMap(\.id)))
    }
  }

  var documents: [Value] {
    installed.map { BundleListCommand.document($0, standing(of: $0), isLive: isLive) }
      + missing.map { $0.document(isLive: isLive) }
  }

  func add(to table: inout BundleTable) {
    for item in installed {
      switch item.bundle {
      case .success(let bundle):
        table.add(
          item.id, version: bundle.version, kinds: bundle.kinds.count,
          widgets: bundle.widgets.count, in: folder,
          standing(of: item).map {
            BundleTable.state($0, having: bundle.version, of: bundle.id)
          } ?? unlisted(item))
      case .failure(let error):
        table.add(
          item.id, failed: standing(of: item), in: folder, BundleListCommand.reason(error))
      }
    }
    for standing in missing { table.add(standing) }
  }

  /// The state of a bundle that no widget shows.
  private func unlisted(_ item: BundleInstaller.Installed) -> Table.Cell {
    switch isLive {
    case true: BundleTable.unreported(.warning, isNew: BundleSection.isNew(item.folder))
    case false: .init("not running", .bad)
    case nil: .init("unknown", .warning)
    }
  }

  /// Whether a folder came here, or changed, less than 5 seconds ago.
  ///
  /// - Parameter now: in seconds since 1970.
  static func isNew(_ folder: String, now: Int = time(nil)) -> Bool {
    var status = stat()
    guard stat(folder, &status) == 0 else { return false }
    return (0..<5).contains(now - status.st_ctim.tv_sec)
  }

  private func standing(of item: BundleInstaller.Installed) -> BundleStanding? {
    BundleStanding.resolved("\(folder)/\(item.id)").flatMap { standings[$0] }
  }
}
