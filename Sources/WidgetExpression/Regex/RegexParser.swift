/// The syntax tree of a pattern. Groups nest at most ``RegexParser/depthMax`` deep.
indirect enum RegexNode {
  case set(RegexSet)
  case sequence([RegexNode])
  case choice([RegexNode])
  case repeated(RegexNode, least: Int, most: Int?)
  case assertion(RegexAssertion)
}

/// A condition on a place between characters.
enum RegexAssertion: Sendable {
  case textStart, textEnd, lineStart, lineEnd, wordBoundary, noWordBoundary
}

/// Reads a pattern in RE2's syntax, of which all can be matched in linear time: no backreferences, no
/// look-around.
struct RegexParser {
  static let depthMax = 100
  static let countMax = 1_000

  private struct Flags {
    var ignoresCase = false
    var isMultiline = false
    var dotMatchesLineFeed = false
  }

  private let scalars: [Unicode.Scalar]
  private var index = 0
  private var flags = Flags()
  private var depth = 0

  static func parse(_ pattern: String) throws(ExpressionFailure) -> RegexNode {
    var parser = RegexParser(scalars: Array(pattern.unicodeScalars))
    let node = try parser.choice()
    if parser.peek != nil { throw parser.failure("a ')' has no '('") }
    return node
  }

  private init(scalars: [Unicode.Scalar]) { self.scalars = scalars }

  private var peek: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

