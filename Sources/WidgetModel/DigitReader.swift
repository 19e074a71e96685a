/// Reads digits and marks from ASCII text.
package struct DigitReader {
  private let bytes: [UInt8]
  package private(set) var offset = 0

  package init(_ text: String) { bytes = Array(text.utf8) }

  package var isAtEnd: Bool { offset == bytes.count }
  package var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  package mutating func skip(_ mark: Character) -> Bool {
    guard let byte = next, byte == mark.asciiValue else { return false }
    offset += 1
    return true
  }

  /// A number of at most this many digits, and of exactly this many unless `isShort` is allowed.
  package mutating func number(_ width: Int, isShort: Bool = false) -> Int? {
    let start = offset
    var value = 0
    while offset - start < width, let byte = next, byte.isDigit {
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
      offset += 1
    }
    guard offset - start == width || (isShort && offset > start) else { return nil }
    return value
  }

  /// One to nine digits as nanoseconds; more digits are read and dropped.
  package mutating func fraction() -> Int? {
    guard next?.isDigit == true else { return nil }
    var (value, scale) = (0, 100_000_000)
    while let byte = next, byte.isDigit {
      value += Int(byte - UInt8(ascii: "0")) * scale
      scale /= 10
      offset += 1
    }
    return value
  }

  /// The rest, without reading it.
  package var rest: ArraySlice<UInt8> { bytes[offset...] }

  package mutating func skip(_ count: Int) { offset = min(bytes.count, offset + count) }
}

extension UInt8 {
  package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
