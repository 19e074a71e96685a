import Foundation
import Testing

@testable import widgetctl

/// Bundles whose folders somebody has moved.
struct MissingFolderTests {
  private let missing = MissingFolder(bundle: "b", path: "/all/b", problem: "")

  @Test func `a command about a moved bundle names its folder, and no other bundle`() {
    #expect(
      missing.failure
        == "the folder /all/b of bundle b is missing. Put it back to keep the widgets of the bundle "
        + "with their data")
    let told = MissingFolder(bundle: "b", path: "/all/b", problem: "put it back by noon\nmore")
    #expect(
      told.failure
        == "the folder /all/b of bundle b is missing. widgetd-host: put it back by noon "
        + "(and 1 more)")
  }

  @Test func `an installation in the place of a moved folder says where the settings are`() {
    #expect(missing.warning(installing: []) == nil)
    #expect(
      missing.warning(installing: ["unit"])
        == "the folder /all/b was missing, so the values of `widgetctl bundle set` are not in the new "
        + "folder; if you moved the old folder, copy its .settings.json to /all/b/.settings.json")
  }

  @Test func `a folder that bundle rm has removed is not missing`() throws {
    let folder = NSTemporaryDirectory() + "bundles-\(UUID().uuidString)"
    let files = FileManager.default
    try files.createDirectory(atPath: "\(folder)/here", withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: folder) }
    #expect(MissingFolder.path(of: "b", in: folder)?.hasSuffix("/b") == true)
    #expect(MissingFolder.path(of: "here", in: folder) == nil)
    try Data().write(to: URL(fileURLWithPath: "\(folder)/.removed-b"))
    #expect(MissingFolder.path(of: "b", in: folder) == nil)
  }
}
