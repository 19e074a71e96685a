import WidgetExpression

/// The memory of the compiled expressions of one kind, and its limit.
///
/// The length of a kind's text does not predict it: `matches('a{4999}')` is short, and takes 100
/// KiB.
final class KindMemory {
  /// The reason why an expression cannot be used.
  struct Refusal: Error {
    let message: String
  }

  private let bytesMax: Int
  private(set) var bytes = 0

  /// The memory of a kind for each expression, beside the expression: its place in a plan, and its
  /// dependents.
  private static let bytesBesideExpression = 256

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  /// Whether an expression was refused because it needs too much memory together with those before
  /// it.
  var isExceeded: Bool { bytes > bytesMax }

  /// Compiles an expression and counts it.
  func compile(
    _ source: String, in environment: ExpressionEnvironment
  ) throws(Refusal) -> CompiledExpression {
    let expression: CompiledExpression
    do throws(ExpressionError) {
      expression = try CompiledExpression(source, in: environment)
    } catch {
      throw Refusal(message: error.rendered)
    }
    bytes += expression.memoryBytes + KindMemory.bytesBesideExpression
    guard !isExceeded else {
      throw Refusal(
        message: "the kind's expressions take more than \(bytesMax) bytes of memory "
          + "(kind_memory_bytes_max)")
    }
    return expression
  }
}
