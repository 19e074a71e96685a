import NodeSamples
import SeededRandom
import Testing
import WidgetRender

struct EncoderTests {
  private let exact = ANSIEncoder(depth: .truecolor)

  @Test(arguments: 0..<300)
  func `a difference turns the old screen into the new one`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let (width, height) = (
      Int.random(in: 1...24, using: &random), Int.random(in: 1...6, using: &random)
    )
    var grid = random.grid(width: width, height: height)
    var terminal = TerminalEmulator(width: width, height: height)
    terminal.feed(exact.difference(from: nil, to: grid))
    #expect(terminal.places == TerminalEmulator.places(of: grid))
    for _ in 0..<10 {
      let old = grid
      for _ in 0..<Int.random(in: 0...4, using: &random) { random.draw(on: &grid) }
      terminal.feed(exact.difference(from: old, to: grid))
      #expect(terminal.places == TerminalEmulator.places(of: grid), "seed \(seed)")
    }
    #expect(terminal.complaints == [])
    #expect(exact.difference(from: grid, to: grid) == "")
  }

  @Test(arguments: 0..<200, ColorDepth.allCases)
  func `hostile text brings no escape sequences`(seed: Int, depth: ColorDepth) {
    var random = SeededGenerator(seed: UInt64(seed) + 1000)
    let grid = random.grid(width: 20, height: 5)
    let encoder = ANSIEncoder(depth: depth)
    var terminal = TerminalEmulator(width: 20, height: 5)
    terminal.feed(encoder.difference(from: nil, to: grid))
    for line in encoder.text(grid).split(separator: "\n") {
      var terminal = TerminalEmulator(width: 20, height: 1)
      terminal.feed(String(line))
      #expect(terminal.complaints == [])
    }
    #expect(terminal.complaints == [])
    for text in [PlainTextEncoder.text(grid), HTMLEncoder().text(grid)] {
      #expect(
        text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
    }
  }

  @Test func `only what changed is written`() {
    var old = CellGrid(width: 40, height: 3)
    old.put("load 0.42 and a long tail that stays", column: 0, row: 1)
    var new = old
    new.put("7", column: 8, row: 1)
    #expect(exact.difference(from: old, to: new) == "\u{1B}[2;9H7")
    new.put("!", column: 30, row: 1)
    #expect(exact.difference(from: old, to: new) == "\u{1B}[2;9H7\u{1B}[21C!")
  }

  @Test func `a gap shorter than a sequence is written again`() {
    var old = CellGrid(width: 10, height: 1)
    old.put("abcdefghij", column: 0, row: 0)
    var new = old
    new.put("X", column: 0, row: 0)
    new.put("Y", column: 3, row: 0)
    #expect(exact.difference(from: old, to: new) == "\u{1B}[1;1HXbcY")
  }

  @Test func `runs of one style share one sequence`() {
    var grid = CellGrid(width: 8, height: 2)
    let bold = CellStyle(foreground: .rgb(1, 2, 3), attributes: .bold)
    grid.put("ab", column: 0, row: 0, style: bold)
    grid.put("cd", column: 2, row: 0, style: CellStyle(foreground: .rgb(1, 2, 3)))
    grid.put("e", column: 5, row: 0)
    #expect(exact.text(grid) == "\u{1B}[1;38;2;1;2;3mab\u{1B}[22mcd \u{1B}[me\n\n")
  }

  @Test func `text after bold and dim text stays dim`() {
    var grid = CellGrid(width: 2, height: 1)
    grid.put("a", column: 0, row: 0, style: CellStyle(attributes: [.bold, .dim]))
    grid.put("b", column: 1, row: 0, style: CellStyle(attributes: .dim))
    #expect(exact.text(grid) == "\u{1B}[1;2ma\u{1B}[22;2mb\u{1B}[m\n")
  }

  @Test func `the cursor is set around characters that terminals measure differently`() {
    let old = CellGrid(width: 10, height: 1)
    var new = old
    new.put("a👍🏽b", column: 0, row: 0)
    #expect(exact.difference(from: old, to: new) == "\u{1B}[1;1Ha\u{1B}[1;2H👍🏽\u{1B}[1;4Hb")
  }

  @Test func `after a change of size, the screen is drawn completely`() {
    var grid = CellGrid(width: 3, height: 1)
    grid.put("abc", column: 0, row: 0)
    let old = CellGrid(width: 4, height: 1)
    #expect(exact.difference(from: old, to: grid) == "\u{1B}[m\u{1B}[2J\u{1B}[1;1Habc")
  }

  @Test func `links are written as OSC 8, and left out if the terminal has none`() {
    var grid = CellGrid(width: 4, height: 1)
    grid.put("go", column: 0, row: 0, link: "https://a.example")
    grid.put("x", column: 2, row: 0)
    #expect(exact.text(grid) == "\u{1B}]8;;https://a.example\u{1B}\\go\u{1B}]8;;\u{1B}\\x\n")
    #expect(ANSIEncoder(depth: .none, writesLinks: false).text(grid) == "gox\n")
  }

  @Test(arguments: [
    (CellColor.rgb(255, 0, 0), "91", "38;5;196"), (.rgb(205, 0, 0), "31", "38;5;160"),
    (.rgb(0, 0, 0), "30", "38;5;16"), (.rgb(255, 255, 255), "97", "38;5;231"),
    (.rgb(128, 128, 128), "90", "38;5;244"), (.rgb(10, 132, 255), "94", "38;5;33"),
    (.rgb(48, 209, 88), "32", "38;5;41"), (.rgb(255, 159, 10), "33", "38;5;214"),
    (.rgb(142, 142, 147), "90", "38;5;245"), (.palette(3), "33", "33"),
    (.palette(196), "91", "38;5;196"),
  ])
  func `colours become the nearest of a smaller palette`(
    color: CellColor, _ sixteen: String, _ palette: String
  ) {
    var grid = CellGrid(width: 1, height: 1)
    grid.put("x", column: 0, row: 0, style: CellStyle(foreground: color))
    #expect(ANSIEncoder(depth: .sixteen).text(grid) == "\u{1B}[\(sixteen)mx\u{1B}[m\n")
    #expect(ANSIEncoder(depth: .palette256).text(grid) == "\u{1B}[\(palette)mx\u{1B}[m\n")
    #expect(ANSIEncoder(depth: .none).text(grid) == "x\n")
  }

  @Test func `text stays readable if a small palette makes both its colours equal`() {
    var grid = CellGrid(width: 1, height: 1)
    let style = CellStyle(foreground: .rgb(250, 250, 250), background: .rgb(255, 255, 255))
    grid.put("x", column: 0, row: 0, style: style)
    #expect(ANSIEncoder(depth: .sixteen).text(grid) == "\u{1B}[30;107mx\u{1B}[m\n")
  }

  @Test func `HTML is escaped and styled in place`() {
    var grid = CellGrid(width: 30, height: 1)
    grid.put("<b>&", column: 0, row: 0)
    grid.put(
      "x", column: 4, row: 0,
      style: CellStyle(foreground: .rgb(1, 2, 255), attributes: [.bold, .underline]))
    grid.put("y", column: 5, row: 0, link: "https://a.example/\"><script>'")
    #expect(
      HTMLEncoder(background: .rgb(0, 0, 0)).text(grid)
        == "<pre class=\"widget\" style=\"background:#000000\">&lt;b&gt;&amp;"
        + "<span style=\"color:#0102ff;font-weight:bold;text-decoration:underline\">x</span>"
        + "<a href=\"https://a.example/&quot;&gt;&lt;script&gt;&#39;\">y</a>\n</pre>\n")
  }

  @Test func `plain text has no blanks at the end of a line`() {
    var grid = CellGrid(width: 10, height: 2)
    grid.fill(grid.bounds, style: CellStyle(background: .palette(1)))
    grid.put("日本 x", column: 1, row: 0)
    #expect(PlainTextEncoder.text(grid) == " 日本 x\n\n")
  }
}
