public import WidgetModel

/// The places of all parts of a content.
public struct LayoutResult: Hashable, Sendable {
  /// The requested width and height. Without a requested height, the height of the content.
  public var size: LayoutSize
  /// The size of the content without a limit to its height.
  public var contentSize: LayoutSize
  /// The nodes to draw: parents before their children, siblings in their order.
  public var placed: [PlacedNode]
  /// The nodes that can be focused, in reading order.
  public var focusable: [FocusTarget]
  /// The nodes that can be scrolled, outer before inner ones.
  public var scrollRegions: [ScrollRegion]
  /// Whether a part has no room, and cannot be reached by scrolling.
  public var isClipped: Bool
  /// The number of nodes that were measured for this layout. The other measurements were cached.
  public var measuredCount: Int

  public init() {
    (size, contentSize, placed, focusable) = (.zero, .zero, [], [])
    (scrollRegions, isClipped, measuredCount) = ([], false, 0)
  }
}

/// A node in its place.
public struct PlacedNode: Hashable, Sendable {
  /// The index of the node in the `NodeTable`.
  public var index: Int
  public var id: String
  /// Nil for a type that this version does not know; its children are placed.
  public var type: NodeType?
  /// The node without its margin: the area of the background.
  public var frame: LayoutRect
  /// The area inside of padding, accessory and separator, for text and children.
  public var inner: LayoutRect
  /// Draw nothing of the node outside of this.
  public var clip: LayoutRect
  /// Text, which is wrapped, cut and safe to draw. Each is one line, or a part of one.
  public var texts: [PlacedText]
  /// The other parts to draw.
  public var parts: [PlacedPart]
  /// The line below the node, inside its frame.
  public var separator: LayoutRect?
  /// The lines between the children of a row with `divider`, inside the row's frame.
  public var dividers: [LayoutRect]
  /// The accessory, inside the frame. Nil if the accessory is a child, which is placed like other
  /// children.
  public var accessory: LayoutRect?
  /// The scroll region, if the node can be scrolled.
  public var scroll: ScrollRegion?
  /// The columns of a table or grid.
  public var columns: [LayoutSpan]

  init(
    index: Int, id: String, type: NodeType?, frame: LayoutRect, inner: LayoutRect, clip: LayoutRect
  ) {
    (self.index, self.id, self.type) = (index, id, type)
    (self.frame, self.inner, self.clip) = (frame, inner, clip)
    (texts, parts, columns, dividers) = ([], [], [], [])
  }
}

/// One line of text, or the part of it that is one run.
public struct PlacedText: Hashable, Sendable {
  /// The role of a text in its node.
  public enum Role: Hashable, Sendable {
    /// The text of a label, button or link.
    case text
    /// The name of an input, toggle, gauge, chart, form or spinner.
    case name
    /// The value of an input, date or gauge.
    case value
    /// The text of an empty input or table.
    case placeholder
    /// The problem of an input.
    case problem
    /// The heading of a table's column.
    case heading
    /// The name of a chart's value.
    case label
    /// The address of a link.
    case url
    /// The text in place of a picture.
    case alternative
    /// The text of a form's button.
    case submit
  }

  /// As wide as the text and as high as a line.
  public var frame: LayoutRect
  public var text: String
  public var role: Role
  /// The number of the run among the label's `runs`.
  public var run: Int?
  /// The number of the column or value of the node.
  public var item: Int?

  public init(
    frame: LayoutRect, text: String, role: Role = .text, run: Int? = nil, item: Int? = nil
  ) {
    (self.frame, self.text, self.role, self.run, self.item) = (frame, text, role, run, item)
  }
}

/// Something that is drawn and is not text.
public struct PlacedPart: Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    /// A button with its border: in cells, `[ ` and ` ]` are at its first and last line's ends.
    case button
    /// The mark of a toggle: `[x]`.
    case checkbox
    /// The field of an input. In cells, `[` and `]` are in its first and last column, with the
    /// value in between.
    case field
    /// The bar of a gauge. In cells, `[` and `]` are in its first and last column.
    case bar
    /// The ring of a gauge.
    case ring
    /// The area of a line chart or sparkline.
    case plot
    /// The area of one bar of a chart, at full length. `item` is the number of its value.
    case chartBar
    /// A picture.
    case image
    /// A button's icon.
    case icon
    /// The moving part of an active spinner.
    case spinner
    /// A form's button, with its border.
    case submit
    /// The sign that a table has more rows.
    case more
    /// The line below a table's headings.
    case headingSeparator
    /// The sign in place of a node that is nested too deep.
    case tooDeep
  }

  public var kind: Kind
  public var frame: LayoutRect
  /// The number of the value of the node.
  public var item: Int?

  public init(_ kind: Kind, _ frame: LayoutRect, item: Int? = nil) {
    (self.kind, self.frame, self.item) = (kind, frame, item)
  }
}

