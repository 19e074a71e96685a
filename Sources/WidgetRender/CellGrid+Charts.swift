public import WidgetLayout

/// Drawing of numbers: bars in eighths of a cell, sparklines in eighths of a row, lines in braille.
extension CellGrid {
  private static let leftEighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
  private static let lowerEighths = ["", "▁", "▂", "▃", "▄", "▅", "▆", "▇"]

  /// Draws a horizontal bar that is filled from the left.
  ///
  /// - Parameters:
  ///   - share: The filled share, 0 to 1. Nil if it is unknown.
  ///   - track: The style of the rest. Without a background, the rest is dots.
  public mutating func bar(
    _ share: Double?, in rect: LayoutRect, style: CellStyle, track: CellStyle,
    clip: LayoutRect? = nil
  ) {
    guard rect.width > 0 else { return }
    let eighths = share.map { CellGrid.steps($0, rect.width * 8) } ?? 0
    let (full, part) = (eighths / 8, eighths % 8)
    let rest = share == nil ? "·" : track.background == nil ? "░" : " "
    var edge = style
    edge.background = track.background
    for row in CellGrid.rows(rect, within: bounds) {
      put(String(repeating: "█", count: full), column: rect.x, row: row, style: style, clip: clip)
      put(
        CellGrid.leftEighths[part], column: rect.x + full, row: row, style: edge, clip: clip)
      let used = full + (part > 0 ? 1 : 0)
      put(
        String(repeating: rest, count: rect.width - used), column: rect.x + used, row: row,
        style: track, clip: clip)
    }
  }

  /// Draws values as columns, one for each cell of the width, the newest at the right. Older values
  /// than there is room for are left out; nil leaves a gap.
  ///
  /// - Parameter scale: Nil if all values are equal. All columns then have half of the height.
  public mutating func sparkline(
    _ values: [Double?], scale: ChartScale?, in rect: LayoutRect, style: CellStyle,
    clip: LayoutRect? = nil
  ) {
    guard rect.width > 0, rect.height > 0 else { return }
    for (offset, value) in values.suffix(rect.width).enumerated() {
      guard let share = CellGrid.share(value, scale) else { continue }
      // A value above zero shows at least one step, even if it is very small.
      let eighths = max(CellGrid.steps(share, rect.height * 8), 1)
      for level in 0..<rect.height {
        let part = eighths - level * 8
        guard part > 0 else { break }
        put(
          part >= 8 ? "█" : CellGrid.lowerEighths[part], column: rect.x + offset,
          row: rect.y + rect.height - 1 - level, style: style, clip: clip)
      }
    }
  }

  /// Draws values as a line of braille dots, two in the width of a cell and four in its height. The
  /// first value is at the left, the last at the right; nil breaks the line.
  ///
  /// - Parameter scale: Nil if all values are equal. The line is then in the middle.
  public mutating func line(
    _ values: [Double?], scale: ChartScale?, in rect: LayoutRect, style: CellStyle,
    clip: LayoutRect? = nil
  ) {
    guard rect.width > 0, rect.height > 0, rect.width <= CellGrid.sideMax,
      rect.height <= CellGrid.sideMax
    else { return }
    let (dotsWide, dotsHigh) = (rect.width * 2, rect.height * 4)
    var dots = Array(repeating: UInt8(0), count: rect.width * rect.height)
    func dot(_ x: Int, _ y: Int) {
      // The bits of a braille character: three rows of the left column, of the right, the fourth row.
      let bits: [[UInt8]] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]]
      dots[y / 4 * rect.width + x / 2] |= bits[y % 4][x % 2]
    }
    var last: (x: Int, y: Int)?
    for (index, value) in values.enumerated() {
      guard let share = CellGrid.share(value, scale) else {
        last = nil
        continue
      }
      let x = values.count > 1 ? index * (dotsWide - 1) / (values.count - 1) : dotsWide / 2
      let y = dotsHigh - 1 - CellGrid.steps(share, dotsHigh - 1)
      if let last {
        let steps = max(x - last.x, abs(y - last.y), 1)
        for step in 1...steps {
          dot(last.x + (x - last.x) * step / steps, last.y + (y - last.y) * step / steps)
        }
      } else {
        dot(x, y)
      }
      last = (x, y)
    }
    for (index, bits) in dots.enumerated() where bits != 0 {
      guard let scalar = Unicode.Scalar(0x2800 + UInt32(bits)) else { continue }
      put(
        String(Character(scalar)), column: rect.x + index % rect.width,
        row: rect.y + index / rect.width, style: style, clip: clip)
    }
  }

  private static func share(_ value: Double?, _ scale: ChartScale?) -> Double? {
    guard let value, !value.isNaN else { return nil }
    guard let scale else { return 0.5 }
    return scale.share(of: value)
  }

  private static func steps(_ share: Double, _ count: Int) -> Int {
    Int((min(max(share.isNaN ? 0 : share, 0), 1) * Double(count)).rounded())
  }

  private static func rows(_ rect: LayoutRect, within bounds: LayoutRect) -> Range<Int> {
    let shared = bounds.overlap(
      LayoutRect(x: bounds.x, y: rect.y, width: bounds.width, height: rect.height))
    return shared.y..<shared.y + shared.height
  }
}
