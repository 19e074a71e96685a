import WidgetModel

/// Nodes that have their children beside or below each other.
extension LayoutPass {
  // MARK: - Extents

  func stackExtent(_ index: Int) -> Extent {
    switch nodes[index].facts.style.axis {
    case .horizontal: rowExtent(index)
    case .vertical, .layered: columnExtent(index)
    }
  }

  /// Children below each other, or over each other.
  func columnExtent(_ index: Int) -> Extent {
    var extent = Extent.zero
    for child in nodes[index].flow { extent.formMax(extentInStack(child, vertical: true)) }
    return extent
  }

  private func rowExtent(_ index: Int) -> Extent {
    let facts = nodes[index].facts
    let parts = rowParts(index)
    var extent = parts.reduce(.zero, +)
    let gaps = max(0, parts.count - 1) * rowGap(index)
    if facts.style.distribution == .equal {
      let widest = parts.map(\.ideal).max() ?? 0
      extent.ideal = widest * parts.count
    }
    extent = Extent(ideal: extent.ideal + gaps, firm: extent.firm + gaps, least: extent.least)
    guard facts.style.isScrolling else { return extent }
    return Extent(ideal: extent.ideal, firm: chrome.plot.firm, least: chrome.plot.least)
  }

  /// The gap between the children of a row. With `divider`, at least the width of a line.
  private func rowGap(_ index: Int) -> Int {
    let style = nodes[index].facts.style
    guard isDividedRow(index) else { return style.spacing.width }
    return max(style.spacing.width, chrome.separator)
  }

  private func isDividedRow(_ index: Int) -> Bool {
    nodes[index].facts.style.isDividing && nodes[index].facts.role == .stack
  }

  private func rowParts(_ index: Int) -> [Extent] {
    let itemWidth = nodes[index].facts.style.itemWidth
    var parts: [Extent] = []
    parts.reserveCapacity(nodes[index].flow.count)
    for child in nodes[index].flow {
      parts.append(
        itemWidth.map { Extent(fixed: $0) } ?? extentInStack(child, vertical: false))
    }
    return parts
  }

  /// A space takes room only along the axis of its stack.
  private func extentInStack(_ child: Int, vertical: Bool) -> Extent {
    guard vertical, nodes[child].facts.role == .space, nodes[child].facts.style.width == nil else {
      return nodes[child].extent
    }
    return Extent(fixed: nodes[child].facts.style.margin.horizontal)
  }

  func spaceSize(_ index: Int) -> LayoutSize {
    nodes[index].facts.style.size.map {
      LayoutSize(width: metrics.horizontal($0), height: metrics.vertical($0))
    } ?? chrome.space
  }

  // MARK: - Heights

  mutating func stackHeight(_ index: Int, width: Int) -> Int {
    switch nodes[index].facts.style.axis {
    case .vertical: columnHeight(index, width: width)
    case .horizontal: rowHeight(index, width: width)
    case .layered:
      nodes[index].flow.reduce(0) { most, child in
        max(most, slotHeight(child, in: index, width: width))
      }
    }
  }

  mutating func columnHeight(_ index: Int, width: Int) -> Int {
    let heights = columnHeights(index, width: width)
    let gaps = max(0, heights.count - 1) * nodes[index].facts.style.spacing.height
    return heights.reduce(gaps, +)
  }

  /// The height of each child of a column, with the line below it.
  private mutating func columnHeights(_ index: Int, width: Int) -> [Int] {
    let flow = nodes[index].flow
    var heights: [Int] = []
    heights.reserveCapacity(flow.count)
    for child in flow { heights.append(slotHeight(child, in: index, width: width)) }
    addSeparators(to: &heights, of: index)
    return heights
  }

  /// This is a separate method, because in the loop above the compiler would copy the pass for each
  /// child.
  private func addSeparators(to heights: inout [Int], of index: Int) {
    let flow = nodes[index].flow
    let dividing = nodes[index].facts.style.isDividing && nodes[index].facts.role == .stack
    for (position, child) in flow.enumerated() {
      heights[position] += separatorHeight(
        child, last: position == flow.count - 1, dividing: dividing)
    }
  }

