/// The variables, functions, time zone database and limits of expressions of one purpose.
///
///     let environment = ExpressionEnvironment(variables: [
///       ExpressionVariable("data", .record(RecordType(["load": .list(.double)]))),
///       ExpressionVariable("now", .timestamp),
///     ])
///     let expression = try CompiledExpression("data.load[0] > 0.8", in: environment)
public struct ExpressionEnvironment: Sendable {
  /// The variables that an expression may name.
  public var variables: [ExpressionVariable]
  /// Functions of the host, beside the language's own. One of the same name, style and number of
  /// arguments as an existing one replaces it.
  public var functions: [ExpressionFunction]
  /// Time zone rules by IANA name, such as `Europe/Berlin`; it should cache parsed rules. Without
  /// this function only UTC and fixed offsets work.
  public var timeZones: (@Sendable (String) -> TimeZoneRules?)?
  public var limits: ExpressionLimits
  /// The namespace in which names are looked up first, such as `com.example`; usually empty.
  public var container: String
  /// Whether names and types are checked. Unchecked, a mistake is an evaluation error where it is
  /// reached.
  public var isChecked: Bool
  /// The type the result must have, or nil for any.
  public var resultType: ExpressionType?

  public init(
    variables: [ExpressionVariable] = [],
    functions: [ExpressionFunction] = [],
    timeZones: (@Sendable (String) -> TimeZoneRules?)? = nil,
    limits: ExpressionLimits = ExpressionLimits(),
    container: String = "",
    isChecked: Bool = true,
    resultType: ExpressionType? = nil
  ) {
    self.variables = variables
    self.functions = functions
    self.timeZones = timeZones
    self.limits = limits
    self.container = container
    self.isChecked = isChecked
    self.resultType = resultType
  }
}

/// A variable that expressions may name.
public struct ExpressionVariable: Hashable, Sendable {
  /// The name, possibly qualified: `data`, `com.example.limit`.
  public let name: String
  public let type: ExpressionType
  /// Whether hints about other names can name it.
  public let isListed: Bool

  public init(_ name: String, _ type: ExpressionType = .dyn, isListed: Bool = true) {
    self.name = name
    self.type = type
    self.isListed = isListed
  }
}

/// The limits of expressions and evaluations.
public struct ExpressionLimits: Hashable, Sendable {
  /// Bytes of source text.
  public var sourceBytesMax = 65_536
  /// Parts of the syntax tree: literals, names, calls, operators.
  public var nodesMax = 10_000
  /// The maximum depth of nested parentheses, calls, lists and operators. Higher values count as
  /// 200, because an evaluation uses stack for each level.
  public var depthMax = 100
  /// Problems reported for one expression.
  public var problemsMax = 10
  /// The default for the most that an evaluation may cost; see
  /// ``CompiledExpression/evaluate(_:budget:)``.
  public var budget = 1_000_000
  /// The maximum memory of the compiled constant patterns of `matches` in one expression, in bytes
  /// (approximate).
  public var patternBytesMax = 16 << 20
  /// The maximum depth of nested lists and maps in a value that an expression makes. Higher values
  /// count as 200.
  public var valueDepthMax = 64

  public init() {}

  var depthBound: Int { min(depthMax, 200) }
  var valueDepthBound: Int { min(valueDepthMax, 200) }
}

/// The source of the values of variables for an evaluation.
///
/// A host can compute a value when it is asked for; each variable is asked for at most once per place
/// where the expression reads it.
public protocol ExpressionBindings {
  /// The variable's value, or nil if there is none; reading it is then an error. `slot` is the
  /// variable's index in ``ExpressionEnvironment/variables``.
  func value(of name: String, slot: Int) -> ExpressionValue?
}

extension Dictionary: ExpressionBindings where Key == String, Value == ExpressionValue {
  public func value(of name: String, slot: Int) -> ExpressionValue? { self[name] }
}

/// The values of variables by their index in the environment: the fastest bindings.
public struct SlotBindings: ExpressionBindings {
  /// One for each variable of the environment; nil for none.
  public var values: [ExpressionValue?]

  public init(_ values: [ExpressionValue?]) { self.values = values }

  public func value(of name: String, slot: Int) -> ExpressionValue? {
    slot < values.count ? values[slot] : nil
  }
}
