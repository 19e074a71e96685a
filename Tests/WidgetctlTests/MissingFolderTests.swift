import Foundation
import Testing
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

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

  @Test(
    arguments: [
      ("the folder /all/b has no bundle file; put the file or folder back by noon", true),
      ("/all does not exist, so /all/b cannot be read; bring the folder back", true),
      ("/all/b/bundle.yaml:1:1: unknown key", false), ("", false),
    ])
  func `a host that misses the folder of a bundle says so`(problem: String, isMissing: Bool) {
    var widget = Samples.widget
    widget.data = [
      "id": .string("b"), "state": .string("failed"), "problem": .string(problem),
    ]
    let standings = ["/all/b": BundleStanding(widget), "/all/c": BundleStanding(widget)]
    let missing = MissingFolder(bundle: "b", path: "/all/b", problem: problem)
    #expect(MissingFolder.ofHost("b", among: standings) == (isMissing ? missing : nil))
    #expect(MissingFolder.ofHost("d", among: standings) == nil)
  }

  @Test func `a command about a bundle without its file says how to keep the widgets`() {
    func words(_ state: String, _ problem: String, isStale: Bool = false) -> String? {
      var widget = Samples.widget
      widget.isStale = isStale
      widget.data = [
        "id": .string("b"), "path": .string("/nonexistent/b"), "state": .string(state),
        "problem": .string(problem),
      ]
      return MissingFolder.fileFailure(
        of: "b", in: "/nonexistent", among: ["/nonexistent/b": BundleStanding(widget)])
    }
    let start = "the file of bundle b in /nonexistent/b is missing. "
    let told = "the folder /nonexistent/b has no bundle file; put the file or folder back by noon"
    #expect(words("failed", told) == "\(start)widgetd-host: \(told)")
    let step = "Put it back to keep the widgets of the bundle with their data"
    #expect(words("running", "", isStale: true) == start + step)
    #expect(MissingFolder.fileFailure(of: "b", in: "/nonexistent", among: [:]) == nil)
  }

  @Test func `an installation in the place of a moved folder says where the settings are`() {
    var bundle = WidgetBundle.Bundle(id: "b", version: "1.0.0")
    #expect(missing.warning(installing: bundle) == nil)
    bundle.defaults.fields = [Field(name: "unit", type: .string)]
    #expect(
      missing.warning(installing: bundle)
        == "the folder /all/b was missing, so the values of `widgetctl bundle set` are not in the new "
        + "folder; if you moved the old folder, copy its .settings.json into the new one")
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

  @Test func `a bundle in a missing folder of bundles is missing, too`() throws {
    let folder = BundleHost.resolved(NSTemporaryDirectory() + "bundles-\(UUID().uuidString)")
    var widget = Samples.widget
    widget.isStale = false
    let words = "\(folder) does not exist, so \(folder)/b cannot be read; bring the folder back"
    widget.data = [
      "id": .string("b"), "path": .string("\(folder)/b"), "state": .string("failed"),
      "problem": .string(words),
    ]
    let standings = ["\(folder)/b": BundleStanding(widget)]
    let missing = try #require(MissingFolder.of("b", in: folder, among: standings))
    #expect(
      missing.failure
        == "the folder \(folder)/b of bundle b is missing. widgetd-host: \(words)")
    #expect(missing.name == "b")
    #expect(
      missing.remainsOfVersions
        == "the folder \(folder)/b of bundle b is missing, so only its kept versions are removed")
    #expect(
      missing.remains
        == "the folder \(folder)/b of bundle b is missing, so only its kept versions and its widgets "
        + "are removed. If you moved the folder, its files are still there")
    #expect(MissingFolder.of("c", in: folder, among: standings) == nil)
  }

  /// The folder of one bundle had the id of another one as its name.
  @Test func `the id of a missing bundle counts before the names of folders`() throws {
    let folder = BundleHost.resolved(NSTemporaryDirectory() + "bundles-\(UUID().uuidString)")
    func standing(_ id: String, _ name: String, isTold: Bool = false) -> BundleStanding {
      var widget = Samples.widget
      let told = "the folder \(folder)/\(name) has no bundle file; put the file or folder back"
      widget.data = [
        "id": .string(id), "path": .string("\(folder)/\(name)"), "state": .string("failed"),
        "problem": .string(isTold ? told : ""),
      ]
      return BundleStanding(widget)
    }
    let known = [standing("todo", "t"), standing("desq", "todo")]
    let standings = Dictionary(uniqueKeysWithValues: known.map { ($0.path, $0) })
    func path(_ id: String) -> String? {
      MissingFolder.of(id, in: folder, among: standings)?.path
    }
    #expect(path("desq") == "\(folder)/todo")
    #expect(path("todo") == "\(folder)/t")
    // The name of a folder counts if no bundle has it as its id.
    #expect(MissingFolder.of("t", in: folder, among: standings)?.bundle == "todo")
    #expect(path("desk") == nil)
    for isTold in [false, true] {
      let known = [standing("todo", "t", isTold: isTold), standing("desq", "todo", isTold: isTold)]
      let standings = Dictionary(uniqueKeysWithValues: known.map { ($0.path, $0) })
      for (id, name) in [("todo", "t"), ("desq", "todo")] {
        let words = BundleRemote.absence(of: id, among: standings, .running(folders: [folder]))
        #expect(words?.hasPrefix("the folder \(folder)/\(name) of bundle \(id) is missing") == true)
      }
    }
  }

  @Test func `an error about a known bundle does not suggest another one`() {
    let list = "`widgetctl bundle ls` lists the bundles"
    let error = BundleInstallerError.notFound(
      "there is no bundle \"desq\"", hint: "did you mean \"desk\"? \(list)")
    guard case .notFound(_, let hint) = error.withoutSuggestion else {
      Issue.record("another error")
      return
    }
    #expect(hint == list)
  }

  @Test func `an installation does not make a missing folder whose bundles wait for it`() throws {
    let folder = NSTemporaryDirectory() + "bundles-\(UUID().uuidString)"
    let place = BundleHost.resolved(folder)
    func refusal(_ known: [String]) -> CommandFailure? {
      MissingFolder.refusal(ofInstallingInto: folder, knowing: known)
    }
    let failure = try #require(refusal(["/elsewhere/a", "\(place)/other"]))
    #expect(failure.exit == .refused)
    #expect(
      failure.message
        == "the folder \(folder) of widgetd-host is missing. An installation would make it again "
        + "without its bundles, and widgetd-host would then remove their widgets. Bring the folder "
        + "back. To give up the bundles that were in it, make the folder with mkdir")
    #expect(refusal([]) == nil && refusal(["/elsewhere/a", "\(place)/a/b"]) == nil)
    let files = FileManager.default
    try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: folder) }
    #expect(refusal(["\(place)/other"]) == nil)
  }

  @Test func `a host does not make its missing folder for an installation`() {
    func refusal(_ problems: [String: String]) -> CommandFailure? {
      MissingFolder.refusal(ofInstallingInto: "/b", problems)
    }
    let words = "/b does not exist, so /b/other cannot be read; the widgets of the bundle stay"
    #expect(refusal(["/b/other": words])?.exit == .refused)
    #expect(refusal(["/c/other": words]) == nil && refusal(["/b/other": ""]) == nil)
  }

  @Test func `a host that has stopped is known with the folder that it ran`() {
    #expect(BundleHost.running(folders: ["/a"]).ran("/a/"))
    #expect(BundleHost.missing(former: ["/a"]).ran("/a"))
    #expect(!BundleHost.missing(former: ["/a"]).ran("/b") && !BundleHost.unknown.ran("/a"))
  }
}
