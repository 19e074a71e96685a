/// A picture as pixels: red, green, blue and alpha, 8 bits each, row by row from the top left.
public struct PixelImage: Hashable, Sendable {
  /// The maximum number of pixels of a picture.
  public static let pixelsMax = 16 << 20

  public let width: Int
  public let height: Int
  /// Four bytes for each pixel.
  public let rgba: [UInt8]

  /// Nil if the bytes are not `width` x `height` pixels, or if there are none or too many.
  public init?(width: Int, height: Int, rgba: [UInt8]) {
    guard width > 0, height > 0 else { return nil }
    let (count, overflow) = width.multipliedReportingOverflow(by: height)
    guard !overflow, count <= PixelImage.pixelsMax, rgba.count == count * 4 else { return nil }
    (self.width, self.height, self.rgba) = (width, height, rgba)
  }

  /// One pixel, which is in the picture.
  func pixel(_ x: Int, _ y: Int) -> (r: Int, g: Int, b: Int, a: Int) {
    let at = (y * width + x) * 4
    return (Int(rgba[at]), Int(rgba[at + 1]), Int(rgba[at + 2]), Int(rgba[at + 3]))
  }

  /// The picture in another size: each pixel is the mean of those it covers. O(pixels of both).
  public func scaled(width newWidth: Int, height newHeight: Int) -> PixelImage? {
    guard newWidth > 0, newHeight > 0,
      newWidth.multipliedReportingOverflow(by: newHeight).overflow
        == false, newWidth * newHeight <= PixelImage.pixelsMax
    else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(newWidth * newHeight * 4)
    for y in 0..<newHeight {
      let top = y * height / newHeight
      let bottom = max(top + 1, (y + 1) * height / newHeight)
      for x in 0..<newWidth {
        let left = x * width / newWidth
        let right = max(left + 1, (x + 1) * width / newWidth)
        var (r, g, b, a) = (0, 0, 0, 0)
        for row in top..<bottom {
          for column in left..<right {
            let pixel = pixel(column, row)
            // An invisible pixel adds no colour.
            (r, g, b) = (r + pixel.r * pixel.a, g + pixel.g * pixel.a, b + pixel.b * pixel.a)
            a += pixel.a
          }
        }
        let count = (bottom - top) * (right - left)
        let weight = max(a, 1)
        result += [UInt8(r / weight), UInt8(g / weight), UInt8(b / weight), UInt8(a / count)]
      }
    }
    return PixelImage(width: newWidth, height: newHeight, rgba: result)
  }
}
