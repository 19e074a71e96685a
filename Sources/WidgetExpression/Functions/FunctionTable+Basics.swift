import WidgetModel

/// CEL's own functions on text, bytes and containers, and `type` and `dyn`.
extension FunctionTable {
  mutating func addBasics() {
    for isMember in [false, true] {
      one(
        "size", isMember: isMember, "string -> int", "bytes -> int", "list(A) -> int",
        "map(A, B) -> int"
      ) { value, context throws(ExpressionFailure) in
        switch value {
        case .string(let text):
          try context.meter.chargeRead(text.utf8.count)
          return .int(Int64(text.unicodeScalars.count))
        case .bytes(let bytes): return .int(Int64(bytes.count))
        case .list(let list): return .int(Int64(list.count))
        case .map(let map): return .int(Int64(map.count))
        default: return nil
        }
      }
      two("matches", isMember: isMember, "string, string -> bool") {
        a, b, context throws(ExpressionFailure) in
        guard case .string(let text) = a, case .string(let pattern) = b else { return nil }
        let program = try RegexProgram(pattern, &context.meter)
        return .bool(try program.matches(text, &context.meter))
      }
    }
    two("contains", isMember: true, "string, string -> bool") {
      a, b, context throws(ExpressionFailure) in
      guard case .string(let text) = a, case .string(let part) = b else { return nil }
      try context.meter.chargeRead(text.utf8.count + part.utf8.count)
      return .bool(ByteSearch.first(Array(part.utf8), in: Array(text.utf8)) != nil)
    }
    two("startsWith", isMember: true, "string, string -> bool") {
      a, b, context throws(ExpressionFailure) in
      guard case .string(let text) = a, case .string(let part) = b else { return nil }
      try context.meter.chargeRead(part.utf8.count)
      return .bool(text.utf8.starts(with: part.utf8))
    }
    two("endsWith", isMember: true, "string, string -> bool") {
      a, b, context throws(ExpressionFailure) in
      guard case .string(let text) = a, case .string(let part) = b else { return nil }
      try context.meter.chargeRead(part.utf8.count)
      return .bool(text.utf8.suffix(part.utf8.count).elementsEqual(part.utf8))
    }
    one("type", "dyn -> type") { value, _ in .type(value.kind) }
    one("dyn", "dyn -> dyn") { value, _ in value }
    one("base64.encode", "bytes -> string") { value, context throws(ExpressionFailure) in
      guard case .bytes(let bytes) = value else { return nil }
      try context.meter.charge(bytes.count * 4 / 3)
      return .string(PaddedBase64.encode(bytes))
    }
    one("base64.decode", "string -> bytes") { value, context throws(ExpressionFailure) in
      guard case .string(let text) = value else { return nil }
      try context.meter.charge(text.utf8.count)
      guard let bytes = Base64.decode(text) else {
        throw ExpressionFailure(.invalidArgument, "the text is not base64")
      }
      return .bytes(bytes)
    }
  }
}

/// Finding bytes in bytes, in linear time.
enum ByteSearch {
  static func first(_ part: [UInt8], in text: [UInt8], from start: Int = 0) -> Int? {
    guard let head = part.first else { return start <= text.count ? start : nil }
    guard part.count <= text.count - start else { return nil }
    if part.count <= 4 {
      let last = text.count - part.count
      for index in start...last where text[index] == head {
        var length = 1
        while length < part.count, text[index + length] == part[length] { length += 1 }
        if length == part.count { return index }
      }
      return nil
    }
    // Knuth, Morris, Pratt: `borders[i]` is the longest proper border of the first i bytes.
    var borders = [0, 0]
    var border = 0
    for index in 1..<part.count {
      while border > 0, part[index] != part[border] { border = borders[border] }
      if part[index] == part[border] { border += 1 }
      borders.append(border)
    }
    var matched = 0
    for index in start..<text.count {
      while matched > 0, text[index] != part[matched] { matched = borders[matched] }
      if text[index] == part[matched] { matched += 1 }
      if matched == part.count { return index + 1 - matched }
    }
    return nil
  }
}

/// Reads base64 (RFC 4648), also without padding. `PaddedBase64` writes it.
enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func decode(_ text: String) -> [UInt8]? {
    var digits = Array(text.utf8)[...]
    for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
    guard digits.count % 4 != 1 else { return nil }
    if digits.count < text.utf8.count, text.utf8.count % 4 != 0 { return nil }
    var result: [UInt8] = []
    var (bits, count): (UInt32, Int) = (0, 0)
    for digit in digits {
      let value: UInt8
      switch digit {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - 65
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - 71
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit + 4
      case UInt8(ascii: "+"): value = 62
      case UInt8(ascii: "/"): value = 63
      default: return nil
      }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        result.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return result
  }
}
