import WidgetModel

/// Nodes that have their children in columns.
extension LayoutPass {
  // MARK: - Grids

  /// The maximum number of columns of a grid.
  static var gridColumnsMax: Int { 64 }

  private func gridColumns(_ index: Int) -> [Extent] {
    let flow = nodes[index].flow
    let count = min(nodes[index].facts.content.count, flow.count)
    var columns = [Extent](repeating: .zero, count: count)
    for (position, child) in flow.enumerated() {
      columns[position % count].formMax(nodes[child].extent)
    }
    return columns
  }

  func gridExtent(_ index: Int) -> Extent {
    let columns = gridColumns(index)
    let gaps = max(0, columns.count - 1) * nodes[index].facts.style.spacing.width
    let sum = columns.reduce(.zero, +)
    return Extent(ideal: sum.ideal + gaps, firm: sum.firm + gaps, least: sum.least)
  }

  private func gridWidths(_ index: Int, width: Int) -> (widths: [Int], gap: Int) {
    let columns = gridColumns(index)
    var (widths, gap) = Distribution.shrink(
      columns, to: width, gap: nodes[index].facts.style.spacing.width)
    let spare = width - widths.reduce(gap * max(0, widths.count - 1), +)
    if spare > 0 {
      var shares = [Double](repeating: 0, count: widths.count)
      for (position, child) in nodes[index].flow.enumerated() {
        shares[position % shares.count] = max(
          shares[position % shares.count], nodes[child].facts.style.grow)
      }
      Distribution.grow(
        &widths, by: spare, shares: shares, most: [Int?](repeating: nil, count: widths.count))
    }
    return (widths, gap)
  }

  /// The width that a cell takes of its column.
  private func cellWidth(_ child: Int, in width: Int, _ align: NodeStyle.Alignment?) -> Int {
    crossWidth(child, in: width, nodes[child].facts.role == .label ? nil : align)
  }

  private mutating func cellHeight(
    _ child: Int, in width: Int, _ align: NodeStyle.Alignment?
  ) -> Int {
    guard nodes[child].isShown else { return 0 }
    return height(child, width: cellWidth(child, in: width, align))
      + separatorHeight(child, last: true, dividing: false)
  }

  private mutating func gridHeights(_ index: Int, _ widths: [Int]) -> [Int] {
    guard !widths.isEmpty else { return [] }
    let align = nodes[index].facts.style.crossAlign
    let flow = nodes[index].flow
    var heights = [Int](repeating: 0, count: (flow.count + widths.count - 1) / widths.count)
    for (position, child) in flow.enumerated() {
      let width = widths[position % widths.count]
      heights[position / widths.count] = max(
        heights[position / widths.count], cellHeight(child, in: width, align))
    }
    return heights
  }

  mutating func gridHeight(_ index: Int, width: Int) -> Int {
    let heights = gridHeights(index, gridWidths(index, width: width).widths)
    return heights.reduce(max(0, heights.count - 1) * nodes[index].facts.style.spacing.height, +)
  }

  mutating func placeGrid(_ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int) {
    let facts = nodes[index].facts
    let (widths, gap) = gridWidths(index, width: inner.width)
    let heights = gridHeights(index, widths)
    let columns = Self.spans(widths, from: inner.x, gap: gap)
    result.placed[node].columns = columns
    var y = inner.y
    for (position, child) in nodes[index].flow.enumerated() {
      let (row, column) = (position / widths.count, position % widths.count)
      let cell = LayoutRect(
        x: columns[column].start, y: y, width: columns[column].length, height: heights[row])
      placeCell(child, in: cell, facts.style.crossAlign, clip: clip)
      if column == widths.count - 1 { y += heights[row] + facts.style.spacing.height }
    }
    let total = heights.reduce(max(0, heights.count - 1) * facts.style.spacing.height, +)
    if total > inner.height { result.isClipped = true }
  }

  /// - Parameter centers: whether a child that is lower than its cell is centred in it.
  private mutating func placeCell(
    _ child: Int, in cell: LayoutRect, _ align: NodeStyle.Alignment?, clip: LayoutRect,
    centers: Bool = false
  ) {
    guard nodes[child].isShown else { return }
    let width = cellWidth(child, in: cell.width, align)
    let natural = cellHeight(child, in: cell.width, align)
    let isWhole = nodes[child].isShrinkable || nodes[child].facts.style.align == .fill
    let size = LayoutSize(width: width, height: isWhole ? cell.height : min(natural, cell.height))
    let separator = separatorHeight(child, last: true, dividing: false)
    var rect = cell.aligned(size, nodes[child].facts.style.align ?? align)
    if centers { rect.y += (cell.height - size.height) / 2 }
    place(child, Slot(rect: rect, clip: clip, align: align, hasSeparator: separator > 0))
  }

