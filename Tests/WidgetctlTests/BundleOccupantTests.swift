import Testing
import WidgetBundle
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

/// Another bundle in the folder that a version gets.
@Suite struct BundleOccupantTests {
  private static func shown(_ id: String, at path: String, heir: String = "") -> Widget {
    var widget = Samples.widget
    (widget.id, widget.applySet) = (Samples.id("bundle/\(id)"), BundleHost.widget)
    widget.data = [
      "id": .string(id), "path": .string(path), "heir": .string(heir),
      "state": .string("running"),
    ]
    return widget
  }

  @Test func `the bundle that the host has in the folder of another one is found`() {
    let root = "/nonexistent/b"
    func occupant(_ widget: Widget, file: String? = nil) -> String? {
      BundleOutlook.occupant(of: "odd", in: root, file: file, [widget])?.id
    }
    let other = Self.shown("other", at: "\(root)/odd")
    #expect(occupant(other) == "other")
    #expect(occupant(other, file: "/nonexistent/r/odd/bundle.yaml") == "other")
    // Somebody has changed the id in the file.
    #expect(occupant(other, file: "\(root)/odd/bundle.yaml") == nil)
    #expect(occupant(Self.shown("other", at: "\(root)/odd", heir: "odd")) == nil)
    #expect(occupant(Self.shown("odd", at: "\(root)/odd")) == nil)
    #expect(occupant(Self.shown("other", at: "\(root)/other")) == nil)
  }

  @Test func `the replaced bundle does not take over its widgets`() {
    let other = Self.shown("other", at: "/nonexistent/odd")
    #expect(InstalledWidgets(besides: "odd", [other], in: nil).unread == ["other"])
    let without = InstalledWidgets(
      besides: "odd", [other], in: nil, without: BundleStanding(other))
    #expect(without.unread == [] && without.declarations.isEmpty)
  }

  @Test func `the refusal to replace another bundle names the values that are lost`() throws {
    let set = "bundle/other"
    let known = TaggedWidget(
      widget: Widget(
        id: Samples.id("n"), kind: Samples.kind("gauge"), data: ["n": .int(1)], applySet: set),
      owners: [FieldOwner(path: "data.n", owner: "user 1000")])
    let remark = try #require(
      BundleOutlook.removed(known, keeping: [], by: set, isReplaced: true))
    #expect(
      remark.text
        == "the installation replaces bundle other, which has the widget \"n\". Users or actions "
        + "have set these values on it: data.n = 1; the installation deletes the widget and these "
        + "values at once, because no other installed bundle has the widget; to keep the values, add "
        + "the widget to the file of another bundle before the installation, with the kind gauge")
    let outlook = BundleOutlook(losses: [remark])
    #expect(outlook.warnings == [remark.text])
    let words =
      "/b/odd has the bundle \"other\" 0.1.0, so the installation would replace that bundle; x"
    let refusal = outlook.named(in: CommandFailure(.invalidArgument, words))
    #expect(refusal.exit == .refused)
    #expect(refusal.message == "\(words)\nWith --force:\n  \(remark.text)")
    let unknown = BundleOutlook().named(in: CommandFailure(.invalidArgument, words))
    #expect(unknown.exit == .refused && unknown.message == words)
    let mistake = outlook.named(in: CommandFailure(.invalidArgument, "a mistake"))
    #expect(mistake.exit == .invalidArgument && mistake.message == "a mistake")
  }

  @Test func `a comparison over the socket says that the host refuses the bundle`() {
    func words(_ path: String) -> String? {
      BundleDiffCommand.replacement(
        by: "odd", [BundleDifference(path: path, before: "other", after: "odd")]
      ).first
    }
    let start = "`bundle install --remote` refuses the bundle: the folder odd of widgetd-host has "
    #expect(words("bundle")?.hasPrefix(start + "the bundle \"other\"") == true)
    #expect(words("bundle")?.contains("`widgetctl bundle rm other --remote`") == true)
    #expect(words("version") == nil)
  }
}
