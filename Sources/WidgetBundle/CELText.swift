import WidgetExpression
public import WidgetModel

/// Values and templates as source text of expressions.
public enum CELText {
  static func source(of template: Template) -> String {
    switch template {
    case .constant(let value): literal(value)
    case .expression(let expression): wrapped(expression.compiled.source)
    case .list(let elements): "[\(elements.map { source(of: $0) }.joined(separator: ", "))]"
    case .map(let entries):
      "{"
        + entries.map { "\(literal(.string($0.key))): \(source(of: $0.value))" }
        .joined(separator: ", ") + "}"
    }
  }

  /// An expression in parentheses, as a part of another one. A comment at its end must not hide the
  /// rest.
  public static func wrapped(_ source: String) -> String {
    source.contains("//") || source.contains("\n") ? "(\(source)\n)" : "(\(source))"
  }

  /// The value as a literal of an expression.
  public static func literal(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .bool(let flag): "\(flag)"
    case .int(.min): "(-9223372036854775807 - 1)"
    case .int(let number): "\(number)"
    case .double(let number):
      number.isNaN
        ? "(0.0 / 0.0)"
        : number.isInfinite ? (number < 0 ? "(-1.0 / 0.0)" : "(1.0 / 0.0)") : "\(number)"
    case .string(let text): quoted(text)
    case .bytes(let bytes):
      "b\"" + bytes.map { "\\x" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        + "\""
    case .list(let values): "[\(values.map(literal).joined(separator: ", "))]"
    case .map(let map):
      "{"
        + map.entries.map { "\(quoted($0.key)): \(literal($0.value))" }.joined(separator: ", ")
        + "}"
    case .timestamp(let time):
      "(timestamp(\(time.seconds)) + duration(\"\(time.nanoseconds)ns\"))"
    case .duration(let duration): "duration(\"\(DurationSyntax.seconds(duration))\")"
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{0}"..<" ", "\u{7F}":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
