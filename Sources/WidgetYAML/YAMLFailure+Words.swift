extension YAMLFailure {
  private static let quotes =
    "put the value in quotes: a text with a comma, a bracket, a brace or \": \" needs them, as in "
    + "'=data.n > 0 ? \"a\" : \"b\"'"

  /// The message and a hint for the author of the file. The hint may be empty. Neither contains the
  /// place.
  public func words(in text: String) -> (message: String, hint: String) {
    switch reason {
    case .syntax(let problem):
      let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      let line = lines.indices.contains(place.line - 1) ? lines[place.line - 1] : ""
      let scalar = line.unicodeScalars.dropFirst(place.column - 1).first
      return YAMLFailure.words(for: problem, at: scalar.map { Character($0) })
    case .character(let problem, let byte):
      return (
        "\(problem) (at byte \(byte))",
        "write control characters in text as escapes, such as \"\\u001b\""
      )
    case .duplicateKeys(let names):
      let shown = names.map { "\"\($0.prefix(64))\"" }.joined(separator: ", ")
      return ("keys are there twice: \(shown)", "remove the duplicates")
    case .alias:
      return (
        "anchors and aliases (&name, *name) are not allowed here",
        "repeat the value instead"
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
    case .severalDocuments:
      return ("there is more than one document", "put each document into a file")
    case .value(let message):
      return (message, "")
    case .memory:
      return ("there is not enough memory to read it", "")
    }
  }

  /// - Parameters:
  ///   - problem: libyaml's message.
  ///   - character: The character at the place. Nil at the end of the line.
  private static func words(
    for problem: String, at character: Character?
  ) -> (message: String, hint: String) {
    switch problem {
    case _ where character == "\t" || problem.contains("tab character"):
      return ("a tab cannot indent YAML", "indent with spaces")
    case _ where problem.contains("cannot start any token"):
      let shown = character.map { "\"\($0)\"" } ?? "this character"
      return ("a text cannot begin with \(shown)", "put it in quotes")
    case _ where problem.contains("mapping values are not allowed"):
      return ("a value has \": \" in it", quotes)
    case _ where problem.contains("expected ',' or"):
      return ("a comma or the closing bracket is missing before this", quotes)
    case _ where problem.contains("expected ':'"):
      return ("a key has no \":\" after it", "write KEY: VALUE, or put the text above in quotes")
    case _ where problem.contains("expected key"),
      _ where problem.contains("'-' indicator"), _ where problem.contains("sequence entries"):
      return (
        "this does not fit the lines above", "check the indentation, and the quotes above"
      )
    case _ where problem.contains("end of stream"):
      return ("the closing quote is missing", "add it")
    case _ where problem.contains("unknown escape"):
      return (
        "double quotes have no such escape",
        "write a backslash as \\\\, or use single quotes"
      )
    default:
      return (problem, "")
    }
  }
}
