/// The number of colours that a terminal shows.
public enum ColorDepth: Int, Sendable, CaseIterable, Comparable {
  /// No colours. Bold, underline and the like are still used.
  case none
  /// The 16 colours of the terminal's palette.
  case sixteen
  /// The 256 colours of xterm.
  case palette256
  /// Any colour.
  case truecolor

  public static func < (a: ColorDepth, b: ColorDepth) -> Bool { a.rawValue < b.rawValue }
}

/// Finds the colour of a smaller palette that looks most like another.
///
/// Distances are taken in Oklab (Björn Ottosson, 2020), in which equal distances look equal. Caches
/// its results.
struct ColorMapping {
  private var nearest16: [UInt32: UInt8] = [:]
  private var nearest256: [UInt32: UInt8] = [:]
  /// The maximum number of cached colours. Further colours are looked up again.
  private static let rememberedMax = 4096

  /// A colour as a terminal of some depth shows it; nil if it shows none.
  mutating func color(_ color: CellColor?, at depth: ColorDepth) -> CellColor? {
    guard let color, depth != .none else { return nil }
    switch (color, depth) {
    case (.rgb(let r, let g, let b), .sixteen):
      return .palette(index(r, g, b, in: \.nearest16, of: 0..<16))
    case (.rgb(let r, let g, let b), .palette256):
      // The first 16 look different in every terminal.
      return .palette(index(r, g, b, in: \.nearest256, of: 16..<256))
    case (.palette(let index), .sixteen) where index > 15:
      let (r, g, b) = ColorMapping.palette[Int(index)]
      return .palette(self.index(r, g, b, in: \.nearest16, of: 0..<16))
    default: return color
    }
  }

  private mutating func index(
    _ r: UInt8, _ g: UInt8, _ b: UInt8,
    in memory: WritableKeyPath<ColorMapping, [UInt32: UInt8]>, of candidates: Range<Int>
  ) -> UInt8 {
    let key = UInt32(r) << 16 | UInt32(g) << 8 | UInt32(b)
    if let known = self[keyPath: memory][key] { return known }
    let wanted = Oklab(r, g, b)
    var best = candidates.lowerBound
    var bestDistance = Double.infinity
    for candidate in candidates {
      let distance = wanted.distance(
        ColorMapping.oklab[candidate], keepsHue: candidates.count <= 16)
      if distance < bestDistance { (best, bestDistance) = (candidate, distance) }
    }
    if self[keyPath: memory].count >= ColorMapping.rememberedMax { self[keyPath: memory] = [:] }
    self[keyPath: memory][key] = UInt8(best)
    return UInt8(best)
  }

  /// The colours of xterm: 16, a cube of 6 x 6 x 6, and 24 greys.
  static let palette: [(UInt8, UInt8, UInt8)] = {
    var colors: [(UInt8, UInt8, UInt8)] = [
      (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0),
      (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
      (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0),
      (92, 92, 255), (255, 0, 255), (0, 255, 255), (255, 255, 255),
    ]
    let steps: [UInt8] = [0, 95, 135, 175, 215, 255]
    for r in steps { for g in steps { for b in steps { colors.append((r, g, b)) } } }
    for grey in 0..<24 {
      let level = UInt8(8 + 10 * grey)
      colors.append((level, level, level))
    }
    return colors
  }()

  private static let oklab = palette.map { Oklab($0.0, $0.1, $0.2) }
}

/// A colour as lightness and two axes of hue.
struct Oklab {
  let lightness: Double
  let a: Double
  let b: Double

  init(_ red: UInt8, _ green: UInt8, _ blue: UInt8) {
    let (r, g, b) = (Oklab.linear(red), Oklab.linear(green), Oklab.linear(blue))
    let l = Oklab.cubeRoot(0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b)
    let m = Oklab.cubeRoot(0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b)
    let s = Oklab.cubeRoot(0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b)
    lightness = 0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s
    a = 1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s
    self.b = 0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s
  }

  /// The square of the distance. With few colours, a grey counts as far from a hue, so that a pale
  /// blue stays blue.
  func distance(_ other: Oklab, keepsHue: Bool) -> Double {
    let (dl, da, db) = (lightness - other.lightness, a - other.a, b - other.b)
    let distance = dl * dl + da * da + db * db
    guard keepsHue, chroma > 0.003, other.chroma < 0.000_1 else { return distance }
    return distance + 0.05
  }

  /// The square of the colourfulness.
  private var chroma: Double { a * a + b * b }

  /// A channel without sRGB's gamma, close enough for a comparison.
  private static func linear(_ channel: UInt8) -> Double {
    let c = Double(channel) / 255
    return c * (c * (c * 0.305_306_011 + 0.682_171_111) + 0.012_522_878)
  }

  /// By Newton's method, for 0 to 1.
  private static func cubeRoot(_ x: Double) -> Double {
    guard x > 1e-9 else { return 0 }
    var root = x < 0.05 ? 0.3 : 0.7
    for _ in 0..<8 { root = (2 * root + x / (root * root)) / 3 }
    return root
  }
}
