import WidgetLayout
import WidgetModel
import WidgetRender
import WidgetTerminal

/// The picture cache of a dashboard: the state of each source, and how pictures are drawn.
struct LivePictures: Sendable {
  enum State: Hashable, Sendable {
    case loading
    case ready(PixelImage)
    /// The reason.
    case failed(String)
  }

  /// The longest side of a cached picture, in pixels. Larger pictures are scaled down.
  static let sideMax = 1024
  /// The limit of the cache. Beyond it, pictures out of view are evicted.
  static let keptMax = 32
  /// The maximum number of pictures that the terminal draws at a time. Further pictures become half
  /// blocks.
  static let shownMax = 16
  /// The maximum number of pixels that are sent for a picture. Larger pictures are sent at a lower
  /// resolution.
  static let sentPixelsMax = 256 << 10
  /// The same for sixels. Terminals do not stretch sixels, so larger pictures become half blocks.
  static let sixelPixelsMax = 1 << 20

  /// The way to draw pictures. Nil if pictures are not drawn.
  var method: TerminalCapabilities.Images?
  /// The size of a terminal cell in pixels.
  var cellWidth = 8
  var cellHeight = 16
  private(set) var states: [String: State] = [:]

  /// Whether the terminal draws pixels with a protocol.
  var usesProtocol: Bool { method.map { $0 != .blocks } ?? false }

  /// The source to draw for a node: `source`, or `fallback` if `source` is empty or failed.
  func source(of node: Node) -> String {
    let (source, fallback) = (node.text("source"), node.text("fallback"))
    if !fallback.isEmpty, source.isEmpty || isFailed(source), fallback != source { return fallback }
    return source
  }

  /// An icon is not drawn, so it has failed before anybody loads it.
  private func isFailed(_ source: String) -> Bool {
    if PictureFile.namesIcon(source) { return true }
    return if case .failed? = states[source] { true } else { false }
  }

  func image(of node: Node) -> PixelImage? {
    if case .ready(let image)? = states[source(of: node)] { image } else { nil }
  }

  /// Why a node shows no picture. Nil if it shows one, if it is an icon, or if no source has failed
  /// yet.
  func problem(of node: Node) -> String? {
    // If both sources failed, report the problem of `source`, because the user wants that one.
    for source in [node.text("source"), source(of: node)] where !PictureFile.namesIcon(source) {
      if case .failed(let reason)? = states[source], image(of: node) == nil { return reason }
    }
    return nil
  }

  /// Returns the sources to load now, and marks them as loading. Evicts pictures out of view.
  mutating func request(_ sources: [String]) -> [String] {
    guard method != nil else { return [] }
    var new: [String] = []
    for source in sources where !PictureFile.namesIcon(source) && states[source] == nil {
      states[source] = .loading
      new.append(source)
    }
    if states.count > LivePictures.keptMax {
      let seen = Set(sources)
      for source in states.keys.sorted()
      where !seen.contains(source) && states[source] != .loading
        && states.count > LivePictures.keptMax
      {
        states[source] = nil
      }
    }
    return new
  }

  mutating func take(_ source: String, _ state: State) {
    if states[source] != nil { states[source] = state }
  }

  /// Whether a picture of this size may be sent. Only sixels have a limit: they cannot be sent at a
  /// lower resolution.
  func sends(_ place: LayoutRect) -> Bool {
    method != .sixel
      || place.width * cellWidth * place.height * cellHeight <= LivePictures.sixelPixelsMax
  }

  // MARK: - Loading

  /// Reads and decodes a picture file. Scales it down to `sideMax`.
  static func load(_ source: String) -> State {
    switch PictureFile.read(source) {
    case .success(let file):
      let image = file.image
      let side = max(image.width, image.height)
      guard side > sideMax else { return .ready(image) }
      let small = image.scaled(
        width: max(1, image.width * sideMax / side), height: max(1, image.height * sideMax / side))
      return .ready(small ?? image)
    case .failure(let problem): return .failed(problem.reason)
    }
  }

  // MARK: - Pixels

