import WidgetModel

/// Buttons and links: their items are side by side.
extension LayoutPass {
  /// The items of a button or link, side by side: its icon, its text, its children, its address.
  private enum InlineItem {
    case icon
    case name
    case child(Int)
    case url
  }

  private func inlineItems(_ index: Int) -> (items: [InlineItem], extents: [Extent]) {
    let facts = nodes[index].facts
    var items: [InlineItem] = []
    var extents: [Extent] = []
    if nodes[index].facts.role == .button, facts.content.count > 0, chrome.icon.width > 0 {
      items.append(.icon)
      extents.append(Extent(fixed: chrome.icon.width))
    }
    if facts.content.nameWidth > 0 {
      items.append(.name)
      extents.append(
        nodes[index].facts.role == .button
          ? Extent(fixed: facts.content.nameWidth) : textExtent(facts.content.nameWidth))
    }
    for child in nodes[index].flow {
      items.append(.child(child))
      extents.append(nodes[child].extent)
    }
    if nodes[index].facts.role == .link, facts.content.valueWidth > 0 {
      items.append(.url)
      extents.append(textExtent(facts.content.valueWidth))
    }
    return (items, extents)
  }

  var buttonEdges: LayoutEdges {
    LayoutEdges(
      top: chrome.buttonEnds, bottom: chrome.buttonEnds, leading: chrome.buttonSides,
      trailing: chrome.buttonSides)
  }

  private func inlineEdges(_ index: Int) -> LayoutEdges {
    nodes[index].facts.role == .button ? buttonEdges : LayoutEdges()
  }

  /// Whether the node is a button with text alone, as most buttons are.
  private func isPlainButton(_ index: Int) -> Bool {
    let facts = nodes[index].facts
    return facts.role == .button && nodes[index].flow.isEmpty
      && (facts.content.count == 0 || chrome.icon.width == 0)
  }

  func inlineExtent(_ index: Int) -> Extent {
    if isPlainButton(index) {
      return Extent(fixed: nodes[index].facts.content.nameWidth + buttonEdges.horizontal)
    }
    let extents = inlineItems(index).extents
    let sum = extents.reduce(.zero, +)
    let gaps = max(0, extents.count - 1) * chrome.gap + inlineEdges(index).horizontal
    let extent = Extent(
      ideal: sum.ideal + gaps, firm: sum.firm + gaps, least: sum.least + gaps)
    return nodes[index].facts.role == .button && nodes[index].flow.isEmpty
      ? Extent(fixed: extent.ideal) : extent
  }

  mutating func inlineHeight(_ index: Int, width: Int) -> Int {
    if isPlainButton(index) { return lineHeight(index) + buttonEdges.vertical }
    let edges = inlineEdges(index)
    let (items, extents) = inlineItems(index)
    let widths = Distribution.shrink(
      extents, to: max(0, width - edges.horizontal), gap: chrome.gap
    ).lengths
    var height = lineHeight(index)
    for (item, width) in zip(items, widths) {
      switch item {
      case .child(let child): height = max(height, self.height(child, width: width))
      case .icon: height = max(height, chrome.icon.height)
      case .name, .url: break
      }
    }
    return height + edges.vertical
  }

  mutating func placeInline(
    _ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int
  ) {
    let edges = inlineEdges(index)
    let inside = inner.inset(fitting(edges, in: inner.size))
    if nodes[index].facts.role == .button, !inner.isEmpty {
      result.placed[node].parts.append(PlacedPart(.button, inner))
    }
    if isPlainButton(index) {
      let line = lineHeight(index)
      if line > inside.height { result.isClipped = true }
      let row = inside.line(max(0, inside.height - line) / 2, line)
      result.placed[node].texts = text(
        nodes[index].facts.content.name, index, in: row,
        nodes[index].facts.style.align == .fill ? .start : .center, .text)
      return
    }
    let (items, extents) = inlineItems(index)
    let (widths, gap) = Distribution.shrink(extents, to: inside.width, gap: chrome.gap)
    let total = widths.reduce(gap * max(0, widths.count - 1), +)
    let align =
      nodes[index].facts.style.align == .fill || nodes[index].facts.role == .link
      ? nodes[index].facts.style.align : .center
    var x = inside.aligned(LayoutSize(width: total, height: 0), align).x
    let line = lineHeight(index)
    for (item, width) in zip(items, widths) {
      let row = { (height: Int) in
        LayoutRect(
          x: x, y: inside.y + max(0, inside.height - height) / 2, width: width, height: height)
      }
      switch item {
      case .icon:
        result.placed[node].parts.append(PlacedPart(.icon, row(chrome.icon.height)))
      case .name:
        result.placed[node].texts += self.text(
          nodes[index].facts.content.name, index, in: row(line), nil, .text)
      case .url:
        result.placed[node].texts += self.text(
          nodes[index].facts.content.value, index, in: row(line), nil, .url)
      case .child(let child):
        let natural = height(child, width: width)
        if natural > inside.height { result.isClipped = true }
        place(child, Slot(rect: row(min(natural, inside.height)), clip: clip))
      }
      x += width + gap
    }
    if line > inside.height { result.isClipped = true }
  }
}
