import Foundation
import Testing
import WidgetBundle
import WidgetClient
import WidgetModel

@testable import widgetctl

/// A bundle whose id somebody has changed in the file that the host reads.
@Suite struct BundleSuccessionTests {
  private static func shown(
    _ id: String, at path: String, heir: String = "", copyOf original: String? = nil,
    problem: String = "", runs: Bool = false
  ) -> Widget {
    var widget = Samples.widget
    (widget.id, widget.applySet) = (Samples.id("bundle/\(id)"), BundleHost.widget)
    widget.data = [
      "id": .string(original ?? id), "path": .string(path), "heir": .string(heir),
      "state": .string("stopped"), "problem": .string(problem), "runs": .bool(runs),
    ]
    return widget
  }

  private static func widget(
    _ id: String, _ kind: String = "gauge", of set: String = "bundle/old"
  ) -> Widget {
    Widget(id: Samples.id(id), kind: Samples.kind(kind), applySet: set)
  }

  private static let kinds = ["gauge", "meter"].map {
    RegisteredKind(kind: Kind(name: Samples.kind($0)), provider: "bundle/old")
  }

  private static func bundle(_ id: String, _ parts: String) throws -> WidgetBundle.Bundle {
    try BundleReader.read("{bundle: \(id), format: 1, version: 1.0.0, \(parts)}")
  }