  private func peek(_ ahead: Int) -> Unicode.Scalar? {
    index + ahead < scalars.count ? scalars[index + ahead] : nil
  }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard peek == scalar else { return false }
    index += 1
    return true
  }

  private mutating func skip(_ text: String) -> Bool {
    let wanted = text.unicodeScalars
    guard scalars[index...].starts(with: wanted) else { return false }
    index += wanted.count
    return true
  }

  func failure(_ message: String) -> ExpressionFailure {
    ExpressionFailure(.invalidArgument, "bad pattern at its character \(index + 1): \(message)")
  }

  // MARK: Structure

  private mutating func choice() throws(ExpressionFailure) -> RegexNode {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthMax else {
      throw failure("more than \(Self.depthMax) groups inside one another")
    }
    var options = [try sequence()]
    while skip("|" as Unicode.Scalar) { options.append(try sequence()) }
    return options.count == 1 ? options[0] : .choice(options)
  }

  private mutating func sequence() throws(ExpressionFailure) -> RegexNode {
    var parts: [RegexNode] = []
    while let scalar = peek, scalar != "|", scalar != ")" {
      if skip("\\Q") {
        while index < scalars.count, !skip("\\E") {
          parts.append(.set(RegexSet(scalars[index], ignoresCase: flags.ignoresCase)))
          index += 1
        }
        continue
      }
      guard let part = try atom() else { continue }
      parts.append(try repetition(of: part))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func repetition(of part: RegexNode) throws(ExpressionFailure) -> RegexNode {
    guard let (least, most) = try count() else { return part }
    // A lazy repetition matches the same texts.
    _ = skip("?" as Unicode.Scalar)
    let start = index
    if try count() != nil {
      index = start
      throw failure("a repetition cannot be repeated; use a group (?:…)")
    }
    return .repeated(part, least: least, most: most)
  }

  /// `*`, `+`, `?`, `{2}`, `{2,}`, `{2,5}`; anything else with a brace is literal.
  private mutating func count() throws(ExpressionFailure) -> (least: Int, most: Int?)? {
    if skip("*" as Unicode.Scalar) { return (0, nil) }
    if skip("+" as Unicode.Scalar) { return (1, nil) }
    if skip("?" as Unicode.Scalar) { return (0, 1) }
    let start = index
    guard skip("{" as Unicode.Scalar), let least = number() else {
      index = start
      return nil
    }
    var most: Int? = least
    if skip("," as Unicode.Scalar) { most = number() }
    guard skip("}" as Unicode.Scalar) else {
      index = start
      return nil
    }
    guard least <= Self.countMax, (most ?? 0) <= Self.countMax, most.map({ $0 >= least }) ?? true
    else {
      index = start
      throw failure("a repetition counts from low to high, at most \(Self.countMax)")
    }
    return (least, most)
  }

  private mutating func number() -> Int? {
    var value: Int?
    while let scalar = peek, scalar >= "0", scalar <= "9" {
      value = min((value ?? 0) * 10 + Int(scalar.value - 48), 1_000_000)
      index += 1
    }
    return value
  }

  // MARK: Atoms

  /// Nil for a change of flags.
  private mutating func atom() throws(ExpressionFailure) -> RegexNode? {
    guard let scalar = peek else { return nil }
    switch scalar {
    case "(": return try group()
    case "[": return .set(try characterClass())
    case ".":
      index += 1
      return .set(.any(withLineFeed: flags.dotMatchesLineFeed))
    case "^":
      index += 1
      return .assertion(flags.isMultiline ? .lineStart : .textStart)
    case "$":
      index += 1
      return .assertion(flags.isMultiline ? .lineEnd : .textEnd)
    case "*", "+", "?": throw failure("'\(scalar)' has nothing before it to repeat")
    case "\\": return try escape()
    default:
      index += 1
      return .set(RegexSet(scalar, ignoresCase: flags.ignoresCase))
    }
  }

  private mutating func group() throws(ExpressionFailure) -> RegexNode? {
    let start = index
    index += 1
    let outer = flags
    if skip("?" as Unicode.Scalar) {
      if skip("P<") || (peek == "<" && peek(1) != "=" && peek(1) != "!" && skip("<")) {
        var count = 0
        while let scalar = peek, scalar == "_" || scalar.properties.isAlphabetic || scalar.isDigit {
          index += 1
          count += 1
        }
        guard count > 0, skip(">" as Unicode.Scalar) else { throw failure("bad name of a group") }
      } else if peek == "=" || peek == "!" || peek == "<" {
        throw failure("look-around is not supported")
      } else {
        var isOff = false
        flags: while true {
          switch peek {
          case "i": flags.ignoresCase = !isOff
          case "m": flags.isMultiline = !isOff
          case "s": flags.dotMatchesLineFeed = !isOff
          case "U": break
          case "-" where !isOff: isOff = true
          case ")":
            index += 1
            return nil
          case ":":
            index += 1
            break flags
          default: throw failure("unknown flag of a group; there are i, m, s and U")
          }
          index += 1
        }
      }
    }
    let node = try choice()
    guard skip(")" as Unicode.Scalar) else {
      index = start
      throw failure("the '(' is not closed")
    }
    flags = outer
    // The node is a group, so that a following repetition applies to the whole node.
    return node
  }

  private mutating func escape() throws(ExpressionFailure) -> RegexNode {
    switch peek(1) {
    case "A":
      index += 2
      return .assertion(.textStart)
    case "z":
      index += 2
      return .assertion(.textEnd)
    case "b":
      index += 2
      return .assertion(.wordBoundary)
    case "B":
      index += 2
      return .assertion(.noWordBoundary)
    default:
      var set = RegexSet()
      set.ignoresCase = flags.ignoresCase
      if try classEscape(into: &set) { return .set(set) }
      return .set(RegexSet(try character(), ignoresCase: flags.ignoresCase))
    }
  }

  // MARK: Characters

  private static let digits: [ClosedRange<UInt32>] = [0x30...0x39]
  private static let spaces: [ClosedRange<UInt32>] = [9...10, 12...13, 32...32]
  private static let words: [ClosedRange<UInt32>] = [
    0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A,
  ]
  private static let named: [String: [ClosedRange<UInt32>]] = [
    "alnum": [0x30...0x39, 0x41...0x5A, 0x61...0x7A], "alpha": [0x41...0x5A, 0x61...0x7A],
    "ascii": [0...0x7F], "blank": [9...9, 32...32], "cntrl": [0...31, 127...127],
    "digit": digits, "graph": [33...126], "lower": [0x61...0x7A], "print": [32...126],
    "punct": [33...47, 58...64, 91...96, 123...126], "space": [9...13, 32...32],
    "upper": [0x41...0x5A], "word": words, "xdigit": [0x30...0x39, 0x41...0x46, 0x61...0x66],
  ]

  /// `\d`, `\pL`, `\p{Nd}` and their like. False, and nothing read, for other escapes.
  private mutating func classEscape(into set: inout RegexSet) throws(ExpressionFailure) -> Bool {
    guard peek == "\\" else { return false }
    switch peek(1) {
    case "d", "D": set.insert(Self.digits, isNegated: peek(1) == "D")
    case "s", "S": set.insert(Self.spaces, isNegated: peek(1) == "S")
    case "w", "W": set.insert(Self.words, isNegated: peek(1) == "W")
    case "p", "P":
      var isNegated = peek(1) == "P"
      index += 2
      var name = ""
      if skip("{" as Unicode.Scalar) {
        if skip("^" as Unicode.Scalar) { isNegated.toggle() }
        while let scalar = peek, scalar != "}", name.utf8.count < 32 {
          name.unicodeScalars.append(scalar)
          index += 1
        }
        guard skip("}" as Unicode.Scalar) else { throw failure("\\p{ is not closed") }
      } else if let scalar = peek {
        name = String(scalar)
        index += 1
      }
      guard set.insertCategory(name, isNegated: isNegated) else {
        throw failure(
          "unknown category '\(name)'; there are L, Lu, Nd, P and so on, but no scripts")
      }
      return true
    default: return false
    }
    index += 2
    return true
  }

  private mutating func characterClass() throws(ExpressionFailure) -> RegexSet {
    let start = index
    index += 1
    var set = RegexSet()
    set.ignoresCase = flags.ignoresCase
    set.isNegated = skip("^" as Unicode.Scalar)
    var isFirst = true
    while peek != "]" || isFirst {
      guard peek != nil else {
        index = start
        throw failure("the '[' is not closed")
      }
      isFirst = false
      if peek == "[", peek(1) == ":" {
        try namedClass(into: &set)
        continue
      }
      if try classEscape(into: &set) { continue }
      let low = try character()
      guard peek == "-", peek(1) != nil, peek(1) != "]" else {
        set.insert(low.value...low.value)
        continue
      }
      index += 1
      var ignored = RegexSet()
      if try classEscape(into: &ignored) { throw failure("a range ends with a character") }
      let high = try character()
      guard low <= high else { throw failure("a range goes from low to high") }
      set.insert(low.value...high.value)
    }
    index += 1
    return set
  }

  private mutating func namedClass(into set: inout RegexSet) throws(ExpressionFailure) {
    let start = index
    index += 2
    let isNegated = skip("^" as Unicode.Scalar)
    var name = ""
    while let scalar = peek, scalar != ":", name.utf8.count < 16 {
      name.unicodeScalars.append(scalar)
      index += 1
    }
    guard let ranges = Self.named[name], skip(":]") else {
      index = start
      throw failure("unknown class; there are [:alpha:], [:digit:], [:space:] and so on")
    }
    set.insert(ranges, isNegated: isNegated)
  }

  /// One character, possibly escaped.
  private mutating func character() throws(ExpressionFailure) -> Unicode.Scalar {
    guard let scalar = peek else { throw failure("it ends too early") }
    index += 1
    guard scalar == "\\" else { return scalar }
    guard let escaped = peek else { throw failure("it ends with a backslash") }
    index += 1
    switch escaped {
    case "a": return "\u{7}"
    case "f": return "\u{C}"
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "v": return "\u{B}"
    case "x": return try hexadecimal()
    case "0"..."7":
      var value = escaped.value - 48
      guard escaped == "0" || peek.map({ $0 >= "0" && $0 <= "7" }) == true else {
        throw failure("backreferences are not supported")
      }
      for _ in 0..<2 {
        guard let digit = peek, digit >= "0", digit <= "7" else { break }
        value = value * 8 + digit.value - 48
        index += 1
      }
      guard let result = Unicode.Scalar(value) else { throw failure("bad octal escape") }
      return result
    default:
      guard escaped.isASCII, !escaped.properties.isAlphabetic, !escaped.isDigit else {
        index -= 2
        throw failure("unknown escape '\\\(escaped)'")
      }
      return escaped
    }
  }

  private mutating func hexadecimal() throws(ExpressionFailure) -> Unicode.Scalar {
    var text = ""
    if skip("{" as Unicode.Scalar) {
      while let scalar = peek, scalar != "}", text.utf8.count < 8 {
        text.unicodeScalars.append(scalar)
        index += 1
      }
      guard skip("}" as Unicode.Scalar) else { throw failure("\\x{ is not closed") }
    } else {
      for _ in 0..<2 {
        if let scalar = peek {
          text.unicodeScalars.append(scalar)
          index += 1
        }
      }
      guard text.utf8.count == 2 else { throw failure("\\x needs two hex digits") }
    }
    guard text.utf8.allSatisfy({ hexDigit($0) != nil }), let value = UInt32(text, radix: 16),
      let scalar = Unicode.Scalar(value)
    else { throw failure("\\x needs the hex digits of a character") }
    return scalar
  }
}

extension Unicode.Scalar {
  fileprivate var isDigit: Bool { self >= "0" && self <= "9" }
}
