import Synchronization
import WidgetDrawing
import WidgetLayout
import WidgetModel
import WidgetRender

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
  /// Why the connection to the daemon is lost. All widgets are then drawn as stale. Nil while it is up.
  var loss: String?
  /// Widgets that were removed. Their last state is shown, and that they are gone.
  var removed: Set<WidgetID> = []
  var measure: any TextMeasure = SansTextMeasure()

  /// The points between two pictures.
  static let gap = 12.0

  /// The drawing. Nil if there is no widget to show.
  func drawing(of widgets: [Widget], kinds: KindNames = KindNames()) -> Drawing? {
    guard !widgets.isEmpty else { return nil }
    let images = PictureCache()
    return Drawing.column(widgets.map { drawing(of: $0, kinds, images) }, gap: RenderPage.gap)
  }

  private func drawing(
    of widget: Widget, _ kinds: KindNames, _ images: PictureCache
  ) -> Drawing {
    var look = DrawingLook(theme: theme, appearance: appearance) { images.image(of: $0) }
    look.isPrivate = isPrivate
    look.isStale = widget.isStale || loss != nil || removed.contains(widget.id)
    var card = WidgetCard(look: look, measure: measure)
    let dates = dates
    card.dateText = { dates.text(of: $0) }
    var notes = WidgetCard.Notes()
    if tellsAll, !isPrivate, let content = widget.content {
      notes.problems += images.problems(in: content)
    }
    let presence = widget.presence.state
    if presence != .visible { notes.failures.append(presence.name) }
    if removed.contains(widget.id) { notes.failures.append("the widget was removed") }
    notes.failures += widget.failures(dates) + (loss.map { [$0] } ?? [])
    if let content = widget.content {
      notes.problems +=
        content.problemLines(tellsAll: tellsAll, theme: theme)
        + (tellsAll ? widget.statusFailures : [])
    } else if kinds.unknown.contains(widget.kind) {
      notes.failures.append("unknown kind \"\(widget.kind)\"")
    } else if let advice = kinds.advice(for: widget) {
      notes.problems.append(advice)
    }
    return card.drawing(
      of: widget.content ?? RenderPage.lines(of: widget.data), name: widget.id.rawValue,
      family: family ?? widget.family, width: width, height: height, notes: notes)
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

/// The files of image nodes. Each is read once.
private final class PictureCache: Sendable {
  private let known = Mutex<[String: DrawingImage?]>([:])
  private let reasons = Mutex<[String: String]>([:])

  /// Why pictures are missing, one line for each: `photo: /x.png: No such file or directory`.
  func problems(in content: Content) -> [String] {
    content.nodes.filter { $0.type == .image }.flatMap { node in
      _ = image(of: node)
      return ["source", "fallback"].compactMap { name in
        let source = node.text(name)
        return reasons.withLock { $0[source] }.map { "\(node.id): \(source): \($0)" }
      }
    }
  }

  /// The picture of a node, or of its fallback.
  func image(of node: Node) -> DrawingImage? {
    [node.text("source"), node.text("fallback")].lazy.filter { !$0.isEmpty }
      .compactMap { self.image($0, words: node.text("alt")) }.first
  }

  private func image(_ source: String, words: String) -> DrawingImage? {
    known.withLock { known in
      if let image = known[source] { return image }
      var image: DrawingImage?
      switch PictureFile.read(source) {
      case .success(let file):
        image = DrawingImage(
          png: file.bytes, width: file.image.width, height: file.image.height,
          words: words.isEmpty ? source : words)
      case .failure(let problem): reasons.withLock { $0[source] = problem.reason }
      }
      known[source] = .some(image)
      return image
    }
  }
}
