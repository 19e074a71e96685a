/// Reads an expression: CEL's grammar by precedence climbing, with the macros recognised on the way.
///
/// Nesting is counted, and sequences of operators are loops. So no input uses more stack than the
/// depth limit allows. The first mistake ends the parser.
struct Parser {
  private var lexer: Lexer
  private(set) var token: Token = .end
  private(set) var tokenStart = 0
  private let limits: ExpressionLimits
  private var depth = 0
  private(set) var tree = SyntaxTree()

  /// The tree of a source.
  static func parse(
    _ source: String, limits: ExpressionLimits
  ) throws(ParseFailure) -> SyntaxTree {
    guard source.utf8.count <= limits.sourceBytesMax else {
      throw ParseFailure(
        "the expression has \(source.utf8.count) bytes, more than \(limits.sourceBytesMax)", at: 0,
        reason: .tooComplex)
    }
    var parser = Parser(lexer: Lexer(source), limits: limits)
    try parser.advance()
    if parser.token == .end {
      throw ParseFailure("the expression is empty", at: parser.tokenStart)
    }
    let root = try parser.expression()
    guard parser.token == .end else {
      throw ParseFailure(
        "\(parser.token.description) is not expected here; the expression is complete before it",
        at: parser.tokenStart)
    }
    parser.tree.root = root
    return parser.tree
  }

  private init(lexer: Lexer, limits: ExpressionLimits) {
    self.lexer = lexer
    self.limits = limits
  }

  // MARK: Levels

  /// A whole expression: conditionals in a row.
  mutating func expression() throws(ParseFailure) -> Int {
    depth += 1
    defer { depth -= 1 }
    try checkDepth(depth, at: tokenStart)
    let start = tokenStart
    var branches: [(condition: Int, value: Int)] = []
    var last = try binary(1)
    while token == .symbol(.question) {
      try advance()
      let value = try binary(1)
      if token == .symbol(.question) {
        throw ParseFailure(
          "put the conditional between ? and : in parentheses", at: tokenStart)
      }
      try expect(.colon, "between the two results of ? :")
      branches.append((last, value))
      last = try binary(1)
    }
    if branches.isEmpty { return last }
    return try add(
      .conditional(branches, otherwise: last), at: start,
      over: branches.flatMap { [$0.condition, $0.value] } + [last])
  }

  /// Binary operators of this level and above: 1 `||`, 2 `&&`, 3 relations, 4 `+ -`, 5 `* / %`.
  private mutating func binary(_ lowest: Int) throws(ParseFailure) -> Int {
    var left = try unary()
    try refuseForeignWord(beside: left)
    while let level = token.level, level >= lowest {
      let start = tokenStart
      switch level {
      case 1, 2:
        let symbol = token
        var operands = [left]
        while token == symbol {
          try advance()
          operands.append(try binary(level + 1))
        }
        left = try add(level == 1 ? .or(operands) : .and(operands), at: start, over: operands)
      case 3:
        guard let comparison = token.comparison else { return left }
        try advance()
        let right = try binary(level + 1)
        left = try add(.comparison(comparison, left, right), at: start, over: [left, right])
      default:
        var links: [SyntaxTree.Link] = []
        while token.level == level, let operation = token.arithmetic {
          let offset = tokenStart
          try advance()
          links.append(.init(operation: operation, operand: try binary(level + 1), offset: offset))
        }
        left = try add(.arithmetic(left, links), at: start, over: [left] + links.map(\.operand))
      }
    }
    return left
  }

  /// Refuses words of other languages beside an operand: `a and b`, `not a`.
  private func refuseForeignWord(beside operand: Int) throws(ParseFailure) {
    switch token {
    case .end, .in_, .symbol: return
    case .identifier(let word):
      if let advice = ForeignWords.advice(aboutOperator: word, before: following(2)) {
        throw ParseFailure(advice, at: tokenStart)
      }
    default: break
    }
    if case .identifier(let word, isAbsolute: false) = tree[operand], word.lowercased() == "not",
      let advice = ForeignWords.advice(aboutOperator: word)
    {
      throw ParseFailure(advice, at: tree.offsets[operand])
    }
  }

  /// At most this many tokens after the present one. None after a mistake.
  private func following(_ count: Int) -> [Token] {
    var ahead = lexer
    var tokens: [Token] = []
    while tokens.count < count, let next = try? ahead.next() { tokens.append(next.token) }
    return tokens
  }

