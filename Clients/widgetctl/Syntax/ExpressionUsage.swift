/// The advice for `eval` if the shell has split the expression, or if it begins with a minus sign.
enum ExpressionUsage {
  /// The advice about a message of the argument parser. Nil if it has another reason.
  static func advice(about message: String, _ arguments: [String]) -> String? {
    guard arguments.first == "eval" else { return nil }
    let words = arguments.prefix { $0 != "--" }.dropFirst()
    if message.hasPrefix("Unknown option") || message.hasPrefix("Missing expected argument") {
      return words.contains(where: isNegative)
        ? "put -- before an expression that begins with a minus sign: widgetctl eval -- '-1 + 2'"
        : nil
    }
    return message.lowercased().contains("unexpected argument")
      ? "put the whole expression in quotes: widgetctl eval '1 + 2'" : nil
  }

  /// Whether a word is an expression with a minus sign, such as `-5`, `-(1 + 2)` or `-data.n`.
  /// Options have neither digits first nor these signs.
  private static func isNegative(_ word: String) -> Bool {
    guard word.hasPrefix("-"), !word.hasPrefix("--"), let first = word.dropFirst().first else {
      return false
    }
    return first.isNumber || word.contains { ".(+*/ ".contains($0) }
  }
}
