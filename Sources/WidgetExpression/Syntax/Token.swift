/// The words of an expression.
enum Token: Hashable {
  case end
  case identifier(String)
  /// A field name in backticks.
  case quoted(String)
  /// A word that CEL keeps for host languages: only a field or method may have this name.
  case reserved(String)
  /// Without a sign: the parser knows whether a minus belongs to it.
  case int(UInt64)
  case uint(UInt64)
  case double(Double)
  case string(String)
  case bytes([UInt8])
  case true_, false_, null_, in_
  case symbol(Symbol)

  enum Symbol: String {
    case leftParen = "("
    case rightParen = ")"
    case leftBracket = "["
    case rightBracket = "]"
    case leftBrace = "{"
    case rightBrace = "}"
    case dot = "."
    case comma = ","
    case colon = ":"
    case question = "?"
    case plus = "+"
    case minus = "-"
    case star = "*"
    case slash = "/"
    case percent = "%"
    case not = "!"
    case less = "<"
    case lessEqual = "<="
    case greater = ">"
    case greaterEqual = ">="
    case equal = "=="
    case notEqual = "!="
    case and = "&&"
    case or = "||"
  }
}

extension Token.Symbol {
  /// A symbol of one byte.
  init?(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "("): self = .leftParen
    case UInt8(ascii: ")"): self = .rightParen
    case UInt8(ascii: "["): self = .leftBracket
    case UInt8(ascii: "]"): self = .rightBracket
    case UInt8(ascii: "{"): self = .leftBrace
    case UInt8(ascii: "}"): self = .rightBrace
    case UInt8(ascii: "."): self = .dot
    case UInt8(ascii: ","): self = .comma
    case UInt8(ascii: ":"): self = .colon
    case UInt8(ascii: "?"): self = .question
    case UInt8(ascii: "+"): self = .plus
    case UInt8(ascii: "-"): self = .minus
    case UInt8(ascii: "*"): self = .star
    case UInt8(ascii: "/"): self = .slash
    case UInt8(ascii: "%"): self = .percent
    case UInt8(ascii: "!"): self = .not
    case UInt8(ascii: "<"): self = .less
    case UInt8(ascii: ">"): self = .greater
    default: return nil
    }
  }

  /// A symbol of two bytes.
  init?(_ first: UInt8, _ second: UInt8) {
    switch (first, second) {
    case (UInt8(ascii: "<"), UInt8(ascii: "=")): self = .lessEqual
    case (UInt8(ascii: ">"), UInt8(ascii: "=")): self = .greaterEqual
    case (UInt8(ascii: "="), UInt8(ascii: "=")): self = .equal
    case (UInt8(ascii: "!"), UInt8(ascii: "=")): self = .notEqual
    case (UInt8(ascii: "&"), UInt8(ascii: "&")): self = .and
    case (UInt8(ascii: "|"), UInt8(ascii: "|")): self = .or
    default: return nil
    }
  }
}

extension Token {
  var isNumber: Bool {
    switch self {
    case .int, .uint, .double: true
    default: false
    }
  }

  /// The level of a binary operator.
  var level: Int? {
    switch self {
    case .symbol(.or): 1
    case .symbol(.and): 2
    case .in_: 3
    case .symbol(let symbol):
      switch symbol {
      case .equal, .notEqual, .less, .lessEqual, .greater, .greaterEqual: 3
      case .plus, .minus: 4
      case .star, .slash, .percent: 5
      default: nil
      }
    default: nil
    }
  }

  var comparison: Comparison? {
    switch self {
    case .in_: .isIn
    case .symbol(.equal): .equal
    case .symbol(.notEqual): .notEqual
    case .symbol(.less): .less
    case .symbol(.lessEqual): .lessEqual
    case .symbol(.greater): .greater
    case .symbol(.greaterEqual): .greaterEqual
    default: nil
    }
  }

  var arithmetic: Arithmetic? {
    switch self {
    case .symbol(.plus): .add
    case .symbol(.minus): .subtract
    case .symbol(.star): .multiply
    case .symbol(.slash): .divide
    case .symbol(.percent): .remainder
    default: nil
    }
  }

  /// The name of the token in messages.
  var description: String {
    switch self {
    case .end: "the end"
    case .identifier(let name), .reserved(let name): "'\(name)'"
    case .quoted(let name): "'`\(name)`'"
    case .int(let value): "'\(value)'"
    case .uint(let value): "'\(value)u'"
    case .double(let value): "'\(value)'"
    case .string: "a text"
    case .bytes: "bytes"
    case .true_: "'true'"
    case .false_: "'false'"
    case .null_: "'null'"
    case .in_: "'in'"
    case .symbol(let symbol): "'\(symbol.rawValue)'"
    }
  }
}
