import Glibc
import WidgetBundle

// Links and special files in the folder of bundles.
extension BundleInstaller {
  /// The problem of a link in the folder of bundles that leads to nothing; nil for other entries.
  func dangling(_ name: String, _ bundles: Folder) -> BundleInstallerError? {
    guard BundleFileName.mayBeFolder(name), bundles.target(ofLink: name) != nil else { return nil }
    let path = "\(bundles.path)/\(name)"
    var status = stat()
    guard stat(path, &status) != 0, errno != EACCES else { return nil }
    let problem = BundleFileName.dangling(path, String(cString: strerror(errno)))
    return .refused(problem.message, hint: problem.hint)
  }

  /// The problem of a named pipe, a socket or a device in the place of a bundle's folder; nil for other
  /// entries.
  func special(_ name: String, _ bundles: Folder) -> BundleInstallerError? {
    let path = "\(bundles.path)/\(name)"
    guard BundleFileName.mayBeFolder(name), let mode = FileMode.of(path),
      SpecialFile.isSpecial(mode: mode)
    else { return nil }
    let problem = SpecialFile.problem(ofFolder: path, mode: mode)
    return .refused(problem.message, hint: problem.hint)
  }

  /// The target of a link in the folder of bundles. The host runs its bundle, too.
  ///
  /// - Throws: if this process may not read it.
  func linked(
    _ name: String, _ bundles: Folder
  ) throws(BundleInstallerError) -> Folder? {
    guard bundles.target(ofLink: name) != nil,
      let path = BundleInstaller.resolved("\(bundles.path)/\(name)")
    else { return nil }
    do throws(BundleInstallerError) { return try Folder(path) } catch {
      if case .system(_, EACCES) = error { throw error }
      return nil
    }
  }

  /// The path without symbolic links; nil if it leads to nothing.
  static func resolved(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }
}
