/// Operators and words of other languages, for hints. None of them is part of CEL.
enum ForeignWords {
  /// Operators that the lexer refuses, with the meant ones. None is the beginning of another.
  static let symbols = [
    "===": "==", "!==": "!=", "<>": "!=", "=>": ">=", "=<": "<=", "++": "+",
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
    "toString": "string", "str": "string", "float": "double", "toLowerCase": "lowerAscii",
    "toUpperCase": "upperAscii",
  ]

  /// `write && for 'and'`. Nil if the word stands for no operator.
  static func advice(aboutOperator word: String) -> String? {
    operators[word.lowercased()].map { "write \($0) for '\(word)'" }
  }

  /// The advice about a word in the place of a value. Nil for other names.
  static func advice(aboutValue word: String) -> String? {
    advice(aboutOperator: word) ?? values[word.lowercased()].map { "did you mean '\($0)'?" }
  }

  /// `; write size(x)` for a field such as `length`. Empty for other names.
  static func advice(aboutField name: String) -> String {
    functions[name] == "size" ? "; write size(x)" : ""
  }
}
