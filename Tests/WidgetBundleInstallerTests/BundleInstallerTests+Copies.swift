import Glibc
import Testing
import WidgetBundle
import WidgetBundleInstaller

/// Bundles that another folder or file of the folder of bundles has, too.
extension BundleInstallerTests {
  @Test func `a bundle that another folder has is not installed a second time`() throws {
    scratch.write("bundles/My_Folder/bundle.yaml", Texts.bundle("desk"))
    let listed = try installer.list().map(\.id)
    let words =
      "\(installer.path)/My_Folder has the bundle \"desk\" now, so the installation would make a "
      + "second copy"
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    }
    #expect(message == words)
    guard case .refused(words, let hint)? = installer.obstacle(to: "desk") else {
      Issue.record("`bundle diff` does not know the refusal")
      return
    }
    #expect(hint == "rename the folder My_Folder to desk, and install again")
    #expect(try installer.list().map(\.id) == listed)
    #expect(!scratch.listing("bundles").contains { $0.contains("desk") })
    #expect(scratch.read("bundles/My_Folder/bundle.yaml") == Texts.bundle("desk"))
    // The step of the hint works.
    try #require(rename("\(installer.path)/My_Folder", "\(installer.path)/desk") == 0)
    let outcome = try installer.install(
      bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    #expect(outcome.former == "1.0.0")
    #expect(try installer.list().map(\.id) == ["desk"])
    #expect(installer.obstacle(to: "desk") == nil)
  }