  @Test func `the bundle that the host has in the folder of the file is the former one`() throws {
    let root = NSTemporaryDirectory() + "succession-\(UUID().uuidString)"
    let files = FileManager.default
    for name in ["old", "elsewhere"] {
      try files.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
    }
    defer { try? files.removeItem(atPath: root) }
    let old = Self.shown("old", at: "\(root)/old")
    func formers(
      of id: String = "new", in file: String = "old/bundle.yaml", among shown: [Widget]
    ) -> Set<String> {
      BundleOutlook.formers(of: id, in: "\(root)/\(file)", shown)
    }
    #expect(formers(among: [old]) == ["bundle/old"])
    // The same file in another place, another file, and the file with the former id.
    #expect(formers(in: "elsewhere/bundle.yaml", among: [old]).isEmpty)
    #expect(formers(in: "old/other.yaml", among: [old]).isEmpty)
    #expect(formers(of: "old", among: [old]).isEmpty)
    // The host has read the file, or continues the former bundle from another folder.
    #expect(formers(among: [Self.shown("old", at: "\(root)/old", heir: "new")]).isEmpty)
    let copy = Self.shown("old-2", at: "\(root)/elsewhere", copyOf: "old")
    #expect(formers(among: [old, copy]).isEmpty)
    // A removal goes on. A folder that was missing hands over when it is back with another id.
    func with(_ problem: String) -> Widget {
      Self.shown("old", at: "\(root)/old", problem: problem)
    }
    #expect(formers(among: [with(BundleRemovalMark.problem)]).isEmpty)
    #expect(
      formers(among: [with(BundleFileName.missing(from: "\(root)/old"))]) == ["bundle/old"])
    #expect(
      BundleOutlook.arrival(of: "\(root)/old/bundle.yaml", by: "bundle/old", [old]) == .edit)
  }

  @Test func `a bundle inherits from all former ids of its file`() {
    let shown = [
      Self.shown("one", at: "/b/x", heir: "two"), Self.shown("two", at: "/b/x", heir: "one"),
      Self.shown("other", at: "/b/other"), Self.shown("five", at: "/b/y", heir: "four"),
    ]
    #expect(
      BundleOutlook.inherited(by: "three", after: ["bundle/two"], shown)
        == ["bundle/one", "bundle/two"])
    #expect(BundleOutlook.inherited(by: "three", shown).isEmpty)
    #expect(BundleOutlook.inherited(by: "four", shown) == ["bundle/five"])
    #expect(BundleOutlook.inherited(by: "two", shown) == ["bundle/one"])
  }

  @Test func `the parts that stay and go with the former bundle are named`() throws {
    let new = try Self.bundle(
      "new", "kinds: {gauge: {}}, widgets: {w: {kind: gauge}, v: {kind: gauge}}")
    let widgets = [
      Self.widget("w"), Self.widget("v", "meter"), Self.widget("x"), Self.widget("y", of: "panel"),
    ]
    func remark(isRefused: Bool = false) -> BundleOutlook.Remark? {
      BundleOutlook.succession(
        of: ["bundle/old"], after: ["bundle/old"], by: new, Self.kinds, widgets,
        isRefused: isRefused)
    }
    let found = try #require(remark())
    #expect(!found.isRefusal && found.path == "bundle")
    #expect(
      found.text
        == "the file had the id old before. When widgetd-host reads it, bundle old ends, and this "
        + "bundle replaces it; this bundle takes over the kind gauge and the widget w, with the "
        + "values that users, events and actions have set; a new widget replaces v; widgetd-host "
        + "removes the kind meter and the widget x")
    #expect(
      remark(isRefused: true)?.text
        == "the file had the id old before. When widgetd-host reads it, bundle old ends. This "
        + "bundle replaces it when the daemon accepts this bundle; this bundle then takes over the "
        + "kind gauge and the widget w, with the values that users, events and actions have set; a "
        + "new widget then replaces v; widgetd-host then removes the kind meter and the widget x")
    // Earlier ids ended before. Their widgets can still be there.
    let other = try Self.bundle("new", "kinds: {bar: {}}")
    let left = Self.widget("z", of: "bundle/older")
    #expect(
      BundleOutlook.succession(
        of: ["bundle/old", "bundle/older"], after: ["bundle/old"], by: other, Self.kinds, [left])?
        .text
        == "the file had the id old before. When widgetd-host reads it, bundle old ends, and this "
        + "bundle replaces it; this bundle takes over no kinds and no widgets; widgetd-host removes "
        + "the kinds gauge, meter and the widget z")
    let none: Set<String> = ["bundle/none"]
    #expect(BundleOutlook.succession(of: none, after: none, by: new, Self.kinds, widgets) == nil)
  }

  /// The new id belongs to the bundle in another folder.
  @Test func `the host does not run a file if another folder has the bundle`() throws {
    let root = NSTemporaryDirectory() + "succession-\(UUID().uuidString)"
    let files = FileManager.default
    func put(_ id: String, in folder: String) throws {
      try files.createDirectory(atPath: "\(root)/\(folder)", withIntermediateDirectories: true)
      let text = "bundle: \(id)\nformat: 1\nversion: 1.0.0\n"
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(root)/\(folder)/bundle.yaml"))
    }
    defer { try? files.removeItem(atPath: root) }
    for folder in ["early", "old", "new"] { try put("new", in: folder) }
    let running = BundleHost.running(folders: [root])
    func holder(
      _ shown: Widget, _ host: BundleHost, of folder: String = "old"
    ) -> String? {
      BundleOutlook.holder(
        of: "new", besides: "\(root)/\(folder)/bundle.yaml", [shown], host)?.path
    }
    let new = Self.shown("new", at: "\(root)/new", runs: true)
    #expect(holder(new, running) == "\(root)/new")
    #expect(holder(Self.shown("other", at: "\(root)/new", runs: true), running) == nil)
    #expect(holder(new, running, of: "new") == nil)
    // The other file has a mistake, so nothing runs from it.
    #expect(holder(Self.shown("new", at: "\(root)/new", problem: "wrong"), running) == nil)
    // The next host uses the first folder.
    let stopped = BundleHost.missing(former: [root])
    let former = Self.shown("new", at: "\(root)/new")
    #expect(holder(former, stopped) == "\(root)/new")
    #expect(holder(former, stopped, of: "early") == nil)
    #expect(holder(former, .missing(former: ["/nonexistent"])) == nil)
    // Somebody has changed that id, too, or the folder is missing.
    try put("third", in: "new")
    #expect(holder(new, running) == nil && holder(former, stopped) == nil)
    try files.removeItem(atPath: "\(root)/new")
    #expect(holder(new, running) == nil && holder(former, stopped) == nil)
  }

  @Test func `a file that the host does not run takes nothing over`() throws {
    let widgets = [Self.widget("w"), Self.widget("v", "meter"), Self.widget("y", of: "bundle/new")]
    func remark(
      _ holder: BundleStanding.Holder, _ other: WidgetBundle.Bundle?
    ) -> BundleOutlook.Remark {
      BundleOutlook.idle(
        "new", after: ["bundle/old"], holder, running: other, Self.kinds, widgets)
    }
    #expect(
      remark(.init(path: "/b/new"), nil).text
        == "the file had the id old before. widgetd-host runs bundle new from /b/new, so this file "
        + "will not run. When widgetd-host reads the file, bundle old ends, and widgetd-host "
        + "removes the kinds gauge, meter and the widgets v, w, with all values; change the id "
        + "back, or to an id that no other bundle has")
    let other = try Self.bundle("new", "kinds: {gauge: {}}, widgets: {w: {kind: gauge}}")
    let refused = remark(.init(path: "/b/new", isRefused: true), other)
    #expect(
      refused.message
        == "the file had the id old before. widgetd-host uses bundle new in /b/new, so this file "
        + "will not run. When widgetd-host reads the file, bundle old ends, and widgetd-host "
        + "removes the kind meter and the widget v, with all values")
  }

  @Test func `the file of the former bundle is no file that cannot be read`() {
    let old = Self.shown("old", at: "/nonexistent/old")
    #expect(InstalledWidgets(besides: "new", [old], in: nil).unread == ["old"])
    let after = InstalledWidgets(besides: "new", after: ["bundle/old"], [old], in: nil)
    #expect(after.unread.isEmpty && after.declarations.isEmpty)
  }

  @Test func `the refusal to install the file of the host says what the host does`() {
    let fact = "/b/old has the bundle \"new\" now, so the installation would make a second copy"
    let failure = CommandFailure(
      .invalidArgument, "\(fact); rename the folder old to new, and install again")
    let remark = BundleOutlook.Remark(path: "bundle", message: "m", hint: "h")
    let file = "/b/old/bundle.yaml"
    let live = BundleOutlook(remarks: [remark], arrival: .edit)
    #expect(
      live.named(in: failure, reading: file).message
        == "\(fact)\nThe file needs no installation, because widgetd-host reads \(file):\n  m; h")
    #expect(
      BundleOutlook(arrival: .reading).named(in: failure, reading: file).message
        == "\(fact)\nThe file needs no installation, because widgetd-host reads \(file)")
    #expect(
      BundleOutlook(remarks: [remark]).named(in: failure, reading: file).message
        == failure.message)
  }
}
