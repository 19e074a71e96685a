import NodeSamples
import WidgetModel

@testable import WidgetLayout

extension Tree {
  func layout(
    _ width: Int, height: Int? = nil, scroll: [String: Int] = [:],
    metrics: LayoutMetrics = .cells(dateText: { $0.text("format") })
  ) -> LayoutResult {
    var engine = LayoutEngine(metrics: metrics)
    return engine.layout(NodeTable(content), width: width, height: height, scroll: scroll)
  }

  /// The look of the tree in cells.
  func drawn(_ width: Int, height: Int? = nil, scroll: [String: Int] = [:]) -> [String] {
    Canvas(layout(width, height: height, scroll: scroll)).lines
  }
}
