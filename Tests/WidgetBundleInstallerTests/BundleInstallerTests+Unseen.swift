import Glibc
import Testing
import WidgetBundle
import WidgetBundleInstaller

/// Folders without a usable bundle's file, which the list has with the reason.
extension BundleInstallerTests {
  private func reasons() throws -> [String: String] {
    var reasons: [String: String] = [:]
    for item in try installer.list() {
      switch item.bundle {
      case .success(let bundle): reasons[item.id] = bundle.version
      case .failure(.refused(let message, let hint)), .failure(.notFound(let message, let hint)):
        reasons[item.id] = "\(message); \(hint)"
      case .failure(let error): reasons[item.id] = "\(error)"
      }
    }
    return reasons
  }

  @Test func `a folder whose file has another name is listed and validated with the reason`() throws
  {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk"))
    scratch.write("bundles/clock/Bundle.yaml", Texts.bundle("clock"))
    scratch.write("bundles/notes/notes.txt", "mine")
    scratch.write("bundles/web/package.json", "{}")
    let folder = "\(scratch.path)/bundles/clock"
    let reason = "\(folder) has Bundle.yaml, but no bundle's file"
    #expect(
      try reasons() == [
        "desk": "1.0.0", "clock": "\(reason); did you mean bundle.yaml? Rename the file",
      ])
    #expect(
      refusal { () throws(BundleInstallerError) in _ = try installer.read(at: folder) } == reason)
    let found = try installer.read(bytes: Array(Texts.bundle("clock").utf8), name: "clock.yaml")
    #expect(try installer.differences(to: found).isInstalled == false)
  }

  @Test func `a bundle whose file cannot be used is listed with its folder`() throws {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk"))
    scratch.write("bundles/torn/bundle.yaml", "bundle: [")
    scratch.write("bundles/clock/Bundle.yaml", Texts.bundle("clock"))
    try #require(mkdir("\(installer.path)/pipe", 0o755) == 0)
    try #require(mkfifo("\(installer.path)/pipe/bundle.yaml", 0o600) == 0)
    let folders = try installer.list().map(\.folder)
    #expect(folders == ["clock", "desk", "pipe", "torn"].map { "\(installer.path)/\($0)" })
  }

  @Test func `a folder whose name is not UTF-8 is listed with the reason`() throws {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk"))
    let name =
      "\(scratch.path)/bundles/caf".utf8.map { CChar(bitPattern: $0) } + [
        CChar(bitPattern: 0xE9), 0,
      ]
    try #require(mkdir(name, 0o755) == 0)
    defer { rmdir(name) }
    let path = "\(scratch.path)/bundles/caf\u{FFFD}"
    let reason = "the name of \(path) is not UTF-8 text"
    #expect(try reasons() == ["desk": "1.0.0", "caf\u{FFFD}": "\(reason); rename it"])
    #expect(
      refusal { () throws(BundleInstallerError) in _ = try installer.read(at: path) } == reason)
  }

  @Test func `a link to a folder that does not exist is listed with the reason`() throws {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk"))
    let link = "\(scratch.path)/bundles/lost"
    symlink("/nonexistent/lost", link)
    symlink("/nonexistent/notes.txt", "\(scratch.path)/bundles/notes.txt")
    #expect(
      try reasons() == [
        "desk": "1.0.0",
        "lost": "the link \(link) leads to no readable folder: No such file or directory; correct"
          + " the link, or remove it",
      ])
  }

  @Test func `a named pipe in the place of a bundle's folder is listed with the reason`() throws {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk"))
    let pipe = "\(scratch.path)/bundles/pipe"
    for path in [pipe, "\(pipe).sock"] { try #require(mkfifo(path, 0o600) == 0) }
    #expect(
      try reasons() == [
        "desk": "1.0.0",
        "pipe": "\(pipe) is a named pipe, not a folder; replace it with a folder, or remove it. "
          + "If a bundle had this place, its widgets are removed with their data 30 seconds after "
          + "that",
      ])
  }

  /// Runs a closure as a user who is not root, because root may read everything. Only the thread
  /// changes its user.
  func asNobody<T>(_ body: () throws -> T) throws -> T {
    guard geteuid() == 0 else { return try body() }
    // setfsuid(2), which Swift's module of the C library does not have.
    typealias SetUser = @convention(c) (uid_t) -> CInt
    let setUser = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: SetUser.self)
    _ = setUser(65_534)
    defer { _ = setUser(0) }
    return try body()
  }

  @Test(arguments: [0o000, 0o600] as [mode_t])
  func `an unreadable folder does not hide the other bundles`(mode: mode_t) throws {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk"))
    let file = scratch.write("bundles/locked/bundle.yaml", Texts.bundle("locked"))
    let folder = "\(scratch.path)/bundles/locked"
    for path in [scratch.path, "\(scratch.path)/bundles", "\(scratch.path)/bundles/desk"] {
      chmod(path, 0o755)
    }
    for path in [file, "\(scratch.path)/bundles/desk/bundle.yaml"] { chmod(path, 0o644) }
    chmod(folder, mode)
    defer { chmod(folder, 0o755) }
    #expect(
      try asNobody { try reasons() } == [
        "desk": "1.0.0",
        "locked": "this user may not read \(folder); let all users read it with `chmod -R a+rX "
          + "\(folder)`",
      ])
  }
}
