import CLibArchive
import Glibc
import WidgetBundle
public import WidgetModel

// Former versions: `.versions/ID/NUMBER-VERSION`. The highest number is the latest version.
//
// A replaced version is kept. If the installer wrote it, it is deleted when a later version is
// kept, and files that a user put into its folder move to the next version. If a user wrote it by
// hand, its whole folder is kept, and the next version gets copies, with their permissions. Hidden
// folders, such as `.git`, are not copied. Files of users stay until `rm --force`.
extension BundleInstaller {
  static let versionsName = ".versions"
  /// The number of kept versions before the live one. Only versions that an installer wrote count.
  static let versionsKeptMax = 1

  /// Replaces the live version with a former version, and keeps the live version as a former one.
  /// Also works if there is no live version.
  ///
  /// - Parameter version: the version to bring back; nil for the latest.
  public func rollback(
    _ id: String, to version: String? = nil
  ) throws(BundleInstallerError) -> Outcome {
    let bundles = try existing(id)
    let lock = try InstallerLock(bundles)
    defer { lock.release() }
    try removeRemains(in: bundles)
    try removeRemains(of: id, in: bundles)
    let versions = try self.versions(of: id, in: bundles)
    if versions == nil || bundles.entry(id) != nil { try checkIsBundle(id, in: bundles) }
    guard let versions, let name = try candidate(for: id, in: versions, version) else {
      try checkHoldsNoOther(id, in: bundles)
      var kept = ""
      if let versions { kept = try shownVersions(versions) }
      throw .notFound(
        version.map { "bundle \"\(id)\" has no kept version \($0)" }
          ?? "bundle \"\(id)\" has no previous version",
        hint: kept.isEmpty
          ? "`widgetctl bundle install` keeps the version that it replaces"
          : "the kept versions are: \(kept)")
    }
    let bundle = try restorable(name, in: versions)
    guard bundle.id == id else {
      throw .refused(
        "\(versions.path)/\(name) holds the bundle \"\(bundle.id)\"",
        hint: "to get bundle \(bundle.id) back, install \(versions.path)/\(name); to get \(id), "
          + "install the version that you want")
    }
    let all = try list()
    try checkIsOnlyCopy(id, among: all, in: bundles, for: .rollback)
    try checkHasNoOccupant(id, bundle.widgets, among: all, in: bundles, for: .rollback)
    let copies = self.copies(of: id, among: all)
    guard bundles.entry(id) != nil else {
      guard rename("\(versions.path)/\(name)", "\(path)/\(id)") == 0 else {
        throw Folder.failure("make", "\(path)/\(id)")
      }
      unmark(id, in: bundles)
      let restored = try bundles.folder(id)
      let loss = BundleInstaller.lossOfSettings(
        of: bundle, missing: "\(path)/\(id)",
        hasFormer: restored.entry(BundleDefaults.fileName) != nil)
      return Outcome(
        bundle: bundle, former: nil, wasThere: false, digest: BundleOrigin(in: restored)?.digest,
        warnings: [loss].compactMap(\.self) + copies)
    }
    let before = (try? read(in: try bundles.folder(id)))?.bundle
    let former = before?.version
    let isEmpty = try bundles.folder(id).names().isEmpty
    let next = try nextName(in: versions, version: former)
    let carried = try carryOver(
      from: try bundles.folder(id), to: try versions.folder(name),
      keptAs: "\(versions.path)/\(next)")
    try exchange("\(versions.path)/\(name)", with: "\(path)/\(id)")
    guard rename("\(versions.path)/\(name)", "\(versions.path)/\(next)") == 0 else {
      throw Folder.failure("keep", "\(versions.path)/\(next)")
    }
    try moveOver(carried, from: try versions.folder(next), to: try bundles.folder(id))
    try prune(id, in: bundles)
    unmark(id, in: bundles)
    fsync(bundles.descriptor)
    return Outcome(
      bundle: bundle, former: former, wasThere: !isEmpty,
      digest: BundleOrigin(in: try bundles.folder(id))?.digest,
      warnings: droppedSettings(by: bundle)
        + (before.map { BundleInstaller.kindChanges(from: $0, to: bundle) } ?? [])
        + copies + carried.warnings, formerID: before?.id)
  }

