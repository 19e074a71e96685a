import Foundation
import Glibc
import Testing

@testable import widgetctl

/// The file after a write of an arrangement.
@Suite struct ArrangementFileTests {
  /// A folder that is removed at the end of the test.
  private final class Folder {
    let path: String

    init() {
      path = NSTemporaryDirectory() + "arrangement-\(UUID().uuidString)"
      mkdir(path, 0o755)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> ArrangementFile { ArrangementFile(path: "\(path)/\(name)") }
    func text(_ name: String) -> String? {
      try? String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
    }
    var names: [String] {
      (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? []
    }
  }

  private func version(_ outcome: ArrangementFile.Outcome) -> ArrangementFile.Version? {
    if case .exists(let version) = outcome { version } else { nil }
  }

  @Test func `a new file is written with its folders, and no other file remains`() {
    let folder = Folder()
    #expect(folder.file("a/b/f.yaml").write("rows: [a]") == .written)
    #expect(folder.text("a/b/f.yaml") == "rows: [a]")
    #expect(folder.names == ["a"])
  }

  @Test func `a file is replaced only if nobody has changed it since the question`() throws {
    let folder = Folder()
    let file = folder.file("f.yaml")
    #expect(file.write("one") == .written)
    chmod(file.path, 0o600)
    let seen = try #require(version(file.write("two")))
    #expect(folder.text("f.yaml") == "one")
    // Another program writes between the question and the answer.
    try "theirs".write(toFile: file.path, atomically: true, encoding: .utf8)
    chmod(file.path, 0o600)
    let now = try #require(version(file.write("two", replacing: seen)))
    #expect(folder.text("f.yaml") == "theirs")
    #expect(file.write("two", replacing: now) == .written)
    #expect(folder.text("f.yaml") == "two")
    var status = stat()
    #expect(stat(file.path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    #expect(folder.names == ["f.yaml"])
  }

  @Test func `a link stays, and its target is written, even if it is missing`() throws {
    let folder = Folder()
    symlink("second.yaml", "\(folder.path)/f.yaml")
    symlink("dots/third.yaml", "\(folder.path)/second.yaml")
    let file = folder.file("f.yaml")
    #expect(file.write("one") == .written)
    #expect(folder.text("dots/third.yaml") == "one")
    let seen = try #require(version(file.write("two")))
    #expect(file.write("two", replacing: seen) == .written)
    #expect(folder.text("dots/third.yaml") == "two")
    #expect(folder.names == ["dots", "f.yaml", "second.yaml"])
    for name in ["f.yaml", "second.yaml"] {
      var status = stat()
      #expect(lstat("\(folder.path)/\(name)", &status) == 0)
      #expect(status.st_mode & S_IFMT == S_IFLNK, "\(name)")
    }
  }

  @Test func `links that form a cycle are refused`() {
    let folder = Folder()
    symlink("b", "\(folder.path)/a")
    symlink("a", "\(folder.path)/b")
    #expect(folder.file("a").write("x") == .failed(String(cString: strerror(ELOOP))))
    #expect(folder.names == ["a", "b"])
  }

  @Test func `while another process writes, nothing is written`() {
    let folder = Folder()
    let lock = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    flock(lock, LOCK_EX)
    guard case .failed(let reason) = folder.file("f.yaml").write("mine") else {
      Issue.record("it was written")
      return
    }
    #expect(reason.contains("another program"))
    #expect(folder.names == [])
    // Another test may start a process now, which has a copy of the descriptor.
    flock(lock, LOCK_UN)
    close(lock)
    #expect(folder.file("f.yaml").write("mine") == .written)
  }

  @Test func `one of many concurrent writers writes, the others get an error`() async {
    for _ in 0..<8 {
      let folder = Folder()
      let file = folder.file("f.yaml")
      let outcomes = await withTaskGroup(of: (Int, ArrangementFile.Outcome).self) { group in
        for number in 0..<8 {
          group.addTask { (number, file.write(String(repeating: "\(number)", count: 20_000))) }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      let winners = outcomes.filter { $0.1 == .written }.map(\.0)
      #expect(winners.count == 1, "\(outcomes)")
      #expect(folder.text("f.yaml") == String(repeating: "\(winners.first ?? 9)", count: 20_000))
      #expect(folder.names == ["f.yaml"])
    }
  }
}
