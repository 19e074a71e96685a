import Glibc
import Testing
import WidgetBundle
import WidgetBundleInstaller

/// Named pipes, sockets and folders in the place of a bundle's files.
extension BundleInstallerTests {
  /// An entry by the type that mknod(2) makes without rights.
  struct Special: Sendable, CustomTestStringConvertible {
    let mode: mode_t
    let words: String
    var testDescription: String { words }

    static let all = [
      Special(mode: S_IFIFO, words: "a named pipe"), Special(mode: S_IFSOCK, words: "a socket"),
    ]

    func make(at path: String) throws { try #require(mknod(path, mode | 0o600, 0) == 0) }
  }

  /// The message and the hint of a refusal, as a person reads them.
  private func told(_ body: () throws(BundleInstallerError) -> Void) -> String {
    refusedWords(body).map { BundleInstallerError.text($0.message, hint: $0.hint) } ?? "nothing"
  }

  @Test(arguments: Special.all)
  func `an entry that is no file is refused as a bundle, and not waited for`(special: Special)
    throws
  {
    let path = "\(scratch.path)/q.yaml"
    try special.make(at: path)
    let words = "\(path) is \(special.words), not a bundle; name a bundle's file, folder or archive"
    #expect(told { () throws(BundleInstallerError) in _ = try installer.install(path) } == words)
    #expect(told { () throws(BundleInstallerError) in _ = try installer.read(at: path) } == words)
  }

  @Test(arguments: Special.all)
  func `a bundle's file that is no file is refused once, without a position`(special: Special)
    throws
  {
    let file = scratch.write("two/bundle.json", "")
    #expect(unlink(file) == 0)
    try special.make(at: file)
    let folder = "\(scratch.path)/two"
    let advice = "replace it with a file, or remove it"
    #expect(
      told { () throws(BundleInstallerError) in _ = try installer.read(at: folder) }
        == "\(file) is \(special.words), not a file; \(advice)")
    #expect(
      told { () throws(BundleInstallerError) in _ = try installer.install(folder) }
        == "\(file) is \(special.words), but a bundle has only files and folders; \(advice)")
  }

  @Test(arguments: Special.all)
  func `another entry of a bundle that is no file is refused`(special: Special) throws {
    scratch.write("two/bundle.yaml", Texts.bundle("two"))
    try special.make(at: "\(scratch.path)/two/queue")
    #expect(
      told { () throws(BundleInstallerError) in _ = try installer.install("\(scratch.path)/two") }
        == "\(scratch.path)/two/queue is \(special.words), but a bundle has only files and folders;"
        + " replace it with a file, or remove it")
    #expect(try installer.list().isEmpty)
  }

  @Test(arguments: Special.all)
  func `an entry that an installation refuses is named before`(special: Special) throws {
    scratch.write("two/bundle.yaml", Texts.bundle("two"))
    scratch.write("two/icons/a.svg", "")
    let folder = "\(scratch.path)/two"
    try #require(symlink("bundle.yaml", "\(folder)/copy.yaml") == 0)
    #expect(installer.misfits(at: folder).isEmpty)
    try special.make(at: "\(folder)/icons/queue")
    try special.make(at: "\(folder)/.hidden")
    #expect(
      installer.misfits(at: folder).map(\.message) == [
        "\(folder)/icons/queue is \(special.words), but a bundle has only files and folders, so "
          + "`bundle install` refuses the folder"
      ])
    #expect(installer.misfits(at: folder).map(\.hint) == ["replace it with a file, or remove it"])
    #expect(installer.misfits(at: "\(folder)/bundle.yaml").isEmpty)
  }

  @Test func `a folder in the place of a bundle's file is refused with its own name`() throws {
    scratch.write("two/bundle.yaml/x", "")
    #expect(
      told { () throws(BundleInstallerError) in _ = try installer.install("\(scratch.path)/two") }
        == "\(scratch.path)/two/bundle.yaml is a folder, not a file; replace it with a file, or remove it"
    )
  }

  @Test(arguments: Special.all)
  func `a comparison with an installed bundle that has no file names that bundle`(
    special: Special
  ) throws {
    let file = scratch.write("bundles/desk/bundle.yaml", "")
    #expect(unlink(file) == 0)
    try special.make(at: file)
    let found = try installer.read(bytes: Array(Texts.bundle("desk").utf8), name: "desk.yaml")
    #expect(
      told { () throws(BundleInstallerError) in _ = try installer.differences(to: found) }
        == "the installed bundle desk cannot be compared: \(file) is \(special.words), not a file;"
        + " replace it with a file, or remove it")
  }

  @Test func `a comparison with an installed bundle that has a mistake shows the mistake`() throws {
    scratch.write("bundles/desk/bundle.yaml", Texts.bundle("desk") + "nmae: x\n")
    let found = try installer.read(bytes: Array(Texts.bundle("desk").utf8), name: "desk.yaml")
    let message = refusal { () throws(BundleInstallerError) in
      _ = try installer.differences(to: found)
    }
    #expect(
      message.hasPrefix("\(scratch.path)/bundles/desk/bundle.yaml: 6:1: unknown key"), "\(message)")
  }

  @Test func `a folder of bundles that is no folder is refused`() throws {
    let path = "\(scratch.path)/pipe"
    try #require(mkfifo(path, 0o600) == 0)
    #expect(
      told { () throws(BundleInstallerError) in _ = try BundleInstaller(path: path).list() }
        == "\(path) is a named pipe, not a folder; name a folder")
  }

  @Test(arguments: Special.all)
  func `an entry in the place of a bundle's folder is an obstacle to its installation`(
    special: Special
  ) throws {
    scratch.write("bundles/there/bundle.yaml", Texts.bundle("there"))
    let place = "\(scratch.path)/bundles/desk"
    #expect(installer.obstacle(to: "desk") == nil && installer.obstacle(to: "there") == nil)
    try special.make(at: place)
    let words = "\(place) already exists, and is not a bundle; move it elsewhere, and install again"
    let bytes = archive("desk")
    #expect(
      told { () throws(BundleInstallerError) in
        _ = try installer.install(bytes: bytes, name: "a.tar")
      } == words)
    #expect(
      told { () throws(BundleInstallerError) in
        if let error = installer.obstacle(to: "desk") { throw error }
      } == words)
    let removal = told { () throws(BundleInstallerError) in try installer.remove("desk") }
    #expect(removal.hasSuffix("If nobody needs the file, delete it with `rm \(place)`"))
  }

  @Test(arguments: Special.all)
  func `a kept version whose file is no file cannot be restored`(special: Special) throws {
    let file = scratch.write("bundles/desk/bundle.yaml", "")
    #expect(unlink(file) == 0)
    try special.make(at: file)
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    #expect(
      told { () throws(BundleInstallerError) in _ = try installer.rollback("desk") }
        == "the kept version \(scratch.path)/bundles/.versions/desk/1 cannot run, because its "
        + "bundle.yaml is \(special.words); install the version that you want")
  }

  @Test func `a rollback without a live version replaces nothing`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    let next = try installer.install(bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    #expect(next.wasThere && next.former == "1.0.0")
    let (live, aside) = ("\(scratch.path)/bundles/desk", "\(scratch.path)/aside")
    try #require(rename(live, aside) == 0)
    let back = try installer.rollback("desk")
    #expect(!back.wasThere && back.former == nil)
    #expect(back.bundle.version == "1.0.0")
  }
}
