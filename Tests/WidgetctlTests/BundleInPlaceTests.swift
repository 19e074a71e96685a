import Foundation
import Testing
import WidgetBundle
import WidgetClient
import WidgetModel

@testable import widgetctl

/// The warnings about the file that the host reads, which nobody installs.
struct BundleInPlaceTests {
  private func kind(_ name: String = "gauge") throws -> KindName { try #require(KindName(name)) }

  private func shown(at path: String) -> Widget {
    var widget = Samples.widget
    widget.id = Samples.id("bundle/m")
    widget.data = ["path": .string(path)]
    return widget
  }

  @Test func `only the bundle's file in the folder of the host is the one that the host reads`()
    throws
  {
    let folder = NSTemporaryDirectory() + "place-\(UUID().uuidString)"
    let files = FileManager.default
    for name in ["m", "other"] {
      try files.createDirectory(
        atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    defer { try? files.removeItem(atPath: folder) }
    try files.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: "\(folder)/m")
    let shown = [shown(at: "\(folder)/m")]
    func isRead(_ file: String, by set: String = "bundle/m") -> Bool {
      BundleOutlook.isRead(file, by: set, shown)
    }
    #expect(isRead("\(folder)/m/bundle.yaml") && isRead("\(folder)/link//bundle.json"))
    #expect(!isRead("\(folder)/m/new.yaml") && !isRead("\(folder)/other/bundle.yaml"))
    #expect(!isRead("\(folder)/m/bundle.yaml", by: "bundle/n"))
    #expect(!isRead("desk.zip/m/bundle.yaml") && !isRead("bundle.yaml"))
  }

  @Test func `a widget that leaves the file of the host stays for 30 seconds`() throws {
    let known = TaggedWidget(
      widget: Widget(
        id: Samples.id("w"), kind: try kind(), data: ["v": .int(1)], applySet: "bundle/m"),
      owners: [FieldOwner(path: "data.v", owner: "user 1000")])
    let remark = try #require(
      BundleOutlook.removed(known, keeping: [], by: "bundle/m", arrival: .edit))
    #expect(
      remark.text
        == "the bundle no longer has the widget \"w\". Users or actions have set these values on it: "
        + "data.v = 1; widgetd-host deletes the widget and these values 30 seconds after it has read the "
        + "file, because no other installed bundle has the widget; to keep the values, put the "
        + "widget back into the file, or add it to the file of another bundle, with the kind gauge; `widgetctl get w --field error` has "
        + "the time of the removal")
  }

  /// The host is stopped, or has not read the installed version yet.
  @Test func `a file that nobody has edited since its installation has no 30 seconds`() throws {
    let folder = NSTemporaryDirectory() + "place-\(UUID().uuidString)"
    let files = FileManager.default
    try files.createDirectory(atPath: "\(folder)/m", withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: folder) }
    let text = "bundle: m\nformat: 1\nversion: 1.0.0\n"
    let file = "\(folder)/m/bundle.yaml"
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    // The installer writes the list of its files last.
    let list = "folder\nfile \(SHA256.hex(Array(text.utf8))) bundle.yaml\n"
    try Data(list.utf8).write(to: URL(fileURLWithPath: "\(folder)/m/.origin"))
    let shown = [shown(at: "\(folder)/m")]
    func arrival(_ file: String) -> BundleOutlook.Arrival {
      BundleOutlook.arrival(of: file, by: "bundle/m", shown)
    }
    #expect(arrival(file) == .reading)
    try Data((text + "# edited\n").utf8).write(to: URL(fileURLWithPath: file))
    #expect(arrival(file) == .edit && arrival("\(folder)/m.yaml") == .installation)
    let known = TaggedWidget(
      widget: Widget(
        id: Samples.id("w"), kind: try kind(), data: ["v": .int(1)], applySet: "bundle/m"),
      owners: [FieldOwner(path: "data.v", owner: "user 1000")])
    #expect(
      BundleOutlook.removed(known, keeping: [], by: "bundle/m", arrival: .reading)?.hint
        == "widgetd-host deletes the widget and these values as soon as it reads the file, because "
        + "no other installed bundle has the widget; to keep the values, put the widget back into "
        + "the file, or add it to the file of another bundle, with the kind gauge")
    let spec = WidgetSpec(id: Samples.id("w"), kind: try kind("bar"))
    #expect(
      BundleOutlook.replaced(
        spec, known.widget, by: "bundle/m", losing: ["data.v"], arrival: .reading)?.hint
        == "widgetd-host deletes the widget as soon as it reads the file, with the values that "
        + "users or actions have set on it: data.v; to keep them, give the widget its former kind again, and add a "
        + "new widget with another id")
  }

  @Test func `a widget that gets another kind in the file of the host stays for 30 seconds`()
    throws
  {
    let spec = WidgetSpec(id: Samples.id("w"), kind: try kind("bar"))
    let known = Widget(id: Samples.id("w"), kind: try kind(), applySet: "bundle/m")
    func hint(_ paths: [String]) -> String? {
      BundleOutlook.replaced(spec, known, by: "bundle/m", losing: paths, arrival: .edit)?.hint
    }
    #expect(
      hint(["data.n"])
        == "widgetd-host deletes the widget 30 seconds after it has read the file, with the values "
        + "that users or actions have set on it: data.n; to keep them, give the widget its former kind again, and "
        + "add a new widget with another id; `widgetctl get w --field error` has the time of the "
        + "removal")
    #expect(hint([]) == "users and actions have set no values on it")
  }
}
