import Glibc
import WidgetBundle
public import WidgetModel

// Other folders and files in the folder of bundles that have the id of a bundle, and other bundles in
// the folder of a bundle.
extension BundleInstaller {
  /// Another bundle in the folder with a bundle's id as its name.
  public struct Occupant: Sendable {
    public let id: String
    /// Nil if its file has a mistake.
    public let version: String?
    /// None if its file has a mistake.
    public let widgets: [WidgetSpec]
  }

  /// The other bundle in the folder with this id as its name, which an installation would replace.
  /// Nil if there is none.
  public func occupant(of id: String) -> Occupant? {
    (try? Folder(path)).flatMap { occupant(of: id, in: $0) }
  }

  func occupant(of id: String, in bundles: Folder) -> Occupant? {
    guard bundles.entry(id) == .folder, let folder = try? bundles.folder(id) else { return nil }
    if let other = (try? read(in: folder))?.bundle {
      return other.id == id
        ? nil : Occupant(id: other.id, version: other.version, widgets: other.widgets)
    }
    // The host can still run the version before the mistake.
    guard let other = BundleFinder.writtenID(in: folder), other != id else { return nil }
    return Occupant(id: other, version: nil, widgets: [])
  }

  /// The id of another bundle that `install --force` has moved from the folder of a bundle to the
  /// versions of that bundle. Nil for a version of the bundle, or if nobody can tell.
  ///
  /// - Parameter name: of the version's folder.
  func otherID(_ name: String, than id: String, in versions: Folder) -> String? {
    guard let folder = try? versions.folder(name) else { return nil }
    let other = (try? read(in: folder))?.bundle.id ?? BundleFinder.writtenID(in: folder)
    return other == id ? nil : other
  }

  private static let occupantWords = "would replace that bundle"

  /// Whether `install` or `rollback` refuses to replace another bundle. `install` replaces it with
  /// `force`.
  ///
  /// - Parameter message: of the error.
  public static func isAboutOccupant(_ message: String) -> Bool {
    message.contains(occupantWords)
  }

  /// Throws if the folder with this id as its name has another bundle.
  ///
  /// - Parameter widgets: of the version to install.
  func checkHasNoOccupant(
    _ id: String, _ widgets: [WidgetSpec], among all: [Installed], in bundles: Folder,
    for placement: Placement = .installation
  ) throws(BundleInstallerError) {
    guard let other = occupant(of: id, in: bundles) else { return }
    let hasCopy = all.contains { $0.id != id && $0.declaredID == other.id }
    let gone = other.widgets.filter { spec in
      !hasCopy && !widgets.contains { $0.id == spec.id && $0.kind == spec.kind }
    }.compactMap { $0.id?.rawValue }
    let loss = gone.isEmpty ? "" : " and remove its widgets: \(BundleInstaller.few(gone))"
    let version = other.version.map { " \($0)" } ?? ""
    let isFree = bundles.entry(other.id) == nil
    var steps = [
      (isFree ? "rename the folder \(id) to \(other.id)" : "move the folder \(id) elsewhere")
        + " and \(placement.again)"
    ]
    if isFree, other.version != nil {
      steps.append("remove that bundle with `widgetctl bundle rm \(other.id)`")
    }
    if placement == .installation { steps.append("install with --force") }
    let words = "\(path)/\(id) has the bundle \"\(other.id)\"\(version), "
    throw .refused(
      words + "so the \(placement.rawValue) \(BundleInstaller.occupantWords)" + loss,
      hint: steps.dropLast().map { "\($0), " }.joined() + (steps.count > 1 ? "or " : "")
        + (steps.last ?? ""))
  }

  /// The warning about another bundle that is no longer in the folder of a bundle.
  ///
  /// - Parameters:
  ///   - kept: the path where it is now.
  ///   - hasSettings: whether the user has set some of its settings.
  func wordsAbout(
    _ other: String, replacedIn id: String, keptAs kept: String, hasSettings: Bool
  ) -> String {
    "the folder \(path)/\(id) held the bundle \"\(other)\", which is now kept in \(kept); to get it "
      + "back, install \(kept)" + (hasSettings ? ", and set its settings again" : "")
  }

  /// The installed bundle of an id. The folder with the id as its name comes first, also if its
  /// file has a mistake. If it has another bundle, the folder with this bundle comes first.
  static func installed(_ id: String, among all: [Installed]) -> Installed? {
    all.first { $0.id == id && !$0.lacksFile && ($0.declaredID ?? id) == id }
      ?? all.first { $0.declaredID == id } ?? all.first { $0.id == id && !$0.lacksFile }
  }

  /// Whether a bundle was read from the file of the installed bundle itself.
  public func isInstalled(_ found: Found) -> Bool {
    guard let all = try? list(),
      let installed = BundleInstaller.installed(found.bundle.id, among: all)
    else { return false }
    return BundleInstaller.isSame(installed.file, found.file)
  }

  /// Tells the host that the bundle was removed on purpose. Without the mark, the host waits before
  /// it removes the widgets. The mark comes last, because the host deletes marks of bundles that it
  /// misses, and marks that say nothing. It gets its name when it is complete, so that a host sees
  /// its id.
  ///
  /// - Parameters:
  ///   - id: nil for no mark.
  ///   - target: the folder that a removed link led to. Only by this path, a host that starts later
  ///     recognizes the bundle, because the folder is still there.
  func mark(_ id: String?, linkedTo target: String? = nil, in bundles: Folder) {
    guard let id, BundleRemovalMark.canHave(id) else { return }
    let name = BundleRemovalMark.name(of: id)
    let record = BundleRemovalMark.Record(target: target ?? "")
    let draft = BundleInstaller.stagingName(in: bundles, "-mark")
    do throws(BundleInstallerError) {
      try bundles.write(draft, WholeBytes(record.bytes), isExecutable: false)
    } catch {
      // A full disk can still have room for an empty file, which tells of the removal, too.
      try? bundles.write(draft, WholeBytes([]), isExecutable: false)
    }
    guard renameat(bundles.descriptor, draft, bundles.descriptor, name) != 0 else { return }
    try? bundles.remove(draft)
  }

