import Foundation
import Testing
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

@testable import widgetctl

/// The folder with which `bundle diff` compares without `--dir`.
@Suite struct BundleDiffTests {
  private let root = BundleHost.resolved(NSTemporaryDirectory() + "diff-\(UUID().uuidString)")

  private func put(_ id: String, in folder: String) throws {
    let path = "\(root)/\(folder)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data("{bundle: \(id), format: 1, version: 1.0.0}".utf8)
      .write(to: URL(fileURLWithPath: "\(path)/bundle.yaml"))
  }

  private func found(_ folder: String) throws -> BundleInstaller.Found {
    try BundleInstaller.anywhere.read(at: "\(root)/\(folder)")
  }

  private var usual: BundleInstaller { BundleFolderOptions.installer(at: "\(root)/usual") }

  private func compared(_ folder: String, _ host: BundleHost) throws -> String {
    BundleDiffCommand.installer(for: try found(folder), host, usual: usual).path
  }

  @Test func `a file is compared with the folder of the host that has the bundle`() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    try put("desk", in: "work")
    try put("desk", in: "hosted/desk")
    let host = BundleHost.running(folders: ["\(root)/first", "\(root)/hosted"])
    #expect(try compared("work", host) == "\(root)/hosted")
    #expect(try compared("work", .unknown) == "\(root)/usual")
    #expect(try compared("work", .running(folders: ["\(root)/first"])) == "\(root)/usual")
    // The host runs the other version.
    try put("desk", in: "usual/desk")
    #expect(try compared("work", host) == "\(root)/hosted")
    #expect(try compared("work", .missing(former: ["\(root)/hosted"])) == "\(root)/usual")
    #expect(try compared("work", .running(folders: ["\(root)/usual"])) == "\(root)/usual")
  }

  @Test func `a file in a folder of the host is compared with that folder`() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    try put("desk", in: "hosted/desk")
    for host in [
      BundleHost.running(folders: ["\(root)/hosted"]), .missing(former: ["\(root)/hosted"]),
    ] {
      #expect(try compared("hosted/desk", host) == "\(root)/hosted")
      let installer = BundleFolderOptions.installer(at: "\(root)/hosted")
      #expect(
        BundleDiffCommand.notice(
          try found("hosted/desk"), comparedIn: installer, besides: usual, host
        ).isEmpty)
    }
  }

  @Test func `a note says that the usual folder is not the compared one`() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    try put("desk", in: "work")
    let installer = BundleFolderOptions.installer(at: "\(root)/hosted")
    func notice(_ installer: BundleInstaller, _ host: BundleHost) throws -> [String] {
      BundleDiffCommand.notice(try found("work"), comparedIn: installer, besides: usual, host)
    }
    let words =
      "the folder \(root)/hosted, so the version is compared with bundle desk there; install it with "
      + "--dir \(root)/hosted"
    #expect(try notice(installer, .running(folders: [])) == ["widgetd-host runs \(words)"])
    #expect(try notice(installer, .missing()) == ["the last widgetd-host ran \(words)"])
    #expect(try notice(usual, .missing()).isEmpty)
  }
}
