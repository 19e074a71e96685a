/// Copies a bundle's folder, within the limits of a bundle.
struct FolderCopy {
  private let limits: BundleLimits
  private var entriesLeft: Int
  private var bytesLeft: Int

  init(_ limits: BundleLimits) {
    self.limits = limits
    (entriesLeft, bytesLeft) = (limits.entriesMax, limits.totalBytesMax)
  }

  /// Copies files and folders; a link, a pipe, a socket or a device is refused.
  mutating func add(
    _ source: Folder, to target: Folder, depth: Int = 0
  ) throws(BundleInstallerError) {
    for name in try source.names() {
      // Hidden files are the editor's or the version control's.
      if name.hasPrefix(".") { continue }
      guard let path = try EntryPath(name, depthMax: 1) else { continue }
      switch source.entry(path.text) {
      case .folder:
        guard depth < limits.depthMax else {
          throw .refused("\(source.path)/\(name) is too deep", hint: "use fewer folders")
        }
        try take(0, of: source)
        try add(try source.folder(name), to: try target.making(name), depth: depth + 1)
      case .file(let bytes, let isExecutable):
        try take(bytes, of: source)
        let bytes = try source.read(name, bytesMax: limits.fileBytesMax)
        try target.write(name, WholeBytes(bytes), isExecutable: isExecutable)
      case .other, nil:
        let (message, hint) = try source.misfit(name)
        throw .refused(message, hint: hint)
      }
    }
  }

  /// - Parameter folder: the folder in which a limit is reached, for the message.
  private mutating func take(_ bytes: Int, of folder: Folder) throws(BundleInstallerError) {
    entriesLeft -= 1
    bytesLeft -= bytes
    guard entriesLeft >= 0, bytesLeft >= 0 else {
      let excess =
        entriesLeft < 0
        ? "more than \(limits.entriesMax) files and folders"
        : "files of more than \(limits.totalBytesMax >> 20) MiB together"
      throw .refused(
        "a bundle's folder cannot have \(excess); this limit was reached in \(folder.path)",
        hint: "name the folder with the bundle's file, or leave some files out")
    }
  }
}