  /// The same for a bundle that somebody had moved to another folder of bundles before its removal.
  public func markRemoval(of id: String) {
    guard let bundles = try? Folder(path) else { return }
    mark(id, in: bundles)
  }

  /// The bundles with a mark of a removal in the folder, in order.
  ///
  /// - Parameter end: Later marks do not count.
  public func markedRemovals(before end: Timestamp = .latest) -> [String] {
    let prefix = BundleRemovalMark.name(of: "")
    let names = (try? Folder(path).names()) ?? []
    return names.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
      .filter { id in
        var status = stat()
        guard BundleRemovalMark.canHave(id),
          lstat("\(path)/\(BundleRemovalMark.name(of: id))", &status) == 0,
          status.st_mode & S_IFMT == S_IFREG
        else { return false }
        let changed = Timestamp(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: 0)
        return changed.map { $0 < end } ?? false
      }
  }

  /// The folder that a removed link to a bundle led to, by the mark of the removal. Nil if it was no
  /// link.
  public func target(ofMark id: String) -> String? {
    guard BundleRemovalMark.canHave(id), let bundles = try? Folder(path),
      let bytes = try? bundles.read(
        BundleRemovalMark.name(of: id), bytesMax: BundleRemovalMark.Record.bytesMax)
    else { return nil }
    let target = BundleRemovalMark.Record(bytes).target
    return target.isEmpty ? nil : String(decoding: target, as: UTF8.self)
  }

  /// Deletes marks of removals that no host needs.
  public func dropMarks(of ids: [String]) {
    guard let bundles = try? Folder(path) else { return }
    for id in ids where BundleRemovalMark.canHave(id) { unmark(id, in: bundles) }
  }

  /// Deletes the mark of a former removal, because the bundle is there again.
  ///
  /// - Returns: whether there was a mark, so that the host has not carried out the removal.
  @discardableResult
  func unmark(_ id: String, in bundles: Folder) -> Bool {
    let name = BundleRemovalMark.name(of: id)
    let isMarked = bundles.entry(name) != nil
    try? bundles.remove(name)
    return isMarked
  }

  /// A change that puts a version of a bundle into the folder with the bundle's id as its name.
  enum Placement: String {
    case installation
    case rollback

    fileprivate var again: String {
      switch self {
      case .installation: "install again"
      case .rollback: "roll back again"
      }
    }
  }

  private static let copyWords = "would make a second copy"

  /// Whether `install` or `rollback` refuses a bundle because a folder with another name has it.
  ///
  /// - Parameter message: of the error.
  public static func isAboutCopy(_ message: String) -> Bool { message.contains(copyWords) }

  /// Such a message without the next step.
  public static func withoutStep(aboutCopy message: String) -> String {
    message.firstRange(of: copyWords).map { String(message[..<$0.upperBound]) } ?? message
  }

  /// Throws if a change would make a second copy of a bundle: a folder with another name has the
  /// bundle, and the folder with the id as its name does not have it.
  func checkIsOnlyCopy(
    _ id: String, among all: [Installed], in bundles: Folder,
    for placement: Placement = .installation
  ) throws(BundleInstallerError) {
    guard let copy = BundleInstaller.installed(id, among: all), copy.id != id else { return }
    let step = "rename the folder \(copy.id) to \(id), and \(placement.again)"
    throw .refused(
      "\(path)/\(copy.id) has the bundle \"\(id)\" now, so the \(placement.rawValue) "
        + BundleInstaller.copyWords,
      hint: bundles.entry(id) == nil ? step : "move the folder \(id) elsewhere, \(step)")
  }

  /// A warning for each other folder or file that has a bundle, too.
  func copies(of id: String, among all: [Installed]) -> [String] {
    let place = "\(path)/\(id)"
    let folders = all.filter { copy in
      copy.id != id && copy.declaredID == id
        && !BundleInstaller.isSame(place, "\(path)/\(copy.id)")
    }.map { copy in
      "\(path)/\(copy.id) has the bundle \"\(id)\", too, and widgetd-host runs only one of the two "
        + "folders; remove the folder \(copy.id)"
    }
    let files = strays(of: id).map { name in
      "\(path)/\(name) has the bundle \"\(id)\", too, and widgetd-host does not run this file; "
        + "remove the file"
    }
    return folders + files
  }

  /// The names of the files of a bundle that are beside the folders. The host asks the user to
  /// install such a file.
  private func strays(of id: String) -> [String] {
    guard let bundles = try? Folder(path), let names = try? bundles.names() else { return [] }
    return names.filter { name in
      guard !name.hasPrefix("."), BundleInstaller.isFile(name), case .file? = bundles.entry(name)
      else { return false }
      return (try? read(at: "\(path)/\(name)"))?.bundle.id == id
    }.sorted()
  }

  /// Whether two paths lead to the same file or folder.
  static func isSame(_ one: String, _ other: String) -> Bool {
    var (a, b) = (stat(), stat())
    return stat(one, &a) == 0 && stat(other, &b) == 0
      && (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
  }
}
