/// The reason why an evaluation has no result.
public struct EvaluationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Stable names of the errors of an evaluation.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    /// The host has no value for a variable.
    case unboundVariable = "UNBOUND_VARIABLE"
    /// The function or operator does not take values of these kinds.
    case noSuchOverload = "NO_SUCH_OVERLOAD"
    case noSuchKey = "NO_SUCH_KEY"
    case indexOutOfRange = "INDEX_OUT_OF_RANGE"
    case divisionByZero = "DIVISION_BY_ZERO"
    /// A number, time or duration beyond the range of its type.
    case outOfRange = "OUT_OF_RANGE"
    /// An argument of the right kind that the function cannot take, such as a bad pattern.
    case invalidArgument = "INVALID_ARGUMENT"
    /// The host does not have this time zone, or has no time zones.
    case unknownTimeZone = "UNKNOWN_TIME_ZONE"
    case duplicateKey = "DUPLICATE_KEY"
    /// The budget is spent. Never hidden by `&&`, `||` and macros.
    case costExceeded = "COST_EXCEEDED"
    /// The lists and maps of the result would be nested deeper than the limit. Never hidden.
    case tooDeep = "TOO_DEEP"
    /// The expression was compiled unchecked, and the checker would have refused this part.
    case unchecked = "UNCHECKED"
  }

  public let reason: Reason
  /// The problem and the next step, for people: one line without a full stop.
  public let message: String
  /// The place in the source, in bytes of UTF-8.
  public let offset: Int
  /// The text of the expression.
  public let source: String

  /// The place in the source, counted from 1. O(n).
  public var position: SourcePosition { SourceText(source).position(at: offset) }

  public var description: String {
    let position = position
    return "\(position.line):\(position.column): \(message)"
  }

  /// The message and the part of the source that failed, in one line. For places where readers do
  /// not see the source, so that a column number does not help them.
  public var quoted: String {
    let place = ", in `\(SourceText(source).group(at: offset))`"
    // A question is the end of the line.
    guard message.hasSuffix("?"), let end = message.firstRange(of: "; ") else {
      return message + place
    }
    return "\(message[..<end.lowerBound])\(place)\(message[end.lowerBound...])"
  }

  /// The reason in words, and the part of the source that failed: `quoted` without values, for
  /// readers who may not see these.
  public var quotedReason: String {
    "\(reason.words), in `\(SourceText(source).group(at: offset))`"
  }

  /// The message with the source line and a caret under the place.
  public var rendered: String { rendered(adding: "") }

  /// The same, with advice behind the message.
  public func rendered(adding advice: String) -> String {
    "\(description)\(advice)\n" + SourceText(source).excerpt(at: offset)
  }

  /// Whether `&&`, `||`, `all` and `exists` must not hide it.
  var isFatal: Bool { reason == .costExceeded || reason == .tooDeep }
}

extension EvaluationError.Reason {
  /// The reason without values: one line without a full stop.
  public var words: String {
    switch self {
    case .unboundVariable: "a variable has no value"
    case .noSuchOverload: "a function or operator does not take such values"
    case .noSuchKey: "there is no such field or key; test with has() or 'in' first"
    case .indexOutOfRange: "an index is out of range"
    case .divisionByZero: "division by zero"
    case .outOfRange: "a value is out of the range of its type"
    case .invalidArgument: "a function cannot take this value"
    case .unknownTimeZone: "there is no such time zone"
    case .duplicateKey: "a key appears twice"
    case .costExceeded: "the evaluation costs too much"
    case .tooDeep: "lists and maps are nested too deep"
    case .unchecked: "this part is not a valid expression"
    }
  }
}

/// The error that a function throws. The evaluator adds the place.
public struct ExpressionFailure: Error, Hashable, Sendable {
  public let reason: EvaluationError.Reason
  public let message: String

  public init(_ reason: EvaluationError.Reason, _ message: String) {
    self.reason = reason
    self.message = message
  }
}
