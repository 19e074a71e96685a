import Glibc
import Testing
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

/// Removals of bundles whose folders have other names, and of folders that have other bundles.
extension BundleInstallerTests {
  /// The message and the hint of a refusal; nil if nothing is refused.
  func refusedWords(
    _ body: () throws(BundleInstallerError) -> Void
  ) -> (message: String, hint: String)? {
    do throws(BundleInstallerError) {
      try body()
      return nil
    } catch {
      guard case .refused(let message, let hint) = error else { return ("\(error)", "") }
      return (message, hint)
    }
  }

  @Test func `a removal refuses the folder of another bundle, and its next steps work`() throws {
    scratch.write("bundles/memo/bundle.yaml", Texts.bundle("desk"))
    let before = scratch.listing("bundles/memo")
    for force in [false, true] {
      let refused = refusedWords { () throws(BundleInstallerError) in
        try installer.remove("memo", force: force)
      }
      let refusal = try #require(refused)
      #expect(refusal.message == "\(installer.path)/memo holds the bundle \"desk\"")
      #expect(
        refusal.hint
          == "rename the folder to desk, or remove that bundle with `widgetctl bundle rm desk`")
    }
    #expect(scratch.listing("bundles/memo") == before)
    #expect(installer.removal(of: "memo") == nil)
    let removal = try #require(installer.removal(of: "desk"))
    #expect(removal.folder == "memo" && removal.bundle == "desk" && !removal.isByName)
    try installer.remove("desk", force: true)
    #expect(try installer.list().isEmpty)
    #expect(scratch.listing("bundles").contains("bundles/.removed-desk"))
    #expect(!scratch.listing("bundles").contains("bundles/.removed-memo"))
  }

  @Test(arguments: ["t", "desk"])
  func `a removal names the folder that has the bundle, and the other bundle in its place`(
    folder: String
  ) throws {
    scratch.write("bundles/\(folder)/bundle.yaml", Texts.bundle("todo"))
    scratch.write("bundles/todo/bundle.yaml", Texts.bundle("desk"))
    let refused = refusedWords { () throws(BundleInstallerError) in
      try installer.remove("todo", force: true)
    }
    let refusal = try #require(refused)
    #expect(
      refusal.message == "\(installer.path)/todo holds the bundle \"desk\", and "
        + "\(installer.path)/\(folder) holds the bundle \"todo\"")
    #expect(refusal.hint == "rename each folder to the id of its bundle, and try again")
    #expect(try installer.list().map(\.id) == [folder, "todo"].sorted())
    // The step of the hint works.
    let root = installer.path
    try #require(rename("\(root)/todo", "\(root)/aside") == 0)
    try #require(rename("\(root)/\(folder)", "\(root)/todo") == 0)
    try installer.remove("todo", force: true)
    #expect(try installer.list().map(\.id) == ["aside"])
  }

  @Test(arguments: [false, true])
  func `a removal refuses a broken file of another bundle, and takes one without an id`(
    hasID: Bool
  ) throws {
    let text = hasID ? "bundle: desk\nnmae: x\n" : "bundle: [\n"
    scratch.write("bundles/todo/bundle.yaml", text)
    let refusal = refusedWords { () throws(BundleInstallerError) in
      try installer.remove("todo", force: true)
    }
    #expect((refusal?.message == "\(installer.path)/todo holds the bundle \"desk\"") == hasID)
    #expect(scratch.read("bundles/todo/bundle.yaml") == (hasID ? text : nil))
    guard hasID else { return }
    #expect(refusal?.hint == "rename the folder to desk")
    // Nobody knows which bundle the file should have.
    let guessed = refusedWords { () throws(BundleInstallerError) in
      try installer.remove("desk", force: true)
    }
    #expect(
      guessed?.message
        == "\(installer.path)/todo holds the bundle \"desk\", and its file has mistakes")
    // The step of the hint works.
    try #require(rename("\(installer.path)/todo", "\(installer.path)/desk") == 0)
    #expect(installer.removal(of: "desk")?.isByName == false)
    try installer.remove("desk", force: true)
    #expect(try installer.list().isEmpty)
  }

  @Test func `a removal by the name of a folder is known as such`() {
    scratch.write("bundles/todo/bundle.yaml", "bundle: [\n")
    #expect(installer.removal(of: "todo")?.isByName == true)
    // Another folder has the bundle, so the broken one may have any.
    scratch.write("bundles/t/bundle.yaml", Texts.bundle("todo"))
    let message = refusal { () throws(BundleInstallerError) in
      try installer.remove("todo", force: true)
    }
    #expect(
      message == "\(installer.path)/t holds the bundle \"todo\", and the folder "
        + "\(installer.path)/todo has no valid bundle")
  }

  @Test func `of several folders with a bundle, the one with its id as the name is removed`()
    throws
  {
    for name in ["other", "outer", "twin"] {
      scratch.write("bundles/\(name)/bundle.yaml", Texts.bundle("other"))
    }
    let twin = refusal { () throws(BundleInstallerError) in
      try installer.remove("twin", force: true)
    }
    #expect(twin == "\(installer.path)/twin holds the bundle \"other\"")
    try installer.remove("other", force: true)
    #expect(try installer.list().map(\.id) == ["outer", "twin"])
    // The other folders still have the bundle.
    #expect(!scratch.listing("bundles").contains { $0.contains("removed") })
    let both = refusal { () throws(BundleInstallerError) in
      try installer.remove("other", force: true)
    }
    #expect(
      both == "several folders have the bundle \"other\": \(installer.path)/outer, "
        + "\(installer.path)/twin")
  }

  @Test func `a removal deletes the kept versions with the folder of another name`() throws {
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    try #require(rename("\(installer.path)/desk", "\(installer.path)/memo") == 0)
    try installer.remove("desk")
    #expect(scratch.listing("bundles") == ["bundles/.lock", "bundles/.removed-desk"])
  }

  @Test(arguments: [true, false])
  func `a removal leaves a mark only if a host needs it`(isNeeded: Bool) throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    try installer.remove("desk", leavesMark: isNeeded)
    #expect(
      scratch.listing("bundles") == ["bundles/.lock"] + (isNeeded ? ["bundles/.removed-desk"] : []))
  }

  @Test func `the marks of removals that no host needs can be deleted`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    for name in ["lamp", "memo", "No_ID"] { scratch.write("bundles/.removed-\(name)", "") }
    try #require(symlink("/nowhere", "\(installer.path)/.removed-link") == 0)
    #expect(installer.markedRemovals() == ["lamp", "memo"])
    #expect(installer.markedRemovals(before: .epoch).isEmpty)
    installer.dropMarks(of: ["memo", "../desk", "other"])
    #expect(installer.markedRemovals() == ["lamp"])
    #expect(access("\(installer.path)/desk/bundle.yaml", F_OK) == 0)
  }

  /// A removed folder that somebody has moved back by hand has a mark, too.
  @Test(arguments: ["install", "rollback", "rollback of a missing folder"])
  func `the mark of a removal goes when the bundle is there again`(change: String) throws {
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    scratch.write("bundles/.removed-desk", "")
    if change == "install" {
      let outcome = try installer.install(
        bytes: archive("desk", version: "2.0.0"), name: "a.tar")
      #expect(outcome.isUnchanged)
    } else {
      if change != "rollback" {
        try #require(rename("\(installer.path)/desk", "\(scratch.path)/gone") == 0)
      }
      #expect(try installer.rollback("desk").bundle.version == "1.0.0")
    }
    #expect(!scratch.listing("bundles").contains("bundles/.removed-desk"))
  }

  @Test func `an installation tells that the host has not carried out a removal`() throws {
    #expect(try installer.install(bytes: archive("desk"), name: "a.tar").removalWarning == nil)
    try installer.remove("desk")
    let early = try installer.install(bytes: archive("desk"), name: "a.tar")
    #expect(
      early.removalWarning?.hasPrefix(
        "widgetd-host has not carried out the earlier removal of bundle desk, so its widgets in the "
          + "daemon keep the values") == true)
    try installer.remove("desk")
    // The host deletes the mark after the removal.
    try #require(unlink("\(installer.path)/.removed-desk") == 0)
    #expect(try installer.install(bytes: archive("desk"), name: "a.tar").removalWarning == nil)
  }

  @Test func `a link to the removed folder is no other copy of the bundle`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    try #require(symlink("desk", "\(installer.path)/alias") == 0)
    // The removal of the link itself leaves the bundle.
    let link = try #require(installer.removal(of: "alias"))
    #expect(link.folder == "alias" && link.bundle == nil)
    let removal = try #require(installer.removal(of: "desk"))
    #expect(removal.folder == "desk" && removal.bundle == "desk")
    try installer.remove("desk")
    #expect(scratch.listing("bundles").contains("bundles/.removed-desk"))
  }

  @Test func `the removal of a link deletes the kept versions, and not the link's target`() throws {
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    let (link, target) = ("\(installer.path)/desk", "\(scratch.path)/source")
    try #require(rename(link, target) == 0)
    try #require(symlink(target, link) == 0)
    // A file of the user is only in the target.
    scratch.write("source/notes.txt", "mine")
    try installer.remove("desk")
    #expect(scratch.listing("bundles") == ["bundles/.lock", "bundles/.removed-desk"])
    #expect(scratch.read("source/notes.txt") == "mine")
    // The host that starts next knows the bundle by this path.
    let real = try #require(realpath(target, nil))
    defer { free(real) }
    #expect(installer.target(ofMark: "desk") == String(cString: real))
  }

  @Test func `each removal makes a mark with an id of its own`() throws {
    var ids: Set<String?> = []
    for _ in 0..<3 {
      _ = try installer.install(bytes: archive("desk"), name: "a.tar")
      try installer.remove("desk")
      let text = try #require(scratch.read("bundles/.removed-desk"))
      ids.insert(BundleRemovalMark.Record(Array(text.utf8)).id)
      #expect(installer.target(ofMark: "desk") == nil)
    }
    #expect(ids.count == 3 && !ids.contains(nil))
  }

  /// The masks of the events with a name, in order.
  private func masks(_ descriptor: CInt, of name: String) -> [UInt32] {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = Glibc.read(descriptor, &buffer, buffer.count)
    var rest = buffer.prefix(max(0, count))
    var masks: [UInt32] = []
    let headSize = MemoryLayout<inotify_event>.size
    while rest.count >= headSize {
      let (mask, length) = rest.withUnsafeBytes { raw in
        (
          raw.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
          Int(raw.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        )
      }
      let text = rest.dropFirst(headSize).prefix(length).prefix { $0 != 0 }
      if String(decoding: text, as: UTF8.self) == name { masks.append(mask) }
      rest = rest.dropFirst(headSize + length)
    }
    return masks
  }

  /// A host that looked in between saw a mark without an id.
  @Test func `a mark is complete when it gets its name, also in the place of another one`() throws {
    for _ in 0..<2 {
      _ = try installer.install(bytes: archive("desk"), name: "a.tar")
      scratch.write("bundles/.removed-desk", "")
      let descriptor = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
      defer { Glibc.close(descriptor) }
      let mask = UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_MOVED_TO)
      try #require(inotify_add_watch(descriptor, installer.path, mask) >= 0)
      try installer.remove("desk")
      #expect(masks(descriptor, of: ".removed-desk") == [UInt32(IN_MOVED_TO)])
      #expect(!scratch.listing("bundles").contains { $0.contains(".staging-") })
    }
  }

  @Test(arguments: [false, true])
  func `a link that leads to nothing is removed`(hasVersions: Bool) throws {
    try #require(mkdir(installer.path, 0o755) == 0)
    if hasVersions {
      for version in ["1.0.0", "2.0.0"] {
        _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
      }
      try #require(rename("\(installer.path)/desk", "\(scratch.path)/gone") == 0)
    }
    try #require(symlink("/nonexistent/desk", "\(installer.path)/desk") == 0)
    try installer.remove("desk")
    #expect(scratch.listing("bundles") == ["bundles/.lock", "bundles/.removed-desk"])
  }

  @Test func `settings of another bundle are neither shown nor changed`() throws {
    scratch.write("bundles/todo/bundle.yaml", Texts.bundle("desk"))
    let shown = refusal { () throws(BundleInstallerError) in _ = try installer.configured("todo") }
    let changed = refusal { () throws(BundleInstallerError) in
      try installer.changeSettings(of: "todo", to: ["n": .int(1)])
    }
    #expect(shown == "\(installer.path)/todo holds the bundle \"desk\"")
    #expect(changed == shown)
    #expect(scratch.read("bundles/todo/.settings.json") == nil)
  }
}
