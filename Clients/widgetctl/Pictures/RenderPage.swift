import WidgetDrawing
import WidgetLayout
import WidgetModel

/// Draws widgets into one column.
///
/// A pure function of the widgets, time and options, except that it reads the files of image nodes.
struct RenderPage: Sendable {
  var theme = Theme.standard
  var appearance: Theme.Appearance = .dark
  /// In points. Default: the family's.
  var width: Double?
  var height: Double?
  /// The family whose content all widgets show. Default: each widget's family.
  var family: Family?
  var dates: DateText
  /// Whether to show problems that a placeholder covers.
  var tellsAll = false
  /// Whether to hide nodes with `privacy`.
  var isPrivate = false
  /// The loss of the connection to the daemon. All widgets are then drawn as stale, and the first one
  /// says so. Nil while it is up.
  var loss: ConnectionLoss?
  /// Widgets that were removed. Their last state is shown, marked as removed.
  var removed: Set<WidgetID> = []
  var measure: any TextMeasure = SansTextMeasure()

  /// The points between two pictures.
  static let gap = 12.0

  /// The drawing. Nil if there is no widget to show.
  func drawing(of widgets: [Widget], kinds: KindNames = KindNames()) -> Drawing? {
    guard !widgets.isEmpty else { return nil }
    let images = PictureCache()
    let notice = loss.map { "\($0.words) for \(dates.age(of: $0.since))" }
    let drawings = widgets.enumerated().map { index, widget in
      drawing(of: widget, kinds, images, notice: index == 0 ? notice : nil)
    }
    return Drawing.column(drawings, gap: RenderPage.gap)
  }

  private func drawing(
    of widget: Widget, _ kinds: KindNames, _ images: PictureCache, notice: String?
  ) -> Drawing {
    let widget = widget.keepingPromises(at: self.dates.now, kinds.providers.staleness(of: widget))
    var look = DrawingLook(theme: theme, appearance: appearance) { images.image(of: $0) }
    look.imageProblem = { images.problem(of: $0) }
    look.isPrivate = isPrivate
    look.isStale = widget.isStale || loss != nil || removed.contains(widget.id)
    look.isDisabled = !widget.presence.isEnabled
    var card = WidgetCard(look: look, measure: measure)
    let dates = dates
    card.dateText = { dates.text(of: $0) }
    var notes = WidgetCard.Notes()
    if !isPrivate, let content = widget.content {
      notes.problems += images.problems(in: content, tellsAll: tellsAll)
    }
    let presence = widget.presence.state
    if presence != .visible { notes.failures.append(presence.name) }
    if removed.contains(widget.id) { notes.failures.append("the widget was removed") }
    notes.failures +=
      widget.failures(dates, kinds.providers, most: messageMax(of: widget, on: card))
      + (notice.map { [$0] } ?? [])
    if let content = widget.content {
      notes.problems +=
        content.problemLines(tellsAll: tellsAll, theme: theme, dates)
        + (tellsAll ? widget.statusFailures : [])
    } else if let advice = kinds.advice(for: widget, family: family) {
      notes.problems.append(advice)
    }
    return card.drawing(
      of: widget.shownContent ?? RenderPage.lines(of: widget.data), name: widget.id.rawValue,
      family: family ?? widget.family, width: width, height: height, notes: notes)
  }

  /// The maximum number of characters of the error's message that leave room for its age on the
  /// card.
  private func messageMax(of widget: Widget, on card: WidgetCard) -> Int {
    guard let error = widget.error, error.since != nil else { return .max }
    let family = family ?? widget.family
    func fits(_ most: Int) -> Bool {
      card.showsWhole(error.words(dates, most: most), family: family, width: width)
    }
    if fits(.max) { return .max }
    var (least, most) = (1, error.failure.count)
    while most - least > 1 {
      let middle = (least + most) / 2
      if fits(middle) { least = middle } else { most = middle }
    }
    return least
  }

  /// The content of a widget whose kind has none: its data, one line per key.
  private static func lines(of data: ValueMap) -> Content {
    let lines = data.entries.enumerated().map { (index, entry) in
      Node(
        id: "line\(index)", type: .label,
        properties: ["text": .string(entry.line), "lines": .int(1)])
    }
    let root = Node(id: "data", type: .stack, childIDs: lines.map(\.id))
    return Content(rootID: root.id, nodes: [root] + lines)
  }
}