  private mutating func unary() throws(ParseFailure) -> Int {
    guard token == .symbol(.not) || token == .symbol(.minus) else { return try member() }
    var operators: [(symbol: Token, start: Int)] = []
    while token == .symbol(.not) || token == .symbol(.minus) {
      operators.append((token, tokenStart))
      try checkDepth(operators.count, at: tokenStart)
      try advance()
    }
    var operand: Int
    if let last = operators.last, last.symbol == .symbol(.minus), token.isNumber {
      // The minus belongs to the number, so that the smallest int can be written.
      operators.removeLast()
      operand = try member(negatedAt: last.start)
    } else {
      operand = try member()
    }
    for (symbol, start) in operators.reversed() {
      operand = try add(
        symbol == .symbol(.not) ? .not(operand) : .negate(operand), at: start, over: [operand])
    }
    return operand
  }

  /// A primary and its suffixes: fields, indexes, methods.
  private mutating func member(negatedAt minus: Int? = nil) throws(ParseFailure) -> Int {
    var operand = try primary(negatedAt: minus)
    while true {
      let start = tokenStart
      switch token {
      case .symbol(.dot):
        try advance()
        if token == .symbol(.question) { throw optionalsUnsupported }
        let nameStart = tokenStart
        let name: String
        let isQuoted: Bool
        switch token {
        case .identifier(let text), .reserved(let text): (name, isQuoted) = (text, false)
        case .quoted(let text): (name, isQuoted) = (text, true)
        default:
          throw ParseFailure(
            "a field or method name is expected after '.', not \(token.description)",
            at: tokenStart)
        }
        try advance()
        if token == .symbol(.leftParen), !isQuoted {
          let arguments = try self.arguments()
          operand = try call(name, target: operand, arguments, at: nameStart)
        } else if token == .symbol(.leftBrace), !isQuoted, let path = dottedName(operand) {
          operand = try message(path + "." + name, at: start)
        } else {
          operand = try add(.select(operand, field: name), at: nameStart, over: [operand])
        }
      case .symbol(.leftBracket):
        try advance()
        if token == .symbol(.question) { throw optionalsUnsupported }
        let index = try expression()
        try expect(.rightBracket, "after the index")
        operand = try add(.index(operand, index), at: start, over: [operand, index])
      default: return operand
      }
    }
  }

  private mutating func primary(negatedAt minus: Int?) throws(ParseFailure) -> Int {
    let start = tokenStart
    switch token {
    case .symbol(.leftParen):
      try advance()
      let inner = try expression()
      try expect(.rightParen, "to close the parenthesis", opened: start)
      return inner
    case .symbol(.leftBracket): return try list()
    case .symbol(.leftBrace): return try map()
    case .symbol(.dot):
      try advance()
      guard case .identifier(let name) = token else {
        throw ParseFailure("a name is expected after '.'", at: tokenStart)
      }
      return try identifier(name, isAbsolute: true, at: start)
    case .identifier(let name): return try identifier(name, isAbsolute: false, at: start)
    case .reserved(let name):
      throw ParseFailure("'\(name)' is a reserved word; use another name", at: start)
    case .quoted:
      throw ParseFailure("a name in backticks can only follow a '.'", at: start)
    default:
      let literal = try literal(negatedAt: minus)
      try advance()
      return try add(.literal(literal), at: minus ?? start, over: [])
    }
  }

  private mutating func identifier(
    _ name: String, isAbsolute: Bool, at start: Int
  ) throws(ParseFailure) -> Int {
    try advance()
    if token == .symbol(.leftParen) {
      let arguments = try self.arguments()
      return try call(name, arguments, isAbsolute: isAbsolute, at: start)
    }
    if token == .symbol(.leftBrace) { return try message(name, at: start) }
    return try add(.identifier(name, isAbsolute: isAbsolute), at: start, over: [])
  }

  private func literal(negatedAt minus: Int?) throws(ParseFailure) -> ExpressionValue {
    switch token {
    case .true_: return .bool(true)
    case .false_: return .bool(false)
    case .null_: return .null
    case .string(let text): return .string(text)
    case .bytes(let bytes): return .bytes(bytes)
    case .double(let value): return .double(minus == nil ? value : -value)
    case .uint(let value):
      guard minus == nil else {
        throw ParseFailure("an unsigned number cannot be negative", at: minus ?? tokenStart)
      }
      return .uint(value)
    case .int(let magnitude):
      if minus != nil, magnitude == 1 << 63 { return .int(.min) }
      guard let value = Int64(exactly: magnitude) else {
        throw ParseFailure(
          "the number does not fit in an int; append u for an unsigned one", at: tokenStart)
      }
      return .int(minus == nil ? value : -value)
    case .end: throw ParseFailure("the expression ends too early", at: tokenStart)
    default:
      throw ParseFailure(
        "a value is expected here, not \(token.description)", at: tokenStart)
    }
  }

