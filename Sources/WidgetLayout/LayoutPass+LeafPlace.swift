import WidgetModel

/// Nodes without children: the places of their texts and parts.
extension LayoutPass {
  mutating func placeLeaf(
    _ index: Int, _ leaf: NodeForm.Leaf, in inner: LayoutRect, _ align: NodeStyle.Alignment?
  ) -> (texts: [PlacedText], parts: [PlacedPart]) {
    let line = lineHeight(index)
    switch leaf {
    case .label: return (labelTexts(index, in: inner, align), [])
    case .toggle:
      return marked(
        index, in: inner, .checkbox, chrome.checkbox, role: .name)
    case .spinner:
      guard nodes[index].facts.content.count > 0 else { return ([], []) }
      return marked(index, in: inner, .spinner, chrome.spinner, role: .name)
    case .input: return placeInput(index, in: inner)
    case .gauge: return placeGauge(index, in: inner)
    case .chart: return placeChart(index, in: inner)
    case .image:
      guard pictureSize(index) == nil else {
        return ([], inner.isEmpty ? [] : [PlacedPart(.image, inner)])
      }
      return (
        text(nodes[index].facts.content.name, index, in: inner.line(0, line), align, .alternative),
        []
      )
    case .date:
      return (
        text(nodes[index].facts.content.value, index, in: inner.line(0, line), align, .value), []
      )
    }
  }

  /// Adds one line of text in a rectangle. Cuts the text if it is too wide. Adds nothing without
  /// any room.
  func add(
    _ text: String, to texts: inout [PlacedText], _ index: Int, in rect: LayoutRect,
    _ align: NodeStyle.Alignment? = nil, _ role: PlacedText.Role, item: Int? = nil,
    width known: Int? = nil
  ) {
    guard !text.isEmpty, rect.width > 0 else { return }
    let font = nodes[index].facts.style.font
    var shown = text
    var width = known ?? metrics.width(of: text, font: font)
    if width > rect.width {
      shown = cut(text[...], to: rect.width, font: font)
      width = metrics.width(of: shown, font: font)
    }
    guard width <= rect.width else { return }
    let frame = rect.aligned(LayoutSize(width: width, height: rect.height), align)
    texts.append(PlacedText(frame: frame, text: shown, role: role, item: item))
  }

  /// One line of text in a rectangle, as `add` makes it.
  func text(
    _ text: String, _ index: Int, in rect: LayoutRect, _ align: NodeStyle.Alignment? = nil,
    _ role: PlacedText.Role, item: Int? = nil
  ) -> [PlacedText] {
    var texts: [PlacedText] = []
    add(text, to: &texts, index, in: rect, align, role, item: item)
    return texts
  }

  /// The longest start of a text that fits with an ellipsis. With too little room, the ellipsis
  /// alone.
  func cut(_ text: Substring, to width: Int, font: ThemeFont) -> String {
    let measure = metrics.measure
    let room = width - measure.width(of: TextColumns.ellipsis[...], font: font)
    var used = 0
    var end = text.startIndex
    while end < text.endIndex {
      let next = text.index(after: end)
      used += measure.width(of: text[end..<next], font: font)
      if used > room { break }
      end = next
    }
    var shown = text[..<end]
    while shown.last == " " { shown.removeLast() }
    return shown + TextColumns.ellipsis
  }

  private mutating func labelTexts(
    _ index: Int, in inner: LayoutRect, _ align: NodeStyle.Alignment?
  ) -> [PlacedText] {
    guard inner.width > 0 else { return [] }
    guard !fitsOneLine(index, width: inner.width) else {
      return lineText(index, in: inner, align)
    }
    let wrapped = wrapped(index, width: inner.width)
    return lineTexts(index, wrapped, in: inner, align)
  }

  /// A label that needs no wrapping.
  private func lineText(
    _ index: Int, in inner: LayoutRect, _ align: NodeStyle.Alignment?
  ) -> [PlacedText] {
    let content = nodes[index].facts.content
    var texts: [PlacedText] = []
    add(
      content.paragraphs[0], to: &texts, index, in: inner.line(0, lineHeight(index)), align, .text,
      width: content.paragraphsWidth)
    return texts
  }

