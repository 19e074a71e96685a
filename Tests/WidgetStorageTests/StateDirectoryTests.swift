import Foundation
import Glibc
import Testing

@testable import WidgetStorage

@Suite struct StateDirectoryTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `missing directories are created with mode 0700`() throws {
    let directory = try StateDirectory(path: folder.path + "/a/b//c/")
    #expect(directory.path == folder.path + "/a/b//c")
    for path in ["/a", "/a/b", "/a/b/c"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + path)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
    }
  }

  @Test func `a directory that exists keeps its permissions`() throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o750], ofItemAtPath: folder.path)
    _ = try StateDirectory(path: folder.path)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o750)
  }

  @Test func `a copy of the lock in a child process does not hold the lock`() throws {
    let first = try StateDirectory(path: folder.path)
    // fork makes such a copy. A process that starts another one has copies for a moment.
    let copies = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
      .filter {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))
          == folder.path + "/" + StateDirectory.lockFileName
      }
      .compactMap { Int32($0) }.map { dup($0) }
    defer { for copy in copies { close(copy) } }
    #expect(copies.count == 1)
    first.release()
    #expect(try StateDirectory(path: folder.path).isLocked)
  }

  @Test(
    .timeLimit(.minutes(15)),
    arguments: ["store.mark", "widgetd.db", "widgetd.db-wal", "widgetd.lock"])
  func `a pipe in the place of a file is refused without waiting`(name: String) throws {
    let path = folder.path + "/" + name
    #expect(mkfifo(path, 0o600) == 0)
    let refusal = #expect(throws: StorageError.self) { _ = try folder.open() }
    #expect(refusal?.path == path)
    #expect("\(String(describing: refusal))".contains("not a plain file"))
  }

  @Test func `a second lock is refused with the pid of the first`() throws {
    let first = try StateDirectory(path: folder.path)
    let expected = StorageError.locked(path: folder.path + "/widgetd.lock", pid: getpid())
    #expect(throws: expected) { try StateDirectory(path: folder.path + "/") }
    #expect(expected.isTransient)
    first.release()
    #expect(!first.isLocked)
    let second = try StateDirectory(path: folder.path)
    first.release()
    #expect(throws: expected) { try StateDirectory(path: folder.path) }
    second.release()
  }

  @Test func `a log keeps the lock until it is closed or gone`() throws {
    var log: SQLiteCommitLog? = try folder.open()
    #expect(throws: StorageError.self) { try StateDirectory(path: folder.path) }
    try log?.close()
    _ = try StateDirectory(path: folder.path)
    log = try folder.open()
    #expect(throws: StorageError.self) { try StateDirectory(path: folder.path) }
    log = nil
    _ = try StateDirectory(path: folder.path)
  }

  @Test func `a log needs the lock`() throws {
    let directory = try StateDirectory(path: folder.path)
    directory.release()
    #expect(throws: StorageError.closed(path: folder.database)) {
      try SQLiteCommitLog(directory: directory, newEpoch: 1, onCheckpointFailure: { _ in })
    }
  }

  @Test(arguments: ["\u{01}", "4711 and more\n", "99999999999999", "-5\n"])
  func `a lock file with other content is taken over`(content: String) throws {
    try Data(content.utf8).write(to: URL(fileURLWithPath: folder.path + "/widgetd.lock"))
    _ = try StateDirectory(path: folder.path)
    #expect(try folder.bytes(of: "widgetd.lock") == Data("\(getpid())\n".utf8))
  }

  @Test func `paths that cannot be directories are refused`() throws {
    try Data().write(to: URL(fileURLWithPath: folder.path + "/file"))
    for path in ["", "a\0b", folder.path + "/file", folder.path + "/file/below"] {
      let failure = #expect(throws: StorageError.self) { try StateDirectory(path: path) }
      guard case .cannotOpen? = failure else {
        Issue.record("\(path): \(String(describing: failure))")
        return
      }
    }
  }

  @Test(arguments: [0o770, 0o707, 0o1777])
  func `a directory that other users can write to is refused`(mode: Int) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path)
    let failure = #expect(throws: StorageError.self) { try StateDirectory(path: folder.path) }
    #expect(failure?.reason == "UNSAFE")
    #expect(failure.map { "\($0)".contains("chmod go-w \(folder.path)") } == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a directory away"))
  func `a directory of another user is refused, unless root repairs it`() throws {
    try #require(chown(folder.path, 4_321, 4_322) == 0)
    let failure = #expect(throws: StorageError.self) { try StateDirectory(path: folder.path) }
    #expect(failure?.reason == "UNSAFE")
    #expect(failure.map { "\($0)".contains("belongs to user 4321") } == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    #expect(try StateDirectory(path: folder.path, isRepair: true).isLocked)
  }

  @Test(arguments: [0o707, 0o777])
  func `a directory below a folder that other users can write to is refused`(mode: Int) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path)
    // Also if the directory is deeper, and if links lead to it.
    try FileManager.default.createDirectory(
      atPath: folder.path + "/a/state", withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    let other = try TemporaryFolder()
    #expect(symlink(folder.path + "/a/state", other.path + "/last") == 0)
    #expect(symlink(folder.path, other.path + "/first") == 0)
    #expect(symlink("first/a", other.path + "/second") == 0)
    let paths: [String] = [
      "\(folder.path)/new", "\(folder.path)/a/state", "\(other.path)/last",
      "\(other.path)/second/state", "\(other.path)/../\(folder.name)/a/state",
    ]
    for path in paths {
      let failure = #expect(throws: StorageError.self) { try StateDirectory(path: path) }
      #expect(failure?.reason == "UNSAFE", "\(path)")
      #expect(failure?.path == path)
      #expect(
        failure.map { "\($0)".contains("run `chmod o-w \(folder.path)`") } == true,
        "\(path): \(String(describing: failure))")
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/new"))
  }

  @Test func `a missing folder that another user makes after the check is refused`() throws {
    let made = folder.path + "/a"
    let failure = #expect(throws: StorageError.self) {
      try StateDirectory(
        path: made + "/state",
        beforeMaking: {
          _ = mkdir(made, 0o700)
          // Stands for a folder of another user: others can write to it.
          _ = chmod(made, 0o777)
        })
    }
    #expect(failure?.reason == "UNSAFE")
    #expect(failure.map { "\($0)".contains("the folder \(made) above it") } == true)
    #expect(!FileManager.default.fileExists(atPath: made + "/state/widgetd.lock"))
  }

  @Test func `a missing folder that another user makes as a link is refused`() throws {
    let other = try TemporaryFolder()
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: other.path)
    let failure = #expect(throws: StorageError.self) {
      try StateDirectory(
        path: folder.path + "/a/state",
        beforeMaking: { _ = symlink(other.path, folder.path + "/a") })
    }
    #expect(failure.map { "\($0)".contains("the folder \(other.path) above it") } == true)
  }

  @Test func `a directory below a folder of all users with the sticky bit is used`() throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o1777], ofItemAtPath: folder.path)
    #expect(symlink(folder.path, folder.path + "/link") == 0)
    #expect(try StateDirectory(path: folder.path + "/state").isLocked)
    #expect(try StateDirectory(path: folder.path + "/link/second").isLocked)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
  func `a directory in a folder of another user, or behind a link of one, is refused`() throws {
    let own = try TemporaryFolder()
    #expect(symlink(own.path, folder.path + "/link") == 0)
    try #require(lchown(folder.path + "/link", 4_321, 4_322) == 0)
    for path in ["\(folder.path)/link", "\(folder.path)/link/state"] {
      let failure = #expect(throws: StorageError.self) { try StateDirectory(path: path) }
      #expect(failure.map { "\($0)".contains("the link \(folder.path)/link in its path") } == true)
    }
    let state = folder.path + "/state"
    _ = try StateDirectory(path: state)
    try #require(chown(folder.path, 4_321, 4_322) == 0)
    let failure = #expect(throws: StorageError.self) { try StateDirectory(path: state) }
    #expect(failure?.reason == "UNSAFE")
    #expect(failure.map { "\($0)".contains("the folder \(folder.path) above it") } == true)
    // Root repairs the store of the user who owns the folders.
    try #require(chown(state, 4_321, 4_322) == 0)
    #expect(try StateDirectory(path: state, isRepair: true).isLocked)
  }

  @Test func `a folder that a group can write to is used, with a notice about the group`() throws {
    let user = geteuid()
    let group = user == 0 ? 4_322 : getegid()
    try #require(chown(folder.path, user, group) == 0)
    try FileManager.default.setAttributes([.posixPermissions: 0o2775], ofItemAtPath: folder.path)
    #expect(symlink(folder.path, folder.path + "/link") == 0)
    let directory = try StateDirectory(path: folder.path + "/link/state")
    let notices = directory.notices.filter { $0.hasPrefix("\(folder.path): ") }
    // The group of a user with the same number has no other members.
    #expect(notices.count == (user == group ? 0 : 1), "\(directory.notices)")
    if let notice = notices.first {
      #expect(notice.contains("the members of group \(group) can write to this folder"))
      #expect(notice.contains("run `chmod g-w \(folder.path)`"))
    }
    let log = try SQLiteCommitLog(
      directory: directory, newEpoch: 7, onCheckpointFailure: { _ in })
    #expect(log.notices == directory.notices)
  }

  @Test(
    arguments: [
      (0o755, 0, 50, nil), (0o2775, 0, 50, 50), (0o1775, 0, 50, nil), (0o770, 1_001, 1_002, 1_002),
      (0o770, 1_001, 1_001, nil), (0o775, 0, 0, nil),
    ] as [(mode_t, uid_t, gid_t, gid_t?)])
  func `only a group that can rename in a folder, and is not its owner's, is reported`(
    mode: mode_t, user: uid_t, group: gid_t, reported: gid_t?
  ) {
    var status = stat()
    status.st_mode = S_IFDIR | mode
    status.st_uid = user
    status.st_gid = group
    #expect(ParentFolders.writingGroup(status) == reported)
  }
}
