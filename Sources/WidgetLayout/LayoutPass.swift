import WidgetModel

/// One layout pass. It measures nodes without a cached size from the top down, and places them.
///
/// `measure` finds the horizontal extent of a node, from its children up. `height` finds the height
/// at a width. `place` gives it a frame. All three go at most `NodeTable.drawnDepthMax` deep.
struct LayoutPass: ~Copyable {
  let table: NodeTable
  let metrics: LayoutMetrics
  let chrome: Chrome
  var nodes: [MeasuredNode]
  let scroll: [String: Int]
  /// The previous layout, whose parts are reused.
  let previous: PreviousLayout
  var result = LayoutResult()
  /// The start of the node that is being placed, in this layout and in the previous one.
  var origin: (now: PlacedCounts, before: PlacedCounts?) = (PlacedCounts(), PlacedCounts())

  /// The room that a node gets from its parent.
  struct Slot: Hashable {
    /// The size with the margin.
    var rect: LayoutRect
    /// The visible part.
    var clip: LayoutRect
    /// The start of its text, if the node does not set it.
    var align: NodeStyle.Alignment?
    /// Whether a line is drawn below it.
    var hasSeparator = false
    /// The table's facts that a row needs.
    var row: RowPlan?
  }

  mutating func run(width: Int, height: Int?) {
    guard let root = table.root else {
      result.size = LayoutSize(width: width, height: height ?? 0)
      return
    }
    result.placed.reserveCapacity(table.count)
    measure(root, depth: 0)
    let separator = separatorHeight(root, last: true, dividing: false)
    let natural = nodes[root].isShown ? self.height(root, width: width) + separator : 0
    result.size = LayoutSize(width: width, height: height ?? natural)
    result.contentSize = LayoutSize(width: width, height: natural)
    let rect = LayoutRect(x: 0, y: 0, width: width, height: result.size.height)
    place(root, Slot(rect: rect, clip: rect, hasSeparator: separator > 0))
  }

  // MARK: - Measuring

  /// Measures a node and the nodes below it, unless their measurements are cached.
  mutating func measure(_ index: Int, depth: Int, asRow: Bool = false) {
    if nodes[index].isMeasured, nodes[index].depth == depth, nodes[index].isRow == asRow { return }
    result.measuredCount += 1
    read(index)
    nodes[index].heights = HeightCache()
    nodes[index].depth = depth
    nodes[index].isRow = asRow
    nodes[index].isMeasured = true
    nodes[index].isShrinkable = false
    if asRow { nodes[index].rowHeight = nil }
    nodes[index].rowWidths = nil
    nodes[index].isPlaced = false
    let facts = nodes[index].facts
    guard facts.style.isVisible else {
      (nodes[index].extent, nodes[index].flow) = (.zero, [])
      return
    }
    if depth >= NodeTable.drawnDepthMax {
      nodes[index].flow = []
      nodes[index].extent = Extent(fixed: chrome.textLeast)
      return
    }
    measureChildren(index, depth: depth)
    if !asRow { measureExtent(index) }
  }

  mutating func measureExtent(_ index: Int) {
    let facts = nodes[index].facts
    var extent = contentExtent(index)
    extent = extent + (facts.style.padding.horizontal + accessoryWidth(index))
    if let width = facts.style.width { extent.fix(at: width) }
    extent = extent.clamped(least: facts.style.minWidth, most: facts.style.maxWidth)
    nodes[index].extent = extent + facts.style.margin.horizontal
    nodes[index].isShrinkable = facts.style.height == nil && shrinks(index)
  }

  /// The node's properties, if they are not known.
  private mutating func read(_ index: Int) {
    guard !nodes[index].isKnown, let entry = table[index] else { return }
    nodes[index].facts = NodeFacts(entry, metrics)
    nodes[index].lines = nil
    nodes[index].isKnown = true
  }

