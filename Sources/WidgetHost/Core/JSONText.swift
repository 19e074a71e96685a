import WidgetModel

/// Text of JSON (RFC 8259) as values, and values as text of JSON.
///
/// Whole numbers that fit become ints, all others doubles. Of a key that appears twice the last counts.
/// Nesting is bounded, so that no input can exhaust the stack.
enum JSONText {
  static let depthMax = 64

  static func parse(_ bytes: [UInt8]) throws(Failure) -> Value {
    var parser = JSONParser(bytes)
    return try parser.document()
  }

  /// The value as JSON on one line. A time is an RFC 3339 text, a duration a number of seconds with
  /// `s`, bytes are base64, and a number that is none is null.
  static func write(_ value: Value) -> String {
    var text = ""
    write(value, to: &text)
    return text
  }

  private static func write(_ value: Value, to text: inout String) {
    switch value {
    case .null: text += "null"
    case .bool(let flag): text += flag ? "true" : "false"
    case .int(let number): text += String(number)
    case .double(let number): text += number.isFinite ? "\(number)" : "null"
    case .string(let string): quote(string, to: &text)
    case .bytes, .timestamp, .duration: quote(PlainText.of(value), to: &text)
    case .list(let elements):
      text += "["
      for (place, element) in elements.enumerated() {
        if place > 0 { text += "," }
        write(element, to: &text)
      }
      text += "]"
    case .map(let map):
      text += "{"
      for (place, entry) in map.entries.enumerated() {
        if place > 0 { text += "," }
        quote(entry.key, to: &text)
        text += ":"
        write(entry.value, to: &text)
      }
      text += "}"
    }
  }

  private static func quote(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}

private struct JSONParser {
  private let bytes: [UInt8]
  private var index = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
  }

  mutating func document() throws(Failure) -> Value {
    let value = try value(depth: 0)
    skipSpace()
    guard index == bytes.count else { throw wrong("something follows the document") }
    return value
  }

  private func wrong(_ what: String) -> Failure {
    let before = bytes.prefix(index)
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let column =
      index - (before.lastIndex(of: UInt8(ascii: "\n")).map { before.index(after: $0) } ?? 0) + 1
    return Failure("INVALID_ARGUMENT", "the JSON is not valid at \(line):\(column): \(what)")
  }

