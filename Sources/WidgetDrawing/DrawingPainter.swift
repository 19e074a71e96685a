public import WidgetLayout
public import WidgetModel

/// Turns a layout in points into marks.
///
/// Text and places come from the layout. The painter adds colours, shapes and states, as `CellPainter` does
/// for cells. Children inherit from their parent: the text colour, the background behind them, and whether
/// they are disabled, private or in a heading. A table also passes the keys of its selected rows.
public struct DrawingPainter: Sendable {
  public var look: DrawingLook

  public init(look: DrawingLook) { self.look = look }

  /// The marks of a layout. O(nodes).
  ///
  /// - Parameters:
  ///   - table: The nodes of the layout.
  ///   - background: The opaque colour behind the layout.
  ///   - paintsRoot: Whether to draw the root's background. False if the caller has drawn it.
  public func marks(
    _ layout: LayoutResult, _ table: NodeTable, on background: ThemeColor, paintsRoot: Bool = true
  ) -> [Mark] {
    var marks: [Mark] = []
    var settings: [Int: NodeSetting] = [:]
    var rows: [Int: PlacedNode] = [:]
    for placed in layout.placed {
      guard let entry = table[placed.index] else { continue }
      let outer =
        entry.parent.flatMap { settings[$0] }
        ?? NodeSetting(background: background, isDisabled: look.isDisabled)
      let parent = entry.parent.flatMap { table[$0] }
      var marking = NodeMarking(
        look: look, node: entry.node, parent: parent?.node, placed: placed, setting: outer)
      if let parent, Self.isRow(parent, table), let row = entry.parent.flatMap({ rows[$0] }) {
        marking.centerContent(in: row)
      }
      rows[placed.index] = placed
      marking.draw(paintsBackground: paintsRoot || placed.index != table.root)
      settings[placed.index] = marking.setting
      marks += marking.marks
    }
    for placed in layout.placed {
      guard let region = placed.scroll, region.offsetMax > 0 else { continue }
      marks += thumb(region, clip: placed.clip)
    }
    return marks
  }

  /// Whether the node's children stand side by side, each as high as the highest.
  private static func isRow(_ entry: NodeTable.Entry, _ table: NodeTable) -> Bool {
    guard entry.node.role == .stack, ["", "fill"].contains(entry.node.text("crossAlign")) else {
      return false
    }
    return entry.node.text("axis") == "horizontal"
      || entry.parent.flatMap { table[$0]?.node.role } == .table
  }

  /// The scrollbar's thumb: its length shows how much is visible, its place the scroll offset.
  private func thumb(_ region: ScrollRegion, clip: LayoutRect) -> [Mark] {
    let view = region.viewport.intersection(clip).points
    let share = Double(region.viewportLength) / Double(max(region.contentLength, 1))
    let place = Double(region.offset) / Double(region.offsetMax)
    let (width, least) = (3.0, 12.0)
    var rect: DrawingRect
    switch region.axis {
    case .vertical:
      let length = min(view.height, max(least, view.height * share))
      rect = DrawingRect(
        x: view.endX - width, y: view.y + (view.height - length) * place, width: width,
        height: length)
    case .horizontal:
      let length = min(view.width, max(least, view.width * share))
      rect = DrawingRect(
        x: view.x + (view.width - length) * place, y: view.endY - width, width: length,
        height: width)
    }
    guard view.contains(rect) else { return [] }
    return [
      .rectangle(rect, corner: width / 2, Paint(fill: look.token("color.secondary").faded(0.5)))
    ]
  }
}

extension LayoutRect {
  /// The rectangle in points.
  var points: DrawingRect {
    let unit = Double(LayoutMetrics.unitsPerPoint)
    return DrawingRect(
      x: Double(x) / unit, y: Double(y) / unit, width: Double(width) / unit,
      height: Double(height) / unit)
  }
}

/// The properties that children inherit from a node.
struct NodeSetting {
  /// The text colour. Nil for the default.
  var color: ThemeColor?
  /// The opaque colour behind the children.
  var background: ThemeColor
  var isDisabled = false
  var isPrivate = false
  var isHeading = false
  /// The keys of the rows that are selected in a table.
  var selectedKeys: Set<String> = []
}
