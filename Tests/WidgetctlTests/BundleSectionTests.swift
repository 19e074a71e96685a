import Foundation
import Testing
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

@testable import widgetctl

/// `bundle ls` while no host runs: the folders are read on this machine.
@Suite struct BundleSectionTests {
  private func standing(_ path: String) -> BundleStanding {
    var widget = Samples.widget
    widget.isStale = true
    widget.data = [
      "id": .string(path.split(separator: "/").last.map(String.init) ?? ""),
      "version": .string("1.0.0"), "state": .string("running"), "path": .string(path),
      "widgets": .int(1), "handled": .map(["k": .list([])]),
    ]
    return BundleStanding(widget)
  }

  @Test func `the other folders of a host that does not run are read, too`() throws {
    let root = BundleHost.resolved(NSTemporaryDirectory() + "sections-\(UUID().uuidString)")
    let files = FileManager.default
    defer { try? files.removeItem(atPath: root) }
    for name in ["a", "b/moved"] {
      try files.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
    }
    let text = "{bundle: moved, format: 1, version: 1.0.0, kinds: {k: {}}, widgets: {w: {kind: k}}}"
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(root)/b/moved/bundle.yaml"))
    let standings = Dictionary(
      uniqueKeysWithValues: [standing("\(root)/b/gone"), standing("\(root)/a/moved")].map {
        ($0.path, $0)
      })
    let host = BundleHost.missing(former: ["\(root)/a", "\(root)/b", "\(root)/c"])
    #expect(!host.isRunning && BundleHost.running(folders: []).isRunning)
    let others = BundleSection.others(than: "\(root)/a", of: host, among: standings)
    #expect(others.map(\.folder) == ["\(root)/b", "\(root)/c"])
    let b = try #require(others.first)
    // The daemon knows the bundle in its former folder only.
    #expect(b.installed.map(\.id) == ["moved"] && b.isLive == false)
    #expect(b.missing.map(\.id) == ["gone"] && b.missing.map(\.state) == ["missing"])
    #expect(b.told.map(\.id) == ["gone"] && !b.isEmpty && others[1].isEmpty)
    var table = BundleTable(hasFolders: true)
    b.add(to: &table)
    let shown = table.text(Printer(format: .table, painter: Samples.plain, width: nil))
    #expect(shown.contains("moved") && shown.contains("not running"))
    #expect(shown.contains("missing: ") && !shown.contains("start it"))
    // The folder of bundles exists, and the folder of the bundle does not.
    #expect(b.missing[0].problem.hasPrefix("the folder \(root)/b/gone is missing; put the file or"))
    let first = BundleSection("\(root)/a", [], among: standings, isLive: false)
    #expect(first.missing.map(\.id) == ["moved"])
  }

  @Test func `a list without the daemon says which folders it lacks`() {
    #expect(
      BundleListCommand.onlyUsual("/usual")
        == "the daemon does not answer, so the list has only the bundles in /usual, and not those in "
        + "other folders of widgetd-host; run `widgetctl doctor`, or name a folder with --dir")
  }
}
