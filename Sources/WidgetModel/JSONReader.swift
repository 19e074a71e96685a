/// Reads one JSON text (RFC 8259) into a `Value`.
///
/// Foundation's reader loses the difference between `1` (an int) and `1.0` (a double), which is
/// part of a widget's data. Here, a number with neither fraction nor exponent is an int. Nesting is
/// bounded, so hostile text cannot overflow the stack.
package struct JSONReader {
  /// The reason why text is not JSON. `offset` counts bytes from 0, after a byte order mark.
  package struct Failure: Error, Hashable, CustomStringConvertible {
    package let offset: Int
    package let line: Int
    package let column: Int
    package let reason: String
    package let site: Site
    /// Whether a number is larger than a double can be.
    package var isNumberTooLarge = false

    /// The part of the text that belongs at `offset`.
    package enum Site: Hashable {
      case value, key, colon
      /// The rest of a text in quotes, which has no quote at its end.
      case quote
      /// A comma or the closing bracket.
      case comma
      /// The end of the text.
      case end
      /// Another part of a value.
      case rest
    }

    package var description: String { "\(line):\(column): \(reason)" }
  }

  /// The author of the text.
  package enum Origin {
    /// A person, who needs to know about mistakes: a key that appears twice and an int outside 64
    /// bits are errors.
    case person
    /// A program. If a key appears twice, the last one counts. An int outside 64 bits is a double.
    case program
  }

  package static let depthMax = 64

  private let bytes: [UInt8]
  private let origin: Origin
  private var offset = 0
  /// Nil unless the members of the outermost object are read one by one.
  private var members: [Member]?
  /// The first mistake in a number of the present member.
  private var mistake: Member.Mistake?

  /// Reads the whole text. Linear in its length.
  package static func value(
    of text: some StringProtocol, from origin: Origin = .person
  ) throws(Failure) -> Value {
    try value(of: Array(text.utf8), from: origin)
  }

  /// Reads the whole text. Linear in its length.
  package static func value(of bytes: [UInt8], from origin: Origin) throws(Failure) -> Value {
    var reader = JSONReader(bytes, origin)
    return try reader.readAll()
  }

  @discardableResult
  private mutating func readAll() throws(Failure) -> Value {
    skipSpace()
    let value = try value(depth: 0)
    skipSpace()
    guard offset == bytes.count else { throw failure("there is more text after the value", .end) }
    return value
  }

  /// An entry of the outermost object.
  package struct Member {
    package let key: String
    /// A number that no int and no double can hold is null.
    package let value: Value
    /// The bytes of the value, from 0, after a byte order mark.
    package let range: Range<Int>
    /// Nil if all numbers of the value can be held.
    package let mistake: Mistake?

    package struct Mistake {
      package let offset: Int
      package let reason: String
    }
  }

  /// The entries of an object, in their order. Nil if the text is another value. Linear in the
  /// length of the text. A number that cannot be held is a mistake of its member only.
  package static func members(of text: some StringProtocol) throws(Failure) -> [Member]? {
    var reader = JSONReader(Array(text.utf8), .person)
    reader.skipSpace()
    let isObject = reader.next == UInt8(ascii: "{")
    if isObject { reader.members = [] }
    try reader.readAll()
    return reader.members
  }

  /// Reads values that follow each other, as in JSON lines; none if there is only blank space.
  package static func values(of text: some StringProtocol) throws(Failure) -> [Value] {
    var reader = JSONReader(Array(text.utf8), .person)
    var values: [Value] = []
    reader.skipSpace()
    while reader.next != nil {
      values.append(try reader.value(depth: 0))
      reader.skipSpace()
    }
    return values
  }

  /// Skips a byte order mark at the start, because some editors write one.
  private init(_ bytes: [UInt8], _ origin: Origin) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    self.bytes = bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
    self.origin = origin
  }

  private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  /// - Parameter start: the place; nil for the present one.
  private func failure(
    _ reason: String, _ site: Failure.Site = .rest, at start: Int? = nil
  ) -> Failure {
    let offset = start ?? self.offset
    let before = bytes[..<min(offset, bytes.count)]
    let newline = UInt8(ascii: "\n")
    let line = before.reduce(1) { $1 == newline ? $0 + 1 : $0 }
    let start = before.lastIndex(of: newline).map { $0 + 1 } ?? 0
    return Failure(
      offset: offset, line: line, column: before.count - start + 1, reason: reason, site: site)
  }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
      offset += 1
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    offset += 1
    return true
  }

  private mutating func value(depth: Int) throws(Failure) -> Value {
    guard depth <= JSONReader.depthMax else {
      throw failure("nests deeper than \(JSONReader.depthMax) levels")
    }
    switch next {
    case nil: throw failure("a value is missing", .value)
    case UInt8(ascii: "{"): return .map(try object(depth: depth))
    case UInt8(ascii: "["): return .list(try array(depth: depth))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: return try number()
    }
  }

  private mutating func literal(_ text: StaticString, _ value: Value) throws(Failure) -> Value {
    let word = text.withUTF8Buffer { Array($0) }
    guard bytes[offset...].starts(with: word) else { throw failure("this is not a value", .value) }
    offset += word.count
    return value
  }

  private mutating func array(depth: Int) throws(Failure) -> [Value] {
    offset += 1
    skipSpace()
    var values: [Value] = []
    if take(UInt8(ascii: "]")) { return values }
    while true {
      skipSpace()
      values.append(try value(depth: depth + 1))
      skipSpace()
      if take(UInt8(ascii: "]")) { return values }
      guard take(UInt8(ascii: ",")) else { throw failure("expected , or ] in a list", .comma) }
    }
  }

  private mutating func object(depth: Int) throws(Failure) -> ValueMap {
    offset += 1
    skipSpace()
    var entries: [ValueMap.Entry] = []
    var seen: Set<[UInt8]> = []
    if take(UInt8(ascii: "}")) { return [:] }
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw failure("expected a key in quotes", .key) }
      let keyStart = offset
      let key = try string()
      guard origin == .program || seen.insert(Array(key.utf8)).inserted else {
        let shown = JSONWriter.quoted(JSONReader.shown(key))
        throw failure("the key \(shown) appears twice", at: keyStart)
      }
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw failure("expected : after a key", .colon) }
      skipSpace()
      let valueStart = offset
      let value = try value(depth: depth + 1)
      entries.append(.init(key: key, value: value))
      if depth == 0, members != nil {
        members?.append(
          Member(key: key, value: value, range: valueStart..<offset, mistake: mistake))
        mistake = nil
      }
      skipSpace()
      if take(UInt8(ascii: "}")) { return ValueMap(entries) }
      guard take(UInt8(ascii: ",")) else { throw failure("expected , or } in an object", .comma) }
    }
  }

  private mutating func digits() -> Int {
    let start = offset
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
    return offset - start
  }

  private mutating func number() throws(Failure) -> Value {
    let start = offset
    _ = take(UInt8(ascii: "-"))
    let leadsWithZero = next == UInt8(ascii: "0")
    let whole = digits()
    guard whole > 0 else { throw failure("this is not a value", .value) }
    guard whole == 1 || !leadsWithZero else { throw failure("a number cannot start with 0") }
    var isWhole = true
    if take(UInt8(ascii: ".")) {
      isWhole = false
      guard digits() > 0 else { throw failure("digits are missing after the point") }
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      isWhole = false
      if !take(UInt8(ascii: "-")) { _ = take(UInt8(ascii: "+")) }
      guard digits() > 0 else { throw failure("digits are missing in the exponent") }
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if isWhole {
      if let int = Int64(text) { return .int(int) }
      guard origin == .program else {
        return try refuse(
          "\(JSONReader.shown(text)) is outside 64 bits; \(JSONReader.outsideAdvice)", at: start)
      }
    }
    guard let double = Double(text), double.isFinite else {
      return try refuse(
        "\(JSONReader.shown(text)) is larger than a double can be", at: start, isTooLarge: true)
    }
    return .double(double)
  }

  /// Refuses a number. If members are read one by one, notes the mistake and returns null.
  private mutating func refuse(
    _ reason: String, at start: Int, isTooLarge: Bool = false
  ) throws(Failure) -> Value {
    guard members != nil else {
      var failure = failure(reason, at: start)
      failure.isNumberTooLarge = isTooLarge
      throw failure
    }
    mistake = mistake ?? Member.Mistake(offset: start, reason: reason)
    return .null
  }

  /// The end of the reason for a whole number outside 64 bits.
  package static let outsideAdvice = "write it with a fraction, or in quotes"

  /// A part of the text, for messages.
  package static func shown(_ text: String) -> String {
    text.utf8.count > 64 ? "\(text.prefix(64))…" : text
  }

  private mutating func string() throws(Failure) -> String {
    offset += 1
    var text: [UInt8] = []
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        guard let string = String(validating: text, as: UTF8.self) else {
          throw failure("the text is not well-formed UTF-8")
        }
        return string
      case UInt8(ascii: "\\"):
        offset += 1
        try escape(into: &text)
      case 0..<0x20:
        throw failure("control characters must be escaped in text", .quote)
      default:
        text.append(byte)
        offset += 1
      }
    }
    throw failure("the closing quote is missing", .quote)
  }

  private mutating func escape(into text: inout [UInt8]) throws(Failure) {
    guard let byte = next else { throw failure("the closing quote is missing", .quote) }
    offset += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      let high = try hexadecimal()
      var code = UInt32(high)
      if (0xD800..<0xDC00).contains(high) {
        guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
          throw failure("half of a surrogate pair is missing")
        }
        let low = try hexadecimal()
        guard (0xDC00..<0xE000).contains(low) else {
          throw failure("half of a surrogate pair is missing")
        }
        code = 0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(low) - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else {
        throw failure("half of a surrogate pair is missing")
      }
      text.append(contentsOf: String(Character(scalar)).utf8)
    default:
      offset -= 1
      throw failure("there is no such escape")
    }
  }

  private mutating func hexadecimal() throws(Failure) -> UInt16 {
    // `UInt16` also takes a sign.
    guard offset + 4 <= bytes.count, bytes[offset] != UInt8(ascii: "+"),
      bytes[offset] != UInt8(ascii: "-"),
      let code = UInt16(String(decoding: bytes[offset..<offset + 4], as: UTF8.self), radix: 16)
    else { throw failure("\\u needs four hexadecimal digits") }
    offset += 4
    return code
  }
}
