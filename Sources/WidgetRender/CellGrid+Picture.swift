public import WidgetLayout

extension CellGrid {
  /// Draws a picture with half blocks: two pixels in each cell, so that pixels are about square.
  /// The picture keeps its proportions, is as large as the rectangle allows, and is centred in it.
  ///
  /// Pixels that are less than half opaque are not drawn.
  public mutating func picture(_ image: PixelImage, in rect: LayoutRect, clip: LayoutRect? = nil) {
    guard rect.width > 0, rect.height > 0, rect.width <= CellGrid.sideMax,
      rect.height <= CellGrid.sideMax
    else { return }
    let scale = min(
      Double(rect.width) / Double(image.width), Double(rect.height * 2) / Double(image.height))
    let width = min(max(Int((Double(image.width) * scale).rounded()), 1), rect.width)
    let height = min(max(Int((Double(image.height) * scale).rounded()), 1), rect.height * 2)
    guard let scaled = image.scaled(width: width, height: height) else { return }
    let rows = (height + 1) / 2
    let (left, top) = (rect.x + (rect.width - width) / 2, rect.y + (rect.height - rows) / 2)
    for row in 0..<rows {
      for column in 0..<width {
        let upper = CellGrid.color(scaled, column, row * 2)
        let lower = row * 2 + 1 < height ? CellGrid.color(scaled, column, row * 2 + 1) : nil
        let (text, style): (String, CellStyle)
        switch (upper, lower) {
        case (nil, nil): continue
        case (let upper?, nil): (text, style) = ("▀", CellStyle(foreground: upper))
        case (nil, let lower?): (text, style) = ("▄", CellStyle(foreground: lower))
        case (let upper?, let lower?) where upper == lower:
          (text, style) = ("█", CellStyle(foreground: upper, background: lower))
        case (let upper?, let lower?):
          (text, style) = ("▀", CellStyle(foreground: upper, background: lower))
        }
        put(text, column: left + column, row: top + row, style: style, clip: clip)
      }
    }
  }

  private static func color(_ image: PixelImage, _ x: Int, _ y: Int) -> CellColor? {
    let pixel = image.pixel(x, y)
    return pixel.a < 128 ? nil : .rgb(UInt8(pixel.r), UInt8(pixel.g), UInt8(pixel.b))
  }
}
