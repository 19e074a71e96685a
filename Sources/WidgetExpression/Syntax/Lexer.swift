/// The problem that stops the parser, at an offset in bytes.
struct ParseFailure: Error {
  let reason: ExpressionError.Reason
  let message: String
  let offset: Int

  init(_ message: String, at offset: Int, reason: ExpressionError.Reason = .syntax) {
    self.reason = reason
    self.message = message
    self.offset = offset
  }
}

/// Splits a source into words, one at a time. Every call consumes bytes or fails, so the lexer
/// terminates.
struct Lexer {
  let bytes: [UInt8]
  private(set) var offset = 0

  init(_ source: String) { bytes = Array(source.utf8) }

  /// The next word and where it begins.
  mutating func next() throws(ParseFailure) -> (token: Token, start: Int) {
    skipBlanks()
    let start = offset
    guard let byte = peek() else { return (.end, start) }
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return (try number(), start)
    case UInt8(ascii: ".") where isDigit(peek(1)): return (try number(), start)
    case UInt8(ascii: "\""), UInt8(ascii: "'"):
      return (try literal(isRaw: false, isBytes: false), start)
    case UInt8(ascii: "`"): return (try quoted(), start)
    case _ where isLetter(byte): return (try word(), start)
    default: return (.symbol(try symbol(byte)), start)
    }
  }

  private mutating func skipBlanks() {
    while let byte = peek() {
      switch byte {
      case 9, 10, 12, 13, 32: offset += 1
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"):
        while let byte = peek(), byte != 10 { offset += 1 }
      default: return
      }
    }
  }

  private mutating func word() throws(ParseFailure) -> Token {
    // r"", b"", rb"" and br"" in either case begin a literal.
    var ahead = 0
    var (isRaw, isBytes) = (false, false)
    while ahead < 2, let byte = peek(ahead) {
      if (byte | 32) == UInt8(ascii: "r"), !isRaw {
        isRaw = true
      } else if (byte | 32) == UInt8(ascii: "b"), !isBytes {
        isBytes = true
      } else {
        break
      }
      ahead += 1
    }
    if ahead > 0, let quote = peek(ahead), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
    {
      offset += ahead
      return try literal(isRaw: isRaw, isBytes: isBytes)
    }
    let start = offset
    while let byte = peek(), isLetter(byte) || isDigit(byte) { offset += 1 }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    switch text {
    case "true": return .true_
    case "false": return .false_
    case "null": return .null_
    case "in": return .in_
    default: return Self.reserved.contains(text) ? .reserved(text) : .identifier(text)
    }
  }

  static let reserved: Set<String> = [
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
    "package", "namespace", "return", "var", "void", "while",
  ]

  private mutating func quoted() throws(ParseFailure) -> Token {
    let start = offset
    offset += 1
    while let byte = peek(), byte != UInt8(ascii: "`") {
      guard
        isLetter(byte) || isDigit(byte)
          || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "/"), 32].contains(byte)
      else {
        throw ParseFailure(
          "a field name in backticks has a-z, A-Z, 0-9, blanks and _ . - / only; "
            + "write the others as ['name']", at: offset)
      }
      offset += 1
    }
    guard peek() != nil else { throw ParseFailure("the backtick is not closed; add `", at: start) }
    offset += 1
    guard offset - start > 2 else { throw ParseFailure("the field name is empty", at: start) }
    return .quoted(String(decoding: bytes[(start + 1)..<(offset - 1)], as: UTF8.self))
  }

  private mutating func symbol(_ byte: UInt8) throws(ParseFailure) -> Token.Symbol {
    let start = offset
    if let second = peek(1), "=<>+~".utf8.contains(second),
      let foreign = ForeignWords.symbols.first(where: {
        bytes[start...].starts(with: $0.key.utf8)
      })
    {
      throw ParseFailure("unknown operator '\(foreign.key)'; \(foreign.value)", at: start)
    }
    if let second = peek(1), let symbol = Token.Symbol(byte, second) {
      offset += 2
      return symbol
    }
    offset += 1
    if let symbol = Token.Symbol(byte) { return symbol }
    switch byte {
    case UInt8(ascii: "=") where bytes[..<start].allSatisfy({ $0 <= 32 }):
      // Files mark an expression with this sign.
      throw ParseFailure("leave out the = at the start", at: start)
    case UInt8(ascii: "="): throw ParseFailure("write == to compare", at: start)
    case UInt8(ascii: "&"): throw ParseFailure("write && for 'and'", at: start)
    case UInt8(ascii: "|"): throw ParseFailure("write || for 'or'", at: start)
    default:
      let character = String(decoding: bytes[start...].prefix(16), as: UTF8.self).prefix(1)
      throw ParseFailure(
        "'\(character)' does not belong in an expression\(advice(about: character, at: start))",
        at: start)
    }
  }

  /// The next step for a letter outside ASCII, or for a quote of a text program.
  private func advice(about character: Substring, at start: Int) -> String {
    guard let character = character.first else { return "" }
    if "“”„‟‘’‚«»".contains(character) { return "; write quotes as \" or '" }
    guard character.isLetter, !character.isASCII else { return "" }
    func isPart(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) }
    var first = start
    while first > 0, isPart(bytes[first - 1]) { first -= 1 }
    let word = String(decoding: bytes[first...].prefix(128), as: UTF8.self)
      .prefix { $0 == "_" || $0.isLetter || $0.isNumber }.prefix(64)
    guard first > 0, bytes[first - 1] == UInt8(ascii: ".") else {
      return "; put text in quotes: \"\(word)\""
    }
    var base = first - 1
    while base > 0, isPart(bytes[base - 1]) || bytes[base - 1] == UInt8(ascii: ".") { base -= 1 }
    guard !isDigit(bytes[base]) else { return "" }
    let before = String(decoding: bytes[base..<(first - 1)].suffix(64), as: UTF8.self)
    let isWhole =
      !before.isEmpty && before.utf8.count == first - 1 - base
      && (base == 0 || bytes[base - 1] < 128 && !")]}`".utf8.contains(bytes[base - 1]))
    return isWhole
      ? "; write \(before)[\"\(word)\"]" : "; write [\"\(word)\"] in place of .\(word)"
  }

  func peek(_ ahead: Int = 0) -> UInt8? {
    offset + ahead < bytes.count ? bytes[offset + ahead] : nil
  }

  mutating func skip(_ count: Int) { offset += count }
}

func isDigit(_ byte: UInt8?) -> Bool {
  guard let byte else { return false }
  return byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
}

func isLetter(_ byte: UInt8) -> Bool {
  byte == UInt8(ascii: "_") || (byte | 32 >= UInt8(ascii: "a") && byte | 32 <= UInt8(ascii: "z"))
}

func hexDigit(_ byte: UInt8?) -> UInt32? {
  guard let byte else { return nil }
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): return UInt32(byte - UInt8(ascii: "0"))
  case UInt8(ascii: "a")...UInt8(ascii: "f"): return UInt32(byte - UInt8(ascii: "a") + 10)
  case UInt8(ascii: "A")...UInt8(ascii: "F"): return UInt32(byte - UInt8(ascii: "A") + 10)
  default: return nil
  }
}