  private static func spans(_ widths: [Int], from start: Int, gap: Int) -> [LayoutSpan] {
    var x = start
    return widths.map { width in
      defer { x += width + gap }
      return LayoutSpan(start: x, length: width)
    }
  }

  // MARK: - Tables

  mutating func tableExtent(_ index: Int) -> Extent {
    var rows = readColumns(index)
    var spanning = textExtent(nodes[index].facts.content.paragraphsWidth) + 2 * headingInset
    for row in nodes[index].flow {
      guard nodes[row].isRow else {
        spanning.formMax(nodes[row].extent)
        continue
      }
      let facts = nodes[row].facts
      rows.accessoryWidth = max(rows.accessoryWidth, accessoryWidth(row))
      rows.insets.leading = max(
        rows.insets.leading, facts.style.padding.leading + facts.style.margin.leading)
      rows.insets.trailing = max(
        rows.insets.trailing, facts.style.padding.trailing + facts.style.margin.trailing)
      for (position, cell) in nodes[row].flow.enumerated() {
        if position == rows.columns.count { rows.columns.append(TableRows.Column()) }
        rows.columns[position].extent.formMax(nodes[cell].extent)
        let hasWidth = rows.columns[position].width != nil || nodes[cell].facts.style.width != nil
        if nodes[cell].isOneLine != hasWidth { setOneLine(hasWidth, cell, in: row) }
        guard nodes[cell].isShown else { continue }
        let isNumeric = nodes[cell].facts.content.isNumeric
        rows.columns[position].isNumeric = isNumeric && rows.columns[position].isNumeric != false
        if !isNumeric, nodes[cell].facts.role == .label { rows.columns[position].isText = true }
      }
    }
    for position in rows.columns.indices {
      let column = rows.columns[position]
      if column.titleWidth > 0 {
        rows.columns[position].extent.formMax(textExtent(column.titleWidth) + 2 * headingInset)
      }
      if let width = column.width {
        rows.columns[position].extent.fix(at: max(width, controlsLeast(in: position, of: index)))
      }
    }
    nodes[index].rows = rows
    var extent = rows.columns.reduce(.zero) { $0 + $1.extent }
    extent = extent + (rows.insets.horizontal + rows.accessoryWidth)
    extent.formMax(spanning)
    return extent
  }

  /// The minimum width of the buttons and other controls in a column. 0 if the column has none.
  private func controlsLeast(in column: Int, of index: Int) -> Int {
    nodes[index].flow.reduce(0) { most, row in
      guard nodes[row].isRow, column < nodes[row].flow.count else { return most }
      let cell = nodes[row].flow[column]
      return hasControl(cell) ? max(most, nodes[cell].extent.least) : most
    }
  }

  private func hasControl(_ index: Int) -> Bool {
    if nodes[index].facts.role.isControl { return nodes[index].isShown }
    return nodes[index].flow.contains { hasControl($0) }
  }

  /// Drops the cached data that depends on whether a cell is cut or wrapped.
  private mutating func setOneLine(_ isOneLine: Bool, _ cell: Int, in row: Int) {
    nodes[cell].isOneLine = isOneLine
    nodes[cell].lines = nil
    nodes[cell].heights = HeightCache()
    nodes[cell].isPlaced = false
    nodes[row].rowHeight = nil
    nodes[row].isPlaced = false
  }

  /// Headings begin at the same place as the text of cells.
  private var headingInset: Int { metrics.horizontal(NodeStyle.leafPaddingPoints) }

  private func readColumns(_ index: Int) -> TableRows {
    var rows = TableRows()
    guard let node = table[index]?.node else { return rows }
    let facts = nodes[index].facts
    for value in node.list("columns") {
      var column = TableRows.Column()
      if case .map(let map) = value {
        column.title = DisplayText.onOneLine(map["title"]?.scalarText ?? "")
        column.align = NodeStyle.alignment(map["align"])
        column.width = metrics.horizontal(map["width"])
        column.grow = min(max(0, map["grow"]?.number ?? 0), NodeStyle.growMax)
      } else {
        column.title = DisplayText.onOneLine(value.scalarText)
      }
      column.titleWidth = metrics.width(of: column.title, font: facts.style.font)
      rows.columns.append(column)
    }
    rows.hasHeadings = rows.columns.contains { $0.titleWidth > 0 }
    rows.hasMore = node.bool("more") ?? false
    rows.selects =
      ["single", "multiple"].contains(node.text("selection")) || node.bool("deletable") == true
    return rows
  }

