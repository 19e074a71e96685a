import Foundation
import Testing
import WidgetBundle
import WidgetModel

@testable import widgetctl

/// The owners of kinds and widgets while no host runs.
@Suite struct BundleAbsentTests {
  private let root = BundleHost.resolved(NSTemporaryDirectory() + "absent-\(UUID().uuidString)")

  private func put(_ id: String, in folder: String, _ parts: String = "") throws {
    let path = "\(root)/\(folder)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data("{bundle: \(id), format: 1, version: 1.0.0\(parts)}".utf8)
      .write(to: URL(fileURLWithPath: "\(path)/bundle.yaml"))
  }

  private func shown(_ id: String, in folder: String) -> Widget {
    Widget(
      id: Samples.id("bundle/\(id)"), kind: Samples.kind("bundle"),
      data: [
        "id": .string(id), "path": .string("\(root)/\(folder)"), "state": .string("stopped"),
      ],
      applySet: BundleHost.widget)
  }

  private var host: BundleHost { .missing(former: [root]) }

  @Test func `a new bundle can replace a bundle that the next host misses`() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    try put("new", in: "new")
    let old = shown("old", in: "old")
    let found = ["bundle/old": "\(root)/old"]
    #expect(BundleOutlook.absent(besides: "new", [old], host) == found)
    // A running host decides by itself. Another host has never run the folder.
    let others: [BundleHost?] = [.running(folders: [root]), .missing(former: ["/elsewhere"]), nil]
    for other in others {
      #expect(BundleOutlook.absent(besides: "new", [old], other).isEmpty)
    }
    // The last host ran the new bundle, too.
    #expect(BundleOutlook.absent(besides: "new", [old, shown("new", in: "new")], host).isEmpty)
    // Somebody has renamed the folder, and not the bundle.
    try put("old", in: "renamed")
    #expect(BundleOutlook.absent(besides: "new", [old], host).isEmpty)
    try FileManager.default.removeItem(atPath: "\(root)/renamed")
    #expect(BundleOutlook.absent(besides: "new", [old], host) == found)
    // `bundle rm` has removed it.
    try Data().write(to: URL(fileURLWithPath: "\(root)/.removed-old"))
    #expect(BundleOutlook.absent(besides: "new", [old], host).isEmpty)
    // The next host waits for a missing folder of bundles.
    try FileManager.default.removeItem(atPath: root)
    #expect(BundleOutlook.absent(besides: "new", [old], host).isEmpty)
  }

  @Test func `only a bundle with common kinds or widgets is replaced`() throws {
    let absent = ["bundle/a": "/b/a", "bundle/b": "/b/b", "bundle/c": "/b/c"]
    let bundle = try BundleReader.read(
      "{bundle: new, format: 1, version: 1.0.0, kinds: {gauge: {}}, widgets: {w: {kind: gauge}}}")
    let kinds = [("gauge", "bundle/a"), ("meter", "bundle/c")].map {
      RegisteredKind(kind: Kind(name: Samples.kind($0.0)), provider: $0.1)
    }
    let widget = Widget(id: Samples.id("w"), kind: Samples.kind("other"), applySet: "bundle/b")
    #expect(
      BundleOutlook.clashing(absent, with: bundle, kinds, [widget])
        == ["bundle/a": "/b/a", "bundle/b": "/b/b"])
  }

  @Test func `the words about a missing bundle say who replaces it`() throws {
    let bundle = try BundleReader.read(
      "{bundle: new, format: 1, version: 1.0.0, kinds: {gauge: {}}}")
    let kinds = ["gauge", "meter"].map {
      RegisteredKind(kind: Kind(name: Samples.kind($0)), provider: "bundle/old")
    }
    let remark = BundleOutlook.succession(
      of: ["bundle/old"], after: [], ["bundle/old": "/b/old"], by: bundle, kinds, [])
    #expect(
      remark?.text
        == "no host is running, and /b/old is missing, where the last host had bundle old. When "
        + "widgetd-host starts with this file, bundle old ends, and this bundle replaces it; this "
        + "bundle takes over the kind gauge; widgetd-host removes the kind meter")
    #expect(remark?.isRefusal == false)
  }

  @Test func `without a host, only a file that has the part is a reason for a refusal`() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    let refusal = BundleOutlook.claimed(Samples.kind("gauge"), by: "bundle/old")
    let old = shown("old", in: "old")
    func doubt(_ host: BundleHost?, _ shown: [Widget]) -> BundleOutlook.Remark? {
      BundleOutlook.doubt(about: refusal, shown, host) { file in
        file.kinds.contains { $0.kind.name.rawValue == "gauge" }
      }
    }
    func message(_ reason: String) -> String {
      "the last host had kind \"gauge\" in bundle old, and \(reason). No host is running, so nobody "
        + "knows whether the daemon will refuse this bundle"
    }
    try put("new", in: "new")
    let missing = try #require(doubt(host, [old]))
    #expect(!missing.isRefusal && missing.path == "kinds.gauge")
    #expect(missing.message == message("its folder \(root)/old is missing"))
    #expect(doubt(host, [])?.message == message("this command cannot read the file of that bundle"))
    #expect(doubt(.running(folders: [root]), [old]) == nil && doubt(nil, [old]) == nil)
    try put("third", in: "old")
    #expect(
      doubt(host, [old])?.message == message("its folder \(root)/old has another bundle now"))
    try put("old", in: "old")
    #expect(doubt(host, [old])?.message == message("the file of that bundle no longer has it"))
    try put("old", in: "old", ", kinds: {gauge: {}}")
    #expect(doubt(host, [old]) == nil)
    // The folder has another name.
    try FileManager.default.moveItem(atPath: "\(root)/old", toPath: "\(root)/renamed")
    #expect(doubt(host, [old]) == nil)
    let program = BundleOutlook.claimed(Samples.kind("gauge"), by: "gauges")
    #expect(BundleOutlook.doubt(about: program, [old], host) { _ in false } == nil)
  }

  @Test func `the next host reads a new file in its folder without an installation`() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    try put("new", in: "new")
    let file = "\(root)/new/bundle.yaml"
    #expect(BundleOutlook.arrival(of: file, inFolderOf: host) == .edit)
    #expect(BundleOutlook.arrival(of: file, inFolderOf: .missing(former: ["/b"])) == nil)
    #expect(BundleOutlook.arrival(of: file, inFolderOf: nil) == nil)
  }
}