  /// Puts a folder in the place of a bundle, and keeps the former version.
  ///
  /// - Parameter name: the path of the folder, relative to `bundles`.
  /// - Returns: the former version, the id in its file, whether there was a bundle, and warnings.
  func replace(
    _ id: String, by name: String, in bundles: Folder
  ) throws(BundleInstallerError) -> (
    version: String?, id: String?, wasThere: Bool, warnings: [String]
  ) {
    let (from, to) = ("\(path)/\(name)", "\(path)/\(id)")
    guard let entry = bundles.entry(id) else {
      guard rename(from, to) == 0 else { throw Folder.failure("make", to) }
      return (nil, nil, false, [])
    }
    try checkIsReplaceable(id, entry, in: bundles)
    let former = try bundles.folder(id)
    let before = (try? read(in: former))?.bundle
    let version = before?.version
    let occupant = self.occupant(of: id, in: bundles)
    let isEmpty = try former.names().isEmpty
    let isWritten = !isEmpty && BundleOrigin(in: former) == nil
    let versions = try bundles.making(BundleInstaller.versionsName).making(id)
    // The new version is first moved to the place for the former version, so that one exchange is
    // enough. So both versions are complete whenever this process ends.
    let kept = "\(versions.path)/\(try nextName(in: versions, version: version))"
    // The files of another bundle stay with it.
    let carried =
      occupant == nil
      ? try carryOver(from: former, to: try Folder(from), keptAs: kept) : Carried()
    guard rename(from, kept) == 0 else { throw Folder.failure("make", kept) }
    try exchange(kept, with: to)
    try moveOver(carried, from: try Folder(kept), to: try bundles.folder(id))
    var warnings = carried.warnings
    if let occupant {
      let hasSettings = former.entry(BundleDefaults.fileName) != nil
      warnings.append(
        wordsAbout(occupant.id, replacedIn: id, keptAs: kept, hasSettings: hasSettings))
    } else if isWritten {
      // A rollback checks the version as an installation does.
      let isRestorable = before?.id == id
      warnings.append(
        "\(to) was not installed by widgetctl, so it is kept as \(kept)"
          + (isRestorable
            ? "; `widgetctl bundle rollback \(id)\(version.map { " --to \($0)" } ?? "")` brings it"
              + " back"
            : "; a rollback cannot bring it back, because it is not a valid version of this"
              + " bundle"))
    }
    try prune(id, in: bundles)
    return (version, occupant?.id ?? before?.id, !isEmpty, warnings)
  }

  /// The reason why `install` refuses a bundle of this id: another folder has the bundle, or another
  /// bundle or entry has the place of its folder.
  ///
  /// - Parameter widgets: of the version to install.
  public func obstacle(
    to id: String, having widgets: [WidgetSpec] = []
  ) -> BundleInstallerError? {
    guard let bundles = try? Folder(path) else { return nil }
    do throws(BundleInstallerError) {
      let all = try list()
      try checkIsOnlyCopy(id, among: all, in: bundles)
      try checkHasNoOccupant(id, widgets, among: all, in: bundles)
      if let entry = bundles.entry(id) { try checkIsReplaceable(id, entry, in: bundles) }
      return nil
    } catch { return error }
  }

  /// - Parameter entry: the entry in the place of the bundle's folder.
  private func checkIsReplaceable(
    _ id: String, _ entry: Folder.Entry, in bundles: Folder
  ) throws(BundleInstallerError) {
    let place = "\(path)/\(id)"
    if let target = bundles.textOfLink(id) { throw isLink(id, to: target) }
    guard entry == .folder, let former = try? bundles.folder(id), try isBundleFolder(former) else {
      throw .refused(
        "\(place) already exists, and is not a bundle",
        hint: "move it elsewhere, and install again")
    }
  }

  /// A kept version.
  ///
  /// - Throws: if it cannot run, in words about a version that was kept.
  private func restorable(
    _ name: String, in versions: Folder
  ) throws(BundleInstallerError) -> Bundle {
    let folder = try versions.folder(name)
    for file in BundleInstaller.fileNames where folder.entry(file) != nil {
      guard let mode = FileMode.of("\(folder.path)/\(file)"), !SpecialFile.isFile(mode: mode)
      else { continue }
      throw .refused(
        "the kept version \(folder.path) cannot run, because its \(file) is "
          + SpecialFile.words(mode: mode),
        hint: "install the version that you want")
    }
    do throws(BundleInstallerError) { return try read(in: folder).bundle } catch {
      guard case .invalid(let file, let mistakes) = error, let first = mistakes.problems.first
      else { throw error }
      let more = mistakes.problems.count + mistakes.untold - 1
      throw .refused(
        "\(file):\(first.line):\(first.column): \(first.message)"
          + (more > 0 ? " (and \(more) more)" : "") + ", so this kept version cannot run",
        hint: "correct the file and roll back again, or install the version that you want")
    }
  }

