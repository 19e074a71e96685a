import Testing
import WidgetRender
import WidgetTerminal

struct ScreenUpdateTests {
  private func grid(_ text: String) -> CellGrid {
    var grid = CellGrid(width: 10, height: 2)
    grid.put(text, column: 0, row: 0)
    return grid
  }

  @Test func `the first picture is whole, the next ones are differences`() {
    var screen = ScreenUpdate(encoder: ANSIEncoder(depth: .none))
    #expect(
      screen.next(grid("abc")) == "\u{1B}[?2026h\u{1B}[m\u{1B}[2J\u{1B}[1;1Habc\u{1B}[?2026l")
    #expect(screen.next(grid("abc")) == "")
    #expect(screen.next(grid("abd")) == "\u{1B}[?2026h\u{1B}[1;3Hd\u{1B}[?2026l")
    screen.forget()
    #expect(screen.next(grid("abd")).contains("\u{1B}[2J"))
  }

  @Test func `the cursor is shown where text goes, and hidden while the screen changes`() {
    var screen = ScreenUpdate(encoder: ANSIEncoder(depth: .none))
    _ = screen.next(grid("abc"))
    let place = ScreenUpdate.Cursor(column: 3, row: 0)
    #expect(
      screen.next(grid("abc"), cursor: place) == "\u{1B}[?2026h\u{1B}[1;4H\u{1B}[?25h\u{1B}[?2026l")
    #expect(
      screen.next(grid("abx"), cursor: place)
        == "\u{1B}[?2026h\u{1B}[?25l\u{1B}[1;3Hx\u{1B}[1;4H\u{1B}[?25h\u{1B}[?2026l")
    #expect(screen.next(grid("abx"), cursor: place) == "")
    #expect(screen.next(grid("abx")) == "\u{1B}[?2026h\u{1B}[?25l\u{1B}[?2026l")
    #expect(screen.next(grid("aby")) == "\u{1B}[?2026h\u{1B}[1;3Hy\u{1B}[?2026l")
  }
}
