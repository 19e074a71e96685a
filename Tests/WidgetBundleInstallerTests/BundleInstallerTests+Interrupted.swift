import Glibc
import Testing
import WidgetBundle
import WidgetBundleInstaller

// What a process that was killed leaves behind.
extension BundleInstallerTests {
  /// Two versions, and what is left of a third one whose deletion was interrupted.
  private func interrupted() throws {
    for version in ["0.3.0", "0.4.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    for name in ["f1", "data/items.json"] {
      scratch.write("bundles/.versions/desk/2-0.2.0/\(name)", "x")
    }
    scratch.write("bundles/.staging-1/f1", "x")
  }

  private var halves: [String] {
    scratch.listing("bundles").filter { $0.contains("0.2.0") || $0.contains("staging") }
  }

  @Test func `an installation removes what is left of an interrupted deletion`() throws {
    try interrupted()
    #expect(try installer.list().first?.former == "0.3.0")
    _ = try installer.install(bytes: archive("desk", version: "0.5.0"), name: "a.tar")
    #expect(halves == [])
    #expect(try installer.rollback("desk").bundle.version == "0.4.0")
  }

  @Test func `a removal takes what is left of an interrupted deletion along`() throws {
    try interrupted()
    try installer.remove("desk")
    #expect(scratch.listing("bundles") == ["bundles/.lock", "bundles/.removed-desk"])
  }

  @Test func `a rollback passes over what is left of an interrupted deletion`() throws {
    try interrupted()
    #expect(
      refusal { () throws(BundleInstallerError) in
        _ = try installer.rollback("desk", to: "0.2.0")
      } == "bundle \"desk\" has no kept version 0.2.0")
    #expect(halves == [])
    #expect(try installer.rollback("desk").bundle.version == "0.3.0")
  }

  @Test func `a deletion first renames, so that no version is there by halves`() throws {
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    let kept = "\(scratch.path)/bundles/.versions/desk"
    let pruned = Events(at: ["\(kept)/1-1.0.0"])
    _ = try installer.install(bytes: archive("desk", version: "3.0.0"), name: "a.tar")
    #expect(pruned.first == UInt32(IN_MOVE_SELF))
    // The events of the bundle's files would come first, if they were deleted in their place.
    let removed = Events(at: [kept, "\(kept)/2-2.0.0", "\(kept)/2-2.0.0/data"])
    try installer.remove("desk")
    #expect(removed.first == UInt32(IN_MOVE_SELF))
  }

  @Test func `a removal deletes the rest of an interrupted change of settings`() throws {
    _ = try installer.install(bytes: archive("desk"), name: "a.tar")
    scratch.write("bundles/desk/.settings.json.new", "")
    _ = try installer.install(bytes: archive("desk", version: "2.0.0"), name: "a.tar")
    scratch.write("bundles/desk/.settings.json.new", "")
    try installer.remove("desk")
    #expect(scratch.listing("bundles") == ["bundles/.lock", "bundles/.removed-desk"])
  }

  /// Lets all users write into these folders of the scratch folder, except those below.
  private func unlock(_ names: [String], closing closed: [String]) {
    for path in [scratch.path] + (names + ["bundles/.lock"]).map({ "\(scratch.path)/\($0)" }) {
      chmod(path, 0o777)
    }
    for name in closed { chmod("\(scratch.path)/\(name)", 0o555) }
  }

  @Test func `a bundle whose files cannot be deleted stays as it is`() throws {
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    unlock(["bundles", "bundles/desk"], closing: ["bundles/desk/data"])
    defer { chmod("\(scratch.path)/bundles/desk/data", 0o755) }
    let before = scratch.listing("bundles")
    let words = try asNobody {
      refusal { () throws(BundleInstallerError) in try installer.remove("desk") }
    }
    #expect(
      words == "\(installer.path)/desk stays, because this user may not delete all of it; delete it"
        + " as its owner or as root: cannot remove \(installer.path)/desk/data/items.json:"
        + " \(EACCES)"
    )
    #expect(scratch.listing("bundles") == before)
  }

  @Test func `so does one whose former version cannot be deleted`() throws {
    for version in ["1.0.0", "2.0.0"] {
      _ = try installer.install(bytes: archive("desk", version: version), name: "a.tar")
    }
    let former = "bundles/.versions/desk/1-1.0.0"
    unlock(["bundles", "bundles/desk", "bundles/desk/data"], closing: [former])
    defer { chmod("\(scratch.path)/\(former)", 0o755) }
    let before = scratch.listing("bundles")
    let words = try asNobody {
      refusal { () throws(BundleInstallerError) in try installer.remove("desk") }
    }
    #expect(words.hasPrefix("\(installer.path)/.versions/desk stays"))
    #expect(scratch.listing("bundles") == before)
  }

  @Test func `remains that cannot be deleted do not prevent installations`() throws {
    let remains = ".staging-\(getpid())"
    scratch.write("bundles/\(remains)/bundle.yaml", "x")
    scratch.write("bundles/.staging-1/f1", "x")
    unlock(["bundles"], closing: ["bundles/\(remains)", "bundles/.staging-1"])
    defer { for name in [remains, ".staging-1"] { chmod("\(installer.path)/\(name)", 0o755) } }
    let listed = try asNobody { () -> [String] in
      _ = try installer.install(bytes: archive("side"), name: "a.tar")
      try installer.remove("side")
      _ = try installer.install(bytes: archive("desk"), name: "a.tar")
      return try installer.list().map(\.id)
    }
    #expect(listed == ["desk"])
    #expect(scratch.listing("bundles").contains("bundles/\(remains)/bundle.yaml"))
  }

  /// Moves and deletions of folders, in their order.
  private final class Events {
    private let descriptor = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))

    init(at folders: [String]) {
      for folder in folders {
        #expect(
          inotify_add_watch(descriptor, folder, UInt32(IN_MOVE_SELF) | UInt32(IN_DELETE)) >= 0)
      }
    }

    deinit { close(descriptor) }

    /// The mask of the first event.
    var first: UInt32? {
      var buffer = [UInt8](repeating: 0, count: 4096)
      guard read(descriptor, &buffer, buffer.count) >= MemoryLayout<inotify_event>.size else {
        return nil
      }
      return buffer.withUnsafeBytes {
        $0.loadUnaligned(
          fromByteOffset: MemoryLayout<inotify_event>.offset(of: \.mask) ?? 4, as: UInt32.self)
      } & (UInt32(IN_MOVE_SELF) | UInt32(IN_DELETE))
    }
  }
}