  // MARK: Lists, maps, arguments

  private mutating func list() throws(ParseFailure) -> Int {
    let start = tokenStart
    try advance()
    var elements: [Int] = []
    while token != .symbol(.rightBracket) {
      if token == .symbol(.question) { throw optionalsUnsupported }
      elements.append(try expression())
      if token == .symbol(.comma) { try advance() } else { break }
    }
    try expect(.rightBracket, "to close the list", opened: start)
    return try add(.list(elements), at: start, over: elements)
  }

  private mutating func map() throws(ParseFailure) -> Int {
    let start = tokenStart
    try advance()
    var entries: [(key: Int, value: Int)] = []
    while token != .symbol(.rightBrace) {
      if token == .symbol(.question) { throw optionalsUnsupported }
      let key = try expression()
      try expect(.colon, "between a key and its value")
      entries.append((key, try expression()))
      if token == .symbol(.comma) { try advance() } else { break }
    }
    try expect(.rightBrace, "to close the map", opened: start)
    return try add(.map(entries), at: start, over: entries.flatMap { [$0.key, $0.value] })
  }

  private mutating func arguments() throws(ParseFailure) -> [Int] {
    let start = tokenStart
    try advance()
    var arguments: [Int] = []
    while token != .symbol(.rightParen) {
      arguments.append(try expression())
      guard token == .symbol(.comma) else { break }
      try advance()
      if token == .symbol(.rightParen) {
        throw ParseFailure("an argument is expected after the comma", at: tokenStart)
      }
    }
    try expect(.rightParen, "to close the arguments", opened: start)
    return arguments
  }

  /// Skips the fields of a message. The checker of names refuses the message later.
  private mutating func message(_ name: String, at start: Int) throws(ParseFailure) -> Int {
    try advance()
    while token != .symbol(.rightBrace) {
      switch token {
      case .identifier, .quoted, .reserved: try advance()
      default: throw ParseFailure("a field name is expected", at: tokenStart)
      }
      try expect(.colon, "after the field's name")
      _ = try expression()
      if token == .symbol(.comma) { try advance() } else { break }
    }
    try expect(.rightBrace, "to close the message")
    return try add(.message(name), at: start, over: [])
  }

  // MARK: Tools

  mutating func add(
    _ kind: SyntaxTree.Kind, at offset: Int, over children: [Int]
  ) throws(ParseFailure) -> Int {
    guard tree.kinds.count < limits.nodesMax else {
      throw ParseFailure(
        "the expression has more than \(limits.nodesMax) parts; split it", at: offset,
        reason: .tooComplex)
    }
    let height = children.reduce(0) { max($0, Int(tree.heights[$1])) } + 1
    try checkDepth(height, at: offset)
    return tree.add(kind, at: offset, height: height)
  }

  private func checkDepth(_ depth: Int, at offset: Int) throws(ParseFailure) {
    guard depth > limits.depthBound else { return }
    throw ParseFailure(
      "the expression is nested more than \(limits.depthBound) levels deep; split it", at: offset,
      reason: .tooComplex)
  }

  private mutating func advance() throws(ParseFailure) { (token, tokenStart) = try lexer.next() }

  private mutating func expect(
    _ symbol: Token.Symbol, _ place: String, opened: Int? = nil
  ) throws(ParseFailure) {
    guard token == .symbol(symbol) else {
      let place = opened.map { "\(place) of column \(column($0)) of the expression" } ?? place
      throw ParseFailure(
        "'\(symbol.rawValue)' is expected \(place), not \(token.description)", at: tokenStart)
    }
    try advance()
  }

  /// For messages. O(n).
  private func column(_ offset: Int) -> Int {
    let line = lexer.bytes[..<offset].lastIndex(of: 10).map { $0 + 1 } ?? 0
    return String(decoding: lexer.bytes[line..<offset], as: UTF8.self).count + 1
  }

  /// `a.b.c` as text, if the node is nothing but names.
  func dottedName(_ node: Int) -> String? {
    var parts: [String] = []
    var node = node
    while case .select(let operand, let field) = tree[node] {
      parts.append(field)
      node = operand
    }
    guard case .identifier(let name, let isAbsolute) = tree[node] else { return nil }
    parts.append((isAbsolute ? "." : "") + name)
    return parts.reversed().joined(separator: ".")
  }

  private var optionalsUnsupported: ParseFailure {
    ParseFailure(
      "optional values (?) are not supported; use has() or a conditional", at: tokenStart,
      reason: .unsupported)
  }
}
