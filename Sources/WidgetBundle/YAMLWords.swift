/// What the YAML library reports, in the words of who writes the file, with what to do.
enum YAMLWords {
  private static let quotes =
    "put the value in quotes: a text with a comma, a bracket, a brace or \": \" needs them, as in "
    + "'=data.n > 0 ? \"a\" : \"b\"'"

  /// - Parameters:
  ///   - problem: what the library says.
  ///   - character: the one at the place that it names; nil at the end of the line.
  static func translated(
    _ problem: String, at character: Character?
  ) -> (message: String, hint: String) {
    switch problem {
    case _ where problem.contains("another document"):
      return ("there is more than one document", "make it one file for each")
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
      return ("a key has no \":\" behind it", "write KEY: VALUE, or put the text above in quotes")
    case _ where problem.contains("expected key"),
      _ where problem.contains("'-' indicator"), _ where problem.contains("sequence entries"):
      return (
        "this does not fit with the lines above", "check the indentation, and quotes above it"
      )
    case _ where problem.contains("end of stream"):
      return ("quotes are opened and never closed", "close them")
    case _ where problem.contains("unknown escape"):
      return (
        "there is no such escape in double quotes",
        "write a backslash as \\\\, or use single quotes"
      )
    default:
      return (problem, "")
    }
  }
}
