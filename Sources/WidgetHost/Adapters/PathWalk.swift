import Glibc

/// The way to a file or folder, as the kernel takes it: every folder and every symbolic link on it,
/// and the places whose changes lead elsewhere.
///
/// Two walks of a path are equal if they lead over the same folders and links.
struct PathWalk: Hashable {
  /// What matters at a place of the way.
  enum Interest: Hashable {
    /// The folder itself: that it is moved, removed or unmounted.
    case itself
    /// An entry on the way: a symbolic link, or a name that is missing.
    case step(String)
    /// The file.
    case target(String)
    /// All entries of the folder.
    case entries
  }

  struct Place: Hashable {
    let folder: String
    let interest: Interest
  }

  /// The identity of a visited entry; nil for a missing one.
  private struct Step: Hashable {
    let device: dev_t
    let inode: ino_t
    let target: String?
  }

  /// The kernel follows no more links in one path.
  private static let linksMax = 40
  /// The maximum number of folders on the way that are watched.
  private static let foldersMax = 128

  private(set) var places: [Place] = []
  private var steps: [Step?] = []

  /// - Parameter linked: names in the folder at the end. Those that are symbolic links belong to
  ///   the way.
  init(_ path: String, isFolder: Bool, linked: [String] = []) {
    guard let folder = walk(path, isFolder: isFolder) else { return }
    for name in linked where PathWalk.target(ofLink: "\(folder)/\(name)") != nil {
      _ = walk("\(folder)/\(name)", isFolder: false)
    }
  }

  /// Returns the real path of the folder at the end, if the path leads to one.
  private mutating func walk(_ path: String, isFolder: Bool) -> String? {
    var rest = Array(path.split(separator: "/").map(String.init).reversed())
    var (current, links) = ("", 0)
    while let name = rest.popLast() {
      if name == "." { continue }
      if name == ".." {
        current = String(current[..<(current.lastIndex(of: "/") ?? current.startIndex)])
        continue
      }
      let isFile = rest.isEmpty && !isFolder
      let entry = "\(current)/\(name)"
      var status = stat()
      guard lstat(entry, &status) == 0 else {
        steps.append(nil)
        add(current, isFile ? .target(name) : .step(name))
        return nil
      }
      let target = status.st_mode & S_IFMT == S_IFLNK ? PathWalk.target(ofLink: entry) : nil
      steps.append(Step(device: status.st_dev, inode: status.st_ino, target: target))
      if let target, links < PathWalk.linksMax {
        links += 1
        add(current, .step(name))
        rest += target.split(separator: "/").map(String.init).reversed()
        if target.hasPrefix("/") { current = "" }
      } else if status.st_mode & S_IFMT == S_IFDIR, !isFile {
        if !rest.isEmpty { add(entry, .itself) }
        current = entry
      } else {
        add(current, isFile ? .target(name) : .step(name))
        return nil
      }
    }
    if isFolder {
      add(current, .entries)
    } else {
      add(Paths.parent(current), .target(String(Paths.lastComponent(current))))
    }
    return current
  }

  private mutating func add(_ folder: String, _ interest: Interest) {
    guard interest != .itself || places.count < PathWalk.foldersMax else { return }
    let place = Place(folder: folder.isEmpty ? "/" : folder, interest: interest)
    if !places.contains(place) { places.append(place) }
  }

  private static func target(ofLink path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = buffer.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { readlink(path, $0, bytes.count) } ?? -1
    }
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }
}
