import Glibc
import WidgetBundle

/// Reads files for bundles. The calls block, so use it only on threads that may block.
enum FileReading {
  /// A regular file's bytes, if the bundle may read the real path.
  ///
  /// The check is on the opened file, so nobody can put a link in its place in between.
  static func read(_ request: FileRequest) throws(Failure) -> [UInt8] {
    // To open a device or a pipe can block, or have an effect.
    var before = stat()
    if stat(request.path, &before) == 0, !SpecialFile.isFile(mode: before.st_mode) {
      guard isAllowed(request.path, request.permissions) else {
        throw request.permissions.readingRefused(request.path)
      }
      throw unfit(request.path, before.st_mode)
    }
    // Somebody may exchange the file now.
    let file = open(request.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw failure(request.path) }
    defer { close(file) }
    let path = try realPath(of: file, request.path)
    guard isAllowed(path, request.permissions) else {
      throw request.permissions.readingRefused(path)
    }
    try refuseOtherThanFile(file, request.path)
    if Paths.contains(request.permissions.folder, path) { try refuseForeignLink(file, path) }
    return try contents(of: file, path: request.path, bytesMax: request.bytesMax)
  }

  /// A file that is read without permissions: the bundle itself, its settings.
  static func read(path: String, bytesMax: Int) throws(Failure) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw failure(path) }
    defer { close(file) }
    try refuseOtherThanFile(file, path)
    try refuseForeignLink(file, path)
    return try contents(of: file, path: path, bytesMax: bytesMax)
  }

  /// Refuses a pipe, a device or a folder.
  private static func refuseOtherThanFile(_ file: CInt, _ path: String) throws(Failure) {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure(path) }
    guard SpecialFile.isFile(mode: status.st_mode) else { throw unfit(path, status.st_mode) }
  }

  private static func unfit(_ path: String, _ mode: UInt32) -> Failure {
    Failure(
      "FAILED_PRECONDITION",
      "\(path) is \(SpecialFile.words(mode: mode)), not a file; name a file instead")
  }

  /// Refuses a file that has another link and another owner than its folder. A user who can write
  /// in the folder could have linked a file that only this process may read.
  private static func refuseForeignLink(_ file: CInt, _ path: String) throws(Failure) {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure(path) }
    guard status.st_nlink > 1 else { return }
    let real = try realPath(of: file, path)
    var folder = stat()
    guard let end = real.lastIndex(of: "/"), stat(String(real[...end]), &folder) == 0,
      folder.st_uid != status.st_uid
    else { return }
    throw Failure(
      "PERMISSION_DENIED",
      "\(path) is a hard link to a file of another user; copy the file in its place")
  }

  /// The path without symbolic links; nil if the file is missing.
  static func resolved(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  private static func contents(
    of file: CInt, path: String, bytesMax: Int
  ) throws(Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = Glibc.read(file, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(path) }
      if count == 0 { return bytes }
      guard bytes.count + count <= bytesMax else {
        throw Failure(
          "OUT_OF_RANGE", "\(path) has more than \(bytesMax) bytes; make the file smaller")
      }
      bytes += buffer[..<count]
    }
  }

  static func isAllowed(_ path: String, _ permissions: BundlePermissions) -> Bool {
    permissions.allowsReading(path)
      || permissions.readRoots.contains { root in
        resolved(root).map { Paths.contains($0, path) } ?? false
      }
  }

  static func realPath(of file: CInt, _ path: String) throws(Failure) -> String {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = buffer.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { readlink("/proc/self/fd/\(file)", $0, bytes.count) } ?? -1
    }
    guard count > 0 else { throw failure(path) }
    return String(decoding: buffer[..<count], as: UTF8.self)
  }

  /// The words for a missing file. If its folder is missing, the reason is probably there: somebody
  /// has moved the bundle.
  private static func missing(_ path: String) -> String {
    let folder = Paths.parent(path)
    let isFolderMissing = access(folder, F_OK) != 0 && errno == ENOENT
    return "there is no file \(path)"
      + (isFolderMissing ? ", because there is no folder \(folder)" : "")
  }

  private static func failure(_ path: String) -> Failure {
    let number = errno
    var status = stat()
    // A socket cannot be opened.
    if number == ENXIO, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK {
      return unfit(path, status.st_mode)
    }
    errno = number
    return switch number {
    // A device can be removed while one of its files is open.
    case ENOENT, ENOTDIR, ENODEV, ENXIO: Failure("NOT_FOUND", missing(path))
    case EACCES, EPERM:
      Failure(
        "PERMISSION_DENIED",
        "\(path) cannot be read: \(errorText()); check the user of widgetd-host")
    default: Failure("UNAVAILABLE", "\(path) cannot be read: \(errorText())")
    }
  }
}