  /// The height of a child in a column, without a line.
  private mutating func slotHeight(_ child: Int, in index: Int, width: Int) -> Int {
    let width = crossWidth(child, in: width, nodes[index].facts.style.crossAlign)
    return height(child, width: width)
  }

  private mutating func rowHeight(_ index: Int, width: Int) -> Int {
    let row = rowWidths(index, width: width)
    let flow = nodes[index].flow
    var height = 0
    for (child, width) in zip(flow, row.widths) {
      height = max(height, heightInRow(child, width: width))
    }
    return height
  }

  private mutating func heightInRow(_ child: Int, width: Int) -> Int {
    if nodes[child].facts.role == .space, nodes[child].facts.style.height == nil { return 0 }
    return height(child, width: width) + separatorHeight(child, last: true, dividing: false)
  }

  // MARK: - Widths

  /// The width that a child takes of a given width.
  func crossWidth(_ child: Int, in width: Int, _ parentAlign: NodeStyle.Alignment?) -> Int {
    let facts = nodes[child].facts
    let ideal = nodes[child].extent.ideal
    guard facts.style.width == nil, alignment(child, parentAlign) == .fill else {
      return min(ideal, width)
    }
    return min(width, facts.style.maxWidth.map { $0 + facts.style.margin.horizontal } ?? width)
  }

  /// The alignment of a child across its parent's axis.
  func alignment(_ child: Int, _ parentAlign: NodeStyle.Alignment?) -> NodeStyle.Alignment {
    let facts = nodes[child].facts
    // The alignment of a label is the alignment of its text.
    if nodes[child].facts.role == .label {
      return facts.style.align != nil ? .fill : parentAlign ?? .fill
    }
    if let align = facts.style.align ?? parentAlign { return align }
    guard !facts.role.fillsColumn else { return .fill }
    return facts.style.accessory == .none && facts.style.separator != .always ? .start : .fill
  }

  /// The widths of a row's children, and the gap between them.
  private mutating func rowWidths(_ index: Int, width: Int) -> (widths: [Int], gap: Int) {
    if let known = nodes[index].rowWidths, known.room == width { return (known.widths, known.gap) }
    let (widths, gap) = dividedWidths(index, width: width)
    nodes[index].rowWidths = (width, widths, gap)
    return (widths, gap)
  }

  private func dividedWidths(_ index: Int, width: Int) -> (widths: [Int], gap: Int) {
    let facts = nodes[index].facts
    let parts = rowParts(index)
    let wanted = rowGap(index)
    if facts.style.isScrolling { return (parts.map(\.ideal), wanted) }
    let gaps = max(0, parts.count - 1) * wanted
    if facts.style.distribution == .equal, let widths = Distribution.equal(parts, to: width - gaps)
    {
      return (widths, wanted)
    }
    var (widths, gap) = Distribution.shrink(parts, to: width, gap: wanted)
    let spare = width - widths.reduce(0, +) - gap * max(0, parts.count - 1)
    if spare > 0 { grow(&widths, of: index, by: spare, vertical: false) }
    return (widths, gap)
  }

  /// Gives spare room along an axis to a stack's children that take some.
  private func grow(_ lengths: inout [Int], of index: Int, by spare: Int, vertical: Bool) {
    let flow = nodes[index].flow
    var shares = [Double](repeating: 0, count: flow.count)
    var isAny = false
    for (position, child) in flow.enumerated() {
      let facts = nodes[child].facts
      let length = vertical ? facts.style.height : facts.style.width
      if facts.style.grow > 0 {
        shares[position] = facts.style.grow
      } else if facts.role == .space, facts.style.size == nil, length == nil {
        shares[position] = 1
      }
      if shares[position] > 0 { isAny = true }
    }
    let distribution = nodes[index].facts.style.distribution
    if !isAny, distribution == .fill || distribution == .equal {
      for (position, child) in flow.enumerated() {
        let style = nodes[child].facts.style
        if (vertical ? style.height : style.width) == nil { shares[position] = 1 }
      }
      isAny = true
    }
    guard isAny else { return }
    var most: [Int?] = []
    for child in flow {
      let style = nodes[child].facts.style
      most.append(
        vertical
          ? style.maxHeight.map { $0 + style.margin.vertical }
          : style.maxWidth.map { $0 + style.margin.horizontal })
    }
    Distribution.grow(&lengths, by: spare, shares: shares, most: most)
  }