  /// Exchanges the entries at two paths.
  private func exchange(_ one: String, with other: String) throws(BundleInstallerError) {
    guard clibarchive_exchange(one, other) != 0 else { return }
    // Some file systems cannot exchange files. There, for a moment, no version is in place.
    let aside = "\(one).aside"
    guard [EINVAL, ENOSYS, EOPNOTSUPP].contains(errno), rename(other, aside) == 0 else {
      throw Folder.failure("replace", other)
    }
    guard rename(one, other) == 0 else {
      let failure = Folder.failure("replace", other)
      rename(aside, other)
      throw failure
    }
    guard rename(aside, one) == 0 else { throw Folder.failure("keep", one) }
  }

  /// The files and settings that pass from a version to the next one.
  private struct Carried {
    /// Files that are now in the next version, so that the former version need not keep them.
    var moving: [String] = []
    /// About files that stay behind.
    var warnings: [String] = []
  }

  /// Links the files that nobody installed from a version into the next one, if no other file is in their
  /// place. From a version that was written by hand, copies them; not those in hidden folders.
  ///
  /// This comes before the next version is live: if the process ends, no version is live without them.
  ///
  /// - Parameter kept: Where the former version will be.
  private func carryOver(
    from former: Folder, to next: Folder, keptAs kept: String
  ) throws(BundleInstallerError) -> Carried {
    let isInstalled = BundleOrigin(in: former) != nil
    var carried = Carried()
    var staying: [String] = []
    try carrySettings(from: former, to: next)
    for path in try BundleOrigin.valuable(in: former) {
      // The new version has its bundle file. A folder with two bundle files is refused.
      let isBundleFile = BundleInstaller.fileNames.contains(path)
      let isInHidden = path.split(separator: "/").dropLast().contains { $0.hasPrefix(".") }
      guard !isBundleFile, isInstalled || !isInHidden,
        try carry(path, from: former, to: next, linking: isInstalled)
      else {
        if isInstalled || !isBundleFile { staying.append(path) }
        continue
      }
      if isInstalled { carried.moving.append(path) }
    }
    if !staying.isEmpty {
      let reason =
        isInstalled ? "were changed after the installation" : "were not copied to the new version"
      carried.warnings = [
        "files that \(reason) are kept in \(kept): \(BundleInstaller.few(staying))"
      ]
    }
    return carried
  }

