import Glibc
import Testing
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

@Suite struct BundleInstallerTests {
  private let scratch = Scratch()
  private let installer: BundleInstaller

  init() {
    installer = BundleInstaller(path: "\(scratch.path)/bundles")
  }

  private func archive(_ id: String, version: String = "1.0.0", top: String = "") -> [UInt8] {
    var tar = Tar()
    if !top.isEmpty { tar.add(top, type: "5") }
    tar.add("\(top)bundle.yaml", Texts.bundle(id, version: version))
    tar.add("\(top)data/items.json", "[1]")
    return tar.archive
  }

  /// What a refusal says.
  private func refusal(_ body: () throws(BundleInstallerError) -> Void) -> String {
    do throws(BundleInstallerError) {
      try body()
      return "nothing"
    } catch {
      switch error {
      case .invalid(let file, let invalid): return "\(file): \(invalid)"
      case .refused(let message, let hint), .notFound(let message, let hint):
        #expect(!hint.isEmpty)
        return message
      case .system(let message, let number): return "\(message): \(number)"
      }
    }
  }

  // MARK: - What is right

  @Test(arguments: ["", "desk/", "./"])
  func `an archive is unpacked into the folder of its id`(top: String) throws {
    let outcome = try installer.install(
      bytes: archive("desk", top: top), name: "anything.tar")
    #expect(outcome.bundle.id == "desk")
    #expect(!outcome.wasThere)
    #expect(
      scratch.listing("bundles") == [
        "bundles/.lock", "bundles/desk/", "bundles/desk/.origin", "bundles/desk/bundle.yaml",
        "bundles/desk/data/", "bundles/desk/data/items.json",
      ])
    let installed = try installer.list()
    #expect(installed.map(\.id) == ["desk"])
    #expect(installed.first?.digest == outcome.digest)
    #expect(outcome.digest == SHA256.hex(archive("desk", top: top)))
  }

  @Test(arguments: ["", "desk/", "./"])
  func `an archive can be read without installing it`(top: String) throws {
    let found = try installer.read(bytes: archive("desk", top: top), name: "a.tar")
    #expect(found.bundle.id == "desk")
    #expect(found.file == "a.tar/\(top == "desk/" ? top : "")bundle.yaml")
    #expect(found.text == Texts.bundle("desk"))
    #expect(scratch.listing("bundles").isEmpty)
  }

  @Test func `what is wrong in an archive is told with its place there`() {
    var broken = Tar()
    broken.add("desk/bundle.yaml", Texts.bundle("desk") + "nmae: x\n")
    #expect(
      refusal { () throws(BundleInstallerError) in
        _ = try installer.read(bytes: broken.archive, name: "a.tar")
      }.hasPrefix("a.tar/desk/bundle.yaml: "))
    var evil = Tar()
    evil.add("../bundle.yaml", Texts.bundle("desk"))
    #expect(
      refusal { () throws(BundleInstallerError) in
        _ = try installer.read(bytes: evil.archive, name: "a.tar")
      }.contains("would lead out"))
    var twice = Tar()
    twice.add("bundle.yaml", Texts.bundle("desk"))
    twice.add("bundle.json", "{}")
    #expect(
      refusal { () throws(BundleInstallerError) in
        _ = try installer.read(bytes: twice.archive, name: "a.tar")
      } == "a.tar has bundle.yaml and bundle.json")
  }

  @Test func `what somebody wrote in the folder of bundles is not deleted by the way`() throws {
    scratch.write("bundles/mine/bundle.yaml", Texts.bundle("mine"))
    for name in ["a", "b", "c", "d"] { scratch.write("bundles/mine/\(name).txt", "x") }
    let before = scratch.listing("bundles/mine")
    let message = refusal { () throws(BundleInstallerError) in try installer.remove("mine") }
    #expect(
      message.hasSuffix("not installed: mine/a.txt, mine/b.txt, mine/bundle.yaml and 2 more"))
    #expect(scratch.listing("bundles/mine") == before)
    try installer.remove("mine", force: true)
    #expect(try installer.list().isEmpty)
  }

  @Test func `a file and a folder are installed too`() throws {
    let file = scratch.write("one.yaml", Texts.bundle("one"))
    #expect(try installer.install(file).bundle.id == "one")
    scratch.write("two/bundle.json", #"{"bundle": "two", "format": 1, "version": "1.0.0"}"#)
    scratch.write("two/assets/icon.svg", "<svg/>")
    scratch.write("two/.git/config", "hidden")
    #expect(try installer.install("\(scratch.path)/two").bundle.id == "two")
    #expect(try installer.list().map(\.id) == ["one", "two"])
    #expect(scratch.read("bundles/two/assets/icon.svg") == "<svg/>")
    #expect(!scratch.listing("bundles/two").contains { $0.contains(".git") })
  }

  @Test func `a new version takes the place of the former as a whole`() throws {
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk"))
    tar.add("old.txt", "old")
    _ = try installer.install(bytes: tar.archive, name: "a.tar")
    let outcome = try installer.install(bytes: archive("desk", version: "1.1.0"), name: "a.tar")
    #expect(outcome.former == "1.0.0")
    #expect(outcome.wasThere)
    #expect(scratch.read("bundles/desk/old.txt") == nil)
    #expect(scratch.read("bundles/desk/data/items.json") == "[1]")
    #expect(!scratch.listing("bundles").contains { $0.contains("staging") })
  }

  @Test func `a new version keeps the user's settings, and rm removes them`() throws {
    func set(_ text: String?) throws(BundleInstallerError) {
      try installer.changeSettings(of: "desk") { (_) throws(BundleInstallerError) in text }
    }
    func archive(_ version: String, _ defaults: String) -> [UInt8] {
      var tar = Tar()
      tar.add("bundle.yaml", Texts.bundle("desk", version: version) + "defaults: \(defaults)\n")
      return tar.archive
    }
    let first = archive("1.0.0", "{unit: C, pause: {type: duration, default: 5m}}")
    _ = try installer.install(bytes: first, name: "a.tar")
    #expect(try installer.configured("desk").defaults.values["unit"] == .string("C"))
    try set(#"{"unit":"F","pause":"90s"}"#)
    #expect(try installer.configured("desk").defaults.values["unit"] == .string("F"))
    #expect(try installer.configured("desk").defaults.values["pause"] == .duration(.seconds(90)))
    // Installing the same archive again changes nothing. A new version takes the settings that it
    // has.
    #expect(try installer.install(bytes: first, name: "a.tar").former == "1.0.0")
    _ = try installer.install(bytes: archive("2.0.0", "{pause: 5}"), name: "a.tar")
    let second = try installer.configured("desk").defaults
    #expect(second.values == ["pause": .int(5)])
    #expect(second.passedOver == ["unit": .string("F"), "pause": .string("90s")])
    #expect(second.problems.count == 2)
    #expect(second.problems.allSatisfy { $0.hasPrefix(".settings.json: ") })
    _ = try installer.rollback("desk")
    #expect(try installer.configured("desk").defaults.values["unit"] == .string("F"))
    try set(nil)
    #expect(scratch.read("bundles/desk/.settings.json") == nil)
    _ = scratch.write("bundles/desk/.settings.json", "[1")
    #expect(
      try installer.configured("desk").defaults.problems.first?.contains("not a JSON object")
        == true)
    // A file that cannot be read is not overwritten.
    #expect(
      refusal { () throws(BundleInstallerError) in try set("{}") }.contains("is not a JSON object"))
    #expect(scratch.read("bundles/desk/.settings.json") == "[1")
    try installer.remove("desk")
    #expect(
      refusal { () throws(BundleInstallerError) in try set("{}") }.contains("there is no bundle"))
  }

  @Test func `a misspelt setting to unset is told with the one that was probably meant`() throws {
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk") + "defaults: {unit: C}\n")
    _ = try installer.install(bytes: tar.archive, name: "a.tar")
    #expect {
      try installer.changeSettings(of: "desk", to: [:], unset: ["unti"])
    } throws: {
      guard case .refused(_, let hint)? = $0 as? BundleInstallerError else { return false }
      return hint == "did you mean \"unit\"?"
    }
  }

  @Test func `neither a publisher nor a rollback changes the user's settings`() throws {
    func archive(_ version: String) -> [UInt8] {
      var tar = Tar()
      tar.add("bundle.yaml", Texts.bundle("desk", version: version) + "defaults: {unit: C}\n")
      tar.add(".settings.json", #"{"unit":"publisher"}"#)
      return tar.archive
    }
    func unit() throws -> Value? { try installer.configured("desk").defaults.values["unit"] }
    func set(_ text: String) throws {
      try installer.changeSettings(of: "desk") { (_) throws(BundleInstallerError) in text }
    }
    _ = try installer.install(bytes: archive("1.0.0"), name: "a.tar")
    #expect(try unit() == .string("C"))
    try set(#"{"unit":"one"}"#)
    _ = try installer.install(bytes: archive("2.0.0"), name: "a.tar")
    #expect(try unit() == .string("one"))
    try set(#"{"unit":"two"}"#)
    _ = try installer.rollback("desk")
    #expect(try unit() == .string("two"))
    let long = String(repeating: "x", count: 70_000)
    #expect(throws: BundleInstallerError.self) { try set(#"{"unit":"\#(long)"}"#) }
    #expect(try unit() == .string("two"))
  }

  // MARK: - The version before

  @Test func `a rollback brings back the version before, and a second one takes it back`() throws {
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk"))
    tar.add("old.txt", "old")
    _ = try installer.install(bytes: tar.archive, name: "a.tar")
    #expect(try installer.list().first?.former == nil)
    _ = try installer.install(bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    #expect(try installer.list().first?.former == "1.0.0")
    let digest = try installer.list().first?.digest
    let back = try installer.rollback("desk")
    #expect(back.bundle.version == "1.0.0")
    #expect(back.former == "2.0.0")
    #expect(back.digest == SHA256.hex(tar.archive))
    #expect(scratch.read("bundles/desk/old.txt") == "old")
    #expect(scratch.read("bundles/desk/data/items.json") == nil)
    let again = try installer.rollback("desk")
    #expect(again.bundle.version == "2.0.0")
    #expect(again.digest == digest)
    #expect(try installer.list().first?.former == "1.0.0")
    #expect(again.warnings == [])
  }

  @Test func `of versions that were installed only the one before is kept`() throws {
    for version in ["1.0.0", "1.1.0", "1.2.0", "1.3.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    #expect(
      scratch.listing("bundles/.versions/desk").filter { $0.hasSuffix("/bundle.yaml") }
        == ["bundles/.versions/desk/3-1.2.0/bundle.yaml"])
    try installer.remove("desk")
    #expect(scratch.listing("bundles") == ["bundles/.lock"])
  }

  @Test func `a bundle without a version before cannot be rolled back`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    #expect(
      refusal { () throws(BundleInstallerError) in _ = try installer.rollback("desk") }
        == "there is no version before of the bundle \"desk\"")
    #expect(
      refusal { () throws(BundleInstallerError) in _ = try installer.rollback("dsk") }
        == "there is no bundle \"dsk\"")
  }

  @Test func `what an installer did not write stays where it is through installations`() throws {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk", version: "0.1.0"))
    scratch.write("bundles/desk/notes.txt", "mine")
    scratch.write("bundles/desk/data/own.json", "[2]")
    let outcome = try installer.install(bytes: archive("desk"), name: "a.tar")
    #expect(outcome.warnings.contains { $0.contains("was written there, not installed") })
    #expect(scratch.read("bundles/desk/notes.txt") == "mine")
    #expect(scratch.read("bundles/desk/data/own.json") == "[2]")
    #expect(scratch.read("bundles/desk/data/items.json") == "[1]")
    _ = try installer.install(bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    _ = try installer.install(bytes: archive("desk", version: "3.0.0"), name: "a.tar")
    #expect(scratch.read("bundles/desk/notes.txt") == "mine")
    // The hand-made version is kept however many come after it.
    let kept = scratch.listing("bundles/.versions/desk").filter { $0.hasSuffix("bundle.yaml") }
    #expect(
      kept == [
        "bundles/.versions/desk/1-0.1.0/bundle.yaml", "bundles/.versions/desk/3-2.0.0/bundle.yaml",
      ])
    let message = refusal { () throws(BundleInstallerError) in try installer.remove("desk") }
    #expect(
      message.hasSuffix(
        "desk/data/own.json, desk/notes.txt, .versions/desk/1-0.1.0/bundle.yaml and 2 more"),
      "\(message)")
    // A rollback brings it back, even after later versions.
    #expect(try installer.rollback("desk", to: "0.1.0").bundle.version == "0.1.0")
    #expect(scratch.read("bundles/desk/data/own.json") == "[2]")
    #expect(scratch.read("bundles/desk/data/items.json") == nil)
    try installer.remove("desk", force: true)
    #expect(scratch.listing("bundles") == ["bundles/.lock"])
  }

  @Test func `installing the same archive again keeps the former version`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    for _ in 0..<2 {
      let outcome = try installer.install(bytes: archive("desk", version: "2.0.0"), name: "a.tar")
      #expect(outcome.bundle.version == "2.0.0")
    }
    #expect(try installer.rollback("desk").bundle.version == "1.0.0")
  }

  @Test func `installing the same content from another archive keeps the former version`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    let second = archive("desk", version: "2.0.0")
    _ = try installer.install(bytes: second, name: "a.tar")
    // The end of a tar archive may have any number of empty blocks.
    let repacked = second + [UInt8](repeating: 0, count: 1024)
    #expect(try installer.install(bytes: repacked, name: "b.tar").former == "2.0.0")
    #expect(try installer.rollback("desk").bundle.version == "1.0.0")
  }

  @Test func `a rollback works also if the live version is gone`() throws {
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    rename("\(scratch.path)/bundles/desk", "\(scratch.path)/gone")
    #expect(try installer.rollback("desk").bundle.version == "1.0.0")
    #expect(try installer.list().map(\.id) == ["desk"])
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    rename("\(scratch.path)/bundles/desk", "\(scratch.path)/gone too")
    try installer.remove("desk")
    #expect(scratch.listing("bundles") == ["bundles/.lock"])
  }

  @Test func `a new version gets the hidden files, links and permissions of a hand-made bundle`()
    throws
  {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk", version: "0.1.0"))
    scratch.write("bundles/desk/.token", "secret")
    scratch.write("bundles/desk/private/key", "secret")
    scratch.write("bundles/desk/.git/HEAD", "main")
    let live = "\(scratch.path)/bundles/desk"
    #expect(chmod("\(live)/.token", 0o600) == 0 && chmod("\(live)/private", 0o700) == 0)
    #expect(symlink("private/key", "\(live)/key") == 0 && mkfifo("\(live)/pipe", 0o600) == 0)
    let outcome = try installer.install(bytes: archive("desk"), name: "a.tar")
    func mode(_ name: String) -> mode_t {
      var status = stat()
      return lstat("\(live)/\(name)", &status) == 0 ? status.st_mode & 0o777 : 0
    }
    #expect(scratch.read("bundles/desk/.token") == "secret")
    #expect([mode(".token"), mode("private"), mode("bundle.yaml")] == [0o600, 0o700, 0o644])
    #expect(scratch.read("bundles/desk/key") == "secret")
    // A pipe and what a version control keeps stay with the hand-made version.
    #expect(
      !scratch.listing("bundles/desk").contains { $0.contains(".git") || $0.contains("pipe") })
    #expect(
      outcome.warnings.contains {
        $0.hasPrefix("not copied, but kept in \(scratch.path)/bundles/.versions/desk/1-0.1.0: ")
          && $0.hasSuffix(".git/HEAD, pipe")
      }, "\(outcome.warnings)")
    #expect(try installer.rollback("desk").warnings == [])
    #expect(scratch.listing("bundles/desk").contains("bundles/desk/.git/HEAD"))
  }

  @Test func `a hand-made bundle comes back with a rollback`() throws {
    scratch.write(
      "bundles/desk/bundle.json", #"{"bundle": "desk", "format": 1, "version": "0.1.0"}"#)
    scratch.write("bundles/desk/notes.txt", "mine")
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    #expect(scratch.read("bundles/desk/bundle.json") == nil)
    let back = try installer.rollback("desk")
    #expect(back.bundle.version == "0.1.0")
    #expect(scratch.read("bundles/desk/notes.txt") == "mine")
    #expect(scratch.read("bundles/desk/bundle.yaml") == nil)
  }

  @Test func `an installed file that was changed is kept with its version`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    scratch.write("bundles/desk/data/items.json", "[1, 2, 3]")
    let message = refusal { () throws(BundleInstallerError) in try installer.remove("desk") }
    #expect(message.hasSuffix("desk/data/items.json"), "\(message)")
    let outcome = try installer.install(bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    #expect(outcome.warnings.contains { $0.hasPrefix("changed since its installation") })
    for version in ["3.0.0", "4.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    #expect(scratch.read("bundles/.versions/desk/1-1.0.0/data/items.json") == "[1, 2, 3]")
  }

  @Test func `bundles do not disturb each other`() throws {
    _ = try installer.install(bytes: archive("one"), name: "a.tar")
    _ = try installer.install(bytes: archive("two"), name: "a.tar")
    _ = try installer.install(bytes: archive("two", version: "2.0.0"), name: "a.tar")
    try installer.remove("two")
    #expect(try installer.list().map(\.id) == ["one"])
    #expect(scratch.read("bundles/one/data/items.json") == "[1]")
  }

  @Test func `names that another bundle has are told`() throws {
    let first = scratch.write("a.yaml", Texts.bundle("one", kind: "clock"))
    let second = scratch.write("b.yaml", Texts.bundle("two", kind: "clock"))
    #expect(try installer.install(first).warnings.isEmpty)
    #expect(
      try installer.install(second).warnings == [
        "bundle \"one\" has a kind \"clock\" too", "bundle \"one\" has a widget \"clock\" too",
      ])
  }

  @Test func `what an archive marks as a program stays one`() throws {
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk"))
    tar.add(Array("run".utf8), Array("#!/bin/sh\n".utf8), mode: 0o4755)
    _ = try installer.install(bytes: tar.archive, name: "a.tar")
    #expect(access("\(scratch.path)/bundles/desk/run", X_OK) == 0)
    #expect(access("\(scratch.path)/bundles/desk/bundle.yaml", R_OK) == 0)
    #expect(access("\(scratch.path)/bundles/desk/bundle.yaml", X_OK) != 0)
  }

  // MARK: - What is not

  struct Evil: Sendable, CustomTestStringConvertible {
    let name: String
    let type: Character
    let link: String
    let message: String
    var testDescription: String { "\(name) \(type) \(link)" }
  }

  @Test(arguments: [
    Evil(name: "../evil.txt", type: "0", link: "", message: "has .. in it"),
    Evil(name: "a/../../evil.txt", type: "0", link: "", message: "has .. in it"),
    Evil(name: "..", type: "5", link: "", message: "has .. in it"),
    Evil(name: "/evil.txt", type: "0", link: "", message: "absolute path"),
    Evil(name: "link", type: "2", link: "/etc/passwd", message: "is a link"),
    Evil(name: "link", type: "2", link: "..", message: "is a link"),
    Evil(name: "hard", type: "1", link: "bundle.yaml", message: "is a link"),
    Evil(name: "device", type: "3", link: "", message: "neither a file nor a folder"),
    Evil(name: "pipe", type: "6", link: "", message: "neither a file nor a folder"),
    Evil(name: "a\\b", type: "0", link: "", message: "backslash"),
    Evil(name: "a\u{1B}b", type: "0", link: "", message: "control character"),
    Evil(name: "bundle.yaml", type: "0", link: "", message: "there twice"),
    Evil(name: "bundle.yaml/x", type: "0", link: "", message: "cannot"),
    Evil(
      name: String(repeating: "a/", count: 40) + "x", type: "0", link: "", message: "too deep"),
  ])
  func `an archive that reaches out is refused, and the former version stays`(evil: Evil) throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    let before = scratch.listing()
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk", version: "9.0.0"))
    tar.add(evil.name, "evil", type: evil.type, link: evil.link)
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: tar.archive, name: "a.tar")
    }
    #expect(message.contains(evil.message), "\(message)")
    #expect(scratch.listing() == before)
    #expect(scratch.read("bundles/desk/bundle.yaml")?.contains("version: 1.0.0") == true)
  }

  @Test func `a name that is not UTF-8 is refused`() {
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk"))
    tar.add([0x61, 0xFF, 0xFE], [1])
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: tar.archive, name: "a.tar")
    }
    #expect(message.contains("not UTF-8"), "\(message)")
  }

  @Test func `limits on entries, sizes and ratio hold at their edge`() throws {
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk"))
    for index in 0..<3 { tar.add("f\(index)", String(repeating: "x", count: 1000)) }
    var limited = installer
    limited.limits.entriesMax = 4
    limited.limits.fileBytesMax = 1000
    limited.limits.totalBytesMax = 3000 + Texts.bundle("desk").utf8.count
    _ = try limited.install(bytes: tar.archive, name: "a.tar")
    for change: (inout BundleLimits) -> Void in [
      { $0.entriesMax -= 1 }, { $0.fileBytesMax -= 1 }, { $0.totalBytesMax -= 1 },
    ] {
      var tighter = limited
      change(&tighter.limits)
      let message = refusal { () throws(BundleInstallerError) in
        _ = try tighter.install(bytes: tar.archive, name: "a.tar")
      }
      #expect(message.contains("more than"), "\(message)")
    }
  }

  @Test(arguments: [
    [UInt8]("PK\u{3}\u{4}garbage".utf8), [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3],
    [UInt8](repeating: 0x1F, count: 1) + [0x8B],
  ])
  func `a damaged archive is refused`(bytes: [UInt8]) {
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: bytes, name: "a.zip")
    }
    #expect(message.contains("archive") || message.contains("not a bundle"), "\(message)")
    #expect(scratch.listing("bundles").filter { $0 != "bundles/.lock" } == [])
  }

  /// An archive of each type with a second file, which a cut could lose.
  private static func whole(_ type: String) -> [UInt8] {
    var zip = Zip()
    var tar = Tar()
    for (name, text) in [
      ("desk/bundle.yaml", Texts.bundle("desk", version: "2.0.0")),
      // Zeros look like the end of a tar.
      ("desk/zeros", String(repeating: "\0", count: 2048)), ("desk/last.txt", "last"),
    ] {
      zip.add(name, text)
      tar.add(name, text)
    }
    switch type {
    case "zip": return zip.archive
    case "tar": return tar.archive
    default: return gzip(tar.archive)
    }
  }

  @Test(arguments: ["zip", "tar", "tar.gz"])
  func `an archive that is cut at any byte is refused, and the former version stays`(
    type: String
  ) throws {
    let whole = BundleInstallerTests.whole(type)
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    let before = scratch.listing()
    for length in 0..<whole.count {
      let name = "a.\(type)"
      #expect(
        refusal { () throws(BundleInstallerError) in
          _ = try installer.install(bytes: Array(whole.prefix(length)), name: name)
        } != "nothing", "\(length) of \(whole.count) bytes")
    }
    #expect(scratch.listing() == before)
    #expect(scratch.read("bundles/desk/bundle.yaml")?.contains("version: 1.0.0") == true)
    #expect(try installer.install(bytes: whole, name: "a.\(type)").bundle.version == "2.0.0")
    #expect(scratch.read("bundles/desk/last.txt") == "last")
  }

  @Test func `a zip with a part of its directory missing is refused`() throws {
    var zip = Zip()
    zip.add("bundle.yaml", Texts.bundle("desk"))
    zip.add("last.txt", "last")
    for cut in 1..<100 {
      let message = refusal { () throws(BundleInstallerError) in
        _ = try installer.install(bytes: zip.archive(directoryCutBy: cut), name: "a.zip")
      }
      #expect(message.contains("not complete"), "\(cut): \(message)")
    }
    #expect(try installer.list().isEmpty)
  }

  /// The field of an entry of the directory, its place there, and its length in bytes.
  @Test(
    arguments: [
      ("flags", 8, 1), ("method", 10, 2), ("CRC-32", 16, 4), ("packed size", 20, 4),
      ("size", 24, 4),
      ("length of the name", 28, 2), ("name", 46, 11),
    ] as [(String, Int, Int)])
  func `a zip whose directory says something else than its entries is refused`(
    field: String, place: Int, length: Int
  ) throws {
    var zip = Zip()
    zip.add("bundle.yaml", Texts.bundle("desk"))
    let whole = zip.archive
    let mark: [UInt8] = [0x50, 0x4B, 1, 2]
    let entry = try #require(
      whole.indices.first { whole[$0...].starts(with: mark) })
    for byte in 0..<length {
      var bytes = whole
      bytes[entry + place + byte] ^= 1
      let message = refusal { () throws(BundleInstallerError) in
        _ = try installer.install(bytes: bytes, name: "a.zip")
      }
      #expect(message.contains("damaged or not complete"), "\(field) \(byte): \(message)")
    }
    #expect(try installer.list().isEmpty)
    _ = try installer.install(bytes: whole, name: "a.zip")
  }

  @Test func `a zip with sizes behind the contents is taken, and its directory compared`() throws {
    var zip = Zip()
    zip.add("bundle.yaml", Texts.bundle("desk"), describesBehind: true)
    _ = try installer.install(bytes: zip.archive, name: "a.zip")
    var bytes = zip.archive
    let mark: [UInt8] = [0x50, 0x4B, 1, 2]
    let entry = try #require(bytes.indices.first { bytes[$0...].starts(with: mark) })
    bytes[entry + 16] ^= 1
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: bytes, name: "a.zip")
    }
    #expect(message.contains("damaged or not complete"), "\(message)")
  }

  @Test func `a gzip stream whose contents do not fit its checksum is refused`() throws {
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk"))
    tar.add("f.txt", "one")
    var bytes = gzip(tar.archive)
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: "one".utf8) })
    bytes[place] ^= 1
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: bytes, name: "a.tar.gz")
    }
    #expect(message.contains("checksum"), "\(message)")
  }

  @Test func `an archive with another digest is refused`() throws {
    let bytes = archive("desk")
    let digest = SHA256.hex(bytes)
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(
        bytes: bytes, name: "a.tar", digest: String(repeating: "0", count: 64))
    }
    #expect(message.contains(digest))
    #expect(try installer.list().isEmpty)
    #expect(
      try installer.install(bytes: bytes, name: "a.tar", digest: digest.uppercased()).digest
        == digest)
  }

  @Test func `a bundle with a mistake is not installed, and its file is named`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    var tar = Tar()
    tar.add("top/bundle.yaml", Texts.bundle("desk") + "nmae: x\n")
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: tar.archive, name: "a.tar")
    }
    #expect(message.hasPrefix("bundle.yaml: 6:1: unknown key"), "\(message)")
    #expect(try installer.list().count == 1)
    // A file has the name that the user gave.
    let other = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(
        bytes: Array((Texts.bundle("desk") + "nmae: x\n").utf8), name: "/tmp/mine.yaml")
    }
    #expect(other.hasPrefix("/tmp/mine.yaml: 6:1: unknown key"), "\(other)")
  }

  @Test(arguments: [
    (["readme.txt"], "no bundle"), (["a/x", "b/bundle.yaml"], "no bundle"),
    (["bundle.yaml", "bundle.json"], "bundle.yaml and bundle.json"),
  ])
  func `an archive without exactly one bundle is refused`(names: [String], words: String) {
    var tar = Tar()
    for name in names { tar.add(name, Texts.bundle("desk")) }
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: tar.archive, name: "a.tar")
    }
    #expect(message.contains(words), "\(message)")
    #expect(!message.contains("staging"))
  }

  @Test func `a folder with a link in it is refused`() throws {
    scratch.write("two/bundle.yaml", Texts.bundle("two"))
    symlink("/etc/passwd", "\(scratch.path)/two/secret")
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install("\(scratch.path)/two")
    }
    #expect(message.contains("link or a device"))
    #expect(try installer.list().isEmpty)
  }

  @Test(
    .enabled(if: geteuid() == 0, "only root can give files away"),
    arguments: ["secret", "bundle.yaml"])
  func `a folder with a hard link to a file of another user is refused`(name: String) throws {
    scratch.write("two/bundle.yaml", Texts.bundle("two"))
    let secret = scratch.write("secret", Texts.bundle("two"))
    try #require(chown(secret, 4_321, 4_321) == 0)
    unlink("\(scratch.path)/two/\(name)")
    try #require(link(secret, "\(scratch.path)/two/\(name)") == 0)
    if name == "bundle.yaml" {
      let message = refusal { () throws(BundleInstallerError) in
        _ = try installer.read(at: "\(scratch.path)/two")
      }
      #expect(message.contains("bundle.yaml is a hard link to a file of another user"))
    }
    #expect(
      refusal { () throws(BundleInstallerError) in
        _ = try installer.install("\(scratch.path)/two")
      }.contains("link"))
    #expect(try installer.list().isEmpty)
    // Of the same user it is a file like others.
    try #require(chown(secret, geteuid(), getegid()) == 0)
    #expect(try installer.install("\(scratch.path)/two").bundle.id == "two")
  }

  @Test(arguments: [0, 512])
  func `a gzip stream whose tar has no end is refused`(emptyBytes: Int) throws {
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk"))
    tar.add("last.txt", "last")
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(
        bytes: gzip(tar.bytes + [UInt8](repeating: 0, count: emptyBytes)), name: "a.tar.gz")
    }
    #expect(message.contains("the two empty blocks at its end are missing"), "\(message)")
    #expect(try installer.list().isEmpty)
    #expect(
      try installer.install(bytes: gzip(tar.archive), name: "a.tar.gz").bundle.id == "desk")
  }

  @Test func `a folder that is not a bundle is neither replaced nor removed`() throws {
    scratch.write("bundles/desk/precious.txt", "mine")
    let install = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    }
    #expect(install.contains("is not a bundle"))
    let remove = refusal { () throws(BundleInstallerError) in try installer.remove("desk") }
    #expect(remove.contains("is not a bundle"))
    #expect(scratch.read("bundles/desk/precious.txt") == "mine")
  }

  @Test func `a linked bundle is listed, and only its link is removed`() throws {
    scratch.write("elsewhere/bundle.yaml", Texts.bundle("desk"))
    mkdir("\(scratch.path)/bundles", 0o755)
    symlink("\(scratch.path)/elsewhere", "\(scratch.path)/bundles/desk")
    let install = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    }
    #expect(install.contains("is a link to \(scratch.path)/elsewhere"))
    #expect(try installer.list().map(\.id) == ["desk"])
    try installer.remove("desk")
    #expect(scratch.read("elsewhere/bundle.yaml") != nil)
    #expect(try installer.list().isEmpty)
  }

  @Test(arguments: ["../desk", "", ".", "..", "Desk", "a/b", "-a"])
  func `only an id can be removed`(id: String) {
    let message = refusal { () throws(BundleInstallerError) in try installer.remove(id) }
    #expect(message.contains("not a bundle's id"))
  }

  @Test func `a bundle that is not installed is not found`() {
    #expect(
      refusal { () throws(BundleInstallerError) in try installer.remove("desk") }.contains(
        "there is no bundle"))
    #expect(
      refusal { () throws(BundleInstallerError) in
        _ = try installer.install("\(scratch.path)/none.zip")
      }
      .contains("there is no"))
  }

  @Test func `a bundle that was spoilt by hand is listed with the reason, and can be replaced`()
    throws
  {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    scratch.write("bundles/desk/bundle.yaml", "bundle: desk\nfromat: 1\n")
    scratch.write("bundles/other/bundle.yaml", Texts.bundle("another"))
    let listed = try installer.list()
    #expect(listed.map(\.id) == ["desk", "other"])
    for item in listed {
      guard case .failure = item.bundle else {
        Issue.record("\(item.id) is taken for good")
        continue
      }
    }
    let outcome = try installer.install(bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    #expect(outcome.former == nil)
    #expect(outcome.wasThere)
    try installer.remove("other", force: true)
  }

  @Test func `what an installation left behind that was killed is cleared away`() throws {
    scratch.write("bundles/.staging-99999/half/file", "half")
    #expect(try installer.list().isEmpty)
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    #expect(!scratch.listing("bundles").contains { $0.contains("staging") })
  }
}