/// A start and a length on one axis.
public struct LayoutSpan: Hashable, Sendable {
  public var start: Int
  public var length: Int

  public init(start: Int, length: Int) { (self.start, self.length) = (start, length) }

  public var end: Int { start + length }
}

/// A node that scrolls: its viewport shows a part of its content.
public struct ScrollRegion: Hashable, Sendable {
  public enum Axis: Hashable, Sendable { case horizontal, vertical }

  /// The index of its node in the `NodeTable`, and in `placed`.
  public var index: Int
  public var id: String
  public var axis: Axis
  /// The viewport.
  public var viewport: LayoutRect
  /// The scroll offset: 0 to `offsetMax`.
  public var offset: Int
  /// The length of its content along the axis.
  public var contentLength: Int
  /// The starts of the pages, from 0 on. Empty if the node has no pages.
  public var pages: [Int]

  /// The offset at which the end of the content is visible.
  public var offsetMax: Int { max(0, contentLength - viewportLength) }
  /// The visible length along the axis.
  public var viewportLength: Int { axis == .vertical ? viewport.height : viewport.width }

  /// Divides the content into pages. A page shows as many children as it has room for, and a child
  /// that is longer than the viewport takes several pages.
  mutating func setPages(_ children: some Sequence<(Int, Int)>) {
    let length = viewportLength
    guard length > 0 else { return }
    var pages = [0]
    func begin(_ start: Int) {
      let start = min(start, offsetMax)
      if start > pages[pages.count - 1] { pages.append(start) }
    }
    for (start, extent) in children where start + extent > pages[pages.count - 1] + length {
      begin(start)
      let last = start + extent - length
      for next in stride(from: start + length, to: start + extent, by: length) {
        begin(min(next, last))
      }
    }
    begin(offsetMax)
    self.pages = pages
  }

  /// The offset after a scroll by a distance. If it pages, a scroll goes to the next page in that
  /// direction.
  public func offset(scrolledBy distance: Int) -> Int {
    guard !pages.isEmpty else { return min(max(0, offset + distance), offsetMax) }
    let page = distance > 0 ? pages.first { $0 > offset } : pages.last { $0 < offset }
    return page ?? offset
  }

  /// The nearest offset at which a frame in the content is visible. If the frame is too large, the
  /// offset of its start. With pages, the offset of the nearest page with the frame.
  public func offset(showing frame: LayoutRect) -> Int {
    let start = (axis == .vertical ? frame.y - viewport.y : frame.x - viewport.x) + offset
    let length = axis == .vertical ? frame.height : frame.width
    let least = min(start, start + length - viewportLength)
    let nearest = min(max(0, min(max(offset, least), start)), offsetMax)
    guard nearest != offset else { return offset }
    let showing = pages.filter { $0 <= start && start + length <= $0 + viewportLength }
    return showing.min { abs($0 - offset) < abs($1 - offset) } ?? nearest
  }
}

/// Something that can have the focus.
public struct FocusTarget: Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    /// A button, toggle, input or link.
    case control
    /// The button of a form: `id` is the form's.
    case submit
    /// A row of a table from which users select.
    case row
    /// A node that scrolls. The layout has it in `scrollRegions`, not in `focusable`.
    case scroll
  }

  public var index: Int
  public var id: String
  public var kind: Kind
  public var frame: LayoutRect
  /// The clip of `frame`. The focus can be outside of it, in a scroll region.
  public var clip: LayoutRect

  public init(index: Int, id: String, kind: Kind, frame: LayoutRect, clip: LayoutRect) {
    (self.index, self.id, self.kind, self.frame, self.clip) = (index, id, kind, frame, clip)
  }
}
