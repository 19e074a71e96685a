public import WidgetBundle

// Entries of a bundle's folder that the host does not need, and for which an installation is refused.
extension BundleInstaller {
  /// The number of entries that are named.
  private static let misfitsMax = 20

  /// The entries of a bundle's folder for which `install` refuses the folder: named pipes, sockets,
  /// devices, and hard links to files of other users. Symbolic links are left out, because the host
  /// follows these. Only folders are opened, because opening a pipe waits for its other end.
  ///
  /// - Parameter path: the folder. Other paths have no such entries.
  public func misfits(at path: String) -> [BundleProblem] {
    guard let mode = FileMode.of(path), mode & FileMode.type == FileMode.folder,
      let folder = try? Folder(path)
    else { return [] }
    var entriesLeft = limits.entriesMax
    var found: [BundleProblem] = []
    visit(folder, depth: 0, entriesLeft: &entriesLeft, &found)
    return found
  }

  private func visit(
    _ folder: Folder, depth: Int, entriesLeft: inout Int, _ found: inout [BundleProblem]
  ) {
    for name in (try? folder.names()) ?? [] where !name.hasPrefix(".") {
      entriesLeft -= 1
      guard entriesLeft >= 0, found.count < BundleInstaller.misfitsMax else { return }
      switch folder.entry(name) {
      case .folder:
        guard depth < limits.depthMax, let inner = try? folder.folder(name) else { continue }
        visit(inner, depth: depth + 1, entriesLeft: &entriesLeft, &found)
      case .other:
        guard folder.target(ofLink: name) == nil, let misfit = try? folder.misfit(name) else {
          continue
        }
        let message = "\(misfit.message), so `bundle install` refuses the folder"
        found.append(BundleProblem(line: 1, column: 1, message: message, hint: misfit.hint))
      case .file, nil: continue
      }
    }
  }
}

extension Folder {
  /// Why an entry cannot be part of a bundle, and the next step.
  func misfit(_ name: String) throws(BundleInstallerError) -> (message: String, hint: String) {
    let (words, hint) = try unfitness(of: name)
    return ("\(path)/\(name) is \(words), but a bundle has only files and folders", hint)
  }
}