  private func lineTexts(
    _ index: Int, _ wrapped: WrappedLines, in inner: LayoutRect, _ align: NodeStyle.Alignment?
  ) -> [PlacedText] {
    let facts = nodes[index].facts
    let height = lineHeight(index)
    var texts: [PlacedText] = []
    texts.reserveCapacity(wrapped.lines.count)
    for (row, line) in wrapped.lines.enumerated() {
      let rect = inner.line(row * height, height)
      let isLast = row == wrapped.lines.count - 1
      var shown = line.text
      let isCut = (isLast && wrapped.isCut) || line.width > inner.width
      if isCut {
        // The cut line also shows the start of the next words, as far as there is room.
        let rest = wrapped.isCut ? shown.base[shown.startIndex...] : shown
        shown = Substring(cut(rest, to: inner.width, font: nodes[index].facts.style.font))
      }
      if facts.content.runs.isEmpty {
        add(
          String(shown), to: &texts, index, in: rect, align, .text, width: isCut ? nil : line.width)
      } else {
        texts += runTexts(index, shown: shown, of: line, in: rect, align)
      }
    }
    return texts
  }

  /// The parts of a line, one for each run.
  private func runTexts(
    _ index: Int, shown: Substring, of line: TextWrap.Line, in rect: LayoutRect,
    _ align: NodeStyle.Alignment?
  ) -> [PlacedText] {
    guard let whole = text(String(shown), index, in: rect, align, .text).first else { return [] }
    let facts = nodes[index].facts
    // A line is a part of its paragraph, and its indices are those of the paragraph.
    let base = line.text.base
    let start = base.utf8.distance(from: base.startIndex, to: line.text.startIndex)
    let font = nodes[index].facts.style.font
    var texts: [PlacedText] = []
    var rest = shown
    var offset = start
    var x = whole.frame.x
    let ends = facts.content.runs.filter { $0.paragraph == line.paragraph && $0.end > start }
    for (position, end) in ends.enumerated() where !rest.isEmpty {
      var part = rest
      if position < ends.count - 1 {
        let length = end.end - offset
        if length < rest.utf8.count {
          // An accent that begins a run is drawn with the letter before it.
          let cutAt = rest.utf8.index(rest.startIndex, offsetBy: length)
          part = rest[..<rest.index(after: cutAt, within: rest)]
        }
      }
      guard !part.isEmpty else { continue }
      let width = metrics.measure.width(of: part, font: font)
      texts.append(
        PlacedText(
          frame: LayoutRect(x: x, y: rect.y, width: width, height: rect.height),
          text: String(part), run: end.run))
      x += width
      offset += part.utf8.count
      rest = rest[part.endIndex...]
    }
    return texts
  }

  /// A mark and text behind it.
  private func marked(
    _ index: Int, in inner: LayoutRect, _ kind: PlacedPart.Kind, _ size: LayoutSize,
    role: PlacedText.Role
  ) -> (texts: [PlacedText], parts: [PlacedPart]) {
    let line = lineHeight(index)
    let height = max(line, size.height)
    let mark = LayoutRect(
      x: inner.x, y: inner.y + (height - size.height) / 2, width: min(size.width, inner.width),
      height: size.height)
    // If the room is short, the gap disappears before the last letter of the text.
    let gap = max(0, min(chrome.gap, inner.width - size.width - chrome.textLeast))
    let used = min(inner.width, size.width + gap)
    let rest = LayoutRect(
      x: inner.x + used, y: inner.y + (height - line) / 2, width: inner.width - used, height: line)
    return (
      text(nodes[index].facts.content.name, index, in: rest, nil, role),
      mark.isEmpty ? [] : [PlacedPart(kind, mark)]
    )
  }

  private func placeInput(
    _ index: Int, in inner: LayoutRect
  ) -> (texts: [PlacedText], parts: [PlacedPart]) {
    let line = lineHeight(index)
    let facts = nodes[index].facts
    var texts: [PlacedText] = []
    var field = LayoutRect(
      x: inner.x, y: inner.y, width: inner.width, height: fieldHeight(index, width: inner.width))
    if nameIsAbove(index, width: inner.width) {
      add(facts.content.name, to: &texts, index, in: inner.line(0, line), nil, .name)
      field.y += line
    } else if facts.content.nameWidth > 0 {
      let name = LayoutRect(
        x: inner.x, y: inner.y + chrome.fieldEnds, width: facts.content.nameWidth, height: line)
      add(facts.content.name, to: &texts, index, in: name, nil, .name)
      field = field.inset(LayoutEdges(leading: nameColumn(index) + chrome.gap))
    }
    let inside = field.inset(
      LayoutEdges(
        top: chrome.fieldEnds, bottom: chrome.fieldEnds, leading: chrome.fieldSides,
        trailing: chrome.fieldSides))
    let role = facts.content.isPlaceholder ? PlacedText.Role.placeholder : .value
    if facts.content.isMultiline {
      let most = LeafContent.multilineRows.upperBound
      let lines = wrap(facts.content.paragraphs, index, width: inside.width, most: most).lines
      for (row, wrapped) in lines.enumerated() {
        add(String(wrapped.text), to: &texts, index, in: inside.line(row * line, line), nil, role)
      }
    } else {
      add(facts.content.value, to: &texts, index, in: inside.line(0, line), nil, role)
    }
    for (row, problem) in wrap(facts.content.problem, index, width: inner.width).lines.enumerated()
    {
      let y = field.endY - inner.y + row * line
      add(String(problem.text), to: &texts, index, in: inner.line(y, line), nil, .problem)
    }
    return (texts, field.isEmpty ? [] : [PlacedPart(.field, field)])
  }

