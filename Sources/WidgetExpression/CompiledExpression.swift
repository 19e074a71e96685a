/// A checked expression of CEL, the Common Expression Language, ready to be evaluated many times.
///
/// It is immutable and can be shared between threads. Evaluation has no side effects and is
/// deterministic: the same bindings give the same result.
public struct CompiledExpression: Sendable {
  /// The text it was made from.
  public let source: String
  /// The type of the result, as far as it is known before evaluation.
  public let resultType: ExpressionType
  /// The references that it reads, without parts of parts, sorted. The result can only change if
  /// one of these changes.
  public let references: [ExpressionReference]
  /// Constants that are probably mistakes. The expression is valid all the same.
  public let doubts: [ExpressionDoubt]

  /// How it uses what it reads, sorted by the text. Each reference covers the uses below it.
  public var uses: [ExpressionUse] {
    distinctUses ?? references.map { ExpressionUse($0, .value) }
  }

  /// Nil if each reference is used for its value.
  private let distinctUses: [ExpressionUse]?
  let program: Program
  private let limits: ExpressionLimits

  /// Reads, checks and resolves an expression. O(length of the source) for practical ones.
  ///
  /// - Throws: the first mistake of syntax, or all mistakes of names and types found, up to
  ///   ``ExpressionLimits/problemsMax``.
  public init(
    _ source: String, in environment: ExpressionEnvironment
  ) throws(ExpressionError) {
    self.source = source
    let tree: SyntaxTree
    do throws(ParseFailure) {
      tree = try Parser.parse(source, limits: environment.limits)
    } catch {
      let text = SourceText(source)
      throw ExpressionError(
        problems: [
          .init(
            reason: error.reason, message: error.message,
            position: text.position(at: error.offset), offset: error.offset)
        ], source: source)
    }
    let result = try Checker.check(tree, source, in: environment)
    program = result.program
    resultType = result.type
    references = result.references
    distinctUses = result.uses
    doubts = result.doubts
    limits = environment.limits
  }

  /// The value for these bindings.
  ///
  /// - Parameters:
  ///   - bindings: the source of the variables' values.
  ///   - budget: the maximum cost. Nil for the environment's budget. Every step, every
  ///     element visited and
  ///     every byte made costs 1.
  /// - Throws: the reason why there is no value, and its place in the source.
  public func evaluate(
    _ bindings: some ExpressionBindings, budget: Int? = nil
  ) throws(EvaluationError) -> ExpressionValue {
    var evaluator = Evaluator(program, bindings, budget: budget ?? limits.budget)
    return try evaluator.value(program.root)
  }

  /// The value and its cost.
  public func evaluateWithCost(
    _ bindings: some ExpressionBindings, budget: Int? = nil
  ) throws(EvaluationError) -> (value: ExpressionValue, cost: Int) {
    let budget = budget ?? limits.budget
    var evaluator = Evaluator(program, bindings, budget: budget)
    let value = try evaluator.value(program.root)
    return (value, max(0, budget) - evaluator.context.meter.remaining)
  }

  /// The value. Its cost is subtracted from the budget, also if the evaluation fails. An exhausted
  /// budget is 0.
  public func evaluate(
    _ bindings: some ExpressionBindings, spending budget: inout Int
  ) throws(EvaluationError) -> ExpressionValue {
    var evaluator = Evaluator(program, bindings, budget: budget)
    defer { budget = evaluator.context.meter.remaining }
    return try evaluator.value(program.root)
  }

  /// The constants that can be the result, each with its offset in the source in bytes: the whole
  /// expression, or branches of `? :`. O(length of the source).
  public var constantResults: [(value: ExpressionValue, offset: Int)] {
    guard let tree else { return [] }
    var found: [(value: ExpressionValue, offset: Int)] = []
    var open = [tree.root]
    while let node = open.popLast() {
      switch tree[node] {
      case .literal(let value): found.append((value, tree.offsets[node]))
      case .conditional(let branches, let otherwise):
        open.append(otherwise)
        open += branches.reversed().map(\.value)
      case .call("dyn", target: nil, let arguments, _): open += arguments
      default: break
      }
    }
    return found
  }

  /// The expression in a uniform layout, without comments and needless parentheses.
  public var formatted: String { tree.map(SyntaxPrinter.print) ?? source }

  /// The expression as it was read. It is read again each time: only tools need it, and it takes more
  /// memory than the program.
  var tree: SyntaxTree? { try? Parser.parse(source, limits: limits) }

  /// The approximate memory of the expression, in bytes, as quotas count it.
  public var memoryBytes: Int {
    let own = 128 + source.utf8.count + program.memoryBytes
    let used = (distinctUses ?? []).map(\.reference)
    return (references + used).reduce(own) { $0 + $1.memoryBytes }
  }
}
