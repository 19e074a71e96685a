import Glibc
import WidgetBundle

extension BundleInstaller.Outcome {
  /// The warning about an earlier removal that the host had not carried out; nil without one.
  public var removalWarning: String? {
    guard hasPendingRemoval else { return nil }
    return "widgetd-host has not carried out the earlier removal of bundle \(bundle.id), so its "
      + "widgets in the daemon keep the values that users and actions have set. To delete these "
      + "values, run `widgetctl bundle rm \(bundle.id)`, wait until widgetd-host has removed the "
      + "widgets, and install the bundle again"
  }
}

// Removing bundles. The id in the file of a folder decides, and not the name of the folder. A folder
// with the id as its name can have another bundle.
extension BundleInstaller {
  /// What `remove` deletes.
  public struct Removal: Hashable, Sendable {
    /// The name of the bundle's folder; nil if only kept versions are left.
    public let folder: String?
    /// The id by which the host knows the bundle. Nil if another folder has the same bundle, which
    /// stays.
    public let bundle: String?
    /// Whether the id in the folder's file is unknown, so that only the folder's name has the id.
    public let isByName: Bool
  }

  /// What `remove` deletes; nil if it refuses.
  ///
  /// - Parameter id: see `remove`.
  public func removal(of id: String) -> Removal? {
    guard let bundles = try? existing(id, mayBeMisnamed: true), let all = try? list() else {
      return nil
    }
    return try? removal(of: id, among: all, in: bundles)
  }

  /// A warning for each other bundle that `remove` with `force` deletes with the versions of a bundle.
  public func othersRemoved(with id: String) -> [String] {
    guard let bundles = try? existing(id, mayBeMisnamed: true),
      let versions = try? versions(of: id, in: bundles),
      let others = try? others(than: id, in: versions)
    else { return [] }
    return others.map { other in
      "the removal of bundle \(id) has also deleted the bundle \"\(other.id)\", which was kept in "
        + "\(versions.path)/\(other.name)"
    }
  }

  /// Removes a bundle and its former versions, also an invalid bundle.
  ///
  /// The folder is the one whose file has the id. If nobody can read the id in a file, the folder
  /// with the id as its name is removed.
  ///
  /// - Parameter id: also the name of a folder that `list` has and that is not an id.
  /// - Parameter force: also files that the installer did not write, and other bundles among the
  ///   versions. There may be no other copy of them.
  /// - Parameter leavesMark: false if no host needs to know about the removal. Nobody would delete
  ///   the mark.
  public func remove(
    _ id: String, force: Bool = false, leavesMark: Bool = true
  ) throws(BundleInstallerError) {
    let bundles = try existing(id, mayBeMisnamed: true)
    let lock = try InstallerLock(bundles)
    defer { lock.release() }
    try removeRemains(in: bundles)
    try removeRemains(of: id, in: bundles)
    let versions = try self.versions(of: id, in: bundles)
    let removal = try removal(of: id, among: try list(), in: bundles)
    // The bundle that a link leads to stays.
    let isLink = removal.folder.map { bundles.target(ofLink: $0) != nil } ?? false
    if !isLink, versions == nil || removal.folder != nil {
      try checkIsBundle(removal.folder ?? id, in: bundles)
    }
    if !force {
      var written: [String] = []
      if let folder = removal.folder, !isLink {
        written = try irreplaceable(in: try bundles.folder(folder)).map { "\(folder)/\($0)" }
      }
      var others: [(id: String, folder: String)] = []
      if let versions {
        let place = "\(BundleInstaller.versionsName)/\(id)"
        let kept = try self.others(than: id, in: versions)
        others = kept.map { ($0.id, "\(place)/\($0.name)") }
        for name in try versions.names() where versions.entry(name) == .folder {
          guard !kept.contains(where: { $0.name == name }) else { continue }
          written += try BundleOrigin.valuable(in: try versions.folder(name)).map {
            "\(place)/\(name)/\($0)"
          }
        }
      }
      try checkAreDispensable(written, and: others, of: removal.folder ?? id, in: bundles)
    }
    // Nothing is removed unless all of it can be.
    if let folder = removal.folder { try checkIsRemovable(folder, in: bundles) }
    if versions != nil {
      try checkIsRemovable("\(BundleInstaller.versionsName)/\(id)", in: bundles)
    }
    var target: String?
    if let folder = removal.folder {
      if isLink {
        target = BundleInstaller.resolved("\(bundles.path)/\(folder)")
        try bundles.remove(folder)
      } else {
        try discard(folder, in: bundles)
      }
    }
    if leavesMark { mark(removal.bundle, linkedTo: target, in: bundles) }
    guard versions != nil else { return }
    try discard("\(BundleInstaller.versionsName)/\(id)", in: bundles)
    let all = try bundles.folder(BundleInstaller.versionsName)
    if try all.names().isEmpty { try bundles.remove(BundleInstaller.versionsName) }
  }

  /// The path of the folder whose file has an id; nil if there is none. The folder with the id as
  /// its name comes first.
  public func folder(having id: String) -> String? {
    let holders = ((try? list()) ?? []).filter { $0.declaredID == id }
    return (holders.first { $0.id == id } ?? holders.first).map { "\(path)/\($0.id)" }
  }

