// Both imports are for `timespec`. CSystemd includes its header, too, and the compiler attributes the
// type to the module that it reads first: https://github.com/apple/swift-system/pull/320.
import CSystemd
import Glibc
import WidgetModel

/// Reads the content of folders for bundles. Blocks, so call it only on threads that may block.
enum FolderReading {
  /// The entries of a folder, sorted by name: maps with `name`, `kind`, `size` and `modified`.
  ///
  /// Links are reported as links, because the bundle may not be allowed to read their targets.
  static func read(_ request: FolderRequest) throws(Failure) -> Value {
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
    var entries: [(name: String, value: Value)] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name != ".", name != ".." else { continue }
      var status = stat()
      // An entry can be removed meanwhile.
      guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
      guard entries.count < request.entriesMax else {
        throw Failure(
          "OUT_OF_RANGE", "\(request.path) has more than \(request.entriesMax) entries")
      }
      entries.append((name, value(name, status)))
    }
    return .list(entries.sorted { $0.name < $1.name }.map(\.value))
  }

  private static func value(_ name: String, _ status: stat) -> Value {
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
