/// Numbers, text and bytes.
extension Lexer {
  mutating func number() throws(ParseFailure) -> Token {
    let start = offset
    if peek() == UInt8(ascii: "0"), peek(1) == UInt8(ascii: "x"), hexDigit(peek(2)) != nil {
      skip(2)
      return try integer(start: start, digits: offset, radix: 16)
    }
    while isDigit(peek()) { skip(1) }
    var isDouble = false
    if peek() == UInt8(ascii: "."), isDigit(peek(1)) {
      isDouble = true
      skip(1)
      while isDigit(peek()) { skip(1) }
    }
    if let byte = peek(), byte | 32 == UInt8(ascii: "e") {
      let signed = peek(1) == UInt8(ascii: "+") || peek(1) == UInt8(ascii: "-") ? 2 : 1
      if isDigit(peek(signed)) {
        isDouble = true
        skip(signed)
        while isDigit(peek()) { skip(1) }
      }
    }
    guard isDouble else {
      let end = offset
      skip(start - end)
      return try integer(start: start, digits: start, radix: 10)
    }
    try noLetterFollows(start)
    guard let value = Double(String(decoding: bytes[start..<offset], as: UTF8.self)),
      value.isFinite
    else { throw ParseFailure("the number is larger than a double can hold", at: start) }
    return .double(value)
  }

  private mutating func integer(
    start: Int, digits: Int, radix: UInt64
  ) throws(ParseFailure) -> Token {
    var value: UInt64 = 0
    var overflows = false
    while let digit = hexDigit(peek()), UInt64(digit) < radix {
      let (product, over) = value.multipliedReportingOverflow(by: radix)
      let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
      overflows = overflows || over || carry
      value = sum
      skip(1)
    }
    if overflows { throw ParseFailure("the number does not fit in 64 bits", at: start) }
    if let byte = peek(), byte | 32 == UInt8(ascii: "u") {
      skip(1)
      try noLetterFollows(start)
      return .uint(value)
    }
    try noLetterFollows(start)
    return .int(value)
  }

  private func noLetterFollows(_ start: Int) throws(ParseFailure) {
    if let byte = peek(), isLetter(byte) || isDigit(byte) {
      throw ParseFailure(
        "a number is followed by '\(Character(Unicode.Scalar(byte)))'; put an operator between",
        at: offset)
    }
  }

  /// Text or bytes; the offset is at the opening quote.
  mutating func literal(isRaw: Bool, isBytes: Bool) throws(ParseFailure) -> Token {
    let start = offset
    guard let quote = peek() else { throw ParseFailure("a quote is missing", at: start) }
    let isTriple = peek(1) == quote && peek(2) == quote
    skip(isTriple ? 3 : 1)
    var result: [UInt8] = []
    while true {
      guard let byte = peek() else {
        let mark = String(repeating: Character(Unicode.Scalar(quote)), count: isTriple ? 3 : 1)
        throw ParseFailure("the text that begins here is not closed; add \(mark)", at: start)
      }
      if byte == quote, !isTriple || (peek(1) == quote && peek(2) == quote) {
        skip(isTriple ? 3 : 1)
        break
      }
      if !isTriple, byte == 10 || byte == 13 {
        throw ParseFailure(
          "the text that begins here is not closed on its line; close it, write \\n, "
            + "or use three quotes for text of several lines", at: start)
      }
      if byte == UInt8(ascii: "\\"), !isRaw {
        try escape(isBytes: isBytes, into: &result)
      } else {
        result.append(byte)
        skip(1)
      }
    }
    return isBytes ? .bytes(result) : .string(String(decoding: result, as: UTF8.self))
  }

  private mutating func escape(isBytes: Bool, into result: inout [UInt8]) throws(ParseFailure) {
    let start = offset
    skip(1)
    guard let byte = peek() else { throw ParseFailure("the text is not closed", at: start) }
    skip(1)
    switch byte {
    case UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "\""), UInt8(ascii: "'"),
      UInt8(ascii: "`"):
      result.append(byte)
    case UInt8(ascii: "a"): result.append(7)
    case UInt8(ascii: "b"): result.append(8)
    case UInt8(ascii: "f"): result.append(12)
    case UInt8(ascii: "n"): result.append(10)
    case UInt8(ascii: "r"): result.append(13)
    case UInt8(ascii: "t"): result.append(9)
    case UInt8(ascii: "v"): result.append(11)
    case UInt8(ascii: "x"), UInt8(ascii: "X"):
      let value = try hex(2, start)
      if isBytes {
        result.append(UInt8(truncatingIfNeeded: value))
      } else {
        try append(value, start, &result)
      }
    case UInt8(ascii: "u") where !isBytes: try append(try hex(4, start), start, &result)
    case UInt8(ascii: "U") where !isBytes: try append(try hex(8, start), start, &result)
    case UInt8(ascii: "0")...UInt8(ascii: "3"):
      var value = UInt32(byte - UInt8(ascii: "0"))
      for _ in 0..<2 {
        guard let digit = hexDigit(peek()), digit < 8 else {
          throw ParseFailure("an octal escape has three digits, such as \\033", at: start)
        }
        value = value * 8 + digit
        skip(1)
      }
      if isBytes {
        result.append(UInt8(truncatingIfNeeded: value))
      } else {
        try append(value, start, &result)
      }
    case UInt8(ascii: "u"), UInt8(ascii: "U"):
      throw ParseFailure("bytes have no \\u escape; write \\x and two hex digits", at: start)
    default:
      throw ParseFailure(
        "unknown escape; write \\\\ for a backslash, or r'...' for text without escapes", at: start)
    }
  }

  private mutating func hex(_ count: Int, _ start: Int) throws(ParseFailure) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<count {
      guard let digit = hexDigit(peek()) else {
        throw ParseFailure("the escape needs \(count) hex digits", at: start)
      }
      value = value << 4 | digit
      skip(1)
    }
    return value
  }

  private func append(
    _ value: UInt32, _ start: Int, _ result: inout [UInt8]
  ) throws(ParseFailure) {
    guard let scalar = Unicode.Scalar(value) else {
      throw ParseFailure("the escape is not a Unicode character", at: start)
    }
    result.append(contentsOf: Array(String(scalar).utf8))
  }
}
