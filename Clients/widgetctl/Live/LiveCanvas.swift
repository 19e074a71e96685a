import WidgetLayout
import WidgetModel
import WidgetRender

/// What of a dashboard is painted, so that a picture paints only the panes that changed.
///
/// It has two layers: panes as grids, which stay while what is in their key does, and the page on
/// which they are drawn, which stays while no pane has another place.
struct LiveCanvas {
  /// Everything that a pane's picture depends on.
  struct Key: Hashable {
    /// Which pane, and which layout of it.
    var version: LivePane.Version?
    var width: Int
    var height: Int
    var lookVersion: Int
    /// Only while something turns in it.
    var spinnerTick: Int?
    var isStale: Bool
    var focus: LiveFocus?
    var title: String
    /// What the widget's error says, with its age.
    var trouble: String?
    var marks: [String]
    var isEnabled: Bool
  }

  private(set) var page = CellGrid(width: 0, height: 0)
  private var panes: [WidgetID: (key: Key, grid: CellGrid)] = [:]
  private var places: [WidgetID: LayoutRect] = [:]
  /// How many panes were painted so far.
  private(set) var paintedCount = 0

  /// Brings the page up to date.
  ///
  /// - Parameters:
  ///   - size: Of the whole screen.
  ///   - places: Where on it the panes are that can be seen; they may reach beyond the clip.
  ///   - paint: Paints a pane from its upper left corner on.
  mutating func update(
    width: Int, height: Int, places: [WidgetID: LayoutRect], clip: LayoutRect,
    key: (WidgetID) -> Key, paint: (WidgetID, inout CellGrid) -> Void
  ) {
    let isFresh = page.width != width || page.height != height || places != self.places
    if isFresh {
      page = CellGrid(width: width, height: height)
      self.places = places
      panes = panes.filter { places[$0.key] != nil }
    }
    for (id, place) in places {
      let key = key(id)
      if panes[id]?.key != key {
        var grid = CellGrid(width: place.width, height: place.height)
        paint(id, &grid)
        panes[id] = (key, grid)
        paintedCount += 1
      } else if !isFresh {
        continue
      }
      if let grid = panes[id]?.grid {
        page.draw(grid, column: place.x, row: place.y, clip: clip)
      }
    }
  }
}