  private func tableWidths(_ rows: TableRows, width: Int) -> TableWidths {
    let accessory = min(rows.accessoryWidth, width)
    let inside = LayoutSize(width: width - accessory, height: 0)
    let insets = fitting(rows.insets, in: inside)
    let room = max(0, inside.width - insets.horizontal)
    let extents = rows.columns.map(\.extent)
    var widths = Distribution.shrink(extents, to: room, gap: 0).lengths
    let spare = room - widths.reduce(0, +)
    if spare > 0 {
      var shares = rows.columns.map { $0.width == nil ? $0.grow : 0 }
      // The last column of text takes the remaining room, so that rows end at the table's end, and
      // words stay together.
      if shares.allSatisfy({ $0 == 0 }),
        let text = rows.columns.lastIndex(where: { $0.width == nil && $0.isText })
      {
        shares[text] = 1
      }
      Distribution.grow(
        &widths, by: spare, shares: shares,
        most: [Int?](repeating: nil, count: widths.count))
    }
    return TableWidths(columns: widths, insets: insets, accessory: accessory)
  }

  private func headingHeight(_ index: Int, _ rows: TableRows) -> Int {
    guard rows.hasHeadings else { return 0 }
    return lineHeight(index) + (nodes[index].facts.style.isDividing ? chrome.separator : 0)
  }

  /// The height of each row, with the line below it.
  private mutating func tableHeights(
    _ index: Int, _ rows: TableRows, _ widths: [Int], width: Int
  ) -> [Int] {
    if let known = rows.heights, known.width == width { return known.heights }
    let shape = RowShape(widths: widths, alignments: rows.columns.map(\.alignment))
    let flow = nodes[index].flow
    var heights: [Int] = []
    heights.reserveCapacity(flow.count)
    for (position, row) in flow.enumerated() {
      let separator = separatorHeight(
        row, last: position == flow.count - 1, dividing: nodes[index].facts.style.isDividing)
      guard nodes[row].isRow else {
        heights.append(height(row, width: width) + separator)
        continue
      }
      heights.append(rowHeight(row, shape) + separator)
    }
    nodes[index].rows?.heights = (width, heights)
    return heights
  }

  /// The height of a row for given column widths.
  private mutating func rowHeight(_ row: Int, _ shape: RowShape) -> Int {
    if let known = nodes[row].rowHeight, known.shape == shape { return known.height }
    let style = nodes[row].facts.style
    // An empty row has a line, too.
    var height = lineHeight(row)
    for (column, cell) in nodes[row].flow.enumerated() {
      height = max(
        height, cellHeight(cell, in: shape.widths[column], shape.alignments[column]))
    }
    if let accessory = nodes[row].accessoryChild {
      height = max(height, self.height(accessory, width: nodes[accessory].extent.ideal))
    }
    height += style.padding.vertical
    height = min(max(style.height ?? height, style.minHeight), style.maxHeight ?? .max)
    height += style.margin.vertical
    nodes[row].rowHeight = (shape, height)
    return height
  }

  private mutating func emptyHeight(_ index: Int, width: Int) -> Int {
    guard nodes[index].flow.isEmpty, !nodes[index].facts.content.paragraphs.isEmpty else {
      return 0
    }
    return wrapped(index, width: max(0, width - 2 * headingInset)).lines.count * lineHeight(index)
  }

  mutating func tableHeight(_ index: Int, width: Int) -> Int {
    guard let rows = nodes[index].rows else { return 0 }
    let widths = tableWidths(rows, width: width).columns
    let heights = tableHeights(index, rows, widths, width: width)
    return heights.reduce(headingHeight(index, rows), +) + emptyHeight(index, width: width)
      + (rows.hasMore ? lineHeight(index) : 0)
  }

  mutating func placeTable(_ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int) {
    guard let rows = nodes[index].rows else { return }
    let widths = tableWidths(rows, width: inner.width)
    let columns = Self.spans(widths.columns, from: inner.x + widths.insets.leading, gap: 0)
    result.placed[node].columns = columns
    let heading = headingHeight(index, rows)
    placeHeadings(index, rows, columns, in: inner, node: node)
    // Headings do not move when rows are scrolled. Headings may be higher than the available room.
    let start = inner.y + heading
    let below = inner.inset(LayoutEdges(top: heading))
    let clip = clip.intersection(below)
    let heights = tableHeights(index, rows, widths.columns, width: inner.width)
    let line = lineHeight(index)
    let total = heights.reduce(rows.hasMore ? line : 0, +) + emptyHeight(index, width: inner.width)
    var y = start
    if total > below.height, !nodes[index].facts.style.isScrolling {
      result.isClipped = true
    } else if total > below.height {
      var top = 0
      let starts = heights.map { height in
        defer { top += height }
        return top
      }
      y -= scrollRegion(
        index, .vertical, below, contentLength: total, children: zip(starts, heights), node: node)
    }
    let plan = RowPlan(
      columns: columns, alignments: rows.columns.map(\.alignment),
      insets: widths.insets, accessoryWidth: widths.accessory, selects: rows.selects)
    for (position, row) in nodes[index].flow.enumerated() {
      let separator = separatorHeight(
        row, last: position == heights.count - 1, dividing: nodes[index].facts.style.isDividing)
      let rect = LayoutRect(x: inner.x, y: y, width: inner.width, height: heights[position])
      let slot = Slot(
        rect: rect, clip: clip, hasSeparator: separator > 0,
        row: nodes[row].isRow ? plan : nil)
      if nodes[row].isRow {
        placing(row, slot) { $0.placeRow(row, slot, plan) }
      } else {
        place(row, slot)
      }
      y += heights[position]
    }
    let text = LayoutRect(x: inner.x, y: y, width: inner.width, height: line).inset(
      LayoutEdges(leading: headingInset, trailing: headingInset))
    if emptyHeight(index, width: inner.width) > 0 {
      for (position, wrapped) in wrapped(index, width: text.width).lines.enumerated() {
        if y >= start {
          result.placed[node].texts += self.text(
            String(wrapped.text), index, in: text.line(position * line, line), nil, .placeholder)
        }
        y += line
      }
    }
    if rows.hasMore, y >= start {
      result.placed[node].parts.append(
        PlacedPart(.more, LayoutRect(x: text.x, y: y, width: text.width, height: line)))
    }
  }

