public import WidgetLayout
public import WidgetModel

/// Draws what a widget shows, laid out in cells.
///
/// Text and places come from the layout; the painter adds colours, borders, marks and states. A node
/// hands on to its children: its text colour, the background it drew, and whether it is disabled,
/// private, selected or a heading.
public struct CellPainter: Sendable {
  public var look: CellLook

  public init(look: CellLook) { self.look = look }

  /// A picture of a layout, as large as the layout. O(cells + nodes).
  ///
  /// - Parameter table: The nodes of which the layout was made.
  public func grid(_ layout: LayoutResult, _ table: NodeTable) -> CellGrid {
    var grid = CellGrid(width: layout.size.width, height: layout.size.height)
    var base = Setting()
    if look.paintsBackground {
      base.background = look.opaque(look.token("color.background"), over: nil)
      grid.fill(grid.bounds, style: CellStyle(background: base.background))
    }
    var settings: [Int: Setting] = [:]
    for placed in layout.placed {
      guard let entry = table[placed.index] else { continue }
      let parent = entry.parent.flatMap { table[$0] }
      let outer = entry.parent.flatMap { settings[$0] } ?? base
      var drawing = NodeDrawing(
        look: look, node: entry.node, parent: parent?.node, placed: placed, setting: outer)
      drawing.draw(on: &grid)
      settings[placed.index] = drawing.setting
    }
    if look.isStale { markStale(&grid) }
    return grid
  }

  private func markStale(_ grid: inout CellGrid) {
    grid.restyle(grid.bounds) { $0.attributes.insert(.dim) }
    let color = look.opaque(look.token("color.warning"), over: nil)
    grid.put(
      "↻", column: grid.width - 1, row: 0, style: CellStyle(foreground: color, attributes: .bold))
  }
}

/// What a node hands on to its children.
struct Setting {
  /// The text's colour; nil for the usual one.
  var color: CellColor?
  /// What was drawn behind it; nil for the terminal's.
  var background: CellColor?
  var isDisabled = false
  var isPrivate = false
  var isHeading = false
  /// The keys of the rows that are selected in a table.
  var selectedKeys: Set<String> = []
  /// What a control hands on to all text in it: of a focused button, for one.
  var attributes: CellAttributes = []
}
