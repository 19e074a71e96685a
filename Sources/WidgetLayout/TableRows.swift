import WidgetModel

/// The parts of a table beside its rows' cells, and the ideal widths of its columns.
struct TableRows: Sendable {
  struct Column: Sendable {
    var title = ""
    var titleWidth = 0
    var align: NodeStyle.Alignment?
    var width: Int?
    var grow = 0.0
    var extent = Extent.zero
    /// Whether all labels in it are numbers.
    var isNumeric: Bool?
    /// Whether a label in it is not a number.
    var isText = false

    /// Numbers are at the end by default.
    var alignment: NodeStyle.Alignment? { align ?? (isNumeric == true ? .end : nil) }
  }

  var columns: [Column] = []
  var hasHeadings = false
  var hasMore = false
  var selects = false
  /// The room at both ends of the rows, and for their accessories.
  var insets = LayoutEdges()
  var accessoryWidth = 0
  /// The height of each row, with the line below it, at a width of the table.
  var heights: (width: Int, heights: [Int])?
}

/// The division of a table's width.
struct TableWidths {
  var columns: [Int]
  /// The room at both ends of the rows. It is less than the rows request if the table is too
  /// narrow.
  var insets: LayoutEdges
  var accessory: Int
}

/// The inputs that the height of a row depends on.
struct RowShape: Hashable, Sendable {
  var widths: [Int]
  var alignments: [NodeStyle.Alignment?]
}

/// The table's facts that a row needs to place its cells.
struct RowPlan: Hashable, Sendable {
  var columns: [LayoutSpan]
  var alignments: [NodeStyle.Alignment?]
  /// The maximum room at each end of the rows. The columns are between both.
  var insets: LayoutEdges
  var accessoryWidth: Int
  var selects: Bool
}
