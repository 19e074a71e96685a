public import WidgetLayout
public import WidgetModel

/// One widget's picture: a card with its content, its failures and its problems.
public struct WidgetCard: Sendable {
  public var look: DrawingLook
  public var measure: any TextMeasure
  /// Formats the text of a `date` node. Default: empty.
  public var dateText: @Sendable (Node) -> String = { _ in "" }

  /// The distance between the card's edge and its content.
  static let inset = 12.0
  static let corner = 18.0
  /// Inset and corner of an `inline` card.
  static let inlineInset = (sides: 8.0, ends: 0.0)
  static let inlineCorner = 10.0
  /// The width of the mark in an `inline` card.
  static let inlineMark = 16.0
  /// The room inside of the inset that the stale mark of other cards takes, in their upper right corner.
  public static let staleMark = (width: 14.0, height: 14.0)
  /// The maximum height to which a card grows for its content, in points.
  public static let heightMax = 4_096.0
  /// The maximum length of the description for screen readers, in characters.
  static let wordsMax = 1_000

  public init(look: DrawingLook, measure: any TextMeasure = SansTextMeasure()) {
    (self.look, self.measure) = (look, measure)
  }

  /// The size of a family's card, in points. An `inline` card is as wide as its text, up to this width.
  public static func size(of family: Family) -> (width: Double, height: Double) {
    switch family {
    case .small: (170, 170)
    case .medium: (360, 170)
    case .large: (360, 380)
    case .extraLarge: (720, 380)
    case .inline: (720, 28)
    case .circular: (72, 72)
    case .rectangular: (170, 72)
    }
  }

  /// The messages on a card.
  public struct Notes: Hashable, Sendable {
    /// Shown above the content, in the error colour.
    public var failures: [String]
    /// Shown below the content, in the error colour.
    public var problems: [String]

    public init(failures: [String] = [], problems: [String] = []) {
      (self.failures, self.problems) = (failures, problems)
    }
  }

  /// Lays out and draws a widget's content.
  ///
  /// - Parameters:
  ///   - name: The widget's name, for screen readers.
  ///   - width: The width in points. Default: the family's width; for `inline`, the width of the text.
  ///   - height: The height in points. Content that does not fit is cut. Default: the family's height, or
  ///     the content's if that is greater.
  public func drawing(
    of content: Content, name: String, family: Family, width: Double? = nil, height: Double? = nil,
    notes: Notes = Notes()
  ) -> Drawing {
    let isInline = family == .inline
    let inset = isInline ? Self.inlineInset : (sides: Self.inset, ends: Self.inset)
    let size = Self.size(of: family)
    let table = NodeTable(content)
    var inner = (width ?? size.width) - 2 * inset.sides
    // One line has no room for messages. A mark after the content replaces them.
    let isMarked = isInline && (look.isStale || !notes.failures.isEmpty)
    if isInline, width == nil { inner = naturalWidth(table, most: inner) }
    if isMarked, width != nil { inner -= Self.inlineMark }
    inner = max(inner, 1)
    let hasCornerMark = look.isStale && !isInline
    var above = lines(
      isInline ? [] : notes.failures,
      width: max(inner - (hasCornerMark ? Self.staleMark.width : 0), 1))
    // Messages and content stay outside of the mark.
    if hasCornerMark { above.height = max(above.height, Self.staleMark.height) }
    let below = lines(isInline ? [] : notes.problems, width: inner)
    let taken = 2 * inset.ends + above.height + below.height
    var whole = DrawingRect(
      x: 0, y: 0, width: inner + 2 * inset.sides + (isMarked ? Self.inlineMark : 0),
      height: height ?? size.height)
    var layout = self.layout(table, width: inner, height: max(whole.height - taken, 0))
    let missing = layout.contentSize.height - layout.size.height
    if height == nil, missing > 0, layout.isClipped {
      whole.height += (Double(missing) / Double(LayoutMetrics.unitsPerPoint)).rounded(.up)
      whole.height = min(whole.height, Self.heightMax)
      layout = self.layout(table, width: inner, height: max(whole.height - taken, 0))
    }
    let root = table.root.flatMap { table[$0]?.node }
    let base = DrawingLook.mix(
      look.token("color.background"), over: ThemeColor(red: 0, green: 0, blue: 0))
    // A root with a background fills the card.
    let rootFill = look.color(root?.properties["background"])
    let background = rootFill.map { DrawingLook.mix($0, over: base) } ?? base

    let corner = family == .circular ? whole.width / 2 : isInline ? Self.inlineCorner : Self.corner
    var marks: [Mark] = [
      .rectangle(
        whole.inset(0.5), corner: corner,
        Paint(fill: background, stroke: look.token("color.separator")))
    ]
    let painter = DrawingPainter(look: look)
    var shown = painter.marks(
      layout, table, on: background,
      paintsRoot: rootFill == nil || look.points(root?.properties["corner"]) > 0
    )
    .map { $0.moved(x: inset.sides, y: inset.ends + above.height) }
    let isCut = layout.isClipped && layout.contentSize.height > layout.size.height
    if look.isStale { shown = shown.dimmed(except: look.token("color.error")) }
    marks += above.marks.map { $0.moved(x: inset.sides, y: inset.ends) }
    marks += shown
    marks += below.marks.map {
      $0.moved(x: inset.sides, y: whole.height - inset.ends - below.height)
    }
    if isCut { marks += moreMarks(whole) }
    if isMarked || look.isStale {
      let middle =
        isInline
        ? DrawingPoint(x: whole.endX - inset.sides - 6, y: whole.center.y)
        : DrawingPoint(x: whole.endX - 18, y: whole.y + 18)
      marks += look.isStale ? staleMarks(middle) : failedMarks(middle)
    }
    let words = ([name] + notes.failures + texts(layout, table) + notes.problems)
      .joined(separator: ", ")
    return Drawing(
      width: whole.width, height: whole.height, title: name,
      words: String(words.prefix(Self.wordsMax)), marks: Self.within(whole, marks))
  }

