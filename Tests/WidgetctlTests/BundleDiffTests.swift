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

  /// A host whose process runs and does not answer.
  private func silent(_ folders: [String]) -> BundleHost {
    let silence = ProviderSilence(since: .epoch, pid: 42)
    return .silent(SilentProcess(silence, isStopped: false), folders: folders)
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
    #expect(try compared("work", .returning(folders: ["\(root)/hosted"])) == "\(root)/hosted")
    #expect(try compared("work", silent(["\(root)/hosted"])) == "\(root)/hosted")
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
    let folder = "the folder \(root)/hosted"
    let rest =
      ", so the version is compared with bundle desk there; install it with --dir \(root)/hosted"
    #expect(try notice(installer, .running(folders: [])) == ["widgetd-host runs \(folder)\(rest)"])
    #expect(try notice(installer, .missing()) == ["the last widgetd-host ran \(folder)\(rest)"])
    #expect(
      try notice(installer, silent([])) == [
        "widgetd-host, which does not answer, ran \(folder)\(rest)"
      ])
    #expect(
      try notice(installer, .returning(folders: [])) == [
        "widgetd-host ran \(folder) before the restart of the daemon\(rest)"
      ])
    #expect(try notice(usual, .missing()).isEmpty)
  }
}
