import WidgetModel

extension LayoutPass {
  /// Gives a node and all in it their frames.
  mutating func place(_ index: Int, _ slot: Slot) {
    guard nodes[index].isShown else { return }
    placing(index, slot) { $0.placeAgain(index, slot) }
  }

  private mutating func placeAgain(_ index: Int, _ slot: Slot) {
    let facts = nodes[index].facts
    let frame = slot.rect.inset(facts.style.margin)
    let clip = frame.intersection(slot.clip)
    let separator = slot.hasSeparator ? min(chrome.separator, frame.height) : 0
    let accessory = min(accessoryWidth(index), frame.width)
    // The padding gives way where the room is short, so that something is seen.
    var outer = frame
    outer.height -= separator
    outer.width -= accessory
    let inner = outer.inset(fitting(facts.style.padding, in: outer.size))
    var placed = PlacedNode(
      index: index, id: nodes[index].facts.id, type: nodes[index].facts.type, frame: frame,
      inner: inner,
      clip: clip)
    if separator > 0 {
      let insets = facts.style.separatorInsets
      placed.separator = LayoutRect(
        x: frame.x, y: frame.endY - separator, width: frame.width, height: separator
      ).inset(LayoutEdges(leading: insets.leading, trailing: insets.trailing))
    }
    let column = LayoutRect(
      x: outer.endX, y: frame.y, width: accessory, height: outer.height)
    if facts.style.accessory == .mark, accessory > 0 {
      placed.accessory = LayoutRect(
        x: column.x, y: inner.y, width: min(chrome.accessory, accessory),
        height: min(lineHeight(index), inner.height))
    }
    if nodes[index].depth >= LayoutEngine.depthMax {
      placed.parts = [PlacedPart(.tooDeep, inner)]
      result.placed.append(placed)
      return
    }
    let align = textAlignment(index, slot.align)
    if !isContainer(nodes[index].facts.type) {
      (placed.texts, placed.parts) = placeLeaf(index, in: inner, align)
      if inner.height < leafHeight(index, width: inner.width), facts.style.height == nil {
        result.isClipped = true
      }
    }
    result.placed.append(placed)
    addFocus(index, frame: frame, clip: clip)
    let node = result.placed.count - 1
    let inside = inner.intersection(clip)
    switch nodes[index].facts.type {
    case .stack: placeStack(index, in: inner, clip: inside, node: node)
    case nil: placeColumn(index, in: inner, clip: inside, node: node)
    case .form: placeForm(index, in: inner, clip: inside, node: node)
    case .grid: placeGrid(index, in: inner, clip: inside, node: node)
    case .table: placeTable(index, in: inner, clip: inside, node: node)
    case .button, .link: placeInline(index, in: inner, clip: inside, node: node)
    default: break
    }
    if let child = nodes[index].accessoryChild {
      let width = min(nodes[child].extent.ideal, column.width)
      let height = min(height(child, width: width), column.height)
      let rect = LayoutRect(
        x: column.x, y: column.y + (column.height - height) / 2, width: width, height: height)
      place(child, Slot(rect: rect, clip: column.intersection(clip)))
    }
  }

  private func isContainer(_ type: NodeType?) -> Bool {
    switch type {
    case .stack, .form, .grid, .table, .button, .link, nil: true
    default: false
    }
  }

  /// Where the text of a node begins.
  private func textAlignment(
    _ index: Int, _ given: NodeStyle.Alignment?
  ) -> NodeStyle.Alignment? {
    nodes[index].facts.style.align ?? given
  }

  /// The padding, or as much of it as leaves a unit for what is inside.
  private func fitting(_ edges: LayoutEdges, in size: LayoutSize) -> LayoutEdges {
    let sides = fitting(edges.leading, edges.trailing, in: size.width)
    let ends = fitting(edges.top, edges.bottom, in: size.height)
    return LayoutEdges(
      top: ends.first, bottom: ends.second, leading: sides.first, trailing: sides.second)
  }

  private func fitting(_ first: Int, _ second: Int, in room: Int) -> (first: Int, second: Int) {
    guard first + second >= room, first + second > 0 else { return (first, second) }
    let left = max(0, room - 1)
    return (min(first, left), min(second, left - min(first, left)))
  }

  private mutating func addFocus(_ index: Int, frame: LayoutRect, clip: LayoutRect) {
    guard let type = nodes[index].facts.type, nodes[index].facts.content.canFocus else { return }
    switch type {
    case .button, .toggle, .input, .link:
      result.focusable.append(
        FocusTarget(
          index: index, id: nodes[index].facts.id, kind: .control, frame: frame, clip: clip))
    default: break
    }
  }

  // MARK: - Buttons and links

