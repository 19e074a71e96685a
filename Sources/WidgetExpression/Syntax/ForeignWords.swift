/// Operators and words of other languages, for hints. None of them is part of CEL.
enum ForeignWords {
  /// Operators that the lexer refuses, with the advice. None is the beginning of another.
  static let symbols = [
    "===": "did you mean '=='?", "!==": "did you mean '!='?", "<>": "did you mean '!='?",
    "=>": "did you mean '>='?", "=<": "did you mean '<='?", "++": "did you mean '+'?",
    "=~": "write text.matches('PATTERN')", "~=": "write text.matches('PATTERN')",
    "!~": "write !text.matches('PATTERN')",
  ]

  /// Words for operators, in lower case.
  private static let operators = ["and": "&&", "or": "||", "not": "!", "is": "=="]

  /// Words for values, in lower case.
  private static let values = [
    "true": "true", "false": "false", "null": "null", "nul": "null", "nil": "null", "none": "null",
    "undefined": "null",
  ]

  /// Names of functions, methods and macros.
  static let functions = [
    "any": "exists", "some": "exists", "every": "all", "len": "size", "length": "size",
    "includes": "contains",
    "toString": "string", "str": "string", "float": "double", "toLowerCase": "lowerAscii",
    "toUpperCase": "upperAscii",
  ]

  /// Fields that people expect of a widget, with the existing ones.
  private static let fields = [
    "state": ["visible", "enabled"], "presence": ["visible", "enabled"], "hidden": ["visible"],
    "shown": ["visible"], "disabled": ["enabled"],
  ]

  /// `; did you mean 'visible' or 'enabled'?` for a field such as `state`. Nil for other fields,
  /// and if one of the meant fields does not exist.
  static func advice(aboutField name: String, among names: some Collection<String>) -> String? {
    guard let meant = fields[name], meant.allSatisfy({ names.contains($0) }) else { return nil }
    return "; did you mean \(meant.map { "'\($0)'" }.joined(separator: " or "))?"
  }

  /// `write && for 'and'`. Nil if the word stands for no operator.
  static func advice(aboutOperator word: String) -> String? {
    operators[word.lowercased()].map { "write \($0) for '\(word)'" }
  }

  /// The advice about a word behind an operand. Nil if the word stands for no operator there.
  ///
  /// - Parameter next: the tokens after the word.
  static func advice(aboutOperator word: String, before next: [Token]) -> String? {
    if word.lowercased() == "not" {
      return next.first == .in_ ? "write !(x in list) for 'x \(word) in list'" : nil
    }
    if word.lowercased() == "is", case .identifier(let other)? = next.first,
      other.lowercased() == "not"
    {
      let both = "\(word) \(other)"
      return next.count > 1 && next[1] == .in_
        ? "write !(x in list) for 'x \(both) in list'" : "write != for '\(both)'"
    }
    return advice(aboutOperator: word)
  }

  /// The advice about a word in the place of a value. Nil for other names.
  static func advice(aboutValue word: String) -> String? {
    advice(aboutOperator: word) ?? values[word.lowercased()].map { "did you mean '\($0)'?" }
  }

  /// `; write size(x)` for a field such as `length`. Empty for other names.
  ///
  /// - Parameters:
  ///   - hasSize: whether the value that lacks the field has a size.
  ///   - operand: this value, as written. Nil if it is long.
  static func advice(
    aboutField name: String, hasSize: Bool, of operand: @autoclosure () -> String?
  ) -> String {
    guard hasSize, functions[name] == "size" else { return "" }
    return "; write size(\(operand() ?? "x"))"
  }
}