  private mutating func measureChildren(_ index: Int, depth: Int) {
    let children = nodes[index].facts.children
    guard !children.isEmpty else {
      (nodes[index].flow, nodes[index].accessoryChild) = ([], nil)
      return
    }
    let isTable = nodes[index].facts.role == .table
    var accessory: Int?
    var flow: [Int] = []
    flow.reserveCapacity(children.count)
    for child in children {
      read(child)
      let isCells =
        isTable && nodes[child].facts.role == .stack && !nodes[child].facts.style.isSection
      measure(child, depth: depth + 1, asRow: isCells)
      // The table decides which of its cells are cut.
      if nodes[child].isOneLine, !nodes[index].isRow {
        nodes[child].isOneLine = false
        nodes[child].lines = nil
        nodes[child].heights = HeightCache()
        nodes[child].isPlaced = false
      }
      if case .child(nodes[child].facts.id) = nodes[index].facts.style.accessory {
        accessory = child
      } else if nodes[child].isShown || nodes[index].isRow {
        flow.append(child)
      }
    }
    shareNameColumn(of: flow, inForm: nodes[index].facts.role == .form)
    if let accessory { shareNameColumn(of: [accessory], inForm: false) }
    nodes[index].flow = flow
    nodes[index].accessoryChild = accessory.flatMap { nodes[$0].isShown ? $0 : nil }
  }

  /// The room at the end of a node for its accessory.
  func accessoryWidth(_ index: Int) -> Int {
    switch nodes[index].facts.style.accessory {
    case .none: 0
    case .mark: chrome.accessory + chrome.accessoryGap
    case .child:
      nodes[index].accessoryChild.map { nodes[$0].extent.ideal } ?? 0
    }
  }

  private mutating func contentExtent(_ index: Int) -> Extent {
    switch form(index) {
    case .stack: stackExtent(index)
    case .column: columnExtent(index)
    case .form: formExtent(index)
    case .grid: gridExtent(index)
    case .table: tableExtent(index)
    case .inline: inlineExtent(index)
    case .space: Extent(fixed: spaceSize(index).width)
    case .leaf(let leaf): leafExtent(index, leaf)
    }
  }

  func form(_ index: Int) -> NodeForm { NodeForm(nodes[index].facts.role) }

  private func shrinks(_ index: Int) -> Bool {
    let facts = nodes[index].facts
    switch form(index) {
    case .table: return facts.style.isScrolling
    case .stack
    where facts.role == .stack && facts.style.isScrolling && facts.style.axis == .vertical:
      return true
    case .stack, .column, .form: return nodes[index].flow.contains { nodes[$0].isShrinkable }
    case .grid, .inline, .space, .leaf: return false
    }
  }

  // MARK: - Heights

  /// The height of a node at a width. Both include the margin, and not the separator.
  mutating func height(_ index: Int, width: Int) -> Int {
    if let known = nodes[index].heights[width] { return known }
    let facts = nodes[index].facts
    var height: Int
    if let fixed = facts.style.height {
      height = fixed
    } else if nodes[index].depth >= NodeTable.drawnDepthMax {
      height = metrics.measure.lineHeight(of: facts.style.font)
    } else {
      let room =
        width - facts.style.margin.horizontal - facts.style.padding.horizontal
        - accessoryWidth(index)
      height = contentHeight(index, width: max(0, room)) + facts.style.padding.vertical
      if let accessory = nodes[index].accessoryChild {
        height = max(height, self.height(accessory, width: nodes[accessory].extent.ideal))
      }
    }
    height =
      min(max(height, facts.style.minHeight), facts.style.maxHeight ?? .max)
      + facts.style.margin.vertical
    nodes[index].heights.insert(height, at: width)
    return height
  }

  private mutating func contentHeight(_ index: Int, width: Int) -> Int {
    switch form(index) {
    case .stack: stackHeight(index, width: width)
    case .column: columnHeight(index, width: width)
    case .form: formHeight(index, width: width)
    case .grid: gridHeight(index, width: width)
    case .table: tableHeight(index, width: width)
    case .inline: inlineHeight(index, width: width)
    case .space: spaceSize(index).height
    case .leaf(let leaf): leafHeight(index, leaf, width: width)
    }
  }

  /// The height of the line below a child.
  func separatorHeight(_ index: Int, last: Bool, dividing: Bool) -> Int {
    switch nodes[index].facts.style.separator {
    case .always: chrome.separator
    case .never: 0
    case .whereParentDivides: dividing && !last ? chrome.separator : 0
    }
  }
}
