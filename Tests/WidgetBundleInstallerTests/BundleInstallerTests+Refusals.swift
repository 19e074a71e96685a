import Glibc
import Testing
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

/// The archives and folders that the installer refuses.
extension BundleInstallerTests {
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
    Evil(name: "device", type: "3", link: "", message: "is a device, but a bundle has only"),
    Evil(name: "pipe", type: "6", link: "", message: "is a named pipe, but a bundle has only"),
    Evil(name: "a\\b", type: "0", link: "", message: "backslash"),
    Evil(name: "a\u{1B}b", type: "0", link: "", message: "control character"),
    Evil(name: "bundle.yaml", type: "0", link: "", message: "appears twice"),
    Evil(name: "bundle.yaml/x", type: "0", link: "", message: "cannot"),
    Evil(
      name: String(repeating: "a/", count: 40) + "x", type: "0", link: "", message: "too deep"),
  ])
  func `an archive with outside paths is refused, and the former version stays`(evil: Evil) throws {
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

  @Test func `a linked file of a bundle is read, and not installed`() throws {
    scratch.write("store/bundle.yaml", Texts.bundle("desk"))
    scratch.write("bundles/desk/notes.txt", "mine")
    let folder = "\(scratch.path)/bundles/desk"
    symlink("../../store/bundle.yaml", "\(folder)/bundle.yaml")
    #expect(try installer.read(at: folder).bundle.id == "desk")
    #expect(try installer.list().map { try $0.bundle.get().id } == ["desk"])
    let other = BundleInstaller(path: "\(scratch.path)/other")
    let message = refusal { () throws(BundleInstallerError) in _ = try other.install(folder) }
    #expect(
      message.contains("bundle.yaml is a link, but a bundle has only files and folders"),
      "\(message)")
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

  @Test func `a folder that is too large is named with the limit`() throws {
    scratch.write("many/bundle.yaml", Texts.bundle("desk"))
    for index in 0..<3 { scratch.write("many/f\(index)", "x") }
    var limited = installer
    limited.limits.entriesMax = 3
    let message = refusal { () throws(BundleInstallerError) in
      _ = try limited.install("\(scratch.path)/many")
    }
    #expect(
      message.contains(
        "more than 3 files and folders; this limit was reached in \(scratch.path)/many"),
      "\(message)")
  }

  /// The directory is looked at first: many entries take long to unpack.
  @Test func `the entries of a zip are counted before they are unpacked`() throws {
    var zip = Zip()
    zip.add("bundle.yaml", Texts.bundle("desk"))
    for index in 0..<3 { zip.add("f\(index)", "x") }
    var limited = installer
    limited.limits.entriesMax = 4
    _ = try limited.install(bytes: zip.archive, name: "a.zip")
    limited.limits.entriesMax = 3
    // The last entry of the directory is damaged, which a look at it would show.
    var archive = zip.archive
    let mark = [UInt8]("PK\u{1}\u{2}".utf8)
    let place = try #require(archive.indices.last { archive[$0...].starts(with: mark) })
    archive[place] = 0
    let message = refusal { () throws(BundleInstallerError) in
      _ = try limited.install(bytes: archive, name: "a.zip")
    }
    #expect(message.contains("more than 3 entries"), "\(message)")
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

  /// An archive of each type with a second file, which truncation could lose.
  static func whole(_ type: String) -> [UInt8] {
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
    #expect(message.hasPrefix("a.tar/top/bundle.yaml: 6:1: unknown key"), "\(message)")
    #expect(try installer.list().count == 1)
    // A folder has the path that the user gave.
    scratch.write("mine/bundle.yaml", Texts.bundle("desk") + "nmae: x\n")
    let folder = "\(scratch.path)/mine"
    let inFolder = refusal { () throws(BundleInstallerError) in
      _ = try installer.install(folder)
    }
    #expect(inFolder.hasPrefix("\(folder)/bundle.yaml: 6:1: unknown key"), "\(inFolder)")
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
    #expect(message.contains("secret is a link, but a bundle has only files and folders"))
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
    // If it belongs to the same user, it is an ordinary file.
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
    do throws(BundleInstallerError) {
      try installer.remove("desk")
      Issue.record("the folder was removed")
    } catch {
      #expect(BundleInstaller.isAboutNoFile(error))
      guard case .refused(_, let hint) = error else { throw error }
      #expect(hint.hasPrefix("if somebody has removed its bundle's file, put it back: 30 seconds"))
      #expect(hint.hasSuffix("delete it with `rm -r \(installer.path)/desk`"))
    }
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
    guard case .refused(_, let hint)? = installer.obstacle(to: "desk") else {
      Issue.record("`bundle diff` does not know the refusal")
      return
    }
    #expect(
      hint == "change the bundle there, or remove the link with `widgetctl bundle rm desk`")
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

  @Test(arguments: [true, false])
  func `a removal or a rollback of an unknown bundle names a similar one`(isRemoval: Bool) throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    do throws(BundleInstallerError) {
      if isRemoval { try installer.remove("desk2") } else { _ = try installer.rollback("desk2") }
      Issue.record("there is a bundle")
    } catch {
      #expect(BundleInstaller.isAboutNoBundle(error))
      guard case .notFound(_, let hint) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(hint == "did you mean \"desk\"? `widgetctl bundle ls` lists the bundles")
    }
  }

  @Test func `the similar bundle is named by its id, whatever its folder is called`() throws {
    scratch.write("bundles/memo/bundle.yaml", Texts.bundle("desk"))
    do throws(BundleInstallerError) {
      try installer.remove("dek")
      Issue.record("there is a bundle")
    } catch {
      guard case .notFound(_, let hint) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(hint == "did you mean \"desk\"? `widgetctl bundle ls` lists the bundles")
    }
  }

  @Test func `a bundle that was damaged by hand is listed with the reason, and can be replaced`()
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
    try installer.remove("another", force: true)
    #expect(try installer.list().map(\.id) == ["desk"])
  }

  @Test func `the files of a killed installation are removed`() throws {
    scratch.write("bundles/.staging-99999/half/file", "half")
    #expect(try installer.list().isEmpty)
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    #expect(!scratch.listing("bundles").contains { $0.contains("staging") })
  }

  @Test func `a folder with another name than its bundle is named, and can be removed`() throws {
    _ = scratch.write("bundles/My_Folder/bundle.yaml", Texts.bundle("inner"))
    _ = scratch.write("bundles/outer/bundle.yaml", Texts.bundle("other"))
    _ = scratch.write("bundles/twin/bundle.yaml", Texts.bundle("other"))
    #expect(try installer.list().map(\.id) == ["My_Folder", "outer", "twin"])
    for id in ["inner", "My_Folder"] {
      let refusal = refusal { () throws(BundleInstallerError) in
        _ = try installer.configured(id)
      }
      #expect(refusal.hasSuffix("My_Folder holds the bundle \"inner\""), "\(refusal)")
    }
    let unknown = refusal { () throws(BundleInstallerError) in
      _ = try installer.rollback("inner")
    }
    #expect(unknown.hasSuffix("holds the bundle \"inner\""), "\(unknown)")
    try installer.remove("My_Folder", force: true)
    #expect(try installer.list().map(\.id) == ["outer", "twin"])
    // The host knows the bundles by their ids.
    let marks = scratch.listing("bundles").filter { $0.contains("removed") }
    #expect(marks == ["bundles/.removed-inner"])
    let outside = refusal { () throws(BundleInstallerError) in
      try installer.remove("../bundles", force: true)
    }
    #expect(outside == "\"../bundles\" is not a bundle's id")
  }
}
