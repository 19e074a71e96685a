import Foundation
import Testing

@testable import widgetctl

struct BundleCommandTests {
  @Test func `the folders that are live are those of the user, or of the system`() {
    let home = ["HOME": "/home/ada", "XDG_CONFIG_HOME": "/etc/ada", "XDG_DATA_HOME": "relative"]
    #expect(
      BundleFolderOptions.live(isRoot: false) { home[$0] }
        == ["/home/ada/.local/share/widgetd/bundles", "/etc/ada/widgetd/bundles"])
    #expect(BundleFolderOptions.live(isRoot: false) { _ in nil }.isEmpty)
    #expect(
      BundleFolderOptions.live(isRoot: true) { home[$0] }
        == ["/var/lib/widgetd-host/bundles", "/etc/widgetd/bundles"])
  }

  @Test func `a folder is live by whatever name`() throws {
    let folder = NSTemporaryDirectory() + "live-\(UUID().uuidString)"
    let files = FileManager.default
    try files.createDirectory(atPath: "\(folder)/bundles", withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: folder) }
    try files.createSymbolicLink(
      atPath: "\(folder)/link", withDestinationPath: "\(folder)/bundles")
    let live = ["/nonexistent", "\(folder)/bundles"]
    #expect(BundleNewCommand.isLive("\(folder)/link/../link", among: live))
    #expect(BundleNewCommand.isLive("\(folder)/bundles/", among: live))
    #expect(!BundleNewCommand.isLive(folder, among: live))
    #expect(!BundleNewCommand.isLive("/nonexistent", among: live))
  }
}
