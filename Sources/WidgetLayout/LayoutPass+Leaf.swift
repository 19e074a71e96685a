import WidgetModel

/// Nodes without children: their size, and the places of their parts.
extension LayoutPass {
  func lineHeight(_ index: Int) -> Int { metrics.lineHeight(nodes[index].facts.style) }

  /// Text on one line, which is cut if there is too little room.
  func textExtent(_ width: Int) -> Extent {
    Extent(ideal: width, firm: chrome.textLeast, least: chrome.textLeast)
  }

  /// The name of a bar or line. It keeps its width while the bar can be shorter.
  private func nameExtent(_ width: Int) -> Extent {
    Extent(ideal: width, firm: chrome.nameFirm, least: chrome.textLeast)
  }

  // MARK: - Extents

  func leafExtent(_ index: Int, _ leaf: NodeForm.Leaf) -> Extent {
    let facts = nodes[index].facts
    switch leaf {
    case .label: return textExtent(facts.content.paragraphsWidth)
    case .toggle:
      guard facts.content.nameWidth > 0 else { return Extent(fixed: chrome.checkbox.width) }
      return Extent(
        ideal: chrome.checkbox.width + chrome.gap + facts.content.nameWidth,
        firm: chrome.checkbox.width + chrome.gap + chrome.toggleTextFirm,
        least: chrome.checkbox.width + chrome.textLeast)
    case .input:
      let value = facts.content.valueWidth + 2 * chrome.fieldSides
      let field = Extent(
        ideal: max(chrome.field.ideal, min(value, 2 * chrome.field.ideal)),
        firm: chrome.field.firm, least: chrome.field.least)
      guard facts.content.nameWidth > 0 else { return field }
      // The name can go above.
      return Extent(
        ideal: field.ideal + nameColumn(index) + chrome.gap, firm: field.firm,
        least: field.least)
    case .gauge: return total(of: gaugeParts(index))
    case .chart:
      if facts.content.form == "bar" {
        var extent = total(of: chartParts(index))
        extent.formMax(textExtent(facts.content.nameWidth))
        return extent
      }
      if facts.content.form == "sparkline" { return total(of: sparklineParts(index)) }
      var extent = chrome.plot
      extent.formMax(textExtent(facts.content.nameWidth))
      return extent
    case .image: return Extent(fixed: pictureSize(index)?.width ?? facts.content.nameWidth)
    case .date: return Extent(fixed: facts.content.valueWidth)
    case .spinner:
      guard facts.content.count > 0 else { return .zero }
      guard facts.content.nameWidth > 0 else { return Extent(fixed: chrome.spinner.width) }
      return textExtent(facts.content.nameWidth) + (chrome.spinner.width + chrome.gap)
    }
  }

  /// Parts beside each other with gaps.
  private func total(of parts: [Extent]) -> Extent {
    let sum = parts.reduce(.zero, +)
    let gaps = max(0, parts.count - 1) * chrome.gap
    return Extent(ideal: sum.ideal + gaps, firm: sum.firm + gaps, least: sum.least)
  }

  /// Name if there is one, bar, percentage.
  func gaugeParts(_ index: Int) -> [Extent] {
    let facts = nodes[index].facts
    let bar = isRing(index) ? Extent(fixed: chrome.ring) : chrome.bar
    return (facts.content.nameWidth > 0 ? [nameExtent(facts.content.nameWidth)] : [])
      + [bar, Extent(fixed: facts.content.valueWidth)]
  }

  func isRing(_ index: Int) -> Bool {
    chrome.ring > 0 && nodes[index].facts.content.form == "ring"
  }

  /// Label if there is one, bar, value.
  func chartParts(_ index: Int) -> [Extent] {
    let facts = nodes[index].facts
    return (facts.content.barLabelWidth > 0 ? [nameExtent(facts.content.barLabelWidth)] : [])
      + [chrome.chartBar, Extent(fixed: facts.content.valueWidth)]
  }

  /// Name if there is one, line.
  func sparklineParts(_ index: Int) -> [Extent] {
    let facts = nodes[index].facts
    let line = Extent(
      ideal: min(
        max(metrics.horizontal(8 * Double(facts.content.count)), chrome.plot.least),
        3 * chrome.plot.ideal
      ),
      firm: chrome.plot.firm, least: chrome.plot.least)
    return (facts.content.nameWidth > 0 ? [nameExtent(facts.content.nameWidth)] : []) + [line]
  }

