import NodeSamples
import SeededRandom
import Testing
import WidgetLayout
import WidgetRender

struct PictureTests {
  private func image(_ width: Int, _ height: Int, _ pixels: [UInt32]) throws -> PixelImage {
    try #require(
      PixelImage(
        width: width, height: height,
        rgba: pixels.flatMap { pixel in
          [24, 16, 8, 0].map { UInt8(pixel >> UInt32($0) & 0xFF) }
        }))
  }

  @Test func `bytes that are no picture are refused`() {
    #expect(PixelImage(width: 2, height: 2, rgba: [0]) == nil)
    #expect(PixelImage(width: 0, height: 0, rgba: []) == nil)
    #expect(PixelImage(width: .max, height: 4, rgba: []) == nil)
  }

  @Test func `two pixels are in each cell, and transparent ones leave the cell unchanged`() throws {
    let red: UInt32 = 0xFF00_00FF
    let blue: UInt32 = 0x0000_FFFF
    var grid = CellGrid(width: 4, height: 1)
    grid.fill(grid.bounds, with: "x")
    grid.picture(try image(4, 2, [red, red, 0, 0, red, blue, blue, 0]), in: grid.bounds)
    #expect(PlainTextEncoder.text(grid) == "█▀▄x\n")
    #expect(grid[1, 0].style.foreground == .rgb(255, 0, 0))
    #expect(grid[1, 0].style.background == .rgb(0, 0, 255))
    #expect(grid[2, 0].style.foreground == .rgb(0, 0, 255))
  }

  @Test func `a picture keeps its proportions, in the middle`() throws {
    var grid = CellGrid(width: 6, height: 2)
    let white: UInt32 = 0xFFFF_FFFF
    grid.picture(try image(1, 2, [white, white]), in: grid.bounds)
    #expect(PlainTextEncoder.text(grid) == "  ██\n  ██\n")
  }

  @Test func `a smaller picture has the mean of the pixels`() throws {
    let small = try image(2, 1, [0xFF00_00FF, 0x0000_FFFF]).scaled(width: 1, height: 1)
    #expect(small?.rgba == [127, 0, 127, 255])
    let clear = try image(2, 1, [0xFF00_00FF, 0x00FF_0000]).scaled(width: 1, height: 1)
    #expect(clear?.rgba == [255, 0, 0, 127])
  }

  @Test func `kitty gets chunks of at most 4096 characters`() throws {
    let picture = try image(1, 1, [0x0102_03FF])
    #expect(
      TerminalPicture.kitty(picture, columns: 2, rows: 1, id: 7)
        == "\u{1B}_Ga=T,f=32,s=1,v=1,c=2,r=1,i=7,C=1,q=2,m=0;AQID/w==\u{1B}\\")
    let long = TerminalPicture.kitty(
      png: Array(repeating: 0, count: 6145), columns: 1, rows: 1, id: 1)
    let chunks = long.components(separatedBy: "\u{1B}\\")
    #expect(chunks.map { $0.drop { $0 != ";" }.dropFirst().count } == [4096, 4096, 4, 0])
    #expect(chunks[1].hasPrefix("\u{1B}_Gm=1;"))
    #expect(chunks[2].hasPrefix("\u{1B}_Gm=0;"))
  }

  @Test func `a file for iTerm is a PNG with checked chunks`() throws {
    let bytes = PNGEncoder.bytes(try image(1, 1, [0xFF00_00FF]))
    // The header's sum is that of every such picture.
    let expected: [UInt8] = [
      0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0,
      1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1F, 0x15, 0xC4, 0x89, 0, 0, 0, 16, 0x49, 0x44, 0x41, 0x54,
      0x78, 0x01, 1, 5, 0, 0xFA, 0xFF, 0, 0xFF, 0, 0, 0xFF,
    ]
    #expect(Array(bytes.prefix(expected.count)) == expected)
    #expect(bytes.suffix(12) == [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82])
  }

  @Test(arguments: 0..<40)
  func `sixels show the pixels that they were made of`(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let (width, height) = (
      Int.random(in: 1...30, using: &random), Int.random(in: 1...20, using: &random)
    )
    // Colours that percentages can express.
    let colors: [UInt32] = [0xFF00_00FF, 0x00FF_00FF, 0x0000_FFFF, 0xFFFF_FFFF, 0x0000_0000]
    let pixels = (0..<width * height).map { _ in
      colors[.random(in: 0..<colors.count, using: &random)]
    }
    let shown = sixels(TerminalPicture.sixel(try image(width, height, pixels)), width, height)
    #expect(shown == pixels)
  }

  @Test func `many colours are dithered to few`() throws {
    let pixels = (0..<1024).map { UInt32($0) << 14 | 0xFF }
    let text = TerminalPicture.sixel(try image(32, 32, pixels))
    #expect(text.split(separator: "#").count > 40)
    #expect(!text.contains("#256;"))
  }

  /// The pixels that a terminal draws for sixels, 0 for none.
  private func sixels(_ text: String, _ width: Int, _ height: Int) -> [UInt32] {
    var pixels = Array(repeating: UInt32(0), count: width * height)
    var palette: [Int: UInt32] = [:]
    var (x, top, color, count) = (0, 0, UInt32(0), 1)
    var rest = text.dropFirst("\u{1B}P0;1;0q\"".count).drop { $0 != "#" }
    func number() -> Int {
      let digits = rest.prefix { $0.isNumber }
      rest = rest.dropFirst(digits.count)
      return Int(digits) ?? -1
    }
    while let letter = rest.popFirst(), letter != "\u{1B}" {
      switch letter {
      case "#":
        let index = number()
        if rest.first == ";" {
          var channels: [UInt32] = []
          while rest.first == ";" {
            rest = rest.dropFirst()
            channels.append(UInt32(number()))
          }
          palette[index] = channels.dropFirst().reduce(0) { $0 << 8 | $1 * 255 / 100 } << 8 | 0xFF
        } else {
          color = palette[index] ?? 0
        }
      case "!": count = number()
      case "$": x = 0
      case "-": (x, top) = (0, top + 6)
      default:
        let bits = Int(letter.asciiValue ?? 63) - 63
        for _ in 0..<count {
          for row in 0..<6 where bits >> row & 1 == 1 { pixels[(top + row) * width + x] = color }
          x += 1
        }
        count = 1
      }
    }
    return pixels
  }
}

extension String {
  fileprivate func components(separatedBy separator: String) -> [Substring] {
    split(separator: separator, omittingEmptySubsequences: false)
  }
}
