import CLibArchive
import Glibc
public import WidgetBundle
public import WidgetExpression
import WidgetModel

/// The folder with the bundles: `DIR/ID/bundle.yaml`, with the other files of the bundle.
///
/// A bundle is installed as a whole or not at all. It is unpacked in a staging folder, read and
/// checked there, and then exchanged with the former version at once. Until then the former version
/// does not change. Other bundles never change. The former version is kept for `rollback`. A
/// program that watches the folder sees complete bundles only, because the name of a staging folder
/// begins with a dot.
public struct BundleInstaller: Sendable {
  /// The folder of the bundles.
  public let path: String
  public var limits: BundleLimits
  private let timeZones: (@Sendable (String) -> TimeZoneRules?)?

  public init(
    path: String, limits: BundleLimits = BundleLimits(),
    timeZones: (@Sendable (String) -> TimeZoneRules?)? = nil
  ) {
    self.path = path
    self.limits = limits
    self.timeZones = timeZones
  }

  /// The possible names of a bundle's file.
  public static let fileNames = BundleFileName.all
  /// The prefix of the installer's own folders. A folder of this name is incomplete or is being
  /// deleted.
  static let stagingPrefix = ".staging-"

  /// A bundle that was read, from any place.
  public struct Found: Sendable {
    public let bundle: Bundle
    /// The file that describes it; of an archive, `ARCHIVE/PATH`.
    public let file: String
    /// The content of that file.
    public let text: String
  }

  /// A bundle that is in the folder.
  public struct Installed: Sendable {
    /// The folder's name, which is the bundle's id.
    public let id: String
    /// The id in the bundle's file, which differs from the name of a misnamed folder. Nil if the
    /// file cannot be used.
    let declaredID: String?
    /// The path of the folder. If a link leads to it, the path of the link's target.
    public let folder: String
    /// The file that describes it. If the file cannot be used, the folder.
    public let file: String
    /// The bundle, or the reason why the file cannot be used.
    public let bundle: Result<Bundle, BundleInstallerError>
    /// The digest of the archive that was installed; nil if it was no archive.
    public let digest: String?
    /// The version that `rollback` brings back; nil if there is none.
    public let former: String?
    /// Whether the folder has no bundle's file. `bundle` is then the reason to list it.
    var lacksFile = false
  }

  /// The result of an installation.
  public struct Outcome: Sendable {
    public let bundle: Bundle
    /// The version that was replaced; nil if there was none, or if it could not be read.
    public let former: String?
    public let wasThere: Bool
    /// The digest of the archive; nil for a folder or a single file.
    public let digest: String?
    /// Warnings: possible mistakes, and names that other bundles also use.
    public let warnings: [String]
    /// The id in the file of the replaced version; nil if it could not be read.
    public var formerID: String?
    /// Whether the same content was already installed, so that nothing has changed.
    public var isUnchanged = false
    /// Whether the host had not carried out an earlier removal of the bundle. The widgets then keep
    /// the values that the removal was to delete.
    public var hasPendingRemoval = false
  }

  // MARK: - Reading

  /// The bundle that a file describes, or that is in a folder or an archive.
  public func read(at path: String) throws(BundleInstallerError) -> Found {
    try finder.find(at: path)
  }

  /// The bundle of an archive, or of the file of a bundle, from its bytes. An archive is unpacked
  /// into a temporary folder, with the limits of an installation, and removed again.
  ///
  /// - Parameter name: its name, for messages.
  public func read(bytes: [UInt8], name: String) throws(BundleInstallerError) -> Found {
    try finder.find(in: bytes, name: name)
  }

  func read(
    in folder: Folder, settings: SettingsFile? = nil
  ) throws(BundleInstallerError) -> Found {
    try finder.find(in: folder, settings: settings)
  }

  private var finder: BundleFinder { BundleFinder(limits: limits, timeZones: timeZones) }