  /// Clips marks to the card, which may be too small for them.
  private static func within(_ card: DrawingRect, _ marks: [Mark]) -> [Mark] {
    marks.compactMap { mark in
      let bounds = mark.bounds
      if card.contains(bounds) { return mark }
      return card.overlaps(bounds) ? .group(MarkGroup(clip: card, marks: [mark])) : nil
    }
  }

  /// The texts for screen readers: all visible texts.
  private func texts(_ layout: LayoutResult, _ table: NodeTable) -> [String] {
    layout.placed.filter { !isHidden($0.index, table) }.flatMap { $0.texts.map(\.text) }
  }

  /// Whether a node is private, or inside a private one, and so hidden.
  private func isHidden(_ index: Int, _ table: NodeTable) -> Bool {
    guard look.isPrivate else { return false }
    var index: Int? = index
    while let found = index, let entry = table[found] {
      if entry.node.flag("privacy", default: false) { return true }
      index = entry.parent
    }
    return false
  }

  private var engine: LayoutEngine {
    var metrics = LayoutMetrics(
      scale: .points, measure: measure, theme: look.theme, dateText: dateText)
    metrics.showsURLs = false
    metrics.drawsIcons = false
    return LayoutEngine(metrics: metrics)
  }

  private func layout(_ table: NodeTable, width: Double, height: Double?) -> LayoutResult {
    var engine = engine
    let unit = Double(LayoutMetrics.unitsPerPoint)
    return engine.layout(table, width: Int(width * unit), height: height.map { Int($0 * unit) })
  }

  /// The width that the content of an `inline` card needs, up to `most`.
  private func naturalWidth(_ table: NodeTable, most: Double) -> Double {
    let unit = Double(LayoutMetrics.unitsPerPoint)
    var engine = engine
    // A bar would fill any width.
    let natural = (Double(engine.naturalWidth(table)) / unit).rounded(.up)
    let layout = layout(table, width: min(most, natural), height: nil)
    let ends = layout.placed.map { node in
      let trailing = node.frame.endX - node.inner.endX
      return ((node.texts.map(\.frame.endX) + node.parts.map(\.frame.endX)).max() ?? 0) + trailing
    }
    let width = Double(ends.max() ?? 0) / unit
    return min(most, width.rounded(.up))
  }

