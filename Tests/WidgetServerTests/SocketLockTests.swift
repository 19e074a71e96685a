import Foundation
import Glibc
import Testing

@testable import WidgetServer

/// The socket's file and its lock, in a folder that others can write.
@Suite struct SocketLockTests {
  private static func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
  }

  @Test func `the socket gets its mode, and nothing that another user put in its place`() throws {
    let folder = try TestFolder()
    let path = folder.socketPath
    let victim = folder.path + "/victim"
    try Data("secret".utf8).write(to: URL(fileURLWithPath: victim))
    #expect(chmod(victim, 0o600) == 0)
    let lock = try SocketLock(socketPath: path)
    for replace in [{ symlink(victim, path) }, { link(victim, path) }, { mkfifo(path, 0o600) }] {
      let refusal = #expect(throws: SocketError.self) {
        close(
          try lock.listen(mode: 0o666, clientGID: getegid(), backlog: 1) {
            unlink(path)
            #expect(replace() == 0)
          })
      }
      #expect(refusal?.description.contains("another user") == true)
      unlink(path)
      #expect(Self.mode(victim) == 0o600)
    }
    let listener = try lock.listen(mode: 0o642, clientGID: getegid(), backlog: 1)
    defer { close(listener) }
    #expect(Self.mode(path) == 0o642)
    lock.release()
  }

  @Test func `a socket whose protection fails is removed`() throws {
    let folder = try TestFolder()
    let path = folder.socketPath
    let lock = try SocketLock(socketPath: path)
    // A second name of the socket makes its protection fail, also for root.
    let refusal = #expect(throws: SocketError.self) {
      close(
        try lock.listen(mode: 0o660, clientGID: nil, backlog: 1) {
          #expect(link(path, path + ".second") == 0)
        })
    }
    #expect(refusal?.description.contains("another user") == true)
    #expect(Self.mode(path) == nil)
  }

  @Test func `a group that the daemon may not give is named, with the step for it`() {
    let refused = SocketError.groupRefused("/s", gid: 23456, errno: EPERM).description
    #expect(refused.contains("to group 23456: only root and members of the group may do this."))
    #expect(refused.hasSuffix("Or choose another group with --client-group."))
    #expect(!refused.contains("--socket"))
    let full = SocketError.groupRefused("/s", gid: 23456, errno: EDQUOT).description
    #expect(full == "widgetd cannot give /s to group 23456: Disk quota exceeded.")
  }

  @Test(arguments: [
    ("/proc/x.sock", "/proc/x.sock.lock", "its file system takes no new files, like /proc"),
    ("/proc/none/x.sock", "/proc/none", "its file system takes no new files, like /proc"),
    ("/proc/none/w/x.sock", "/proc/none/w", "the folder above it does not exist"),
  ])
  func `a place that can have no socket is refused with its cause`(
    socket: String, place: String, reason: String
  ) {
    let refusal = #expect(throws: SocketError.self) { _ = try SocketLock(socketPath: socket) }
    #expect(refusal == .cannotUse(place, reason: reason))
  }

  @Test func `a lock file that is a pipe is refused, and stays`() throws {
    let folder = try TestFolder()
    let lock = folder.socketPath + ".lock"
    try #require(mkfifo(lock, 0o600) == 0)
    let refusal = #expect(throws: SocketError.self) {
      _ = try SocketLock(socketPath: folder.socketPath)
    }
    #expect(refusal == .cannotUse(lock, reason: "it is not a plain file"))
    var status = stat()
    let result = lstat(lock, &status)
    #expect(result == 0)
    #expect(status.st_mode & S_IFMT == S_IFIFO)
  }
}
