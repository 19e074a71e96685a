public import WidgetRender

/// The picture on a screen, and the updates to the next picture.
///
/// A value without descriptor. Updates are wrapped in mode 2026, so that terminals that know the
/// mode never show half a picture.
public struct ScreenUpdate: Sendable {
  /// A place on the screen, from 0.
  public struct Cursor: Hashable, Sendable {
    public var column: Int
    public var row: Int

    public init(column: Int, row: Int) {
      self.column = column
      self.row = row
    }
  }

  public var encoder: ANSIEncoder
  private var shown: CellGrid?
  private var shownCursor: Cursor?

  public init(encoder: ANSIEncoder) { self.encoder = encoder }

  /// The output that updates the screen to a grid. Empty if nothing changed. O(compared cells).
  ///
  /// - Parameters:
  ///   - cursor: The position of the text cursor. Default: hidden.
  ///   - drawn: The dirty rows since the last update, in order: only these are compared.
  ///     Default: all.
  public mutating func next(
    _ grid: CellGrid, cursor: Cursor? = nil, drawn: [Int]? = nil
  ) -> String {
    let isFirst = shown == nil
    let isSameSize = shown?.width == grid.width && shown?.height == grid.height
    let rows = isSameSize ? shown.map { grid.rows(differingFrom: $0, among: drawn) } : nil
    let changes =
      rows?.isEmpty == true ? "" : encoder.difference(from: shown, to: grid, rows: rows)
    defer {
      // Copy only the changed rows: a copy of all cells costs more than most changes.
      if let rows {
        shown?.copy(rows: rows, from: grid)
      } else {
        shown = grid
      }
      shownCursor = cursor
    }
    guard isFirst || !changes.isEmpty || cursor != shownCursor else { return "" }
    var output = "\u{1B}[?2026h"
    // The cursor is hidden first. Otherwise it would visibly move over the screen.
    if shownCursor != nil && !changes.isEmpty { output += "\u{1B}[?25l" }
    output += changes
    if let cursor {
      output += "\u{1B}[\(cursor.row + 1);\(cursor.column + 1)H\u{1B}[?25h"
    } else if shownCursor != nil && changes.isEmpty {
      output += "\u{1B}[?25l"
    }
    return output + "\u{1B}[?2026l"
  }

  /// Forgets the picture on the screen, so that the next picture is written whole.
  public mutating func forget() { (shown, shownCursor) = (nil, nil) }
}
