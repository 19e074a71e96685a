import Glibc
import Testing
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

@Suite struct BundleInstallerTests {
  let scratch = Scratch()
  let installer: BundleInstaller

  init() {
    installer = BundleInstaller(path: "\(scratch.path)/bundles")
  }

  func archive(_ id: String, version: String = "1.0.0", top: String = "") -> [UInt8] {
    var tar = Tar()
    if !top.isEmpty { tar.add(top, type: "5") }
    tar.add("\(top)bundle.yaml", Texts.bundle(id, version: version))
    tar.add("\(top)data/items.json", "[1]")
    return tar.archive
  }

  /// The message of a refusal.
  func refusal(_ body: () throws(BundleInstallerError) -> Void) -> String {
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

  // MARK: - Valid bundles

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

  @Test func `a mistake in an archive is reported with its place in the archive`() {
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

  @Test func `a removal keeps files that somebody wrote, unless it is forced`() throws {
    scratch.write("bundles/mine/bundle.yaml", Texts.bundle("mine"))
    for name in ["a", "b", "c", "d"] { scratch.write("bundles/mine/\(name).txt", "x") }
    let before = scratch.listing("bundles/mine")
    let message = refusal { () throws(BundleInstallerError) in try installer.remove("mine") }
    #expect(
      message
        == "the removal would delete files that you wrote into \(installer.path): mine/a.txt, "
        + "mine/b.txt, mine/bundle.yaml and 2 more")
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
    let next = archive("2.0.0", "{pause: 5}")
    let dropped = [
      "bundle desk 2.0.0: your value 90s of the setting pause has no effect, because the setting takes "
        + "a value of type int, not string; the default holds, and the value stays in .settings.json "
        + "for a later version",
      "bundle desk 2.0.0: this version has no setting unit, so your value F has no effect; the value "
        + "stays in .settings.json for a later version",
    ]
    let read = try installer.read(bytes: next, name: "a.tar").bundle
    #expect(installer.droppedSettings(by: read) == dropped)
    func told(_ outcome: BundleInstaller.Outcome) -> [String] {
      outcome.warnings.filter { $0.contains("has no effect") }
    }
    #expect(try told(installer.install(bytes: next, name: "a.tar")) == dropped)
    let second = try installer.configured("desk").defaults
    #expect(second.values == ["pause": .int(5)])
    #expect(second.passedOver == ["unit": .string("F"), "pause": .string("90s")])
    #expect(
      installer.chosenSettings(of: "desk") == ["unit": .string("F"), "pause": .string("90s")])
    #expect(second.problems.count == 2)
    #expect(second.problems.map { "bundle desk 2.0.0: \($0)" } == dropped)
    #expect(try told(installer.rollback("desk")).isEmpty)
    #expect(try installer.configured("desk").defaults.values["unit"] == .string("F"))
    try set(nil)
    #expect(scratch.read("bundles/desk/.settings.json") == nil)
    _ = scratch.write("bundles/desk/.settings.json", "[1")
    #expect(
      try installer.configured("desk").defaults.problems.first?.contains(".settings.json:1:")
        == true)
    #expect(installer.chosenSettings(of: "desk") == [:])
    // A file that cannot be read is not overwritten.
    #expect(
      refusal { () throws(BundleInstallerError) in try set("{}") }.contains(".settings.json:1:"))
    #expect(scratch.read("bundles/desk/.settings.json") == "[1")
    // So is a folder in place of the file.
    let place = scratch.path + "/bundles/desk/.settings.json"
    #expect(unlink(place) == 0 && mkdir(place, 0o700) == 0)
    #expect(
      refusal { () throws(BundleInstallerError) in try set("{}") }
        .contains(".settings.json is not a file"))
    #expect(rmdir(place) == 0)
    try installer.remove("desk")
    #expect(
      refusal { () throws(BundleInstallerError) in try set("{}") }.contains("there is no bundle"))
  }

  @Test func `the error for a misspelt setting suggests a similar one`() throws {
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

  @Test func `a rollback names the widgets that get another kind`() throws {
    for (version, kind) in [("1.0.0", "a"), ("2.0.0", "b")] {
      let text = Texts.bundle("desk", version: version, kind: kind)
        .replacing("id: \(kind)", with: "id: w")
      _ = try installer.install(bytes: Array(text.utf8), name: "desk.yaml")
    }
    let warnings = try installer.rollback("desk").warnings
    #expect(
      warnings == [
        "widget \"w\" changes its kind from \"b\" to \"a\": a new widget replaces it"
      ])
    #expect(warnings.allSatisfy { BundleInstaller.isKindChange($0, of: "w") })
    #expect(!warnings.contains { BundleInstaller.isKindChange($0, of: "v") })
  }

  @Test(
    arguments: [(Texts.bundle("desk", version: "2.1.0"), "desk"), ("bundle: [", nil)]
      as [(String, String?)])
  func `a rollback tells the id in the file that it replaces`(text: String, id: String?) throws {
    for version in ["1.0.0", "2.0.0"] {
      let text = Texts.bundle("desk", version: version)
      _ = try installer.install(bytes: Array(text.utf8), name: "desk.yaml")
    }
    scratch.write("bundles/desk/bundle.yaml", text)
    #expect(try installer.rollback("desk").formerID == id)
  }

  @Test func `only the previous one of the installed versions is kept`() throws {
    for version in ["1.0.0", "1.1.0", "1.2.0", "1.3.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    #expect(
      scratch.listing("bundles/.versions/desk").filter { $0.hasSuffix("/bundle.yaml") }
        == ["bundles/.versions/desk/3-1.2.0/bundle.yaml"])
    try installer.remove("desk")
    #expect(scratch.listing("bundles") == ["bundles/.lock", "bundles/.removed-desk"])
  }

  @Test func `a bundle without a version before cannot be rolled back`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    #expect(
      refusal { () throws(BundleInstallerError) in _ = try installer.rollback("desk") }
        == "bundle \"desk\" has no previous version")
    #expect(
      refusal { () throws(BundleInstallerError) in _ = try installer.rollback("dsk") }
        == "there is no bundle \"dsk\"")
  }

  @Test func `files that the installer did not write survive installations`() throws {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk", version: "0.1.0"))
    scratch.write("bundles/desk/notes.txt", "mine")
    scratch.write("bundles/desk/data/own.json", "[2]")
    let outcome = try installer.install(bytes: archive("desk"), name: "a.tar")
    #expect(
      outcome.warnings.contains { $0.contains("was not installed by widgetctl, so it is kept as") })
    #expect(scratch.read("bundles/desk/notes.txt") == "mine")
    #expect(scratch.read("bundles/desk/data/own.json") == "[2]")
    #expect(scratch.read("bundles/desk/data/items.json") == "[1]")
    _ = try installer.install(bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    _ = try installer.install(bytes: archive("desk", version: "3.0.0"), name: "a.tar")
    #expect(scratch.read("bundles/desk/notes.txt") == "mine")
    // The hand-made version is kept, however many versions come after it.
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
    #expect(scratch.listing("bundles") == ["bundles/.lock", "bundles/.removed-desk"])
  }

  @Test func `a removal leaves a mark for the host, until the next installation`() throws {
    for _ in 0..<2 {
      _ = try installer.install(bytes: archive("desk"), name: "a.tar")
      #expect(!scratch.listing("bundles").contains("bundles/.removed-desk"))
      try installer.remove("desk")
      #expect(scratch.listing("bundles") == ["bundles/.lock", "bundles/.removed-desk"])
    }
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
    let again = try installer.install(bytes: repacked, name: "b.tar")
    #expect(again.former == "2.0.0" && again.isUnchanged)
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
    #expect(scratch.listing("bundles") == ["bundles/.lock", "bundles/.removed-desk"])
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
    // A pipe and the files of version control stay with the hand-made version.
    #expect(
      !scratch.listing("bundles/desk").contains { $0.contains(".git") || $0.contains("pipe") })
    #expect(
      outcome.warnings.contains {
        $0.hasPrefix(
          "files that were not copied to the new version are kept in "
            + "\(scratch.path)/bundles/.versions/desk/1-0.1.0: ")
          && $0.hasSuffix(".git/HEAD, pipe")
      }, "\(outcome.warnings)")
    #expect(try installer.rollback("desk").warnings == [])
    #expect(scratch.listing("bundles/desk").contains("bundles/desk/.git/HEAD"))
  }

  @Test(arguments: [Texts.bundle("desk", version: "0.1.0"), "wrong", nil])
  func `a rollback is named only if it brings the hand-made bundle back`(text: String?) throws {
    let file = "bundles/desk/bundle.yaml"
    scratch.write(file, text ?? "")
    if text == nil {
      #expect(unlink("\(scratch.path)/\(file)") == 0)
      #expect(mkfifo("\(scratch.path)/\(file)", 0o600) == 0)
    }
    let outcome = try installer.install(bytes: archive("desk"), name: "a.tar")
    let warning = try #require(
      outcome.warnings.first { $0.contains("was not installed by widgetctl") })
    #expect(warning.contains("it is kept as \(scratch.path)/bundles/.versions/desk/1"))
    let isBack = (try? installer.rollback("desk")) != nil
    #expect(warning.hasSuffix("brings it back") == isBack, "\(warning)")
    #expect(isBack == (text == Texts.bundle("desk", version: "0.1.0")))
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
    let words = "files that were changed after the installation are kept in "
    #expect(outcome.warnings.contains { $0.hasPrefix(words) })
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

  @Test func `names that another bundle has are reported`() throws {
    let first = scratch.write("a.yaml", Texts.bundle("one", kind: "clock"))
    let second = scratch.write("b.yaml", Texts.bundle("two", kind: "clock"))
    #expect(try installer.install(first).warnings.isEmpty)
    #expect(
      try installer.install(second).warnings == [
        "bundle \"one\" has a kind \"clock\", too, so the daemon refuses one of the two bundles; "
          + "rename the kind in one of them",
        "bundle \"one\" has a widget \"clock\", too, so the daemon refuses one of the two bundles; "
          + "give this bundle's widget another id, or delete the widget from the file of that bundle. "
          + "This bundle then takes the widget over, with the values of users",
      ])
  }

  @Test func `a possible mistake is reported with its file and line`() throws {
    let text = Texts.bundle("desk").replacing("{n: 0}", with: "{n: int}")
    let warnings = try installer.install(scratch.write("a.yaml", text)).warnings
    #expect(warnings.count == 1)
    #expect(
      warnings.first?.hasPrefix("\(scratch.path)/bundles/desk/bundle.yaml:4:") == true,
      "\(warnings)")
  }

  @Test func `executable files of an archive stay executable`() throws {
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk"))
    tar.add(Array("run".utf8), Array("#!/bin/sh\n".utf8), mode: 0o4755)
    _ = try installer.install(bytes: tar.archive, name: "a.tar")
    #expect(access("\(scratch.path)/bundles/desk/run", X_OK) == 0)
    #expect(access("\(scratch.path)/bundles/desk/bundle.yaml", R_OK) == 0)
    #expect(access("\(scratch.path)/bundles/desk/bundle.yaml", X_OK) != 0)
  }
}
