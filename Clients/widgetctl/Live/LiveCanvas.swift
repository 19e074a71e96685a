import WidgetLayout
import WidgetModel
import WidgetRender

/// The paint cache of a dashboard: a redraw repaints only the panes that changed.
///
/// It has two layers. A pane's grid is valid while its `Key` is the same. The page, on which the
/// grids are drawn, is valid while every pane stays in its place. Animations touch only the page:
/// changed text fades to its colour, and panes slide to their places.
struct LiveCanvas {
  /// The cache key of a pane's grid: everything that its paint depends on.
  struct Key: Hashable {
    /// The version of the pane. Nil for the placeholder of a missing widget.
    var version: LivePane.Version?
    var width: Int
    var height: Int
    /// The painted rows of the pane: all, unless it is taller than the viewport.
    var rows = 0..<0
    var lookVersion: Int
    /// The step of the spinners. Nil if the pane has none, so that a tick does not invalidate it.
    var spinnerTick: Int?
    var isStale: Bool
    var focus: LiveFocus?
    var hover: LiveFocus?
    var title: String
    /// The widget's error and why it is stale, with their ages.
    var troubles: [String] = []
    /// The selected cells of an input.
    var selected: [LayoutRect] = []
    var marks: [String]
    var isEnabled: Bool
  }

  /// The animations that a redraw may start.
  struct Motion {
    var fades = false
    var slides = false
    /// Maps the final style of changed text to its style after some steps.
    var fade: (CellStyle, Int) -> CellStyle = { style, _ in style }
  }

  /// The number of steps of an animation.
  static let steps = 3
  /// The time between two steps: an animation takes 150 ms.
  static let stepDuration = Duration.milliseconds(50)
  /// The maximum number of panes that fade at a time. More would distract users of a busy board.
  static let fadesMax = 4
  /// The maximum number of cells that fade in a pane. A larger change is shown at once.
  static let fadingCellsMax = 200

  private(set) var page = CellGrid(width: 0, height: 0)
  private var panes: [WidgetID: (key: Key, grid: CellGrid)] = [:]
  private var places: [WidgetID: LayoutRect] = [:]
  private var background: CellColor?
  /// The dirty rows of the page since `takeDrawnRows`, by row. Nil if all are dirty.
  private var drawn: [Bool]?
  /// Counts the panes that were painted. Tests use it to see cache hits.
  private(set) var paintedCount = 0

  /// The fading cells of each pane, and the step of the fade.
  private var fading: [WidgetID: (cells: [(column: Int, row: Int)], step: Int)] = [:]
  /// The sliding panes, with the former row minus the new one. Nil for a new pane, which opens.
  private var sliding: [WidgetID: Int?] = [:]
  private var slideStep = 0

  /// Whether an animation runs.
  var isMoving: Bool { !fading.isEmpty || !sliding.isEmpty }

  /// Advances all animations by a step.
  mutating func advance() {
    for id in fading.keys { fading[id]?.step += 1 }
    slideStep += 1
  }

  /// Ends all animations: the next redraw shows their final state.
  mutating func settle() {
    for id in fading.keys { fading[id]?.step = LiveCanvas.steps }
    slideStep = LiveCanvas.steps
  }

  /// Draws one row of the page outside the panes, and marks it dirty.
  mutating func draw(row: Int, _ draw: (inout CellGrid) -> Void) {
    note(row..<row + 1)
    draw(&page)
  }

  /// Returns the dirty rows in order, and marks them clean. Nil if every row may be dirty.
  mutating func takeDrawnRows() -> [Int]? {
    defer { drawn = Array(repeating: false, count: page.height) }
    return drawn.map { flags in flags.indices.filter { flags[$0] } }
  }

  private mutating func note(_ rows: Range<Int>) {
    for row in rows.clamped(to: 0..<(drawn?.count ?? 0)) { drawn?[row] = true }
  }

  /// Repaints panes whose key changed, and draws them on the page.
  ///
  /// - Parameters:
  ///   - places: The screen frames of the panes in view. They may reach beyond the clip.
  ///   - background: The colour behind the panes. Nil for the terminal's background.
  ///   - paint: Paints a range of a pane's rows. The range's first row is row 0 of the grid.
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

  /// The rows of a pane to paint: all, or the visible ones if it is taller than the clip.
  private static func rows(of place: LayoutRect, in clip: LayoutRect) -> Range<Int> {
    guard place.height > clip.height else { return 0..<max(place.height, 0) }
    let first = min(max(clip.y - place.y, 0), place.height)
    return first..<min(max(clip.y + clip.height - place.y, first), place.height)
  }

  // MARK: - Motion

  /// The cells whose text changed. Nil if other parts of the key changed, or too many cells.
  private func fade(
    from old: (key: Key, grid: CellGrid)?, to key: Key, _ grid: CellGrid
  ) -> (cells: [(column: Int, row: Int)], step: Int)? {
    guard let old, fading.count < LiveCanvas.fadesMax else { return nil }
    var same = old.key
    same.version = key.version
    // Only changes from the daemon fade. Edits and time do not change the content version.
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

  /// Starts the slide of each pane to its new place. Nil stops all slides.
  private mutating func slide(to places: [WidgetID: LayoutRect]?) {
    (sliding, slideStep) = ([:], 0)
    guard let places else { return }
    for (id, place) in places {
      guard let old = self.places[id] else {
        sliding[id] = .some(nil)
        continue
      }
      // Panes slide only up and down. A pane jumps if its column or width changes, or if it is not
      // painted whole.
      if panes[id]?.key.rows.count == place.height, old.x == place.x, old.width == place.width,
        old.y != place.y
      {
        sliding[id] = .some(old.y - place.y)
      }
    }
  }

  /// The row at which a pane is drawn in this step, and its clip on the screen.
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