  /// What is in a button or link beside each other: its icon, its text, its children, its address.
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
    if nodes[index].facts.type == .button, facts.content.count > 0, chrome.icon.width > 0 {
      items.append(.icon)
      extents.append(Extent(fixed: chrome.icon.width))
    }
    if facts.content.nameWidth > 0 {
      items.append(.name)
      extents.append(
        nodes[index].facts.type == .button
          ? Extent(fixed: facts.content.nameWidth) : textExtent(facts.content.nameWidth))
    }
    for child in nodes[index].flow {
      items.append(.child(child))
      extents.append(nodes[child].extent)
    }
    if nodes[index].facts.type == .link, facts.content.valueWidth > 0 {
      items.append(.url)
      extents.append(textExtent(facts.content.valueWidth))
    }
    return (items, extents)
  }

  private var buttonEdges: LayoutEdges {
    LayoutEdges(
      top: chrome.buttonEnds, bottom: chrome.buttonEnds, leading: chrome.buttonSides,
      trailing: chrome.buttonSides)
  }

  private func inlineEdges(_ index: Int) -> LayoutEdges {
    nodes[index].facts.type == .button ? buttonEdges : LayoutEdges()
  }

  /// Whether it is a button with nothing but text; so it is with most of them.
  private func isPlainButton(_ index: Int) -> Bool {
    let facts = nodes[index].facts
    return facts.type == .button && nodes[index].flow.isEmpty
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
    return nodes[index].facts.type == .button && nodes[index].flow.isEmpty
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

  private mutating func placeInline(
    _ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int
  ) {
    let edges = inlineEdges(index)
    let inside = inner.inset(fitting(edges, in: inner.size))
    if nodes[index].facts.type == .button, !inner.isEmpty {
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
      nodes[index].facts.style.align == .fill || nodes[index].facts.type == .link
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

  // MARK: - Forms

  /// The title and the button of a form stand where the text of its children does.
  private var formInset: Int { metrics.horizontal(NodeStyle.leafPaddingPoints) }

  private func submitWidth(_ index: Int) -> Int {
    nodes[index].facts.content.valueWidth + buttonEdges.horizontal
  }

  func formExtent(_ index: Int) -> Extent {
    var extent = columnExtent(index)
    extent.formMax(Extent(fixed: submitWidth(index)) + 2 * formInset)
    extent.formMax(textExtent(nodes[index].facts.content.paragraphsWidth) + 2 * formInset)
    return extent
  }

  private mutating func titleHeight(_ index: Int, width: Int) -> Int {
    guard !nodes[index].facts.content.paragraphs.isEmpty else { return 0 }
    return wrapped(index, width: max(0, width - 2 * formInset)).lines.count * lineHeight(index)
  }

  mutating func formHeight(_ index: Int, width: Int) -> Int {
    titleHeight(index, width: width) + columnHeight(index, width: width) + submitHeight(index)
  }

  private func submitHeight(_ index: Int) -> Int { lineHeight(index) + buttonEdges.vertical }

  private mutating func placeForm(
    _ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int
  ) {
    let inset = LayoutEdges(leading: formInset, trailing: formInset)
    let text = inner.inset(inset)
    let title = titleHeight(index, width: inner.width)
    if title > 0 {
      let line = lineHeight(index)
      for (row, wrapped) in wrapped(index, width: text.width).lines.enumerated() {
        result.placed[node].texts += self.text(
          String(wrapped.text), index, in: text.line(row * line, line), nil, .name)
      }
    }
    // The button has its room at the end first.
    let submit = submitHeight(index)
    var fields = inner.inset(LayoutEdges(top: title, bottom: submit))
    if !nodes[index].flow.contains(where: { nodes[$0].facts.style.grow > 0 }) {
      fields.height = min(fields.height, columnHeight(index, width: inner.width))
    }
    placeColumn(index, in: fields, clip: clip.intersection(fields), node: node)
    let top = fields.endY
    var frame = LayoutRect(
      x: text.x, y: top, width: min(submitWidth(index), text.width), height: submit)
    frame.height = max(0, min(submit, inner.endY - top))
    if frame.height < submit { result.isClipped = true }
    guard !frame.isEmpty else { return }
    let edges = fitting(buttonEdges, in: frame.size)
    result.placed[node].parts.append(PlacedPart(.submit, frame))
    result.placed[node].texts += self.text(
      nodes[index].facts.content.value, index, in: frame.inset(edges).line(0, lineHeight(index)),
      nil,
      .submit)
    guard nodes[index].facts.content.canFocus else { return }
    result.focusable.append(
      FocusTarget(index: index, id: nodes[index].facts.id, kind: .submit, frame: frame, clip: clip))
  }
}