  /// Throws if the folder with this id as its name has another bundle.
  func checkHoldsNoOther(_ id: String, in bundles: Folder) throws(BundleInstallerError) {
    guard let other = occupant(of: id, in: bundles) else { return }
    throw misplaced(id, holding: other.id, among: try list(), in: bundles)
  }

  private func removal(
    of id: String, among all: [Installed], in bundles: Folder
  ) throws(BundleInstallerError) -> Removal {
    var name: String? = id
    if BundleReader.isID(id) {
      let holders = all.filter { $0.id != id && self.id(in: $0) == id }
      if bundles.entry(id) == nil {
        name = try onlyFolder(among: holders, of: id, in: bundles)
      } else {
        try checkIsRight(id, among: all, holders, in: bundles)
      }
    }
    let item = all.first { $0.id == name }
    let known = item.flatMap { self.id(in: $0) }
    let bundle = known ?? id
    let hasCopy = all.contains { copy in
      copy.id != name && copy.declaredID == bundle
        && !leads(copy.id, toFolder: name, in: bundles)
    }
    return Removal(
      folder: name, bundle: hasCopy ? nil : bundle,
      isByName: known == nil && item?.lacksFile == false)
  }

  /// Whether an entry is a link to another entry, which is a folder and no link.
  private func leads(_ link: String, toFolder name: String?, in bundles: Folder) -> Bool {
    guard let name, bundles.entry(name) == .folder else { return false }
    return BundleInstaller.isSame("\(path)/\(link)", "\(path)/\(name)")
  }

  /// The id in the file of a folder, also if the file has mistakes. Nil if nobody can tell it.
  private func id(in item: Installed) -> String? {
    if let id = item.declaredID { return id }
    guard !item.lacksFile, let folder = try? Folder(item.folder) else { return nil }
    return BundleFinder.writtenID(in: folder)
  }

  /// The name of the one folder that has a bundle, if no folder has the bundle's id as its name. Nil
  /// if there is none.
  private func onlyFolder(
    among holders: [Installed], of id: String, in bundles: Folder
  ) throws(BundleInstallerError) -> String? {
    // The id in a file with mistakes is a guess.
    let valid = holders.filter { $0.declaredID == id }
    if valid.isEmpty, let broken = holders.first {
      throw .refused(
        "\(path)/\(broken.id)\(BundleInstaller.nameWords)\(id)\", and its file has mistakes",
        hint: "rename the folder to \(id), and try again")
    }
    // The target of a link can be another folder of the list.
    let folders = valid.filter { bundles.entry($0.id) == .folder }
    let candidates = folders.isEmpty ? valid : folders
    guard candidates.count < 2 else {
      throw .refused(
        "several folders have the bundle \"\(id)\": "
          + BundleInstaller.few(candidates.map { "\(path)/\($0.id)" }),
        hint: "rename the one that you want to remove to \(id), and try again")
    }
    return candidates.first?.id
  }

  /// Throws if the folder with this id as its name is not the bundle of this id.
  ///
  /// - Parameter holders: the other folders that have the bundle.
  private func checkIsRight(
    _ id: String, among all: [Installed], _ holders: [Installed], in bundles: Folder
  ) throws(BundleInstallerError) {
    if let other = all.first(where: { $0.id == id }).flatMap({ self.id(in: $0) }) {
      guard other != id else { return }
      // The bundle stays if a link to it is removed and another folder has it.
      let isSpare =
        bundles.textOfLink(id) != nil && all.contains { $0.id != id && $0.declaredID == other }
      guard isSpare else { throw misplaced(id, holding: other, among: all, in: bundles) }
      return
    }
    guard let holder = holders.first else { return }
    throw .refused(
      "\(path)/\(holder.id)\(BundleInstaller.nameWords)\(id)\", and the folder \(path)/\(id) has "
        + "no valid bundle",
      hint: "move the folder \(id) elsewhere, and try again")
  }

  /// The error about a folder that has the id of one bundle as its name, and has another one.
  private func misplaced(
    _ id: String, holding other: String, among all: [Installed], in bundles: Folder
  ) -> BundleInstallerError {
    let words = "\(path)/\(id)\(BundleInstaller.nameWords)\(other)\""
    if let right = all.first(where: { $0.id != id && self.id(in: $0) == id }) {
      return .refused(
        "\(words), and \(path)/\(right.id)\(BundleInstaller.nameWords)\(id)\"",
        hint: "rename each folder to the id of its bundle, and try again")
    }
    let isOnly = !all.contains { $0.id != id && self.id(in: $0) == other }
    guard isOnly, bundles.entry(other) == nil else {
      return .refused(
        words,
        hint: isOnly
          ? "\(path)/\(other) already exists; give each folder the id of its bundle as its name"
          : "another folder has that bundle, too; if nobody needs the folder \(id), delete it by "
            + "hand")
    }
    let isValid = all.contains { $0.id == id && $0.declaredID == other }
    return .refused(
      words,
      hint: "rename the folder to \(other)"
        + (isValid ? ", or remove that bundle with `widgetctl bundle rm \(other)`" : ""))
  }
}