  /// The installed bundles, in order of their ids; also those that cannot be used, with the reason.
  public func list() throws(BundleInstallerError) -> [Installed] {
    guard access(path, F_OK) == 0 || errno != ENOENT else { return [] }
    let folder = try Folder(path)
    var result: [Installed] = []
    for name in try folder.names() where !name.hasPrefix(".") {
      if let problem = dangling(name, folder) ?? special(name, folder) {
        result.append(unusable(name, problem, in: folder, lacksFile: true))
        continue
      }
      let inner: Folder
      do throws(BundleInstallerError) {
        guard
          let found = try folder.entry(name) == .folder
            ? folder.folder(name) : linked(name, folder)
        else { continue }
        inner = found
        if let refusal = inner.refusal { throw refusal }
        guard BundleInstaller.fileNames.contains(where: { inner.entry($0) != nil }) else {
          if let problem = try BundleFinder.suspicion(about: inner) {
            result.append(unusable(name, problem, in: folder, lacksFile: true))
          }
          continue
        }
      } catch {
        // One unreadable folder must not hide the other bundles.
        let path = "\(path)/\(name)"
        let isForbidden = if case .system(_, EACCES) = error { true } else { false }
        result.append(unusable(name, isForbidden ? Folder.unreadable(path) : error, in: folder))
        continue
      }
      let bundle: Result<Bundle, BundleInstallerError>
      var file = inner.path
      var declaredID: String?
      do throws(BundleInstallerError) {
        let found = try read(in: inner)
        file = found.file
        declaredID = found.bundle.id
        bundle =
          found.bundle.id == name
          ? .success(found.bundle)
          : .failure(BundleInstaller.misnamed(name, at: inner.path, found.bundle, in: folder))
      } catch { bundle = .failure(error) }
      result.append(
        Installed(
          id: name, declaredID: declaredID, folder: inner.path, file: file, bundle: bundle,
          digest: BundleOrigin(in: inner)?.digest,
          former: former(of: name, in: folder)))
    }
    for name in try folder.foldersWithUnreadableNames() where !name.hasPrefix(".") {
      let problem = BundleFileName.unreadable("\(path)/\(name)")
      result.append(
        unusable(name, .refused(problem.message, hint: problem.hint), in: folder, lacksFile: true))
    }
    return result
  }

  /// A listed folder whose bundle cannot be read.
  private func unusable(
    _ name: String, _ error: BundleInstallerError, in bundles: Folder, lacksFile: Bool = false
  ) -> Installed {
    let place = "\(path)/\(name)"
    return Installed(
      id: name, declaredID: nil, folder: place, file: place, bundle: .failure(error), digest: nil,
      former: former(of: name, in: bundles), lacksFile: lacksFile)
  }

  static let nameWords = " holds the bundle \""

  /// Whether an error is about a folder whose name is not the id of its bundle. The host runs the
  /// bundle, unless another folder has it, too.
  public static func isAboutName(_ message: String) -> Bool { message.contains(nameWords) }

  /// The error about a folder whose name is not the id of its bundle.
  static func misnamed(
    _ name: String, at path: String, _ bundle: Bundle, in bundles: Folder
  ) -> BundleInstallerError {
    .refused(
      "\(path)\(nameWords)\(bundle.id)\"",
      hint: bundles.entry(bundle.id) == nil
        ? "rename the folder to \(bundle.id)"
        : "\(bundles.path)/\(bundle.id) already exists; "
          + (BundleReader.isID(name) ? "write bundle: \(name) in the file, or " : "")
          + "remove one of the folders")
  }

  /// The changes that installing a bundle would make, permissions first. If no bundle with its id
  /// is installed, everything is new.
  ///
  /// - Throws: Also if the installed bundle cannot be read.
  public func differences(
    to found: Found
  ) throws(BundleInstallerError) -> (isInstalled: Bool, differences: [BundleDifference]) {
    let installed = BundleInstaller.installed(found.bundle.id, among: try list())
    var before: String?
    if let installed {
      // A misnamed folder has a bundle, too.
      if installed.declaredID == nil, case .failure(let error) = installed.bundle {
        throw error.preceded(by: "the installed bundle \(installed.id) cannot be compared")
      }
      before = String(decoding: try finder.bytes(at: installed.file), as: UTF8.self)
    }
    let all = BundleDifference.between(before ?? BundleDifference.nothing, found.text)
      .filter { before != nil || $0.after != nil }
    return (before != nil, all.filter(\.isPermission) + all.filter { !$0.isPermission })
  }

  // MARK: - Installing

  /// Installs the bundle at a path: its file, its folder, or an archive of either.
  ///
  /// - Parameters:
  ///   - digest: the required SHA-256 of the archive, in hexadecimal. Nil for any.
  ///   - force: also replaces another bundle in the bundle's folder.
  public func install(
    _ path: String, digest: String? = nil, force: Bool = false
  ) throws(BundleInstallerError) -> Outcome {
    guard let mode = FileMode.of(path) else { throw BundleFinder.missing(path) }
    if mode & FileMode.type == FileMode.folder {
      guard digest == nil else {
        throw .refused("\(path) is a folder, which has no digest", hint: "leave out the digest")
      }
      let source = try Folder(path)
      return try install(digest: nil, force: force, name: source.path) {
        (staging) throws(BundleInstallerError) in
        var copy = FolderCopy(limits)
        try copy.add(source, to: staging)
      }
    }
    return try install(
      bytes: try finder.bytes(at: path), name: path, digest: digest, force: force)
  }

