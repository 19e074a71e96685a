/// Pixels as sixels: columns of six, colour by colour (DEC STD 070).
enum SixelEncoder {
  /// The maximum number of colours that all terminals with sixels have.
  private static let colorsMax = 256

  static func text(_ image: PixelImage) -> String {
    let (indices, palette) = indexed(image)
    var output = "\u{1B}P0;1;0q\"1;1;\(image.width);\(image.height)"
    for (index, color) in palette.enumerated() {
      let percent = [color >> 16 & 255, color >> 8 & 255, color & 255].map {
        ($0 * 100 + 127) / 255
      }
      output += "#\(index);2;\(percent[0]);\(percent[1]);\(percent[2])"
    }
    for top in stride(from: 0, to: image.height, by: 6) {
      let rows = min(6, image.height - top)
      // For each colour in the band, its sixels from left to right.
      var columns: [Int: [UInt8]] = [:]
      for x in 0..<image.width {
        for row in 0..<rows {
          let index = indices[(top + row) * image.width + x]
          guard index >= 0 else { continue }
          columns[index, default: Array(repeating: 0, count: image.width)][x] |= 1 << UInt8(row)
        }
      }
      for (place, index) in columns.keys.sorted().enumerated() {
        output += (place > 0 ? "$" : "") + "#\(index)" + runs(columns[index] ?? [])
      }
      output += "-"
    }
    return output + "\u{1B}\\"
  }

  /// Sixels with runs shortened; blanks at the end left out.
  private static func runs(_ sixels: [UInt8]) -> String {
    var output = ""
    var rest = sixels[..<(sixels.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0)]
    while let first = rest.first {
      let count = rest.prefix { $0 == first }.count
      rest = rest.dropFirst(count)
      let letter = String(Character(Unicode.Scalar(first + 63)))
      output += count > 3 ? "!\(count)\(letter)" : String(repeating: letter, count: count)
    }
    return output
  }

  /// The palette, and the index in it for each pixel; -1 for a transparent pixel.
  private static func indexed(_ image: PixelImage) -> ([Int], [Int]) {
    var palette: [Int] = []
    var places: [Int: Int] = [:]
    func indices(_ color: (Int, Int, (r: Int, g: Int, b: Int, a: Int)) -> Int) -> [Int]? {
      (palette, places) = ([], [:])
      var result: [Int] = []
      result.reserveCapacity(image.width * image.height)
      for y in 0..<image.height {
        for x in 0..<image.width {
          let pixel = image.pixel(x, y)
          guard pixel.a >= 128 else {
            result.append(-1)
            continue
          }
          let color = color(x, y, pixel)
          if let place = places[color] {
            result.append(place)
          } else {
            guard palette.count < colorsMax else { return nil }
            places[color] = palette.count
            result.append(palette.count)
            palette.append(color)
          }
        }
      }
      return result
    }
    let exact = indices { _, _, pixel in pixel.r << 16 | pixel.g << 8 | pixel.b }
    let result = exact ?? indices(dithered)
    return (result ?? [], palette)
  }

  /// One of six levels of each channel, with a pattern that keeps their mean (a 4 x 4 Bayer matrix).
  private static func dithered(_ x: Int, _ y: Int, _ pixel: (r: Int, g: Int, b: Int, a: Int)) -> Int
  {
    let matrix = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5]
    let threshold = matrix[y % 4 * 4 + x % 4]
    return [pixel.r, pixel.g, pixel.b].reduce(0) { color, channel in
      let level = min((channel * 80 / 255 + threshold) / 16, 5)
      return color << 8 | level * 51
    }
  }
}
