import Glibc

/// A private folder in `$TMPDIR` or `/tmp`, for files that are read and not kept.
struct TemporaryFolder {
  let folder: Folder
  private let parent: Folder
  private let name: String

  init() throws(BundleInstallerError) {
    let place = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    parent = try Folder(place.hasPrefix("/") ? place : "/tmp")
    var template = Array("\(parent.path)/widgetd-bundle-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw Folder.failure("make a folder in", parent.path)
    }
    let bytes = template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let path = String(decoding: bytes, as: UTF8.self)
    name = String(path.dropFirst(parent.path.count + 1))
    folder = try parent.folder(name)
  }

  /// Removes the folder with its content, as far as possible.
  func remove() { try? parent.remove(name) }
}
