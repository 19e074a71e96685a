/// The reason why an expression cannot be used: the mistakes in its syntax, names or types.
///
/// All problems found are reported, in the order of the source, at most ten.
public struct ExpressionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One problem at one place.
  public struct Problem: Hashable, Sendable {
    /// The kind of problem, for programs: stable names.
    public let reason: Reason
    /// The problem and the next step, for people: one line without a full stop.
    public let message: String
    /// The place, counted from 1.
    public let position: SourcePosition
    /// The place in bytes of UTF-8 from the start.
    public let offset: Int
  }

  /// Stable names of the problems of an expression.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    /// The text is not an expression.
    case syntax = "SYNTAX"
    /// It is longer, deeper or has more parts than the environment's limits allow.
    case tooComplex = "TOO_COMPLEX"
    /// Its constant patterns take more memory than the environment's limits allow.
    case tooLarge = "TOO_LARGE"
    case unknownVariable = "UNKNOWN_VARIABLE"
    case unknownFunction = "UNKNOWN_FUNCTION"
    case unknownField = "UNKNOWN_FIELD"
    /// The function or operator does not take these types.
    case noSuchOverload = "NO_SUCH_OVERLOAD"
    /// A type other than the one needed here.
    case typeMismatch = "TYPE_MISMATCH"
    /// A constant that the function cannot take, such as a bad pattern.
    case invalidArgument = "INVALID_ARGUMENT"
    /// A part of CEL that this implementation does not have, such as messages.
    case unsupported = "UNSUPPORTED"
  }

  /// At least one.
  public let problems: [Problem]
  /// The text of the expression.
  public let source: String

  /// The first problem's reason, message and place.
  public var reason: Reason { problems.first?.reason ?? .syntax }
  public var message: String { problems.first?.message ?? "the expression is not valid" }
  public var position: SourcePosition {
    problems.first?.position ?? SourcePosition(line: 1, column: 1)
  }

  /// `1:6: unknown field 'lod' …`, a line for each problem.
  public var description: String {
    problems.map { "\($0.position.line):\($0.position.column): \($0.message)" }
      .joined(separator: "\n")
  }

  /// Every problem with its source line and a caret under the place, for a terminal or a log.
  public var rendered: String {
    let text = SourceText(source)
    return problems.map { problem in
      "\(problem.position.line):\(problem.position.column): \(problem.message)\n"
        + text.excerpt(at: problem.offset)
    }.joined(separator: "\n")
  }
}