  // MARK: - Places

  mutating func placeStack(_ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int) {
    switch nodes[index].facts.style.axis {
    case .vertical: placeColumn(index, in: inner, clip: clip, node: node)
    case .horizontal: placeRow(index, in: inner, clip: clip, node: node)
    case .layered: placeLayers(index, in: inner, clip: clip)
    }
  }

  mutating func placeColumn(_ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int) {
    let facts = nodes[index].facts
    let flow = nodes[index].flow
    var heights = columnHeights(index, width: inner.width)
    let gaps = max(0, flow.count - 1) * facts.style.spacing.height
    let total = heights.reduce(gaps, +)
    var (start, extra) = (0, Spread())
    var clip = clip
    var offset = 0
    let dividing = facts.style.isDividing && nodes[index].facts.role == .stack
    if total < inner.height {
      grow(&heights, of: index, by: inner.height - total, vertical: true)
      let spare = inner.height - heights.reduce(gaps, +)
      (start, extra) = spread(spare, facts.style.distribution, flow.count)
    } else if total > inner.height {
      if facts.style.isScrolling, nodes[index].facts.role == .stack {
        var y = 0
        let starts = heights.map { height in
          defer { y += height + facts.style.spacing.height }
          return y
        }
        offset = scrollRegion(
          index, .vertical, inner, contentLength: total, children: zip(starts, heights), node: node)
        clip = inner.intersection(clip)
      } else {
        shrinkHeights(&heights, of: flow, to: inner.height - gaps)
        if heights.reduce(gaps, +) > inner.height { result.isClipped = true }
      }
    }
    var y = inner.y + start - offset
    for (position, child) in flow.enumerated() {
      let width = crossWidth(child, in: inner.width, facts.style.crossAlign)
      let separator = separatorHeight(
        child, last: position == flow.count - 1, dividing: dividing)
      let row = LayoutRect(x: inner.x, y: y, width: inner.width, height: heights[position])
      let rect = row.aligned(
        LayoutSize(width: width, height: heights[position]),
        alignment(child, facts.style.crossAlign))
      place(
        child,
        Slot(rect: rect, clip: clip, align: facts.style.crossAlign, hasSeparator: separator > 0))
      y += heights[position] + facts.style.spacing.height + extra.next()
    }
  }

  /// A node that can be scrolled shrinks for the others, down to a few lines.
  private func shrinkHeights(_ heights: inout [Int], of flow: [Int], to room: Int) {
    let parts = zip(flow, heights).map { child, height in
      guard nodes[child].isShrinkable else { return Extent(fixed: height) }
      let least = max(chrome.scrollLeast, nodes[child].facts.style.minHeight)
      return Extent(ideal: height, firm: least, least: least)
    }
    let least = parts.reduce(0) { $0 + $1.firm }
    heights =
      least <= room
      ? Distribution.level(heights, floors: parts.map(\.firm), to: room) : parts.map(\.firm)
  }