  private mutating func placeHeadings(
    _ index: Int, _ rows: TableRows, _ columns: [LayoutSpan], in inner: LayoutRect, node: Int
  ) {
    guard rows.hasHeadings else { return }
    let line = lineHeight(index)
    for (position, column) in rows.columns.enumerated() {
      let cell = LayoutRect(
        x: columns[position].start, y: inner.y, width: columns[position].length, height: line
      ).inset(LayoutEdges(leading: headingInset, trailing: headingInset))
      result.placed[node].texts += self.text(
        column.title, index, in: cell, column.alignment, .heading, item: position)
    }
    if nodes[index].facts.style.isDividing {
      result.placed[node].parts.append(
        PlacedPart(
          .headingSeparator,
          LayoutRect(x: inner.x, y: inner.y + line, width: inner.width, height: chrome.separator)))
    }
  }

  private mutating func placeRow(_ row: Int, _ slot: Slot, _ plan: RowPlan) {
    let facts = nodes[row].facts
    var (margin, padding) = (facts.style.margin, facts.style.padding)
    margin.leading = min(margin.leading, plan.insets.leading)
    margin.trailing = min(margin.trailing, plan.insets.trailing)
    padding.leading = min(padding.leading, plan.insets.leading - margin.leading)
    padding.trailing = min(padding.trailing, plan.insets.trailing - margin.trailing)
    let frame = slot.rect.inset(margin)
    let separator = slot.hasSeparator ? min(chrome.separator, frame.height) : 0
    let seen = frame.intersection(slot.clip)
    let outer = frame.inset(LayoutEdges(bottom: separator, trailing: plan.accessoryWidth))
    let inner = outer.inset(padding)
    var placed = PlacedNode(
      index: row, id: nodes[row].facts.id, type: nodes[row].facts.type, frame: frame, inner: inner,
      clip: seen)
    if separator > 0 {
      placed.separator = LayoutRect(
        x: frame.x, y: frame.endY - separator, width: frame.width, height: separator
      ).inset(
        LayoutEdges(
          leading: facts.style.separatorInsets.leading,
          trailing: facts.style.separatorInsets.trailing))
    }
    let accessory = LayoutRect(
      x: outer.endX, y: inner.y, width: min(plan.accessoryWidth, frame.width - outer.width),
      height: inner.height)
    if facts.style.accessory == .mark {
      placed.accessory = LayoutRect(
        x: accessory.x, y: accessory.y, width: min(chrome.accessory, accessory.width),
        height: min(lineHeight(row), inner.height))
    }
    result.placed.append(placed)
    if plan.selects, nodes[row].facts.content.canFocus {
      result.focusable.append(
        FocusTarget(index: row, id: nodes[row].facts.id, kind: .row, frame: frame, clip: seen))
    } else if nodes[row].facts.content.isPressable {
      result.focusable.append(
        FocusTarget(index: row, id: nodes[row].facts.id, kind: .control, frame: frame, clip: seen))
    }
    let inside = seen.intersection(inner)
    for (position, cell) in nodes[row].flow.enumerated() {
      let column = plan.columns[position]
      let rect = LayoutRect(
        x: column.start, y: inner.y, width: column.length, height: inner.height)
      placeCell(cell, in: rect, plan.alignments[position], clip: inside, centers: true)
    }
    if let child = nodes[row].accessoryChild {
      let width = min(nodes[child].extent.ideal, accessory.width)
      let height = min(height(child, width: width), accessory.height)
      place(
        child,
        Slot(
          rect: LayoutRect(x: accessory.x, y: accessory.y, width: width, height: height),
          clip: accessory.intersection(seen)))
    }
  }
}
