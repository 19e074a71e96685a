// Both imports are for `timespec`. CSystemd includes its header, too, and the compiler attributes the
// type to the module that it reads first: https://github.com/apple/swift-system/pull/320.
import CSystemd
import Glibc
import WidgetModel

/// Reads the content of folders for bundles. Blocks, so call it only on threads that may block.
enum FolderReading {
  /// The entries of a folder, sorted by name: maps with `name`, `kind`, `size` and `modified`.
  ///
  /// Links are reported as links, because the bundle may not be allowed to read their targets. No
  /// entry is left out, because a bundle that counts entries would be wrong without a failure.
  ///
  /// - Parameter next: readdir(3), for tests.
  static func read(
    _ request: FolderRequest,
    next: (OpaquePointer) -> UnsafeMutablePointer<dirent>? = { readdir($0) }
  ) throws(Failure) -> Value {
    let folder = open(request.path, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
    guard folder >= 0 else { throw failure(request.path) }
    guard let stream = fdopendir(folder) else {
      let failure = failure(request.path)
      close(folder)
      throw failure
    }
    // `closedir` closes the descriptor, too.
    defer { closedir(stream) }
    let path = try FileReading.realPath(of: folder, request.path)
    guard FileReading.isAllowed(path, request.permissions) else {
      throw request.permissions.readingRefused(path)
    }
    var entries: [(name: String, bytes: [UInt8], value: Value)] = []
    while true {
      // Only `errno` tells an error from the end.
      errno = 0
      guard let entry = next(stream) else { break }
      let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      // Invalid bytes become U+FFFD.
      let name = String(decoding: bytes, as: UTF8.self)
      guard name != ".", name != ".." else { continue }
      var status = stat()
      // The kernel needs the bytes, because the text may be another name.
      let path = bytes.map { CChar(bitPattern: $0) } + [0]
      let isKnown = fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0
      // An entry can be removed meanwhile.
      if !isKnown, errno == ENOENT { continue }
      guard entries.count < request.entriesMax else {
        throw Failure(
          "OUT_OF_RANGE", "\(request.path) has more than \(request.entriesMax) entries")
      }
      entries.append((name, bytes, value(name, isKnown ? status : nil)))
    }
    guard errno == 0 else { throw failure(request.path) }
    // Different names can be equal as texts.
    let sorted = entries.sorted { one, other in
      one.name == other.name
        ? one.bytes.lexicographicallyPrecedes(other.bytes) : one.name < other.name
    }
    return .list(sorted.map(\.value))
  }

  /// - Parameter status: nil if the kernel does not give it, as for a broken mount.
  private static func value(_ name: String, _ status: stat?) -> Value {
    guard let status else {
      return .map([
        "name": .string(name), "kind": .string("other"), "size": .null, "modified": .null,
      ])
    }
    let kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: "file"
      case S_IFDIR: "folder"
      case S_IFLNK: "link"
      default: "other"
      }
    let modified = Timestamp(
      seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int32(status.st_mtim.tv_nsec))
    return .map([
      "name": .string(name), "kind": .string(kind), "size": .int(Int64(status.st_size)),
      "modified": modified.map { .timestamp($0) } ?? .null,
    ])
  }

  private static func failure(_ path: String) -> Failure {
    switch errno {
    case ENOENT: Failure("NOT_FOUND", "there is no folder \(path)")
    case ENOTDIR: Failure("FAILED_PRECONDITION", "\(path) is not a folder")
    case EACCES, EPERM:
      Failure(
        "PERMISSION_DENIED",
        "\(path) cannot be read: \(errorText()); check the user of widgetd-host")
    default: Failure("UNAVAILABLE", "\(path) cannot be read: \(errorText())")
    }
  }
}