  private func placeGauge(
    _ index: Int, in inner: LayoutRect
  ) -> (texts: [PlacedText], parts: [PlacedPart]) {
    let facts = nodes[index].facts
    let line = lineHeight(index)
    let isRing = isRing(index)
    let height = isRing ? max(line, chrome.ring) : line
    var spans = spans(
      of: gaugeParts(index), in: inner, growing: facts.content.nameWidth > 0 ? 1 : 0)
    let row = { (span: LayoutSpan, rows: Int) in
      LayoutRect(
        x: span.start, y: inner.y + (height - rows) / 2, width: span.length, height: rows)
    }
    var texts: [PlacedText] = []
    if facts.content.nameWidth > 0 {
      add(facts.content.name, to: &texts, index, in: row(spans.removeFirst(), line), nil, .name)
    }
    let bar = row(spans[0], isRing ? height : line)
    add(facts.content.value, to: &texts, index, in: row(spans[1], line), nil, .value)
    return (texts, bar.isEmpty ? [] : [PlacedPart(isRing ? .ring : .bar, bar)])
  }

  private func placeChart(
    _ index: Int, in inner: LayoutRect
  ) -> (texts: [PlacedText], parts: [PlacedPart]) {
    let facts = nodes[index].facts
    let line = lineHeight(index)
    let hasName = facts.content.nameWidth > 0
    if facts.content.form == "sparkline" {
      let spans = spans(of: sparklineParts(index), in: inner, growing: hasName ? 1 : 0)
      let rects = spans.map {
        LayoutRect(x: $0.start, y: inner.y, width: $0.length, height: line)
      }
      let texts = hasName ? text(facts.content.name, index, in: rects[0], nil, .name) : []
      let plot = rects[rects.count - 1]
      return (texts, plot.isEmpty ? [] : [PlacedPart(.plot, plot)])
    }
    var texts = text(facts.content.name, index, in: inner.line(0, line), nil, .name)
    let below = inner.inset(LayoutEdges(top: hasName ? line : 0))
    guard facts.content.form == "bar" else {
      // A given height is the height of the whole chart, so only the plot uses the rest.
      return (texts, below.isEmpty ? [] : [PlacedPart(.plot, below)])
    }
    let hasLabels = facts.content.barLabelWidth > 0
    let spans = spans(of: chartParts(index), in: inner, growing: hasLabels ? 1 : 0)
    var parts: [PlacedPart] = []
    // If there are more bars than lines, the oldest bars are left out.
    let most = line > 0 ? (max(0, below.height) + line - 1) / line : 0
    let bars = Array(facts.content.bars.enumerated()).suffix(most)
    for (offset, (item, bar)) in bars.enumerated() {
      let rects = spans.map {
        LayoutRect(x: $0.start, y: below.y + offset * line, width: $0.length, height: line)
      }
      guard let first = rects.first else { break }
      if hasLabels { add(bar.label, to: &texts, index, in: first, nil, .label, item: item) }
      parts.append(PlacedPart(.chartBar, rects[rects.count - 2], item: item))
      add(bar.value, to: &texts, index, in: rects[rects.count - 1], nil, .value, item: item)
    }
    return (texts, parts)
  }

  /// Parts side by side. One of them takes the remaining room.
  private func spans(
    of parts: [Extent], in inner: LayoutRect, growing: Int
  ) -> [LayoutSpan] {
    var (lengths, gap) = Distribution.shrink(parts, to: inner.width, gap: chrome.gap)
    let used = lengths.reduce(0, +) + gap * (parts.count - 1)
    if used < inner.width { lengths[growing] += inner.width - used }
    var x = inner.x
    return lengths.map { length in
      defer { x += length + gap }
      return LayoutSpan(start: x, length: length)
    }
  }
}

extension Substring {
  /// The boundary of a cluster that is at an index, or the next one behind it.
  func index(after index: String.Index, within text: Substring) -> String.Index {
    var end = startIndex
    while end < index, end < endIndex { end = self.index(after: end) }
    return end
  }
}
