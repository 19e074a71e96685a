import WidgetModel

/// Nodes that have their children beside or below each other.
extension LayoutPass {
  // MARK: - Extents

  func stackExtent(_ index: Int) -> Extent {
    switch nodes[index].style.axis {
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
    let style = nodes[index].style
    let parts = rowParts(index)
    var extent = parts.reduce(.zero, +)
    let gaps = max(0, parts.count - 1) * style.spacing.width
    if style.distribution == .equal {
      let widest = parts.map(\.ideal).max() ?? 0
      extent.ideal = widest * parts.count
    }
    extent = Extent(ideal: extent.ideal + gaps, firm: extent.firm + gaps, least: extent.least)
    guard style.isScrolling else { return extent }
    return Extent(ideal: extent.ideal, firm: chrome.plot.firm, least: chrome.plot.least)
  }

  private func rowParts(_ index: Int) -> [Extent] {
    let itemWidth = nodes[index].style.itemWidth
    return nodes[index].flow.map { child in
      itemWidth.map { Extent(fixed: $0) } ?? extentInStack(child, vertical: false)
    }
  }

  /// A space takes room along the axis of its stack alone.
  private func extentInStack(_ child: Int, vertical: Bool) -> Extent {
    guard vertical, nodes[child].type == .space, nodes[child].style.width == nil else {
      return nodes[child].extent
    }
    return Extent(fixed: nodes[child].style.margin.horizontal)
  }

  func spaceSize(_ index: Int) -> LayoutSize {
    nodes[index].style.size.map {
      LayoutSize(width: metrics.horizontal($0), height: metrics.vertical($0))
    } ?? chrome.space
  }

  // MARK: - Heights

  mutating func stackHeight(_ index: Int, width: Int) -> Int {
    switch nodes[index].style.axis {
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
    let gaps = max(0, heights.count - 1) * nodes[index].style.spacing.height
    return heights.reduce(gaps, +)
  }

  /// What each child of a column takes, with the line below it.
  private mutating func columnHeights(_ index: Int, width: Int) -> [Int] {
    let flow = nodes[index].flow
    let dividing = nodes[index].style.isDividing && nodes[index].type == .stack
    var heights: [Int] = []
    heights.reserveCapacity(flow.count)
    for (position, child) in flow.enumerated() {
      heights.append(
        slotHeight(child, in: index, width: width)
          + separatorHeight(child, last: position == flow.count - 1, dividing: dividing))
    }
    return heights
  }

  /// What a child takes in a column, without a line.
  private mutating func slotHeight(_ child: Int, in index: Int, width: Int) -> Int {
    height(child, width: crossWidth(child, in: width, nodes[index].style.crossAlign))
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
    if nodes[child].type == .space, nodes[child].style.height == nil { return 0 }
    return height(child, width: width) + separatorHeight(child, last: true, dividing: false)
  }

  // MARK: - Widths

  /// What a child takes of a width that it has for itself.
  func crossWidth(_ child: Int, in width: Int, _ parentAlign: NodeStyle.Alignment?) -> Int {
    let style = nodes[child].style
    let ideal = nodes[child].extent.ideal
    guard style.width == nil, alignment(child, parentAlign) == .fill else {
      return min(ideal, width)
    }
    return min(width, style.maxWidth.map { $0 + style.margin.horizontal } ?? width)
  }

  /// How a child lies across its parent's axis.
  func alignment(_ child: Int, _ parentAlign: NodeStyle.Alignment?) -> NodeStyle.Alignment {
    let style = nodes[child].style
    // How a label is aligned is how its text is.
    if nodes[child].type == .label { return style.align != nil ? .fill : parentAlign ?? .fill }
    if let align = style.align ?? parentAlign { return align }
    switch nodes[child].type {
    case .button, .toggle, .gauge, .image, .date, .spinner, .link:
      return style.accessory == .none && style.separator != .always ? .start : .fill
    default: return .fill
    }
  }

  /// The widths of a row's children, and the gap between them.
  private func rowWidths(_ index: Int, width: Int) -> (widths: [Int], gap: Int) {
    let style = nodes[index].style
    let parts = rowParts(index)
    if style.isScrolling { return (parts.map(\.ideal), style.spacing.width) }
    let gaps = max(0, parts.count - 1) * style.spacing.width
    if style.distribution == .equal, let widths = Distribution.equal(parts, to: width - gaps) {
      return (widths, style.spacing.width)
    }
    var (widths, gap) = Distribution.shrink(parts, to: width, gap: style.spacing.width)
    let spare = width - widths.reduce(0, +) - gap * max(0, parts.count - 1)
    if spare > 0 {
      Distribution.grow(
        &widths, by: spare, shares: shares(index, of: { $0.width }),
        most: nodes[index].flow.map { child in
          nodes[child].style.maxWidth.map { $0 + nodes[child].style.margin.horizontal }
        })
    }
    return (widths, gap)
  }

  /// The shares of spare room that a stack's children get along its axis.
  private func shares(_ index: Int, of size: (NodeStyle) -> Int?) -> [Double] {
    let flow = nodes[index].flow
    let shares = flow.map { child -> Double in
      let style = nodes[child].style
      if style.grow > 0 { return style.grow }
      return nodes[child].type == .space && style.size == nil && size(style) == nil ? 1 : 0
    }
    let distribution = nodes[index].style.distribution
    guard distribution == .fill || distribution == .equal, shares.allSatisfy({ $0 == 0 }) else {
      return shares
    }
    return flow.map { size(nodes[$0].style) == nil ? 1 : 0 }
  }

  // MARK: - Places

  mutating func placeStack(_ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int) {
    switch nodes[index].style.axis {
    case .vertical: placeColumn(index, in: inner, clip: clip, node: node)
    case .horizontal: placeRow(index, in: inner, clip: clip, node: node)
    case .layered: placeLayers(index, in: inner, clip: clip)
    }
  }

  mutating func placeColumn(_ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int) {
    let style = nodes[index].style
    let flow = nodes[index].flow
    var heights = columnHeights(index, width: inner.width)
    let gaps = max(0, flow.count - 1) * style.spacing.height
    let total = heights.reduce(gaps, +)
    var (start, extra) = (0, Spread())
    var clip = clip
    var offset = 0
    let dividing = style.isDividing && nodes[index].type == .stack
    if total < inner.height {
      let shares = shares(index, of: { $0.height })
      Distribution.grow(
        &heights, by: inner.height - total, shares: shares,
        most: flow.map { child in
          nodes[child].style.maxHeight.map { $0 + nodes[child].style.margin.vertical }
        })
      let spare = inner.height - heights.reduce(gaps, +)
      (start, extra) = spread(spare, style.distribution, flow.count)
    } else if total > inner.height {
      if style.isScrolling, nodes[index].type == .stack {
        var y = 0
        let starts = heights.map { height in
          defer { y += height + style.spacing.height }
          return y
        }
        offset = scrollRegion(
          index, .vertical, inner, contentLength: total, starts: starts, clip: clip, node: node)
        clip = inner.intersection(clip)
      } else {
        shrinkHeights(&heights, of: flow, to: inner.height - gaps)
        if heights.reduce(gaps, +) > inner.height { result.isClipped = true }
      }
    }
    var y = inner.y + start - offset
    for (position, child) in flow.enumerated() {
      let width = crossWidth(child, in: inner.width, style.crossAlign)
      let separator = separatorHeight(
        child, last: position == flow.count - 1, dividing: dividing)
      let row = LayoutRect(x: inner.x, y: y, width: inner.width, height: heights[position])
      let rect = row.aligned(
        LayoutSize(width: width, height: heights[position]), alignment(child, style.crossAlign))
      place(
        child, Slot(rect: rect, clip: clip, align: style.crossAlign, hasSeparator: separator > 0))
      y += heights[position] + style.spacing.height + extra.next()
    }
  }

  /// What can be scrolled gives up room for the others, down to a few lines.
  private func shrinkHeights(_ heights: inout [Int], of flow: [Int], to room: Int) {
    let parts = zip(flow, heights).map { child, height in
      guard nodes[child].isShrinkable else { return Extent(fixed: height) }
      let least = max(chrome.scrollLeast, nodes[child].style.minHeight)
      return Extent(ideal: height, firm: least, least: least)
    }
    let least = parts.reduce(0) { $0 + $1.firm }
    heights =
      least <= room
      ? Distribution.level(heights, floors: parts.map(\.firm), to: room) : parts.map(\.firm)
  }

  private mutating func placeRow(_ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int) {
    let style = nodes[index].style
    let flow = nodes[index].flow
    let (widths, gap) = rowWidths(index, width: inner.width)
    let total = widths.reduce(gap * max(0, flow.count - 1), +)
    var (start, extra) = (0, Spread())
    var clip = clip
    var offset = 0
    if total < inner.width {
      (start, extra) = spread(inner.width - total, style.distribution, flow.count)
    } else if total > inner.width {
      // Only what scrolls takes more than there is.
      var x = 0
      let starts = widths.map { width in
        defer { x += width + gap }
        return x
      }
      offset = scrollRegion(
        index, .horizontal, inner, contentLength: total, starts: starts, clip: clip, node: node)
      clip = inner.intersection(clip)
    }
    var x = inner.x + start - offset
    for (position, child) in flow.enumerated() {
      let width = widths[position]
      let natural = heightInRow(child, width: width)
      let align =
        (nodes[child].type == .label ? nil : nodes[child].style.align) ?? style.crossAlign
        ?? .center
      // What can be scrolled has no more room than there is.
      let isWhole = align == .fill || nodes[child].isShrinkable || nodes[child].type == .space
      let height = isWhole && nodes[child].style.height == nil ? inner.height : natural
      let spare = max(0, inner.height - height)
      let y = inner.y + (align == .end ? spare : align == .center ? spare / 2 : 0)
      if height > inner.height { result.isClipped = true }
      let separator = separatorHeight(child, last: true, dividing: false)
      place(
        child,
        Slot(
          rect: LayoutRect(x: x, y: y, width: width, height: min(height, inner.height)),
          clip: clip, hasSeparator: separator > 0))
      x += width + gap + extra.next()
    }
  }

  private mutating func placeLayers(_ index: Int, in inner: LayoutRect, clip: LayoutRect) {
    let style = nodes[index].style
    for child in nodes[index].flow {
      let width = crossWidth(child, in: inner.width, style.crossAlign)
      let separator = separatorHeight(child, last: true, dividing: false)
      let natural = height(child, width: width) + separator
      let isWhole =
        style.distribution == .fill || nodes[child].isShrinkable || nodes[child].style.grow > 0
      if natural > inner.height, !nodes[child].isShrinkable { result.isClipped = true }
      let height = isWhole ? inner.height : min(natural, inner.height)
      var rect = inner.aligned(
        LayoutSize(width: width, height: height), alignment(child, style.crossAlign))
      rect.y += spread(inner.height - height, style.distribution, 1).start
      place(
        child, Slot(rect: rect, clip: clip, align: style.crossAlign, hasSeparator: separator > 0))
    }
  }

  /// Where the first of several begins, and what is added between them.
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

  /// Says that a node can be scrolled; returns how far it is.
  mutating func scrollRegion(
    _ index: Int, _ axis: ScrollRegion.Axis, _ viewport: LayoutRect, contentLength: Int,
    starts: [Int], clip: LayoutRect, node: Int
  ) -> Int {
    var region = ScrollRegion(
      index: index, id: nodes[index].id, axis: axis, viewport: viewport, offset: 0,
      contentLength: contentLength, pages: [])
    region.offset = min(max(0, scroll[region.id] ?? 0), region.offsetMax)
    if nodes[index].style.isPaging {
      for start in starts where (region.pages.last ?? -1) < min(start, region.offsetMax) {
        region.pages.append(min(start, region.offsetMax))
      }
    }
    result.scrollRegions.append(region)
    result.placed[node].scroll = region
    return region.offset
  }
}
