import Glibc
import WidgetBundle

/// An open folder. Its entries are reached by single names and without following links, so that
/// nobody can redirect a writer by replacing a part of the path.
final class Folder {
  let descriptor: Int32
  /// For messages.
  let path: String

  private init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  convenience init(_ path: String, followingLink: Bool = true) throws(BundleInstallerError) {
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followingLink ? 0 : O_NOFOLLOW)
    let descriptor = open(path, flags)
    guard descriptor >= 0 else {
      let number = errno
      let failure = Folder.failure("open", path)
      if number == ENOTDIR, let mode = FileMode.of(path) {
        throw .refused(
          "\(path) is \(SpecialFile.words(mode: mode)), not a folder", hint: "name a folder")
      }
      throw failure
    }
    self.init(descriptor: descriptor, path: path)
  }

  static func failure(_ what: String, _ path: String) -> BundleInstallerError {
    .system("cannot \(what) \(path)", errno: errno)
  }

  /// The type of a folder's entry. Links are not followed.
  enum Entry: Hashable {
    case file(bytes: Int, isExecutable: Bool)
    case folder
    case other
  }

  func entry(_ name: String) -> Entry? {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    switch status.st_mode & FileMode.type {
    case FileMode.file where isForeignLink(status): return .other
    case FileMode.file:
      return .file(
        bytes: Int(status.st_size), isExecutable: status.st_mode & FileMode.ownerExecutes != 0)
    case FileMode.folder: return .folder
    default: return .other
    }
  }

  /// Whether a file has another name elsewhere, and another owner than the folder. A user could
  /// have linked a file that only this process may read into the folder.
  private func isForeignLink(_ status: stat) -> Bool {
    var folder = stat()
    guard status.st_nlink > 1, fstat(descriptor, &folder) == 0 else { return false }
    return status.st_uid != folder.st_uid
  }

  /// The reason why an entry cannot be part of a bundle: its type in words, and the next step.
  func unfitness(
    of name: String
  ) throws(BundleInstallerError) -> (words: String, hint: String) {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      throw .refused("\(path)/\(name) has disappeared", hint: "try again")
    }
    if isForeignLink(status) {
      return ("a hard link to a file of another user", "put a copy of the file in its place")
    }
    if status.st_mode & FileMode.type == FileMode.link {
      return ("a link", "put a copy of its target in its place, or remove it")
    }
    return (SpecialFile.words(mode: status.st_mode), "replace it with a file, or remove it")
  }

  /// The names in it, sorted.
  func names() throws(BundleInstallerError) -> [String] {
    var names: [String] = []
    try visitNames { names.append(String(cString: $0)) }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// The folders in it whose names are not UTF-8 text, with a replacement character for each invalid
  /// part.
  func foldersWithUnreadableNames() throws(BundleInstallerError) -> [String] {
    var names: Set<String> = []
    try visitNames { name in
      var status = stat()
      guard String(validatingCString: name) == nil, fstatat(descriptor, name, &status, 0) == 0,
        status.st_mode & FileMode.type == FileMode.folder
      else { return }
      names.insert(String(cString: name))
    }
    return names.sorted()
  }

  private func visitNames(
    _ visit: (UnsafePointer<CChar>) -> Void
  ) throws(BundleInstallerError) {
    // A separate description, because reading moves its position.
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let stream = fdopendir(copy) else {
      if copy >= 0 { close(copy) }
      throw Folder.failure("read", path)
    }
    defer { closedir(stream) }
    while true {
      // Only `errno` tells an error from the end.
      errno = 0
      guard let entry = readdir(stream) else { break }
      withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { name in
          if strcmp(name, ".") != 0, strcmp(name, "..") != 0 { visit(name) }
        }
      }
    }
    guard errno == 0 else { throw Folder.failure("read", path) }
  }

  /// The error if this process may not read the folder or search it; nil if it may.
  var refusal: BundleInstallerError? {
    guard faccessat(descriptor, ".", R_OK | X_OK, AT_EACCESS) != 0, errno == EACCES else {
      return nil
    }
    return Folder.unreadable(path)
  }

  /// The error about a bundle's folder that this process may not read.
  static func unreadable(_ path: String) -> BundleInstallerError {
    .refused(
      "this user may not read \(path)", hint: "let all users read it with `chmod -R a+rX \(path)`")
  }

  func folder(_ name: String) throws(BundleInstallerError) -> Folder {
    let opened = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard opened >= 0 else { throw Folder.failure("open", "\(path)/\(name)") }
    return Folder(descriptor: opened, path: "\(path)/\(name)")
  }

  /// The folder of this name, created if it is missing. A new folder is readable for all users,
  /// whatever the umask of this process: one user installs a bundle and another runs it.
  ///
  /// - Parameter original: a folder whose owner and permissions the new one gets instead.
  func making(
    _ name: String, like original: Folder? = nil
  ) throws(BundleInstallerError) -> Folder {
    let isNew = mkdirat(descriptor, name, 0o700) == 0
    guard isNew || errno == EEXIST else { throw Folder.failure("make", "\(path)/\(name)") }
    let made = try folder(name)
    guard isNew else { return made }
    let access = try original?.access(of: ".") ?? Access(mode: 0o755)
    guard access.give(to: made.descriptor) else {
      throw Folder.failure("make", "\(path)/\(name)")
    }
    return made
  }

  /// The mode and the owner of a file or folder.
  struct Access {
    var mode: UInt32
    /// nil: the user who created it.
    var owner: (user: uid_t, group: gid_t)?

    /// Only root can give a file away; for others the owner is already the right one.
    fileprivate func give(to descriptor: Int32) -> Bool {
      if geteuid() == 0, let owner, fchown(descriptor, owner.user, owner.group) != 0 {
        return false
      }
      return fchmod(descriptor, mode) == 0
    }
  }

  func access(of name: String) throws(BundleInstallerError) -> Access {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      throw Folder.failure("read", "\(path)/\(name)")
    }
    return Access(mode: status.st_mode & 0o777, owner: (status.st_uid, status.st_gid))
  }

  /// The target of a link; nil if the name is no link.
  func target(ofLink name: String) -> [CChar]? {
    var text = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlinkat(descriptor, name, &text, text.count - 1)
    return count >= 0 ? Array(text[...count]) : nil
  }

  /// The target of a link, as text. Nil if the entry is no link.
  func textOfLink(_ name: String) -> String? {
    target(ofLink: name).map { text in
      String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }

  /// A new file, written as a whole, that everybody can read. After an error there is no file.
  func write(
    _ name: String, _ bytes: some ContiguousBytesSource, isExecutable: Bool
  ) throws(BundleInstallerError) {
    try write(name, bytes, Access(mode: isExecutable ? 0o755 : 0o644))
  }

  func write(
    _ name: String, _ bytes: some ContiguousBytesSource, _ access: Access
  ) throws(BundleInstallerError) {
    let file = openat(
      descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      if errno == EEXIST {
        throw .refused("\"\(name)\" appears twice", hint: "pack the bundle again")
      }
      throw Folder.failure("write", "\(path)/\(name)")
    }
    defer { close(file) }
    do throws(BundleInstallerError) {
      while let chunk = try bytes.next() {
        var rest = chunk[...]
        while !rest.isEmpty {
          let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
          if count < 0, errno == EINTR { continue }
          guard count > 0 else { throw Folder.failure("write", "\(path)/\(name)") }
          rest = rest.dropFirst(count)
        }
      }
      guard access.give(to: file), fsync(file) == 0 else {
        throw Folder.failure("write", "\(path)/\(name)")
      }
    } catch {
      unlinkat(descriptor, name, 0)
      throw error
    }
  }

  /// The content of a file. A file with more than `bytesMax` bytes is refused.
  func read(
    _ name: String, bytesMax: Int, followingLink: Bool = false
  ) throws(BundleInstallerError) -> [UInt8] {
    var before = stat()
    let lookFlags = followingLink ? 0 : AT_SYMLINK_NOFOLLOW
    if fstatat(descriptor, name, &before, lookFlags) == 0 {
      try FileBytes.checkIsFile(before, "\(path)/\(name)")
    }
    let flags =
      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (followingLink ? 0 : O_NOFOLLOW)
    let file = openat(descriptor, name, flags)
    guard file >= 0 else { throw Folder.failure("read", "\(path)/\(name)") }
    defer { close(file) }
    // The check is on the opened file, so nobody can exchange the file in between.
    var status = stat()
    if fstat(file, &status) == 0, isForeignLink(status) {
      throw .refused(
        "\(path)/\(name) is a hard link to a file of another user",
        hint: "copy the file in its place")
    }
    return try FileBytes.all(of: file, "\(path)/\(name)", bytesMax: bytesMax)
  }

  /// Throws if this process may not remove a file, or a folder with its content.
  func checkIsRemovable(_ name: String) throws(BundleInstallerError) {
    guard entry(name) == .folder else { return }
    let inner = try folder(name)
    let names = try inner.names()
    if let first = names.first, faccessat(inner.descriptor, ".", W_OK | X_OK, AT_EACCESS) != 0 {
      throw Folder.failure("remove", "\(inner.path)/\(first)")
    }
    for name in names { try inner.checkIsRemovable(name) }
  }

  /// Removes a file, or a folder with its content. A missing entry is no error.
  func remove(_ name: String) throws(BundleInstallerError) {
    guard let entry = entry(name) else { return }
    if entry == .folder {
      let inner = try folder(name)
      for name in try inner.names() { try inner.remove(name) }
    }
    guard unlinkat(descriptor, name, entry == .folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT
    else { throw Folder.failure("remove", "\(path)/\(name)") }
  }
}

/// A sequence of pieces of bytes.
protocol ContiguousBytesSource: AnyObject {
  /// The next bytes; nil at the end.
  func next() throws(BundleInstallerError) -> [UInt8]?
}

/// Bytes in memory, as one piece.
final class WholeBytes: ContiguousBytesSource {
  private var bytes: [UInt8]?
  init(_ bytes: [UInt8]) { self.bytes = bytes }
  func next() -> [UInt8]? {
    defer { bytes = nil }
    return bytes
  }
}

/// Bits of a file's mode.
enum FileMode {
  static let type: UInt32 = 0o170000
  static let file: UInt32 = 0o100000
  static let folder: UInt32 = 0o040000
  static let link: UInt32 = 0o120000
  static let ownerExecutes: UInt32 = 0o100

  /// The value for a path, after following links. Nil with `errno` set if it cannot be read.
  static func of(_ path: String) -> UInt32? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode : nil
  }
}

enum FileBytes {
  /// Throws for a pipe, a socket, a device or a folder. Call this before opening it, because a socket
  /// cannot be opened, and opening a device can have an effect.
  static func checkIsFile(_ status: stat, _ path: String) throws(BundleInstallerError) {
    guard !SpecialFile.isFile(mode: status.st_mode) else { return }
    let problem = SpecialFile.problem(of: path, mode: status.st_mode)
    throw .refused(problem.message, hint: problem.hint)
  }

  static func all(
    of file: Int32, _ path: String, bytesMax: Int
  ) throws(BundleInstallerError) -> [UInt8] {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw Folder.failure("read", path) }
    try checkIsFile(status, path)
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(file, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Folder.failure("read", path) }
      guard count > 0 else { return bytes }
      bytes += chunk[..<count]
      guard bytes.count <= bytesMax else {
        throw .refused(
          "\(path) has more than \(bytesMax) bytes", hint: "make the bundle smaller")
      }
    }
  }
}
