/// Bytes in the driver protocol: lower-case hexadecimal, `-` for none.
enum Hex {
  static func text(_ bytes: [UInt8]) -> String {
    guard !bytes.isEmpty else { return "-" }
    return String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
      var at = 0
      for byte in bytes {
        buffer[at] = digit(byte >> 4)
        buffer[at + 1] = digit(byte & 15)
        at += 2
      }
      return at
    }
  }

  static func bytes(_ text: Substring) throws -> [UInt8] {
    if text == "-" { return [] }
    var result: [UInt8] = []
    result.reserveCapacity(text.utf8.count / 2)
    var high: UInt8?
    for character in text.utf8 {
      guard let value = value(character) else { throw Misuse("that is no hexadecimal") }
      if let first = high {
        result.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    guard high == nil else { throw Misuse("half a byte") }
    return result
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  private static func value(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
