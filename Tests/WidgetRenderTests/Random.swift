import NodeSamples
import SeededRandom
import WidgetLayout
import WidgetRender

extension SeededGenerator {
  /// The parts of texts: letters, wide and joined characters, and control characters.
  private static let pieces = [
    "a", "Z", "0", " ", "~", "é", "e\u{301}", "ß", "日", "本", "한", "\u{1112}\u{1161}\u{11AB}",
    "👍", "👍🏽", "👩‍👩‍👧‍👦", "🇩🇪", "🇩", "☺️", "❤", "─", "⣿", "█", "\u{301}", "\u{200D}", "\u{200B}",
    "\u{FE0F}", "\u{AD}", "\u{FEFF}", "\u{202E}", "\u{2066}", "\u{2028}", "\u{61C}", "\t", "\n",
    "\r",
    "\r\n", "\u{0}", "\u{7}", "\u{8}", "\u{1B}", "\u{1B}[2J", "\u{1B}]0;owned\u{7}",
    "\u{1B}]8;;http://x\u{1B}\\", "\u{7F}", "\u{80}", "\u{9B}31m", "\u{9D}", "\u{9C}", "\u{FFFD}",
    "\u{E000}", "\u{10FFFF}", "\u{1F3FB}", "\u{E0067}", "ก็", "שלום", "مرحبا",
  ]

  mutating func text() -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0...12, using: &self) {
      if Int.random(in: 0..<20, using: &self) == 0 {
        let value = UInt32.random(in: 0...0x10FFFF, using: &self)
        if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
      } else {
        text +=
          SeededGenerator.pieces[Int.random(in: 0..<SeededGenerator.pieces.count, using: &self)]
      }
    }
    return text
  }

  mutating func style() -> CellStyle {
    CellStyle(
      foreground: color(), background: color(),
      attributes: CellAttributes(
        rawValue: Bool.random(using: &self) ? 0 : .random(in: 0..<64, using: &self)))
  }

  private mutating func color() -> CellColor? {
    switch Int.random(in: 0..<4, using: &self) {
    case 0: .palette(.random(in: 0...255, using: &self))
    case 1:
      .rgb(
        .random(in: 0...255, using: &self), .random(in: 0...255, using: &self),
        .random(in: 0...255, using: &self))
    default: nil
    }
  }

  mutating func rect(in width: Int, _ height: Int) -> LayoutRect {
    LayoutRect(
      x: .random(in: -3...width + 3, using: &self), y: .random(in: -2...height + 2, using: &self),
      width: .random(in: -1...width + 4, using: &self),
      height: .random(in: -1...height + 2, using: &self))
  }

  /// Draws one random thing on a grid.
  mutating func draw(on grid: inout CellGrid) {
    let area = rect(in: grid.width, grid.height)
    let clip = Bool.random(using: &self) ? rect(in: grid.width, grid.height) : nil
    switch Int.random(in: 0..<9, using: &self) {
    case 0: grid.fill(area, with: text().first ?? " ", style: style())
    case 1:
      let style = style()
      grid.restyle(area) { $0 = style }
    case 2: grid.box(area, isRounded: Bool.random(using: &self), style: style(), clip: clip)
    case 3:
      var other = CellGrid(width: area.width, height: area.height)
      for _ in 0..<3 {
        other.put(
          text(), column: .random(in: -2...6, using: &self), row: .random(in: 0...2, using: &self),
          style: style())
      }
      grid.draw(other, column: area.x, row: area.y, clip: clip)
    default:
      grid.put(
        text(), column: area.x, row: area.y, style: style(), clip: clip,
        link: Int.random(in: 0..<4, using: &self) == 0 ? "https://example.org/" + text() : nil)
    }
  }

  /// A grid with many random drawings.
  mutating func grid(width: Int, height: Int) -> CellGrid {
    var grid = CellGrid(width: width, height: height)
    for _ in 0..<Int.random(in: 0...30, using: &self) { draw(on: &grid) }
    return grid
  }
}
