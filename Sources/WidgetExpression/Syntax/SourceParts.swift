/// The parts of an expression as text, for programs that show expressions to people.
///
/// A part keeps the spelling of its source. Each property is nil if the whole source does not have
/// that form, and all are nil if the source cannot be split into words.
public struct SourceParts: Sendable {
  private let bytes: [UInt8]
  private let words: [Word]

  private struct Word: Sendable {
    let token: Token
    let start: Int
    let end: Int
    /// How many brackets are open around the word. A bracket is outside of itself.
    let depth: Int
  }

  public init(_ source: String) {
    var lexer = Lexer(source)
    bytes = lexer.bytes
    var words: [Word] = []
    var depth = 0
    while true {
      guard let (token, start) = try? lexer.next() else {
        words = []
        break
      }
      if case .end = token { break }
      if SourceParts.closing.contains(token) { depth -= 1 }
      words.append(Word(token: token, start: start, end: lexer.offset, depth: depth))
      if SourceParts.opening.contains(token) { depth += 1 }
    }
    self.words = words
  }

  private static let opening: Set<Token> = [
    .symbol(.leftParen), .symbol(.leftBracket), .symbol(.leftBrace),
  ]
  private static let closing: Set<Token> = [
    .symbol(.rightParen), .symbol(.rightBracket), .symbol(.rightBrace),
  ]

  /// The text between the parentheses of `(…)`.
  public var parenthesized: String? {
    guard isEnclosed(in: words[...], by: .leftParen) else { return nil }
    return text(words.dropFirst().dropLast())
  }

  /// The elements of `[…]`.
  public var elements: [String]? {
    guard isEnclosed(in: words[...], by: .leftBracket) else { return nil }
    return list(words.dropFirst().dropLast())
  }

  /// The name and the arguments of `name(…)`. A name can have dots.
  public var call: (name: String, arguments: [String])? {
    guard let open = words.firstIndex(where: { $0.token == .symbol(.leftParen) }), open > 0,
      isEnclosed(in: words[open...], by: .leftParen)
    else { return nil }
    for (index, word) in words[..<open].enumerated() {
      switch word.token {
      case .identifier where index % 2 == 0: break
      case .symbol(.dot) where index % 2 == 1: break
      default: return nil
      }
    }
    guard open % 2 == 1 else { return nil }
    return (text(words[..<open]), list(words[open...].dropFirst().dropLast()))
  }

  /// The three parts of `condition ? yes : no`.
  public var conditional: (condition: String, yes: String, no: String)? {
    guard let question = words.firstIndex(where: { isOutside($0, .question) }) else { return nil }
    var nested = 0
    for index in words.indices.dropFirst(question + 1) {
      if isOutside(words[index], .question) { nested += 1 }
      guard isOutside(words[index], .colon) else { continue }
      if nested == 0 {
        return (
          text(words[..<question]), text(words[(question + 1)..<index]), text(words[(index + 1)...])
        )
      }
      nested -= 1
    }
    return nil
  }

  /// The operands of `a + b + …`.
  public var sum: [String] {
    guard !words.contains(where: { isOutside($0, .question) }) else { return [text(words[...])] }
    return split(words[...], at: .plus)
  }

  // MARK: -

  private func isOutside(_ word: Word, _ symbol: Token.Symbol) -> Bool {
    word.depth == 0 && word.token == .symbol(symbol)
  }

  /// Whether the first word opens a bracket that the last word closes.
  private func isEnclosed(in words: ArraySlice<Word>, by symbol: Token.Symbol) -> Bool {
    guard let first = words.first, first.token == .symbol(symbol), words.count > 1 else {
      return false
    }
    return words.dropFirst().firstIndex { $0.depth <= first.depth } == words.endIndex - 1
  }

  private func list(_ words: ArraySlice<Word>) -> [String] {
    words.isEmpty ? [] : split(words, at: .comma)
  }

  private func split(_ words: ArraySlice<Word>, at symbol: Token.Symbol) -> [String] {
    let depth = words.map(\.depth).min()
    return words.split { $0.token == .symbol(symbol) && $0.depth == depth }.map { text($0) }
  }

  private func text(_ words: ArraySlice<Word>) -> String {
    guard let first = words.first, let last = words.last else { return "" }
    return String(decoding: bytes[first.start..<last.end], as: UTF8.self)
  }
}
