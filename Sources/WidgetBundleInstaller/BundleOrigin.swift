import Glibc
import WidgetBundle

/// The list of files that the installer wrote into a bundle's folder: the file `.origin`. Somebody
/// else wrote all other files in the folder, so the installer never deletes them.
///
///     sha256 9f86d0…              the digest of the archive, or `folder`
///     file 60303a… bundle.yaml    the digest and the path of each file
struct BundleOrigin: Hashable {
  static let name = ".origin"

  /// The digest of the archive; nil for a folder.
  var digest: String?
  /// The digest of each file, by its path in the bundle.
  var files: [String: String] = [:]

  var text: String {
    var text = digest.map { "sha256 \($0)\n" } ?? "folder\n"
    for (path, digest) in files.sorted(by: { $0.key < $1.key }) {
      text += "file \(digest) \(path)\n"
    }
    return text
  }

  init(digest: String?, of folder: Folder) throws(BundleInstallerError) {
    self.digest = digest
    try BundleOrigin.walk(folder) { path, _, found throws(BundleInstallerError) in
      files[path] = try found()
    }
  }

  /// The list in a folder; nil if nothing was installed there.
  init?(in folder: Folder) {
    guard let bytes = try? folder.read(BundleOrigin.name, bytesMax: 1 << 20) else { return nil }
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 2)
      if words.count == 2, words[0] == "sha256" { digest = String(words[1]) }
      if words.count == 3, words[0] == "file" { files[String(words[2])] = String(words[1]) }
    }
  }

  /// The sorted paths of files that the installer did not write, or that were changed since. If
  /// nothing was installed in the folder, the paths of all files.
  static func written(in folder: Folder) throws(BundleInstallerError) -> [String] {
    let origin = BundleOrigin(in: folder)
    var paths: [String] = []
    try walk(folder) { path, _, found throws(BundleInstallerError) in
      guard let digest = origin?.files[path] else { return paths.append(path) }
      if try found() != digest { paths.append(path) }
    }
    return paths.sorted()
  }

  /// The same without the user's settings, because `bundle set` can write them again, and without
  /// what is left of an interrupted `bundle set`.
  static func valuable(in folder: Folder) throws(BundleInstallerError) -> [String] {
    try written(in: folder).filter {
      $0 != BundleDefaults.fileName && $0 != BundleInstaller.newSettingsName
    }
  }

  /// The paths of the executable files.
  static func executables(in folder: Folder) throws(BundleInstallerError) -> Set<String> {
    var paths: Set<String> = []
    try walk(folder) { path, isExecutable, _ throws(BundleInstallerError) in
      if isExecutable { paths.insert(path) }
    }
    return paths
  }

  /// Visits every file and link, with its path, whether it can be executed, and a closure that
  /// computes its digest.
  private static func walk(
    _ folder: Folder, _ prefix: String = "",
    _ visit: (String, Bool, () throws(BundleInstallerError) -> String) throws(BundleInstallerError)
      -> Void
  ) throws(BundleInstallerError) {
    for name in try folder.names() where prefix + name != BundleOrigin.name {
      switch folder.entry(name) {
      case .folder: try walk(try folder.folder(name), "\(prefix)\(name)/", visit)
      case .file(_, let isExecutable):
        try visit(prefix + name, isExecutable) { () throws(BundleInstallerError) in
          SHA256.hex(try folder.read(name, bytesMax: .max))
        }
      default: try visit(prefix + name, false) { () throws(BundleInstallerError) in "" }
      }
    }
  }
}

extension BundleInstaller {
  /// Whether the installer wrote the file of a bundle, and nobody has edited or replaced it since.
  /// The host has the same rule. It then removes the widgets that the file lacks at once.
  ///
  /// - Parameter file: the path of the bundle's file.
  public static func isAsInstalled(_ file: String) -> Bool {
    let slash = file.lastIndex(of: "/")
    let name = slash.map { String(file[file.index(after: $0)...]) } ?? file
    let path = slash.map { "\(file[..<$0])/" } ?? "."
    var (list, written) = (stat(), stat())
    guard let folder = try? Folder(path), let digest = BundleOrigin(in: folder)?.files[name],
      fstatat(folder.descriptor, BundleOrigin.name, &list, 0) == 0,
      fstatat(folder.descriptor, name, &written, 0) == 0,
      let bytes = try? folder.read(name, bytesMax: BundleReader.bytesMax)
    else { return false }
    // A copy can have the former time of the file, but nobody can set the change time of the inode.
    let (a, b) = (written.st_ctim, list.st_ctim)
    return (a.tv_sec, a.tv_nsec) <= (b.tv_sec, b.tv_nsec) && SHA256.hex(bytes) == digest
  }
}