  private mutating func placeRow(_ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int) {
    let facts = nodes[index].facts
    let flow = nodes[index].flow
    let (widths, gap) = rowWidths(index, width: inner.width)
    let total = widths.reduce(gap * max(0, flow.count - 1), +)
    var (start, extra) = (0, Spread())
    var clip = clip
    var offset = 0
    if total < inner.width {
      (start, extra) = spread(inner.width - total, facts.style.distribution, flow.count)
    } else if total > inner.width {
      // Only scrolled content is larger than the room.
      var x = 0
      let starts = widths.map { width in
        defer { x += width + gap }
        return x
      }
      offset = scrollRegion(
        index, .horizontal, inner, contentLength: total, children: zip(starts, widths), node: node)
      clip = inner.intersection(clip)
    }
    var x = inner.x + start - offset
    for (position, child) in flow.enumerated() {
      let width = widths[position]
      let natural = heightInRow(child, width: width)
      let align =
        (nodes[child].facts.role == .label ? nil : nodes[child].facts.style.align) ?? facts.style
        .crossAlign
        ?? .center
      // A node that can be scrolled gets at most the available room.
      let isWhole = align == .fill || nodes[child].isShrinkable || nodes[child].facts.role == .space
      let height = isWhole && nodes[child].facts.style.height == nil ? inner.height : natural
      let spare = max(0, inner.height - height)
      let y = inner.y + (align == .end ? spare : align == .center ? spare / 2 : 0)
      if height > inner.height { result.isClipped = true }
      let separator = separatorHeight(child, last: true, dividing: false)
      place(
        child,
        Slot(
          rect: LayoutRect(x: x, y: y, width: width, height: min(height, inner.height)),
          clip: clip, hasSeparator: separator > 0))
      let room = gap + extra.next()
      if position < flow.count - 1, isDividedRow(index), room >= chrome.separator {
        let line = LayoutRect(
          x: x + width + (room - chrome.separator) / 2, y: inner.y, width: chrome.separator,
          height: inner.height
        ).intersection(clip)
        if !line.isEmpty { result.placed[node].dividers.append(line) }
      }
      x += width + room
    }
  }

  private mutating func placeLayers(_ index: Int, in inner: LayoutRect, clip: LayoutRect) {
    let facts = nodes[index].facts
    for child in nodes[index].flow {
      let width = crossWidth(child, in: inner.width, facts.style.crossAlign)
      let separator = separatorHeight(child, last: true, dividing: false)
      let natural = height(child, width: width) + separator
      let isWhole =
        facts.style.distribution == .fill || nodes[child].isShrinkable
        || nodes[child].facts.style.grow > 0
      if natural > inner.height, !nodes[child].isShrinkable { result.isClipped = true }
      let height = isWhole ? inner.height : min(natural, inner.height)
      var rect = inner.aligned(
        LayoutSize(width: width, height: height), alignment(child, facts.style.crossAlign))
      rect.y += spread(inner.height - height, facts.style.distribution, 1).start
      place(
        child,
        Slot(rect: rect, clip: clip, align: facts.style.crossAlign, hasSeparator: separator > 0))
    }
  }

  /// The start of the first item, and the gap that is added between items.
  private func spread(
    _ spare: Int, _ distribution: NodeStyle.Distribution, _ count: Int
  ) -> (start: Int, extra: Spread) {
    guard spare > 0 else { return (0, Spread()) }
    switch distribution {
    case .start, .fill, .equal: return (0, Spread())
    case .center: return (spare / 2, Spread())
    case .end: return (spare, Spread())
    case .between: return (0, count > 1 ? Spread(room: spare, gaps: count - 1) : Spread())
    }
  }

  /// Room that is shared evenly among gaps.
  struct Spread {
    var room = 0
    var gaps = 0

    mutating func next() -> Int {
      guard gaps > 0 else { return 0 }
      let share = room / gaps
      (room, gaps) = (room - share, gaps - 1)
      return share
    }
  }

  /// Records that a node can be scrolled. Returns its scroll offset.
  ///
  /// - Parameter children: The start and the length of each child in the content.
  mutating func scrollRegion(
    _ index: Int, _ axis: ScrollRegion.Axis, _ viewport: LayoutRect, contentLength: Int,
    children: Zip2Sequence<[Int], [Int]>, node: Int
  ) -> Int {
    var region = ScrollRegion(
      index: index, id: nodes[index].facts.id, axis: axis, viewport: viewport, offset: 0,
      contentLength: contentLength, pages: [])
    region.offset = min(max(0, scroll[region.id] ?? 0), region.offsetMax)
    if nodes[index].facts.style.isPaging {
      region.setPages(children)
    }
    result.scrollRegions.append(region)
    result.placed[node].scroll = region
    return region.offset
  }
}
