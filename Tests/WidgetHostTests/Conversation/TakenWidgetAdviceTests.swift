import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The advice to a bundle that the daemon refuses because of a widget of another bundle.
struct TakenWidgetAdviceTests {
  @Test(arguments: [("k", true), ("j", false)])
  func `the advice keeps the values of users`(kind: String, isOfSameKind: Bool) throws {
    let bundle = try BundleReader.read(
      "{bundle: m, format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}},"
        + " widgets: {w: {kind: k}}}")
    let taken = Circumstances.WidgetStanding(
      id: try #require(WidgetID("w")), kind: try #require(KindName(kind)), applySet: "bundle/n")
    let words = BundleClaims(of: bundle).words(on: taken, isLeaving: false, isDropped: false)
    let advice =
      "widget \"w\" already exists and belongs to bundle n; give this bundle's widget another id, or"
      + " delete \"w\" from the file of bundle n"
    #expect(
      words
        == (isOfSameKind
          ? "\(advice): this bundle then takes it over with its values"
          : "\(advice). If this file gives w the kind j, this bundle takes w over with its values. With"
            + " another kind, the values are lost"))
  }
}
