import Testing
import WidgetBundle

/// How two versions of a bundle's file differ.
struct DifferenceTests {
  @Test func `values that apply only to new widgets are marked`() {
    let differences = BundleDifference.between(
      "widgets: {a: {kind: k, enabled: false}}",
      "widgets: {a: {kind: k, visible: false, family: small}}")
    #expect(
      differences.map(\.description) == [
        "+ widgets.a.visible: false (for new widgets)", "+ widgets.a.family: small",
        "- widgets.a.enabled: false (for new widgets)",
      ])
  }
}
