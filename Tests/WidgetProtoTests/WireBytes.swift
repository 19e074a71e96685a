/// Encodes by hand, so that tests can write bytes that no encoder writes.
enum WireBytes {
  static func varint(_ value: UInt64) -> [UInt8] {
    var value = value
    var result: [UInt8] = []
    while value >= 0x80 {
      result.append(UInt8(value & 0x7f) | 0x80)
      value >>= 7
    }
    return result + [UInt8(value)]
  }

  static func tag(_ number: UInt64, _ wireType: UInt64) -> [UInt8] {
    varint(number << 3 | wireType)
  }

  static func field(_ number: UInt64, _ value: UInt64) -> [UInt8] {
    tag(number, 0) + varint(value)
  }

  static func field(_ number: UInt64, _ content: [UInt8]) -> [UInt8] {
    tag(number, 2) + varint(UInt64(content.count)) + content
  }

  static func field(_ number: UInt64, _ text: String) -> [UInt8] {
    field(number, Array(text.utf8))
  }

  /// A value of this many nested lists, with the innermost empty: 2 messages deep for each list.
  /// O(levels).
  static func nestedLists(_ levels: Int) -> [UInt8] {
    var reversed: [UInt8] = []
    // The lists are encoded from the inside out: Value.list_value is 7, ListValue.values is 1.
    for wrap in 0..<max(0, 2 * levels - 1) {
      let number: UInt64 = wrap % 2 == 0 ? 7 : 1
      reversed += (tag(number, 2) + varint(UInt64(reversed.count))).reversed()
    }
    return reversed.reversed()
  }
}