  /// Installs an archive, or the file of a bundle, from its bytes.
  ///
  /// - Parameters:
  ///   - name: its file name, which decides the format if the contents do not.
  ///   - force: also replaces another bundle in the bundle's folder.
  public func install(
    bytes: [UInt8], name: String, digest: String? = nil, force: Bool = false
  ) throws(BundleInstallerError) -> Outcome {
    let found = SHA256.hex(bytes)
    if let digest, digest.lowercased() != found {
      throw .refused(
        "the file's SHA-256 is \(found), not \(digest.lowercased())",
        hint: "fetch the file again; if the digest still differs, do not install the file")
    }
    if !BundleFinder.isArchive(bytes) {
      guard BundleInstaller.isFile(name) else {
        throw .refused(
          "\(name.isEmpty ? "the file without a name" : name) is neither a bundle's file nor a zip or tar.gz archive",
          hint: "give a .yaml or .json file, a folder, or an archive")
      }
      let file = name.hasSuffix(".json") ? "bundle.json" : "bundle.yaml"
      return try install(digest: found, force: force, name: name, file: file) {
        (staging) throws(BundleInstallerError) in
        try staging.write(file, WholeBytes(bytes), isExecutable: false)
      }
    }
    return try install(digest: found, force: force, name: name.isEmpty ? "archive" : name) {
      (staging) throws(BundleInstallerError) in
      try ArchiveReader(limits: limits).unpack(bytes, into: staging)
    }
  }

  static func isFile(_ name: String) -> Bool {
    [".yaml", ".yml", ".json"].contains { name.hasSuffix($0) }
  }

  /// - Parameters:
  ///   - name: of the file, folder or archive that the user installs, for messages.
  ///   - file: the name that a single file gets; nil for a folder or an archive.
  private func install(
    digest: String?, force: Bool, name: String, file: String? = nil,
    _ fill: (Folder) throws(BundleInstallerError) -> Void
  ) throws(BundleInstallerError) -> Outcome {
    try BundleInstaller.makeFolders(path)
    let bundles = try Folder(path)
    let lock = try InstallerLock(bundles)
    defer { lock.release() }
    try removeRemains(in: bundles)
    let stagingName = BundleInstaller.stagingName(in: bundles)
    defer { try? bundles.remove(stagingName) }
    let staging = try bundles.making(stagingName)
    try fill(staging)
    // An archive usually has the folder in it, not its files.
    let (root, rootName) = try BundleFinder.root(of: staging, stagingName)
    let found: Found
    do throws(BundleInstallerError) { found = try read(in: root) } catch {
      // Users do not know the staging folder.
      if let file { throw error.replacing("\(root.path)/\(file)", with: name) }
      let inner = String(rootName.dropFirst(stagingName.count))
      throw error.replacing(root.path, with: name + inner)
    }
    let bundle = found.bundle
    let file = found.file.replacing(root.path, with: "\(path)/\(bundle.id)")
    let remarks = bundle.remarks.map { "\(file):\($0)" } + droppedSettings(by: bundle)
    // The publisher must not decide these files: the installer and the user write them.
    for name in [
      BundleOrigin.name, BundleDefaults.fileName, BundleInstaller.newSettingsName,
    ] where root.entry(name) != nil { try root.remove(name) }
    let origin = try BundleOrigin(digest: digest, of: root)
    try root.write(BundleOrigin.name, WholeBytes(Array(origin.text.utf8)), isExecutable: false)
    try removeRemains(of: bundle.id, in: bundles)
    let all = try list()
    try checkIsOnlyCopy(bundle.id, among: all, in: bundles)
    if !force { try checkHasNoOccupant(bundle.id, bundle.widgets, among: all, in: bundles) }
    let others = all.filter { $0.id != bundle.id }
    let clashes =
      BundleInstaller.clashes(of: bundle, with: others) + copies(of: bundle.id, among: all)
    if let live = try? bundles.folder(bundle.id), BundleOrigin(in: live)?.files == origin.files,
      try BundleOrigin.valuable(in: live).isEmpty,
      try BundleOrigin.executables(in: live) == BundleOrigin.executables(in: root)
    {
      // Do not install the same content again, even from another archive: that would only drop
      // the former version.
      unmark(bundle.id, in: bundles)
      return Outcome(
        bundle: bundle, former: bundle.version, wasThere: true, digest: digest,
        warnings: remarks + clashes, formerID: bundle.id, isUnchanged: true)
    }
    let former = try replace(bundle.id, by: rootName, in: bundles)
    let hasPendingRemoval = unmark(bundle.id, in: bundles)
    fsync(bundles.descriptor)
    return Outcome(
      bundle: bundle, former: former.version, wasThere: former.wasThere, digest: digest,
      warnings: remarks + clashes + former.warnings, formerID: former.id,
      hasPendingRemoval: hasPendingRemoval)
  }

