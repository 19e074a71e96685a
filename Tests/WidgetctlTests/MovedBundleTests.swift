import Foundation
import Testing
import WidgetBundle
import WidgetModel

@testable import widgetctl

/// Bundles whose folder somebody has moved before `bundle rm`, and before the host has read the move.
@Suite struct MovedBundleTests {
  private let root = BundleHost.resolved(NSTemporaryDirectory() + "moved-\(UUID().uuidString)")

  private func write(_ id: String, to folder: String) throws {
    let path = "\(root)/\(folder)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let text = "{bundle: \(id), format: 1, version: 1.0.0, kinds: {k: {}}, widgets: {w: {kind: k}}}"
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/bundle.yaml"))
  }

  private func shown(_ id: String, at path: String) throws -> Widget {
    Widget(
      id: Samples.id("bundle/\(id)"), kind: Samples.kind("bundle"),
      data: ["id": .string(id), "path": .string(path), "state": .string("running")],
      applySet: BundleHost.widget)
  }

  @Test func `the removal of a moved bundle loses its values, and the host does not wait`() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    try write("other", to: "a/other")
    try write("mv", to: "b/mv")
    func paths() throws -> [String: String] {
      let standing = BundleStanding(try shown("mv", at: "\(root)/a/mv"))
      return MovedBundle.formerPaths(
        of: ["mv"], in: "\(root)/b", at: ["mv": "\(root)/b/mv"], among: [standing.path: standing])
    }
    #expect(try paths() == ["mv": "\(root)/a/mv"])
    let host = BundleHost.missing(former: ["\(root)/a", "\(root)/b"])
    let mark = "\(root)/a/.removed-mv"
    MovedBundle.mark("mv", movedFrom: "\(root)/a/mv", .missing(former: ["\(root)/b"]))
    #expect(!FileManager.default.fileExists(atPath: mark))
    MovedBundle.mark("mv", movedFrom: "\(root)/a/mv", host)
    #expect(FileManager.default.fileExists(atPath: mark))
    // Another bundle has taken the place.
    try write("other", to: "a/mv")
    #expect(try paths() == ["mv": "\(root)/a/mv"])
    // The folder has only another name.
    try write("mv", to: "a/mv2")
    #expect(try paths().isEmpty)
    #expect(!MovedBundle.isGone("mv", from: ""))
  }

  @Test func `a removed bundle is known only if the daemon has it from this folder`() throws {
    func isKnown(_ path: String, at places: [String: String] = [:]) throws -> Bool {
      let standing = BundleStanding(try shown("mv", at: path))
      return BundleRemoveCommand.isKnown(
        "mv", in: "\(root)/a", at: places, among: [standing.path: standing])
    }
    #expect(try isKnown("\(root)/a/mv"))
    #expect(try isKnown("\(root)/a/renamed"))
    #expect(try !isKnown("\(root)/b/mv"))
    // A link led to the folder.
    #expect(try isKnown("\(root)/b/mv", at: ["mv": "\(root)/b/mv"]))
    let other = BundleStanding(try shown("other", at: "\(root)/a/mv"))
    #expect(
      !BundleRemoveCommand.isKnown(
        "mv", in: "\(root)/a", at: [:], among: [other.path: other]))
  }

  /// The host can have the bundle from another folder, so that nothing is left to remove.
  @Test func `doctor knows the bundle of a mark only from the folder of the mark`() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    try FileManager.default.createDirectory(
      atPath: "\(root)/old", withIntermediateDirectories: true)
    let host = BundleHost.running(folders: ["\(root)/new"])
    func isKnown(_ path: String, target: String = "") throws -> [Bool] {
      let mark = "\(root)/old/.removed-mv"
      try Data(target.utf8).write(to: URL(fileURLWithPath: mark))
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -600)], ofItemAtPath: mark)
      let standing = BundleStanding(try shown("mv", at: path))
      return Facts.marks(in: ["\(root)/old"], host, [standing]).map(\.isKnown)
    }
    #expect(try isKnown("\(root)/new/mv") == [false])
    #expect(try isKnown("\(root)/old/mv") == [true])
    // A link led to the folder.
    #expect(try isKnown("\(root)/far/mv", target: "\(root)/far/mv") == [true])
  }

  @Test func `the file of a renamed folder tells which values are lost`() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    try write("m3", to: "a/memo3")
    let widgets = [try shown("m3", at: "\(root)/a/m3")]
    #expect(LossRules.file(of: "m3", widgets) == nil)
    #expect(LossRules.file(of: "m3", widgets, movedTo: "\(root)/a/memo3")?.id == "m3")
    #expect(LossRules.file(of: "m3", widgets, movedTo: "\(root)/a/other") == nil)
  }
}
