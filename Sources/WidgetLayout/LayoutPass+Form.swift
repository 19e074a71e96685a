import WidgetModel

/// Forms: a title, a column, and a button.
extension LayoutPass {
  /// The title and the button of a form begin at the same column as the text of its children.
  private var formInset: Int { metrics.horizontal(NodeStyle.leafPaddingPoints) }

  private func submitWidth(_ index: Int) -> Int {
    nodes[index].facts.content.valueWidth + buttonEdges.horizontal
  }

  /// The fields of a form begin in one column. A long name does not move the other fields.
  mutating func shareNameColumn(of flow: [Int], inForm: Bool) {
    var column: Int?
    if inForm {
      for child in flow where hasShortName(child) {
        column = max(column ?? 0, nodes[child].facts.content.nameWidth)
      }
    }
    for child in flow {
      let own = inForm && hasShortName(child) ? column : nil
      guard nodes[child].nameColumn != own else { continue }
      nodes[child].nameColumn = own
      nodes[child].heights = HeightCache()
      nodes[child].isPlaced = false
      measureExtent(child)
    }
  }

  private func hasShortName(_ index: Int) -> Bool {
    let facts = nodes[index].facts
    return facts.role == .input && nodes[index].depth < NodeTable.drawnDepthMax
      && !facts.content.isMultiline
      && (1...metrics.horizontal(Self.nameColumnPointsMax)).contains(facts.content.nameWidth)
  }

  /// The maximum width of the names' column. A longer name is beside only its own field.
  private static var nameColumnPointsMax: Double { 128 }

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
    titleHeight(index, width: width) + columnHeight(index, width: width) + submitGap
      + submitHeight(index)
  }

  /// The gap between the last field and the button, as around other controls. In cells, there is no
  /// gap.
  private var submitGap: Int { metrics.vertical(NodeStyle.leafPaddingPoints) }

  private func submitHeight(_ index: Int) -> Int { lineHeight(index) + buttonEdges.vertical }

  mutating func placeForm(
    _ index: Int, in inner: LayoutRect, clip: LayoutRect, node: Int
  ) {
    let inset = LayoutEdges(leading: formInset, trailing: formInset)
    let text = inner.inset(inset)
    // The button gets its room first, so that the form can be submitted. The title comes second.
    let submit = submitHeight(index)
    let line = lineHeight(index)
    var title = titleHeight(index, width: inner.width)
    if title + submit > inner.height {
      title = max(0, inner.height - submit) / line * line
      result.isClipped = true
    }
    if title > 0 {
      let lines = wrapped(index, width: text.width).lines.prefix(title / line)
      for (row, wrapped) in lines.enumerated() {
        result.placed[node].texts += self.text(
          String(wrapped.text), index, in: text.line(row * line, line), nil, .name)
      }
    }
    let gap = min(submitGap, max(0, inner.height - title - submit))
    var fields = inner.inset(LayoutEdges(top: title, bottom: gap + submit))
    if !nodes[index].flow.contains(where: { nodes[$0].facts.style.grow > 0 }) {
      fields.height = min(fields.height, columnHeight(index, width: inner.width))
    }
    placeColumn(index, in: fields, clip: clip.intersection(fields), node: node)
    let top = fields.endY + gap
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