  func isBundleFolder(_ folder: Folder) throws(BundleInstallerError) -> Bool {
    if BundleInstaller.fileNames.contains(where: { folder.entry($0) != nil }) { return true }
    return try folder.names().isEmpty
  }

  private static func makeFolders(_ path: String) throws(BundleInstallerError) {
    var made = path.hasPrefix("/") ? "/" : ""
    for part in path.split(separator: "/") {
      made += made.isEmpty || made.hasSuffix("/") ? String(part) : "/\(part)"
      guard mkdir(made, 0o755) == 0 else {
        // An existing folder need not be writable.
        guard errno == EEXIST || access(made, X_OK) == 0 else { throw Folder.failure("make", made) }
        continue
      }
      // The user who runs widgetd-host must be able to read a folder of the system. A user's folder
      // follows the user's umask.
      guard geteuid() != 0 || chmod(made, 0o755) == 0 else { throw Folder.failure("make", made) }
    }
  }

  // MARK: - Installed bundles

  /// The folder of bundles, if it may have this bundle.
  ///
  /// - Parameter mayBeMisnamed: whether the id may be the name of a listed folder that is no id.
  func existing(
    _ id: String, mayBeMisnamed: Bool = false
  ) throws(BundleInstallerError) -> Folder {
    guard BundleReader.isID(id) else {
      if let listed = try list().first(where: { $0.id == id }) {
        if mayBeMisnamed { return try Folder(path) }
        if case .failure(let error) = listed.bundle { throw error }
      }
      throw .refused(
        "\"\(id.prefix(80))\" is not a bundle's id",
        hint: "use 1 to 64 of a-z, 0-9 and -")
    }
    guard access(path, F_OK) == 0 else { throw BundleInstaller.noBundle(id, []) }
    return try Folder(path)
  }

  /// Throws if there is no folder of this id, or if the folder holds no bundle.
  func checkIsBundle(_ id: String, in bundles: Folder) throws(BundleInstallerError) {
    guard let entry = bundles.entry(id) else { throw BundleInstaller.noBundle(id, try list()) }
    if let target = bundles.textOfLink(id) { throw isLink(id, to: target) }
    guard entry == .folder, try isBundleFolder(try bundles.folder(id)) else {
      let (lost, rest, command) =
        entry == .folder
        ? ("its bundle's file", "the folder", "rm -r") : ("a bundle's folder", "the file", "rm")
      throw .refused(
        "\(path)/\(id)\(BundleInstaller.noFileWords)",
        hint: "if somebody has removed \(lost), put it back: 30 seconds after the removal, "
          + "widgetd-host removes the widgets of the bundle with their data. If nobody needs "
          + "\(rest), delete it with `\(command) \(path)/\(id)`")
    }
  }

  func isLink(_ id: String, to target: String) -> BundleInstallerError {
    .refused(
      "\(path)/\(id)\(BundleInstaller.linkWords)\(target)",
      hint: "change the bundle there, or remove the link with `widgetctl bundle rm \(id)`")
  }

  private static let linkWords = " is a link to "

  /// Whether the message of an error says that the place of a bundle has a link.
  public static func isAboutLink(_ message: String) -> Bool { message.contains(linkWords) }

  private static let noBundleWords = "there is no bundle"

  /// Whether the error says that the folder of bundles has no such bundle.
  public static func isAboutNoBundle(_ error: BundleInstallerError) -> Bool {
    guard case .notFound(let message, _) = error else { return false }
    return isAboutNoBundle(message)
  }

  /// The same for the message of an error.
  public static func isAboutNoBundle(_ message: String) -> Bool {
    message.hasPrefix("\(noBundleWords) \"")
  }

  private static let noFileWords = " is not a bundle"

  /// Whether an error says that the place of a bundle has something else, such as a folder without a
  /// bundle's file.
  public static func isAboutNoFile(_ error: BundleInstallerError) -> Bool {
    guard case .refused(let message, _) = error else { return false }
    return message.hasSuffix(noFileWords)
  }

  private static func noBundle(_ id: String, _ listed: [Installed]) -> BundleInstallerError {
    if let misnamed = listed.first(where: { $0.declaredID == id }),
      case .failure(let error) = misnamed.bundle
    {
      return error
    }
    let near = id.closest(among: listed.map { $0.declaredID ?? $0.id })
    return .notFound(
      "\(noBundleWords) \"\(id)\"",
      hint: (near.map { "did you mean \"\($0)\"? " } ?? "")
        + "`widgetctl bundle ls` lists the bundles")
  }
}

extension BundleInstaller {
  /// `a, b, c and 4 more`
  static func few(_ names: [String]) -> String {
    guard names.count > 4 else {
      return names.isEmpty ? "nothing in it" : names.joined(separator: ", ")
    }
    return names.prefix(3).joined(separator: ", ") + " and \(names.count - 3) more"
  }
}
