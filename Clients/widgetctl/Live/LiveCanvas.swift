import WidgetLayout
import WidgetModel
import WidgetRender

/// What of a dashboard is painted, so that a picture paints only the panes that changed.
///
/// It has two layers: panes as grids, which stay while what is in their key does, and the page on
/// which they are drawn, which stays while no pane has another place. What moves for a moment is on
/// the page alone: text that changed fades from a colour to its own, and panes slide to their places.
struct LiveCanvas {
  /// Everything that a pane's picture depends on.
  struct Key: Hashable {
    /// Which pane, and which layout of it.
    var version: LivePane.Version?
    var width: Int
    var height: Int
    /// The rows of it that are painted: all, unless it is taller than the screen.
    var rows = 0..<0
    var lookVersion: Int
    /// Only while something turns in it.
    var spinnerTick: Int?
    var isStale: Bool
    var focus: LiveFocus?
    var hover: LiveFocus?
    var title: String
    /// What the widget's error says, with its age.
    var trouble: String?
    var marks: [String]
    var isEnabled: Bool
  }

  /// What a picture may move.
  struct Motion {
    var fades = false
    var slides = false
    /// The style of text that changed, some steps after it did.
    var fade: (CellStyle, Int) -> CellStyle = { style, _ in style }
  }

  /// How often a motion is drawn before it is at its end.
  static let steps = 3
  /// The time between its pictures: 150 ms in all.
  static let stepDuration = Duration.milliseconds(50)
  /// The most panes that fade at a time: a busy board is restless enough.
  static let fadesMax = 4
  /// The most cells of a pane that fade: more is another picture, not another text.
  static let fadingCellsMax = 200

  private(set) var page = CellGrid(width: 0, height: 0)
  private var panes: [WidgetID: (key: Key, grid: CellGrid)] = [:]
  private var places: [WidgetID: LayoutRect] = [:]
  private var background: CellColor?
  /// Which rows of the page were drawn since `takeDrawnRows`; nil for all.
  private var drawn: [Bool]?
  /// How many panes were painted so far.
  private(set) var paintedCount = 0

  /// Cells whose text changed, and how many steps ago.
  private var fading: [WidgetID: (cells: [(column: Int, row: Int)], step: Int)] = [:]
  /// Where panes come from, in rows above their place; nil for a pane that is new.
  private var sliding: [WidgetID: Int?] = [:]
  private var slideStep = 0

  /// Whether the next step changes the picture.
  var isMoving: Bool { !fading.isEmpty || !sliding.isEmpty }

  /// Goes on by a step.
  mutating func advance() {
    for id in fading.keys { fading[id]?.step += 1 }
    slideStep += 1
  }

  /// Ends all motion: the next picture shows where it leads.
  mutating func settle() {
    for id in fading.keys { fading[id]?.step = LiveCanvas.steps }
    slideStep = LiveCanvas.steps
  }

  /// Draws on one row of the page what is not a pane and changes with each picture.
  mutating func draw(row: Int, _ draw: (inout CellGrid) -> Void) {
    note(row..<row + 1)
    draw(&page)
  }

  /// The rows of the page that were drawn since the last call, in order; nil if all may have been.
  mutating func takeDrawnRows() -> [Int]? {
    defer { drawn = Array(repeating: false, count: page.height) }
    return drawn.map { flags in flags.indices.filter { flags[$0] } }
  }

  private mutating func note(_ rows: Range<Int>) {
    for row in rows.clamped(to: 0..<(drawn?.count ?? 0)) { drawn?[row] = true }
  }

