import Glibc
import WidgetBundle
import WidgetClient
import WidgetModel

// Bundles without a folder, whose widgets the daemon still has.
extension BundleStanding {
  /// The state of a bundle whose folder or file is missing.
  static let missingState = "missing"

  /// A bundle whose state no widget shows, although the daemon has widgets of it.
  ///
  /// - Parameter isHosted: whether a host has a session.
  init(left id: String, widgetCount: Int, isHosted: Bool) {
    self.init(
      left: id, widgetCount: widgetCount,
      problem: "its widgets are left, and no folder has the bundle; install it again, or remove "
        + "the widgets with `widgetctl rm ID --force`"
        + (isHosted ? "" : " (\(Promise.notRunning))"))
  }

  /// The folder of bundles that has the bundle; nil if nobody knows it.
  var folder: String? {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return nil }
    return String(path[..<slash])
  }

  /// Whether the host says that the folder or the file is missing.
  var isToldMissing: Bool {
    !path.isEmpty
      && (problem.hasPrefix(BundleFileName.missing(from: path))
        || problem.contains(" does not exist, so \(path) "))
  }

  /// The same bundle, whose folder or file is missing.
  var asMissing: BundleStanding {
    // Nobody can keep its widgets any more.
    guard !isLeaving else { return self }
    let noFile = BundleFileName.missing(from: path)
    let start = missingWords
    guard !isToldMissing else {
      guard problem.hasPrefix(noFile) else {
        return with(state: BundleStanding.missingState, problem: problem)
      }
      var rest = problem.dropFirst(noFile.count)
      // This machine has the folder, or does not have it.
      let causes = [BundleFileName.orFolder, BundleFileName.withFolder]
      if let cause = causes.first(where: { rest.hasPrefix($0) }), start != noFile || isFolderThere {
        rest = rest.dropFirst(cause.count)
      }
      return with(state: BundleStanding.missingState, problem: "\(start)\(rest)")
    }
    var words = "\(start); put the file or folder back to keep the widgets with their data"
    switch state {
    case "stopped" where !isHosted: words += " (\(Promise.notRunning))"
    case "running", "failing": break
    default: if let line = BundleStanding.firstLine(of: problem).nonEmpty { words += "; \(line)" }
    }
    return with(state: BundleStanding.missingState, problem: words)
  }

  /// The same missing bundle, if the next host takes its widgets over.
  ///
  /// - Parameter folder: of the bundle, in another folder of bundles.
  func takenOver(by folder: String) -> BundleStanding {
    with(
      state: BundleStanding.missingState,
      problem: "\(missingWords); \(folder) takes its widgets over when widgetd-host starts")
  }

  private var missingWords: String {
    isFolderGone ? "the folder \(path) is missing" : BundleFileName.missing(from: path)
  }

  /// Whether this machine has the folder of bundles, and not the folder of the bundle. The host can be
  /// on another machine.
  private var isFolderGone: Bool {
    guard let folder, access(folder, F_OK) == 0 else { return false }
    return access(path, F_OK) != 0 && errno == ENOENT
  }

  private var isFolderThere: Bool { access(path, F_OK) == 0 }

  /// The bundles whose folder or file is missing, and whose widgets the daemon has.
  ///
  /// - Parameters:
  ///   - standings: by the folder of each bundle.
  ///   - folder: of the bundles. It can be missing, too.
  ///   - there: the names of the bundles' folders in it.
  static func missing(
    among standings: [String: BundleStanding], in folder: String, besides there: [String]
  ) -> [BundleStanding] {
    let place = BundleHost.resolved(folder)
    let found = standings.values.filter { standing in
      guard standing.isBad, standing.folder == place else { return false }
      let name = standing.path.split(separator: "/").last.map(String.init) ?? ""
      return !there.contains(name) && !wasRemoved(standing.id, from: place)
    }
    return found.map(\.asMissing).sorted { $0.id < $1.id }
  }

  /// The bundles in these folders, in order of their folders.
  static func inFolders(
    _ folders: [String], among standings: [String: BundleStanding]
  ) -> [BundleStanding] {
    let places = Set(folders.map { BundleHost.resolved($0) })
    let found = standings.sorted { $0.key < $1.key }.map(\.value).filter { standing in
      standing.folder.map { places.contains($0) } ?? false
    }
    return found.map { $0.isToldMissing ? $0.asMissing : $0 }
  }

  /// Whether `bundle rm` has removed a bundle, and the host has not removed its widgets yet.
  static func wasRemoved(_ id: String, from folder: String) -> Bool {
    BundleRemovalMark.canHave(id)
      && access("\(folder)/\(BundleRemovalMark.name(of: id))", F_OK) == 0
  }

  /// The bundles whose widgets the daemon has, and whose state no widget shows. None if the daemon
  /// cannot be asked.
  static func left(_ global: GlobalOptions, isHosted: Bool) async -> [BundleStanding] {
    guard let session = global.optionalSession,
      let mask = try? ReadMask(paths: ["id", "apply_set"]),
      let widgets = try? await session.list(Selector(), mask: mask).widgets
    else { return [] }
    return left(in: widgets.map(\.widget), isHosted: isHosted)
  }

  /// - Parameter widgets: all widgets of the daemon.
  static func left(in widgets: [Widget], isHosted: Bool) -> [BundleStanding] {
    let shown = Set(widgets.compactMap { OwnerName.bundle($0.id.rawValue) })
    var counts: [String: Int] = [:]
    for widget in widgets {
      guard let id = OwnerName.bundle(widget.applySet), !shown.contains(id) else { continue }
      counts[id, default: 0] += 1
    }
    return counts.sorted { $0.key < $1.key }.map { id, count in
      BundleStanding(left: id, widgetCount: count, isHosted: isHosted)
    }
  }

  /// Those of them that belong to a folder, as far as this machine shows: the host, or the last one,
  /// ran this folder, and no other folder of it has the bundle.
  ///
  /// - Parameter there: the names of the bundles' folders in it.
  static func left(
    _ all: [BundleStanding], in folder: String, besides there: [String], _ host: BundleHost
  ) -> [BundleStanding] {
    guard host.ran(folder) else { return [] }
    let place = BundleHost.resolved(folder)
    return all.filter { standing in
      !there.contains(standing.id) && !wasRemoved(standing.id, from: place)
        && host.place(of: standing.id) == nil
    }
  }

  /// The entry of a bundle that is not in a list of installed ones, in `bundle ls -o json`.
  ///
  /// - Parameter isLive: whether a host runs its folder; nil if this is unknown.
  func document(isLive: Bool?) -> Value {
    var map: ValueMap = [
      "id": .string(original ?? id), "version": .string(version), "ok": .bool(!isBad),
      "live": isLive.map { .bool($0) } ?? .null,
    ]
    if !path.isEmpty { map["folder"] = .string(path) }
    if isBad { map["reason"] = .string(problem) }
    describe(in: &map)
    return .map(map)
  }

  /// The same for a bundle of any folder.
  func document(_ host: BundleHost) -> Value {
    document(isLive: folder.flatMap { host.runs($0) })
  }

  /// Adds the state to an entry of `bundle ls -o json`, and the version that still runs if the file
  /// has another one.
  ///
  /// - Parameters:
  ///   - version: in the file.
  ///   - bundle: the id in the file.
  func describe(in map: inout ValueMap, having version: String, of bundle: String) {
    describe(in: &map)
    if awaiting(version, of: bundle) != nil { map["runningVersion"] = .string(self.version) }
  }

  /// Adds the state to an entry of `bundle ls -o json`.
  func describe(in map: inout ValueMap) {
    map["state"] = .string(state)
    map["problem"] = .string(problem)
    map["failures"] = failures
    map["remarks"] = .list(remarks.map { .string($0) })
    map["others"] = .int(Int64(others))
    map["othersFirst"] = .list(othersFirst.map { .string($0) })
    if let removal { map["removal"] = .string(RFC3339.text(removal)) }
  }
}
