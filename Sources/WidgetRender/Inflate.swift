/// Decompresses DEFLATE data (RFC 1951). Pure, and bounded by the caller's limit of output bytes.
enum Inflate {
  enum Failure: Error { case damaged, tooLong }

  /// Decompresses a zlib stream (RFC 1950). Ignores its checksum.
  static func zlib(_ bytes: ArraySlice<UInt8>, bytesMax: Int) throws(Failure) -> [UInt8] {
    guard bytes.count > 2, bytes[bytes.startIndex] & 15 == 8,
      bytes[bytes.startIndex + 1] & 32 == 0
    else { throw .damaged }
    var reader = Bits(bytes.dropFirst(2))
    var output: [UInt8] = []
    output.reserveCapacity(min(bytesMax, bytes.count * 4))
    var isLast = false
    while !isLast {
      isLast = try reader.take(1) == 1
      switch try reader.take(2) {
      case 0: try stored(&reader, &output, bytesMax)
      case 1: try block(&reader, &output, bytesMax, fixedLengths, fixedDistances)
      case 2:
        let (lengths, distances) = try tables(&reader)
        try block(&reader, &output, bytesMax, lengths, distances)
      default: throw .damaged
      }
    }
    return output
  }

  private struct Bits {
    private let bytes: ArraySlice<UInt8>
    private var next: Int
    private var held: UInt32 = 0
    private var count = 0

    init(_ bytes: ArraySlice<UInt8>) { (self.bytes, next) = (bytes, bytes.startIndex) }

    mutating func take(_ wanted: Int) throws(Failure) -> Int {
      while count < wanted {
        guard next < bytes.endIndex else { throw .damaged }
        held |= UInt32(bytes[next]) << UInt32(count)
        next += 1
        count += 8
      }
      defer {
        held >>= UInt32(wanted)
        count -= wanted
      }
      return Int(held & (1 << UInt32(wanted) - 1))
    }

    mutating func toByte() { (held, count) = (held >> UInt32(count & 7), count & ~7) }
  }

  /// A canonical Huffman code: the number of codes per length, and the symbols in code order.
  private struct Code {
    var counts = [Int](repeating: 0, count: 16)
    var symbols: [Int] = []

    init(_ lengths: ArraySlice<Int>) {
      for length in lengths { counts[length] += 1 }
      for length in 1..<16 {
        for (symbol, own) in lengths.enumerated() where own == length { symbols.append(symbol) }
      }
      counts[0] = 0
    }

    func symbol(_ bits: inout Bits) throws(Failure) -> Int {
      var (code, first, index) = (0, 0, 0)
      for length in 1..<16 {
        code |= try bits.take(1)
        let count = counts[length]
        if code - count < first {
          let place = index + code - first
          guard symbols.indices.contains(place) else { throw .damaged }
          return symbols[place]
        }
        index += count
        first = (first + count) << 1
        code <<= 1
      }
      throw .damaged
    }
  }

  private static let fixedLengths = Code(
    (Array(repeating: 8, count: 144) + Array(repeating: 9, count: 112)
      + Array(repeating: 7, count: 24) + Array(repeating: 8, count: 8))[...])
  private static let fixedDistances = Code(Array(repeating: 5, count: 30)[...])
  private static let lengthBases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
  ]
  private static let lengthBits = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
  ]
  private static let distanceBases = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
    3073, 4097, 6145, 8193, 12_289, 16_385, 24_577,
  ]
  private static let distanceBits = [
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13,
    13,
  ]
  private static let lengthOrder = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
  ]

  private static func stored(
    _ bits: inout Bits, _ output: inout [UInt8], _ bytesMax: Int
  ) throws(Failure) {
    bits.toByte()
    let length = try bits.take(16)
    guard try bits.take(16) == length ^ 0xFFFF else { throw .damaged }
    guard output.count + length <= bytesMax else { throw .tooLong }
    for _ in 0..<length { output.append(UInt8(try bits.take(8))) }
  }

  private static func tables(_ bits: inout Bits) throws(Failure) -> (Code, Code) {
    let lengthCount = try bits.take(5) + 257
    let distanceCount = try bits.take(5) + 1
    let orderCount = try bits.take(4) + 4
    var lengths = [Int](repeating: 0, count: 19)
    for place in lengthOrder.prefix(orderCount) { lengths[place] = try bits.take(3) }
    let code = Code(lengths[...])
    var all: [Int] = []
    while all.count < lengthCount + distanceCount {
      switch try code.symbol(&bits) {
      case 16:
        guard let last = all.last else { throw .damaged }
        all += Array(repeating: last, count: 3 + (try bits.take(2)))
      case 17: all += Array(repeating: 0, count: 3 + (try bits.take(3)))
      case 18: all += Array(repeating: 0, count: 11 + (try bits.take(7)))
      case let length: all.append(length)
      }
    }
    guard all.count == lengthCount + distanceCount else { throw .damaged }
    return (Code(all[..<lengthCount]), Code(all[lengthCount...]))
  }

  private static func block(
    _ bits: inout Bits, _ output: inout [UInt8], _ bytesMax: Int, _ lengths: Code,
    _ distances: Code
  ) throws(Failure) {
    while true {
      let symbol = try lengths.symbol(&bits)
      if symbol == 256 { return }
      if symbol < 256 {
        guard output.count < bytesMax else { throw .tooLong }
        output.append(UInt8(symbol))
        continue
      }
      guard lengthBases.indices.contains(symbol - 257) else { throw .damaged }
      let length = lengthBases[symbol - 257] + (try bits.take(lengthBits[symbol - 257]))
      let place = try distances.symbol(&bits)
      guard distanceBases.indices.contains(place) else { throw .damaged }
      let distance = distanceBases[place] + (try bits.take(distanceBits[place]))
      guard distance <= output.count else { throw .damaged }
      guard output.count + length <= bytesMax else { throw .tooLong }
      for _ in 0..<length { output.append(output[output.count - distance]) }
    }
  }
}
