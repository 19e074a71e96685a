import WidgetLayout
import WidgetModel
import WidgetRender

/// Draws widgets as text: each with its title, its failures and its content.
///
/// A pure function: the same widgets, time and format give the same text.
struct PicturePage: Sendable {
  var format: WidgetPicture.Format
  var theme = Theme.standard
  var appearance: Theme.Appearance = .dark
  /// The width in columns, 1 or more.
  var width: Int
  /// The height in rows. A single widget fills it; several are cut at it. Default: the widgets' height.
  var height: Int?
  /// Whether a single widget fills the height. Otherwise it takes only the rows that it needs.
  var fillsHeight = true
  /// The family whose content all widgets show. Default: each widget's family.
  var family: Family?
  /// Whether each widget has a line with its id.
  var isTitled: Bool
  var dates: DateText
  /// Whether to show problems that a placeholder hides.
  var tellsAll = false
  /// Whether to hide nodes with `privacy`.
  var isPrivate = false
  /// Whether the terminal supports links in ANSI text. Otherwise URLs are shown as text.
  var writesLinks = true

  /// The files of image nodes. Pictures with colours show them.
  var images = PictureCache()

  /// The picture. Empty if there is no widget to show.
  func text(of widgets: [Widget], kinds: KindNames = KindNames()) -> String {
    grid(of: widgets, kinds: kinds).map(picture.text(of:)) ?? ""
  }

  /// The cells of the picture. Nil if there is no widget to show.
  func grid(of widgets: [Widget], kinds: KindNames = KindNames()) -> CellGrid? {
    var grids: [CellGrid] = []
    for widget in widgets {
      if !grids.isEmpty { grids.append(CellGrid(width: width, height: 1)) }
      grids += self.grids(of: widget, kinds: kinds, fillsPage: fillsHeight && widgets.count == 1)
    }
    let total = grids.reduce(0) { $0 + $1.height }
    guard total > 0 else { return nil }
    var page = CellGrid(
      width: width, height: fillsHeight ? height ?? total : min(height ?? total, total))
    var row = 0
    for grid in grids {
      page.draw(grid, column: 0, row: row)
      row += grid.height
    }
    if total > page.height, page.height > 0 {
      let last = LayoutRect(x: 0, y: page.height - 1, width: width, height: 1)
      page.fill(last, style: .plain)
      let more = "… \(total - page.height + 1) more lines"
      page.put(more, column: 0, row: last.y, clip: last)
    }
    return page
  }

  /// The lines above a widget's content, the content, and the lines below it.
  private func grids(of widget: Widget, kinds: KindNames, fillsPage: Bool) -> [CellGrid] {
    let widget = widget.keepingPromises(at: dates.now, kinds.providers.staleness(of: widget))
    var above: [Node] = []
    let presence = widget.presence.state
    if isTitled || presence != .visible {
      let title = widget.id.rawValue + (presence == .visible ? "" : ", \(presence.name)")
      above.append(PicturePage.line(title, ["font": .string("headline")]))
    }
    above += widget.problems(dates, kinds.providers).map {
      PicturePage.line(
        $0.text, ["color": .string($0.isStaleness ? "color.warning" : "color.error")])
    }
    guard let content = widget.shownContent else {
      if let advice = kinds.advice(for: widget, family: family) {
        above.append(PicturePage.line(advice, ["color": .string("color.secondary")]))
      }
      let data = widget.dataForPeople.map { PicturePage.line($0.line, ["lines": .int(1)]) }
      return grids(above + data)
    }
    let top = grids(above)
    let problems =
      content.problemLines(tellsAll: tellsAll, theme: theme, dates)
      + (isPrivate ? [] : images.problems(in: content, tellsAll: tellsAll))
      + (tellsAll ? widget.statusFailures : [])
    let below = grids(problems.map { PicturePage.problem($0) })
    let taken = (top + below).reduce(0) { $0 + $1.height }
    var picture = picture
    picture.look.isStale = widget.isStale
    picture.look.isDisabled = !widget.presence.isEnabled
    let rest = fillsPage ? height.map { max($0 - taken, 0) } : nil
    let whole = picture.grid(of: content, width: width)
    // Content that scrolls is laid out in the remaining rows. Other content keeps its height; the
    // page cuts it and counts the missing lines.
    let shown =
      rest.map { whole.height <= $0 || $0 > 0 && content.hasScrolling } == true
      ? [picture.grid(of: content, width: width, height: rest)] : [whole]
    return top + shown + below
  }

  private var picture: WidgetPicture {
    let dates = dates
    var picture = WidgetPicture(
      format: format, look: CellLook(theme: theme, appearance: appearance)
    ) {
      dates.text(of: $0)
    }
    let (images, drawsImages) = (images, picture.look.usesColor)
    picture.look.image = { drawsImages ? images.pixels(of: $0) : nil }
    picture.look.imageProblem = { images.problem(of: $0) }
    picture.writesLinks = writesLinks
    picture.look.isPrivate = isPrivate
    return picture
  }

  // MARK: - Lines around the content

  func grid(line text: String) -> CellGrid { oneLine(PicturePage.line(text, ["lines": .int(1)])) }

  /// A line in the error colour.
  func grid(problem text: String) -> CellGrid {
    var line = PicturePage.problem(text)
    line.properties["lines"] = .int(1)
    return oneLine(line)
  }

  private func oneLine(_ node: Node) -> CellGrid {
    picture.grid(of: Content(rootID: node.id, nodes: [node]), width: width)
  }

  private func grids(_ lines: [Node]) -> [CellGrid] {
    lines.map(oneLine)
  }

  private static func line(_ text: String, _ properties: ValueMap) -> Node {
    var properties = properties
    properties["text"] = .string(text)
    properties["padding"] = .double(0)
    return Node(id: "line", type: .label, properties: properties)
  }

  private static func problem(_ text: String) -> Node {
    line(text, ["color": .string("color.error")])
  }
}

extension Content {
  /// Whether a node scrolls.
  fileprivate var hasScrolling: Bool { nodes.contains { $0.properties["scroll"] == .bool(true) } }
}
