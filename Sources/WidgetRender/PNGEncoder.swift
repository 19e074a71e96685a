/// Pixels as the bytes of a PNG file, not compressed: for terminals that want a file.
public enum PNGEncoder {
  /// The file. O(pixels).
  public static func bytes(_ image: PixelImage) -> [UInt8] {
    var rows: [UInt8] = []
    rows.reserveCapacity(image.height * (image.width * 4 + 1))
    for y in 0..<image.height {
      rows.append(0)  // No filter.
      rows += image.rgba[y * image.width * 4..<(y + 1) * image.width * 4]
    }
    // 8 bits of red, green, blue and alpha, not interlaced.
    let header = bigEndian(UInt32(image.width)) + bigEndian(UInt32(image.height)) + [8, 6, 0, 0, 0]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header)
      + chunk("IDAT", stored(rows)) + chunk("IEND", [])
  }

  private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    let body = Array(name.utf8) + content
    return bigEndian(UInt32(content.count)) + body + bigEndian(cyclicRedundancyCheck(body))
  }

  /// A zlib stream of blocks that are stored as they are (RFC 1950, RFC 1951).
  private static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var output: [UInt8] = [0x78, 0x01]
    output.reserveCapacity(bytes.count + bytes.count / 65_535 * 5 + 11)
    var start = 0
    repeat {
      let end = min(start + 65_535, bytes.count)
      let length = UInt16(end - start)
      output.append(end == bytes.count ? 1 : 0)
      for half in [length, ~length] { output += [UInt8(half & 0xFF), UInt8(half >> 8)] }
      output += bytes[start..<end]
      start = end
    } while start < bytes.count
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return output + bigEndian(high << 16 | low)
  }

  private static func bigEndian(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(number >> UInt32($0) & 0xFF) }
  }

  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { value, _ in
      value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1
    }
  }

  private static func cyclicRedundancyCheck(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(UInt32.max) { table[Int(($0 ^ UInt32($1)) & 0xFF)] ^ $0 >> 8 }
  }
}
