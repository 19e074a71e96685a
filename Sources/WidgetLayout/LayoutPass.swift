import WidgetModel

/// One layout: measures what is not known, top down, and places it.
///
/// `measure` finds what a node takes horizontally, from its children's up. `height` says how high it is
/// at a width. `place` gives it a frame. All three go at most `depthMax` deep.
struct LayoutPass {
  let table: NodeTable
  let metrics: LayoutMetrics
  let chrome: Chrome
  var nodes: [MeasuredNode]
  let scroll: [String: Int]
  var result = LayoutResult()

  /// What a node gets from its parent.
  struct Slot {
    /// Its margin included.
    var rect: LayoutRect
    /// What can be seen there.
    var clip: LayoutRect
    /// Where its text begins, if it does not say so itself.
    var align: NodeStyle.Alignment?
    /// Whether a line is drawn below it.
    var hasSeparator = false
    /// What no column of its parent is taken from: the trailing room for accessories of a table.
    var columns: [LayoutSpan]?
  }

  mutating func run(width: Int, height: Int?) {
    guard let root = table.root else {
      result.size = LayoutSize(width: width, height: height ?? 0)
      return
    }
    measure(root, depth: 0)
    let separator = separatorHeight(root, last: true, dividing: false)
    let natural = nodes[root].isShown ? self.height(root, width: width) + separator : 0
    result.size = LayoutSize(width: width, height: height ?? natural)
    result.contentSize = LayoutSize(width: width, height: natural)
    let rect = LayoutRect(x: 0, y: 0, width: width, height: result.size.height)
    place(root, Slot(rect: rect, clip: rect, hasSeparator: separator > 0))
  }

  func style(_ index: Int) -> NodeStyle { nodes[index].style }

  // MARK: - Measuring

  /// Makes sure that all is known of a node and those below it.
  mutating func measure(_ index: Int, depth: Int, asRow: Bool = false) {
    if nodes[index].isMeasured, nodes[index].depth == depth, nodes[index].isRow == asRow { return }
    result.measuredCount += 1
    read(index)
    nodes[index].heights = HeightCache()
    nodes[index].depth = depth
    nodes[index].isRow = asRow
    nodes[index].isMeasured = true
    nodes[index].isShrinkable = false
    nodes[index].rows = nil
    let style = style(index)
    guard style.isVisible else {
      (nodes[index].extent, nodes[index].flow) = (.zero, [])
      return
    }
    if depth >= LayoutEngine.depthMax {
      nodes[index].flow = []
      nodes[index].extent = Extent(fixed: chrome.textLeast)
      return
    }
    measureChildren(index, depth: depth)
    if asRow { return }
    var extent = contentExtent(index)
    extent = extent + (style.padding.horizontal + accessoryWidth(index))
    if let width = style.width { extent = Extent(fixed: width) }
    extent = extent.clamped(least: style.minWidth, most: style.maxWidth)
    nodes[index].extent = extent + style.margin.horizontal
    nodes[index].isShrinkable = style.height == nil && shrinks(index)
  }

  /// Its properties, if they are not known.
  private mutating func read(_ index: Int) {
    guard !nodes[index].isKnown, let entry = table[index] else { return }
    nodes[index].style = NodeStyle(entry.node, metrics)
    nodes[index].type = entry.node.type
    nodes[index].id = entry.node.id
    nodes[index].children = entry.children
    nodes[index].content = LeafContent(entry.node, metrics, style(index))
    nodes[index].lines = nil
    nodes[index].isKnown = true
  }

  private mutating func measureChildren(_ index: Int, depth: Int) {
    let children = nodes[index].children
    guard !children.isEmpty else {
      (nodes[index].flow, nodes[index].accessoryChild) = ([], nil)
      return
    }
    let isTable = nodes[index].type == .table
    var accessory: Int?
    var flow: [Int] = []
    flow.reserveCapacity(children.count)
    for child in children {
      read(child)
      let isCells = isTable && nodes[child].type == .stack && !style(child).isSection
      measure(child, depth: depth + 1, asRow: isCells)
      if case .child(nodes[child].id) = style(index).accessory {
        accessory = child
      } else if nodes[child].isShown || nodes[index].isRow {
        flow.append(child)
      }
    }
    nodes[index].flow = flow
    nodes[index].accessoryChild = accessory.flatMap { nodes[$0].isShown ? $0 : nil }
  }

  /// The room at the end of a node for its accessory.
  func accessoryWidth(_ index: Int) -> Int {
    switch style(index).accessory {
    case .none: 0
    case .mark: chrome.accessory + chrome.accessoryGap
    case .child:
      nodes[index].accessoryChild.map { nodes[$0].extent.ideal } ?? 0
    }
  }

  private mutating func contentExtent(_ index: Int) -> Extent {
    switch nodes[index].type {
    case .stack: stackExtent(index)
    case nil: columnExtent(index)
    case .form: formExtent(index)
    case .grid: gridExtent(index)
    case .table: tableExtent(index)
    case .button, .link: inlineExtent(index)
    case .space:
      Extent(fixed: spaceSize(index).width)
    default: leafExtent(index)
    }
  }

  private func shrinks(_ index: Int) -> Bool {
    let style = style(index)
    switch nodes[index].type {
    case .table where style.isScrolling: return true
    case .stack where style.isScrolling && style.axis == .vertical: return true
    case .stack, .form, nil: return nodes[index].flow.contains { nodes[$0].isShrinkable }
    default: return false
    }
  }

  // MARK: - Heights

  /// How high a node is at a width, margins included in both, without its separator.
  mutating func height(_ index: Int, width: Int) -> Int {
    if let known = nodes[index].heights[width] { return known }
    let style = style(index)
    var height: Int
    if let fixed = style.height {
      height = fixed
    } else if nodes[index].depth >= LayoutEngine.depthMax {
      height = metrics.measure.lineHeight(of: style.font)
    } else {
      let room = width - style.margin.horizontal - style.padding.horizontal - accessoryWidth(index)
      height = contentHeight(index, width: max(0, room)) + style.padding.vertical
      if let accessory = nodes[index].accessoryChild {
        height = max(height, self.height(accessory, width: nodes[accessory].extent.ideal))
      }
    }
    height = min(max(height, style.minHeight), style.maxHeight ?? .max) + style.margin.vertical
    nodes[index].heights.insert(height, at: width)
    return height
  }

  private mutating func contentHeight(_ index: Int, width: Int) -> Int {
    switch nodes[index].type {
    case .stack: stackHeight(index, width: width)
    case nil: columnHeight(index, width: width)
    case .form: formHeight(index, width: width)
    case .grid: gridHeight(index, width: width)
    case .table: tableHeight(index, width: width)
    case .button, .link: inlineHeight(index, width: width)
    case .space: spaceSize(index).height
    default: leafHeight(index, width: width)
    }
  }

  /// What the line below a child takes.
  func separatorHeight(_ index: Int, last: Bool, dividing: Bool) -> Int {
    switch style(index).separator {
    case .always: chrome.separator
    case .never: 0
    case .whereParentDivides: dividing && !last ? chrome.separator : 0
    }
  }
}
