import WidgetModel

extension YAMLFailure {
  private static let quotes =
    "put the value in quotes: a text with a comma, a bracket, a brace or \": \" needs them, as in "
    + example
  private static let example = "'=data.n > 0 ? \"a\" : \"b\"'"

  /// The message, a hint, and the place, for the author of the file. The hint may be empty. Neither
  /// text contains the place. The place is where the author has to change the file, which can be
  /// left of the place where libyaml stopped.
  public func words(in text: String) -> (message: String, hint: String, place: YAMLPlace) {
    guard case .syntax(let problem) = reason else {
      // An object without an end takes the keys of the object around it.
      if case .duplicateKey(_, let first) = reason,
        let missing = MissingEnd(in: text, before: first)
      {
        return missing.words
      }
      let (message, hint) = words
      return (message, hint, place)
    }
    let syntax = SyntaxPlace(place, in: text)
    if let first = syntax.indicator, !YAMLFailure.isQuoteOpen(problem) {
      return (
        "a value that begins with \"\(first)\" needs quotes",
        YAMLFailure.putInQuotes(syntax.value), syntax.valuePlace
      )
    }
    if YAMLFailure.isBracketOpen(problem), let comment = HidingComment(upTo: place, in: text) {
      return (
        "\"#\" begins a comment here, which hides the closing bracket",
        YAMLFailure.putInQuotes(comment.text), comment.place
      )
    }
    if YAMLFailure.isBracketOpen(problem), let missing = MissingEnd(in: text, before: place) {
      return missing.words
    }
    if let end = syntax.character, end == "}" || end == "]",
      YAMLFailure.isOutsideBrackets(problem), let last = MissingEnd.lastEnd(in: text, before: place)
    {
      return (
        "there is one \"\(end)\" too many",
        "all brackets are closed at \(last.line):\(last.column)", place
      )
    }
    if problem.contains("mapping values are not allowed"),
      let stray = StrayKey(beforeColonAt: place, in: text)
    {
      return (stray.message, stray.hint, stray.place)
    }
    let (message, hint) = YAMLFailure.words(for: problem, syntax)
    return (message, hint, place)
  }

  private var words: (message: String, hint: String) {
    switch reason {
    case .syntax(let problem): return (problem, "")
    case .character(let problem, let byte):
      return (
        "\(problem) (at byte \(byte))",
        "write control characters in text as escapes, such as \"\\u001b\""
      )
    case .duplicateKey(let name, let first):
      return (
        "the key \"\(name.prefix(64))\" appears twice: it is in line \(first.line) too",
        name.contains(where: { ")]'\"".contains($0) })
          ? "a comma ended the value before it; put that value in quotes" : "remove one of the two"
      )
    case .tag(let tag, let text):
      return (
        "tags such as \(tag.prefix(64)) are not allowed here", YAMLFailure.hint(for: tag, of: text)
      )
    case .alias(let name):
      return (
        "anchors and aliases (&\(name.prefix(64)), *\(name.prefix(64))) are not allowed here",
        "repeat the value; put a text that begins with & or * in quotes"
      )
    case .unknownAlias(let name):
      return (
        "the alias *\(name.prefix(64)) names no anchor",
        "write &\(name.prefix(64)) before the value it repeats"
      )
    case .tooManyNodes(let max):
      return ("there are more than \(max) values", "make the file smaller, or use fewer aliases")
    case .tooDeep(let max):
      return ("this nests deeper than \(max) levels", "")
    case .hiddenValue(let text, let isOfKey):
      // A key can have no value, so the text may be a comment. An element of a list cannot.
      let mayBeComment = isOfKey && YAMLFailure.isWord(text)
      return (
        "\"#\" begins a comment here, so there is no value",
        YAMLFailure.putInQuotes(text)
          + (mayBeComment ? ", or put a blank after # if this is a comment" : "")
      )
    case .severalDocuments:
      return ("there is more than one document", "put each document into a file")
    case .value(let message):
      return (message, "")
    case .memory:
      return ("there is not enough memory to read it", "")
    }
  }

  // MARK: - Tags

  private static let typeTags: Set = [
    "!!binary", "!!bool", "!!float", "!!int", "!!map", "!!merge", "!!null", "!!omap", "!!pairs",
    "!!seq", "!!set", "!!str", "!!timestamp", "!!value", "!!yaml",
  ]

