import WidgetModel

extension LayoutPass {
  /// Sets the frames of a node and of all nodes in it.
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
    // If the room is short, the padding shrinks, so that some content is visible.
    var outer = frame
    outer.height -= separator
    outer.width -= accessory
    let inner = outer.inset(fitting(facts.style.padding, in: outer.size))
    let node = result.placed.count
    result.placed.append(
      PlacedNode(
        index: index, id: facts.id, type: facts.type, frame: frame, inner: inner, clip: clip))
    if separator > 0 {
      let insets = facts.style.separatorInsets
      result.placed[node].separator = LayoutRect(
        x: frame.x, y: frame.endY - separator, width: frame.width, height: separator
      ).inset(LayoutEdges(leading: insets.leading, trailing: insets.trailing))
    }
    let column = LayoutRect(
      x: outer.endX, y: frame.y, width: accessory, height: outer.height)
    if facts.style.accessory == .mark, accessory > 0 {
      result.placed[node].accessory = LayoutRect(
        x: column.x, y: inner.y, width: min(chrome.accessory, accessory),
        height: min(lineHeight(index), inner.height))
    }
    if nodes[index].depth >= NodeTable.drawnDepthMax {
      result.placed[node].parts = [PlacedPart(.tooDeep, inner)]
      return
    }
    let align = textAlignment(index, slot.align)
    addFocus(index, frame: frame, clip: clip)
    let inside = inner.intersection(clip)
    switch form(index) {
    case .stack: placeStack(index, in: inner, clip: inside, node: node)
    case .column: placeColumn(index, in: inner, clip: inside, node: node)
    case .form: placeForm(index, in: inner, clip: inside, node: node)
    case .grid: placeGrid(index, in: inner, clip: inside, node: node)
    case .table: placeTable(index, in: inner, clip: inside, node: node)
    case .inline: placeInline(index, in: inner, clip: inside, node: node)
    case .space: noteClipping(of: index, in: inner, height: lineHeight(index))
    case .leaf(let leaf):
      let (texts, parts) = placeLeaf(index, leaf, in: contentBox(index, inner, frame), align)
      result.placed[node].texts = texts
      result.placed[node].parts = parts
      noteClipping(of: index, in: inner, height: leafHeight(index, leaf, width: inner.width))
    }
    if let child = nodes[index].accessoryChild {
      let width = min(nodes[child].extent.ideal, column.width)
      let height = min(height(child, width: width), column.height)
      let rect = LayoutRect(
        x: column.x, y: column.y + (column.height - height) / 2, width: width, height: height)
      place(child, Slot(rect: rect, clip: column.intersection(clip)))
    }
  }

  /// Notes that a node does not fit, unless its height is given.
  private mutating func noteClipping(of index: Int, in inner: LayoutRect, height: Int) {
    if inner.height < height, nodes[index].facts.style.height == nil { result.isClipped = true }
  }

  /// The place of a control in room that is wider than the control.
  private func contentBox(_ index: Int, _ inner: LayoutRect, _ frame: LayoutRect) -> LayoutRect {
    let style = nodes[index].facts.style
    guard nodes[index].facts.role.movesInRoom,
      style.align == .center || style.align == .end, style.width == nil
    else { return inner }
    let around = style.margin.horizontal + frame.width - inner.width
    let ideal = max(0, nodes[index].extent.ideal - around)
    return inner.aligned(
      LayoutSize(width: min(ideal, inner.width), height: inner.height), style.align)
  }

  /// The start of a node's text.
  private func textAlignment(
    _ index: Int, _ given: NodeStyle.Alignment?
  ) -> NodeStyle.Alignment? {
    nodes[index].facts.style.align ?? given
  }

  /// The padding, reduced so that a unit is left for the content.
  func fitting(_ edges: LayoutEdges, in size: LayoutSize) -> LayoutEdges {
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
    let facts = nodes[index].facts
    guard facts.content.canFocus else { return }
    switch facts.role.focus {
    case .always: break
    case .ifPressable: guard facts.content.isPressable else { return }
    case .never: return
    }
    result.focusable.append(
      FocusTarget(index: index, id: facts.id, kind: .control, frame: frame, clip: clip))
  }
}