  private mutating func skipSpace() {
    while index < bytes.count, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[index]) { index += 1 }
  }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private mutating func word(_ word: StaticString, _ value: Value) throws(Failure) -> Value {
    for byte in "\(word)".utf8 {
      guard next == byte else { throw wrong("expected a value") }
      index += 1
    }
    return value
  }

  private mutating func value(depth: Int) throws(Failure) -> Value {
    guard depth < JSONText.depthMax else {
      throw wrong("more than \(JSONText.depthMax) lists and objects in one another")
    }
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try list(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case nil: throw wrong("the text ends too early")
    default: return try number()
    }
  }

  private mutating func object(depth: Int) throws(Failure) -> Value {
    index += 1
    var entries: [ValueMap.Entry] = []
    skipSpace()
    if take("}") { return .map(ValueMap(entries)) }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw wrong("expected a key in double quotes") }
      let key = try string()
      skipSpace()
      guard take(":") else { throw wrong("expected ':' behind the key") }
      entries.append(.init(key: key, value: try value(depth: depth + 1)))
      skipSpace()
    } while take(",")
    guard take("}") else { throw wrong("expected ',' or '}'") }
    return .map(ValueMap(entries))
  }

  private mutating func list(depth: Int) throws(Failure) -> Value {
    index += 1
    var elements: [Value] = []
    skipSpace()
    if take("]") { return .list(elements) }
    repeat {
      elements.append(try value(depth: depth + 1))
      skipSpace()
    } while take(",")
    guard take("]") else { throw wrong("expected ',' or ']'") }
    return .list(elements)
  }

  private mutating func number() throws(Failure) -> Value {
    let start = index
    var isWhole = true
    _ = take("-")
    let digitsStart = index
    while let byte = next {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): break
      case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+"),
        UInt8(ascii: "-"):
        isWhole = false
      default:
        return try number(start, digitsStart, isWhole)
      }
      index += 1
    }
    return try number(start, digitsStart, isWhole)
  }

  private mutating func number(
    _ start: Int, _ digitsStart: Int, _ isWhole: Bool
  ) throws(Failure) -> Value {
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    let digits = bytes[digitsStart..<index]
    let zero = UInt8(ascii: "0")
    let isDecimal = (zero...UInt8(ascii: "9")).contains(digits.first ?? 0)
    let hasLeadingZero =
      digits.first == zero
      && digits.dropFirst().first.map { (zero...UInt8(ascii: "9")).contains($0) } ?? false
    if isDecimal, !hasLeadingZero, digits.last != UInt8(ascii: ".") {
      if isWhole, let whole = Int64(text) { return .int(whole) }
      if let double = Double(text), double.isFinite { return .double(double) }
    }
    index = start
    throw wrong(text.isEmpty ? "expected a value" : "this is no number")
  }

  private mutating func string() throws(Failure) -> String {
    index += 1
    var text: [UInt8] = []
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else {
          throw wrong("the text before is no UTF-8")
        }
        return string
      case UInt8(ascii: "\\"):
        text += try escape().utf8
      case 0..<0x20:
        index -= 1
        throw wrong("a control character in a text has to be escaped")
      default:
        text.append(byte)
      }
    }
    throw wrong("a text has no end")
  }

  private mutating func escape() throws(Failure) -> String {
    guard let byte = next else { throw wrong("a text has no end") }
    index += 1
    switch byte {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      var code = try hexadecimal()
      if (0xD800..<0xDC00).contains(code), take("\\"), take("u") {
        let low = try hexadecimal()
        guard (0xDC00..<0xE000).contains(low) else { throw wrong("half a surrogate pair") }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw wrong("half a surrogate pair") }
      return String(scalar)
    default:
      index -= 1
      throw wrong("there is no such escape")
    }
  }

  private mutating func hexadecimal() throws(Failure) -> UInt32 {
    guard index + 4 <= bytes.count,
      let code = UInt32(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16)
    else { throw wrong("expected four hexadecimal digits") }
    index += 4
    return code
  }
}

/// Values as texts stand in for them: in a URL, a header, an argument.
enum PlainText {
  static func of(_ value: Value) -> String {
    switch value {
    case .null: ""
    case .bool(let flag): flag ? "true" : "false"
    case .int(let number): String(number)
    case .double(let number): "\(number)"
    case .string(let text): text
    case .bytes(let bytes): base64(bytes)
    case .timestamp(let time): rfc3339(time)
    case .duration(let duration): seconds(duration)
    case .list, .map: JSONText.write(value)
    }
  }

  private static func seconds(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let sign = seconds < 0 || attoseconds < 0 ? "-" : ""
    let fraction = fraction(attoseconds.magnitude / 1_000_000_000)
    return "\(sign)\(seconds.magnitude)\(fraction)s"
  }

  private static func fraction(_ nanoseconds: UInt64) -> String {
    guard nanoseconds > 0 else { return "" }
    var digits = String(nanoseconds)
    digits = "." + String(repeating: "0", count: max(0, 9 - digits.utf8.count)) + digits
    while digits.hasSuffix("0") { digits.removeLast() }
    return digits
  }

  static func rfc3339(_ time: Timestamp) -> String {
    var days = time.seconds / 86_400
    var rest = time.seconds % 86_400
    if rest < 0 { (days, rest) = (days - 1, rest + 86_400) }
    // Howard Hinnant's `civil_from_days`: years begin in March, so that leap days come last.
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
      + "T\(padded(rest / 3600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2))"
      + fraction(UInt64(time.nanoseconds)) + "Z"
  }

  private static func padded(_ number: Int64, _ count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
  }

  static func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      bits <<= 8 * UInt32(3 - group.count)
      for place in 0..<4 {
        let index = Int(bits >> UInt32(18 - 6 * place) & 63)
        text.append(place <= group.count ? alphabet[index] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
