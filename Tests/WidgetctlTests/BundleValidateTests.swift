import Testing
import WidgetBundle
import WidgetModel

@testable import widgetctl

/// `bundle validate` of several bundles.
@Suite struct BundleValidateTests {
  @Test func `a kind of another bundle on the command line is not missing`() throws {
    let wall = try BundleReader.read(
      """
      {bundle: wall, format: 1, version: 1.0.0, kinds: {note: {}},
       widgets: {w1: {kind: meter}, w2: {kind: dial}}}
      """)
    let missing = Set(wall.remarks.compactMap(\.foreignKind))
    #expect(missing == [Samples.kind("meter"), Samples.kind("dial")])
    let left = BundleValidateCommand.remarks(wall.remarks, beside: [Samples.kind("meter")])
    #expect(left.compactMap(\.foreignKind) == [Samples.kind("dial")])
    #expect(left.count == wall.remarks.count - 1)
  }
}