  /// Whether a message is shown whole, and not cut, on a card of a family.
  ///
  /// - Parameter width: The width of the card in points. Default: the family's width.
  public func showsWhole(_ message: String, family: Family, width: Double? = nil) -> Bool {
    let inner = (width ?? Self.size(of: family).width) - 2 * Self.inset
    let table = Self.table(of: [message])
    let layout = layout(
      table, width: max(inner - (look.isStale ? Self.staleMark.width : 0), 1), height: nil)
    return layout.placed.flatMap(\.texts).last?.text.hasSuffix(TextColumns.ellipsis) != true
  }

  /// Lines of text in the error colour, at the origin.
  private func lines(_ texts: [String], width: Double) -> (marks: [Mark], height: Double) {
    guard !texts.isEmpty else { return ([], 0) }
    let table = Self.table(of: texts)
    let layout = layout(table, width: width, height: nil)
    let marks = DrawingPainter(look: look).marks(
      layout, table, on: look.token("color.background"))
    return (marks, Double(layout.size.height) / Double(LayoutMetrics.unitsPerPoint))
  }

  /// The messages as labels.
  private static func table(of texts: [String]) -> NodeTable {
    let children = texts.enumerated().map { (index, text) in
      Node(
        id: "line\(index)", type: .label,
        properties: [
          "text": .string(text), "color": .string("color.error"),
          "font": .string("font.caption"), "lines": .int(2),
          "padding": .map(["horizontal": .double(4), "vertical": .double(1)]),
        ])
    }
    let root = Node(id: "lines", type: .stack, childIDs: children.map(\.id))
    return NodeTable(Content(rootID: root.id, nodes: [root] + children))
  }

  /// Three dots at the lower edge: the content is cut.
  private func moreMarks(_ card: DrawingRect) -> [Mark] {
    [-6.0, 0, 6].map { offset in
      .arc(
        center: DrawingPoint(x: card.center.x + offset, y: card.endY - 6), radius: 1.5, from: 0,
        to: 1, Paint(fill: look.token("color.secondary"), lineWidth: 0))
    }
  }

  /// A circular arrow: the data may be old.
  private func staleMarks(_ center: DrawingPoint) -> [Mark] {
    let paint = Paint(stroke: look.token("color.warning"), lineWidth: 1.75, isRound: true)
    let radius = 5.0
    let tip = DrawingPoint(x: center.x, y: center.y - radius)
    let wing = radius * 0.5
    return [
      .arc(center: center, radius: radius, from: 0.12, to: 1, paint),
      .path(
        [
          DrawingPoint(x: tip.x - wing, y: tip.y - wing), tip,
          DrawingPoint(x: tip.x - wing, y: tip.y + wing),
        ], isClosed: false, paint),
    ]
  }

  /// A dot in the error colour: the widget has failed.
  private func failedMarks(_ center: DrawingPoint) -> [Mark] {
    [
      .arc(
        center: center, radius: 4, from: 0, to: 1,
        Paint(fill: look.token("color.error"), lineWidth: 0))
    ]
  }
}

extension [Mark] {
  /// The marks with the opacity of old data, except for text in one colour: an error is not old.
  fileprivate func dimmed(except bright: ThemeColor) -> [Mark] {
    guard contains(where: { $0.has(bright) }) else {
      return [.group(MarkGroup(opacity: DrawingLook.staleOpacity, marks: self))]
    }
    return map { mark in
      switch mark {
      case .text(let text) where text.color == bright: return mark
      case .group(var group) where mark.has(bright):
        group.marks = group.marks.dimmed(except: bright)
        return .group(group)
      default: return .group(MarkGroup(opacity: DrawingLook.staleOpacity, marks: [mark]))
      }
    }
  }
}

extension Mark {
  /// Whether there is text of a colour.
  fileprivate func has(_ color: ThemeColor) -> Bool {
    switch self {
    case .text(let text): text.color == color
    case .group(let group): group.marks.contains { $0.has(color) }
    default: false
    }
  }
}