  /// Removes the linked files from the former version. If a user has replaced one of them
  /// meanwhile, the new file moves to the live version.
  private func moveOver(
    _ carried: Carried, from former: Folder, to live: Folder
  ) throws(BundleInstallerError) {
    for path in carried.moving {
      let parts = path.split(separator: "/").map(String.init)
      var (source, target) = (former, live)
      for part in parts.dropLast() {
        (source, target) = (try source.folder(part), try target.folder(part))
      }
      let name = parts[parts.count - 1]
      var (old, new) = (stat(), stat())
      // A program may have deleted its file.
      guard fstatat(source.descriptor, name, &old, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
      let isSame =
        fstatat(target.descriptor, name, &new, AT_SYMLINK_NOFOLLOW) == 0
        && (old.st_dev, old.st_ino) == (new.st_dev, new.st_ino)
      let result =
        isSame
        ? unlinkat(source.descriptor, name, 0)
        : renameat(source.descriptor, name, target.descriptor, name)
      guard result == 0 else { throw Folder.failure("keep", "\(source.path)/\(name)") }
    }
  }

  /// Moves the user's settings to the new version, because they hold for all versions of the
  /// bundle.
  private func carrySettings(from former: Folder, to live: Folder) throws(BundleInstallerError) {
    let name = BundleDefaults.fileName
    guard case .file? = former.entry(name) else {
      if live.entry(name) != nil { try live.remove(name) }
      return
    }
    let bytes = try former.read(name, bytesMax: BundleInstaller.settingsBytesMax)
    if live.entry(name) != nil { try live.remove(name) }
    try live.write(name, WholeBytes(bytes), isExecutable: false)
  }

  /// Copies or links a file, and makes its folders. False if another file is in its place.
  private func carry(
    _ path: String, from source: Folder, to target: Folder, linking: Bool
  ) throws(BundleInstallerError) -> Bool {
    let parts = path.split(separator: "/").map(String.init)
    var (source, target) = (source, target)
    for part in parts.dropLast() {
      guard target.entry(part) == nil || target.entry(part) == .folder else { return false }
      let inner = try source.folder(part)
      (source, target) = (inner, try target.making(part, like: inner))
    }
    let name = parts[parts.count - 1]
    let link = source.target(ofLink: name)
    if let link, link == target.target(ofLink: name) { return true }
    if let taken = target.entry(name) {
      guard case .file = taken, case .file? = source.entry(name) else { return false }
      return try target.read(name, bytesMax: .max) == source.read(name, bytesMax: .max)
    }
    // A link costs no room, and takes pipes and files that this process cannot read.
    if linking, linkat(source.descriptor, name, target.descriptor, name, 0) == 0 { return true }
    if let link {
      guard symlinkat(link, target.descriptor, name) == 0 else {
        throw Folder.failure("write", "\(target.path)/\(name)")
      }
      return true
    }
    // The file is neither a pipe nor a link to another user's file.
    guard case .file? = source.entry(name) else { return false }
    let bytes = try source.read(name, bytesMax: .max)
    try target.write(name, WholeBytes(bytes), source.access(of: name))
    return true
  }

  // MARK: Kept versions

  /// The folder with the former versions; nil if there are none.
  func versions(of id: String, in bundles: Folder) throws(BundleInstallerError) -> Folder? {
    guard bundles.entry(BundleInstaller.versionsName) == .folder else { return nil }
    let all = try bundles.folder(BundleInstaller.versionsName)
    return all.entry(id) == .folder ? try all.folder(id) : nil
  }

  /// The version that a rollback brings back; nil if there is none.
  func former(of id: String, in bundles: Folder) -> String? {
    guard let versions = try? versions(of: id, in: bundles),
      let name = try? latest(of: id, in: versions)
    else { return nil }
    return (try? read(in: versions.folder(name)))?.bundle.version
  }

  /// The latest kept version of a bundle. Versions of other bundles do not count.
  ///
  /// - Parameter version: the version to look for; nil for any.
  private func latest(
    of id: String, in versions: Folder, _ version: String? = nil
  ) throws(BundleInstallerError) -> String? {
    try numbered(versions).last {
      BundleInstaller.has($0, version) && otherID($0, than: id, in: versions) == nil
    }
  }

  /// The version for a rollback. If the bundle has none, another bundle among its versions, which
  /// the refusal names.
  private func candidate(
    for id: String, in versions: Folder, _ version: String?
  ) throws(BundleInstallerError) -> String? {
    if let own = try latest(of: id, in: versions, version) { return own }
    return try numbered(versions).last { BundleInstaller.has($0, version) }
  }

  private static func has(_ name: String, _ version: String?) -> Bool {
    version.map { name.hasSuffix("-\($0)") } ?? true
  }

  /// The other bundles among the versions of a bundle, with the names of their folders.
  func others(
    than id: String, in versions: Folder
  ) throws(BundleInstallerError) -> [(id: String, name: String)] {
    var others: [(id: String, name: String)] = []
    for name in try numbered(versions) {
      guard let other = otherID(name, than: id, in: versions) else { continue }
      others.append((other, name))
    }
    return others
  }

  /// The kept versions as text: `1.0.0, 1.2.0`.
  private func shownVersions(_ versions: Folder) throws(BundleInstallerError) -> String {
    let names = try numbered(versions)
    return names.map { $0.split(separator: "-", maxSplits: 1).last.map(String.init) ?? $0 }
      .joined(separator: ", ")
  }

  /// The names of complete versions, the oldest first.
  private func numbered(_ versions: Folder) throws(BundleInstallerError) -> [String] {
    var names: [String] = []
    for name in try versions.names() where try isVersion(name, in: versions) == true {
      names.append(name)
    }
    return names.sorted {
      (BundleInstaller.number(of: $0) ?? 0) < (BundleInstaller.number(of: $1) ?? 0)
    }
  }

  /// Whether a kept version is complete. A version without a bundle file is what is left of a
  /// version whose deletion was interrupted. Nil for entries that are no versions.
  private func isVersion(
    _ name: String, in versions: Folder
  ) throws(BundleInstallerError) -> Bool? {
    guard BundleInstaller.number(of: name) != nil, versions.entry(name) == .folder else {
      return nil
    }
    let version = try versions.folder(name)
    return BundleInstaller.fileNames.contains { version.entry($0) != nil }
  }

  private static func number(of name: String) -> Int? { Int(name.prefix { $0 != "-" }) }

  private func nextName(in versions: Folder, version: String?) throws(BundleInstallerError)
    -> String
  {
    let last = try numbered(versions).last.flatMap { BundleInstaller.number(of: $0) } ?? 0
    return "\(last + 1)" + (version.map { "-\($0)" } ?? "")
  }

  /// Deletes surplus versions, the oldest first, except those with files of a user, and other
  /// bundles.
  private func prune(_ id: String, in bundles: Folder) throws(BundleInstallerError) {
    try removeRemains(of: id, in: bundles)
    guard let versions = try versions(of: id, in: bundles) else { return }
    let own = try numbered(versions).filter { otherID($0, than: id, in: versions) == nil }
    for name in own.dropLast(BundleInstaller.versionsKeptMax)
    where try BundleOrigin.valuable(in: try versions.folder(name)).isEmpty {
      try discard("\(BundleInstaller.versionsName)/\(id)/\(name)", in: bundles)
    }
  }

  // MARK: Deletion

  /// Deletes a folder. First it gets a staging name, so that it is gone at once for every reader.
  /// If this process is killed meanwhile, the next one deletes the rest. If the deletion fails, the
  /// folder returns to its place.
  ///
  /// - Parameter name: the path of the folder, relative to `bundles`.
  func discard(_ name: String, in bundles: Folder) throws(BundleInstallerError) {
    try checkIsRemovable(name, in: bundles)
    let aside = BundleInstaller.stagingName(in: bundles, "-deleted")
    guard renameat(bundles.descriptor, name, bundles.descriptor, aside) == 0 else {
      throw Folder.failure("remove", "\(path)/\(name)")
    }
    do throws(BundleInstallerError) { try bundles.remove(aside) } catch {
      let isBack = renameat(bundles.descriptor, aside, bundles.descriptor, name) == 0
      throw stays(isBack ? name : aside, error)
    }
  }

  /// Throws if this user may not delete all of a folder.
  ///
  /// - Parameter name: the path of the folder, relative to `bundles`.
  func checkIsRemovable(_ name: String, in bundles: Folder) throws(BundleInstallerError) {
    do throws(BundleInstallerError) { try bundles.checkIsRemovable(name) } catch {
      throw stays(name, error)
    }
  }

  /// The error about a folder that could not be deleted, with its place.
  private func stays(_ name: String, _ error: BundleInstallerError) -> BundleInstallerError {
    guard case .system(let message, let number) = error else { return error }
    return .system(
      "\(path)/\(name) stays, because this user may not delete all of it; delete it as its owner or"
        + " as root: \(message)",
      errno: number)
  }

  /// A name for a staging folder that no remains have.
  static func stagingName(in bundles: Folder, _ ending: String = "") -> String {
    let first = "\(stagingPrefix)\(getpid())\(ending)"
    var (name, number) = (first, 1)
    while bundles.entry(name) != nil {
      number += 1
      name = "\(first)-\(number)"
    }
    return name
  }

  /// Deletes the staging folders of former holders of the lock that were killed. Those that this
  /// user may not delete stay, because nothing needs their names.
  func removeRemains(in bundles: Folder) throws(BundleInstallerError) {
    for name in try bundles.names() where name.hasPrefix(BundleInstaller.stagingPrefix) {
      try? bundles.remove(name)
    }
  }

  /// Deletes the incomplete versions of a bundle.
  func removeRemains(of id: String, in bundles: Folder) throws(BundleInstallerError) {
    guard let versions = try versions(of: id, in: bundles) else { return }
    for name in try versions.names() where try isVersion(name, in: versions) == false {
      try? discard("\(BundleInstaller.versionsName)/\(id)/\(name)", in: bundles)
    }
  }
}