  /// The pixels of a sprite's visible part. The picture is scaled to fit its frame, and centred.
  func pixels(of sprite: LiveSprite) -> PixelImage? {
    guard case .ready(let image)? = states[sprite.source] else { return nil }
    var (width, height) = (max(1, cellWidth), max(1, cellHeight))
    // Terminals stretch pictures over their cells, so fewer pixels do. They do not stretch sixels.
    while method != .sixel, width > 1, height > 1,
      sprite.place.width * width * sprite.place.height * height > LivePictures.sentPixelsMax
    {
      (width, height) = (width / 2, height / 2)
    }
    let seen = (width: sprite.place.width * width, height: sprite.place.height * height)
    guard seen.width > 0, seen.height > 0,
      seen.width * seen.height <= LivePictures.sixelPixelsMax
    else { return nil }
    let whole = (width: sprite.frame.width * width, height: sprite.frame.height * height)
    let scale = min(
      Double(whole.width) / Double(image.width), Double(whole.height) / Double(image.height))
    let size = (
      width: min(whole.width, max(1, Int(Double(image.width) * scale))),
      height: min(whole.height, max(1, Int(Double(image.height) * scale)))
    )
    guard let scaled = image.scaled(width: size.width, height: size.height) else { return nil }
    let left = (whole.width - size.width) / 2 - (sprite.place.x - sprite.frame.x) * width
    let top = (whole.height - size.height) / 2 - (sprite.place.y - sprite.frame.y) * height
    var rgba = [UInt8](repeating: 0, count: seen.width * seen.height * 4)
    for row in max(0, top)..<max(0, top, min(seen.height, top + size.height)) {
      let columns = max(0, left)..<max(0, left, min(seen.width, left + size.width))
      guard !columns.isEmpty else { continue }
      let from = ((row - top) * size.width + columns.lowerBound - left) * 4
      let to = (row * seen.width + columns.lowerBound) * 4
      rgba.replaceSubrange(
        to..<to + columns.count * 4, with: scaled.rgba[from..<from + columns.count * 4])
    }
    return PixelImage(width: seen.width, height: seen.height, rgba: rgba)
  }
}

/// A picture that the terminal draws with pixels.
struct LiveSprite: Hashable, Sendable {
  let source: String
  /// The frame of the whole picture on the screen, in cells. Parts may be clipped.
  let frame: LayoutRect
  /// The visible part of the frame, in cells.
  let place: LayoutRect
}

/// The diff of pictures on a screen: writes only what removes old ones and draws new ones.
struct SpriteUpdate {
  /// The text to write. With `isScreenLost`, the whole screen must be rewritten first.
  struct Output: Hashable {
    var text = ""
    var isScreenLost = false
  }

  private var shown: [(sprite: LiveSprite, id: UInt32)] = []
  private var lastID: UInt32 = 0
  private static let idMax: UInt32 = 1 << 16

  /// Forgets all pictures, because the screen was or will be cleared.
  mutating func forget() { shown = [] }

  /// Returns the output after which the screen shows exactly these pictures.
  mutating func next(_ sprites: [LiveSprite], _ pictures: LivePictures) -> Output {
    var output = Output()
    let gone = shown.filter { !sprites.contains($0.sprite) }
    var new = sprites.filter { sprite in !shown.contains { $0.sprite == sprite } }
    guard !gone.isEmpty || !new.isEmpty else { return output }
    shown.removeAll { item in gone.contains { $0.id == item.id } }
    if pictures.method == .kitty {
      for item in gone { output.text += TerminalPicture.kittyRemoval(id: item.id) }
    } else if !gone.isEmpty {
      // Sixel and iTerm pixels go only when the cells are written again.
      output.isScreenLost = true
      shown = []
      new = sprites
    }
    for sprite in new {
      lastID = lastID % SpriteUpdate.idMax + 1
      shown.append((sprite, lastID))
      guard let image = pictures.pixels(of: sprite) else { continue }
      let place = sprite.place
      output.text += "\u{1B}[\(place.y + 1);\(place.x + 1)H"
      switch pictures.method {
      case .kitty?:
        output.text += TerminalPicture.kitty(
          image, columns: place.width, rows: place.height, id: lastID)
      case .iterm?:
        output.text += TerminalPicture.iterm(image, columns: place.width, rows: place.height)
      case .sixel?: output.text += TerminalPicture.sixel(image)
      case .blocks?, nil: break
      }
    }
    return output
  }

  /// The output that removes all pictures at exit.
  func removal(_ pictures: LivePictures) -> String {
    pictures.method == .kitty
      ? shown.map { TerminalPicture.kittyRemoval(id: $0.id) }.joined() : ""
  }
}