  /// Brings the page up to date.
  ///
  /// - Parameters:
  ///   - places: Where on the screen the panes are that can be seen; they may reach beyond the clip.
  ///   - background: What is behind the panes; nil for the terminal's.
  ///   - paint: Paints rows of a pane, of which the first is the grid's first.
  mutating func update(
    width: Int, height: Int, places: [WidgetID: LayoutRect], clip: LayoutRect,
    motion: Motion = Motion(), background: CellColor? = nil, key: (WidgetID) -> Key,
    paint: (WidgetID, Range<Int>, inout CellGrid) -> Void
  ) {
    let isSameScreen = page.width == width && page.height == height
    let hasMoved = places != self.places
    if hasMoved { slide(to: isSameScreen && motion.slides ? places : nil) }
    let isSliding = !sliding.isEmpty
    if slideStep >= LiveCanvas.steps { sliding = [:] }
    let isFresh = !isSameScreen || hasMoved || isSliding || background != self.background
    if isFresh {
      page = CellGrid(width: width, height: height)
      if background != nil { page.fill(page.bounds, style: CellStyle(background: background)) }
      (self.places, self.background, drawn) = (places, background, nil)
      panes = panes.filter { places[$0.key] != nil }
      fading = fading.filter { places[$0.key] != nil }
    }
    for (id, place) in places {
      var key = key(id)
      key.rows = LiveCanvas.rows(of: place, in: clip)
      var isDue = isFresh
      if panes[id]?.key != key {
        var grid = CellGrid(width: place.width, height: key.rows.count)
        if background != nil { grid.fill(grid.bounds, style: CellStyle(background: background)) }
        paint(id, key.rows, &grid)
        fading[id] = motion.fades ? fade(from: panes[id], to: key, grid) : nil
        panes[id] = (key, grid)
        paintedCount += 1
        isDue = true
      }
      guard isDue || fading[id] != nil, var grid = panes[id]?.grid else { continue }
      if let fade = fading[id] {
        if fade.step >= LiveCanvas.steps {
          fading[id] = nil
        } else {
          for cell in fade.cells {
            grid.restyle(LayoutRect(x: cell.column, y: cell.row, width: 1, height: 1)) {
              $0 = motion.fade($0, fade.step)
            }
          }
        }
      }
      let (row, shown) = slid(id, place)
      let seen = shown.intersection(clip)
      page.draw(grid, column: place.x, row: row + key.rows.lowerBound, clip: seen)
      note(seen.y..<seen.y + max(seen.height, 0))
    }
  }

  /// The rows of a pane that are painted: what is seen of one that is taller than the screen.
  private static func rows(of place: LayoutRect, in clip: LayoutRect) -> Range<Int> {
    guard place.height > clip.height else { return 0..<max(place.height, 0) }
    let first = min(max(clip.y - place.y, 0), place.height)
    return first..<min(max(clip.y + clip.height - place.y, first), place.height)
  }

  // MARK: - Motion

  /// The text that is another than before; nil if more than text changed.
  private func fade(
    from old: (key: Key, grid: CellGrid)?, to key: Key, _ grid: CellGrid
  ) -> (cells: [(column: Int, row: Int)], step: Int)? {
    guard let old, fading.count < LiveCanvas.fadesMax else { return nil }
    var same = old.key
    same.version = key.version
    // What the user types and what time does is no news.
    guard same == key, old.key.version?.pane == key.version?.pane,
      old.key.version?.content != key.version?.content
    else { return nil }
    var cells: [(column: Int, row: Int)] = []
    for row in 0..<grid.height {
      for column in 0..<grid.width {
        let cell = grid[column, row]
        guard cell.character != " ", cell.character != old.grid[column, row].character else {
          continue
        }
        cells.append((column, row))
        if cells.count > LiveCanvas.fadingCellsMax { return nil }
      }
    }
    return cells.isEmpty ? nil : (cells, 0)
  }

  /// Remembers where panes come from; nothing slides without places to go to.
  private mutating func slide(to places: [WidgetID: LayoutRect]?) {
    (sliding, slideStep) = ([:], 0)
    guard let places else { return }
    for (id, place) in places {
      guard let old = self.places[id] else {
        sliding[id] = .some(nil)
        continue
      }
      // Only down and up: what changes its column jumps, and so does what is not painted whole.
      if panes[id]?.key.rows.count == place.height, old.x == place.x, old.width == place.width,
        old.y != place.y
      {
        sliding[id] = .some(old.y - place.y)
      }
    }
  }

  /// The row at which a pane is drawn now, and what of the screen it may cover.
  private func slid(_ id: WidgetID, _ place: LayoutRect) -> (row: Int, shown: LayoutRect) {
    let left = LiveCanvas.steps - slideStep
    guard let from = sliding[id], left > 0 else { return (place.y, place) }
    if let from {
      let row = place.y + from * left / (LiveCanvas.steps + 1)
      return (row, LayoutRect(x: place.x, y: row, width: place.width, height: place.height))
    }
    // A new pane opens from its top.
    var shown = place
    shown.height = max(1, place.height * (slideStep + 1) / (LiveCanvas.steps + 1))
    return (place.y, shown)
  }
}