  /// An expression that begins with `!` is a tag too, so the advice must keep the `!`.
  private static func hint(for tag: String, of text: String?) -> String {
    guard let text, tag.hasPrefix("!"), !typeTags.contains(tag), !tag.contains("/") else {
      return "leave it out; put a text that looks like a number in quotes"
    }
    let separator = text.isEmpty || tag.allSatisfy { $0 == "!" } ? "" : " "
    return putInQuotes(tag + separator + text)
  }

  /// Whether a text such as `#none` begins with a word, and is no colour such as `#fff`.
  private static func isWord(_ text: String) -> Bool {
    let word = text.dropFirst().prefix { !$0.isWhitespace }
    let isColor = [3, 4, 6, 8].contains(word.count) && word.allSatisfy(\.isHexDigit)
    return word.first?.isLetter == true && !isColor
  }

  private static func putInQuotes(_ text: String) -> String {
    guard !text.isEmpty, text.count <= 160, !text.contains(where: \.isNewline) else {
      return "put all of it in quotes"
    }
    let shown =
      if !text.contains("'") {
        "'\(text)'"
      } else if !text.contains("\"") && !text.contains("\\") {
        "\"\(text)\""
      } else {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
          + "'"
      }
    return "put it in quotes: \(shown)"
  }

  // MARK: - Syntax

  /// Whether this message of libyaml means that a quoted text has no end.
  static func isQuoteOpen(_ problem: String) -> Bool {
    problem.contains("end of stream") || problem.contains("unexpected document indicator")
  }

  /// Whether this message of libyaml can mean that a list or an object in brackets has no end.
  private static func isBracketOpen(_ problem: String) -> Bool {
    problem.contains("expected ',' or") || problem.contains("node content")
  }

  /// Whether libyaml has this message only where no bracket is open.
  private static func isOutsideBrackets(_ problem: String) -> Bool {
    ["expected key", "'-' indicator", "<document start>"].contains { problem.contains($0) }
  }

  private static func words(
    for problem: String, _ place: SyntaxPlace
  ) -> (message: String, hint: String) {
    func says(_ words: String...) -> Bool { words.contains { problem.contains($0) } }
    if place.character == "\t" || says("tab character") {
      return ("a tab cannot indent YAML", "indent with spaces")
    }
    if isQuoteOpen(problem) {
      return place.isInsideQuotes
        ? ("a comma ended the value before this quote", quotes)
        : ("the closing quote is missing", "add it")
    }
    if place.isDirective { return directive(problem) }
    if says("cannot start any token") {
      let shown = place.character.map { "\"\($0)\"" } ?? "this character"
      return ("a text cannot begin with \(shown)", "put it in quotes")
    }
    if says("comment or line break", "indentation indicator") {
      return (
        "a block of text begins in the line after \"|\" or \">\"",
        "write the text there, indented, or " + putInQuotes(place.value)
      )
    }
    if says("mapping values are not allowed") { return ("a value has \": \" in it", quotes) }
    if says("expected ',' or") {
      return (
        "a comma or the closing bracket is missing before this",
        "if the value is one text, put it in quotes, as in \(example)"
      )
    }
    if says("expected ':'") {
      return ("a key has no \":\" after it", "write KEY: VALUE, or put the text above in quotes")
    }
    if says("expected key", "'-' indicator", "sequence entries", "mapping keys") {
      return ("this does not fit the lines above", "check the indentation, and the quotes above")
    }
    return otherWords(for: problem, place)
  }

  private static func otherWords(
    for problem: String, _ place: SyntaxPlace
  ) -> (message: String, hint: String) {
    func says(_ words: String...) -> Bool { words.contains { problem.contains($0) } }
    if says("node content") {
      guard let character = place.character else {
        return (
          "a bracket or brace is not closed", "close it, or put a text with brackets in quotes"
        )
      }
      return (
        "a value cannot begin with \"\(character)\"",
        "remove the \"\(character)\", or put the text in quotes"
      )
    }
    if says("<document start>") {
      return place.hasDirective
        ? directive(problem)
        : (
          "the document ends before this",
          "remove this text, or the \"...\" or closing bracket in front of it"
        )
    }
    if says("unknown escape") {
      return (
        "double quotes have no such escape", "write a backslash as \\\\, or use single quotes"
      )
    }
    if says("hexdecimal", "hexadecimal", "character escape code") {
      return (
        "this escape is not a character",
        "write \\x with 2, \\u with 4 or \\U with 8 hexadecimal digits, or use single quotes"
      )
    }
    return ("this cannot be read as YAML", "put texts with special characters in quotes")
  }

