// Both imports are for `timespec`; see FolderReading.swift.
import CSystemd
import Glibc
import WidgetBundle
import WidgetModel

/// Looks for bundles in folders. The calls block, so use it only on threads that may block.
enum BundleFolders {
  /// The possible names of a bundle's file. A folder has one of them.
  static let fileNames = BundleFileName.all
  /// The maximum number of bundles in one folder. The rest is ignored.
  static let countMax = 1_000

  /// Reads a bundle from a file's text and the user's settings, or returns the mistakes as lines
  /// `line:column: message`.
  typealias Reader =
    @Sendable (_ text: String, _ isJSON: Bool, _ settings: SettingsFile?) -> Result<
      Bundle, BundleRefusal
    >
  /// The maximum size of a file of settings, in bytes.
  static let settingsBytesMax = 1 << 16

  /// All folders in a folder, by name, without symbolic links. The result also has five kinds of
  /// paths with a problem: the folder itself, if this process may not read it, a bundle's file
  /// without a folder, a link that leads to nothing, a named pipe, socket or device in the place of
  /// a folder, and the repaired path of a folder whose name is not UTF-8 text.
  static func subfolders(of root: String) -> [String] {
    guard let directory = opendir(root) else { return errno == EACCES ? [root] : [] }
    defer { closedir(directory) }
    var names: [String] = []
    var unreadable: [String] = []
    while let entry = readdir(directory), names.count < countMax {
      withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { bytes in
          let name = String(cString: bytes)
          guard !name.hasPrefix(".") else { return }
          guard String(validatingCString: bytes) == nil else { return names.append(name) }
          var status = stat()
          if fstatat(dirfd(directory), bytes, &status, 0) == 0, status.st_mode & S_IFMT == S_IFDIR {
            unreadable.append("\(root)/\(name)")
          }
        }
      }
    }
    var found: [String] = []
    for name in names.sorted() {
      guard let path = FileReading.resolved("\(root)/\(name)") else {
        if dangling("\(root)/\(name)") != nil { found.append("\(root)/\(name)") }
        continue
      }
      guard !found.contains(path) else { continue }
      var status = stat()
      guard stat(path, &status) == 0 else { continue }
      let isSpecial =
        BundleFileName.mayBeFolder(name) && SpecialFile.isSpecial(mode: status.st_mode)
      if status.st_mode & S_IFMT == S_IFDIR || isSpecial || isStray(path, status) {
        found.append(path)
      }
    }
    return found + Set(unreadable.prefix(countMax)).subtracting(found).sorted()
  }

  /// Whether a path of `subfolders` stands for a folder whose name is not UTF-8 text. Nobody can
  /// open or watch such a path.
  static func hasUnreadableName(_ path: String) -> Bool {
    var status = stat()
    return BundleFileName.isRepaired(path) && lstat(path, &status) != 0
  }

  /// The reason why a path that was probably meant as a bundle's folder is a link to nothing; nil
  /// for other paths.
  static func dangling(_ path: String) -> String? {
    var status = stat()
    guard BundleFileName.mayBeFolder(Paths.lastComponent(path)), lstat(path, &status) == 0,
      status.st_mode & S_IFMT == S_IFLNK, stat(path, &status) != 0, errno != EACCES
    else { return nil }
    return errorText()
  }

  /// The problem of a named pipe, a socket or a device in the place of a folder; nil for other paths.
  private static func special(_ path: String) -> (message: String, hint: String)? {
    var status = stat()
    guard stat(path, &status) == 0, SpecialFile.isSpecial(mode: status.st_mode) else { return nil }
    return SpecialFile.problem(ofFolder: path, mode: status.st_mode)
  }

  /// Whether nobody can open or watch a path as a folder.
  static func isUnwatchable(_ path: String) -> Bool {
    hasUnreadableName(path) || dangling(path) != nil || special(path) != nil
  }

  /// The problem of a folder that was probably meant to be a bundle's, and has no bundle's file:
  /// its file has another name, its file or the folder itself is a link to nothing, the folder is a
  /// named pipe, a socket or a device, or its name is not UTF-8 text. Nil for other folders.
  static func suspicion(about folder: String) -> HostState.Found? {
    guard !hasUnreadableName(folder) else { return broken(BundleFileName.unreadable(folder)) }
    if let reason = dangling(folder) { return broken(BundleFileName.dangling(folder, reason)) }
    if let problem = special(folder) { return broken(problem) }
    var status = stat()
    for file in fileNames.map({ "\(folder)/\($0)" }) where lstat(file, &status) == 0 {
      guard stat(file, &status) != 0 else { continue }
      return broken(
        (
          "the link \(file) leads to no readable file: \(errorText())",
          "correct the link, or remove it"
        ))
    }
    guard let directory = opendir(folder) else { return nil }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory), names.count < countMax {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if stat("\(folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG {
        names.append(name)
      }
    }
    return BundleFileName.problem(of: folder, with: names).map { broken($0) }
  }

  /// A bundle that cannot be read. A problem that is not about a line has no position.
  private static func broken(_ problem: (message: String, hint: String)) -> HostState.Found {
    .broken(problem: "\(problem.message); \(problem.hint)", digest: 0)
  }

  /// The names of the symbolic links in a folder of bundles.
  static func links(in root: String) -> [String] {
    guard let directory = opendir(root) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory), names.count < countMax {
      let type = Int(entry.pointee.d_type)
      guard type == Int(DT_LNK) || type == Int(DT_UNKNOWN) else { continue }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  /// The reason why the content of a folder of bundles is unknown; nil if it can be read.
  static func trouble(with root: String) -> String? {
    var status = stat()
    // The entry "." needs the permission to search the folder, too.
    guard stat("\(root)/.", &status) == 0, let directory = opendir(root) else {
      switch errno {
      case ENOENT: return MissingRoot.reason(root)
      case ENOTDIR: return "\(root) is not a folder"
      default: return "widgetd-host cannot read \(root): \(errorText())"
      }
    }
    defer { closedir(directory) }
    errno = 0
    while readdir(directory) != nil { errno = 0 }
    return errno == 0 ? nil : "widgetd-host cannot read \(root): \(errorText())"
  }

  /// The problem of a folder of bundles for its user, with the next step; nil if there is none.
  ///
  /// - Parameter isUsual: whether nobody has named the folder, so that it may be missing.
  static func problem(of root: String, isUsual: Bool) -> String? {
    if let complaint = complaint(about: root) { return complaint }
    if isUsual, access(root, F_OK) != 0, errno == ENOENT { return nil }
    return trouble(with: root).map { "\($0); \(MissingRoot.advice)" }
  }

  /// The reason why a bundle's folder has no bundle's file.
  ///
  /// - Parameter root: the folder of bundles that had this bundle. Its link may have led to another
  ///   folder. A mark in other folders is about another bundle with the same id.
  static func absence(
    of bundle: HostState.Remembered, in root: String? = nil
  ) -> HostState.Absence {
    let parent = Paths.parent(bundle.path)
    for folder in Set([root ?? parent, parent]) where hasMark(of: bundle, in: folder) {
      return .removed
    }
    var status = stat()
    let isThere = stat(bundle.path, &status) == 0
    let reason =
      root.flatMap(trouble(with:)) ?? trouble(with: parent)
      ?? (isThere ? trouble(with: bundle.path) : nil)
    return reason.map { .unavailable($0) } ?? .missing
  }

  /// Whether something has this path; nil if the system does not tell.
  static func isThere(_ path: String) -> Bool? {
    guard access(path, F_OK) != 0 else { return true }
    return errno == ENOENT ? false : nil
  }

  /// Whether a mark says that somebody has removed the bundle.
  ///
  /// The mark stays until the daemon has nothing of the bundle, because the host can end before that.
  private static func hasMark(of bundle: HostState.Remembered, in folder: String) -> Bool {
    RemovalMark(of: bundle.id, in: folder)?.tellsOfRemoval(of: bundle) ?? false
  }

  /// The identities of the marks of a bundle, in its folder of bundles and in these ones.
  static func marks(of bundle: HostState.Remembered, in roots: [String]) -> Set<String> {
    let places = roots + [Paths.parent(bundle.path)]
    return Set(places.compactMap { RemovalMark(of: bundle.id, in: $0)?.identity })
  }

  /// Whether a mark in one of these folders of bundles says that somebody has removed the link to the
  /// bundle's folder, which is still there.
  ///
  /// - Parameter roots: those that the last host ran. Without this, the mark could be about a link
  ///   that led to the bundle of another host.
  static func isLinkRemoved(to bundle: HostState.Remembered, in roots: [String]) -> Bool {
    roots.contains { hasMark(of: bundle, in: $0) && hasLinkMark(of: bundle, in: $0) }
  }

  /// Whether a mark names the bundle's folder as the target of a removed link.
  private static func hasLinkMark(of bundle: HostState.Remembered, in root: String) -> Bool {
    RemovalMark(of: bundle.id, in: root)?.target == Array(bundle.path.utf8)
  }

  /// Deletes the marks that say nothing any more: those about bundles that the folder does not have,
  /// those that a host saw beside the file of their bundle, those of older programs from before the
  /// last start of their bundle, and those of bundles that are back.
  ///
  /// A bundle can be back before the host looks. It then does not start again. A mark with the target
  /// of a link stays until a host has noted it, because its bundle is still there.
  ///
  /// - Parameters:
  ///   - bundles: the bundles that the host, or the daemon, has.
  ///   - rootOf: the folder of bundles that has a bundle's folder, or a link to it.
  ///   - unconfirmed: the removed bundles that the daemon still has. Their marks stay.
  ///   - known: the only marks that may be deleted. Nil: all of them may be.
  static func dropMarks(
    in roots: [String], but bundles: [HostState.Remembered], _ rootOf: [String: String] = [:],
    keeping unconfirmed: Set<String> = [], among known: Set<RemovalMark>? = nil
  ) {
    for root in roots {
      let place = FileReading.resolved(root) ?? root
      let here = bundles.filter {
        rootOf[$0.path] == root || Paths.parent($0.path) == place || hasLinkMark(of: $0, in: root)
      }
      for (id, mark) in marks(in: root) where !unconfirmed.contains(id) {
        guard known?.contains(mark) ?? true else { continue }
        let marked = here.filter { $0.id == id }
        let isNeeded = marked.contains { bundle in
          mark.tellsOfRemoval(of: bundle) || (!mark.target.isEmpty && !mark.isKnown(for: bundle))
        }
        // A removal makes its mark last, so a folder that is there after the mark is back.
        guard !isNeeded || isThere(marked, in: root) else { continue }
        delete(mark, of: id, in: root)
      }
    }
  }

  /// Deletes a mark that has been judged. If another removal has replaced it since, that mark stays.
  /// A mark that comes after the comparison is lost. The bundle then counts as missing.
  static func delete(_ mark: RemovalMark, of id: String, in root: String) {
    guard RemovalMark(of: id, in: root) == mark else { return }
    unlink("\(root)/\(BundleRemovalMark.name(of: id))")
  }

  /// Whether a folder of bundles has all these bundles' files, or links to their folders.
  private static func isThere(_ bundles: [HostState.Remembered], in root: String) -> Bool {
    let folders = subfolders(of: root)
    return bundles.allSatisfy { folders.contains($0.path) && isBundle($0.path) }
  }

  /// Whether a folder of bundles has marks of removals.
  static func hasMarks(in root: String) -> Bool { !marks(in: root).isEmpty }

  /// The marks in a folder of bundles.
  static func removalMarks(in root: String) -> Set<RemovalMark> {
    Set(marks(in: root).map(\.mark))
  }

  /// The marks in a folder of bundles, each with the id of its bundle.
  private static func marks(in root: String) -> [(id: String, mark: RemovalMark)] {
    guard let directory = opendir(root) else { return [] }
    defer { closedir(directory) }
    let prefix = BundleRemovalMark.name(of: "")
    var found: [(id: String, mark: RemovalMark)] = []
    while let entry = readdir(directory), found.count < countMax {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard name.hasPrefix(prefix) else { continue }
      let id = String(name.dropFirst(prefix.count))
      if let mark = RemovalMark(of: id, in: root) { found.append((id, mark)) }
    }
    return found
  }

  /// Whether this is a bundle's file in a place where only folders may be.
  private static func isStray(_ path: String, _ status: stat) -> Bool {
    guard status.st_mode & S_IFMT == S_IFREG,
      [".yaml", ".yml", ".json"].contains(where: { path.hasSuffix($0) }),
      let bytes = try? FileReading.read(path: path, bytesMax: BundleReader.bytesMax)
    else { return false }
    return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).contains {
      $0.hasPrefix("bundle:") || $0.drop { " {".contains($0) }.hasPrefix("\"bundle\"")
    }
  }

  /// The reason why a path cannot be a folder of bundles; nil if it can, or if it is missing.
  static func complaint(about root: String) -> String? {
    var status = stat()
    guard stat(root, &status) == 0 else { return nil }
    let advice = "name the folder that has the bundles' folders in it"
    if status.st_mode & S_IFMT != S_IFDIR { return "\(root) is not a folder; \(advice)" }
    return isBundle(root) ? "\(root) is a bundle itself; \(advice)" : nil
  }

  /// Whether a folder has a bundle's file.
  static func isBundle(_ folder: String) -> Bool { !files(in: folder).isEmpty }

  private static func files(in folder: String) -> [String] {
    var status = stat()
    return fileNames.map { "\(folder)/\($0)" }.filter { stat($0, &status) == 0 }
  }

  /// Whether this process may not read an existing folder.
  private static func isForbidden(_ folder: String) -> Bool {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno == EACCES }
    defer { close(descriptor) }
    var status = stat()
    return fstatat(descriptor, fileNames[0], &status, 0) != 0 && errno == EACCES
  }

  private static var user: String { name(ofUser: geteuid()) ?? "the user \(geteuid())" }

  /// A user's name; nil if no user has the number.
  static func name(ofUser uid: UInt32) -> String? {
    guard let entry = getpwuid(uid), let name = entry.pointee.pw_name else { return nil }
    return String(cString: name)
  }

  /// Reads the bundle in a folder; nil if there is none.
  static func look(into folder: String, _ read: Reader) -> HostState.Found? {
    let files = files(in: folder)
    guard let file = files.first else {
      var status = stat()
      if stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
        let root = Paths.parent(folder)
        return .broken(
          problem: "\(folder) is a file in the folder of bundles, so it does not run; install "
            + "it with `widgetctl bundle install \(folder) --dir \(root)`, and remove the file",
          digest: 0)
      }
      guard isForbidden(folder) else { return nil }
      return .broken(
        problem: "\(folder): \(user), the user of widgetd-host, may not read this folder; "
          + "let all users read it with `chmod -R a+rX \(folder)`", digest: 0)
    }
    guard files.count == 1 else {
      let names = files.map { String(Paths.lastComponent($0)) }.joined(separator: " and ")
      return broken(("\(folder) has \(names)", "keep one of them"))
    }
    var status = stat()
    if stat(file, &status) == 0, !SpecialFile.isFile(mode: status.st_mode) {
      return broken(SpecialFile.problem(of: file, mode: status.st_mode))
    }
    let bytes: [UInt8]
    do throws(Failure) {
      bytes = try FileReading.read(path: file, bytesMax: BundleReader.bytesMax)
    } catch {
      // Somebody may have removed the file in the meantime.
      guard error.code != "NOT_FOUND" else { return nil }
      // The message names the file.
      return .broken(problem: error.message, digest: 0)
    }
    let settings = settings(in: folder)
    let digest = digest(of: bytes + settings.bytes, file)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return .broken(problem: "\(file) is not UTF-8 text; save it as UTF-8", digest: digest)
    }
    let isJSON = BundleFileName.isJSON(file)
    switch read(text, isJSON, settings.file) {
    case .success(var bundle):
      bundle.fileDigest = self.digest(of: bytes + settings.bytes, "")
      return isAsInstalled(file, bytes, in: folder)
        ? .installed(bundle, digest: digest) : .bundle(bundle, digest: digest)
    case .failure(let refusal):
      let shown = refusal.problems.prefix(20).map { "\(file):\($0)" }
      let more = refusal.problems.count - shown.count
      return .broken(
        problem: shown.joined(separator: "\n") + (more > 0 ? "\n(and \(more) more)" : ""),
        digest: digest)
    }
  }

  /// Whether the installer wrote the file, and nobody has edited or replaced it since.
  ///
  /// The installer writes the list of its files last. A copy of the installed file is no
  /// installation, even with its former time (`cp -p`), so the time of the last change of the inode
  /// counts. Nobody can set that time.
  private static func isAsInstalled(_ file: String, _ bytes: [UInt8], in folder: String) -> Bool {
    let origin = "\(folder)/.origin"
    var (list, written) = (stat(), stat())
    guard stat(origin, &list) == 0, stat(file, &written) == 0 else { return false }
    let (a, b) = (written.st_ctim, list.st_ctim)
    guard (a.tv_sec, a.tv_nsec) <= (b.tv_sec, b.tv_nsec),
      let listed = try? FileReading.read(path: origin, bytesMax: 1 << 20)
    else { return false }
    let line = "file \(SHA256.hex(bytes)) \(Paths.lastComponent(file))"
    return String(decoding: listed, as: UTF8.self).split(separator: "\n").contains { $0 == line }
  }

  /// The user's file of settings, nil if there is none, and bytes that differ if the file does.
  private static func settings(in folder: String) -> (file: SettingsFile?, bytes: [UInt8]) {
    let path = "\(folder)/\(BundleDefaults.fileName)"
    var status = stat()
    guard lstat(path, &status) == 0 else { return (nil, []) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      let reason = "\(path) is not a file; \(SettingsFile.removal(at: path))"
      return (.unreadable(reason), Array(reason.utf8))
    }
    do throws(Failure) {
      let bytes = try FileReading.read(path: path, bytesMax: settingsBytesMax)
      return (SettingsFile(bytes, path: path), bytes)
    } catch {
      return error.code == "NOT_FOUND"
        ? (nil, []) : (.unreadable(error.message), Array(error.message.utf8))
    }
  }

  /// FNV-1a. It distinguishes files, and does not protect against forgery.
  private static func digest(of bytes: [UInt8], _ file: String) -> UInt64 {
    var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in Array(file.utf8) + bytes { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return digest
  }
}

/// The reason why a text is not a bundle.
public struct BundleRefusal: Error, Hashable, Sendable {
  /// At least one line, such as `3:7: unknown key "nmae"`.
  public var problems: [String]

  public init(problems: [String]) { self.problems = problems }
}
