import Foundation
import Testing
import WidgetBundle
import WidgetClient
import WidgetModel

@testable import widgetctl

/// A bundle whose id somebody has changed in the file that the host reads.
@Suite struct BundleSuccessionTests {
  private static func shown(
    _ id: String, at path: String, heir: String = "", copyOf original: String? = nil
  ) -> Widget {
    var widget = Samples.widget
    (widget.id, widget.applySet) = (Samples.id("bundle/\(id)"), BundleHost.widget)
    widget.data = [
      "id": .string(original ?? id), "path": .string(path), "heir": .string(heir),
      "state": .string("stopped"),
    ]
    return widget
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
    let kinds = ["gauge", "meter"].map {
      RegisteredKind(kind: Kind(name: Samples.kind($0)), provider: "bundle/old")
    }
    func widget(_ id: String, _ kind: String = "gauge", of set: String = "bundle/old") -> Widget {
      Widget(id: Samples.id(id), kind: Samples.kind(kind), applySet: set)
    }
    let widgets = [widget("w"), widget("v", "meter"), widget("x"), widget("y", of: "panel")]
    let remark = try #require(
      BundleOutlook.succession(of: ["bundle/old"], by: new, kinds, widgets))
    #expect(!remark.isRefusal && remark.path == "bundle")
    #expect(
      remark.text
        == "widgetd-host has bundle old in the folder of this file. When widgetd-host reads the "
        + "file, bundle old ends, and this bundle takes its place; this bundle takes over the kind "
        + "gauge and the widget w, with the values that users, events and actions have set; "
        + "widgetd-host removes the kind meter and the widgets v, x")
    let other = try Self.bundle("new", "kinds: {bar: {}}")
    #expect(
      BundleOutlook.succession(of: ["bundle/old", "bundle/older"], by: other, kinds, [])?.text
        == "widgetd-host has the bundles old, older in the folder of this file. When widgetd-host "
        + "reads the file, the bundles old, older end, and this bundle takes their place; this "
        + "bundle takes over no kinds and no widgets; widgetd-host removes the kinds gauge, meter")
    #expect(BundleOutlook.succession(of: ["bundle/none"], by: new, kinds, widgets) == nil)
  }

  @Test func `the file of the former bundle is no file that cannot be read`() {
    let old = Self.shown("old", at: "/nonexistent/old")
    #expect(InstalledWidgets(besides: "new", [old], in: nil).unread == ["old"])
    let after = InstalledWidgets(besides: "new", after: ["bundle/old"], [old], in: nil)
    #expect(after.unread.isEmpty && after.declarations.isEmpty)
  }

  @Test func `the refusal to install the file of the host says what the host does`() {
    let failure = CommandFailure(.invalidArgument, "/b/old has the bundle \"new\" now")
    let remark = BundleOutlook.Remark(path: "bundle", message: "m", hint: "h")
    let file = "/b/old/bundle.yaml"
    let live = BundleOutlook(remarks: [remark], arrival: .edit)
    #expect(
      live.named(in: failure, reading: file).message
        == "\(failure.message)\nThe file needs no installation, because widgetd-host reads "
        + "\(file):\n  m; h")
    #expect(
      BundleOutlook(arrival: .reading).named(in: failure, reading: file).message
        .hasSuffix("because widgetd-host reads \(file)"))
    #expect(
      BundleOutlook(remarks: [remark]).named(in: failure, reading: file).message
        == failure.message)
  }
}