  /// The size of the picture. Nil if its alternative text is shown.
  func pictureSize(_ index: Int) -> LayoutSize? {
    let facts = nodes[index].facts
    let (sides, ends) = (facts.style.padding.horizontal, facts.style.padding.vertical)
    guard facts.style.width != nil || facts.style.height != nil || metrics.scale == .points else {
      return nil
    }
    // If only one of width and height is given, both are equal, in points.
    let ratio = Double(metrics.vertical(1_024)) / Double(metrics.horizontal(1_024))
    let width = facts.style.width.map { max(0, $0 - sides) }
    let height = facts.style.height.map { max(0, $0 - ends) }
    switch (width, height) {
    case (let width?, let height?): return LayoutSize(width: width, height: height)
    case (let width?, nil):
      return LayoutSize(width: width, height: max(1, (Double(width) * ratio).nearest))
    case (nil, let height?):
      return LayoutSize(width: max(1, (Double(height) / ratio).nearest), height: height)
    case (nil, nil): return chrome.picture
    }
  }

  // MARK: - Heights

  mutating func leafHeight(_ index: Int, _ leaf: NodeForm.Leaf, width: Int) -> Int {
    let line = lineHeight(index)
    let facts = nodes[index].facts
    switch leaf {
    case .label:
      return fitsOneLine(index, width: width)
        ? line : wrapped(index, width: width).lines.count * line
    case .toggle: return max(line, chrome.checkbox.height)
    case .input:
      let name = nameIsAbove(index, width: width) ? line : 0
      return name + fieldHeight(index, width: width)
        + wrap(facts.content.problem, index, width: width).lines.count * line
    case .gauge: return isRing(index) ? max(line, chrome.ring) : line
    case .chart:
      let name = facts.content.nameWidth > 0 ? line : 0
      switch facts.content.form {
      case "bar": return name + facts.content.bars.count * line
      case "sparkline": return line
      default: return name + chrome.plotHeight
      }
    case .image: return pictureSize(index)?.height ?? line
    case .spinner: return facts.content.count > 0 ? max(line, chrome.spinner.height) : 0
    case .date: return line
    }
  }

  func nameIsAbove(_ index: Int, width: Int) -> Bool {
    let facts = nodes[index].facts
    return facts.content.nameWidth > 0
      && (facts.content.isMultiline
        || nameColumn(index) + chrome.gap + chrome.field.firm > width)
  }

  /// The room for the name of an input, in front of its field.
  func nameColumn(_ index: Int) -> Int {
    nodes[index].nameColumn ?? nodes[index].facts.content.nameWidth
  }

  func fieldHeight(_ index: Int, width: Int) -> Int {
    var rows = 1
    if nodes[index].facts.content.isMultiline {
      let room = width - 2 * chrome.fieldSides
      let (least, most) = (
        LeafContent.multilineRows.lowerBound, LeafContent.multilineRows.upperBound
      )
      let lines = wrap(nodes[index].facts.content.paragraphs, index, width: room, most: most).lines
      rows = min(max(lines.count, least), most)
    }
    return rows * lineHeight(index) + 2 * chrome.fieldEnds
  }

  /// The lines of a label, a title or an empty table's text.
  mutating func wrapped(_ index: Int, width: Int) -> WrappedLines {
    if let known = nodes[index].lines, known.width == width { return known }
    let facts = nodes[index].facts
    // With almost no room, one cut line shows as much text as many lines.
    let isNarrow = width < min(chrome.wrapLeast, facts.content.paragraphsWidth)
    let isOneLine = nodes[index].isOneLine && facts.content.lines == 0
    let most = isNarrow || isOneLine ? 1 : facts.content.lines
    let (lines, isCut) = wrap(facts.content.paragraphs, index, width: width, most: most)
    let result = WrappedLines(width: width, lines: lines, isCut: isCut)
    nodes[index].lines = result
    return result
  }

  /// Whether a label is one line that needs no wrapping, as most labels are.
  func fitsOneLine(_ index: Int, width: Int) -> Bool {
    let facts = nodes[index].facts
    return facts.content.paragraphs.count == 1 && facts.content.paragraphsWidth <= width
      && facts.content.runs.isEmpty && !facts.content.hasBreaks
  }

  func wrap(
    _ paragraphs: [String], _ index: Int, width: Int, most: Int = 0
  ) -> (lines: [TextWrap.Line], isCut: Bool) {
    TextWrap(metrics: metrics, font: nodes[index].facts.style.font, width: width)
      .lines(of: paragraphs, most: most)
  }
}
