public import WidgetModel

/// Lays out contents: finds the place of each node, for a width and optionally a height.
///
/// The engine caches its measurements. Call `invalidate` after each change of the table. Then
/// `layout` measures only the changed nodes and the nodes above them. The result is the same as
/// that of a new engine. One engine is for one table.
///
/// Every content has a layout, however faulty its properties are: a property that is wrong counts as
/// missing. Nodes that are nested deeper than `NodeTable.drawnDepthMax` are left out.
public struct LayoutEngine: Sendable {
  public let metrics: LayoutMetrics
  private let chrome: Chrome
  private var nodes: [MeasuredNode] = []
  /// The nodes that changed since the last layout.
  private var pending: [Int] = []
  private var previous = PreviousLayout()

  public init(metrics: LayoutMetrics) {
    self.metrics = metrics
    chrome = Chrome(metrics)
  }

  /// Drops the cached measurements that a change invalidates.
  public mutating func invalidate(_ changes: NodeTable.Changes) {
    if changes.replacesAll { invalidateAll() }
    for index in changes.removed where index < nodes.count { nodes[index] = MeasuredNode() }
    for index in changes.changed { invalidate(index: index) }
  }

  /// Drops the cached facts of one node, such as a date whose text changed.
  public mutating func invalidate(index: Int) {
    guard nodes.indices.contains(index) else { return }
    nodes[index] = MeasuredNode()
    pending.append(index)
  }

  /// Drops all cached data.
  public mutating func invalidateAll() {
    (nodes, pending, previous) = ([], [], PreviousLayout())
  }

  /// Places the content.
  ///
  /// - Parameters:
  ///   - table: the table. `invalidate` must have reported its changes.
  ///   - width: the available units.
  ///   - height: the available units. Nil for as many as the content takes.
  ///   - scroll: the scroll offsets in units, by the id of the node. An offset outside of the range
  ///     is limited to the range.
  public mutating func layout(
    _ table: NodeTable, width: Int, height: Int? = nil, scroll: [String: Int] = [:]
  ) -> LayoutResult {
    // If the extent of a node may differ, the node and all nodes above it are measured again.
    for index in pending {
      var above = table[index]?.parent
      while let parent = above, parent < nodes.count, nodes[parent].isMeasured {
        nodes[parent].isMeasured = false
        above = table.parent(of: parent)
      }
    }
    pending = []
    if nodes.count < table.indexEnd {
      nodes.append(
        contentsOf: repeatElement(MeasuredNode(), count: table.indexEnd - nodes.count))
    }
    // The engine gives its nodes to the pass, so that the pass is their only owner and can change
    // them without copies.
    var pass = LayoutPass(
      table: table, metrics: metrics, chrome: chrome, nodes: nodes, scroll: scroll,
      previous: previous)
    nodes = []
    pass.run(width: max(0, width), height: height.map { max(0, $0) })
    nodes = pass.nodes
    previous = PreviousLayout(result: pass.result, scroll: scroll)
    return pass.result
  }
}

extension LayoutEngine {
  /// The width that the content takes if there is room for more: the width of its texts, and of
  /// bars and fields that can fill any room.
  public mutating func naturalWidth(_ table: NodeTable) -> Int {
    guard let root = table.root else { return 0 }
    _ = layout(table, width: 0)
    return nodes[root].isShown ? nodes[root].extent.ideal : 0
  }
}

/// An engine's state of one node.
struct MeasuredNode: Sendable {
  /// Whether `facts` are those of the node.
  var isKnown = false
  /// Whether the other properties are valid, too.
  var isMeasured = false
  var facts = NodeFacts.none

  var depth = 0
  /// The horizontal extent of the whole node, its margin included.
  var extent = Extent.zero
  /// The children that are shown in their places: not hidden ones, nor an accessory.
  var flow: [Int] = []
  var accessoryChild: Int?
  /// Whether it can be scrolled, or holds something that can, if its height is too small.
  var isShrinkable = false
  /// The rows, if the node is a measured table.
  var rows: TableRows?
  /// Whether the node was measured as a row of a table. The extent of such a row is not known.
  var isRow = false
  /// Whether a label is cut at the end of a line instead of wrapped, unless it has `lines`: in a cell with
  /// a width.
  var isOneLine = false
  /// For an input of a form: the room for its name, which all inputs of the form share.
  var nameColumn: Int?
  var rowHeight: (shape: RowShape, height: Int)?
  /// For a horizontal stack: the widths of its children, which its height and its place need.
  var rowWidths: (room: Int, widths: [Int], gap: Int)?
  /// Heights, margin included, by width: the latest two.
  var heights = HeightCache()
  var lines: WrappedLines?
  /// The result of the last placing, if `isPlaced`. Valid for this node and all nodes below it.
  var placed: PlacedBefore?
  var isPlaced = false

  var isShown: Bool { isKnown && facts.style.isVisible }
}

/// The properties of a node, read once. An object, because it is read often and large to copy.
final class NodeFacts: Sendable {
  let type: NodeType?
  let role: NodeRole
  let id: String
  let children: [Int]
  let style: NodeStyle
  let content: LeafContent

  static let none = NodeFacts()

  private init() {
    (type, role, id) = (nil, .unknown, "")
    (children, style, content) = ([], NodeStyle(), LeafContent())
  }

  init(_ entry: borrowing NodeTable.Entry, _ metrics: borrowing LayoutMetrics) {
    (type, role, id) = (entry.node.type, entry.node.role, entry.node.id)
    children = entry.children
    style = NodeStyle(entry.node, metrics)
    content = LeafContent(entry.node, metrics, style)
  }
}

/// The latest two heights that were asked for.
struct HeightCache: Sendable {
  private var first = (width: -1, height: 0)
  private var second = (width: -1, height: 0)

  subscript(width: Int) -> Int? {
    first.width == width ? first.height : second.width == width ? second.height : nil
  }

  mutating func insert(_ height: Int, at width: Int) {
    second = first
    first = (width, height)
  }
}

/// The lines of a text for one width.
struct WrappedLines: Sendable {
  var width: Int
  var lines: [TextWrap.Line]
  /// Whether there are more, so that the last one ends with an ellipsis.
  var isCut: Bool
}
