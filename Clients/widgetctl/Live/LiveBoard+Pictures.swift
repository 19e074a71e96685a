import WidgetLayout
import WidgetModel
import WidgetRender
import WidgetTerminal

/// Pictures of image nodes: the visible ones, the ones to load, and the way to draw each.
extension LiveBoard {
  /// An image node in view. `place` is the visible part of `frame`, both on the screen.
  private struct Seen {
    let widget: WidgetID
    let node: Node
    let frame: LayoutRect
    let place: LayoutRect
  }

  /// The image nodes that are at least partly in view.
  private var seenImages: [Seen] {
    let page = LayoutRect(x: 0, y: 0, width: size.columns, height: pageRows)
    guard !withImages.isEmpty else { return [] }
    return order.filter(withImages.contains).flatMap { id -> [Seen] in
      guard let pane = panes[id], !pane.images.isEmpty, let frame = frames[id] else { return [] }
      let origin = origin(of: id)
      func onScreen(_ rect: LayoutRect) -> LayoutRect {
        LayoutRect(
          x: rect.x + origin.x, y: rect.y + origin.y - top, width: rect.width, height: rect.height)
      }
      let inside = LayoutRect(
        x: frame.x + 1, y: frame.y + 1 - top, width: frame.width - 2, height: frame.height - 2)
      return pane.images.compactMap { image in
        guard let node = pane.table[image.index]?.node else { return nil }
        let frame = onScreen(image.frame)
        let place = frame.intersection(onScreen(image.clip)).intersection(inside)
          .intersection(page)
        return place.isEmpty ? nil : Seen(widget: id, node: node, frame: frame, place: place)
      }
    }
  }

  /// The sources of pictures in view that are not loaded yet. Marks them as loading.
  mutating func picturesToLoad() -> [String] {
    let sources =
      seenImages.flatMap { [$0.node.text("source"), pictures.source(of: $0.node)] }
      + order.filter { withImages.contains($0) && frames[$0] != nil }.flatMap(unframedImages)
      .flatMap { node in
        [node.text("source"), node.text("fallback")].filter(PictureFile.namesFile)
      }
    guard !sources.isEmpty else { return [] }
    var all = pictures
    let new = all.request(sources)
    if !new.isEmpty { pictures = all }
    return new
  }

  /// Takes a picture that was loaded. A reason takes rows of its pane.
  mutating func take(picture source: String, _ state: LivePictures.State) {
    pictures.take(source, state)
    if case .failed = state { arrange() }
  }

  /// The image nodes of a pane that have no box.
  private func unframedImages(of id: WidgetID) -> [Node] {
    guard let pane = panes[id] else { return [] }
    return pane.unframedImages.compactMap { pane.table[$0]?.node }
  }

  /// A line for each image without a box whose file cannot be read. A box shows its reason itself.
  func pictureTroubles(of id: WidgetID) -> [String] {
    guard withImages.contains(id) else { return [] }
    return unframedImages(of: id).compactMap { node in
      PictureFile.absence(of: node) { source in
        if case .failed(let reason)? = pictures.states[source] { reason } else { nil }
      }.map { "\(node.id.onOneLine): \($0.onOneLine)" }
    }
  }

  /// The events `load` and `error` of pictures in view. Each node sends one event per source, after
  /// the source was loaded or has failed.
  mutating func pictureEvents() -> [LiveEvent] {
    var (told, events) = (toldPictures, [LiveEvent]())
    for seen in seenImages where !Set(seen.node.events).isDisjoint(with: ["load", "error"]) {
      let source = seen.node.text("source")
      var event: LiveEvent?
      switch pictures.states[source] {
      case .ready?:
        event = LiveEvent(
          widget: seen.widget, node: seen.node.id, name: "load",
          payload: ["source": .string(source)])
      case .failed(let reason)?:
        event = LiveEvent(
          widget: seen.widget, node: seen.node.id, name: "error",
          payload: ["source": .string(source), "reason": .string(reason)])
      case .loading?, nil: break
      }
      let place = LiveFocus(widget: seen.widget, node: seen.node.id, kind: .control)
      guard told[place] != event else { continue }
      told[place] = event
      if let event, seen.node.events.contains(event.name) { events.append(event) }
    }
    if told != toldPictures { toldPictures = told.filter { panes[$0.key.widget] != nil } }
    return events
  }

  /// The pictures in view for a terminal that draws pixels: those that are sent, and those that are
  /// drawn with half blocks. Half blocks are for pictures that are too many or too large, and for
  /// all pictures under an overlay: a box cannot cover pixels.
  private var dividedImages: (sent: [Seen], others: [Seen]) {
    guard pictures.usesProtocol else { return ([], []) }
    let seen = seenImages.filter { pictures.image(of: $0.node) != nil }
    guard overlay == nil, noticeLines.count < 2 else { return ([], seen) }
    let sent = seen.filter { pictures.sends($0.place) }
    return (
      Array(sent.prefix(LivePictures.shownMax)),
      seen.filter { !pictures.sends($0.place) } + sent.dropFirst(LivePictures.shownMax)
    )
  }

  /// The pictures that the terminal draws with pixels.
  var sprites: [LiveSprite] {
    dividedImages.sent.map {
      LiveSprite(source: pictures.source(of: $0.node), frame: $0.frame, place: $0.place)
    }
  }

  /// Draws the other pictures with half blocks.
  func drawPictures(in grid: inout CellGrid) {
    for picture in dividedImages.others {
      guard let image = pictures.image(of: picture.node) else { continue }
      grid.picture(image, in: picture.frame, clip: picture.place)
    }
  }

  /// A look that finds pictures and their problems by node.
  func withPictures(_ look: CellLook) -> CellLook {
    var look = look
    let pictures = pictures
    look.image = { node in
      guard pictures.method != nil, let image = pictures.image(of: node) else { return nil }
      // The terminal draws pixels over these cells, so they stay blank.
      return pictures.usesProtocol ? LiveBoard.nothing : image
    }
    look.imageProblem = { pictures.problem(of: $0) }
    return look
  }

  private static let nothing = PixelImage(width: 1, height: 1, rgba: [0, 0, 0, 0])
}
