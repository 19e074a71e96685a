public import WidgetLayout

/// A picture in cells, as a terminal shows it.
///
/// Only `put` writes text. It removes control characters and clips to the grid and the clip. If it
/// overwrites half of a wide character, it repairs the other half. So a cell with two columns is
/// always followed by its continuation, and a continuation always follows such a cell.
public struct CellGrid: Hashable, Sendable {
  /// The maximum number of columns, and of rows, of a grid.
  public static let sideMax = 10_000
  /// The maximum number of cells of a grid. They take about 100 MB. Rows beyond it are left out.
  public static let cellsMax = 1 << 21

  public let width: Int
  public let height: Int
  private(set) var cells: [Cell]

  /// A grid of blanks. Each side is limited to 0 to `sideMax`. The height is also limited by
  /// `cellsMax`.
  public init(width: Int, height: Int) {
    self.width = min(max(width, 0), CellGrid.sideMax)
    self.height = min(
      max(height, 0), CellGrid.sideMax, CellGrid.cellsMax / max(self.width, 1))
    cells = Array(repeating: .blank, count: self.width * self.height)
  }

  /// The whole grid.
  public var bounds: LayoutRect { LayoutRect(x: 0, y: 0, width: width, height: height) }

  /// A cell; a blank outside the grid.
  public subscript(column: Int, row: Int) -> Cell {
    guard column >= 0, column < width, row >= 0, row < height else { return .blank }
    return cells[row * width + column]
  }

  /// The cells of a row; none outside the grid.
  func row(_ row: Int) -> ArraySlice<Cell> {
    guard row >= 0, row < height else { return [] }
    return cells[row * width..<(row + 1) * width]
  }

  /// The rows that differ from another grid. If the sizes differ: all rows.
  ///
  /// - Parameter rows: The rows to compare. Default: all.
  public func rows(differingFrom other: CellGrid, among rows: [Int]? = nil) -> [Int] {
    guard other.width == width, other.height == height else { return Array(0..<height) }
    guard let rows else { return (0..<height).filter { row($0) != other.row($0) } }
    return rows.filter { row($0) != other.row($0) }
  }

  /// Copies rows from a grid of the same size.
  public mutating func copy(rows: [Int], from other: CellGrid) {
    guard other.width == width, other.height == height else { return }
    for row in rows where (0..<height).contains(row) {
      let range = row * width..<(row + 1) * width
      cells.replaceSubrange(range, with: other.cells[range])
    }
  }

  /// Writes text in one row, and returns the columns it takes, clipped columns included.
  ///
  /// A style without background keeps the cell's background. A wide character with room for only
  /// one half becomes a blank.
  ///
  /// - Parameters:
  ///   - clip: Cells outside of it do not change. Default: the grid.
  ///   - link: The target of a press on the text; dropped unless it is http, https or mailto.
  @discardableResult
  public mutating func put(
    _ text: some StringProtocol, column: Int, row: Int, style: CellStyle = .plain,
    clip: LayoutRect? = nil, link: String? = nil
  ) -> Int {
    let clip = bounds.overlap(clip ?? bounds)
    let rows = clip.y..<clip.y + clip.height
    let columns = clip.x..<clip.x + clip.width
    let link = link.flatMap(CellLink.safe)
    var at = column
    for character in text {
      guard let safe = CellText.safe(character) else { continue }
      let (next, overflow) = at.addingReportingOverflow(safe.columns)
      guard !overflow else { break }
      defer { at = next }
      guard rows.contains(row) else { continue }
      if columns.contains(at), columns.contains(next - 1) {
        set(
          Cell(character: safe.character, columns: UInt8(safe.columns), style: style, link: link),
          at, row)
      } else {
        for half in at..<next where columns.contains(half) {
          set(Cell(character: " ", columns: 1, style: style, link: link), half, row)
        }
      }
    }
    return at &- column
  }

  /// Fills a rectangle with a character. A background of nil clears to the terminal's.
  ///
  /// A character that is not one column wide counts as a blank.
  public mutating func fill(
    _ rect: LayoutRect, with character: Character = " ", style: CellStyle = .plain
  ) {
    let area = bounds.overlap(rect)
    let safe = CellText.safe(character)
    let cell = Cell(
      character: safe?.columns == 1 ? safe?.character ?? " " : " ", columns: 1, style: style,
      link: nil)
    for row in area.y..<area.y + area.height {
      for column in area.x..<area.x + area.width {
        clear(column, row)
        cells[row * width + column] = cell
      }
    }
  }

