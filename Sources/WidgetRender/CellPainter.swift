public import WidgetLayout
public import WidgetModel

/// Draws the content of a widget in cells.
///
/// Text and places come from the layout; the painter adds colours, borders, marks and states. A
/// node passes to its children: its text colour, the background it drew, and whether it is
/// disabled, private, selected or a heading.
public struct CellPainter: Sendable {
  public var look: CellLook

  public init(look: CellLook) { self.look = look }

  /// A picture of a layout, as large as the layout. O(cells + nodes).
  ///
  /// - Parameters:
  ///   - table: The nodes of the layout.
  ///   - rows: The rows of the layout to paint. The first one is row 0 of the grid. Default: all.
  public func grid(
    _ layout: LayoutResult, _ table: NodeTable, rows: Range<Int>? = nil
  ) -> CellGrid {
    let whole = 0..<max(layout.size.height, 0)
    let rows = rows?.clamped(to: whole) ?? whole
    var grid = CellGrid(width: layout.size.width, height: rows.count)
    var base = Setting()
    base.isDisabled = look.isDisabled
    base.color = look.ownText
    if look.paintsBackground {
      base.background = look.opaque(look.token("color.background"), over: nil)
      grid.fill(grid.bounds, style: CellStyle(background: base.background))
    }
    var settings: [Int: Setting] = [:]
    let placedNodes =
      rows.lowerBound == 0 ? layout.placed : layout.placed.map { $0.moved(up: rows.lowerBound) }
    for placed in placedNodes {
      guard let entry = table[placed.index] else { continue }
      let parent = entry.parent.flatMap { table[$0] }
      let outer = entry.parent.flatMap { settings[$0] } ?? base
      var drawing = NodeDrawing(
        look: look, node: entry.node, parent: parent?.node, placed: placed, setting: outer)
      drawing.draw(on: &grid)
      settings[placed.index] = drawing.setting
    }
    for placed in placedNodes {
      guard let region = placed.scroll, region.offsetMax > 0 else { continue }
      markScroll(region, clip: placed.clip, &grid)
    }
    if look.isStale { markStale(&grid, row: -rows.lowerBound) }
    return grid
  }

  /// Draws the scroll marks: a thumb at the right edge for the offset, and arrows at ends with more
  /// content.
  ///
  /// Marks go on blank cells. Only an edge without a blank cell loses one cell to the mark.
  private func markScroll(_ region: ScrollRegion, clip: LayoutRect, _ grid: inout CellGrid) {
    let view = region.viewport.overlap(clip).overlap(grid.bounds)
    guard view.width > 0, view.height > 0, region.contentLength > 0 else { return }
    let isFocused = region.id == look.scrolledID
    let style = CellStyle(
      foreground: look.opaque(
        look.token(isFocused ? "color.focus" : "color.secondary"), over: nil),
      attributes: isFocused ? .bold : look.quiet)
    func mark(_ text: String, _ column: Int, _ rows: Range<Int>, once: Bool) {
      let blank = rows.filter {
        grid[column, $0].character == " " && !grid[column, $0].isContinuation
      }
      for row in blank.isEmpty || once ? [blank.first ?? rows.lowerBound] : blank {
        grid.put(text, column: column, row: row, style: style, clip: view)
      }
    }
    let last = view.x + view.width - 1
    switch region.axis {
    case .vertical:
      let length = max(1, view.height * view.height / max(region.contentLength, view.height))
      let start = view.y + (view.height - length) * region.offset / region.offsetMax
      mark("▐", last, start..<start + length, once: false)
    case .horizontal:
      let rows = view.y..<view.y + view.height
      if region.offset > 0 { mark("‹", view.x, rows, once: true) }
      if region.offset < region.offsetMax { mark("›", last, rows, once: true) }
    }
  }

  private func markStale(_ grid: inout CellGrid, row: Int) {
    grid.restyle(grid.bounds) { $0.attributes.insert(.dim) }
    let color = look.opaque(look.token("color.warning"), over: nil)
    grid.put(
      "↻", column: grid.width - 1, row: row, style: CellStyle(foreground: color, attributes: .bold))
  }
}

extension PlacedNode {
  /// The node, moved up by `rows`.
  fileprivate func moved(up rows: Int) -> PlacedNode {
    var moved = self
    moved.frame.y -= rows
    moved.inner.y -= rows
    moved.clip.y -= rows
    for index in moved.texts.indices { moved.texts[index].frame.y -= rows }
    for index in moved.parts.indices { moved.parts[index].frame.y -= rows }
    moved.separator?.y -= rows
    moved.accessory?.y -= rows
    moved.scroll?.viewport.y -= rows
    for index in moved.dividers.indices { moved.dividers[index].y -= rows }
    return moved
  }
}

/// The style that a node passes to its children.
struct Setting {
  /// The text's colour; nil for the usual one.
  var color: CellColor?
  /// The colour behind it. Nil for the terminal's background.
  var background: CellColor?
  var isDisabled = false
  var isPrivate = false
  var isHeading = false
  /// The keys of the rows that are selected in a table.
  var selectedKeys: Set<String> = []
  /// The attributes that a control, such as a focused button, passes to all its text.
  var attributes: CellAttributes = []
}
