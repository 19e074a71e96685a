import Foundation
import Glibc
import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The bundles that are found in folders.
struct BundleFolderTests {
  /// A folder with a bundle's folder in it, which is removed at the end of the test.
  private final class Place {
    let path = "\(FileManager.default.temporaryDirectory.path)/folders-\(UUID().uuidString)"
    var bundle: String { "\(path)/desk" }

    init(_ file: String? = "bundle.yaml") throws {
      try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
      if let file { try Data("text".utf8).write(to: URL(fileURLWithPath: "\(bundle)/\(file)")) }
    }

    deinit {
      chmod(path, 0o700)
      chmod(bundle, 0o700)
      try? FileManager.default.removeItem(atPath: path)
    }
  }

  private func look(into folder: String) -> String {
    let refuse: BundleFolders.Reader = { text, _, settings in
      let words =
        switch settings {
        case nil: ""
        case .text(let text)?: text
        case .unreadable(let reason)?: ", but \(reason)"
        }
      return .failure(BundleRefusal(problems: ["1:1: read: \(text)\(words)"]))
    }
    switch BundleFolders.look(into: folder, refuse) {
    case .broken(let problem, _): return problem
    case .bundle, .installed, nil: return "nothing"
    }
  }

  @Test func `a file that nobody has edited since its installation is known`() throws {
    let place = try Place()
    let bundle = try BundleReader.read(
      "{bundle: desk, format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}}}")
    let read: BundleFolders.Reader = { _, _, _ in .success(bundle) }
    func isInstalled() -> Bool {
      if case .installed = BundleFolders.look(into: place.bundle, read) { true } else { false }
    }
    func write(_ name: String, _ text: String) throws {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(place.bundle)/\(name)"))
    }
    /// Waits until the file system gives later times than before.
    func wait() throws {
      let file = "\(place.bundle)/probe"
      var (before, after) = (stat(), stat())
      try write("probe", "")
      try #require(stat(file, &before) == 0)
      repeat {
        try write("probe", "")
        try #require(stat(file, &after) == 0)
      } while (before.st_ctim.tv_sec, before.st_ctim.tv_nsec)
        == (after.st_ctim.tv_sec, after.st_ctim.tv_nsec)
    }
    let list = "folder\nfile \(SHA256.hex(Array("text".utf8))) bundle.yaml\n"
    try write("bundle.yaml", "text")
    #expect(!isInstalled())
    try write(".origin", list)
    #expect(isInstalled())
    // Another file with an old time, as `cp -p` and `mv` give it.
    try FileManager.default.removeItem(atPath: "\(place.bundle)/bundle.yaml")
    try write("bundle.yaml", "edited")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1)],
      ofItemAtPath: "\(place.bundle)/bundle.yaml")
    #expect(!isInstalled())
    // Nor has the installer written a copy of the installed file.
    try wait()
    try write("bundle.yaml", "text")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1)],
      ofItemAtPath: "\(place.bundle)/bundle.yaml")
    #expect(!isInstalled())
    try wait()
    try write(".origin", list)
    #expect(isInstalled())
  }

  /// Runs a closure as a user who is not root, because root may read everything. Only the thread
  /// changes its user.
  private func asNobody<T>(_ body: () -> T) throws -> T {
    guard geteuid() == 0 else { return body() }
    // setfsuid(2), which Swift's module of the C library does not have.
    typealias SetUser = @convention(c) (uid_t) -> CInt
    let setUser = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: SetUser.self)
    _ = setUser(65_534)
    defer { _ = setUser(0) }
    return body()
  }

  @Test(arguments: [
    ("clock.yaml", "# A clock.\nbundle: clock\n", true),
    ("bundle.json", "{\"bundle\": \"clock\"}", true),
    ("clock.yaml", "kinds: {}\n", false), ("clock.txt", "bundle: clock\n", false),
  ])
  func `a bundle's file outside a folder is reported`(
    name: String, text: String, isTold: Bool
  ) throws {
    let place = try Place(nil)
    let file = "\(place.path)/\(name)"
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    let found = BundleFolders.subfolders(of: place.path).filter { $0.hasSuffix(name) }
    #expect(found.count == (isTold ? 1 : 0))
    for path in found {
      #expect(look(into: path).contains("is a file in the folder of bundles"))
      #expect(look(into: path).contains("widgetctl bundle install"))
    }
  }

  @Test func `a folder without a bundle's file is not a bundle`() throws {
    let place = try Place(nil)
    #expect(look(into: place.bundle) == "nothing")
    #expect(look(into: place.path + "/none") == "nothing")
    #expect(BundleFolders.subfolders(of: place.path) == [FileReading.resolved(place.bundle)])
  }

  private func suspicion(about folder: String) -> String {
    guard case .broken(let problem, _)? = BundleFolders.suspicion(about: folder) else {
      return "nothing"
    }
    return problem
  }

  @Test(
    arguments: [
      ("bundel.yaml", "bundle.yaml"), ("Bundle.yaml", "bundle.yaml"), ("bundle.jsn", nil),
      ("package.json", nil), ("strings.yml", nil), ("notes.txt", nil), (".settings.json", nil),
    ] as [(String, String?)])
  func `a folder with a file named like a bundle's file is reported`(file: String, meant: String?)
    throws
  {
    let place = try Place(file)
    #expect(look(into: place.bundle) == "nothing")
    #expect(
      suspicion(about: place.bundle)
        == (meant.map {
          "\(place.bundle) has \(file), but no bundle's file; did you mean \($0)? Rename the file"
        } ?? "nothing"))
  }

  @Test(
    arguments: [
      (S_IFIFO, "a named pipe"), (S_IFSOCK, "a socket"), (S_IFDIR, "a folder"),
    ] as [(mode_t, String)])
  func `a bundle's file that is no file is reported once, without a position`(
    type: mode_t, words: String
  ) throws {
    let place = try Place(nil)
    let file = "\(place.bundle)/bundle.yaml"
    let isMade =
      type == S_IFDIR ? mkdir(file, 0o700) == 0 : mknod(file, type | 0o600, 0) == 0
    try #require(isMade)
    #expect(
      look(into: place.bundle)
        == "\(file) is \(words), not a file; replace it with a file, or remove it")
  }

  @Test func `two files and a file that is not UTF-8 are reported without a position`() throws {
    let place = try Place()
    let file = "\(place.bundle)/bundle.yaml"
    try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: file))
    #expect(look(into: place.bundle) == "\(file) is not UTF-8 text; save it as UTF-8")
    try Data().write(to: URL(fileURLWithPath: "\(place.bundle)/bundle.json"))
    #expect(
      look(into: place.bundle)
        == "\(place.bundle) has bundle.yaml and bundle.json; keep one of them")
  }

  @Test(arguments: [("bundle.json", true), ("bundle.yaml", false), ("bundle.yml", false)])
  func `only the file bundle json must be JSON`(name: String, isJSON: Bool) throws {
    let place = try Place(name)
    let read: BundleFolders.Reader = { _, isJSON, _ in
      .failure(BundleRefusal(problems: ["1:1: \(isJSON)"]))
    }
    let found = BundleFolders.look(into: place.bundle, read)
    guard case .broken(let problem, _)? = found else {
      Issue.record("the file is not read")
      return
    }
    #expect(problem == "\(place.bundle)/\(name):1:1: \(isJSON)")
  }

  @Test func `a broken link of a bundle's file is reported`() throws {
    let place = try Place(nil)
    symlink("/nonexistent/desk.yaml", "\(place.bundle)/bundle.yaml")
    #expect(look(into: place.bundle) == "nothing")
    let told = suspicion(about: place.bundle)
    #expect(
      told.hasPrefix("the link \(place.bundle)/bundle.yaml leads to no readable file: "),
      "\(told)")
    #expect(told.contains("correct the link"))
  }

  @Test func `a link to a folder that does not exist is found and reported`() throws {
    let place = try Place(nil)
    let link = "\(place.path)/lost"
    symlink("/nonexistent/desk", link)
    symlink("/nonexistent/notes.txt", "\(place.path)/notes.txt")
    #expect(
      BundleFolders.subfolders(of: place.path) == [FileReading.resolved(place.bundle), link])
    #expect(look(into: link) == "nothing")
    #expect(
      suspicion(about: link) == "the link \(link) leads to no readable folder: No such file or"
        + " directory; correct the link, or remove it")
    #expect(BundleFolders.isUnwatchable(link) && !BundleFolders.isUnwatchable(place.bundle))
  }

  @Test(arguments: [(S_IFIFO, "a named pipe"), (S_IFSOCK, "a socket")] as [(mode_t, String)])
  func `an entry in the place of a bundle's folder that is no folder is found and reported`(
    type: mode_t, words: String
  ) throws {
    let place = try Place(nil)
    let entry = "\(place.path)/notes"
    // A name with a dot is no bundle's.
    for path in [entry, "\(place.path)/notes.sock"] {
      try #require(mknod(path, type | 0o600, 0) == 0)
    }
    let path = try #require(FileReading.resolved(entry))
    #expect(
      BundleFolders.subfolders(of: place.path) == [FileReading.resolved(place.bundle), path])
    #expect(look(into: path) == "nothing")
    #expect(
      suspicion(about: path)
        == "\(path) is \(words), not a folder; replace it with a folder, or remove it. If a bundle had "
        + "this place, its widgets are removed with their data 30 seconds after that")
    #expect(BundleFolders.isUnwatchable(path))
  }

  @Test func `a folder whose name is not UTF-8 is reported`() throws {
    let place = try Place()
    let name =
      "\(place.path)/caf".utf8.map { CChar(bitPattern: $0) } + [CChar(bitPattern: 0xE9), 0]
    try #require(mkdir(name, 0o755) == 0)
    defer { rmdir(name) }
    let path = "\(place.path)/caf\u{FFFD}"
    #expect(BundleFolders.subfolders(of: place.path).contains(path))
    #expect(BundleFolders.hasUnreadableName(path))
    #expect(look(into: path) == "nothing")
    #expect(suspicion(about: path) == "the name of \(path) is not UTF-8 text; rename it")
    #expect(!BundleFolders.hasUnreadableName(place.bundle))
  }

  @Test(arguments: [0o000, 0o600] as [mode_t])
  func `an unreadable bundle folder is reported with the command that repairs it`(mode: mode_t)
    throws
  {
    let place = try Place()
    chmod(place.path, 0o755)
    chmod(place.bundle, mode)
    let told = try asNobody { look(into: place.bundle) }
    #expect(told.hasPrefix("\(place.bundle): "))
    #expect(told.contains("may not read this folder"))
    #expect(told.contains("chmod -R a+rX \(place.bundle)"))
    chmod(place.bundle, 0o755)
    #expect(try asNobody { look(into: place.bundle) }.hasSuffix("read: text"))
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
  func `a hard link to a file of another user is not read as a bundle or its settings`() throws {
    let place = try Place(nil)
    let secret = "\(place.path)/secret"
    try Data("text".utf8).write(to: URL(fileURLWithPath: secret))
    try #require(chown(secret, 4_321, 4_321) == 0)
    try #require(link(secret, "\(place.bundle)/bundle.yaml") == 0)
    let told = look(into: place.bundle)
    #expect(told.contains("bundle.yaml is a hard link to a file of another user"), "\(told)")
    unlink("\(place.bundle)/bundle.yaml")
    try Data("text".utf8).write(to: URL(fileURLWithPath: "\(place.bundle)/bundle.yaml"))
    try #require(link(secret, "\(place.bundle)/\(BundleDefaults.fileName)") == 0)
    let unread = look(into: place.bundle)
    #expect(unread.contains("read: text, but \(place.bundle)/.settings.json is a hard link"))
    // If it belongs to the same user, it is read like other files.
    try #require(chown(secret, geteuid(), getegid()) == 0)
    #expect(look(into: place.bundle).hasSuffix("read: texttext"))
  }

  @Test(
    arguments: [
      ([0x7B, 0xFF], "is not well-formed UTF-8; save it as UTF-8"),
      (Array(repeating: 0x20, count: 70_000), "has more than 65536 bytes; make the file smaller"),
    ] as [([UInt8], String)])
  func `settings that cannot be read are no settings, and the reason is known`(
    bytes: [UInt8], words: String
  ) throws {
    let place = try Place()
    let path = "\(place.bundle)/\(BundleDefaults.fileName)"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let told = look(into: place.bundle)
    #expect(told.contains("read: text, but \(path) \(words)"), "\(told)")
    let read = try BundleReader.read(
      "{bundle: desk, format: 1, version: 1.0.0, defaults: {n: 1}}", settings: .unreadable("no"))
    #expect(read.defaults.problems == ["the defaults hold, because no"])
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
  func `a hard link in the folder of a bundle to a file of another user is not read`() throws {
    let place = try Place()
    let folder = try #require(FileReading.resolved(place.bundle))
    let secret = "\(place.path)/secret"
    try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
    try #require(chown(secret, 4_321, 4_321) == 0)
    try #require(link(secret, "\(folder)/data") == 0)
    func read(_ path: String, allowed: [String]) throws(Failure) -> [UInt8] {
      let bundle = Bundle(id: "b", version: "1.0.0", permissions: Permissions(read: allowed))
      return try FileReading.read(
        FileRequest(
          path: path, bytesMax: 100,
          permissions: BundlePermissions(bundle, folder: folder, home: "/")))
    }
    let failure = #expect(throws: Failure.self) { try read("\(folder)/data", allowed: []) }
    #expect(failure?.message.contains("hard link to a file of another user") == true)
    // A path that the bundle declares may have any owner and other names.
    #expect(try read(secret, allowed: [place.path]) == Array("secret".utf8))
  }

  private func absence(of id: String, in place: Place) -> HostState.Absence {
    BundleFolders.absence(of: .init(id: id, path: place.bundle), in: place.path)
  }

  /// A host has seen the bundle's file beside the marks of these folders.
  private func seen(
    _ id: String, at path: String, beside folders: [String]
  ) -> HostState.Remembered {
    let marks = Set(folders.flatMap { BundleFolders.removalMarks(in: $0) }.map(\.identity))
    return .init(id: id, path: path, shown: [HostState.marksKey: HostState.value(of: marks)])
  }

  @Test func `an unreadable folder of bundles is not taken for missing bundles`() throws {
    let place = try Place(nil)
    #expect(absence(of: "desk", in: place) == .missing)
    rmdir(place.bundle)
    #expect(absence(of: "desk", in: place) == .missing)
    for mode in [0o000, 0o600, 0o100] as [mode_t] {
      chmod(place.path, mode)
      let reason = "widgetd-host cannot read \(place.path): Permission denied"
      #expect(try asNobody { absence(of: "desk", in: place) } == .unavailable(reason))
    }
    chmod(place.path, 0o700)
    rmdir(place.path)
    #expect(absence(of: "desk", in: place) == .unavailable("\(place.path) does not exist"))
    try Data().write(to: URL(fileURLWithPath: place.path))
    #expect(absence(of: "desk", in: place) == .unavailable("\(place.path) is not a folder"))
  }

  @Test func `a mark of a removal counts only if it is new, and stays`() throws {
    let place = try Place(nil)
    let mark = "\(place.path)/\(BundleRemovalMark.name(of: "desk"))"
    try Data().write(to: URL(fileURLWithPath: mark))
    #expect(absence(of: "other", in: place) == .missing)
    #expect(absence(of: "../desk", in: place) == .missing)
    let known = seen("desk", at: place.bundle, beside: [place.path])
    #expect(BundleFolders.absence(of: known, in: place.path) == .missing)
    // The next host needs the mark if this one ends before the removal.
    #expect(absence(of: "desk", in: place) == .removed)
    BundleFolders.dropMarks(in: [place.path], but: [], keeping: ["desk"])
    #expect(access(mark, F_OK) == 0)
    BundleFolders.dropMarks(in: [place.path], but: [], keeping: ["other"])
    #expect(access(mark, F_OK) != 0)
  }

  @Test func `a mark of a removal counts only in a folder that had the bundle`() throws {
    let (place, other) = (try Place(nil), try Place(nil))
    func mark(_ id: String) throws -> String {
      let path = "\(other.path)/\(BundleRemovalMark.name(of: id))"
      try Data().write(to: URL(fileURLWithPath: path))
      return path
    }
    let desk = try mark("desk")
    #expect(absence(of: "desk", in: place) == .missing)
    #expect(access(desk, F_OK) == 0)
    // A link in the other folder led to the bundle.
    let known = HostState.Remembered(id: "desk", path: place.bundle)
    #expect(BundleFolders.absence(of: known, in: other.path) == .removed)
  }

  /// The folder of the bundle is still there.
  @Test func `a mark that names the target of a removed link counts for the next host`() throws {
    let (place, other) = (try Place(), try Place(nil))
    let mark = "\(other.path)/\(BundleRemovalMark.name(of: "desk"))"
    let known = HostState.Remembered(id: "desk", path: place.bundle)
    for (target, isRemoved) in [("", false), ("/elsewhere/desk", false), (place.bundle, true)] {
      try Data(target.utf8).write(to: URL(fileURLWithPath: mark))
      #expect(BundleFolders.isLinkRemoved(to: known, in: [other.path]) == isRemoved)
    }
    #expect(!BundleFolders.isLinkRemoved(to: known, in: [place.path]))
    let later = seen("desk", at: place.bundle, beside: [other.path])
    #expect(!BundleFolders.isLinkRemoved(to: later, in: [other.path]))
    // The host can end before the daemon has removed the widgets.
    BundleFolders.dropMarks(in: [other.path], but: [known])
    #expect(access(mark, F_OK) == 0)
    BundleFolders.dropMarks(in: [other.path], but: [])
    #expect(access(mark, F_OK) != 0)
  }

  @Test func `an old mark that is not about a bundle of its folder is deleted`() throws {
    let (place, other) = (try Place(nil), try Place(nil))
    let marks = try [(place, "desk"), (other, "desk"), (other, "lamp")].map { place, id in
      let path = "\(place.path)/\(BundleRemovalMark.name(of: id))"
      try Data().write(to: URL(fileURLWithPath: path))
      return path
    }
    func left(among known: Set<RemovalMark>) -> [Bool] {
      BundleFolders.dropMarks(
        in: [place.path, other.path], but: [.init(id: "desk", path: place.bundle)], among: known)
      return marks.map { access($0, F_OK) == 0 }
    }
    #expect(left(among: []) == [true, true, true])
    let known = [place, other].flatMap { BundleFolders.removalMarks(in: $0.path) }
    #expect(left(among: Set(known)) == [true, false, false])
  }

  /// The folder of the bundle is in the folder of bundles, or a link leads to it.
  @Test(arguments: [true, false])
  func `a mark that a host saw beside the file of its bundle is deleted`(isLinked: Bool) throws {
    let (place, other) = (try Place(nil), try Place(nil))
    let mark = "\(place.path)/\(BundleRemovalMark.name(of: "desk"))"
    try Data().write(to: URL(fileURLWithPath: mark))
    let path = isLinked ? other.bundle : place.bundle
    for folders in [[], [place.path]] {
      let known = seen("desk", at: path, beside: folders)
      BundleFolders.dropMarks(in: [place.path, other.path], but: [known], [path: place.path])
      #expect((access(mark, F_OK) == 0) == folders.isEmpty)
    }
  }

  /// The host has not seen that the bundle was away, so it has not seen the mark beside the file.
  @Test(arguments: [true, false])
  func `a mark is deleted if its bundle is back before the host looks`(isLinked: Bool) throws {
    let (place, other) = (try Place(nil), try Place(isLinked ? "bundle.yaml" : nil))
    let mark = "\(place.path)/\(BundleRemovalMark.name(of: "desk"))"
    try Data().write(to: URL(fileURLWithPath: mark))
    let path = isLinked ? other.bundle : place.bundle
    func isLeft() -> Bool {
      BundleFolders.dropMarks(
        in: [place.path], but: [.init(id: "desk", path: path)], [path: place.path])
      return access(mark, F_OK) == 0
    }
    #expect(isLeft())
    if isLinked {
      try #require(symlink(path, "\(place.path)/link") == 0)
    } else {
      try Data("text".utf8).write(to: URL(fileURLWithPath: "\(path)/bundle.yaml"))
    }
    #expect(!isLeft())
  }

  @Test func `an installation waits until a removal is carried out, and not for ever`() async throws
  {
    let place = try Place(nil)
    let mark = "\(place.path)/\(BundleRemovalMark.name(of: "desk"))"
    await Host.awaitRemovals(in: place.path, atMost: .seconds(3600))
    try Data().write(to: URL(fileURLWithPath: mark))
    await Host.awaitRemovals(in: place.path, atMost: .zero)
    #expect(access(mark, F_OK) == 0)
    let path = place.path
    let waiting = Task {
      await Host.awaitRemovals(in: path, atMost: .seconds(3600))
      return access(mark, F_OK) != 0
    }
    await Task.yield()
    unlink(mark)
    #expect(await waiting.value)
    #expect(access(place.path, F_OK) == 0)
  }

  @Test(arguments: [(true, false), (false, true)])
  func `only a folder that somebody has named must exist`(isUsual: Bool, isProblem: Bool) throws {
    let place = try Place()
    #expect(BundleFolders.problem(of: place.path, isUsual: isUsual) == nil)
    let missing = BundleFolders.problem(of: "\(place.path)/none", isUsual: isUsual)
    #expect((missing?.contains("/none does not exist; make it") ?? false) == isProblem)
    let file = BundleFolders.problem(of: "\(place.bundle)/bundle.yaml", isUsual: isUsual)
    #expect(file?.contains("is not a folder; ") == true)
  }

  @Test func `an unreadable folder of bundles is reported like a bundle's folder`() throws {
    let place = try Place()
    chmod(place.path, 0o700)
    if geteuid() != 0 { chmod(place.path, 0o000) }
    #expect(try asNobody { BundleFolders.subfolders(of: place.path) } == [place.path])
    #expect(try asNobody { look(into: place.path) }.contains("may not read this folder"))
    chmod(place.path, 0o755)
    #expect(try asNobody { BundleFolders.subfolders(of: place.path) } == [place.bundle])
  }
}
