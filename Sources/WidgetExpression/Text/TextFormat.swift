import WidgetModel

/// `"%s is %.1f".format([name, x])` of CEL's strings extension.
enum TextFormat {
  static let precisionMax = 100

  static func format(
    _ pattern: String, _ arguments: ExpressionList, _ meter: inout CostMeter
  ) throws(ExpressionFailure) -> String {
    let bytes = Array(pattern.utf8)
    try meter.charge(bytes.count)
    var result: [UInt8] = []
    var used = 0
    var index = 0
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "%") else {
        result.append(bytes[index])
        index += 1
        continue
      }
      index += 1
      if index < bytes.count, bytes[index] == UInt8(ascii: "%") {
        result.append(UInt8(ascii: "%"))
        index += 1
        continue
      }
      let precision = try precision(bytes, &index)
      guard index < bytes.count else { throw failure("the pattern ends after a %") }
      guard used < arguments.count else {
        throw failure("the pattern needs more than the \(arguments.count) values given")
      }
      let text = try clause(bytes[index], precision, arguments[used], &meter)
      try meter.charge(text.utf8.count)
      result += text.utf8
      used += 1
      index += 1
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func failure(_ message: String) -> ExpressionFailure {
    ExpressionFailure(.invalidArgument, "format(): \(message)")
  }

  private static func precision(
    _ bytes: [UInt8], _ index: inout Int
  ) throws(ExpressionFailure) -> Int? {
    guard index < bytes.count, bytes[index] == UInt8(ascii: ".") else { return nil }
    index += 1
    guard index < bytes.count, isDigit(bytes[index]) else {
      throw failure("'%.' needs digits, such as %.2f")
    }
    var value = 0
    while index < bytes.count, isDigit(bytes[index]) {
      value = min(value * 10 + Int(bytes[index] - 48), 1_000)
      index += 1
    }
    guard value <= precisionMax else { throw failure("at most \(precisionMax) digits") }
    return value
  }

  private static func clause(
    _ letter: UInt8, _ precision: Int?, _ value: ExpressionValue, _ meter: inout CostMeter
  ) throws(ExpressionFailure) -> String {
    switch (letter, value) {
    case (UInt8(ascii: "s"), _): return try text(value, &meter)
    case (UInt8(ascii: "d"), .int(let x)): return String(x)
    case (UInt8(ascii: "d"), .uint(let x)): return String(x)
    case (UInt8(ascii: "d"), .double(let x)):
      try meter.charge(400)
      return DecimalText.shortest(x, isPlain: true)
    case (UInt8(ascii: "f"), _):
      if let x = number(value) {
        try meter.charge(400)
        return DecimalText.fixed(x, precision ?? 6)
      }
    case (UInt8(ascii: "e"), _):
      if let x = number(value) {
        try meter.charge(400)
        return DecimalText.scientific(x, precision ?? 6)
      }
    case (UInt8(ascii: "b"), .bool(let x)): return x ? "1" : "0"
    case (UInt8(ascii: "b"), .int(let x)): return String(x, radix: 2)
    case (UInt8(ascii: "b"), .uint(let x)): return String(x, radix: 2)
    case (UInt8(ascii: "o"), .int(let x)): return String(x, radix: 8)
    case (UInt8(ascii: "o"), .uint(let x)): return String(x, radix: 8)
    case (UInt8(ascii: "x"), _), (UInt8(ascii: "X"), _):
      try meter.charge(value.readBytes)
      if let text = hexadecimal(value, isUpper: letter == UInt8(ascii: "X")) { return text }
    default:
      guard "dfeboxXs".utf8.contains(letter) else {
        throw failure(
          "'%\(Character(Unicode.Scalar(letter)))' is unknown; there are %s %d %f %e %b %o %x %X %%"
        )
      }
    }
    let clause = Character(Unicode.Scalar(letter))
    throw failure("%\(clause) does not take \(value.kind.shortName)")
  }

  private static func number(_ value: ExpressionValue) -> Double? {
    switch value {
    case .int(let x): Double(x)
    case .uint(let x): Double(x)
    case .double(let x): x
    default: nil
    }
  }

  private static func hexadecimal(_ value: ExpressionValue, isUpper: Bool) -> String? {
    switch value {
    case .int(let x): return String(x, radix: 16, uppercase: isUpper)
    case .uint(let x): return String(x, radix: 16, uppercase: isUpper)
    case .string(let text): return hexadecimal(.bytes(Array(text.utf8)), isUpper: isUpper)
    case .bytes(let bytes):
      let digits = Array((isUpper ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
      return String(
        decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    default: return nil
    }
  }

  /// Any value as text, the way `%s` shows it: lists and maps too, a map sorted by its keys' text.
  static func text(
    _ value: ExpressionValue, _ meter: inout CostMeter
  ) throws(ExpressionFailure) -> String {
    try meter.charge(1)
    switch value {
    case .null: return "null"
    case .bool(let x): return String(x)
    case .int(let x): return String(x)
    case .uint(let x): return String(x)
    case .double(let x):
      try meter.charge(400)
      return DecimalText.shortest(x, isPlain: true)
    case .string(let text): return text
    case .bytes(let bytes):
      try meter.charge(bytes.count)
      return String(decoding: bytes, as: UTF8.self)
    case .timestamp(let time): return Times.text(time)
    case .duration(let duration): return Times.text(duration)
    case .type(let kind): return kind.rawValue
    case .list(let list):
      var parts: [String] = []
      for element in list {
        let text = try text(element, &meter)
        try meter.charge(text.utf8.count)
        parts.append(text)
      }
      return "[\(parts.joined(separator: ", "))]"
    case .map(let map):
      try meter.charge(map.listingCost)
      var parts: [(key: String, text: String)] = []
      for (key, value) in map.entries {
        let name = try text(key, &meter)
        let shown = try text(value, &meter)
        try meter.charge(name.utf8.count + shown.utf8.count)
        parts.append((name, "\(name): \(shown)"))
      }
      parts.sort { $0.key.precedesByBytes($1.key) }
      return "{\(parts.map(\.text).joined(separator: ", "))}"
    }
  }
}