  /// Changes the style of all cells of a rectangle. A wide character has one style: that of its
  /// first half, or of its second if the first is outside.
  public mutating func restyle(_ rect: LayoutRect, _ change: (inout CellStyle) -> Void) {
    let area = bounds.overlap(rect)
    for row in area.y..<area.y + area.height {
      for column in area.x..<area.x + area.width {
        let index = row * width + column
        if cells[index].isContinuation {
          guard column == area.x else { continue }
          change(&cells[index].style)
          cells[index - 1].style = cells[index].style
        } else {
          change(&cells[index].style)
          if cells[index].columns == 2 { cells[index + 1].style = cells[index].style }
        }
      }
    }
  }

  /// Draws a horizontal line of a character.
  public mutating func horizontalLine(
    column: Int, row: Int, length: Int, character: Character = "─", style: CellStyle = .plain,
    clip: LayoutRect? = nil
  ) {
    let area = LayoutRect(x: column, y: row, width: length, height: 1)
      .overlap(bounds.overlap(clip ?? bounds))
    for column in area.x..<area.x + area.width where area.height > 0 {
      put(String(character), column: column, row: row, style: style)
    }
  }

  /// Draws a box inside the edges of a rectangle. Draws nothing if the rectangle is too small.
  public mutating func box(
    _ rect: LayoutRect, isRounded: Bool = true, style: CellStyle = .plain, clip: LayoutRect? = nil
  ) {
    guard rect.width >= 2, rect.height >= 2 else { return }
    let corners = isRounded ? ["╭", "╮", "╰", "╯"] : ["┌", "┐", "└", "┘"]
    let (right, bottom) = (rect.x + rect.width - 1, rect.y + rect.height - 1)
    put(corners[0], column: rect.x, row: rect.y, style: style, clip: clip)
    put(corners[1], column: right, row: rect.y, style: style, clip: clip)
    put(corners[2], column: rect.x, row: bottom, style: style, clip: clip)
    put(corners[3], column: right, row: bottom, style: style, clip: clip)
    for row in [rect.y, bottom] {
      horizontalLine(
        column: rect.x + 1, row: row, length: rect.width - 2, style: style, clip: clip)
    }
    let inside = LayoutRect(x: rect.x, y: rect.y + 1, width: rect.width, height: rect.height - 2)
      .overlap(bounds.overlap(clip ?? bounds))
    for row in inside.y..<inside.y + inside.height {
      put("│", column: rect.x, row: row, style: style, clip: clip)
      put("│", column: right, row: row, style: style, clip: clip)
    }
  }

  /// Copies the cells of another grid into this one, its upper left cell at a place.
  public mutating func draw(_ other: CellGrid, column: Int, row: Int, clip: LayoutRect? = nil) {
    let area = LayoutRect(x: column, y: row, width: other.width, height: other.height)
      .overlap(bounds.overlap(clip ?? bounds))
    for y in area.y..<area.y + area.height {
      for x in area.x..<area.x + area.width {
        var cell = other[x - column, y - row]
        let isCut =
          cell.isContinuation ? x == area.x : cell.columns == 2 && x == area.x + area.width - 1
        if isCut { (cell.character, cell.columns) = (" ", 1) }
        guard !cell.isContinuation else { continue }
        clear(x, y)
        cells[y * width + x] = cell
        if cell.columns == 2 {
          clear(x + 1, y)
          cells[y * width + x + 1] = .continuation(cell.style, link: cell.link)
        }
      }
    }
  }

  /// Puts a cell into the grid, over the background that is there. `column` and the column after a
  /// wide one are in the grid.
  private mutating func set(_ cell: Cell, _ column: Int, _ row: Int) {
    var cell = cell
    let index = row * width + column
    cell.style.background = cell.style.background ?? cells[index].style.background
    clear(column, row)
    if cell.columns == 2 {
      clear(column + 1, row)
      cells[index + 1] = .continuation(cell.style, link: cell.link)
    }
    cells[index] = cell
  }

  /// Replaces the other half of a wide character by a blank, before one half is overwritten.
  private mutating func clear(_ column: Int, _ row: Int) {
    let index = row * width + column
    if cells[index].isContinuation {
      (cells[index - 1].character, cells[index - 1].columns) = (" ", 1)
      cells[index].columns = 1
    } else if cells[index].columns == 2 {
      cells[index + 1].columns = 1
      (cells[index].character, cells[index].columns) = (" ", 1)
    }
  }
}
