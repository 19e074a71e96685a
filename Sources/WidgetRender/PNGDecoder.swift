/// Decodes PNG files (ISO/IEC 15948) of all colour types and depths. Interlaced files fail.
///
/// Pure and bounded: no input traps, and pictures above `pixelsMax` or `sideMax` are not
/// decompressed.
public enum PNGDecoder {
  /// The reason why decoding failed.
  public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not a PNG, with the name of the format if it is recognised.
    case notPNG(String?)
    case interlaced
    case tooLarge(width: Int, height: Int, pixelsMax: Int)
    /// A side is longer than `sideMax`.
    case tooLong(width: Int, height: Int)
    case damaged

    public var description: String {
      switch self {
      case .notPNG(let name?): "there is no decoder for \(name); use PNG"
      case .notPNG(nil): "it is not a PNG"
      case .interlaced: "it is an interlaced PNG; save it without interlacing"
      case .tooLarge(let width, let height, let most):
        "\(width) x \(height) pixels are more than \(most)"
      case .tooLong(let width, let height):
        "\(width) x \(height) pixels have a side longer than \(PNGDecoder.sideMax)"
      case .damaged: "the PNG is damaged or cut off"
      }
    }
  }

  /// The maximum width and height in pixels, which is cairo's maximum.
  public static let sideMax = 32_767

  private struct Header {
    var width = 0
    var height = 0
    var depth = 0
    var type = 0
    /// The number of samples per pixel.
    var samples: Int { type == 2 ? 3 : type == 4 ? 2 : type == 6 ? 4 : 1 }
    var rowBytes: Int { (width * samples * depth + 7) / 8 }
    var isPossible: Bool {
      switch type {
      case 0: [1, 2, 4, 8, 16].contains(depth)
      case 3: [1, 2, 4, 8].contains(depth)
      case 2, 4, 6: depth == 8 || depth == 16
      default: false
      }
    }
  }

  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// Decodes a picture. O(bytes + pixels).
  public static func image(
    _ bytes: [UInt8], pixelsMax: Int = PixelImage.pixelsMax
  ) throws(Failure) -> PixelImage {
    guard bytes.starts(with: signature) else { throw .notPNG(name(of: bytes)) }
    var header: Header?
    var packed: [UInt8] = []
    var palette: [UInt8] = []
    var transparency: [UInt8] = []
    var at = signature.count
    while at + 8 <= bytes.count {
      let length = number(bytes, at)
      let kind = String(decoding: bytes[at + 4..<at + 8], as: UTF8.self)
      let start = at + 8
      guard length <= bytes.count - start else { throw .damaged }
      let content = bytes[start..<start + length]
      switch kind {
      case "IHDR":
        guard length == 13 else { throw .damaged }
        let found = Header(
          width: number(bytes, start), height: number(bytes, start + 4),
          depth: Int(bytes[start + 8]), type: Int(bytes[start + 9]))
        guard found.isPossible, found.width > 0, found.height > 0 else { throw .damaged }
        guard bytes[start + 12] == 0 else { throw .interlaced }
        guard found.width <= pixelsMax / found.height else {
          throw .tooLarge(width: found.width, height: found.height, pixelsMax: pixelsMax)
        }
        guard max(found.width, found.height) <= sideMax else {
          throw .tooLong(width: found.width, height: found.height)
        }
        header = found
      case "PLTE": palette = Array(content)
      case "tRNS": transparency = Array(content)
      case "IDAT": packed += content
      case "IEND": at = bytes.count
      default: break
      }
      at = max(at, start + length + 4)
    }
    guard let header else { throw .damaged }
    let bytesMax = (header.rowBytes + 1) * header.height
    var rows: [UInt8]
    do { rows = try Inflate.zlib(packed[...], bytesMax: bytesMax) } catch { throw .damaged }
    guard rows.count == bytesMax else { throw .damaged }
    try unfilter(&rows, header)
    let rgba = pixels(rows, header, palette, transparency)
    guard let image = PixelImage(width: header.width, height: header.height, rgba: rgba) else {
      throw .damaged
    }
    return image
  }

  private static func name(of bytes: [UInt8]) -> String? {
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "JPEG" }
    if bytes.starts(with: Array("GIF8".utf8)) { return "GIF" }
    if bytes.count > 12, bytes[8..<12].elementsEqual("WEBP".utf8) { return "WebP" }
    if bytes.starts(with: Array("<svg".utf8)) || bytes.starts(with: Array("<?xml".utf8)) {
      return "SVG"
    }
    return nil
  }

  private static func number(_ bytes: [UInt8], _ at: Int) -> Int {
    bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  /// Reverses the row filters in place. The first byte of each row is its filter type.
  private static func unfilter(_ rows: inout [UInt8], _ header: Header) throws(Failure) {
    let length = header.rowBytes
    let back = max(1, header.samples * header.depth / 8)
    for row in 0..<header.height {
      let start = row * (length + 1) + 1
      let filter = rows[start - 1]
      guard filter <= 4 else { throw .damaged }
      guard filter > 0 else { continue }
      for place in 0..<length {
        let left = place >= back ? Int(rows[start + place - back]) : 0
        let above = row > 0 ? Int(rows[start + place - length - 1]) : 0
        let corner = row > 0 && place >= back ? Int(rows[start + place - back - length - 1]) : 0
        let guess: Int
        switch filter {
        case 1: guess = left
        case 2: guess = above
        case 3: guess = (left + above) / 2
        default:
          let sum = left + above - corner
          let (a, b, c) = (abs(sum - left), abs(sum - above), abs(sum - corner))
          guess = a <= b && a <= c ? left : b <= c ? above : corner
        }
        rows[start + place] = rows[start + place] &+ UInt8(truncatingIfNeeded: guess)
      }
    }
  }

  private static func pixels(
    _ rows: [UInt8], _ header: Header, _ palette: [UInt8], _ transparency: [UInt8]
  ) -> [UInt8] {
    var rgba: [UInt8] = []
    rgba.reserveCapacity(header.width * header.height * 4)
    let most = 1 << header.depth - 1
    // In types without alpha, this colour is transparent.
    let clear = stride(from: 0, to: transparency.count - 1, by: 2).map {
      Int(transparency[$0]) << 8 | Int(transparency[$0 + 1])
    }
    for row in 0..<header.height {
      let start = row * (header.rowBytes + 1) + 1
      func sample(_ index: Int) -> Int {
        switch header.depth {
        case 8: return Int(rows[start + index])
        case 16: return Int(rows[start + 2 * index]) << 8 | Int(rows[start + 2 * index + 1])
        default:
          let bit = index * header.depth
          return Int(rows[start + bit / 8]) >> (8 - header.depth - bit % 8) & most
        }
      }
      func level(_ sample: Int) -> UInt8 { UInt8(sample * 255 / most) }
      for column in 0..<header.width {
        let first = column * header.samples
        switch header.type {
        case 0:
          let gray = sample(first)
          rgba += [level(gray), level(gray), level(gray), clear.first == gray ? 0 : 255]
        case 2:
          let color = (0..<3).map { sample(first + $0) }
          rgba += color.map(level) + [clear.count >= 3 && color == Array(clear[..<3]) ? 0 : 255]
        case 3:
          let index = sample(first)
          if index * 3 + 2 < palette.count {
            rgba += palette[index * 3..<index * 3 + 3]
          } else {
            rgba += [0, 0, 0]
          }
          rgba.append(index < transparency.count ? transparency[index] : 255)
        case 4:
          let gray = level(sample(first))
          rgba += [gray, gray, gray, level(sample(first + 1))]
        default: for place in 0..<4 { rgba.append(level(sample(first + place))) }
        }
      }
    }
    return rgba
  }
}