  /// Lines such as `%YAML 1.2`.
  private static func directive(_ problem: String) -> (message: String, hint: String) {
    (
      problem.contains("incompatible")
        ? "only versions 1.1 and 1.2 of YAML are known"
        : "a line that begins with % is a directive of YAML, and this one is not complete",
      "remove the line that begins with %"
    )
  }
}

/// The text at the place of a syntax error.
private struct SyntaxPlace {
  /// The character at the place. Nil at the end of the line.
  let character: Character?
  /// The value that the place is in, up to its end in the line.
  let value: String
  let valuePlace: YAMLPlace
  /// Whether the character is a quote after an odd number of quotes in its line. The author
  /// probably meant it as the end of a text inside a value.
  let isInsideQuotes: Bool
  /// Whether the line is a directive, and whether a line above is one.
  let isDirective: Bool
  let hasDirective: Bool

  init(_ place: YAMLPlace, in text: String) {
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    let line = lines.indices.contains(place.line - 1) ? lines[place.line - 1] : ""
    let scalars = Array(line.unicodeScalars)
    let index = min(max(0, place.column - 1), scalars.count)
    character = scalars.indices.contains(index) ? Character(scalars[index]) : nil
    if let quote = scalars.indices.contains(index) ? scalars[index] : nil,
      quote == "\"" || quote == "'"
    {
      isInsideQuotes = scalars[..<index].count { $0 == quote } % 2 == 1
    } else {
      isInsideQuotes = false
    }
    isDirective = scalars.first == "%"
    hasDirective = lines.prefix(max(0, place.line - 1)).contains { $0.hasPrefix("%") }
    let start = SyntaxPlace.start(around: index, in: scalars)
    value = SyntaxPlace.text(from: start.index, in: scalars, start.depth)
    valuePlace = YAMLPlace(line: place.line, column: start.index + 1)
  }

  /// The first character of the value, if it has a meaning in YAML that an expression does not have.
  var indicator: Character? {
    guard character != "\t", !isDirective, let first = value.first else { return nil }
    return "!&*".contains(first) ? first : nil
  }

  /// The value begins after the last `: `, `- `, or after a bracket or comma of a list or object.
  /// The depth counts the brackets and braces that are open before the value.
  private static func start(
    around place: Int, in line: [Unicode.Scalar]
  ) -> (index: Int, depth: Int) {
    var start = 0
    var depth = 0
    var index = 0
    func isBlank(at index: Int) -> Bool { !line.indices.contains(index) || line[index] == " " }
    while index < line.count, index < place || index == start {
      let scalar = line[index]
      let isFirst = index == start
      index += 1
      switch scalar {
      case " " where isFirst: start = index
      case "[", "{":
        guard isFirst else { continue }
        // A bracket at the place is the value.
        guard index <= place else { return (start, depth) }
        depth += 1
        start = index
      case "-" where isFirst && isBlank(at: index), "?" where isFirst && isBlank(at: index),
        ":" where isBlank(at: index):
        start = index
      case "," where depth > 0: start = index
      case "\"" where isFirst, "'" where isFirst:
        while index < line.count, line[index] != scalar { index += 1 }
        index += 1
      default: break
      }
    }
    return (start, depth)
  }

  private static func text(from start: Int, in line: [Unicode.Scalar], _ depth: Int) -> String {
    var end = start
    var open = 0
    while end < line.count {
      let scalar = line[end]
      if scalar == "#", end > start, line[end - 1] == " " { break }
      if "[{(".unicodeScalars.contains(scalar) { open += 1 }
      if "]})".unicodeScalars.contains(scalar) {
        open -= 1
        if open < 0, depth > 0 { break }
      }
      if scalar == ",", depth > 0, open == 0 { break }
      end += 1
    }
    var text = String(String.UnicodeScalarView(line[min(start, line.count)..<end]))
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}
