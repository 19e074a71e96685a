import NodeSamples
import SeededRandom
import Testing
import WidgetLayout
import WidgetRender

struct CellGridTests {
  private func row(_ grid: CellGrid, _ row: Int = 0) -> String {
    String((0..<grid.width).map { grid[$0, row].isContinuation ? "_" : grid[$0, row].character })
  }

  @Test func `text is clipped to the grid and to the clip`() {
    var grid = CellGrid(width: 6, height: 2)
    #expect(grid.put("abcdefgh", column: -1, row: 0) == 8)
    #expect(row(grid) == "bcdefg")
    grid.put("xyz", column: 0, row: 0, clip: LayoutRect(x: 1, y: 0, width: 1, height: 1))
    #expect(row(grid) == "bydefg")
    grid.put("lost", column: 0, row: 2)
    grid.put("lost", column: 0, row: -1)
    grid.put("lost", column: .max - 1, row: 0)
    grid.put("lost", column: .min, row: 0)
    #expect(row(grid, 1) == "      ")
  }

  @Test func `half of a wide character at an edge is a blank`() {
    var grid = CellGrid(width: 4, height: 1)
    grid.put("日本語", column: -1, row: 0)
    #expect(row(grid) == " 本_ ")
  }

  @Test(arguments: [(0, "x 本_"), (1, " x本_"), (2, "日_x "), (3, "日_ x")])
  func `a wide character loses both halves when one is overwritten`(
    column: Int, _ expected: String
  ) {
    var grid = CellGrid(width: 4, height: 1)
    grid.put("日本", column: 0, row: 0)
    grid.put("x", column: column, row: 0)
    #expect(row(grid) == expected)
  }

  @Test func `text without a background keeps the background of the cell`() {
    var grid = CellGrid(width: 3, height: 1)
    grid.fill(grid.bounds, style: CellStyle(background: .palette(4)))
    grid.put("a", column: 1, row: 0, style: CellStyle(foreground: .palette(1)))
    #expect(grid[1, 0].style == CellStyle(foreground: .palette(1), background: .palette(4)))
  }

  @Test(arguments: [
    ("\u{1B}[31m", "\u{FFFD}[31m"), ("a\tb", "a b"), ("a\r\nb", "a\u{FFFD}b"),
    ("\u{9B}1m", "\u{FFFD}1m"),
    ("\u{202E}abc", "abc"), ("a\u{200B}b", "ab"), ("\u{2028}", " "), ("e\u{301}x", "e\u{301}x"),
    ("\u{301}x", "x"),
  ])
  func `control characters do not get into a cell`(text: String, _ expected: String) {
    var grid = CellGrid(width: 10, height: 1)
    grid.put(text, column: 0, row: 0)
    #expect(PlainTextEncoder.text(grid) == (expected + "\n").replacingBlankEnd)
  }

  @Test func `a character of very many scalars is cut`() {
    var grid = CellGrid(width: 2, height: 1)
    grid.put("a" + String(repeating: "\u{301}", count: 1000), column: 0, row: 0)
    #expect(grid[0, 0].character.unicodeScalars.count == DisplayText.clusterScalarsMax)
  }

  @Test(arguments: [
    ("https://a.example/?q=1", "https://a.example/?q=1"), ("HTTP://a/b c", "HTTP://a/b%20c"),
    ("https://a/\u{1B}\\\u{7}é", "https://a/%1B\\%07%C3%A9"),
  ])
  func `a link is encoded`(address: String, _ expected: String) {
    var grid = CellGrid(width: 1, height: 1)
    grid.put("x", column: 0, row: 0, link: address)
    #expect(grid[0, 0].link == expected)
  }

  @Test(arguments: [
    "javascript:alert(1)", "file:///etc/passwd", "", "https:" + String(repeating: "x", count: 3000),
  ])
  func `a link that could do harm is dropped`(address: String) {
    var grid = CellGrid(width: 1, height: 1)
    grid.put("x", column: 0, row: 0, link: address)
    #expect(grid[0, 0].link == nil)
  }

  @Test(arguments: 0..<200)
  func `halves of wide characters stay together under random drawing`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var grid = CellGrid(width: .random(in: 0...20, using: &random), height: 4)
    for _ in 0..<40 {
      random.draw(on: &grid)
      for row in 0..<grid.height {
        for column in 0..<grid.width {
          let cell = grid[column, row]
          if cell.columns == 2 {
            #expect(column + 1 < grid.width && grid[column + 1, row].isContinuation)
          }
          if cell.isContinuation {
            #expect(column > 0 && grid[column - 1, row].columns == 2)
            #expect(cell.style == grid[max(column - 1, 0), row].style)
          }
        }
      }
    }
  }

  @Test func `a grid with negative or huge sides stays in its bounds`() {
    let grid = CellGrid(width: -4, height: 2)
    #expect(grid.width == 0)
    #expect(CellGrid(width: .max, height: 0).width == CellGrid.sideMax)
    #expect(CellGrid(width: 1, height: .max).height == CellGrid.sideMax)
    let whole = CellGrid.cellsMax / 1024
    #expect(CellGrid(width: 1024, height: whole).height == whole)
    #expect(CellGrid(width: 1024, height: whole + 1).height == whole)
  }
}

extension String {
  /// As the plain text of a row: without blanks at its end.
  fileprivate var replacingBlankEnd: String { self == " \n" ? "\n" : self }
}