  @Test func `the folder of another bundle is not replaced while a second folder has the id`()
    throws
  {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("clock"))
    scratch.write("bundles/clock/bundle.yaml", Texts.bundle("desk"))
    let before = scratch.listing("bundles").filter { $0.hasSuffix(".yaml") }
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    }
    #expect(message.hasPrefix("\(installer.path)/clock has the bundle \"desk\" now"), "\(message)")
    #expect(scratch.listing("bundles").filter { $0.hasSuffix(".yaml") } == before)
  }

  @Test func `a comparison is with the folder that has the id, whatever its name is`() throws {
    scratch.write("bundles/My_Folder/bundle.yaml", Texts.bundle("desk"))
    let found = try installer.read(
      bytes: Array(Texts.bundle("desk", version: "2.0.0").utf8), name: "desk.yaml")
    let (isInstalled, differences) = try installer.differences(to: found)
    #expect(isInstalled)
    #expect(differences.map(\.description) == ["~ version: 1.0.0 → 2.0.0"])
  }

  @Test func `the file of the installed bundle is known, also through a link`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    symlink("desk", "\(installer.path)/alias")
    scratch.write("new/bundle.yaml", Texts.bundle("desk"))
    for name in ["desk", "desk/bundle.yaml", "alias"] {
      #expect(installer.isInstalled(try installer.read(at: "\(installer.path)/\(name)")))
    }
    #expect(!installer.isInstalled(try installer.read(at: "\(scratch.path)/new")))
  }

  @Test func `an installation names the other folder and the loose file with the same bundle`()
    throws
  {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    scratch.write("bundles/twin/bundle.yaml", Texts.bundle("desk"))
    scratch.write("bundles/loose.yaml", Texts.bundle("desk"))
    scratch.write("bundles/other.yaml", Texts.bundle("other"))
    scratch.write("bundles/notes.json", "{}")
    // A link to the folder is no second copy.
    symlink("desk", "\(installer.path)/alias")
    let outcome = try installer.install(
      bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    #expect(
      outcome.warnings == [
        "\(installer.path)/twin has the bundle \"desk\", too, and widgetd-host runs only one of the "
          + "two folders; remove the folder twin",
        "\(installer.path)/loose.yaml has the bundle \"desk\", too, and widgetd-host does not run "
          + "this file; remove the file",
      ])
  }

  /// Somebody has made a copy, and then a mistake in the file of the right folder.
  @Test func `a folder with a mistake in its file is replaced, although another folder is a copy`()
    throws
  {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    scratch.write("bundles/desk/.settings.json", "{}")
    scratch.write("bundles/desk-old/bundle.yaml", Texts.bundle("desk"))
    scratch.write("bundles/desk/bundle.yaml", "bundle: [")
    #expect(installer.obstacle(to: "desk") == nil)
    let outcome = try installer.install(
      bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    let words =
      "\(installer.path)/desk-old has the bundle \"desk\", too, and widgetd-host runs only one of "
      + "the two folders; remove the folder desk-old"
    #expect(outcome.warnings.contains(words), "\(outcome.warnings)")
    let fixed = Texts.bundle("desk", version: "2.0.0")
    #expect(scratch.read("bundles/desk/bundle.yaml") == fixed)
    #expect(scratch.read("bundles/desk/.settings.json") == "{}")
    #expect(scratch.read("bundles/desk-old/bundle.yaml") == Texts.bundle("desk"))
  }

  @Test(arguments: [false, true])
  func `a rollback makes no second copy of a bundle that another folder has`(
    isEmpty: Bool
  ) throws {
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    let (live, moved) = ("\(installer.path)/desk", "\(installer.path)/desk-2")
    try #require(rename(live, moved) == 0)
    if isEmpty { try #require(mkdir(live, 0o755) == 0) }
    let before = scratch.listing("bundles")
    let refused = refusedWords { () throws(BundleInstallerError) in
      _ = try installer.rollback("desk")
    }
    let (message, hint) = try #require(refused)
    #expect(
      message
        == "\(moved) has the bundle \"desk\" now, so the rollback would make a second copy")
    #expect(
      hint == (isEmpty ? "move the folder desk elsewhere, " : "")
        + "rename the folder desk-2 to desk, and roll back again")
    #expect(scratch.listing("bundles") == before)
    // The steps of the hint work.
    if isEmpty { try #require(rmdir(live) == 0) }
    try #require(rename(moved, live) == 0)
    #expect(try installer.rollback("desk").bundle.version == "1.0.0")
    #expect(try installer.list().map(\.id) == ["desk"])
  }

  @Test(arguments: [false, true])
  func `a rollback names the other folder and the loose file with the same bundle`(
    isGone: Bool
  ) throws {
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    scratch.write("bundles/loose.yaml", Texts.bundle("desk"))
    let file =
      "\(installer.path)/loose.yaml has the bundle \"desk\", too, and widgetd-host does not run "
      + "this file; remove the file"
    guard !isGone else {
      try #require(rename("\(installer.path)/desk", "\(scratch.path)/gone") == 0)
      #expect(try installer.rollback("desk").warnings == [file])
      return
    }
    scratch.write("bundles/twin/bundle.yaml", Texts.bundle("desk"))
    #expect(
      try installer.rollback("desk").warnings == [
        "\(installer.path)/twin has the bundle \"desk\", too, and widgetd-host runs only one of "
          + "the two folders; remove the folder twin", file,
      ])
  }

  @Test func `a file is as installed until somebody edits it`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    let (folder, text) = ("\(installer.path)/desk", Texts.bundle("desk"))
    #expect(BundleInstaller.isAsInstalled("\(folder)/bundle.yaml"))
    #expect(!BundleInstaller.isAsInstalled("\(folder)/bundle.json"))
    let loose = scratch.write("desk/bundle.yaml", text)
    #expect(!BundleInstaller.isAsInstalled(loose))
    scratch.write("bundles/desk/bundle.yaml", text + "# edited\n")
    #expect(!BundleInstaller.isAsInstalled("\(folder)/bundle.yaml"))
  }

  @Test func `a rollback does not replace another bundle, and its next step works`() throws {
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("lamp", version: "2.0.0"))
    let misnamed = refusal { () throws(BundleInstallerError) in _ = try installer.rollback("lamp") }
    #expect(misnamed == "\(installer.path)/desk holds the bundle \"lamp\"")
    let before = scratch.listing("bundles")
    let refused = refusedWords { () throws(BundleInstallerError) in
      _ = try installer.rollback("desk")
    }
    let (message, hint) = try #require(refused)
    #expect(
      message
        == "\(installer.path)/desk has the bundle \"lamp\" 2.0.0, so the rollback would replace "
        + "that bundle and remove its widgets: lamp")
    #expect(BundleInstaller.isAboutOccupant(message))
    #expect(
      hint == "rename the folder desk to lamp and roll back again, or remove that bundle with "
        + "`widgetctl bundle rm lamp`")
    #expect(scratch.listing("bundles") == before)
    try #require(rename("\(installer.path)/desk", "\(installer.path)/lamp") == 0)
    #expect(try installer.rollback("desk").bundle.version == "1.0.0")
    #expect(try installer.list().map(\.id) == ["desk", "lamp"])
  }

  @Test func `a rollback to a version with mistakes names the first one and the next step`()
    throws
  {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk") + "nmae: x\n")
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    let kept = "\(installer.path)/.versions/desk/1/bundle.yaml"
    let refused = refusedWords { () throws(BundleInstallerError) in
      _ = try installer.rollback("desk")
    }
    let (message, hint) = try #require(refused)
    #expect(message.hasPrefix("\(kept):6:1: "), "\(message)")
    #expect(message.hasSuffix(", so this kept version cannot run"), "\(message)")
    #expect(
      hint == "correct the file and roll back again, or install the version that you want")
    // The step of the hint works.
    scratch.write("bundles/.versions/desk/1/bundle.yaml", Texts.bundle("desk", version: "0.9.0"))
    #expect(try installer.rollback("desk").bundle.version == "0.9.0")
  }

  @Test func `a rollback without a kept version names the other bundle in the folder`() {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("lamp"))
    let message = refusal { () throws(BundleInstallerError) in _ = try installer.rollback("desk") }
    #expect(message == "\(installer.path)/desk holds the bundle \"lamp\"")
  }

  @Test(arguments: ["my_desk", "my.desk", "my desk", "my#1", "my:", "\"my\"_desk"])
  func `the beginning of a wrong id is not the id of another bundle`(written: String) throws {
    scratch.write("bundles/desk/bundle.yaml", "bundle: \(written)\nnmae: x\n")
    scratch.write("bundles/desk/notes.txt", "mine")
    #expect(installer.occupant(of: "desk")?.id == nil)
    // So an installation repairs the bundle, and the user's files stay.
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    #expect(scratch.read("bundles/desk/notes.txt") == "mine")
  }

  @Test(arguments: ["my", "\"my\"", "'my' ", "my # a comment", "my\r"])
  func `the id of another bundle is found in a file with mistakes`(written: String) {
    scratch.write("bundles/desk/bundle.yaml", "bundle: \(written)\nnmae: x\n")
    #expect(installer.occupant(of: "desk")?.id == "my")
  }

  @Test(
    arguments: [
      (#""my","#, "my"), (#""my" ,"#, "my"), (#""my_desk","#, nil),
    ] as [(String, String?)])
  func `the id of another bundle is found in a JSON file with mistakes`(
    written: String, id: String?
  ) {
    scratch.write("bundles/desk/bundle.json", #"{"bundle": \#(written) "nmae": 1}"#)
    #expect(installer.occupant(of: "desk")?.id == id)
  }

  private static let clock = """
    bundle: clock
    format: 1
    version: 0.1.0
    widgets:
      - {id: face, kind: note}
      - {id: back, kind: note}

    """

  @Test(arguments: [false, true])
  func `the folder of another bundle is replaced only with force`(isBroken: Bool) throws {
    let text = Self.clock + (isBroken ? "nmae: x\n" : "")
    scratch.write("bundles/desk/bundle.yaml", text)
    scratch.write("bundles/desk/notes.txt", "mine")
    if !isBroken { scratch.write("bundles/desk/.settings.json", #"{"n": 1}"#) }
    let before = scratch.listing("bundles/desk")
    let (place, kept) = (
      "\(installer.path)/desk",
      "\(installer.path)/.versions/desk/" + (isBroken ? "1" : "1-0.1.0")
    )
    let words =
      "\(place) has the bundle \"clock\"" + (isBroken ? "" : " 0.1.0")
      + ", so the installation would replace that bundle"
      + (isBroken ? "" : " and remove its widgets: face, back")
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    }
    #expect(message == words && BundleInstaller.isAboutOccupant(message))
    guard case .refused(words, let hint)? = installer.obstacle(to: "desk") else {
      Issue.record("`bundle diff` does not know the refusal")
      return
    }
    #expect(
      hint == "rename the folder desk to clock and install again, "
        + (isBroken ? "" : "remove that bundle with `widgetctl bundle rm clock`, ")
        + "or install with --force")
    #expect(scratch.listing("bundles/desk") == before)
    #expect(scratch.read("bundles/desk/bundle.yaml") == text)

    let outcome = try installer.install(bytes: archive("desk"), name: "a.tar", force: true)
    #expect(outcome.formerID == "clock" && outcome.former == (isBroken ? nil : "0.1.0"))
    #expect(
      outcome.warnings == [
        "the folder \(place) held the bundle \"clock\", which is now kept in \(kept); to get it "
          + "back, install \(kept)" + (isBroken ? "" : ", and set its settings again")
      ])
    // The files and settings of the other bundle stay with it.
    #expect(scratch.read("bundles/desk/notes.txt") == nil)
    #expect(scratch.read("bundles/desk/.settings.json") == nil)
    #expect(scratch.read(String(kept.dropFirst(scratch.path.count + 1)) + "/notes.txt") == "mine")
    #expect(installer.obstacle(to: "desk") == nil)
    guard !isBroken else { return }
    let back = refusal { () throws(BundleInstallerError) in _ = try installer.rollback("desk") }
    #expect(back == "\(kept) holds the bundle \"clock\"")
    // The step of the warning works.
    #expect(try installer.install(kept).bundle.id == "clock")
    #expect(try installer.list().map(\.id) == ["clock", "desk"])
  }

  @Test func `a bundle that another one has replaced stays until a removal with force`() throws {
    _ = try installer.install(bytes: archive("clock"), name: "a.tar")
    scratch.write("bundles/clock/.settings.json", "{}")
    try #require(rename("\(installer.path)/clock", "\(installer.path)/desk") == 0)
    _ = try installer.install(bytes: archive("desk"), name: "a.tar", force: true)
    let former = try installer.list().map(\.former)
    #expect(former == [nil])
    for version in ["2.0.0", "3.0.0", "4.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    let kept = "bundles/.versions/desk/1-1.0.0"
    #expect(scratch.read("\(kept)/.settings.json") == "{}")
    #expect(try installer.rollback("desk").bundle.version == "3.0.0")
    let message = refusal { () throws(BundleInstallerError) in try installer.remove("desk") }
    let words =
      "the removal would delete the bundle \"clock\", which is kept in \(scratch.path)/\(kept)"
    #expect(message == words)
    #expect(BundleInstaller.isAboutWrittenFiles(message))
    scratch.write("bundles/desk/notes.txt", "mine")
    let both = refusal { () throws(BundleInstallerError) in try installer.remove("desk") }
    #expect(
      both == words + ", and would delete files that you wrote into \(installer.path): "
        + "desk/notes.txt")
    #expect(scratch.read("\(kept)/.settings.json") == "{}")
    #expect(
      installer.othersRemoved(with: "desk") == [
        "the removal of bundle desk has also deleted the bundle \"clock\", which was kept in "
          + "\(scratch.path)/\(kept)"
      ])
    try installer.remove("desk", force: true)
    #expect(scratch.listing("bundles") == ["bundles/.lock", "bundles/.removed-desk"])
    #expect(installer.othersRemoved(with: "desk").isEmpty)
  }

  @Test func `widgets that stay are not named with the bundle that is replaced`() throws {
    scratch.write("bundles/desk/bundle.yaml", Self.clock)
    let next = Self.clock.replacing("bundle: clock", with: "bundle: desk")
      .replacing("id: back", with: "id: front")
    let bundle = try installer.read(bytes: Array(next.utf8), name: "desk.yaml").bundle
    func message() -> String {
      refusal { () throws(BundleInstallerError) in
        if let error = installer.obstacle(to: "desk", having: bundle.widgets) { throw error }
      }
    }
    #expect(message().hasSuffix("would replace that bundle and remove its widgets: back"))
    // The other copy has the widgets.
    scratch.write("bundles/clock/bundle.yaml", Self.clock)
    #expect(message().hasSuffix("would replace that bundle"))
  }
}
