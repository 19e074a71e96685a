import Glibc

/// The folders above a directory, and the links in its path.
///
/// A user who can rename one of them can put another directory in the place of the right one. So each
/// folder and each link must belong to a trusted user. Other users may write to a folder only if it
/// has the sticky bit. With this bit, they can rename only what is theirs.
///
/// A group is not a reason to refuse: only the administrator knows whether its members are trusted.
/// With access control lists, the mode of the group also has the rights of single users.
struct ParentFolders {
  /// The users who may own the folders.
  private var trusted: Set<uid_t> = [0, geteuid()]

  /// A folder that the members of a group can write to.
  struct SharedFolder: Hashable {
    let path: String
    let group: gid_t
  }

  private static let sticky: mode_t = 0o1000
  /// As many links as the kernel follows.
  private static let linksMax = 40
  private static let linkBytesMax = 4_096

  /// - Parameter owner: A further user who may own the folders.
  init(trusting owner: uid_t? = nil) {
    // In a user namespace, the folders of root can have another owner. The owner of / could replace
    // every directory anyway.
    var root = stat()
    if stat("/", &root) == 0 { trusted.insert(root.st_uid) }
    if let owner { trusted.insert(owner) }
  }

  /// Throws `unsafe` for a folder or a link that others could replace. Ignores the directory itself,
  /// and missing folders. Returns the folders that a group can write to.
  @discardableResult
  func check(above path: String) throws(StorageError) -> [SharedFolder] {
    guard let whole = ParentFolders.absolute(path) else {
      throw StorageError(errno: errno, path: path)
    }
    // The next part is the last element.
    var rest: [Substring] = whole.split(separator: "/").reversed()
    // The folder so far, without links. Empty for /.
    var folder = ""
    var linkCount = 0
    var shared: [SharedFolder] = []
    var status = stat()
    if stat("/", &status) == 0 { try check("/", status, above: path, &shared) }
    while let part = rest.popLast() {
      guard part != "." else { continue }
      guard part != ".." else {
        folder = folder.lastIndex(of: "/").map { String(folder[..<$0]) } ?? ""
        continue
      }
      let next = "\(folder)/\(part)"
      guard lstat(next, &status) == 0 else { return shared }
      if status.st_mode & S_IFMT == S_IFLNK {
        try check(link: next, status, above: path)
        linkCount += 1
        guard linkCount <= ParentFolders.linksMax, let target = ParentFolders.target(of: next)
        else { return shared }
        if target.utf8.first == UInt8(ascii: "/") { folder = "" }
        rest.append(contentsOf: target.split(separator: "/").reversed())
        continue
      }
      guard status.st_mode & S_IFMT == S_IFDIR, !rest.isEmpty else { return shared }
      try check(next, status, above: path, &shared)
      folder = next
    }
    return shared
  }

  private func check(
    _ folder: String, _ status: stat, above path: String, _ shared: inout [SharedFolder]
  ) throws(StorageError) {
    guard trusted.contains(status.st_uid) else {
      throw .unsafe(
        path: path,
        detail:
          "the folder \(folder) above it belongs to user \(status.st_uid), who could replace it;"
          + " choose a state directory in a folder of root or of user \(geteuid())")
    }
    guard status.st_mode & S_IWOTH == 0 || status.st_mode & ParentFolders.sticky != 0 else {
      throw .unsafe(
        path: path,
        detail: "other users can write to the folder \(folder) above it, and could replace it;"
          + " run `chmod o-w \(folder)`, or choose another state directory")
    }
    guard let group = ParentFolders.writingGroup(status) else { return }
    let found = SharedFolder(path: folder, group: group)
    // A link can lead to the same folder twice.
    if !shared.contains(found) { shared.append(found) }
  }

  /// The group whose members could replace what is in a folder; nil if there is none.
  static func writingGroup(_ folder: stat) -> gid_t? {
    // Many systems give each user a group of the same number, without other members.
    guard folder.st_mode & S_IWGRP != 0, folder.st_mode & sticky == 0,
      folder.st_gid != folder.st_uid
    else { return nil }
    return folder.st_gid
  }

  private func check(
    link: String, _ status: stat, above path: String
  ) throws(StorageError) {
    guard trusted.contains(status.st_uid) else {
      throw .unsafe(
        path: path,
        detail:
          "the link \(link) in its path belongs to user \(status.st_uid), who could change it;"
          + " choose a state directory without this link")
    }
  }

  private static func absolute(_ path: String) -> String? {
    guard path.utf8.first != UInt8(ascii: "/") else { return path }
    guard let folder = getcwd(nil, 0) else { return nil }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }

  private static func target(of link: String) -> String? {
    var bytes = [CChar](repeating: 0, count: linkBytesMax)
    let count = readlink(link, &bytes, bytes.count)
    guard count > 0 else { return nil }
    return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
